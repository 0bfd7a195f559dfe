/* SPDX-License-Identifier: Apache-2.0
 * config_source.c - one entry of TraceConfig.data_sources: which producers it selects, and the
 * config that they get.
 *
 * A producer receives the bytes of the consumer's DataSourceConfig as they came, unknown fields
 * included, but without the fields that the service sets; those are appended. The encoded config
 * belongs to the source, the names to the session's arena. Rejected: decode, change, encode (it
 * loses unknown fields inside oneofs, and costs more), one config per instance (all producers get
 * the same one).
 */
#include "service/config_source.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "base/str.h"
#include "proto/reader.h"
#include "proto/wire.h"
#include "proto/writer.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "service/filter/regex.h"
#include "service/producer/producer.h"
#include "service/service_limits.h"
#include "service/session_state.h"

static int copy_strings(struct orma_arena *arena, const struct orma_str *items, size_t count,
			const char ***ret)
{
	const char **copies = NULL;

	if (count) {
		copies = orma_base_arena_alloc(arena, count * sizeof(*copies));
		if (!copies)
			return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		copies[i] = orma_base_arena_strdup(arena, items[i]);
		if (!copies[i])
			return -ENOMEM;
	}
	*ret = copies;
	return 0;
}

static uint32_t find_buffer(const struct orma_pb_trace_config *config,
			    const struct orma_pb_data_source_config *source)
{
	if (source->target_buffer_name.size)
		for (size_t i = 0; i < config->buffers.count; i++)
			if (orma_base_str_is_equal(config->buffers.items[i]->name,
						   source->target_buffer_name))
				return (uint32_t)i;
	return source->target_buffer;
}

int orma_service_source_init(struct orma_service_session *session, size_t source_idx,
			     struct orma_error *reterr)
{
	const struct orma_pb_trace_config_data_source *entry =
		session->config->data_sources.items[source_idx];
	struct orma_service_source *source = &session->sources.items[source_idx];
	struct orma_arena *arena = &session->arena;
	int r;

	source->name = "";
	if (entry->config) {
		source->buffer_idx = find_buffer(session->config, entry->config);
		source->name = orma_base_arena_strdup(arena, entry->config->name);
		if (!source->name)
			return -ENOMEM;
	}
	r = copy_strings(arena, entry->producer_name_filter.items,
			 entry->producer_name_filter.count, &source->producer_names);
	if (r == 0)
		r = copy_strings(arena, entry->machine_name_filter.items,
				 entry->machine_name_filter.count, &source->machine_names);
	if (r < 0)
		return r;
	source->producer_name_count = entry->producer_name_filter.count;
	source->machine_name_count = entry->machine_name_filter.count;
	if (entry->producer_name_regex_filter.count == 0)
		return 0;
	source->producer_regexes = orma_base_alloc_array(entry->producer_name_regex_filter.count,
							 sizeof(*source->producer_regexes));
	if (!source->producer_regexes)
		return -ENOMEM;
	for (size_t i = 0; i < entry->producer_name_regex_filter.count; i++) {
		r = orma_service_regex_compile(session->service,
					       entry->producer_name_regex_filter.items[i], true,
					       &source->producer_regexes[i], reterr);
		if (r < 0)
			orma_base_error_prefix(reterr,
					       "data_sources[%zu].producer_name_regex_filter[%zu]",
					       source_idx, i);
		if (r < 0)
			return r;
		source->producer_regex_count++;
		session->sources.regex_count++;
	}
	return 0;
}

static bool is_the_services(uint32_t field_id)
{
	switch (field_id) {
	case ORMA_PB_DATA_SOURCE_CONFIG_TARGET_BUFFER:
	case ORMA_PB_DATA_SOURCE_CONFIG_TRACE_DURATION_MS:
	case ORMA_PB_DATA_SOURCE_CONFIG_TRACING_SESSION_ID:
	case ORMA_PB_DATA_SOURCE_CONFIG_ENABLE_EXTRA_GUARDRAILS:
	case ORMA_PB_DATA_SOURCE_CONFIG_STOP_TIMEOUT_MS:
	case ORMA_PB_DATA_SOURCE_CONFIG_SESSION_INITIATOR:
		return true;
	default:
		return false;
	}
}

/* Appends the fields of an encoded message except the service's own. When a message occurs
 * several times, its occurrences are parts of one. */
static int copy_foreign_fields(const void *data, size_t size, struct orma_buf *buf)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r;

	orma_proto_reader_init(&reader, data, size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0) {
		if (is_the_services(field.id))
			continue;
		r = orma_base_buf_append(buf, field.begin, (size_t)(reader.at - field.begin));
		if (r < 0)
			return r;
	}
	return r;
}

static int copy_config(struct orma_str entry, struct orma_buf *buf)
{
	struct orma_proto_reader reader;
	struct orma_proto_field part;
	int r;

	orma_proto_reader_init(&reader, entry.data, entry.size);
	while ((r = orma_proto_reader_next(&reader, &part)) > 0) {
		if (part.id != ORMA_PB_TRACE_CONFIG_DATA_SOURCE_CONFIG ||
		    part.type != ORMA_PROTO_BYTES)
			continue;
		r = copy_foreign_fields(part.bytes.data, part.bytes.size, buf);
		if (r < 0)
			return r;
	}
	return r;
}

int orma_service_source_entry_next(struct orma_proto_reader *config, struct orma_str *ret)
{
	struct orma_proto_field field;
	int r;

	while ((r = orma_proto_reader_next(config, &field)) > 0) {
		if (field.id != ORMA_PB_TRACE_CONFIG_DATA_SOURCES || field.type != ORMA_PROTO_BYTES)
			continue;
		*ret = field.bytes;
		return 1;
	}
	return r;
}

int orma_service_source_encode(struct orma_service_session *session, size_t source_idx,
			       struct orma_str entry)
{
	struct orma_service_source *source = &session->sources.items[source_idx];
	struct orma_proto_heap_writer heap;
	struct orma_proto_writer *writer = &heap.writer;
	int r = copy_config(entry, &source->config);

	if (r < 0)
		return r;
	orma_proto_heap_writer_init(&heap, &source->config);
	if (source->buffer_idx < session->buffer_count)
		orma_proto_write_varint(writer, ORMA_PB_DATA_SOURCE_CONFIG_TARGET_BUFFER,
					session->buffers[source->buffer_idx].id);
	orma_proto_write_varint(writer, ORMA_PB_DATA_SOURCE_CONFIG_TRACE_DURATION_MS,
				session->duration_ms);
	orma_proto_write_varint(writer, ORMA_PB_DATA_SOURCE_CONFIG_TRACING_SESSION_ID, session->id);
	orma_proto_write_bool(writer, ORMA_PB_DATA_SOURCE_CONFIG_ENABLE_EXTRA_GUARDRAILS,
			      session->config->enable_extra_guardrails);
	orma_proto_write_varint(writer, ORMA_PB_DATA_SOURCE_CONFIG_STOP_TIMEOUT_MS,
				session->stop_timeout_ms);
	orma_proto_write_varint(writer, ORMA_PB_DATA_SOURCE_CONFIG_SESSION_INITIATOR, 0);
	if (session->config->prefer_suspend_clock_for_duration)
		orma_proto_write_bool(
			writer, ORMA_PB_DATA_SOURCE_CONFIG_PREFER_SUSPEND_CLOCK_FOR_DURATION, true);
	return orma_proto_heap_writer_finish(&heap);
}

void orma_service_source_done(struct orma_service_source *source)
{
	for (size_t i = 0; i < source->producer_regex_count; i++)
		orma_service_regex_done(&source->producer_regexes[i]);
	orma_base_free(source->producer_regexes);
	orma_base_buf_done(&source->config);
}

static bool machine_matches(const struct orma_service_session *session,
			    const struct orma_service_source *source,
			    const struct orma_producer_port *producer)
{
	bool is_host = producer->machine_id == 0;

	if (source->machine_name_count == 0)
		return is_host || session->config->trace_all_machines;
	for (size_t i = 0; i < source->machine_name_count; i++) {
		if (is_host && strcmp(source->machine_names[i], "host") == 0)
			return true;
		if (producer->machine_name[0] &&
		    strcmp(source->machine_names[i], producer->machine_name) == 0)
			return true;
	}
	return false;
}

/* The steps for one expression: one producer may be matched with all expressions in one turn. */
static uint32_t name_steps(const struct orma_service_session *session)
{
	size_t steps = ORMA_SERVICE_REGEX_NAME_STEPS_ALL / (session->sources.regex_count + 1);

	steps = ORMA_MIN(steps, (size_t)ORMA_SERVICE_REGEX_NAME_STEPS);
	return (uint32_t)ORMA_MAX(steps, (size_t)ORMA_SERVICE_REGEX_NAME_STEPS_MIN);
}

bool orma_service_source_matches(const struct orma_service_session *session,
				 const struct orma_service_source *source,
				 const struct orma_producer_port *producer)
{
	if (!machine_matches(session, source, producer))
		return false;
	if (source->producer_name_count == 0 && source->producer_regex_count == 0)
		return true;
	for (size_t i = 0; i < source->producer_name_count; i++)
		if (strcmp(source->producer_names[i], producer->name) == 0)
			return true;
	for (size_t i = 0; i < source->producer_regex_count; i++)
		if (orma_service_regex_matches_name(&source->producer_regexes[i], producer->name,
						    name_steps(session)))
			return true;
	return false;
}
