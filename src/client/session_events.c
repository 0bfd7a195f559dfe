/* SPDX-License-Identifier: Apache-2.0
 * session_events.c - events that the service announces by itself: ObservableEvents.
 *
 * One stream for two listeners: the caller, who wishes certain events, and the session itself,
 * which waits for the start of all data sources. It asks for that event before the session is enabled,
 * because upstream's services announce it once, to the consumers that listen at that moment. Rejected:
 * asking when the caller waits (the start may be over by then), two streams (the service ends the first).
 */
#include <errno.h>

#include "base/arena.h"
#include "base/cancel.h"
#include "base/clock_ns.h"
#include "client/client_session.h"
#include "proto/codec.h"
#include "proto/reader.h"
#include "proto/writer.h"
#include "schema/gen/capabilities.pb.h"
#include "schema/gen/consumer_port.pb.h"
#include "schema/gen/observable_events.pb.h"

/* The fields of ObservableEvents are in the order of the bits that ask for them. */
static bool has_wished(const struct orma_session *session, struct orma_str events_untrusted)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;

	orma_proto_reader_init(&reader, events_untrusted.data, events_untrusted.size);
	while (orma_proto_reader_next(&reader, &field) == 1)
		if (field.id <= 32 && session->wished >> (field.id - 1) & 1)
			return true;
	return false;
}

static void note_started(struct orma_session *session)
{
	bool is_news = !session->are_sources_started;

	session->are_sources_started = session->is_start_settled = true;
	if (is_news && session->options.on_started)
		session->options.on_started(session->options.ctx);
}

static void
tell_instance(const struct orma_session *session, struct orma_arena *arena,
	      const struct orma_pb_observable_events_data_source_instance_state_change *change)
{
	const struct orma_instance_event event = {
		.struct_size = sizeof(event),
		.producer_name = orma_base_arena_strdup(arena, change->producer_name),
		.data_source_name = orma_base_arena_strdup(arena, change->data_source_name),
		.is_started =
			change->state ==
			ORMA_PB_OBSERVABLE_EVENTS_DATA_SOURCE_INSTANCE_STATE_DATA_SOURCE_INSTANCE_STATE_STARTED,
	};

	if (event.producer_name && event.data_source_name)
		session->options.on_instance(session->options.ctx, &event);
}

static void tell_trigger(const struct orma_session *session, struct orma_arena *arena,
			 const struct orma_pb_observable_events_clone_trigger_hit *hit)
{
	const struct orma_trigger_event event = {
		.struct_size = sizeof(event),
		.session_id = (uint64_t)hit->tracing_session_id,
		.trigger_name = orma_base_arena_strdup(arena, hit->trigger_name),
		.producer_name = orma_base_arena_strdup(arena, hit->producer_name),
		.producer_uid = hit->producer_uid,
		.boot_time_ns = hit->boot_time_ns,
		.delay_ms = hit->trigger_delay_ms,
	};

	if (event.trigger_name && event.producer_name)
		session->options.on_trigger(session->options.ctx, &event);
}

/* Only those that the caller wishes: the session itself may listen to more. */
static void tell_as_structs(const struct orma_session *session, struct orma_str events_untrusted)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_pb_observable_events *events;
	uint32_t wished = session->wished;

	if (orma_proto_decode(&orma_pb_observable_events_desc, events_untrusted.data,
			      events_untrusted.size, &arena, &events) < 0)
		return;
	if (session->options.on_instance && wished & ORMA_OBSERVE_INSTANCES)
		for (size_t i = 0; i < events->instance_state_changes.count; i++)
			tell_instance(session, &arena, events->instance_state_changes.items[i]);
	if (session->options.on_trigger && wished & ORMA_OBSERVE_CLONE_TRIGGER &&
	    events->clone_trigger_hit)
		tell_trigger(session, &arena, events->clone_trigger_hit);
}

static void on_events(void *ctx, const struct orma_ipc_reply *reply)
{
	struct orma_session *session = ORMA_CONTAINER_OF(ctx, struct orma_session, observe_ctx);
	struct orma_proto_field events, field;

	/* A rejection only means that a later ObserveEvents has replaced the stream. */
	if (!reply->success ||
	    orma_proto_reader_find(reply->data, reply->size, ORMA_PB_OBSERVE_EVENTS_RESPONSE_EVENTS,
				   &events) != 1 ||
	    events.type != ORMA_PROTO_BYTES)
		return;
	if (orma_proto_reader_find(events.bytes.data, events.bytes.size,
				   ORMA_PB_OBSERVABLE_EVENTS_ALL_DATA_SOURCES_STARTED,
				   &field) == 1 &&
	    field.value)
		note_started(session);
	if (!has_wished(session, events.bytes))
		return;
	if (session->options.on_events)
		session->options.on_events(session->options.ctx, events.bytes.data,
					   events.bytes.size);
	if (session->options.on_instance || session->options.on_trigger)
		tell_as_structs(session, events.bytes);
}

int orma_client_session_observe(struct orma_session *session, uint32_t types)
{
	ORMA_NO_CANCEL();
	ORMA_AUTO(orma_base_buf_done) struct orma_buf args = {0};
	struct orma_proto_heap_writer heap;
	int r;

	if (types == session->observed)
		return 0;
	r = orma_client_session_check(session, NULL);
	if (r < 0)
		return r;
	orma_proto_heap_writer_init(&heap, &args);
	for (unsigned bit = 0; bit < 32; bit++)
		if (types >> bit & 1)
			orma_proto_write_varint(&heap.writer,
						ORMA_PB_OBSERVE_EVENTS_REQUEST_EVENTS_TO_OBSERVE,
						UINT64_C(1) << bit);
	r = orma_proto_heap_writer_finish(&heap);
	if (r < 0)
		return r;
	r = orma_ipc_client_invoke(session->ipc, ORMA_CLIENT_OBSERVE_EVENTS, args.data, args.size,
				   on_events, &session->observe_ctx);
	if (r < 0)
		return r == -ENOTCONN || r == -ENOBUFS ? -ECONNRESET : r;
	session->observed = types;
	return 0;
}

/* --- waiting for the start -------------------------------------------------------------------- */

int orma_session_observe(struct orma_session *session, uint32_t event_types)
{
	if (!session)
		return -EINVAL;

	int r = orma_client_session_observe(
		session, event_types | (session->observed & ORMA_CLIENT_ALL_STARTED));

	if (r == 0)
		session->wished = event_types;
	return r;
}

static bool has_event(const void *capabilities_untrusted, size_t size, uint32_t type)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_pb_tracing_service_capabilities *capabilities;

	if (orma_proto_decode(&orma_pb_tracing_service_capabilities_desc, capabilities_untrusted,
			      size, &arena, &capabilities) < 0)
		return false;
	for (size_t i = 0; i < capabilities->observable_events.count; i++)
		if ((uint32_t)capabilities->observable_events.items[i] == type)
			return true;
	return false;
}

/* Asks for the service's capabilities, because a service accepts bits of events that it never sends. */
static int check_all_started(struct orma_session *session)
{
	void *data;
	size_t size;
	int r;

	if (session->has_all_started)
		return 0;
	r = orma_session_query_capabilities(session, &data, &size);
	if (r < 0)
		return r;
	session->has_all_started = has_event(data, size, ORMA_CLIENT_ALL_STARTED);
	orma_config_free(data);
	return session->has_all_started ? 0 : -ENOTSUP;
}

int orma_session_wait_started(struct orma_session *session, uint32_t timeout_ms)
{
	if (!session)
		return -EINVAL;

	int r = session->is_enabled ? check_all_started(session) : -ESTALE;

	if (r == 0)
		r = orma_client_session_observe(session,
						session->observed | ORMA_CLIENT_ALL_STARTED);
	if (r == 0)
		r = orma_client_session_wait(session, &session->is_start_settled,
					     timeout_ms * ORMA_NS_PER_MS);
	if (r == 0 && !session->are_sources_started)
		return -ESTALE;
	return r;
}
