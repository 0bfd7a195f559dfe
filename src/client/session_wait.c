/* SPDX-License-Identifier: Apache-2.0
 * session_wait.c - whether a session can be used, and turning its loop until something has happened.
 */
#include <errno.h>
#include <orma/init.h>
#include <poll.h>

#include "base/cancel.h"
#include "base/clock_ns.h"
#include "base/error_message.h"
#include "client/client_session.h"
#include "client/revival.h"

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

/* With caller_drives, also dispatches the library, because the answer may depend on that. */
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
