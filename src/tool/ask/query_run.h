/* SPDX-License-Identifier: Apache-2.0
 * query_run.h - runs queries of a user: Ctrl-C stops them, and messages say what is wrong.
 */
#ifndef ORMA_TOOL_QUERY_RUN_H
#define ORMA_TOOL_QUERY_RUN_H

#include "tool/ask/ask.h"

/* Lets Ctrl-C stop the query that runs. When none does, it ends the program, unless that is interactive. */
void orma_query_take_signals(bool is_interactive);
/* Returns the exit status. A writer that returns -EPIPE ends the query without a message. */
int orma_query_run(struct orma_ask *ask, struct orma_str text, enum orma_ask_format format,
		   int (*write)(void *ctx, const void *data, size_t size), void *ctx);
/* The same for a file; - is standard input. */
int orma_query_run_file(struct orma_ask *ask, const char *path, enum orma_ask_format format,
			int (*write)(void *ctx, const void *data, size_t size), void *ctx);
/* Writes to standard output. */
int orma_query_write(void *ctx, const void *data, size_t size);

#endif
