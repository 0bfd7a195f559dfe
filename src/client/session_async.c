/* SPDX-License-Identifier: Apache-2.0
 * session_async.c - the calls of a session that bring data, without waiting.
 *
 * Each call is one allocation: the struct that the waiting form has on its stack, and the caller's
 * callback. Requests and the meaning of errors are in the files of the waiting forms. Rejected: one
 * callback type for all (readers and clones would cast), a handle to cancel a call (freeing the
 * session does; there is no way to tell the service).
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "client/session_read.h"

/* The error for the caller's callback: NULL = success. */
static const struct orma_error *or_null(int r, const struct orma_error *error)
{
	return r < 0 ? error : NULL;
}

static void fill(int r, struct orma_error *error, const char *what)
{
	if (r < 0 && !error->message[0])
		orma_base_error_set(error, r, "%s failed: %s", what, orma_base_error_words(r));
}

/* --- reading ---------------------------------------------------------------------------------- */

struct async_read {
	struct orma_client_read read;
	orma_session_done_fn *done;
	void *ctx;
};

static struct async_read *read_of(struct orma_client_call *call)
{
	return ORMA_CONTAINER_OF(call, struct async_read, read.call);
}

static void discard_read(struct orma_client_call *call)
{
	orma_base_buf_done(&read_of(call)->read.partial);
	orma_base_free(read_of(call));
}

static void finish_read(struct orma_client_call *call)
{
	struct async_read read = *read_of(call);
	struct orma_error error = {0};
	int r = orma_client_read_error(call->error, &error);

	discard_read(call);
	read.done(read.ctx, or_null(r, &error));
}

int orma_session_read_async(struct orma_session *session, orma_packet_fn *packet,
			    orma_session_done_fn *done, void *ctx)
{
	struct async_read *read;
	int r;

	if (!session || !packet || !done)
		return -EINVAL;
	read = orma_base_zalloc(sizeof(*read));
	if (!read)
		return -ENOMEM;
	orma_client_read_init(&read->read, packet, ctx);
	read->read.call.finish = finish_read;
	read->read.call.discard = discard_read;
	read->done = done;
	read->ctx = ctx;
	r = orma_client_session_begin(session, ORMA_CLIENT_READ_BUFFERS, NULL, -1,
				      session->timeout_ns, &read->read.call);
	if (r < 0)
		discard_read(&read->read.call);
	return r;
}

/* --- asking ----------------------------------------------------------------------------------- */

struct async_query {
	struct orma_client_query query;
	orma_session_data_fn *done;
	void *ctx;
};

static struct async_query *query_of(struct orma_client_call *call)
{
	return ORMA_CONTAINER_OF(call, struct async_query, query.call);
}

static void discard_query(struct orma_client_call *call)
{
	orma_base_buf_done(&query_of(call)->query.answer);
	orma_base_free(query_of(call));
}

static void finish_query(struct orma_client_call *call)
{
	struct async_query *query = query_of(call);
	struct orma_error error = {0};
	struct orma_buf answer = query->query.answer;
	orma_session_data_fn *done = query->done;
	void *ctx = query->ctx;
	int r = orma_client_query_error(call->error, &error);

	query->query.answer = (struct orma_buf){0};

	discard_query(call);
	/* An empty answer must not be NULL, which means "none". */
	if (r < 0)
		done(ctx, &error, NULL, 0);
	else
		done(ctx, NULL, answer.size > 0 ? (const void *)answer.data : "", answer.size);
	orma_base_buf_done(&answer);
}

int orma_session_query_async(struct orma_session *session, enum orma_session_query what,
			     orma_session_data_fn *done, void *ctx)
{
	struct async_query *query;
	int r;

	if (!session || !done)
		return -EINVAL;
	query = orma_base_zalloc(sizeof(*query));
	if (!query)
		return -ENOMEM;
	r = orma_client_query_init(&query->query, what);
	query->query.call.finish = finish_query;
	query->query.call.discard = discard_query;
	query->done = done;
	query->ctx = ctx;
	if (r == 0)
		r = orma_client_session_begin(session, query->query.method, &query->query.args, -1,
					      session->timeout_ns, &query->query.call);
	if (r < 0)
		discard_query(&query->query.call);
	return r;
}

/* --- cloning ---------------------------------------------------------------------------------- */

struct async_clone {
	struct orma_client_clone clone;
	orma_session_clone_fn *done;
	void *ctx;
};

static struct async_clone *clone_of(struct orma_client_call *call)
{
	return ORMA_CONTAINER_OF(call, struct async_clone, clone.call);
}

static void discard_clone(struct orma_client_call *call)
{
	orma_base_free(clone_of(call));
}

static void finish_clone(struct orma_client_call *call)
{
	struct async_clone clone = *clone_of(call);
	struct orma_error error = {0};
	int r = orma_client_clone_error(&clone.clone, call->error, &error);

	discard_clone(call);
	fill(r, &error, "cloning");
	clone.done(clone.ctx, or_null(r, &error), r < 0 ? NULL : &clone.clone.result);
}

int orma_session_clone_async(struct orma_session *session,
			     const struct orma_session_clone_options *options,
			     orma_session_clone_fn *done, void *ctx)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf args = {0};
	struct async_clone *clone;
	int fd, r;

	if (!session || !done)
		return -EINVAL;
	clone = orma_base_zalloc(sizeof(*clone));
	if (!clone)
		return -ENOMEM;
	r = orma_client_clone_init(session, options, &clone->clone, &args, &fd, NULL);
	clone->clone.call.finish = finish_clone;
	clone->clone.call.discard = discard_clone;
	clone->done = done;
	clone->ctx = ctx;
	if (r == 0)
		r = orma_client_session_begin(session, ORMA_CLIENT_CLONE_SESSION, &args, fd,
					      session->timeout_ns, &clone->clone.call);
	if (r < 0)
		discard_clone(&clone->clone.call);
	return r;
}
