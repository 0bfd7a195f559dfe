/* SPDX-License-Identifier: Apache-2.0
 * trigger_activate.c - activates triggers: names sent by producers, upon which sessions start, stop
 * or are cloned.
 *
 *   START_TRACING   configured --hit--> started --its stop_delay_ms--> flush, disabled
 *                   configured --trigger_timeout_ms--> disabled, nothing to read
 *   STOP_TRACING    started --first hit, its stop_delay_ms--> flush, disabled
 *                   started --trigger_timeout_ms--> flush, disabled, nothing to read
 *   CLONE_SNAPSHOT  started --each hit, its stop_delay_ms--> event for the consumer, which clones
 *                   started --trigger_timeout_ms--> flush, disabled; only clones can be read
 *
 * The service remembers when triggers of each name were obeyed in the last 24 hours, for
 * max_per_24_h. The effects of a hit happen in a timer, never inside the producer's call. Rejected:
 * acting inside the call (a session may be freed under the loop over sessions), a counter per
 * trigger instead of the history (a session would not know how often earlier ones obeyed it), the
 * history on disk (a daemon that runs for a day needs none).
 */
#include "service/trigger/trigger_activate.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock_ns.h"
#include "base/list.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "service/filter/regex.h"
#include "service/observe.h"
#include "service/producer/producer.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_life.h"
#include "service/session_state.h"
#include "service/timer.h"
#include "service/trigger/trigger_state.h"

/* --- the timeout of a session ----------------------------------------------------------------- */

static void on_start_timeout(struct orma_service_timer *timer)
{
	struct orma_service_session *session =
		ORMA_CONTAINER_OF(timer, struct orma_service_session, triggers.timer);

	if (session->state == ORMA_SERVICE_SESSION_CONFIGURED)
		orma_service_session_disable(session, false, NULL);
}

void orma_service_triggers_arm(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	uint32_t timeout_ms = session->config->trigger_config
				      ? session->config->trigger_config->trigger_timeout_ms
				      : 0;

	if (session->triggers.mode == ORMA_SERVICE_TRIGGER_MODE(START_TRACING))
		orma_service_timer_arm(&service->timers, &session->triggers.timer,
				       orma_service_now_ns(service) + timeout_ms * ORMA_NS_PER_MS,
				       on_start_timeout);
	else if (session->triggers.mode != ORMA_SERVICE_TRIGGER_MODE(UNSPECIFIED))
		session->duration_ms = timeout_ms;
}

/* --- the history ------------------------------------------------------------------------------ */

static void remove_uses(struct orma_service *service, size_t idx, size_t count)
{
	ORMA_ASSERT(idx + count <= service->trigger_history.count);
	memmove(&service->trigger_history.items[idx], &service->trigger_history.items[idx + count],
		(service->trigger_history.count - idx - count) *
			sizeof(service->trigger_history.items[0]));
	service->trigger_history.count -= count;
}

static size_t count_uses(const struct orma_service *service, uint64_t hash, size_t *ret_oldest)
{
	size_t count = 0;

	for (size_t i = service->trigger_history.count; i-- > 0;) {
		if (service->trigger_history.items[i].hash != hash)
			continue;
		*ret_oldest = i;
		count++;
	}
	return count;
}

static void forget_old_uses(struct orma_service *service, uint64_t now_ns)
{
	size_t old = 0;

	while (old < service->trigger_history.count &&
	       now_ns - service->trigger_history.items[old].time_ns >
		       ORMA_SERVICE_TRIGGER_WINDOW_NS)
		old++;
	if (old)
		remove_uses(service, 0, old);
}

static void note_use(struct orma_service *service, uint64_t hash, uint64_t now_ns)
{
	size_t oldest = 0;

	if (!service->trigger_history.items)
		service->trigger_history.items = orma_base_alloc_array(
			ORMA_SERVICE_TRIGGER_USES_KEPT, sizeof(*service->trigger_history.items));
	if (!service->trigger_history.items)
		return;
	/* A name that is activated very often drops its own oldest use, not that of others. */
	if (count_uses(service, hash, &oldest) >= ORMA_SERVICE_TRIGGER_USES_PER_NAME)
		remove_uses(service, oldest, 1);
	else if (service->trigger_history.count == ORMA_SERVICE_TRIGGER_USES_KEPT)
		remove_uses(service, 0, 1);
	service->trigger_history.items[service->trigger_history.count++] =
		(struct orma_service_trigger_use){hash, now_ns};
}

/* --- hits ------------------------------------------------------------------------------------- */

static void on_start(struct orma_service_timer *timer)
{
	struct orma_service_session *session =
		ORMA_CONTAINER_OF(timer, struct orma_service_session, triggers.timer);

	if (session->state == ORMA_SERVICE_SESSION_CONFIGURED)
		orma_service_session_start(session);
}

static void on_stop(struct orma_service_timer *timer)
{
	orma_service_session_flush_and_disable(
		ORMA_CONTAINER_OF(timer, struct orma_service_session, triggers.timer));
}

static void on_delay(struct orma_service_timer *timer)
{
	struct orma_service_pending_hit *pending =
		ORMA_CONTAINER_OF(timer, struct orma_service_pending_hit, timer);

	orma_service_observe_clone_trigger(pending->session, &pending->hit);
	orma_service_pending_hit_free(pending);
}

static void notify_later(struct orma_service_session *session,
			 const struct orma_service_trigger_hit *hit)
{
	struct orma_service *service = session->service;
	struct orma_service_pending_hit *pending = NULL;

	if (session->triggers.pending_count < ORMA_SERVICE_PENDING_HITS_MAX)
		pending = orma_base_zalloc(sizeof(*pending));
	if (!pending || orma_service_trigger_hit_copy(hit, &pending->hit) < 0) {
		orma_base_log(ORMA_LOG_WARNING,
			      "session %llu: too many triggers wait, \"%s\" is left out",
			      (unsigned long long)session->id, hit->name);
		orma_base_free(pending);
		return;
	}
	pending->session = session;
	orma_base_list_append(&session->triggers.pending, &pending->link);
	session->triggers.pending_count++;
	orma_service_timer_arm(&service->timers, &pending->timer,
			       orma_service_now_ns(service) + hit->delay_ms * ORMA_NS_PER_MS,
			       on_delay);
}

static void act(struct orma_service_session *session, const struct orma_service_trigger_hit *hit)
{
	struct orma_service *service = session->service;
	uint64_t now_ns = orma_service_now_ns(service);
	bool is_first = !session->triggers.has_been_triggered;

	session->triggers.has_been_triggered = true;
	if (session->state == ORMA_SERVICE_SESSION_STOPPING)
		return;
	switch (session->triggers.mode) {
	case ORMA_SERVICE_TRIGGER_MODE(START_TRACING):
		if (!is_first || session->state != ORMA_SERVICE_SESSION_CONFIGURED)
			return;
		session->duration_ms = (uint32_t)hit->delay_ms;
		orma_service_timer_arm(&service->timers, &session->triggers.timer, now_ns,
				       on_start);
		return;
	case ORMA_SERVICE_TRIGGER_MODE(STOP_TRACING):
		if (!is_first)
			return;
		/* From here on the trigger decides when the session ends, and the timeout does
		 * not. */
		orma_service_timer_disarm(&session->duration_timer);
		orma_service_timer_arm(&service->timers, &session->triggers.timer,
				       now_ns + hit->delay_ms * ORMA_NS_PER_MS, on_stop);
		return;
	default:
		notify_later(session, hit);
	}
}

/* --- activation ------------------------------------------------------------------------------- */

static const struct orma_service_trigger *find_trigger(const struct orma_service_session *session,
						       const char *name, uint64_t hash)
{
	for (size_t i = 0; i < session->triggers.count; i++)
		if (session->triggers.items[i].name_hash == hash &&
		    strcmp(session->triggers.items[i].name, name) == 0)
			return &session->triggers.items[i];
	return NULL;
}

/* A random number in [0, 1). */
static double draw_random(struct orma_service *service)
{
	uint64_t bits;

	service->random(service->ctx, &bits, sizeof(bits));
	return (double)(bits >> 11) * 0x1p-53;
}

static bool is_waiting(const struct orma_service_session *session,
		       const struct orma_service_trigger *trigger,
		       const struct orma_producer_port *port)
{
	if (!trigger || session->state == ORMA_SERVICE_SESSION_DISABLED ||
	    session->state == ORMA_SERVICE_SESSION_CLONED ||
	    session->state == ORMA_SERVICE_SESSION_OPENING)
		return false;
	return !trigger->has_producer_regex ||
	       orma_service_regex_matches_name(&trigger->producer_regex, port->name,
					       ORMA_SERVICE_REGEX_NAME_STEPS);
}

uint32_t orma_service_trigger_count_waiting(const struct orma_producer_port *port, const char *name)
{
	struct orma_service_session *session;
	uint64_t hash = orma_service_trigger_hash(name);
	uint32_t count = 0;

	ORMA_LIST_FOR_EACH (session, &port->service->sessions.list, link)
		count += is_waiting(session, find_trigger(session, name, hash), port);
	return count;
}

static bool is_obeyed(struct orma_service *service, const struct orma_service_trigger *trigger)
{
	size_t unused;

	if (trigger->skip_probability > 0 && draw_random(service) < trigger->skip_probability)
		return false;
	return trigger->max_per_24_h == 0 ||
	       count_uses(service, trigger->name_hash, &unused) < trigger->max_per_24_h;
}

static void activate(struct orma_producer_port *port, const char *name)
{
	struct orma_service *service = port->service;
	struct orma_service_session *session;
	uint64_t hash = orma_service_trigger_hash(name), now_ns = orma_service_boot_ns(service);
	bool was_obeyed = false;

	forget_old_uses(service, now_ns);
	ORMA_LIST_FOR_EACH (session, &service->sessions.list, link) {
		const struct orma_service_trigger *trigger = find_trigger(session, name, hash);
		struct orma_service_trigger_hit hit = {
			.boot_ns = now_ns,
			.name = (char *)(uintptr_t)name,
			.producer_name = port->name,
			.producer_uid = port->uid,
		};

		if (!is_waiting(session, trigger, port) || !is_obeyed(service, trigger))
			continue;
		hit.delay_ms = trigger->stop_delay_ms;
		orma_service_triggers_record(session, &hit);
		act(session, &hit);
		was_obeyed = true;
	}
	if (was_obeyed)
		note_use(service, hash, now_ns);
}

void orma_producer_port_activate_triggers(struct orma_producer_port *port, const char *const *names,
					  size_t count)
{
	if (!port || !names)
		return;
	for (size_t i = 0; i < count && i < ORMA_SERVICE_TRIGGERS_PER_CALL; i++)
		if (names[i] && strnlen(names[i], ORMA_SERVICE_NAME_BYTES_MAX + 1) <=
					ORMA_SERVICE_NAME_BYTES_MAX)
			activate(port, names[i]);
}

void orma_service_triggers_producer_left(struct orma_producer_port *port)
{
	if (port->machine_id == 0 && strcmp(port->name, "perfetto.traced_probes") == 0)
		activate(port, "perfetto.traced_probes.disconnect");
}
