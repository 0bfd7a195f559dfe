/* SPDX-License-Identifier: Apache-2.0
 * session_control.c - the calls of a session whose answer says only whether: start, flush, change,
 * free, detach, attach.
 *
 * Each is prepared once (struct plain: what is asked, and what its end means for the session), and
 * then waited for or begun. Rejected: a waiting and another version of each (they would drift
 * apart).
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/error_message.h"
#include "client/session_call.h"
#include "ipc/frame.h"
#include "proto/writer.h"
#include "schema/gen/consumer_port.pb.h"

#define FLUSH_FLAGS 0x34 /* explicit, by a consumer's library */

/* Makes of the call's end what the caller is told, and changes the session: 0 or the error. */
typedef int settle_fn(struct orma_session *session, int error, struct orma_error *reterr);

struct plain {
	enum orma_client_session_method method;
	struct orma_buf args;
	uint64_t timeout_ns;
	settle_fn *settle;
};

static int plain_init(struct plain *plain, const struct orma_session *session,
		      enum orma_client_session_method method, settle_fn *settle)
{
	*plain = (struct plain){.method = method, .settle = settle};
	if (!session)
		return -EINVAL;
	plain->timeout_ns = session->timeout_ns;
	return 0;
}

static int plain_wait(struct orma_session *session, struct plain *plain, int r,
		      struct orma_error *reterr)
{
	struct orma_client_call call = {0};

	if (r == 0) {
		r = orma_client_session_call(session, plain->method, &plain->args, -1,
					     plain->timeout_ns, &call);
		r = plain->settle(session, r, reterr);
	} else {
		orma_base_error_set(reterr, r, "the call cannot be made (error %d)", -r);
	}
	orma_base_buf_done(&plain->args);
	return r;
}

struct begun {
	struct orma_client_call call;
	settle_fn *settle;
	orma_session_done_fn *done;
	void *ctx;
};

static void discard(struct orma_client_call *call)
{
	orma_base_free(ORMA_CONTAINER_OF(call, struct begun, call));
}

static void finish(struct orma_client_call *call)
{
	struct begun begun = *ORMA_CONTAINER_OF(call, struct begun, call);
	struct orma_error error = {0};
	int r = begun.settle(begun.call.session, begun.call.error, &error);

	discard(call);
	begun.done(begun.ctx, r < 0 ? &error : NULL);
}

static int plain_begin(struct orma_session *session, struct plain *plain, int r,
		       orma_session_done_fn *done, void *ctx)
{
	struct begun *begun = NULL;

	if (!done)
		r = -EINVAL;
	if (r == 0) {
		begun = orma_base_zalloc(sizeof(*begun));
		r = begun ? 0 : -ENOMEM;
	}
	if (r == 0) {
		*begun = (struct begun){.call = {.finish = finish, .discard = discard},
					.settle = plain->settle,
					.done = done,
					.ctx = ctx};
		r = orma_client_session_begin(session, plain->method, &plain->args, -1,
					      plain->timeout_ns, &begun->call);
		if (r < 0)
			orma_base_free(begun);
	}
	orma_base_buf_done(&plain->args);
	return r;
}

/* --- start ------------------------------------------------------------------------------------ */

static int settle_start(struct orma_session *session, int error, struct orma_error *reterr)
{
	if (session->is_stopped && session->stop_error.code < 0) {
		if (reterr)
			*reterr = session->stop_error;
		return session->stop_error.code;
	}
	if (error == -EREMOTEIO)
		return orma_base_error_set(reterr, -EPROTO,
					   "the service did not start the session");
	if (error < 0)
		return orma_base_error_set(reterr, error, "starting the session failed (error %d)",
					   -error);
	return 0;
}

int orma_session_start(struct orma_session *session, struct orma_error *reterr)
{
	struct plain plain;
	int r = plain_init(&plain, session, ORMA_CLIENT_START_TRACING, settle_start);

	return plain_wait(session, &plain, r, reterr);
}

int orma_session_start_async(struct orma_session *session, orma_session_done_fn *done, void *ctx)
{
	struct plain plain;
	int r = plain_init(&plain, session, ORMA_CLIENT_START_TRACING, settle_start);

	return plain_begin(session, &plain, r, done, ctx);
}

/* --- flush ------------------------------------------------------------------------------------ */

static int settle_flush(struct orma_session *session, int error, struct orma_error *reterr)
{
	(void)session;
	if (error == -EREMOTEIO)
		return orma_base_error_set(reterr, -EIO, "some data source did not answer in time");
	if (error < 0)
		return orma_base_error_set(reterr, error, "the flush failed (error %d)", -error);
	return 0;
}

static int prepare_flush(struct orma_session *session, uint32_t timeout_ms, uint64_t flags,
			 struct plain *plain)
{
	struct orma_proto_heap_writer heap;
	int r = plain_init(plain, session, ORMA_CLIENT_FLUSH, settle_flush);

	if (r < 0)
		return r;
	/* The service's own timeout comes first, so that its answer says which of the two it was.
	 */
	plain->timeout_ns += timeout_ms * ORMA_NS_PER_MS;
	orma_proto_heap_writer_init(&heap, &plain->args);
	orma_proto_write_varint(&heap.writer, ORMA_PB_FLUSH_REQUEST_TIMEOUT_MS, timeout_ms);
	orma_proto_write_varint(&heap.writer, ORMA_PB_FLUSH_REQUEST_FLAGS,
				flags ? flags : FLUSH_FLAGS);
	return orma_proto_heap_writer_finish(&heap);
}

int orma_session_flush(struct orma_session *session, uint32_t timeout_ms, uint64_t flags)
{
	struct plain plain;
	int r = prepare_flush(session, timeout_ms, flags, &plain);

	return plain_wait(session, &plain, r, NULL);
}

int orma_session_flush_async(struct orma_session *session, uint32_t timeout_ms, uint64_t flags,
			     orma_session_done_fn *done, void *ctx)
{
	struct plain plain;
	int r = prepare_flush(session, timeout_ms, flags, &plain);

	return plain_begin(session, &plain, r, done, ctx);
}

/* --- changing, freeing ------------------------------------------------------------------------ */

static int settle_change(struct orma_session *session, int error, struct orma_error *reterr)
{
	(void)session;
	if (error == -EREMOTEIO)
		return orma_base_error_set(reterr, -ESTALE, "the service has no such session");
	if (error < 0)
		return orma_base_error_set(reterr, error, "the call failed (error %d)", -error);
	return 0;
}

static int prepare_change(struct orma_session *session, const void *config, size_t size,
			  struct plain *plain)
{
	struct orma_proto_heap_writer heap;
	int r = plain_init(plain, session, ORMA_CLIENT_CHANGE_CONFIG, settle_change);

	if (r < 0 || (!config && size > 0))
		return -EINVAL;
	if (!session->is_enabled || session->is_stopped)
		return -ESTALE;
	if (size > ORMA_IPC_BODY_BYTES_MAX - ORMA_PROTO_SCALAR_FIELD_MAX)
		return -EMSGSIZE;
	orma_proto_heap_writer_init(&heap, &plain->args);
	orma_proto_write_bytes(&heap.writer, ORMA_PB_CHANGE_TRACE_CONFIG_REQUEST_TRACE_CONFIG,
			       config, size);
	return orma_proto_heap_writer_finish(&heap);
}

int orma_session_change_config(struct orma_session *session, const void *config, size_t size)
{
	struct plain plain;
	int r = prepare_change(session, config, size, &plain);

	return plain_wait(session, &plain, r, NULL);
}

int orma_session_change_config_async(struct orma_session *session, const void *config, size_t size,
				     orma_session_done_fn *done, void *ctx)
{
	struct plain plain;
	int r = prepare_change(session, config, size, &plain);

	return plain_begin(session, &plain, r, done, ctx);
}

int orma_session_free_buffers(struct orma_session *session)
{
	struct plain plain;
	int r = plain_init(&plain, session, ORMA_CLIENT_FREE_BUFFERS, settle_change);

	return plain_wait(session, &plain, r, NULL);
}

int orma_session_free_buffers_async(struct orma_session *session, orma_session_done_fn *done,
				    void *ctx)
{
	struct plain plain;
	int r = plain_init(&plain, session, ORMA_CLIENT_FREE_BUFFERS, settle_change);

	return plain_begin(session, &plain, r, done, ctx);
}

/* --- leaving and taking over ------------------------------------------------------------------ */

static int prepare_key(const char *key, uint32_t field_id, struct plain *plain)
{
	struct orma_proto_heap_writer heap;

	if (!*key)
		return -EINVAL;
	orma_proto_heap_writer_init(&heap, &plain->args);
	orma_proto_write_string(&heap.writer, field_id, key);
	return orma_proto_heap_writer_finish(&heap);
}

static int settle_detach(struct orma_session *session, int error, struct orma_error *reterr)
{
	if (error == -EREMOTEIO)
		return orma_base_error_set(reterr, -EEXIST,
					   "the service refuses: is the key in use?");
	if (error < 0)
		return orma_base_error_set(reterr, error, "detaching failed (error %d)", -error);
	orma_ipc_client_forget(session->ipc, &session->enable_ctx);
	session->is_enabled = false;
	return 0;
}

static int prepare_detach(struct orma_session *session, const char *key, struct plain *plain)
{
	int r = plain_init(plain, session, ORMA_CLIENT_DETACH, settle_detach);

	if (r < 0 || !key)
		return -EINVAL;
	if (!session->is_enabled || session->is_stopped)
		return -ESTALE;
	return prepare_key(key, ORMA_PB_DETACH_REQUEST_KEY, plain);
}

int orma_session_detach(struct orma_session *session, const char *key)
{
	struct plain plain;
	int r = prepare_detach(session, key, &plain);

	return plain_wait(session, &plain, r, NULL);
}

int orma_session_detach_async(struct orma_session *session, const char *key,
			      orma_session_done_fn *done, void *ctx)
{
	struct plain plain;
	int r = prepare_detach(session, key, &plain);

	return plain_begin(session, &plain, r, done, ctx);
}

static int settle_attach(struct orma_session *session, int error, struct orma_error *reterr)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf args = {0};
	struct orma_proto_heap_writer heap;
	int r;

	if (error == -EREMOTEIO)
		return orma_base_error_set(reterr, -ENOENT, "no session was detached by that key");
	if (error < 0)
		return orma_base_error_set(reterr, error, "attaching failed (error %d)", -error);
	/* Who takes a session over also hears of its end. */
	orma_proto_heap_writer_init(&heap, &args);
	orma_proto_write_bool(&heap.writer, ORMA_PB_ENABLE_TRACING_REQUEST_ATTACH_NOTIFICATION_ONLY,
			      true);
	r = orma_proto_heap_writer_finish(&heap);
	if (r == 0)
		r = orma_client_session_send_enable(session, &args, -1);
	return r < 0 ? orma_base_error_set(reterr, r, "attaching failed (error %d)", -r) : 0;
}

static int prepare_attach(struct orma_session *session, const char *key, struct plain *plain)
{
	int r = plain_init(plain, session, ORMA_CLIENT_ATTACH, settle_attach);

	if (r < 0 || !key)
		return -EINVAL;
	if (session->is_enabled)
		return -EBUSY;
	return prepare_key(key, ORMA_PB_ATTACH_REQUEST_KEY, plain);
}

int orma_session_attach(struct orma_session *session, const char *key)
{
	struct plain plain;
	int r = prepare_attach(session, key, &plain);

	return plain_wait(session, &plain, r, NULL);
}

int orma_session_attach_async(struct orma_session *session, const char *key,
			      orma_session_done_fn *done, void *ctx)
{
	struct plain plain;
	int r = prepare_attach(session, key, &plain);

	return plain_begin(session, &plain, r, done, ctx);
}
