/* SPDX-License-Identifier: Apache-2.0
 * view_server_state.h - what the parts of the server share: view_server.c has the requests, view_loading.c loads the trace,
 * view_shown.c keeps the traces that were loaded, and view_questions.c has the questions about them.
 */
#ifndef ORMA_VIEW_VIEW_SERVER_STATE_H
#define ORMA_VIEW_VIEW_SERVER_STATE_H

#include <stdatomic.h>

#include "base/list.h"
#include "base/str.h"
#include "view/http_server.h"
#include "view/trace_view.h"
#include "view/view_server.h"
#include "view/view_worker.h"

/* How many generations are kept beside the one that is shown: a page has to get the next one while the trace is loaded again. */
enum { ORMA_VIEW_KEPT_BEFORE = 2 };

/* A trace that was loaded. A live one is replaced by the next while questions about it are answered. Only the loop's thread
 * counts the users. */
struct orma_view_shown {
	struct orma_view_trace trace;
	struct orma_view *view;
	uint32_t generation;
	unsigned use_count;
	bool is_listed; /* in the list of all: it is loaded */
	struct orma_list link;
};

struct orma_view_server {
	struct orma_view_server_options options;
	struct orma_loop *loop;
	struct orma_http_server *http;
	struct orma_view_worker *worker;
	struct orma_view_access access;
	struct orma_view_shown *shown; /* NULL until the trace is loaded */
	/* The ones before it, the latest first; NULL = none. */
	struct orma_view_shown *before[ORMA_VIEW_KEPT_BEFORE];
	struct orma_list all;
	uint32_t generation; /* counts the traces that were loaded; the first is 0 */
	bool has_ended, is_cut;
	struct orma_list waiting; /* for the trace, or for its next generation */
	struct orma_timer wait_end;
	uint64_t last_use_ns;
	/* Written by the worker's thread and read by the loop's; relaxed, because they are only shown. */
	_Atomic uint64_t read_bytes, all_bytes;
};

/* Makes a trace that was loaded the one that is shown. The one that is kept no longer is released. */
void orma_view_shown_add(struct orma_view_server *server, struct orma_view_shown *shown);
/* Finds what a question is about: the trace that is shown, unless it names a generation. NULL = it is gone. */
struct orma_view_shown *orma_view_shown_find(const struct orma_view_server *server,
					     struct orma_str generation);
/* The last user frees it. NULL is allowed. */
void orma_view_shown_release(struct orma_view_server *server, struct orma_view_shown *shown);

/* Answers how much of the trace is loaded. */
void orma_view_respond_progress(const struct orma_view_server *server,
				struct orma_http_connection *connection, int status);

/* Answers a question about a trace at once, or passes it on to the worker. `route` is NULL for SQL. */
void orma_view_questions_answer(struct orma_view_server *server,
				struct orma_http_connection *connection,
				const struct orma_view_route *route, struct orma_view_shown *shown,
				struct orma_str body);
/* Keeps a question until the trace is loaded. */
void orma_view_questions_wait(struct orma_view_server *server,
			      struct orma_http_connection *connection,
			      const struct orma_view_route *route, struct orma_str body);
/* Answers at once if the page is behind, and otherwise when the trace has been loaded again. */
void orma_view_questions_ask_news(struct orma_view_server *server,
				  struct orma_http_connection *connection, struct orma_str body);
/* Answers what waits: news as they are, and questions if the trace is there. */
void orma_view_questions_answer_waiting(struct orma_view_server *server);
/* The client of a question has gone. */
void orma_view_questions_abandon(struct orma_view_server *server,
				 struct orma_http_connection *connection);
/* Stops the query that runs. `ctx` is the server. Called on the loop's thread. */
void orma_view_questions_interrupt(void *ctx);

#endif
