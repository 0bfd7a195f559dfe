/* SPDX-License-Identifier: Apache-2.0
 * session_enable.c - enabling a session, and its end.
 *
 * EnableTracing is answered when the session ends: its answer says why.
 */
#include <errno.h>

#include "base/assert.h"
#include "base/cancel.h"
#include "base/clock_ns.h"
#include "base/error_message.h"
#include "client/client_session.h"
#include "ipc/frame.h"
#include "proto/reader.h"
#include "proto/writer.h"
#include "schema/gen/consumer_port.pb.h"

void orma_client_session_tell_error(struct orma_session *session, const struct orma_error *error)
{
	if (session->has_told_loss || !session->options.on_error)
		return;
	session->has_told_loss = error->code == -ECONNRESET;
	session->options.on_error(session->options.ctx, error);
}

static void session_ended(struct orma_session *session)
{
	ORMA_ASSERT(session->is_enabled && !session->is_stopped);
	session->is_stopped = session->is_start_settled = true;
	if (session->stop_error.code < 0)
		orma_client_session_tell_error(session, &session->stop_error);
	if (session->options.on_stopped)
		session->options.on_stopped(session->options.ctx,
					    session->stop_error.code ? session->stop_error.message
								     : NULL);
}

static void on_enable_reply(void *ctx, const struct orma_ipc_reply *reply)
{
	struct orma_session *session = ORMA_CONTAINER_OF(ctx, struct orma_session, enable_ctx);
	struct orma_proto_field field;

	if (session->is_stopped || !session->is_enabled)
		return;
	if (!reply->success && reply->error == -EREMOTEIO)
		orma_base_error_set(&session->stop_error, -EPROTO,
				    "the service rejected the session");
	else if (!reply->success)
		orma_base_error_set(&session->stop_error, -ECONNRESET,
				    "the connection to the service is lost");
	else if (orma_proto_reader_find(reply->data, reply->size,
					ORMA_PB_ENABLE_TRACING_RESPONSE_ERROR, &field) == 1 &&
		 field.type == ORMA_PROTO_BYTES && field.bytes.size > 0)
		orma_base_error_set(
			&session->stop_error, -EPROTO, "%.*s",
			(int)ORMA_MIN(field.bytes.size, (size_t)ORMA_ERROR_MESSAGE_BYTES),
			field.bytes.data);
	session_ended(session);
}

int orma_client_session_send_enable(struct orma_session *session, const struct orma_buf *args,
				    int file_fd)
{
	ORMA_NO_CANCEL();
	int r;

	if (session->is_enabled)
		return -EBUSY;
	r = orma_client_session_check(session, NULL);
	if (r < 0)
		return r;
	r = orma_ipc_client_invoke_fd(session->ipc, ORMA_CLIENT_ENABLE_TRACING, args->data,
				      args->size, file_fd, on_enable_reply, &session->enable_ctx);
	if (r < 0)
		return r == -ENOTCONN || r == -ENOBUFS ? -ECONNRESET : r;
	session->is_enabled = true;
	session->is_stopped = session->are_sources_started = session->is_start_settled = false;
	session->stop_error.code = 0;
	return 0;
}

int orma_session_enable(struct orma_session *session, const void *config, size_t size, int file_fd)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf args = {0};
	struct orma_proto_heap_writer heap;
	int r;

	if (!session || (!config && size > 0))
		return -EINVAL;
	if (size > ORMA_IPC_BODY_BYTES_MAX - ORMA_PROTO_SCALAR_FIELD_MAX)
		return -EMSGSIZE;
	orma_proto_heap_writer_init(&heap, &args);
	orma_proto_write_bytes(&heap.writer, ORMA_PB_ENABLE_TRACING_REQUEST_TRACE_CONFIG, config,
			       size);
	r = orma_proto_heap_writer_finish(&heap);
	if (r < 0)
		return r;
	if (session->is_enabled)
		return -EBUSY;
	/* Upstream's services announce the start once, to the consumers that listen at that moment. */
	r = orma_client_session_observe(session, session->observed | ORMA_CLIENT_ALL_STARTED);
	if (r < 0 && r != -ENOTSUP)
		return r;
	return orma_client_session_send_enable(session, &args, file_fd);
}

int orma_session_enable_text(struct orma_session *session, const char *name, const char *text,
			     size_t size, int file_fd, struct orma_error *reterr)
{
	if (!session)
		return orma_base_error_set(reterr, -EINVAL, "there is no session");

	void *config;
	size_t config_size;
	int r = orma_config_parse(name, text, size, &config, &config_size, reterr);

	if (r < 0)
		return r;
	r = orma_session_enable(session, config, config_size, file_fd);
	orma_config_free(config);
	if (r == -EBUSY)
		return orma_base_error_set(reterr, r, "this session was enabled already");
	if (r == -EMSGSIZE)
		return orma_base_error_set(reterr, r,
					   "the config has %zu bytes; a message to the service has "
					   "at most 128 KiB",
					   config_size);
	if (r < 0)
		return orma_base_error_set(reterr, r, "enabling failed: %s",
					   orma_base_error_words(r));
	return 0;
}

static void on_disable_reply(void *ctx, const struct orma_ipc_reply *reply)
{
	(void)ctx;
	(void)reply;
}

int orma_session_stop(struct orma_session *session)
{
	if (!session)
		return -EINVAL;

	ORMA_NO_CANCEL();
	int r = orma_client_session_check(session, NULL);

	if (r < 0)
		return r;
	/* A reply is requested although it is not needed: upstream's service always answers consumers, and
	 * a debug build of 2020 aborts if no reply was requested. */
	r = orma_ipc_client_invoke(session->ipc, ORMA_CLIENT_DISABLE_TRACING, NULL, 0,
				   on_disable_reply, NULL);
	return r == -ENOTCONN || r == -ENOBUFS ? -ECONNRESET : r;
}

void orma_session_request_stop(struct orma_session *session)
{
	if (!session || orma_client_session_is_inherited(session))
		return;
	atomic_store_explicit(&session->wants_stop, true, memory_order_relaxed);
	orma_base_loop_wake(session->loop);
}

int orma_session_wait_stopped(struct orma_session *session, uint32_t timeout_ms,
			      struct orma_error *reterr)
{
	int r;

	if (!session)
		return orma_base_error_set(reterr, -EINVAL, "there is no session");
	if (!session->is_enabled)
		return orma_base_error_set(reterr, -ESTALE, "no session was enabled");
	r = orma_client_session_wait(session, &session->is_stopped, timeout_ms * ORMA_NS_PER_MS);
	if (!session->is_stopped)
		return orma_base_error_set(reterr, r,
					   r == -ETIMEDOUT
						   ? "the session goes on"
						   : "the connection to the service is lost");
	if (session->stop_error.code < 0) {
		if (reterr)
			*reterr = session->stop_error;
		return session->stop_error.code;
	}
	return 0;
}

bool orma_session_is_stopped(const struct orma_session *session)
{
	return session && session->is_stopped;
}
