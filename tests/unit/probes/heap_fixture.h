/* SPDX-License-Identifier: Apache-2.0
 * heap_fixture.h - a made-up profiled process: its records, and the trace that the probe makes of them.
 */
#ifndef ORMA_TESTS_HEAP_FIXTURE_H
#define ORMA_TESTS_HEAP_FIXTURE_H

#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "harness.h"
#include "probes/heap/heap_output.h"
#include "probes/heap/heap_processes.h"
#include "proto/writer.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/orma_heap_record.pb.h"
#include "schema/gen/trace.pb.h"
#include "schema/gen/trace_packet.pb.h"

#define RECORD(name) ORMA_PB_ORMA_HEAP_RECORD_##name

struct heap_fixture {
	struct orma_heap_config config;
	struct orma_unwind_files *files;
	struct orma_heap_processes tracker;
	struct orma_heap_output output;
	struct orma_buf trace;
	int32_t pid;
	uint32_t writer;
};

static inline void heap_add_to_trace(void *ctx, const void *packet, size_t size)
{
	struct heap_fixture *fixture = ctx;
	struct orma_proto_heap_writer writer;
	struct orma_proto_nested nested;

	orma_proto_heap_writer_init(&writer, &fixture->trace);
	orma_proto_nested_begin(&writer.writer, &nested, ORMA_PB_TRACE_PACKET);
	orma_proto_write_raw(&writer.writer, packet, size);
	orma_proto_write_varint(&writer.writer, ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, 7);
	CHECK_INT(orma_proto_heap_writer_finish(&writer), 0);
}

/* Times of clock 4 (MONOTONIC_COARSE) are those of the trace. */
static inline void heap_add_clocks(struct heap_fixture *fixture)
{
	static const uint32_t clocks[] = {4, 6};
	struct orma_proto_heap_writer writer;
	struct orma_proto_nested packet, snapshot, clock;

	orma_proto_heap_writer_init(&writer, &fixture->trace);
	orma_proto_nested_begin(&writer.writer, &packet, ORMA_PB_TRACE_PACKET);
	orma_proto_nested_begin(&writer.writer, &snapshot, ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT);
	for (size_t i = 0; i < 2; i++) {
		orma_proto_nested_begin(&writer.writer, &clock, ORMA_PB_CLOCK_SNAPSHOT_CLOCKS);
		orma_proto_write_varint(&writer.writer, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID,
					clocks[i]);
		orma_proto_write_varint(&writer.writer, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, 1);
		orma_proto_nested_end(&writer.writer, &clock);
	}
	CHECK_INT(orma_proto_heap_writer_finish(&writer), 0);
}

static inline void heap_begin(struct heap_fixture *fixture)
{
	if (fixture->config.interval_bytes == 0)
		fixture->config.interval_bytes = 1;
	fixture->pid = getpid();
	fixture->writer = 1;
	CHECK_INT(orma_unwind_files_new(NULL, &fixture->files), 0);
	CHECK_INT(orma_heap_processes_init(&fixture->tracker, &fixture->config, fixture->files,
					   "/proc"),
		  0);
	orma_heap_output_init(&fixture->output, 1, heap_add_to_trace, fixture);
	heap_add_clocks(fixture);
}

static inline void heap_end(struct heap_fixture *fixture)
{
	orma_heap_processes_done(&fixture->tracker);
	orma_heap_output_done(&fixture->output);
	orma_unwind_files_free(fixture->files);
	orma_base_buf_done(&fixture->trace);
}

/* A packet under construction; content goes to `record`. */
struct heap_packet {
	struct orma_buf bytes;
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested outer, inner;
};

static inline struct orma_proto_writer *heap_packet_begin(struct heap_packet *packet, uint32_t kind)
{
	packet->bytes = (struct orma_buf){0};
	orma_proto_heap_writer_init(&packet->heap, &packet->bytes);
	orma_proto_nested_begin(&packet->heap.writer, &packet->outer,
				RECORD(PACKET_FIELD_PACKET_FIELD));
	orma_proto_nested_begin(&packet->heap.writer, &packet->inner, kind);
	return &packet->heap.writer;
}

static inline void heap_packet_end(struct heap_packet *packet, struct heap_fixture *fixture)
{
	orma_proto_nested_end(&packet->heap.writer, &packet->outer);
	orma_proto_write_int(&packet->heap.writer, ORMA_PB_TRACE_PACKET_TRUSTED_PID, fixture->pid);
	orma_proto_write_varint(&packet->heap.writer,
				ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, fixture->writer);
	CHECK_INT(orma_proto_heap_writer_finish(&packet->heap), 0);
	orma_heap_processes_take(&fixture->tracker, orma_base_buf_str(&packet->bytes));
	orma_base_buf_done(&packet->bytes);
}

static inline void heap_tell_heap(struct heap_fixture *fixture, uint32_t id, const char *name,
				  uint64_t interval)
{
	struct heap_packet packet;
	struct orma_proto_writer *writer = heap_packet_begin(&packet, RECORD(HEAP));

	orma_proto_write_varint(writer, RECORD(HEAP_HEAP_ID), id);
	orma_proto_write_string(writer, RECORD(HEAP_NAME), name);
	orma_proto_write_varint(writer, RECORD(HEAP_INTERVAL_BYTES), interval);
	orma_proto_write_varint(writer, RECORD(HEAP_ORIGINAL_INTERVAL_BYTES), interval);
	heap_packet_end(&packet, fixture);
}

static inline void heap_tell_maps(struct heap_fixture *fixture, uint32_t generation, uint32_t part,
				  bool is_last, struct orma_str text)
{
	struct heap_packet packet;
	struct orma_proto_writer *writer = heap_packet_begin(&packet, RECORD(MAPS));

	orma_proto_write_varint(writer, RECORD(MAPS_GENERATION), generation);
	orma_proto_write_varint(writer, RECORD(MAPS_PART), part);
	orma_proto_write_bool(writer, RECORD(MAPS_IS_LAST_PART), is_last);
	orma_proto_write_str(writer, RECORD(MAPS_TEXT), text);
	heap_packet_end(&packet, fixture);
}

/* Says who the process is. The arguments end with NULL. */
static inline void heap_tell_process(struct heap_fixture *fixture, int32_t pid, int32_t parent_pid,
				     const char *const *arguments)
{
	struct heap_packet packet;
	struct orma_proto_writer *writer = heap_packet_begin(&packet, RECORD(PROCESS));

	orma_proto_write_int(writer, RECORD(PROCESS_PID), pid);
	orma_proto_write_int(writer, RECORD(PROCESS_PARENT_PID), parent_pid);
	for (; *arguments; arguments++)
		orma_proto_write_string(writer, RECORD(PROCESS_CMDLINE), *arguments);
	heap_packet_end(&packet, fixture);
}

/* The maps of this process. */
static inline void heap_tell_own_maps(struct heap_fixture *fixture, uint32_t generation)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};

	CHECK_INT(orma_base_file_read(-100, "/proc/self/maps", 1 << 20, &text), 0);
	heap_tell_maps(fixture, generation, 0, true, orma_base_buf_str(&text));
}

struct heap_sample {
	uint64_t serial, size, points, timestamp_ns;
	uint32_t heap_id, generation;
	const uint64_t *pcs;
	size_t pc_count;
};

static inline void heap_tell_sample(struct heap_fixture *fixture, const struct heap_sample *sample)
{
	struct heap_packet packet;
	struct orma_proto_writer *writer = heap_packet_begin(&packet, RECORD(SAMPLE));

	orma_proto_write_varint(writer, RECORD(SAMPLE_SERIAL), sample->serial);
	orma_proto_write_varint(writer, RECORD(SAMPLE_HEAP_ID), sample->heap_id);
	orma_proto_write_varint(writer, RECORD(SAMPLE_SIZE), sample->size);
	if (sample->points)
		orma_proto_write_varint(writer, RECORD(SAMPLE_POINTS), sample->points);
	orma_proto_write_varint(writer, RECORD(SAMPLE_TIMESTAMP_NS), sample->timestamp_ns);
	orma_proto_write_varint(writer, RECORD(SAMPLE_ADDRESS), 0x1000 + sample->serial);
	orma_proto_write_varint(writer, RECORD(SAMPLE_MAPS_GENERATION), sample->generation);
	orma_proto_write_bytes(writer, RECORD(SAMPLE_PCS), sample->pcs, sample->pc_count * 8);
	heap_packet_end(&packet, fixture);
}

static inline void heap_tell_free(struct heap_fixture *fixture, uint64_t serial)
{
	struct heap_packet packet;
	struct orma_proto_writer *writer = heap_packet_begin(&packet, RECORD(FREE));
	uint8_t serials[ORMA_PROTO_VARINT_MAX];
	uint8_t *end = orma_proto_put_varint(serials, serial);

	orma_proto_write_bytes(writer, RECORD(FREE_SERIALS), serials, (size_t)(end - serials));
	orma_proto_write_varint(writer, RECORD(FREE_TIMESTAMP_NS), 1000);
	heap_packet_end(&packet, fixture);
}

/* A function to be called for each process by a dump at this time. */
struct heap_dump_request {
	struct heap_fixture *fixture;
	uint64_t timestamp_ns;
	unsigned flags;
};

static inline bool heap_dump_process(void *ctx, struct orma_heap_process *process)
{
	struct heap_dump_request *request = ctx;

	orma_heap_output_process(&request->fixture->output, process, request->timestamp_ns,
				 request->flags);
	return false;
}

static inline void heap_dump(struct heap_fixture *fixture, uint64_t timestamp_ns, unsigned flags)
{
	struct heap_dump_request request = {fixture, timestamp_ns, flags};

	orma_heap_processes_settle(&fixture->tracker);
	orma_heap_output_begin(&fixture->output);
	orma_heap_processes_visit(&fixture->tracker, heap_dump_process, &request);
	orma_heap_output_end(&fixture->output);
}

#endif
