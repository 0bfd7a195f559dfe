/* SPDX-License-Identifier: Apache-2.0
 * boost.c - priority_boost: the priority of the service's thread.
 *
 * The thread has the highest of the priorities that sessions ask for, from when they begin until
 * they are freed, through the embedder's set_priority(). A session whose file is still being
 * created has not begun. Nothing is stored per session: the priority is computed from the sessions
 * that exist, so no end of a session can be forgotten. Rejected: changing the priority without the
 * embedder's function (a library must not change its process unasked).
 */
#include "service/boost.h"

#include <errno.h>

#include "base/error_message.h"
#include "base/list.h"
#include "base/log_message.h"
#include "schema/gen/priority_boost_config.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "service/service_core.h"
#include "service/session_state.h"

/* Real-time policies are above any nice value; within a policy the number counts. */
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

/* The highest priority that the existing sessions and `config` (may be NULL) ask for. */
static struct orma_service_boost highest(const struct orma_service *service,
					 const struct orma_pb_trace_config *config)
{
	struct orma_service_boost best = {0}, one;
	const struct orma_service_session *session;

	if (config)
		best = wanted_by(config);
	ORMA_LIST_FOR_EACH (session, &service->sessions.list, link) {
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
