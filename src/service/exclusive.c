/* SPDX-License-Identifier: Apache-2.0
 * exclusive.c - sessions that want the machine: exclusive ones, and those that boost the service's
 * thread.
 *
 * exclusive_prio: while such a session runs, only one of a higher number begins, and it ends all
 * others. That is for root and the service's own user, because it is power over everybody's
 * sessions. Clones record nothing and stay. priority_boost: the service's thread has the highest of
 * the priorities that sessions ask for, from their beginning to when they are freed, through the
 * embedder's boost(). A session whose file is still being created has not begun: it neither keeps
 * others away nor is ended by them, and is checked anew when it begins. Nothing is stored here:
 * both are worked out from the sessions there are, so no end of a session can be forgotten.
 * Rejected: ending the others while the config is still being checked (upstream: a config that is
 * then refused has ended them all the same), changing the priority without being asked to by the
 * embedder (a library does not do that to its process).
 */
#include <errno.h>

#include "base/error_message.h"
#include "base/list.h"
#include "base/macros.h"
#include "service/exclusive.h"
#include "service/service_state.h"
#include "service/session_life.h"
#include "service/session_state.h"

/* --- exclusive sessions ----------------------------------------------------------------------- */

uint32_t orma_service_exclusive_priority(const struct orma_service *service)
{
	const struct orma_service_session *session;
	uint32_t priority = 0;

	ORMA_LIST_FOR_EACH (session, &service->sessions.list, link)
		if (session->state != ORMA_SERVICE_SESSION_DISABLED &&
		    session->state != ORMA_SERVICE_SESSION_CLONED &&
		    session->state != ORMA_SERVICE_SESSION_OPENING)
			priority = ORMA_MAX(priority, session->config->exclusive_prio);
	return priority;
}

void orma_service_end_for_exclusive(struct orma_service *service, uint32_t priority)
{
	struct orma_service_session *session, *next;
	struct orma_error reason;

	orma_base_error_set(&reason, -EBUSY,
			    "an exclusive session of priority %u has begun and ended this one",
			    priority);
	ORMA_LIST_FOR_EACH_SAFE (session, next, &service->sessions.list, link)
		if (session->state != ORMA_SERVICE_SESSION_CLONED &&
		    session->state != ORMA_SERVICE_SESSION_OPENING && !session->is_orphaned)
			orma_service_session_abort(session, reason.message);
}

/* --- the thread's priority -------------------------------------------------------------------- */
