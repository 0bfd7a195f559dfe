/* SPDX-License-Identifier: Apache-2.0
 * host_consumer.h - a consumer's connection, shared by its calls (host_consumer.c), its stream
 * (host_stream.c), its query (host_query.c) and its clones (host_clone.c).
 */
#ifndef ORMA_HOST_HOST_CONSUMER_H
#define ORMA_HOST_HOST_CONSUMER_H

#include "host/host_state.h"

struct orma_host_consumer {
	struct orma_host_peer peer; /* first */
	struct orma_consumer_port *port;
	/* Calls that are answered later; one of each kind, a new one rejects the old. */
	struct orma_ipc_call *enable, *read, *observe, *query;
	/* Its session ended before there was a call to say so to; and why, "" = as planned. */
	bool has_missed_end;
	char missed_error[256];
	struct orma_buf state;    /* the answer to `query`, when it waits */
	size_t state_at;          /* what of it has gone */
	struct orma_list waiting; /* in host->queries while more of it may go at once */
	struct orma_buf rest;     /* replies to `read` that wait for room, see host_stream.c */
	size_t rest_at;           /* what of them has gone */
	struct orma_list flushes; /* struct host_flush */
	struct orma_list clones;  /* struct host_clone */
	struct orma_list stream;  /* in host->streams while `read` is to be fed */
};

/* Forgets what waits for room. */
void orma_host_stream_clear(struct orma_host_consumer *consumer);
/* The same, for a reader that does not know what was sent before. */
void orma_host_stream_restart(struct orma_host_consumer *consumer);
/* Ends the ReadBuffers call, if there is one, by a rejection. */
void orma_host_stream_cancel(struct orma_host_consumer *consumer);
/* Answers with the service's encoded state, in part later if need be; no query may be waiting. 0,
 * or -errno: the call is to be rejected. */
int orma_host_query_begin(struct orma_host_consumer *consumer, struct orma_ipc_call *call,
			  const void *state, size_t size);
/* The socket has room again, or it is another turn. */
void orma_host_query_continue(struct orma_host_consumer *consumer);
/* Ends the query, if one waits, by a rejection. */
void orma_host_query_cancel(struct orma_host_consumer *consumer);
/* CloneSession. 0, or -errno: the call is to be rejected. */
int orma_host_clone_session(struct orma_host_consumer *consumer, struct orma_ipc_call *call,
			    const void *args, size_t size);
/* The consumer has left, its port is closed. */
void orma_host_clone_forget_all(struct orma_host_consumer *consumer);

#endif
