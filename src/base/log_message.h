/* SPDX-License-Identifier: Apache-2.0
 * log_message.h - diagnostics for the person who runs the program.
 *
 * A message goes to the program's sink (orma/log.h), and to stderr if ORMA_LOG in the environment
 * asks for it. The library prints nothing if there is neither a sink nor ORMA_LOG. src/tool
 * installs a sink that writes to stderr.
 */
#ifndef ORMA_BASE_LOG_MESSAGE_H
#define ORMA_BASE_LOG_MESSAGE_H

#include <orma/log.h>
#include <stdbool.h>

#include "base/macros.h"

/* From now on stderr gets the messages that ORMA_LOG asks for; none in a setuid program. */
void orma_base_log_read_environment(void);
/* While muted, messages of the calling thread do not go to stderr: the thread may be emitting. */
void orma_base_log_mute_stderr(bool mute);
/* Preserves errno. Do not call with a lock held: the sink is the program's. */
void orma_base_log(enum orma_log_level level, const char *format, ...) ORMA_PRINTF(2, 3);

#endif
