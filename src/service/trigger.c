/* SPDX-License-Identifier: Apache-2.0
 * trigger.c - triggers: names that producers call out, upon which sessions start, stop or are
 * cloned.
 *
 *   START_TRACING   configured --hit--> started --its stop_delay_ms--> flush, disabled
 *                   configured --trigger_timeout_ms--> disabled, nothing to read
 *   STOP_TRACING    started --first hit, its stop_delay_ms--> flush, disabled
 *                   started --trigger_timeout_ms--> flush, disabled, nothing to read
 *   CLONE_SNAPSHOT  started --each hit, its stop_delay_ms--> the consumer is told, and clones
 *                   started --trigger_timeout_ms--> flush, disabled; only clones can be read
 *
 * A session holds its triggers (expressions compiled, names hashed) and the hits that it obeyed,
 * the newest of them; the service holds when a trigger of each name was obeyed in the last 24
 * hours, for max_per_24_h. Whatever a hit leads to happens in a timer, never inside the producer's
 * call. Rejected: acting inside the call (a session may go away under the loop over sessions), a
 * counter per trigger instead of the history (a session of today would not know of yesterday's
 * session's), the history on disk (a daemon that runs for a day needs none).
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/log_message.h"
#include "proto/writer.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trigger.pb.h"
#include "service/state.h"
#include "service/trigger.h"

#define MODE(name) ORMA_PB_TRACE_CONFIG_TRIGGER_CONFIG_TRIGGER_MODE_##name

static uint64_t hash_name(const char *name)
{
	return orma_base_fnv1a(ORMA_FNV1A_INIT, name, strlen(name));
}

/* --- a session's triggers --------------------------------------------------------------------- */

static int init_trigger(struct orma_service_session *session,
			const struct orma_pb_trace_config_trigger_config_trigger *config,
			struct orma_service_trigger *trigger, struct orma_error *reterr)
{
	int r;

	trigger->name = orma_base_arena_strdup(&session->arena, config->name);
	if (!trigger->name)
		return -ENOMEM;
	trigger->name_hash = hash_name(trigger->name);
	trigger->stop_delay_ms = config->stop_delay_ms;
	trigger->max_per_24_h = config->max_per_24_h;
	trigger->skip_probability = config->skip_probability;
	if (config->producer_name_regex.size == 0)
		return 0;
	r = orma_service_regex_compile(session->service, config->producer_name_regex, true,
				       &trigger->producer_regex, reterr);
	trigger->has_producer_regex = r == 0;
	return r;
}

int orma_service_triggers_init(struct orma_service_session *session, struct orma_error *reterr)
{
	const struct orma_pb_trace_config_trigger_config *config = session->config->trigger_config;

	if (!config)
		return 0;
	session->trigger_mode = (uint32_t)config->trigger_mode;
	if (config->use_clone_snapshot_if_available)
		session->trigger_mode = MODE(CLONE_SNAPSHOT);
	session->triggers =
		orma_base_alloc_array(config->triggers.count + 1, sizeof(*session->triggers));
	if (!session->triggers)
		return -ENOMEM;
	for (size_t i = 0; i < config->triggers.count; i++) {
		int r = init_trigger(session, config->triggers.items[i],
				     &session->triggers[session->trigger_count++], reterr);

		if (r < 0 && r != -ENOMEM)
			orma_base_error_prefix(
				reterr, "trigger_config.triggers[%zu].producer_name_regex", i);
		if (r < 0)
			return r;
	}
	return 0;
}

void orma_service_trigger_hit_done(struct orma_service_trigger_hit *hit)
{
	orma_base_free(hit->name);
	orma_base_free(hit->producer_name);
	*hit = (struct orma_service_trigger_hit){0};
}

static void free_late_hit(struct orma_service_late_hit *late)
{
	late->session->late_hit_count--;
	orma_service_timer_disarm(&late->timer);
	orma_base_list_remove(&late->link);
	orma_service_trigger_hit_done(&late->hit);
	orma_base_free(late);
}

void orma_service_triggers_done(struct orma_service_session *session)
{
	orma_service_timer_disarm(&session->trigger_timer);
	while (!orma_base_list_is_empty(&session->late_hits))
		free_late_hit(ORMA_LIST_ENTRY(session->late_hits.next, struct orma_service_late_hit,
					      link));
	for (size_t i = 0; i < session->trigger_count; i++)
		orma_service_regex_done(&session->triggers[i].producer_regex);
	for (size_t i = 0; i < session->hit_count; i++)
		orma_service_trigger_hit_done(&session->hits[i]);
	orma_service_trigger_hit_done(&session->clone_trigger);
	orma_base_free(session->triggers);
	orma_base_free(session->hits);
}

static void on_start_timeout(struct orma_service_timer *timer)
{
	struct orma_service_session *session =
		ORMA_CONTAINER_OF(timer, struct orma_service_session, trigger_timer);

	if (session->state == ORMA_SERVICE_SESSION_CONFIGURED)
		orma_service_session_disable(session, false, NULL);
}

void orma_service_triggers_arm(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	uint32_t timeout_ms = session->config->trigger_config
				      ? session->config->trigger_config->trigger_timeout_ms
				      : 0;

	if (session->trigger_mode == MODE(START_TRACING))
		orma_service_timer_arm(&service->timers, &session->trigger_timer,
				       orma_service_now_ns(service) + timeout_ms * ORMA_NS_PER_MS,
				       on_start_timeout);
	else if (session->trigger_mode != MODE(UNSPECIFIED))
		session->duration_ms = timeout_ms;
}

bool orma_service_triggers_defer_start(const struct orma_service_session *session)
{
	return session->trigger_mode == MODE(START_TRACING);
}

bool orma_service_triggers_hide_data(const struct orma_service_session *session)
{
	if (session->state == ORMA_SERVICE_SESSION_CLONED)
		return false;
	return session->trigger_mode == MODE(CLONE_SNAPSHOT) ||
	       (session->trigger_count && !session->has_been_triggered);
}

/* --- the history ------------------------------------------------------------------------------ */

static void remove_uses(struct orma_service *service, size_t idx, size_t count)
{
	memmove(&service->trigger_uses[idx], &service->trigger_uses[idx + count],
		(service->trigger_use_count - idx - count) * sizeof(service->trigger_uses[0]));
	service->trigger_use_count -= count;
}

static size_t count_uses(const struct orma_service *service, uint64_t hash, size_t *ret_oldest)
{
	size_t count = 0;

	for (size_t i = service->trigger_use_count; i-- > 0;) {
		if (service->trigger_uses[i].hash != hash)
			continue;
		*ret_oldest = i;
		count++;
	}
	return count;
}

static void forget_old_uses(struct orma_service *service, uint64_t now_ns)
{
	size_t old = 0;

	while (old < service->trigger_use_count &&
	       now_ns - service->trigger_uses[old].time_ns > ORMA_SERVICE_TRIGGER_WINDOW_NS)
		old++;
	if (old)
		remove_uses(service, 0, old);
}

static void note_use(struct orma_service *service, uint64_t hash, uint64_t now_ns)
{
	size_t oldest = 0;

	if (!service->trigger_uses)
		service->trigger_uses = orma_base_alloc_array(ORMA_SERVICE_TRIGGER_USES_KEPT,
							      sizeof(*service->trigger_uses));
	if (!service->trigger_uses)
		return;
	/* A name that is called out all the time forgets its own past, not that of others. */
	if (count_uses(service, hash, &oldest) >= ORMA_SERVICE_TRIGGER_USES_PER_NAME)
		remove_uses(service, oldest, 1);
	else if (service->trigger_use_count == ORMA_SERVICE_TRIGGER_USES_KEPT)
		remove_uses(service, 0, 1);
	service->trigger_uses[service->trigger_use_count++] =
		(struct orma_service_trigger_use){hash, now_ns};
}

/* --- hits ------------------------------------------------------------------------------------- */

static int copy_hit(const struct orma_service_trigger_hit *hit,
		    struct orma_service_trigger_hit *ret)
{
	struct orma_service_trigger_hit copy = *hit;

	copy.name = orma_base_strdup(hit->name);
	copy.producer_name = orma_base_strdup(hit->producer_name);
	if (!copy.name || !copy.producer_name) {
		orma_service_trigger_hit_done(&copy);
		return -ENOMEM;
	}
	*ret = copy;
	return 0;
}

static int reserve_hit(struct orma_service_session *session)
{
	size_t capacity = session->hit_capacity ? 2 * session->hit_capacity : 4;
	struct orma_service_trigger_hit *hits;

	if (session->hit_count == ORMA_SERVICE_TRIGGER_HITS_KEPT) {
		orma_service_trigger_hit_done(&session->hits[0]);
		session->hit_count--;
		session->hits_emitted -= session->hits_emitted > 0;
		memmove(&session->hits[0], &session->hits[1],
			session->hit_count * sizeof(session->hits[0]));
	}
	if (session->hit_count < session->hit_capacity)
		return 0;
	hits = orma_base_realloc_array(session->hits, capacity, sizeof(*hits));
	if (!hits)
		return -ENOMEM;
	session->hits = hits;
	session->hit_capacity = capacity;
	return 0;
}

/* Without memory the hit works all the same, but the trace does not tell of it. */
static void record_hit(struct orma_service_session *session,
		       const struct orma_service_trigger_hit *hit)
{
	orma_service_clocks_snapshot(session);
	if (reserve_hit(session) == 0 && copy_hit(hit, &session->hits[session->hit_count]) == 0)
		session->hit_count++;
}

static void on_start(struct orma_service_timer *timer)
{
	struct orma_service_session *session =
		ORMA_CONTAINER_OF(timer, struct orma_service_session, trigger_timer);

	if (session->state == ORMA_SERVICE_SESSION_CONFIGURED)
		orma_service_session_start(session);
}

static void on_stop(struct orma_service_timer *timer)
{
	orma_service_session_flush_and_disable(
		ORMA_CONTAINER_OF(timer, struct orma_service_session, trigger_timer));
}

static void on_late_hit(struct orma_service_timer *timer)
{
	struct orma_service_late_hit *late =
		ORMA_CONTAINER_OF(timer, struct orma_service_late_hit, timer);

	orma_service_observe_clone_trigger(late->session, &late->hit);
	free_late_hit(late);
}

static void notify_later(struct orma_service_session *session,
			 const struct orma_service_trigger_hit *hit)
{
	struct orma_service *service = session->service;
	struct orma_service_late_hit *late = NULL;

	if (session->late_hit_count < ORMA_SERVICE_LATE_HITS_MAX)
		late = orma_base_zalloc(sizeof(*late));
	if (!late || copy_hit(hit, &late->hit) < 0) {
		orma_base_log(ORMA_LOG_WARNING,
			      "session %llu: too many triggers wait, \"%s\" is left out",
			      (unsigned long long)session->id, hit->name);
		orma_base_free(late);
		return;
	}
	late->session = session;
	orma_base_list_append(&session->late_hits, &late->link);
	session->late_hit_count++;
	orma_service_timer_arm(&service->timers, &late->timer,
			       orma_service_now_ns(service) + hit->delay_ms * ORMA_NS_PER_MS,
			       on_late_hit);
}

static void act(struct orma_service_session *session, const struct orma_service_trigger_hit *hit)
{
	struct orma_service *service = session->service;
	uint64_t now_ns = orma_service_now_ns(service);
	bool is_first = !session->has_been_triggered;

	session->has_been_triggered = true;
	if (session->state == ORMA_SERVICE_SESSION_STOPPING)
		return;
	switch (session->trigger_mode) {
	case MODE(START_TRACING):
		if (!is_first || session->state != ORMA_SERVICE_SESSION_CONFIGURED)
			return;
		session->duration_ms = (uint32_t)hit->delay_ms;
		orma_service_timer_arm(&service->timers, &session->trigger_timer, now_ns, on_start);
		return;
	case MODE(STOP_TRACING):
		if (!is_first)
			return;
		/* From here on the trigger says when it ends, not the timeout. */
		orma_service_timer_disarm(&session->duration_timer);
		orma_service_timer_arm(&service->timers, &session->trigger_timer,
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
	for (size_t i = 0; i < session->trigger_count; i++)
		if (session->triggers[i].name_hash == hash &&
		    strcmp(session->triggers[i].name, name) == 0)
			return &session->triggers[i];
	return NULL;
}

/* A number from 0 up to, not including, 1. */
static double draw(struct orma_service *service)
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
	uint64_t hash = hash_name(name);
	uint32_t count = 0;

	ORMA_LIST_FOR_EACH (session, &port->service->sessions, link)
		count += is_waiting(session, find_trigger(session, name, hash), port);
	return count;
}

static bool is_obeyed(struct orma_service *service, const struct orma_service_trigger *trigger)
{
	size_t unused;

	if (trigger->skip_probability > 0 && draw(service) < trigger->skip_probability)
		return false;
	return trigger->max_per_24_h == 0 ||
	       count_uses(service, trigger->name_hash, &unused) < trigger->max_per_24_h;
}

static void activate(struct orma_producer_port *port, const char *name)
{
	struct orma_service *service = port->service;
	struct orma_service_session *session;
	uint64_t hash = hash_name(name), now_ns = orma_service_boot_ns(service);
	bool was_obeyed = false;

	forget_old_uses(service, now_ns);
	ORMA_LIST_FOR_EACH (session, &service->sessions, link) {
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
		record_hit(session, &hit);
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

/* --- in the trace ----------------------------------------------------------------------------- */

int orma_service_trigger_hit_write(struct orma_service *service,
				   const struct orma_service_trigger_hit *hit, uint32_t field_id)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_writer *writer = &heap.writer;
	struct orma_proto_nested nested;

	orma_service_own_begin(service, &heap);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_TIMESTAMP, hit->boot_ns);
	orma_proto_nested_begin(writer, &nested, field_id);
	orma_proto_write_string(writer, ORMA_PB_TRIGGER_TRIGGER_NAME, hit->name);
	orma_proto_write_string(writer, ORMA_PB_TRIGGER_PRODUCER_NAME, hit->producer_name);
	orma_proto_write_varint(writer, ORMA_PB_TRIGGER_TRUSTED_PRODUCER_UID,
				(uint64_t)(int64_t)(int32_t)hit->producer_uid);
	orma_proto_write_varint(writer, ORMA_PB_TRIGGER_STOP_DELAY_MS, hit->delay_ms);
	return orma_service_own_end(service, &heap);
}

int orma_service_triggers_write(struct orma_service_session *session)
{
	int r = 0;

	for (; session->hits_emitted < session->hit_count && r == 0; session->hits_emitted++)
		r = orma_service_trigger_hit_write(session->service,
						   &session->hits[session->hits_emitted],
						   ORMA_PB_TRACE_PACKET_TRIGGER);
	return r;
}
