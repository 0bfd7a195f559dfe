/* SPDX-License-Identifier: Apache-2.0
 * log_message.h - diagnostics for the person who runs the program. The library itself prints nothing unless
 * ORMA_LOG in the environment asks for it: without that and without a sink, messages vanish.
 * src/tool/ installs a sink (orma/log.h) that writes to stderr.
 */
#ifndef ORMA_BASE_LOG_MESSAGE_H
#define ORMA_BASE_LOG_MESSAGE_H

#include <orma/log.h>
#include <stdbool.h>

#include "base/macros.h"

/* From now on stderr gets what ORMA_LOG asks for; nothing in a setuid program. */
void orma_base_log_read_environment(void);
/* While the calling thread holds it, stderr gets none of its messages: it may be emitting. */
void orma_base_log_mute_stderr(bool hold);
/* errno is preserved. Not with a lock held. */
void orma_base_log(enum orma_log_level level, const char *format, ...) ORMA_PRINTF(2, 3);

#endif
