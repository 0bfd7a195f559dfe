/* SPDX-License-Identifier: Apache-2.0
 * log.h - diagnostics for the person who runs the program. The library itself prints nothing:
 * without a sink, messages vanish; src/tool/ installs one that writes to stderr.
 */
#ifndef ORMA_BASE_LOG_H
#define ORMA_BASE_LOG_H

#include "base/macros.h"

enum orma_log_level { ORMA_LOG_DEBUG, ORMA_LOG_INFO, ORMA_LOG_WARNING, ORMA_LOG_ERROR };

typedef void orma_log_fn(void *ctx, enum orma_log_level level, const char *message);

/* Process-wide; call before threads start. NULL = silence. */
void orma_base_log_set_sink(orma_log_fn *sink, void *ctx);
/* errno is preserved. */
void orma_base_log(enum orma_log_level level, const char *format, ...) ORMA_PRINTF(2, 3);

#endif
