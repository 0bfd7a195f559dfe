/* SPDX-License-Identifier: Apache-2.0
 * host_consumer.h - a consumer's connection, shared by its calls (host_consumer.c), its stream
 * (host_stream.c), its query (host_query.c), its flushes (host_flush.c) and its clones (host_clone.c).
 */
#ifndef ORMA_HOST_HOST_CONSUMER_H
#define ORMA_HOST_HOST_CONSUMER_H

#include "host/host_state.h"

struct orma_host_consumer {
	struct orma_host_peer peer; /* first */
	struct orma_consumer_port *port;
	/* Calls that are answered later; at most one of each kind. */
	struct orma_ipc_call *enable, *read, *observe, *query;
	/* The session ended while no EnableTracing call could be answered, and why ("" = as
	 * planned). */
	bool has_missed_end;
	char missed_error[256];
	struct orma_buf state;    /* the rest of the answer to `query` */
	size_t state_at;          /* bytes of it that were sent */
	struct orma_list waiting; /* in host->queries while more of it can be sent at once */
	struct orma_buf rest;     /* replies to `read` that wait for room, see host_stream.c */
	size_t rest_at;           /* bytes of them that were sent */
	struct orma_list flushes; /* struct host_flush */
	struct orma_list clones;  /* struct host_clone */
	struct orma_list stream;  /* in host->streams while `read` can be fed */
};

/* Drops replies that wait for room. */
void orma_host_stream_clear(struct orma_host_consumer *consumer);
/* Does the same for a new ReadBuffers call, whose reader has not seen the beginning of an
 * unfinished packet. */
void orma_host_stream_restart(struct orma_host_consumer *consumer);
/* Rejects the ReadBuffers call, if there is one. */
void orma_host_stream_cancel(struct orma_host_consumer *consumer);
/* Answers with the service's encoded state, some of it later when the socket has no room. No query
 * may be waiting. 0, or -errno: the caller rejects the call. */
int orma_host_query_begin(struct orma_host_consumer *consumer, struct orma_ipc_call *call,
			  const void *state, size_t size);
/* Sends more, when the socket has room again or another turn has begun. */
void orma_host_query_continue(struct orma_host_consumer *consumer);
/* Rejects the query, if one waits. */
void orma_host_query_cancel(struct orma_host_consumer *consumer);
/* Handles Flush. 0, or -errno: the caller rejects the call. */
int orma_host_flush(struct orma_host_consumer *consumer, struct orma_ipc_call *call,
		    const void *args, size_t size);
/* Drops unanswered calls of a consumer whose port is closed. */
void orma_host_flush_forget_all(struct orma_host_consumer *consumer);
/* Handles CloneSession. 0, or -errno: the caller rejects the call. */
int orma_host_clone_session(struct orma_host_consumer *consumer, struct orma_ipc_call *call,
			    const void *args, size_t size);
/* Drops unanswered calls of a consumer whose port is closed. */
void orma_host_clone_forget_all(struct orma_host_consumer *consumer);

#endif
