/* SPDX-License-Identifier: Apache-2.0
 * query_run.c - what every way of asking does with a text of queries.
 */
#include "tool/ask/query_run.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "tool/print.h"
#include "tool/tool.h"
#include "tool/trace/trace_input.h"

/* The trace that a signal handler may have to stop; NULL while no query runs. Written by the main thread, read by the
 * handler. */
static _Atomic(struct orma_ask *) running;
static atomic_bool stays;    /* without a query, the signal has no effect */
static atomic_bool is_asked; /* the query that runs was asked to stop */

static void stop_query(int signal_number)
{
	struct orma_ask *ask = atomic_load(&running);
	/* One function of SQLite can take minutes without a look at the question. The second signal does not wait for it. */
	bool is_ignored = ask && atomic_exchange(&is_asked, true);
	if (ask && !(is_ignored && !atomic_load(&stays))) {
		orma_ask_interrupt(ask);
		return;
	}
	if (atomic_load(&stays))
		return;
	/* The shell sees the signal, as from a program without a handler. */
	sigaction(signal_number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	raise(signal_number);
}

void orma_query_take_signals(bool is_interactive)
{
	atomic_store(&stays, is_interactive);
	sigaction(SIGINT, &(struct sigaction){.sa_handler = stop_query, .sa_flags = SA_RESTART},
		  NULL);
}

int orma_query_write(void *ctx, const void *data, size_t size)
{
	(void)ctx;
	return orma_tool_write_raw(stdout, data, size);
}

int orma_query_run(struct orma_ask *ask, struct orma_str text, enum orma_ask_format format,
		   int (*write)(void *ctx, const void *data, size_t size), void *ctx)
{
	struct orma_error error = {0};
	atomic_store(&is_asked, false);
	atomic_store(&running, ask);
	int r = orma_ask_run(ask, text, format, write, ctx, &error);
	atomic_store(&running, NULL);
	if (r == 0 && fflush(stdout) != 0)
		r = -errno;
	if (r == -EPIPE)
		return ORMA_EXIT_OK; /* `orma sql t.pftrace '...' | head` is not a failure */
	if (r == -ECANCELED)
		return orma_tool_fail("the query was stopped");
	if (r < 0 && error.message[0])
		return orma_tool_fail_in_text(&error);
	return r < 0 ? orma_tool_fail("%s", strerror(-r)) : ORMA_EXIT_OK;
}

int orma_query_run_file(struct orma_ask *ask, const char *path, enum orma_ask_format format,
			int (*write)(void *ctx, const void *data, size_t size), void *ctx)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	int r = orma_tool_read_file(path, &text);
	if (r < 0)
		return orma_tool_fail("cannot read %s: %s", orma_trace_input_name(path),
				      strerror(-r));
	return orma_query_run(ask, (struct orma_str){(char *)text.data, text.size}, format, write,
			      ctx);
}
