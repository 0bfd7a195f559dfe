/* SPDX-License-Identifier: Apache-2.0
 * state_query.c - queries of consumers: config and stats of their session, state and capabilities
 * of the service.
 *
 * Answers are encoded into the service's one reply buffer and stay there until the next call. Only
 * root sees the sessions of other users. Rejected: returning structs (the wire format is the
 * contract, and embedders have the schema).
 */
#include <errno.h>

#include "base/list.h"
#include "base/str.h"
#include "proto/writer.h"
#include "schema/gen/capabilities.pb.h"
#include "schema/gen/observable_events.pb.h"
#include "schema/gen/service_state.pb.h"
#include "service/consumer_port.h"
#include "service/producer/producer.h"
#include "service/read/session_stats.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"

static int reply(struct orma_service *service, int r, const void **ret_data, size_t *ret_size)
{
	if (r < 0)
		return r;
	*ret_data = service->reply.data;
	*ret_size = service->reply.size;
	return 0;
}

int orma_consumer_port_get_config(struct orma_consumer_port *port, const void **ret_data,
				  size_t *ret_size)
{
	if (!port || !ret_data || !ret_size)
		return -EINVAL;
	if (!port->session)
		return -ENOENT;
	*ret_data = port->session->config_bytes.data;
	*ret_size = port->session->config_bytes.size;
	return 0;
}

int orma_consumer_port_get_stats(struct orma_consumer_port *port, const void **ret_data,
				 size_t *ret_size)
{
	if (!port || !ret_data || !ret_size)
		return -EINVAL;

	struct orma_service *service = port->service;

	if (!port->session)
		return -ENOENT;
	service->reply.size = 0;
	return reply(service,
		     orma_service_stats_encode(port->session, ORMA_SERVICE_WRITERS_PER_QUERY,
					       &service->reply),
		     ret_data, ret_size);
}

static void write_producer(struct orma_proto_writer *writer, const struct orma_producer_port *port)
{
	struct orma_proto_nested item;

	orma_proto_nested_begin(writer, &item, ORMA_PB_TRACING_SERVICE_STATE_PRODUCERS);
	orma_proto_write_varint(writer, ORMA_PB_TRACING_SERVICE_STATE_PRODUCER_ID, port->id);
	orma_proto_write_string(writer, ORMA_PB_TRACING_SERVICE_STATE_PRODUCER_NAME, port->name);
	orma_proto_write_varint(writer, ORMA_PB_TRACING_SERVICE_STATE_PRODUCER_UID,
				(uint64_t)(int64_t)(int32_t)port->uid);
	if (port->sdk_version[0])
		orma_proto_write_string(writer, ORMA_PB_TRACING_SERVICE_STATE_PRODUCER_SDK_VERSION,
					port->sdk_version);
	orma_proto_write_varint(writer, ORMA_PB_TRACING_SERVICE_STATE_PRODUCER_PID,
				(uint64_t)port->pid);
	if (port->machine_id)
		orma_proto_write_varint(writer, ORMA_PB_TRACING_SERVICE_STATE_PRODUCER_MACHINE_ID,
					port->machine_id);
	if (port->machine_id && port->machine_name[0])
		orma_proto_write_string(writer, ORMA_PB_TRACING_SERVICE_STATE_PRODUCER_MACHINE_NAME,
					port->machine_name);
	orma_proto_nested_end(writer, &item);
}

static void write_data_source(struct orma_proto_writer *writer,
			      const struct orma_service_data_source *data_source)
{
	struct orma_proto_nested item;

	orma_proto_nested_begin(writer, &item, ORMA_PB_TRACING_SERVICE_STATE_DATA_SOURCES);
	orma_proto_write_bytes(writer, ORMA_PB_TRACING_SERVICE_STATE_DATA_SOURCE_DS_DESCRIPTOR,
			       data_source->descriptor.data, data_source->descriptor.size);
	orma_proto_write_varint(writer, ORMA_PB_TRACING_SERVICE_STATE_DATA_SOURCE_PRODUCER_ID,
				data_source->producer->id);
	orma_proto_nested_end(writer, &item);
}

static void write_session(struct orma_proto_writer *writer,
			  const struct orma_service_session *session)
{
	struct orma_str filename = session->config->bugreport_filename;
	struct orma_proto_nested item;

	orma_proto_nested_begin(writer, &item, ORMA_PB_TRACING_SERVICE_STATE_TRACING_SESSIONS);
	orma_proto_write_varint(writer, ORMA_PB_TRACING_SERVICE_STATE_TRACING_SESSION_ID,
				session->id);
	orma_proto_write_varint(writer, ORMA_PB_TRACING_SERVICE_STATE_TRACING_SESSION_CONSUMER_UID,
				(uint64_t)(int64_t)(int32_t)session->uid);
	orma_proto_write_string(writer, ORMA_PB_TRACING_SERVICE_STATE_TRACING_SESSION_STATE,
				orma_service_session_state_name(session));
	orma_proto_write_string(writer,
				ORMA_PB_TRACING_SERVICE_STATE_TRACING_SESSION_UNIQUE_SESSION_NAME,
				session->name);
	for (size_t i = 0; i < session->buffer_count; i++)
		orma_proto_write_varint(
			writer, ORMA_PB_TRACING_SERVICE_STATE_TRACING_SESSION_BUFFER_SIZE_KB,
			session->buffers[i].size_kb);
	orma_proto_write_varint(writer, ORMA_PB_TRACING_SERVICE_STATE_TRACING_SESSION_DURATION_MS,
				session->duration_ms);
	orma_proto_write_varint(writer,
				ORMA_PB_TRACING_SERVICE_STATE_TRACING_SESSION_NUM_DATA_SOURCES,
				session->instances.count);
	orma_proto_write_varint(writer,
				ORMA_PB_TRACING_SERVICE_STATE_TRACING_SESSION_START_REALTIME_NS,
				session->started_realtime_ns);
	orma_proto_write_varint(writer,
				ORMA_PB_TRACING_SERVICE_STATE_TRACING_SESSION_BUGREPORT_SCORE,
				(uint64_t)(int64_t)session->config->bugreport_score);
	if (filename.size)
		orma_proto_write_bytes(
			writer, ORMA_PB_TRACING_SERVICE_STATE_TRACING_SESSION_BUGREPORT_FILENAME,
			filename.data, filename.size);
	orma_proto_write_bool(writer, ORMA_PB_TRACING_SERVICE_STATE_TRACING_SESSION_IS_STARTED,
			      session->state == ORMA_SERVICE_SESSION_STARTED);
	orma_proto_nested_end(writer, &item);
}

static void write_state(struct orma_proto_writer *writer, const struct orma_consumer_port *port,
			bool sessions_only)
{
	const struct orma_service *service = port->service;
	const struct orma_service_data_source *data_source;
	const struct orma_service_session *session;
	const struct orma_producer_port *producer;
	uint64_t started = 0;

	if (!sessions_only) {
		ORMA_LIST_FOR_EACH (producer, &service->producers.list, link)
			write_producer(writer, producer);
		ORMA_LIST_FOR_EACH (data_source, &service->data_sources.list, link)
			write_data_source(writer, data_source);
	}
	ORMA_LIST_FOR_EACH (session, &service->sessions.list, link)
		started += session->state == ORMA_SERVICE_SESSION_STARTED;
	orma_proto_write_varint(writer, ORMA_PB_TRACING_SERVICE_STATE_NUM_SESSIONS,
				service->sessions.count);
	orma_proto_write_varint(writer, ORMA_PB_TRACING_SERVICE_STATE_NUM_SESSIONS_STARTED,
				started);
	orma_proto_write_string(writer, ORMA_PB_TRACING_SERVICE_STATE_TRACING_SERVICE_VERSION,
				service->version);
	/* No consumer can do anything with an orphaned one, which only completes its file. */
	ORMA_LIST_FOR_EACH (session, &service->sessions.list, link) {
		if (!session->is_orphaned && (port->uid == 0 || port->uid == session->uid))
			write_session(writer, session);
	}
	orma_proto_write_bool(writer, ORMA_PB_TRACING_SERVICE_STATE_SUPPORTS_TRACING_SESSIONS,
			      true);
}

int orma_consumer_port_query_state(struct orma_consumer_port *port, bool sessions_only,
				   const void **ret_data, size_t *ret_size)
{
	if (!port || !ret_data || !ret_size)
		return -EINVAL;

	struct orma_service *service = port->service;
	struct orma_proto_heap_writer heap;

	service->reply.size = 0;
	orma_proto_heap_writer_init(&heap, &service->reply);
	write_state(&heap.writer, port, sessions_only);
	return reply(service, orma_proto_heap_writer_finish(&heap), ret_data, ret_size);
}

int orma_consumer_port_query_capabilities(struct orma_consumer_port *port, const void **ret_data,
					  size_t *ret_size)
{
	if (!port || !ret_data || !ret_size)
		return -EINVAL;

	struct orma_service *service = port->service;
	struct orma_proto_heap_writer heap;
	struct orma_proto_writer *writer = &heap.writer;

	service->reply.size = 0;
	orma_proto_heap_writer_init(&heap, &service->reply);
	orma_proto_write_bool(writer, ORMA_PB_TRACING_SERVICE_CAPABILITIES_HAS_QUERY_CAPABILITIES,
			      true);
	orma_proto_write_varint(writer, ORMA_PB_TRACING_SERVICE_CAPABILITIES_OBSERVABLE_EVENTS,
				ORMA_PB_OBSERVABLE_EVENTS_TYPE_TYPE_DATA_SOURCES_INSTANCES);
	orma_proto_write_varint(writer, ORMA_PB_TRACING_SERVICE_CAPABILITIES_OBSERVABLE_EVENTS,
				ORMA_PB_OBSERVABLE_EVENTS_TYPE_TYPE_ALL_DATA_SOURCES_STARTED);
	orma_proto_write_varint(writer, ORMA_PB_TRACING_SERVICE_CAPABILITIES_OBSERVABLE_EVENTS,
				ORMA_PB_OBSERVABLE_EVENTS_TYPE_TYPE_CLONE_TRIGGER_HIT);
	orma_proto_write_bool(
		writer, ORMA_PB_TRACING_SERVICE_CAPABILITIES_HAS_TRACE_CONFIG_OUTPUT_PATH, true);
	orma_proto_write_bool(writer, ORMA_PB_TRACING_SERVICE_CAPABILITIES_HAS_CLONE_SESSION, true);
	return reply(service, orma_proto_heap_writer_finish(&heap), ret_data, ret_size);
}
