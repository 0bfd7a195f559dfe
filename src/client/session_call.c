/* SPDX-License-Identifier: Apache-2.0
 * session_call.c - one call of a session: waited for, or not.
 *
 * The two forms differ in who owns the call and what happens at its end; requests, replies and the
 * meaning of errors are the same functions. A call on the heap has a timer of its own,
 * which each reply restarts, and is in the session's list until its end, so that freeing the session frees
 * it. Rejected: the waiting form on top of the other one (an allocation and a timer
 * for each, and a second way to fail), one timeout per session (a flush may take longer than a
 * query behind it).
 */
#include <errno.h>

#include "base/assert.h"
#include "base/cancel.h"
#include "base/error_message.h"
#include "client/session_call.h"

static void on_timeout(struct orma_timer *timer);

void orma_client_call_hold(struct orma_client_call *call, bool is_on_hold)
{
	struct orma_session *session = call->session;

	if (call->is_on_hold == is_on_hold)
		return;
	ORMA_ASSERT(is_on_hold || session->hold_count > 0);
	call->is_on_hold = is_on_hold;
	session->hold_count += is_on_hold ? 1 : UINT32_MAX;
	orma_ipc_client_pause(session->ipc, session->hold_count > 0);
	if (is_on_hold)
		orma_base_timer_disarm(&call->timer);
	else if (orma_base_loop_arm_in(session->loop, &call->timer, call->timeout_ns, on_timeout) <
		 0)
		orma_client_call_end(call, -ENOMEM);
}

static void finish(struct orma_client_call *call)
{
	ORMA_ASSERT(call->finish && call->session);
	if (call->is_on_hold) {
		ORMA_ASSERT(call->session->hold_count > 0);
		call->is_on_hold = false;
		orma_ipc_client_pause(call->session->ipc, --call->session->hold_count > 0);
	}
	orma_base_timer_disarm(&call->timer);
	orma_base_list_remove(&call->item);
	/* If the call ends early, more replies may come, which must not find it. */
	orma_ipc_client_forget(call->session->ipc, call);
	call->finish(call);
}

void orma_client_call_end(struct orma_client_call *call, int error)
{
	call->error = error;
	finish(call);
}

static void on_timeout(struct orma_timer *timer)
{
	orma_client_call_end(ORMA_CONTAINER_OF(timer, struct orma_client_call, timer), -ETIMEDOUT);
}

static void on_reply(void *ctx, const struct orma_ipc_reply *reply)
{
	struct orma_client_call *call = ctx;

	if (call->is_done)
		return;
	call->replies++;
	if (!reply->success)
		call->error = reply->error == -EREMOTEIO ? -EREMOTEIO : -ECONNRESET;
	else if (call->reply)
		call->error = call->reply(call, reply->data, reply->size);
	call->is_done = !reply->has_more || call->error < 0;
	if (!call->finish)
		return;
	if (call->is_done)
		finish(call);
	else if (!call->is_on_hold) /* moves an armed timer: allocates nothing */
		orma_base_loop_arm_in(call->session->loop, &call->timer, call->timeout_ns,
				      on_timeout);
}

static int invoke(struct orma_session *session, enum orma_client_session_method method,
		  const struct orma_buf *args, int fd, struct orma_client_call *call)
{
	ORMA_NO_CANCEL();
	int r = orma_client_session_check(session, NULL);

	if (r < 0)
		return r;
	r = orma_ipc_client_invoke_fd(session->ipc, method, args ? args->data : NULL,
				      args ? args->size : 0, fd, on_reply, call);
	return r == -ENOTCONN || r == -ENOBUFS ? -ECONNRESET : r;
}

int orma_client_session_call(struct orma_session *session, enum orma_client_session_method method,
			     const struct orma_buf *args, int fd, uint64_t timeout_ns,
			     struct orma_client_call *call)
{
	int r;

	/* Inside a callback of the session the loop cannot run, so no answer would arrive. */
	if (orma_base_loop_is_in_turn(session->loop))
		return -EBUSY;
	r = invoke(session, method, args, fd, call);
	if (r < 0)
		return r;
	for (;;) {
		uint64_t replies = call->replies;

		r = orma_client_session_wait(session, &call->is_done, timeout_ns);
		if (r != -ETIMEDOUT || replies == call->replies)
			break;
	}
	orma_ipc_client_forget(session->ipc, call);
	return call->is_done ? call->error : r;
}

int orma_client_session_begin(struct orma_session *session, enum orma_client_session_method method,
			      const struct orma_buf *args, int fd, uint64_t timeout_ns,
			      struct orma_client_call *call)
{
	int r;

	ORMA_ASSERT(call->finish && call->discard && !call->is_done);
	r = orma_base_loop_arm_in(session->loop, &call->timer, timeout_ns, on_timeout);
	if (r < 0)
		return r;
	call->session = session;
	call->timeout_ns = timeout_ns;
	r = invoke(session, method, args, fd, call);
	if (r < 0) {
		orma_base_timer_disarm(&call->timer);
		return r;
	}
	orma_base_list_append(&session->calls, &call->item);
	return 0;
}

void orma_client_session_discard_calls(struct orma_session *session)
{
	struct orma_client_call *call, *next;

	ORMA_LIST_FOR_EACH_SAFE (call, next, &session->calls, item) {
		orma_base_timer_disarm(&call->timer);
		orma_base_list_remove(&call->item);
		call->discard(call);
	}
}
