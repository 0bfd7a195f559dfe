/* SPDX-License-Identifier: Apache-2.0
 * exclusive.c - exclusive sessions.
 *
 * While a session with exclusive_prio runs, only one of a higher priority may begin, and it ends
 * all others. Only root and the service's own user may ask for it, because it ends the sessions of
 * all users. Clones record nothing and stay. A session whose file is still being created has not
 * begun: it neither blocks others nor is ended by them, and it is checked again when it begins.
 * Rejected: ending the others while the config is still being checked (upstream: a config that is
 * then refused has ended them nevertheless).
 */
#include "service/exclusive.h"

#include <errno.h>

#include "base/error_message.h"
#include "base/list.h"
#include "base/macros.h"
#include "service/service_core.h"
#include "service/session_life.h"
#include "service/session_state.h"

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
