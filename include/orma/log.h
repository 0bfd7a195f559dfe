/* SPDX-License-Identifier: Apache-2.0
 * orma/log.h - the library's messages to the person who runs the program.
 *
 * The library prints nothing unless ORMA_LOG in the environment asks for it (orma/init.h). Its
 * messages report events that no function returns. It logs when it is connected to a daemon, and
 * otherwise why it is not. In a process with its own service it logs that a producer was refused,
 * or that a data source did not stop in time. Messages of level ORMA_LOG_DEBUG report everything
 * else that happens to the connection and to instances. Without a sink, messages are discarded.
 *
 * Threads: the sink is called on any thread that is inside the library, on several at once. It must
 *          not call the library.
 */
#ifndef ORMA_LOG_H
#define ORMA_LOG_H

#include <orma/api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum orma_log_level {
	ORMA_LOG_DEBUG = 0,
	ORMA_LOG_INFO = 1,
	ORMA_LOG_WARNING = 2,
	ORMA_LOG_ERROR = 3,
};

/* `message` is one line without a line break, valid during the call. */
typedef void orma_log_fn(void *ctx, enum orma_log_level level, const char *message);

/**
 * orma_log_set_sink() - set the receiver of messages, for the whole process; NULL = none.
 *
 * Thread-safety: call it before other threads use the library.
 */
ORMA_API void orma_log_set_sink(orma_log_fn *sink, void *ctx);

#ifdef __cplusplus
}
#endif
#endif
