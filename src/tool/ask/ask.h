/* SPDX-License-Identifier: Apache-2.0
 * ask.h - a trace that answers SQL, for the commands that ask one.
 */
#ifndef ORMA_TOOL_ASK_H
#define ORMA_TOOL_ASK_H

#include <orma/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum { ORMA_ASK_PACKAGES_MAX = 64, ORMA_ASK_TRACES_MAX = 256 };

struct orma_ask;
struct orma_trace_database;

enum orma_ask_format { ORMA_ASK_CSV, ORMA_ASK_TABLE, ORMA_ASK_JSON, ORMA_ASK_MARKDOWN };

/* {0} are the defaults. */
struct orma_ask_options {
	uint64_t memory_kb;     /* for the tables; 0 = no limit */
	bool has_index;         /* an index is written beside the trace, unless it is there */
	bool has_no_raw_events; /* the kernel's events get no rows of ftrace_event */
	bool crops_events, analyzes_content, checks_views; /* see struct orma_trace_options */
	/* FOLDER[@NAME], as --add-sql-package takes it. */
	const char *packages[ORMA_ASK_PACKAGES_MAX];
	bool are_overriding[ORMA_ASK_PACKAGES_MAX]; /* the package may replace modules */
	size_t package_count;
	/* Called during the loading, besides the line on the terminal; see struct orma_trace_options. When it ends the loading
	 * with -ECANCELED, no message is printed. NULL = none. */
	int (*progress)(void *ctx, uint64_t read_bytes, uint64_t all_bytes);
	void *progress_ctx;
};

/* The most rows of a table of a summary. */
enum { ORMA_ASK_ROWS_MAX = 100 };

/* Take --top, --memory and --add-sql-package. Return -1 or the exit status. */
int orma_ask_take_top(const char *value, uint64_t *ret);
int orma_ask_take_memory(struct orma_ask_options *options, const char *value);
int orma_ask_take_package(struct orma_ask_options *options, const char *value, bool is_overriding);

/*
 * Loads a trace; on a terminal a line shows how far it is. When the trace is damaged, a message says where, and what
 * comes before can be asked. Returns NULL when a message has said why there is no trace.
 */
struct orma_ask *orma_ask_load(const char *path, const struct orma_ask_options *options);
/* The same for several traces, which share the tables. `paths` live until it returns. */
struct orma_ask *orma_ask_load_all(const char *const *paths, size_t count,
				   const struct orma_ask_options *options);
void orma_ask_free(struct orma_ask *ask);
/* The trace, for commands that do more than queries. There is none in a binary without SQL. */
struct orma_trace_database *orma_ask_database(struct orma_ask *ask);

/* Runs queries, and passes the text of their rows on as it grows. 0, the function's error, -ECANCELED, -ENOMEM, or -EINVAL
 * with the place in reterr. */
int orma_ask_run(struct orma_ask *ask, struct orma_str queries, enum orma_ask_format format,
		 int (*write)(void *ctx, const void *data, size_t size), void *ctx,
		 struct orma_error *reterr);
/* Stops the query that runs. A signal handler may call it. */
void orma_ask_interrupt(struct orma_ask *ask);

#endif
