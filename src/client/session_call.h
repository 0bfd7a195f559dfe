/* SPDX-License-Identifier: Apache-2.0
 * session_call.h - one call of a session to the service.
 *
 * A call is on the stack of a function that waits for it, or on the heap: then it is in session->calls from
 * orma_client_session_begin() until its end, and `finish` is set.
 */
#ifndef ORMA_CLIENT_SESSION_CALL_H
#define ORMA_CLIENT_SESSION_CALL_H

#include "client/client_session.h"

struct orma_client_call {
	bool is_done;
	int error;
	/* Runs for each reply; a negative return ends the call with it. May be NULL. */
	int (*reply)(struct orma_client_call *call, const void *data_untrusted, size_t size);
	uint64_t replies; /* so far */

	/* NULL for a call on the stack. `finish` runs once, when the call is done, and frees it; `discard` only
	 * frees it. */
	void (*finish)(struct orma_client_call *call);
	void (*discard)(struct orma_client_call *call);
	struct orma_session *session;
	struct orma_list item; /* in session->calls */
	struct orma_timer timer;
	uint64_t timeout_ns;
	bool is_on_hold; /* counted in session->hold_count */
};

/*
 * Invokes a method with a descriptor (borrowed, -1 = none) and waits; each reply restarts the timeout. 0,
 * -EBUSY (inside a callback of the session), -ETIMEDOUT, -ECONNRESET, -EREMOTEIO (rejected),
 * -ENOTSUP, -EMSGSIZE, -ENOMEM, or what call->reply returned.
 */
int orma_client_session_call(struct orma_session *session, enum orma_client_session_method method,
			     const struct orma_buf *args, int fd, uint64_t timeout_ns,
			     struct orma_client_call *call);
/*
 * Invokes a method without waiting. 0 hands the call over (see `finish`), otherwise it stays the caller's.
 * The timeout counts from reply to reply; the call then finishes with -ETIMEDOUT.
 */
int orma_client_session_begin(struct orma_session *session, enum orma_client_session_method method,
			      const struct orma_buf *args, int fd, uint64_t timeout_ns,
			      struct orma_client_call *call);
/* Pauses or resumes a call on the heap. On hold, nothing is received over the session's connection, and
 * the call's timer does not run. */
void orma_client_call_hold(struct orma_client_call *call, bool is_on_hold);
/* Finishes a call on the heap now, with an error. */
void orma_client_call_end(struct orma_client_call *call, int error);
/* Frees the calls that are under way. */
void orma_client_session_discard_calls(struct orma_session *session);

#endif
