/* SPDX-License-Identifier: Apache-2.0
 * orma/log.h - what the library would say to the person who runs the program.
 *
 * The library prints nothing, unless ORMA_LOG in the environment asks for it (orma/init.h). Few
 * things are worth a word beside the error that a function returns: why there is no connection to a
 * daemon, and that there is one now; in a process with a service of its own, a producer that was
 * refused, a data source that did not stop in time. Messages of level ORMA_LOG_DEBUG say what else
 * happens to the connection and to instances. Without a sink they vanish.
 *
 * Threads: the sink is called on any thread that is inside the library, several at once; it must not
 *          call the library.
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

/* `message` is one line without its end, valid during the call. */
typedef void orma_log_fn(void *ctx, enum orma_log_level level, const char *message);

/**
 * orma_log_set_sink() - where messages go, for the whole process; NULL = nowhere.
 *
 * Thread-safety: call it before other threads use the library.
 */
ORMA_API void orma_log_set_sink(orma_log_fn *sink, void *ctx);

#ifdef __cplusplus
}
#endif
#endif
