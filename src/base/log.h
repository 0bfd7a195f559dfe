/* SPDX-License-Identifier: Apache-2.0
 * log.h - diagnostics for the person who runs the program. The library itself prints nothing:
 * without a sink, messages vanish; src/tool/ installs one (orma/log.h) that writes to stderr.
 */
#ifndef ORMA_BASE_LOG_H
#define ORMA_BASE_LOG_H

#include <orma/log.h>

#include "base/macros.h"

/* errno is preserved. */
void orma_base_log(enum orma_log_level level, const char *format, ...) ORMA_PRINTF(2, 3);

#endif
