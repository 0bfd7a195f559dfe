/* SPDX-License-Identifier: Apache-2.0
 * log.c - hands formatted messages to the program's sink.
 *
 * Owns the sink: two process-wide words that are set before threads start and only read afterwards,
 * which is why they are plain. Messages are cut at 1 KiB. Rejected: a sink per object, because a
 * person reads one log; a level filter here, because the sink can do that.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

enum { MESSAGE_BYTES = 1024 };

static orma_log_fn *log_sink;
static void *log_ctx;

void orma_log_set_sink(orma_log_fn *sink, void *ctx)
{
	log_sink = sink;
	log_ctx = ctx;
}

void orma_base_log(enum orma_log_level level, const char *format, ...)
{
	if (!log_sink)
		return;
	int saved_errno = errno;
	char message[MESSAGE_BYTES];
	va_list args;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	log_sink(log_ctx, level, message);
	errno = saved_errno;
}
