/* SPDX-License-Identifier: Apache-2.0
 * priority.c - sessions that want the machine: exclusive ones, and those that boost the service's
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
#include "base/log_message.h"
#include "schema/gen/priority_boost_config.pb.h"
#include "service/state.h"

/* --- exclusive sessions ----------------------------------------------------------------------- */

uint32_t orma_service_exclusive_priority(const struct orma_service *service)
{
	const struct orma_service_session *session;
	uint32_t priority = 0;

	ORMA_LIST_FOR_EACH (session, &service->sessions, link)
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
	ORMA_LIST_FOR_EACH_SAFE (session, next, &service->sessions, link)
		if (session->state != ORMA_SERVICE_SESSION_CLONED &&
		    session->state != ORMA_SERVICE_SESSION_OPENING && !session->is_orphaned)
			orma_service_session_abort(session, reason.message);
}

/* --- the thread's priority -------------------------------------------------------------------- */

/* Real-time before any nice value, then by number. */
static uint64_t rank(const struct orma_service_boost *boost)
{
	return (uint64_t)boost->policy << 32 | boost->priority;
}

static struct orma_service_boost wanted_by(const struct orma_pb_trace_config *config)
{
	const struct orma_pb_priority_boost_config *boost = config->priority_boost;

	if (!boost)
		return (struct orma_service_boost){0};
	return (struct orma_service_boost){(uint32_t)boost->policy, boost->priority};
}

/* The highest that anybody wants, `config` (may be NULL) included. */
static struct orma_service_boost highest(const struct orma_service *service,
					 const struct orma_pb_trace_config *config)
{
	struct orma_service_boost best = {0}, one;
	const struct orma_service_session *session;

	if (config)
		best = wanted_by(config);
	ORMA_LIST_FOR_EACH (session, &service->sessions, link) {
		if (session->state == ORMA_SERVICE_SESSION_CLONED ||
		    session->state == ORMA_SERVICE_SESSION_OPENING)
			continue;
		one = wanted_by(session->config);
		if (rank(&one) > rank(&best))
			best = one;
	}
	return best;
}

static int apply(struct orma_service *service, struct orma_service_boost boost)
{
	int r;

	if (rank(&boost) == rank(&service->boost))
		return 0;
	r = service->set_priority(service->ctx, (enum orma_priority_policy)boost.policy,
				  boost.priority);
	if (r == 0)
		service->boost = boost;
	return r;
}

int orma_service_boost_begin(struct orma_service *service,
			     const struct orma_pb_trace_config *config, struct orma_error *reterr)
{
	int r = config->priority_boost ? apply(service, highest(service, config)) : 0;

	if (r == -EPERM || r == -EACCES)
		return orma_base_error_set(reterr, r,
					   "priority_boost: the service may not raise its "
					   "priority: it lacks CAP_SYS_NICE");
	if (r < 0)
		return orma_base_error_set(reterr, r,
					   "priority_boost: the service's priority cannot be "
					   "changed: %s",
					   orma_base_error_words(r));
	return 0;
}

void orma_service_boost_update(struct orma_service *service)
{
	int r = apply(service, highest(service, NULL));

	if (r < 0)
		orma_base_log(ORMA_LOG_WARNING, "the service's priority cannot be given back: %s",
			      orma_base_error_words(r));
}
