/* SPDX-License-Identifier: Apache-2.0
 * session.c - the consumer's half of one tracing session: connection, life, waits.
 *
 * A session owns a small event loop without a thread and one ConsumerPort connection on it, whether
 * the service is a daemon or in this process (then over a socket pair): one path to test. Calls
 * that need an answer turn that loop until the answer is there; the answer to EnableTracing is the
 * end of the session and may arrive during any of them.
 *
 *   new -> connected --enable--> running --answer to EnableTracing--> stopped
 *              ^                    |
 *              +------detach--------+            attach: connected -> running
 *
 * Invariant: is_stopped is only set while is_enabled, and on_stopped ran exactly then. Rejected: a
 * thread per session (callbacks on foreign threads, locks), direct calls of the in-process service
 * (its loop is another thread's).
 */
#include "client/session.h"

#include <errno.h>
#include <orma/init.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/clock_ns.h"
#include "base/error_message.h"
#include "base/fd.h"
#include "base/options.h"
#include "client/client.h"
#include "ipc/address.h"
#include "ipc/frame.h"
#include "ipc/trust.h"
#include "proto/reader.h"
#include "proto/writer.h"
#include "schema/gen/consumer_port.pb.h"

#define DEFAULT_TIMEOUT_MS 10000

static const char *const method_names[] = {
	[ORMA_CLIENT_ENABLE_TRACING] = "EnableTracing",
	[ORMA_CLIENT_DISABLE_TRACING] = "DisableTracing",
	[ORMA_CLIENT_READ_BUFFERS] = "ReadBuffers",
	[ORMA_CLIENT_FLUSH] = "Flush",
	[ORMA_CLIENT_START_TRACING] = "StartTracing",
	[ORMA_CLIENT_DETACH] = "Detach",
	[ORMA_CLIENT_ATTACH] = "Attach",
	[ORMA_CLIENT_GET_TRACE_STATS] = "GetTraceStats",
	[ORMA_CLIENT_OBSERVE_EVENTS] = "ObserveEvents",
	[ORMA_CLIENT_QUERY_SERVICE_STATE] = "QueryServiceState",
	[ORMA_CLIENT_QUERY_CAPABILITIES] = "QueryCapabilities",
	[ORMA_CLIENT_CLONE_SESSION] = "CloneSession",
	[ORMA_CLIENT_CHANGE_CONFIG] = "ChangeTraceConfig",
	[ORMA_CLIENT_FREE_BUFFERS] = "FreeBuffers",
};

/* --- waiting ---------------------------------------------------------------------------------- */

bool orma_client_session_is_inherited(const struct orma_session *session)
{
	return session->fork_count != orma_client_fork_count;
}

int orma_client_session_check(const struct orma_session *session, struct orma_error *reterr)
{
	if (orma_client_session_is_inherited(session))
		return orma_base_error_set(reterr, -ECONNRESET,
					   "the session is that of the process that forked");
	if (session->lost_error < 0)
		return orma_base_error_set(reterr, -ECONNRESET,
					   "the connection to the service is lost");
	if (!session->is_connected)
		return orma_base_error_set(reterr, -ENOTCONN, "not connected to the service yet");
	return 0;
}

/* The application drives the library itself: what it waits for happens inside orma_dispatch(). */
static int turn_driven(struct orma_session *session, int driven_fd, int timeout_ms)
{
	struct pollfd fds[] = {{.fd = orma_base_loop_fd(session->loop), .events = POLLIN},
			       {.fd = driven_fd, .events = POLLIN}};

	poll(fds, ORMA_ARRAY_SIZE(fds), timeout_ms);
	orma_dispatch();
	return orma_base_loop_turn(session->loop, 0);
}

int orma_client_session_wait(struct orma_session *session, const bool *flag, uint64_t timeout_ns)
{
	ORMA_NO_CANCEL();
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	uint64_t deadline_ns = now_ns + timeout_ns < now_ns ? UINT64_MAX : now_ns + timeout_ns;
	int driven_fd;

	if (orma_client_session_is_inherited(session))
		return -ECONNRESET;
	driven_fd = session->options.in_process ? orma_poll_fd() : -1;
	while (!*flag) {
		uint64_t left_ns;
		int timeout_ms, r;

		if (session->lost_error < 0)
			return -ECONNRESET;
		now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
		if (now_ns >= deadline_ns)
			return -ETIMEDOUT;
		left_ns = ORMA_MIN(deadline_ns - now_ns, 1000 * ORMA_NS_PER_SEC);
		timeout_ms = (int)((left_ns + ORMA_NS_PER_MS - 1) / ORMA_NS_PER_MS);
		/* -EBUSY: called from one of the session's own callbacks. */
		r = driven_fd >= 0 ? turn_driven(session, driven_fd, timeout_ms)
				   : orma_base_loop_turn(session->loop, timeout_ms);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- connecting ------------------------------------------------------------------------------- */

static int connect_error(const struct orma_session *session, int error, const char *address,
			 struct orma_error *reterr)
{
	const char *said = orma_ipc_client_error_text(session->ipc);

	switch (error) {
	case -ENOENT:
	case -ECONNREFUSED:
		return orma_base_error_set(
			reterr, error, "no tracing service listens at %s; `orma traced` starts one",
			address);
	case -EPERM:
		if (said)
			return orma_base_error_set(
				reterr, error,
				"%s runs the service at %s, and is neither you, root nor the "
				"system; ORMA_TRUST_SERVICE=any connects all the same",
				said, address);
		__attribute__((fallthrough));
	case -EACCES:
		return orma_base_error_set(reterr, error,
					   "no permission to connect to %s; `traced "
					   "--set-socket-permissions` gives it",
					   address);
	case -ETIMEDOUT:
		return orma_base_error_set(reterr, error, "%s does not answer", address);
	case -EBUSY:
		return orma_base_error_set(reterr, error, "%s refused the connection%s%s", address,
					   said ? ": " : "", said ? said : "");
	case -ENOTSUP:
	case -EPROTO:
		return orma_base_error_set(reterr, -EPROTO,
					   "what listens at %s is no tracing service for consumers",
					   address);
	default:
		return orma_base_error_set(reterr, error, "cannot connect to %s: %s", address,
					   orma_base_error_words(error));
	}
}

static const char *address_of(const struct orma_session *session)
{
	if (session->options.in_process)
		return "the service of this process";
	return session->options.consumer_socket ? session->options.consumer_socket
						: orma_ipc_consumer_address();
}

static void on_connected(void *ctx)
{
	struct orma_session *session = ctx;

	session->is_connected = true;
	if (session->options.connects_later && session->options.on_connected)
		session->options.on_connected(session->options.ctx, NULL);
}

static void tell_error(struct orma_session *session, const struct orma_error *error)
{
	if (session->has_told_loss || !session->options.on_error)
		return;
	session->has_told_loss = error->code == -ECONNRESET;
	session->options.on_error(session->options.ctx, error);
}

static void on_disconnected(void *ctx, int error)
{
	struct orma_session *session = ctx;
	struct orma_error said = {0};

	session->lost_error = error < 0 ? error : -ECONNRESET;
	if (session->is_connected) {
		orma_base_error_set(&said, -ECONNRESET, "the connection to the service is lost");
		tell_error(session, &said);
	} else if (session->options.connects_later && session->options.on_connected) {
		connect_error(session, session->lost_error, address_of(session), &said);
		session->options.on_connected(session->options.ctx, &said);
	}
}

static int connect_locally(struct orma_session *session,
			   const struct orma_ipc_client_options *options, struct orma_error *reterr)
{
#ifdef ORMA_WITHOUT_SERVICE
	(void)session;
	(void)options;
	return orma_base_error_set(reterr, -ENOTSUP, "this library was built without the service");
#else
	int fd = -1, r = orma_client_open_consumer(&fd);

	if (r < 0)
		return orma_base_error_set(reterr, r, "%s",
					   "there is no in-process tracing service");
	r = orma_ipc_client_new_from_fd(options, fd, &session->ipc);
	if (r < 0) {
		orma_base_fd_close(fd);
		return orma_base_error_set(reterr, r, "cannot connect to %s: %s",
					   address_of(session), orma_base_error_words(r));
	}
	return 0;
#endif
}

static int take_trust(const struct orma_session *session, struct orma_ipc_trust *ret,
		      struct orma_error *reterr)
{
	enum orma_ipc_naming naming = session->options.consumer_socket ? ORMA_IPC_NAMED_BY_PROGRAM
				      : orma_ipc_consumer_address_wanted()
					      ? ORMA_IPC_NAMED_BY_ENVIRONMENT
					      : ORMA_IPC_NAMED_BY_NOBODY;
	int r = orma_ipc_trust_init(ret, naming, session->options.trusted_services);

	return r < 0 ? orma_base_error_set(reterr, r,
					   "trusted_services is neither \"any\" nor a list of "
					   "user ids")
		     : 0;
}

static int begin_connecting(struct orma_session *session, struct orma_error *reterr)
{
	struct orma_ipc_trust trust;
	const struct orma_ipc_client_options options = {
		.loop = session->loop,
		.service_name = "ConsumerPort",
		.method_names = method_names,
		.method_count = ORMA_ARRAY_SIZE(method_names),
		.ctx = session,
		.connected = on_connected,
		.disconnected = on_disconnected,
		.connect_timeout_ns = session->timeout_ns,
		.queue_bytes = 4 * ORMA_IPC_FRAME_BYTES_MAX,
		/* Of this process's own service there is nothing to ask. */
		.trust = session->options.in_process ? NULL : &trust,
	};
	const char *address = address_of(session);
	int r;

	if (session->options.in_process)
		return connect_locally(session, &options, reterr);
	r = take_trust(session, &trust, reterr);
	if (r < 0)
		return r;
	r = orma_ipc_client_new(&options, address, &session->ipc);
	if (r < 0)
		return orma_base_error_set(reterr, r, "cannot connect to %s: %s", address,
					   orma_base_error_words(r));
	return 0;
}

static int session_connect(struct orma_session *session, struct orma_error *reterr)
{
	int r = begin_connecting(session, reterr);

	if (r < 0 || session->options.connects_later)
		return r;
	r = orma_client_session_wait(session, &session->is_connected, session->timeout_ns);
	if (r == 0)
		return 0;
	return connect_error(session, r == -ETIMEDOUT ? r : session->lost_error,
			     address_of(session), reterr);
}

/* Runs on the thread that turns the loop, after orma_session_request_stop() on any. */
static void on_wake(void *ctx)
{
	struct orma_session *session = ctx;

	if (!atomic_exchange_explicit(&session->wants_stop, false, memory_order_relaxed))
		return;
	/* Not connected yet: then the session is not enabled either. */
	orma_session_stop(session);
}

static int take_options(struct orma_session *session, const struct orma_session_options *options,
			struct orma_error *reterr)
{
	int r = orma_base_options_copy(&session->options, sizeof(session->options), options);

	if (r < 0)
		return orma_base_error_set(
			reterr, r, "the options are of another size, or of a newer release");
	session->timeout_ns =
		(session->options.timeout_ms ? session->options.timeout_ms : DEFAULT_TIMEOUT_MS) *
		ORMA_NS_PER_MS;
	if (!session->options.consumer_socket)
		return 0;
	/* Errors may want to name it later. */
	session->options.consumer_socket = orma_base_strdup(session->options.consumer_socket);
	return session->options.consumer_socket
		       ? 0
		       : orma_base_error_set(reterr, -ENOMEM, "no memory for a session");
}

static int make_loop(struct orma_session *session)
{
	/* A session may be all that a process has of the library. */
	int r = orma_client_forks_init();

	if (r == 0)
		r = orma_base_loop_new(&session->loop);
	if (r < 0)
		return r;
	orma_base_loop_set_close_on_fork(session->loop);
	orma_base_loop_set_wake_handler(session->loop, on_wake, session);
	return 0;
}

int orma_session_new(const struct orma_session_options *options, struct orma_session **ret,
		     struct orma_error *reterr)
{
	ORMA_NO_CANCEL();
	struct orma_session *session;
	int r;

	if (!ret)
		return orma_base_error_set(reterr, -EINVAL, "no place for the session");
	session = orma_base_zalloc(sizeof(*session));
	if (!session)
		return orma_base_error_set(reterr, -ENOMEM, "no memory for a session");
	session->fork_count = orma_client_fork_count;
	orma_base_list_init(&session->calls);
	r = take_options(session, options, reterr);
	if (r < 0) {
		orma_base_free(session);
		return r;
	}
	r = make_loop(session);
	if (r < 0)
		orma_base_error_set(reterr, r, "no event loop: %s", orma_base_error_words(r));
	if (r == 0)
		r = session_connect(session, reterr);
	if (r < 0) {
		orma_session_free(session);
		return r;
	}
	*ret = session;
	return 0;
}

void orma_session_free(struct orma_session *session)
{
	ORMA_NO_CANCEL();

	if (!session)
		return;
	/* What a child inherits is half of something, and its numbers are others' by now. */
	if (orma_client_session_is_inherited(session)) {
		orma_client_fork_leave(session);
		return;
	}
	orma_ipc_client_free(session->ipc);
	orma_client_session_discard_calls(session);
	orma_base_loop_free(session->loop);
	orma_base_free((char *)session->options.consumer_socket);
	orma_base_free(session);
}

int orma_session_poll_fd(struct orma_session *session)
{
	if (!session)
		return -EINVAL;
	if (orma_client_session_is_inherited(session))
		return -ECONNRESET;
	return orma_base_loop_fd(session->loop);
}

int orma_session_dispatch(struct orma_session *session)
{
	if (!session)
		return -EINVAL;

	ORMA_NO_CANCEL();
	int r = orma_client_session_is_inherited(session) ? -ECONNRESET
							  : orma_base_loop_turn(session->loop, 0);

	if (r < 0)
		return r;
	return session->lost_error < 0 ? -ECONNRESET : 0;
}

/* --- enabling and ending ---------------------------------------------------------------------- */

static void session_ended(struct orma_session *session)
{
	session->is_stopped = session->is_start_settled = true;
	if (session->stop_error.code < 0)
		tell_error(session, &session->stop_error);
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
	/* Upstream's services say it once, and not to those who begin to listen afterwards. */
	r = orma_client_session_observe(session, session->observed | ORMA_CLIENT_ALL_STARTED);
	if (r < 0 && r != -ENOTSUP)
		return r;
	return orma_client_session_send_enable(session, &args, file_fd);
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
	/* Upstream's service answers consumers always: of 2020, with its debug checks, it aborts
	 * where no reply was asked for. */
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
