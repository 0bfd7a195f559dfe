/* SPDX-License-Identifier: Apache-2.0
 * trigger_state.c - the triggers that a session lists, and the hits that it obeyed.
 *
 * A session's triggers have their expressions compiled and their names hashed. It keeps the newest
 * of its hits until they are written into the trace. Nothing here makes a session start or stop;
 * trigger_activate.c does.
 */
#include "service/trigger/trigger_state.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/assert.h"
#include "base/error_message.h"
#include "base/list.h"
#include "base/map.h"
#include "proto/writer.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trigger.pb.h"
#include "service/filter/regex.h"
#include "service/read/batch.h"
#include "service/read/clock_snapshot.h"
#include "service/service_limits.h"
#include "service/session_state.h"
#include "service/timer.h"

uint64_t orma_service_trigger_hash(const char *name)
{
	return orma_base_fnv1a(ORMA_FNV1A_INIT, name, strlen(name));
}

static int init_trigger(struct orma_service_session *session,
			const struct orma_pb_trace_config_trigger_config_trigger *config,
			struct orma_service_trigger *trigger, struct orma_error *reterr)
{
	int r;

	trigger->name = orma_base_arena_strdup(&session->arena, config->name);
	if (!trigger->name)
		return -ENOMEM;
	trigger->name_hash = orma_service_trigger_hash(trigger->name);
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
	session->triggers.mode = (uint32_t)config->trigger_mode;
	if (config->use_clone_snapshot_if_available)
		session->triggers.mode = ORMA_SERVICE_TRIGGER_MODE(CLONE_SNAPSHOT);
	session->triggers.items =
		orma_base_alloc_array(config->triggers.count + 1, sizeof(*session->triggers.items));
	if (!session->triggers.items)
		return -ENOMEM;
	for (size_t i = 0; i < config->triggers.count; i++) {
		int r = init_trigger(session, config->triggers.items[i],
				     &session->triggers.items[session->triggers.count++], reterr);

		if (r < 0 && r != -ENOMEM)
			orma_base_error_prefix(
				reterr, "trigger_config.triggers[%zu].producer_name_regex", i);
		if (r < 0)
			return r;
	}
	return 0;
}

static void hit_done(struct orma_service_trigger_hit *hit)
{
	orma_base_free(hit->name);
	orma_base_free(hit->producer_name);
	*hit = (struct orma_service_trigger_hit){0};
}

void orma_service_pending_hit_free(struct orma_service_pending_hit *pending)
{
	ORMA_ASSERT(pending->session->triggers.pending_count > 0);
	pending->session->triggers.pending_count--;
	orma_service_timer_disarm(&pending->timer);
	orma_base_list_remove(&pending->link);
	hit_done(&pending->hit);
	orma_base_free(pending);
}

void orma_service_triggers_done(struct orma_service_session *session)
{
	orma_service_timer_disarm(&session->triggers.timer);
	while (!orma_base_list_is_empty(&session->triggers.pending))
		orma_service_pending_hit_free(ORMA_LIST_ENTRY(
			session->triggers.pending.next, struct orma_service_pending_hit, link));
	for (size_t i = 0; i < session->triggers.count; i++)
		orma_service_regex_done(&session->triggers.items[i].producer_regex);
	for (size_t i = 0; i < session->triggers.hit_count; i++)
		hit_done(&session->triggers.hits[i]);
	hit_done(&session->clone_trigger);
	orma_base_free(session->triggers.items);
	orma_base_free(session->triggers.hits);
}

bool orma_service_triggers_defer_start(const struct orma_service_session *session)
{
	return session->triggers.mode == ORMA_SERVICE_TRIGGER_MODE(START_TRACING);
}

bool orma_service_triggers_hide_data(const struct orma_service_session *session)
{
	if (session->state == ORMA_SERVICE_SESSION_CLONED)
		return false;
	return session->triggers.mode == ORMA_SERVICE_TRIGGER_MODE(CLONE_SNAPSHOT) ||
	       (session->triggers.count && !session->triggers.has_been_triggered);
}

int orma_service_trigger_hit_copy(const struct orma_service_trigger_hit *hit,
				  struct orma_service_trigger_hit *ret)
{
	struct orma_service_trigger_hit copy = *hit;

	copy.name = orma_base_strdup(hit->name);
	copy.producer_name = orma_base_strdup(hit->producer_name);
	if (!copy.name || !copy.producer_name) {
		hit_done(&copy);
		return -ENOMEM;
	}
	*ret = copy;
	return 0;
}

static int reserve_hit(struct orma_service_session *session)
{
	size_t capacity = session->triggers.hit_capacity ? 2 * session->triggers.hit_capacity : 4;
	struct orma_service_trigger_hit *hits;

	if (session->triggers.hit_count == ORMA_SERVICE_TRIGGER_HITS_KEPT) {
		hit_done(&session->triggers.hits[0]);
		session->triggers.hit_count--;
		session->triggers.written_hit_count -= session->triggers.written_hit_count > 0;
		memmove(&session->triggers.hits[0], &session->triggers.hits[1],
			session->triggers.hit_count * sizeof(session->triggers.hits[0]));
	}
	if (session->triggers.hit_count < session->triggers.hit_capacity)
		return 0;
	hits = orma_base_realloc_array(session->triggers.hits, capacity, sizeof(*hits));
	if (!hits)
		return -ENOMEM;
	session->triggers.hits = hits;
	session->triggers.hit_capacity = capacity;
	return 0;
}

/* When out of memory, the hit takes effect all the same, but is missing in the trace. */
void orma_service_triggers_record(struct orma_service_session *session,
				  const struct orma_service_trigger_hit *hit)
{
	orma_service_clocks_snapshot(session);
	if (reserve_hit(session) == 0 &&
	    orma_service_trigger_hit_copy(
		    hit, &session->triggers.hits[session->triggers.hit_count]) == 0)
		session->triggers.hit_count++;
}

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

	for (; session->triggers.written_hit_count < session->triggers.hit_count && r == 0;
	     session->triggers.written_hit_count++)
		r = orma_service_trigger_hit_write(
			session->service,
			&session->triggers.hits[session->triggers.written_hit_count],
			ORMA_PB_TRACE_PACKET_TRIGGER);
	return r;
}
