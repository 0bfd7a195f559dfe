/* SPDX-License-Identifier: Apache-2.0
 * config_rivals.c - checks whether a session may begin beside those that exist: exclusive sessions,
 * names, semaphores, limits per user and in all.
 *
 * An exclusive session is compared only with other exclusive ones: all others will have ended when it
 * begins. Rejected: counting clones, which record nothing.
 */
#include <errno.h>

#include "base/error_message.h"
#include "base/list.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "schema/gen/trace_config.pb.h"
#include "service/config/config_check.h"
#include "service/exclusive.h"
#include "service/quota.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"

struct check {
	const struct orma_service *service;
	uid_t uid;
	bool has_rights;
	const struct orma_pb_trace_config *config;
	struct orma_error *reterr;
};

#define STR_ARGS(str) (int)ORMA_MIN((str).size, (size_t)64), (str).data ? (str).data : ""

/* A lockdown outlives its session and affects the producers of all users. */
static bool changes_lockdown(const struct check *c)
{
	switch (c->config->lockdown_mode) {
	case ORMA_PB_TRACE_CONFIG_LOCKDOWN_MODE_OPERATION_LOCKDOWN_SET:
		return !c->service->is_locked_down;
	case ORMA_PB_TRACE_CONFIG_LOCKDOWN_MODE_OPERATION_LOCKDOWN_CLEAR:
		return c->service->is_locked_down;
	default:
		return false;
	}
}

static int check_rights(const struct check *c)
{
	if (c->has_rights)
		return 0;
	if (c->config->exclusive_prio)
		return orma_base_error_set(c->reterr, -EACCES,
					   "exclusive_prio: only root and the service's own user "
					   "may ask for it");
	if (changes_lockdown(c))
		return orma_base_error_set(c->reterr, -EACCES,
					   "lockdown_mode: only root and the service's own user "
					   "may change it");
	return 0;
}

static int check_exclusive(const struct check *c)
{
	uint32_t running = orma_service_exclusive_priority(c->service);
	uint32_t wanted = c->config->exclusive_prio;

	if (c->service->is_shutting_down)
		return orma_base_error_set(c->reterr, -ESHUTDOWN, "the service is shutting down");
	int r = check_rights(c);
	if (r < 0)
		return r;
	if (running && wanted <= running)
		return orma_base_error_set(c->reterr, -EBUSY,
					   "exclusive_prio: an exclusive session of priority %u "
					   "is running, and this one has %u",
					   running, wanted);
	return 0;
}

static int check_unique_name(const struct check *c)
{
	struct orma_service_session *session;

	if (c->config->unique_session_name.size == 0)
		return 0;
	ORMA_LIST_FOR_EACH (session, &c->service->sessions.list, link) {
		if (!session->is_orphaned && session->state != ORMA_SERVICE_SESSION_CLONED &&
		    orma_base_str_is(c->config->unique_session_name, session->name))
			return orma_base_error_set(
				c->reterr, -EEXIST,
				"unique_session_name: a session \"%.*s\" exists already",
				STR_ARGS(c->config->unique_session_name));
	}
	return 0;
}

static int check_semaphore(const struct check *c,
			   const struct orma_pb_trace_config_session_semaphore *semaphore)
{
	uint64_t count = 0, max = semaphore->max_other_session_count;
	struct orma_service_session *session;

	ORMA_LIST_FOR_EACH (session, &c->service->sessions.list, link) {
		if (session->state == ORMA_SERVICE_SESSION_DISABLED ||
		    session->state == ORMA_SERVICE_SESSION_CLONED)
			continue;
		for (size_t i = 0; i < session->config->session_semaphores.count; i++) {
			const struct orma_pb_trace_config_session_semaphore *other =
				session->config->session_semaphores.items[i];

			if (!orma_base_str_is_equal(other->name, semaphore->name))
				continue;
			count++;
			max = ORMA_MIN(max, other->max_other_session_count);
		}
	}
	if (count > max)
		return orma_base_error_set(c->reterr, -EBUSY,
					   "session_semaphores: \"%.*s\" is held by %llu other "
					   "%s, %llu %s allowed",
					   STR_ARGS(semaphore->name), (unsigned long long)count,
					   orma_base_noun(count, "session", "sessions"),
					   (unsigned long long)max,
					   orma_base_noun(max, "is", "are"));
	return 0;
}

static int check_semaphores(const struct check *c)
{
	int r = 0;

	for (size_t i = 0; i < c->config->session_semaphores.count && r == 0; i++)
		r = check_semaphore(c, c->config->session_semaphores.items[i]);
	return r;
}

static int check_name_age(const struct check *c)
{
	struct orma_str name = c->config->unique_session_name;
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, name.data, name.size);
	uint64_t now_ns = orma_service_boot_ns(c->service);

	if (!c->config->enable_extra_guardrails)
		return 0;
	for (size_t i = 0; i < c->service->name_history.count; i++) {
		const struct orma_service_name_use *use = &c->service->name_history.items[i];

		if (use->hash == hash && now_ns - use->time_ns < ORMA_SERVICE_GUARDED_NAME_NS)
			return orma_base_error_set(
				c->reterr, -EBUSY,
				"unique_session_name: \"%.*s\" was used less than 300 s ago "
				"(enable_extra_guardrails)",
				STR_ARGS(name));
	}
	return 0;
}

static int check_quota(const struct check *c)
{
	struct orma_service_quota quota = {
		.uid = c->uid,
		.has_rights = c->has_rights,
		.user_max = c->uid == ORMA_SERVICE_STATSD_UID ? ORMA_SERVICE_SESSIONS_OF_STATSD
							      : ORMA_SERVICE_SESSIONS_PER_UID,
		.shared_max = ORMA_SERVICE_SESSIONS_MAX,
		.first_max = ORMA_SERVICE_SESSIONS_FIRST,
	};
	struct orma_service_session *session;

	ORMA_LIST_FOR_EACH (session, &c->service->sessions.list, link) {
		/* Clones have limits of their own. */
		if (session->state != ORMA_SERVICE_SESSION_CLONED)
			orma_service_quota_add(&quota, session->uid, session->has_rights);
	}
	return orma_service_quota_check(&quota, "sessions", c->reterr);
}

int orma_service_config_check_rivals(const struct orma_service *service, uid_t uid, bool has_rights,
				     const struct orma_pb_trace_config *config,
				     struct orma_error *reterr)
{
	static int (*const checks[])(const struct check *c) = {
		check_unique_name,
		check_semaphores,
		check_name_age,
		check_quota,
	};
	struct check c = {service, uid, has_rights, config, reterr};
	int r = check_exclusive(&c);

	if (config->exclusive_prio)
		return r == 0 ? check_name_age(&c) : r;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(checks) && r == 0; i++)
		r = checks[i](&c);
	return r;
}
