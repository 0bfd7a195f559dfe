/* SPDX-License-Identifier: Apache-2.0
 * view_server.h - `orma view` without its command: the page's files, the checks of each request, and who answers it.
 *
 * Threads. The loop's thread does HTTP and all quick answers, which only read what does not change any more. The worker's
 * thread loads the trace, and answers what uses SQL or fills tables. See view_worker.h.
 */
#ifndef ORMA_VIEW_VIEW_SERVER_H
#define ORMA_VIEW_VIEW_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "view/view_access.h"
#include "view/view_assets.h"

struct orma_trace_database;
struct orma_view_server;

struct orma_view_trace {
	struct orma_trace_database *database;
	void *owner; /* for `unload` */
};

struct orma_view_server_options {
	const char *title;   /* the name of the trace */
	const char *address; /* the one of --bind; NULL = loopback only */
	const char *program; /* "orma 0.2.0" */
	const struct orma_view_asset *assets;
	void *ctx;
	/* The trace is being recorded: it is loaded again by further calls of orma_view_server_load(). */
	bool is_live;
	/*
	 * Loads the trace, on the worker's thread. It calls `progress` now and then, and ends when that is negative. 0 or a
	 * negative errno value.
	 */
	int (*load)(void *ctx, int (*progress)(void *ctx, uint64_t read_bytes, uint64_t all_bytes),
		    void *progress_ctx, struct orma_view_trace *ret);
	/* Nobody asks about the trace any more. It is called on the loop's thread. NULL = the trace outlives the server. */
	void (*unload)(void *ctx, void *owner);
	/* A loading has ended, with the value of `load`. It is called on the loop's thread. */
	void (*loaded)(void *ctx, int result);
	/* A sentence for the user's terminal. */
	void (*warn)(void *ctx, const char *text);
	uint64_t idle_ns, query_ns; /* 0 = 60 s; tests have less time */
	/* How long a page waits for the trace or its next state until it is answered all the same; 0 = 25 s. */
	uint64_t wait_ns;
};

/* The texts and assets outlive the server. 0 or a negative errno value. */
int orma_view_server_new(struct orma_loop *loop, const struct orma_view_server_options *options,
			 struct orma_view_server **ret);
void orma_view_server_free(struct orma_view_server *server);
/* Takes connections from a listening, non-blocking socket, which becomes the server's. 0 or a negative errno value. */
int orma_view_server_listen(struct orma_view_server *server, int fd);
/* Begins to load the trace. 0 or -ENOMEM. */
int orma_view_server_load(struct orma_view_server *server);
/* Tells pages whether a live trace has ended, and whether its beginning has been left out. */
void orma_view_server_set_live(struct orma_view_server *server, bool has_ended, bool is_cut);
/* Makes a new ticket for the page's URL, instead of the one before. 0 or a negative errno value. */
int orma_view_server_renew(struct orma_view_server *server, const char **ret_ticket);
/* When a page with the token last asked for something, on CLOCK_MONOTONIC; 0 = none ever has. */
uint64_t orma_view_server_last_use_ns(const struct orma_view_server *server);

#endif
