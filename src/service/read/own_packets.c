/* SPDX-License-Identifier: Apache-2.0
 * own_packets.c - the packets that the service itself writes into a trace.
 *
 * Each read begins with clock snapshots, the sync marker, config, uuid, provenance, system info,
 * news of other machines, service events and events of other sessions; a pass ends with "buffers
 * read" and the stats. All timestamps are CLOCK_BOOTTIME, and say so. Rejected: one snapshot per
 * event.
 */
#include "service/read/own_packets.h"

#include <stdlib.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock_ns.h"
#include "base/macros.h"
#include "proto/writer.h"
#include "schema/gen/builtin_clock.pb.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/concurrent_session_event.pb.h"
#include "schema/gen/service_event.pb.h"
#include "schema/gen/system_info.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_provenance.pb.h"
#include "schema/gen/trace_uuid.pb.h"
#include "service/packet_sequence.h"
#include "service/read/batch.h"
#include "service/read/read_filter.h"
#include "service/read/service_event.h"
#include "service/read/session_stats.h"
#include "service/relay.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"
#include "service/trigger/trigger_state.h"

static const uint8_t sync_marker[16] = {0x82, 0x47, 0x7a, 0x76, 0xb2, 0x8d, 0x42, 0xba,
					0x81, 0xdc, 0x33, 0x32, 0x6d, 0x57, 0xa0, 0x79};

static int write_clocks(struct orma_service_session *session,
			const struct orma_service_clock_snapshot *snapshot)
{
	const struct orma_pb_trace_config_builtin_data_source *builtin =
		session->config->builtin_data_sources;
	int32_t primary = builtin ? builtin->primary_trace_clock : 0;
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested nested, clock;

	orma_service_own_begin(session->service, &heap);
	orma_proto_nested_begin(&heap.writer, &nested, ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT);
	orma_proto_write_varint(
		&heap.writer, ORMA_PB_CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK,
		(uint64_t)(int64_t)(primary ? primary
					    : ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME));
	for (uint32_t i = 0; i < snapshot->count; i++) {
		orma_proto_nested_begin(&heap.writer, &clock, ORMA_PB_CLOCK_SNAPSHOT_CLOCKS);
		orma_proto_write_varint(&heap.writer, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID,
					snapshot->clocks[i].id);
		orma_proto_write_varint(&heap.writer, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP,
					snapshot->clocks[i].value);
		orma_proto_nested_end(&heap.writer, &clock);
	}
	return orma_service_own_end(session->service, &heap);
}

static int write_all_clocks(struct orma_service_session *session)
{
	int r = 0;

	if (session->clocks.initial.count)
		r = write_clocks(session, &session->clocks.initial);
	session->clocks.initial.count = 0;
	for (size_t i = 0; i < session->clocks.count && r == 0; i++)
		r = write_clocks(session, &session->clocks.snapshots[i]);
	session->clocks.count = 0;
	return r;
}

/* The form is fixed: the marker is the last field, so that a reader finds the end of a packet. */
static int write_sync_marker(struct orma_service_session *session)
{
	struct orma_proto_heap_writer heap;

	if (!session->read.emits_sync_marker)
		return 0;
	session->read.emits_sync_marker = false;
	orma_service_own_begin(session->service, &heap);
	orma_service_own_write_trusted(session->service, &heap.writer);
	orma_proto_write_bytes(&heap.writer, ORMA_PB_TRACE_PACKET_SYNCHRONIZATION_MARKER,
			       sync_marker, sizeof(sync_marker));
	return orma_service_own_end_bare(session->service, &heap);
}

static int write_config(struct orma_service_session *session)
{
	struct orma_proto_heap_writer heap;

	orma_service_own_begin(session->service, &heap);
	orma_proto_write_bytes(&heap.writer, ORMA_PB_TRACE_PACKET_TRACE_CONFIG,
			       session->config_bytes.data, session->config_bytes.size);
	return orma_service_own_end(session->service, &heap);
}

static int write_uuid(struct orma_service_session *session)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested nested;

	orma_service_own_begin(session->service, &heap);
	orma_proto_nested_begin(&heap.writer, &nested, ORMA_PB_TRACE_PACKET_TRACE_UUID);
	orma_proto_write_varint(&heap.writer, ORMA_PB_TRACE_UUID_MSB, session->uuid_msb);
	orma_proto_write_varint(&heap.writer, ORMA_PB_TRACE_UUID_LSB, session->uuid_lsb);
	return orma_service_own_end(session->service, &heap);
}

static int write_provenance(struct orma_service_session *session)
{
	struct orma_service_sequence **sequences = orma_service_packet_sequences_sorted(session);
	size_t count = sequences ? session->sequences.count : 0, at = 0;
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested provenance, buffer, sequence;
	int r;

	orma_service_own_begin(session->service, &heap);
	orma_proto_write_varint(&heap.writer, ORMA_PB_TRACE_PACKET_TIMESTAMP,
				orma_service_boot_ns(session->service));
	orma_proto_nested_begin(&heap.writer, &provenance, ORMA_PB_TRACE_PACKET_TRACE_PROVENANCE);
	for (size_t i = 0; i < session->buffer_count; i++) {
		orma_proto_nested_begin(&heap.writer, &buffer, ORMA_PB_TRACE_PROVENANCE_BUFFERS);
		for (; at < count && sequences[at]->buffer_idx == i; at++) {
			orma_proto_nested_begin(&heap.writer, &sequence,
						ORMA_PB_TRACE_PROVENANCE_BUFFER_SEQUENCES);
			orma_proto_write_varint(&heap.writer, ORMA_PB_TRACE_PROVENANCE_SEQUENCE_ID,
						sequences[at]->id);
			orma_proto_write_varint(&heap.writer,
						ORMA_PB_TRACE_PROVENANCE_SEQUENCE_PRODUCER_ID,
						sequences[at]->producer_id);
			orma_proto_nested_end(&heap.writer, &sequence);
		}
		orma_proto_nested_end(&heap.writer, &buffer);
	}
	r = orma_service_own_end(session->service, &heap);
	orma_base_free(sequences);
	return r;
}

static void write_utsname(struct orma_proto_writer *writer)
{
	struct orma_proto_nested nested;
	struct utsname names;

	if (uname(&names) < 0)
		return;
	orma_proto_nested_begin(writer, &nested, ORMA_PB_SYSTEM_INFO_UTSNAME);
	orma_proto_write_string(writer, ORMA_PB_UTSNAME_SYSNAME, names.sysname);
	orma_proto_write_string(writer, ORMA_PB_UTSNAME_VERSION, names.version);
	orma_proto_write_string(writer, ORMA_PB_UTSNAME_RELEASE, names.release);
	orma_proto_write_string(writer, ORMA_PB_UTSNAME_MACHINE, names.machine);
	orma_proto_nested_end(writer, &nested);
}

static int write_system_info(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	time_t now = (time_t)(orma_service_realtime_ns(service) / ORMA_NS_PER_SEC);
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested nested;
	struct sysinfo memory;
	struct tm local;

	orma_service_own_begin(service, &heap);
	orma_proto_nested_begin(&heap.writer, &nested, ORMA_PB_TRACE_PACKET_SYSTEM_INFO);
	write_utsname(&heap.writer);
	orma_proto_write_varint(&heap.writer, ORMA_PB_SYSTEM_INFO_HZ,
				(uint64_t)sysconf(_SC_CLK_TCK));
	orma_proto_write_string(&heap.writer, ORMA_PB_SYSTEM_INFO_TRACING_SERVICE_VERSION,
				service->version);
	orma_proto_write_varint(&heap.writer, ORMA_PB_SYSTEM_INFO_PAGE_SIZE,
				(uint64_t)sysconf(_SC_PAGESIZE));
	if (localtime_r(&now, &local))
		orma_proto_write_varint(&heap.writer, ORMA_PB_SYSTEM_INFO_TIMEZONE_OFF_MINS,
					(uint64_t)(int64_t)(local.tm_gmtoff / 60));
	orma_proto_write_varint(&heap.writer, ORMA_PB_SYSTEM_INFO_NUM_CPUS,
				(uint64_t)sysconf(_SC_NPROCESSORS_CONF));
	if (sysinfo(&memory) == 0)
		orma_proto_write_varint(&heap.writer, ORMA_PB_SYSTEM_INFO_SYSTEM_RAM_BYTES,
					(uint64_t)memory.totalram * memory.mem_unit);
	return orma_service_own_end(service, &heap);
}

static int write_event(struct orma_service *service, const struct orma_service_event *event)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested nested;

	orma_service_own_begin(service, &heap);
	orma_proto_write_varint(&heap.writer, ORMA_PB_TRACE_PACKET_TIMESTAMP, event->time_ns);
	orma_proto_nested_begin(&heap.writer, &nested, ORMA_PB_TRACE_PACKET_SERVICE_EVENT);
	if (event->data.size)
		orma_proto_write_raw(&heap.writer, event->data.data, event->data.size);
	else
		orma_proto_write_bool(&heap.writer, event->field_id, true);
	return orma_service_own_end(service, &heap);
}

static int write_events(struct orma_service_session *session)
{
	const struct orma_pb_trace_config_builtin_data_source *builtin =
		session->config->builtin_data_sources;
	int r = 0;

	if (builtin && builtin->disable_service_events)
		return 0;
	for (size_t i = 0; i < session->events.count && r == 0; i++)
		r = write_event(session->service, &session->events.items[i]);
	while (session->events.count)
		orma_base_buf_done(&session->events.items[--session->events.count].data);
	return r;
}

static int write_concurrent_event(struct orma_service *service,
				  const struct orma_service_concurrent_event *event)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_writer *writer = &heap.writer;
	struct orma_proto_nested nested;

	orma_service_own_begin(service, &heap);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_TIMESTAMP, event->time_ns);
	orma_proto_nested_begin(writer, &nested, ORMA_PB_TRACE_PACKET_CONCURRENT_SESSION_EVENT);
	orma_proto_write_varint(writer, ORMA_PB_CONCURRENT_SESSION_EVENT_STATE, event->state);
	if (event->name)
		orma_proto_write_string(writer, ORMA_PB_CONCURRENT_SESSION_EVENT_SESSION_NAME,
					event->name);
	orma_proto_write_varint(writer, ORMA_PB_CONCURRENT_SESSION_EVENT_SESSION_ID,
				event->session_id);
	orma_proto_write_varint(writer, ORMA_PB_CONCURRENT_SESSION_EVENT_CONSUMER_UID,
				(uint64_t)(int64_t)(int32_t)event->uid);
	orma_proto_write_varint(writer, ORMA_PB_CONCURRENT_SESSION_EVENT_NUM_DATA_SOURCES,
				event->data_source_count);
	return orma_service_own_end(service, &heap);
}

static int write_concurrent_events(struct orma_service_session *session)
{
	int r = 0;

	for (size_t i = 0; i < session->concurrent.count && r == 0; i++)
		r = write_concurrent_event(session->service, &session->concurrent.items[i]);
	while (session->concurrent.count)
		orma_base_free(session->concurrent.items[--session->concurrent.count].name);
	return r;
}

static int write_initial(struct orma_service_session *session)
{
	const struct orma_pb_trace_config_builtin_data_source *builtin =
		session->config->builtin_data_sources;
	int r = 0;

	if (session->read.has_emitted_initial)
		return orma_service_triggers_write(session);
	session->read.has_emitted_initial = true;
	if (!builtin || !builtin->disable_trace_config)
		r = write_config(session);
	if (r == 0 && session->clone_trigger.name)
		r = orma_service_trigger_hit_write(session->service, &session->clone_trigger,
						   ORMA_PB_TRACE_PACKET_CLONE_SNAPSHOT_TRIGGER);
	if (r == 0)
		r = orma_service_triggers_write(session);
	if (r == 0)
		r = write_uuid(session);
	if (r == 0)
		r = write_provenance(session);
	if (r == 0 && (!builtin || !builtin->disable_system_info))
		r = write_system_info(session);
	return r;
}

int orma_service_own_before(struct orma_service_session *session)
{
	int r = write_all_clocks(session);

	if (r == 0)
		r = write_sync_marker(session);
	if (r == 0)
		r = write_initial(session);
	if (r == 0)
		r = orma_service_relays_write_infos(session);
	if (r == 0)
		r = write_events(session);
	if (r == 0)
		r = write_concurrent_events(session);
	if (r == 0)
		r = orma_service_relays_write_clocks(session);
	return r;
}

static int write_stats(struct orma_service_session *session)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf stats = {0};
	struct orma_proto_heap_writer heap;
	bool is_last = session->state == ORMA_SERVICE_SESSION_DISABLED ||
		       session->state == ORMA_SERVICE_SESSION_CLONED;
	int r = orma_service_stats_encode(
		session, is_last ? SIZE_MAX : ORMA_SERVICE_WRITERS_PER_PERIOD, &stats);

	if (r < 0)
		return r;
	orma_service_own_begin(session->service, &heap);
	orma_proto_write_bytes(&heap.writer, ORMA_PB_TRACE_PACKET_TRACE_STATS, stats.data,
			       stats.size);
	return orma_service_own_end(session->service, &heap);
}

int orma_service_own_after(struct orma_service_session *session)
{
	orma_service_event_add(session,
			       ORMA_PB_TRACING_SERVICE_EVENT_READ_TRACING_BUFFERS_COMPLETED, false);
	return write_events(session);
}

int orma_service_own_stats(struct orma_service_session *session)
{
	int r;

	if (!session->read.emits_stats)
		return 0;
	session->read.emits_stats = false;
	r = write_stats(session);
	if (r == 0)
		orma_service_batch_count_unfiltered(session);
	return r;
}
