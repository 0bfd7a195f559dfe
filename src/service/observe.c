/* SPDX-License-Identifier: Apache-2.0
 * observe.c - ObservableEvents: the changes that a consumer has asked to be notified of.
 *
 * An instance is reported as started or stopped, and only when that has changed since the last
 * report, which the instance remembers. Nothing is queued here. Rejected: reporting each internal
 * state (the message has two), batching with a timer (the transport batches).
 */
#include "service/observe.h"

#include <errno.h>

#include "base/buf.h"
#include "base/list.h"
#include "proto/writer.h"
#include "schema/gen/observable_events.pb.h"
#include "service/consumer_port.h"
#include "service/producer/producer.h"
#include "service/service_limits.h"
#include "service/session_state.h"
#include "service/source_instance.h"

static void write_change(struct orma_proto_writer *writer,
			 const struct orma_service_instance *instance)
{
	struct orma_proto_nested change;

	orma_proto_nested_begin(writer, &change, ORMA_PB_OBSERVABLE_EVENTS_INSTANCE_STATE_CHANGES);
	orma_proto_write_string(
		writer, ORMA_PB_OBSERVABLE_EVENTS_DATA_SOURCE_INSTANCE_STATE_CHANGE_PRODUCER_NAME,
		instance->producer->name);
	orma_proto_write_string(
		writer,
		ORMA_PB_OBSERVABLE_EVENTS_DATA_SOURCE_INSTANCE_STATE_CHANGE_DATA_SOURCE_NAME,
		instance->data_source->name->text);
	orma_proto_write_varint(writer,
				ORMA_PB_OBSERVABLE_EVENTS_DATA_SOURCE_INSTANCE_STATE_CHANGE_STATE,
				instance->reported);
	orma_proto_nested_end(writer, &change);
}

static bool note_change(struct orma_service_instance *instance)
{
	bool is_started = instance->state == ORMA_SERVICE_INSTANCE_STARTED;
	enum orma_service_instance_report now =
		is_started ? ORMA_SERVICE_REPORTED_STARTED : ORMA_SERVICE_REPORTED_STOPPED;

	if (instance->state != ORMA_SERVICE_INSTANCE_STARTED &&
	    instance->state != ORMA_SERVICE_INSTANCE_STOPPED &&
	    instance->state != ORMA_SERVICE_INSTANCE_CONFIGURED)
		return false;
	if (instance->reported == now)
		return false;
	instance->reported = now;
	return true;
}

static void send(struct orma_consumer_port *port, struct orma_buf *buf,
		 struct orma_proto_heap_writer *heap)
{
	if (orma_proto_heap_writer_finish(heap) == 0 && buf->size && port->callbacks.events)
		port->callbacks.events(port->ctx, buf->data, buf->size);
	buf->size = 0;
	orma_proto_heap_writer_init(heap, buf);
}

void orma_service_observe_instance(struct orma_service_instance *instance)
{
	struct orma_consumer_port *port = instance->session->consumer;
	struct orma_proto_heap_writer heap;
	struct orma_buf buf = {0};

	if (!port ||
	    !(port->observed & ORMA_PB_OBSERVABLE_EVENTS_TYPE_TYPE_DATA_SOURCES_INSTANCES) ||
	    !note_change(instance))
		return;
	orma_proto_heap_writer_init(&heap, &buf);
	write_change(&heap.writer, instance);
	send(port, &buf, &heap);
	orma_base_buf_done(&buf);
}

void orma_service_observe_all_started(struct orma_service_session *session)
{
	struct orma_consumer_port *port = session->consumer;
	struct orma_proto_heap_writer heap;
	struct orma_buf buf = {0};

	if (!port ||
	    !(port->observed & ORMA_PB_OBSERVABLE_EVENTS_TYPE_TYPE_ALL_DATA_SOURCES_STARTED))
		return;
	orma_proto_heap_writer_init(&heap, &buf);
	orma_proto_write_bool(&heap.writer, ORMA_PB_OBSERVABLE_EVENTS_ALL_DATA_SOURCES_STARTED,
			      true);
	send(port, &buf, &heap);
	orma_base_buf_done(&buf);
}

void orma_service_observe_clone_trigger(struct orma_service_session *session,
					const struct orma_service_trigger_hit *hit)
{
	struct orma_consumer_port *port = session->consumer;
	struct orma_proto_heap_writer heap;
	struct orma_proto_writer *writer = &heap.writer;
	struct orma_proto_nested nested;
	struct orma_buf buf = {0};

	if (!port || !(port->observed & ORMA_PB_OBSERVABLE_EVENTS_TYPE_TYPE_CLONE_TRIGGER_HIT))
		return;
	orma_proto_heap_writer_init(&heap, &buf);
	orma_proto_nested_begin(writer, &nested, ORMA_PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT);
	orma_proto_write_varint(writer,
				ORMA_PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_TRACING_SESSION_ID,
				session->id);
	orma_proto_write_string(writer, ORMA_PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_TRIGGER_NAME,
				hit->name);
	orma_proto_write_string(writer, ORMA_PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_PRODUCER_NAME,
				hit->producer_name);
	orma_proto_write_varint(writer, ORMA_PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_PRODUCER_UID,
				hit->producer_uid);
	orma_proto_write_varint(writer, ORMA_PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_BOOT_TIME_NS,
				hit->boot_ns);
	orma_proto_write_varint(writer,
				ORMA_PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_TRIGGER_DELAY_MS,
				hit->delay_ms);
	orma_proto_nested_end(writer, &nested);
	send(port, &buf, &heap);
	orma_base_buf_done(&buf);
}

static void report_all(struct orma_consumer_port *port)
{
	struct orma_service_instance *instance;
	struct orma_proto_heap_writer heap;
	struct orma_buf buf = {0};

	orma_proto_heap_writer_init(&heap, &buf);
	ORMA_LIST_FOR_EACH (instance, &port->session->instances.list, session_link) {
		instance->reported = ORMA_SERVICE_REPORTED_NOTHING;
		if (!note_change(instance))
			continue;
		write_change(&heap.writer, instance);
		if (orma_proto_writer_written(&heap.writer) > ORMA_SERVICE_EVENT_BYTES_MAX)
			send(port, &buf, &heap);
	}
	send(port, &buf, &heap);
	orma_base_buf_done(&buf);
}

int orma_consumer_port_observe(struct orma_consumer_port *port, uint32_t event_types)
{
	if (!port)
		return -EINVAL;

	uint32_t added = event_types & ~port->observed;

	port->observed = event_types;
	if (!port->session)
		return 0;
	if (added & ORMA_PB_OBSERVABLE_EVENTS_TYPE_TYPE_DATA_SOURCES_INSTANCES)
		report_all(port);
	if ((added & ORMA_PB_OBSERVABLE_EVENTS_TYPE_TYPE_ALL_DATA_SOURCES_STARTED) &&
	    port->session->has_said_all_started)
		orma_service_observe_all_started(port->session);
	return 0;
}
