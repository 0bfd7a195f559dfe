/* SPDX-License-Identifier: Apache-2.0
 * client_session.c - making a session: its options, its loop, its connection.
 *
 * A session owns a small event loop without a thread, and one ConsumerPort connection on it, whether the
 * service is a daemon or in this process (then over a socket pair): there is one path to test. Calls that
 * need an answer run that loop until the answer has arrived. EnableTracing is answered when the session ends,
 * which may happen during any other call.
 *
 *   new -> connected --enable--> running --answer to EnableTracing--> stopped
 *              ^                    |
 *              +------detach--------+            attach: connected -> running
 *
 * Rejected: a thread per session (callbacks would run on it, and need locks), direct calls of the in-process
 * service (its loop runs on another thread).
 */
#include "client/client_session.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/clock_ns.h"
#include "base/error_message.h"
#include "base/fd.h"
#include "base/options.h"
#include "client/fork.h"
#include "client/revival.h"
#include "client/session_call.h"
#include "ipc/address.h"
#include "ipc/frame.h"
#include "ipc/trust.h"

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
				"system; ORMA_TRUST_SERVICE=any connects anyway",
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

static void on_disconnected(void *ctx, int error)
{
	struct orma_session *session = ctx;
	struct orma_error said = {0};

	session->lost_error = error < 0 ? error : -ECONNRESET;
	if (session->is_connected) {
		orma_base_error_set(&said, -ECONNRESET, "the connection to the service is lost");
		orma_client_session_tell_error(session, &said);
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
	int fd = -1, r = orma_client_local_consumer_open(&fd);

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
		/* The service of this process needs no check. */
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
					   r == -EINVAL
						   ? "it is not an address that a socket can have"
						   : orma_base_error_words(r));
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

/* Runs on the thread that runs the loop, after any thread has called orma_session_request_stop(). */
static void on_wake(void *ctx)
{
	struct orma_session *session = ctx;

	if (!atomic_exchange_explicit(&session->wants_stop, false, memory_order_relaxed))
		return;
	/* Fails if the session is not connected yet; then there is nothing to stop. */
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
	/* A copy, because later error messages name it. */
	session->options.consumer_socket = orma_base_strdup(session->options.consumer_socket);
	return session->options.consumer_socket
		       ? 0
		       : orma_base_error_set(reterr, -ENOMEM, "no memory for a session");
}

static int make_loop(struct orma_session *session)
{
	/* A process may use sessions without having called orma_init(). */
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
	/* A child inherits only half of the session: the loop and the descriptors are closed, and their
	 * numbers may belong to other files by now. */
	if (orma_client_session_is_inherited(session)) {
		orma_client_keep_reachable(session);
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
