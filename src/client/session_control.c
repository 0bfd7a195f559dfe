/* SPDX-License-Identifier: Apache-2.0
 * session_control.c - the calls of a session that bring no data: start, flush, change, free, detach,
 * attach.
 *
 * Each call is prepared in one place (struct control: the request, and what its end means for the session),
 * and then either waited for or begun. Rejected: two versions of each call (they would drift apart).
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

/* Runs at the call's end: changes the session, and turns the call's error into the caller's error. */
typedef int settle_fn(struct orma_session *session, int error, struct orma_error *reterr);

struct control {
	enum orma_client_session_method method;
	struct orma_buf args;
	uint64_t timeout_ns;
	settle_fn *settle;
};

static int control_init(struct control *control, const struct orma_session *session,
			enum orma_client_session_method method, settle_fn *settle)
{
	*control = (struct control){.method = method, .settle = settle};
	if (!session)
		return -EINVAL;
	control->timeout_ns = session->timeout_ns;
	return 0;
}

static int control_wait(struct orma_session *session, struct control *control, int r,
			struct orma_error *reterr)
{
	struct orma_client_call call = {0};

	if (r == 0) {
		r = orma_client_session_call(session, control->method, &control->args, -1,
					     control->timeout_ns, &call);
		r = control->settle(session, r, reterr);
	} else {
		orma_base_error_set(reterr, r, "the call cannot be made (error %d)", -r);
	}
	orma_base_buf_done(&control->args);
	return r;
}

struct async_control {
	struct orma_client_call call;
	settle_fn *settle;
	orma_session_done_fn *done;
	void *ctx;
};

static void discard(struct orma_client_call *call)
{
	orma_base_free(ORMA_CONTAINER_OF(call, struct async_control, call));
}

static void finish(struct orma_client_call *call)
{
	struct async_control async = *ORMA_CONTAINER_OF(call, struct async_control, call);
	struct orma_error error = {0};
	int r = async.settle(async.call.session, async.call.error, &error);

	discard(call);
	async.done(async.ctx, r < 0 ? &error : NULL);
}

static int control_begin(struct orma_session *session, struct control *control, int r,
			 orma_session_done_fn *done, void *ctx)
{
	struct async_control *async = NULL;

	if (!done)
		r = -EINVAL;
	if (r == 0) {
		async = orma_base_zalloc(sizeof(*async));
		r = async ? 0 : -ENOMEM;
	}
	if (r == 0) {
		*async = (struct async_control){.call = {.finish = finish, .discard = discard},
						.settle = control->settle,
						.done = done,
						.ctx = ctx};
		r = orma_client_session_begin(session, control->method, &control->args, -1,
					      control->timeout_ns, &async->call);
		if (r < 0)
			orma_base_free(async);
	}
	orma_base_buf_done(&control->args);
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
	struct control control;
	int r = control_init(&control, session, ORMA_CLIENT_START_TRACING, settle_start);

	return control_wait(session, &control, r, reterr);
}

int orma_session_start_async(struct orma_session *session, orma_session_done_fn *done, void *ctx)
{
	struct control control;
	int r = control_init(&control, session, ORMA_CLIENT_START_TRACING, settle_start);

	return control_begin(session, &control, r, done, ctx);
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
			 struct control *control)
{
	struct orma_proto_heap_writer heap;
	int r = control_init(control, session, ORMA_CLIENT_FLUSH, settle_flush);

	if (r < 0)
		return r;
	/* The service's own timeout ends first, so that its answer says which of the two it was.
	 */
	control->timeout_ns += timeout_ms * ORMA_NS_PER_MS;
	orma_proto_heap_writer_init(&heap, &control->args);
	orma_proto_write_varint(&heap.writer, ORMA_PB_FLUSH_REQUEST_TIMEOUT_MS, timeout_ms);
	orma_proto_write_varint(&heap.writer, ORMA_PB_FLUSH_REQUEST_FLAGS,
				flags ? flags : FLUSH_FLAGS);
	return orma_proto_heap_writer_finish(&heap);
}

int orma_session_flush(struct orma_session *session, uint32_t timeout_ms, uint64_t flags)
{
	struct control control;
	int r = prepare_flush(session, timeout_ms, flags, &control);

	return control_wait(session, &control, r, NULL);
}

int orma_session_flush_async(struct orma_session *session, uint32_t timeout_ms, uint64_t flags,
			     orma_session_done_fn *done, void *ctx)
{
	struct control control;
	int r = prepare_flush(session, timeout_ms, flags, &control);

	return control_begin(session, &control, r, done, ctx);
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
			  struct control *control)
{
	struct orma_proto_heap_writer heap;
	int r = control_init(control, session, ORMA_CLIENT_CHANGE_CONFIG, settle_change);

	if (r < 0 || (!config && size > 0))
		return -EINVAL;
	if (!session->is_enabled || session->is_stopped)
		return -ESTALE;
	if (size > ORMA_IPC_BODY_BYTES_MAX - ORMA_PROTO_SCALAR_FIELD_MAX)
		return -EMSGSIZE;
	orma_proto_heap_writer_init(&heap, &control->args);
	orma_proto_write_bytes(&heap.writer, ORMA_PB_CHANGE_TRACE_CONFIG_REQUEST_TRACE_CONFIG,
			       config, size);
	return orma_proto_heap_writer_finish(&heap);
}

int orma_session_change_config(struct orma_session *session, const void *config, size_t size)
{
	struct control control;
	int r = prepare_change(session, config, size, &control);

	return control_wait(session, &control, r, NULL);
}

int orma_session_change_config_async(struct orma_session *session, const void *config, size_t size,
				     orma_session_done_fn *done, void *ctx)
{
	struct control control;
	int r = prepare_change(session, config, size, &control);

	return control_begin(session, &control, r, done, ctx);
}

int orma_session_free_buffers(struct orma_session *session)
{
	struct control control;
	int r = control_init(&control, session, ORMA_CLIENT_FREE_BUFFERS, settle_change);

	return control_wait(session, &control, r, NULL);
}

int orma_session_free_buffers_async(struct orma_session *session, orma_session_done_fn *done,
				    void *ctx)
{
	struct control control;
	int r = control_init(&control, session, ORMA_CLIENT_FREE_BUFFERS, settle_change);

	return control_begin(session, &control, r, done, ctx);
}

/* --- detaching and attaching ------------------------------------------------------------------ */

static int prepare_key(const char *key, uint32_t field_id, struct control *control)
{
	struct orma_proto_heap_writer heap;

	if (!*key)
		return -EINVAL;
	orma_proto_heap_writer_init(&heap, &control->args);
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

static int prepare_detach(struct orma_session *session, const char *key, struct control *control)
{
	int r = control_init(control, session, ORMA_CLIENT_DETACH, settle_detach);

	if (r < 0 || !key)
		return -EINVAL;
	if (!session->is_enabled || session->is_stopped)
		return -ESTALE;
	return prepare_key(key, ORMA_PB_DETACH_REQUEST_KEY, control);
}

int orma_session_detach(struct orma_session *session, const char *key)
{
	struct control control;
	int r = prepare_detach(session, key, &control);

	return control_wait(session, &control, r, NULL);
}

int orma_session_detach_async(struct orma_session *session, const char *key,
			      orma_session_done_fn *done, void *ctx)
{
	struct control control;
	int r = prepare_detach(session, key, &control);

	return control_begin(session, &control, r, done, ctx);
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
	/* Asks to be notified when the session that is taken over ends. */
	orma_proto_heap_writer_init(&heap, &args);
	orma_proto_write_bool(&heap.writer, ORMA_PB_ENABLE_TRACING_REQUEST_ATTACH_NOTIFICATION_ONLY,
			      true);
	r = orma_proto_heap_writer_finish(&heap);
	if (r == 0)
		r = orma_client_session_send_enable(session, &args, -1);
	return r < 0 ? orma_base_error_set(reterr, r, "attaching failed (error %d)", -r) : 0;
}

static int prepare_attach(struct orma_session *session, const char *key, struct control *control)
{
	int r = control_init(control, session, ORMA_CLIENT_ATTACH, settle_attach);

	if (r < 0 || !key)
		return -EINVAL;
	if (session->is_enabled)
		return -EBUSY;
	return prepare_key(key, ORMA_PB_ATTACH_REQUEST_KEY, control);
}

int orma_session_attach(struct orma_session *session, const char *key)
{
	struct control control;
	int r = prepare_attach(session, key, &control);

	return control_wait(session, &control, r, NULL);
}

int orma_session_attach_async(struct orma_session *session, const char *key,
			      orma_session_done_fn *done, void *ctx)
{
	struct control control;
	int r = prepare_attach(session, key, &control);

	return control_begin(session, &control, r, done, ctx);
}
