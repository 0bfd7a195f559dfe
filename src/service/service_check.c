/* SPDX-License-Identifier: Apache-2.0
 * service_check.c - the invariants that tie several ideas of the service together.
 *
 * An invariant of one function is an assertion in that function. This file has the invariants of
 * the whole: lists against their counters, links in both directions, ids against the maps that find
 * them. orma_service_run() checks them after its timers. In builds without assertions the compiler
 * removes all of this.
 */
#include "service/service_check.h"

#include "base/assert.h"
#include "base/list.h"
#include "base/macros.h"
#include "base/map.h"
#include "service/consumer_port.h"
#include "service/flush.h"
#include "service/output/output.h"
#include "service/producer/producer.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"
#include "service/source_instance.h"

static size_t count_items(const struct orma_list *head)
{
	size_t count = 0;

	for (const struct orma_list *at = head->next; at != head; at = at->next) {
		ORMA_ASSERT(at->next->prev == at);
		count++;
	}
	return count;
}

static void check_instances(const struct orma_service_session *session)
{
	size_t counts[ORMA_SERVICE_INSTANCE_STOPPED + 1] = {0};
	const struct orma_service_instance *instance;
	size_t count = 0;

	ORMA_LIST_FOR_EACH (instance, &session->instances.list, session_link) {
		ORMA_ASSERT(instance->session == session);
		ORMA_ASSERT(instance->data_source->producer == instance->producer);
		ORMA_ASSERT(orma_base_map_get(&session->service->instances.by_id, instance->id) ==
			    instance);
		ORMA_ASSERT(instance->source->buffer_idx < session->buffer_count);
		counts[instance->state]++;
		count++;
	}
	ORMA_ASSERT(count == session->instances.count);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(counts); i++)
		ORMA_ASSERT(counts[i] == session->instances.state_counts[i]);
}

static void check_flushes(const struct orma_service_session *session)
{
	const struct orma_service_flush *flush;
	size_t count = 0, asked_count = 0;
	uint64_t last_id = 0;

	ORMA_LIST_FOR_EACH (flush, &session->flush.list, link) {
		ORMA_ASSERT(flush->session == session);
		ORMA_ASSERT(flush->id > last_id && flush->id <= session->service->flushes.last_id);
		ORMA_ASSERT(flush->timer.is_armed == (flush->state == ORMA_SERVICE_FLUSH_ASKED));
		last_id = flush->id;
		asked_count += flush->pending_count;
		count++;
	}
	ORMA_ASSERT(count == session->flush.count);
	ORMA_ASSERT(asked_count == session->flush.asked_count);
}

static void check_buffers(const struct orma_service_session *session)
{
	const struct orma_service_buffer_ids *ids = &session->service->buffers;

	for (size_t i = 0; i < session->buffer_count; i++) {
		const struct orma_service_session_buffer *buffer = &session->buffers[i];

		ORMA_ASSERT(buffer->session == session && buffer->idx == i);
		ORMA_ASSERT(buffer->trace_buffer != NULL);
		ORMA_ASSERT(buffer->id > 0 && (ids->used[buffer->id / 64] >> buffer->id % 64 & 1));
	}
	ORMA_ASSERT(session->read.buffer_idx <= session->buffer_count);
}

static void check_output(const struct orma_service_session *session)
{
	const struct orma_service_output *output = &session->output;

	ORMA_ASSERT(!(output->file && output->is_closing));
	ORMA_ASSERT(output->held_at <= output->held.size);
	ORMA_ASSERT(output->carried_at <= output->carried.size);
	ORMA_ASSERT(output->cut == ORMA_SERVICE_CUT_NONE || output->max_files > 0);
	ORMA_ASSERT(session->compression.outstanding <= ORMA_COMPRESSOR_BLOCKS_MAX);
}

static void check_triggers(const struct orma_service_session *session)
{
	const struct orma_service_triggers *triggers = &session->triggers;
	size_t count = count_items(&triggers->pending);

	ORMA_ASSERT(count == triggers->pending_count);
	ORMA_ASSERT(triggers->pending_count <= ORMA_SERVICE_PENDING_HITS_MAX);
	ORMA_ASSERT(triggers->written_hit_count <= triggers->hit_count);
	ORMA_ASSERT(triggers->hit_count <= ORMA_SERVICE_TRIGGER_HITS_KEPT);
}

static void check_session(const struct orma_service_session *session)
{
	ORMA_ASSERT(!session->consumer || session->consumer->session == session);
	ORMA_ASSERT(session->consumer || session->detach_key || session->is_orphaned);
	ORMA_ASSERT(session->id <= session->service->sessions.last_id);
	ORMA_ASSERT(session->clocks.count <= ORMA_SERVICE_CLOCK_SNAPSHOTS_KEPT);
	ORMA_ASSERT(session->state != ORMA_SERVICE_SESSION_OPENING ||
		    session->instances.count == 0);
	check_instances(session);
	check_flushes(session);
	check_buffers(session);
	check_output(session);
	check_triggers(session);
}

static void check_sessions(const struct orma_service *service)
{
	const struct orma_service_session *session;
	size_t count = count_items(&service->sessions.list), buffer_count = 0, id_count = 0;

	ORMA_LIST_FOR_EACH (session, &service->sessions.list, link) {
		check_session(session);
		buffer_count += session->buffer_count;
	}
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(service->buffers.used); i++)
		id_count += (size_t)__builtin_popcountll(service->buffers.used[i]);
	ORMA_ASSERT(count == service->sessions.count);
	ORMA_ASSERT(buffer_count == service->buffers.count);
	ORMA_ASSERT(id_count == service->buffers.count);
}

static void check_producers(const struct orma_service *service)
{
	const struct orma_producer_port *port;
	size_t count = 0, data_source_count = 0, descriptor_bytes = 0;
	uint64_t last_serial = 0;

	ORMA_LIST_FOR_EACH (port, &service->producers.list, link) {
		ORMA_ASSERT(port->serial > last_serial);
		ORMA_ASSERT(orma_base_map_get(&service->producers.by_id, port->id) == port);
		ORMA_ASSERT(port->grants.count <= port->grants.capacity);
		ORMA_ASSERT(!port->memory.shared.start ||
			    port->memory.used_count <= port->memory.view.page_count);
		for (size_t i = 0; i < port->grants.count; i++)
			ORMA_ASSERT(port->grants.items[i].buffer_id ==
				    port->grants.items[i].buffer->id);
		last_serial = port->serial;
		data_source_count += port->data_source_count;
		descriptor_bytes += port->descriptor_bytes;
		count++;
	}
	ORMA_ASSERT(last_serial <= service->producers.seen_count);
	ORMA_ASSERT(count == service->producers.count);
	ORMA_ASSERT(data_source_count == service->data_sources.count);
	ORMA_ASSERT(descriptor_bytes == service->data_sources.descriptor_bytes);
}

void orma_service_check(const struct orma_service *service)
{
	if (!ORMA_ASSERTS_ENABLED)
		return;

	size_t consumer_count = count_items(&service->consumers.list);
	size_t relay_count = count_items(&service->relays.list);

	ORMA_ASSERT(consumer_count == service->consumers.count);
	ORMA_ASSERT(relay_count == service->relays.count);
	ORMA_ASSERT(orma_base_list_is_empty(&service->flushes.answered));
	ORMA_ASSERT(service->retired.timer.is_armed ==
		    !orma_base_list_is_empty(&service->retired.list));
	check_producers(service);
	check_sessions(service);
}
