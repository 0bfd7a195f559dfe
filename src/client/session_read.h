/* SPDX-License-Identifier: Apache-2.0
 * session_read.h - calls that bring data: packets, answers to queries, clones.
 *
 * For each there is a struct with its arguments and what its replies have brought so far. The form
 * that waits and the one that does not (session_async.c) share it.
 */
#ifndef ORMA_CLIENT_SESSION_READ_H
#define ORMA_CLIENT_SESSION_READ_H

#include "client/session_call.h"

#define ORMA_CLIENT_QUERY_ARG_BYTES 24

/* session_read.c */
struct orma_client_read {
	struct orma_client_call call;
	orma_packet_fn *fn;
	void *ctx;
	struct orma_buf partial; /* the packet whose slices are not all here yet */
};

void orma_client_read_init(struct orma_client_read *read, orma_packet_fn *fn, void *ctx);
/* Converts the error of such a call (0 = none) for its caller: fills `reterr`, and returns the
 * code. */
int orma_client_read_error(int error, struct orma_error *reterr);

/* session_query.c */
struct orma_client_query {
	struct orma_client_call call;
	enum orma_client_session_method method;
	uint32_t field_id; /* the field of each reply that has the answer; parts are appended */
	uint8_t arg_bytes[ORMA_CLIENT_QUERY_ARG_BYTES];
	struct orma_buf args; /* in arg_bytes */
	struct orma_buf answer;
};

/* -EINVAL: there is no such question. */
int orma_client_query_init(struct orma_client_query *query, enum orma_session_query what);
int orma_client_query_error(int error, struct orma_error *reterr);

/* session_clone.c */
struct orma_client_clone {
	struct orma_client_call call;
	struct orma_session_clone_result result;
	struct orma_error error; /* the service's refusal; code 0 = none */
};

/* Checks the options and encodes them. -EINVAL, -EBUSY, -ENOMEM; fills `reterr`. */
int orma_client_clone_init(const struct orma_session *session,
			   const struct orma_session_clone_options *options,
			   struct orma_client_clone *clone, struct orma_buf *args, int *ret_fd,
			   struct orma_error *reterr);
int orma_client_clone_error(const struct orma_client_clone *clone, int error,
			    struct orma_error *reterr);

#endif
