/* SPDX-License-Identifier: Apache-2.0
 * heap_stream_test.c - with stream_allocations each sample and each free of a made-up process is in a packet.
 */
#include "probes/heap/heap_stream.h"

#include "heap_fixture.h"
#include "proto/reader.h"
#include "schema/gen/profile_packet.pb.h"

static struct heap_fixture fixture;
static struct orma_heap_stream stream;
static struct orma_arena arena;

static void begin(uint64_t interval)
{
	heap_begin(&fixture);
	stream = (struct orma_heap_stream){.output = &fixture.output};
	fixture.tracker.event = orma_heap_stream_take;
	fixture.tracker.event_ctx = &stream;
	heap_tell_heap(&fixture, 1, "libc.malloc", interval);
}

static void finish(void)
{
	heap_end(&fixture);
	orma_base_arena_done(&arena);
}

static void sample(uint64_t serial, uint64_t size)
{
	static const uint64_t pcs[] = {0x1001, 0x2002};

	heap_tell_sample(&fixture, &(struct heap_sample){.serial = serial,
							 .heap_id = 1,
							 .size = size,
							 .points = 1,
							 .timestamp_ns = 500 + serial,
							 .pcs = pcs,
							 .pc_count = 2});
}

/* Returns the content of the field in the packet `at` of those that have it; no bytes when there are fewer. */
static struct orma_str find(uint32_t id, size_t at)
{
	struct orma_proto_reader packets, fields;
	struct orma_proto_field packet, field;

	orma_proto_reader_init(&packets, fixture.trace.data, fixture.trace.size);
	while (orma_proto_reader_next(&packets, &packet) > 0) {
		orma_proto_reader_init(&fields, packet.bytes.data, packet.bytes.size);
		while (orma_proto_reader_next(&fields, &field) > 0)
			if (field.id == id && at-- == 0)
				return field.bytes;
	}
	return (struct orma_str){0};
}

static struct orma_pb_streaming_allocation *allocations(size_t at)
{
	struct orma_str bytes = find(ORMA_PB_TRACE_PACKET_STREAMING_ALLOCATION, at);
	struct orma_pb_streaming_allocation *message = NULL;

	if (bytes.size > 0)
		CHECK_INT(orma_pb_streaming_allocation_decode(bytes.data, bytes.size, &arena,
							      &message),
			  0);
	return message;
}

static struct orma_pb_streaming_free *frees(size_t at)
{
	struct orma_str bytes = find(ORMA_PB_TRACE_PACKET_STREAMING_FREE, at);
	struct orma_pb_streaming_free *message = NULL;

	if (bytes.size > 0)
		CHECK_INT(orma_pb_streaming_free_decode(bytes.data, bytes.size, &arena, &message),
			  0);
	return message;
}

ORMA_TEST(an_allocation_and_its_free_have_the_same_number_and_address)
{
	begin(4096);
	sample(1, 100);
	sample(2, 1 << 20);
	heap_tell_free(&fixture, 2);
	CHECK(!allocations(0));
	orma_heap_stream_flush(&stream);
	struct orma_pb_streaming_allocation *made = allocations(0);
	CHECK(made && made->address.count == 2 && made->size.count == 2);
	CHECK(made->sample_size.count == 2 && made->heap_id.count == 2);
	CHECK(made->clock_monotonic_coarse_timestamp.count == 2 &&
	      made->sequence_number.count == 2);
	CHECK_INT(made->address.items[1], 0x1002);
	CHECK_INT(made->size.items[0], 100);
	/* A small block stands for those around it. */
	CHECK_INT(made->sample_size.items[0], orma_heap_weigh(100, 4096));
	CHECK_INT(made->sample_size.items[1], 1 << 20);
	CHECK_INT(made->clock_monotonic_coarse_timestamp.items[0], 501);
	CHECK_INT(made->heap_id.items[0], 1);
	CHECK_INT(made->sequence_number.items[1], 2);
	struct orma_pb_streaming_free *freed = frees(0);
	CHECK(freed && freed->address.count == 1 && freed->heap_id.count == 1);
	CHECK_INT(freed->address.items[0], 0x1002);
	CHECK_INT(freed->heap_id.items[0], 1);
	CHECK_INT(freed->sequence_number.items[0], 2);
	finish();
}

ORMA_TEST(packets_are_written_when_they_are_full_and_nothing_is_written_twice)
{
	begin(1);
	for (uint64_t i = 1; i < ORMA_HEAP_STREAM_EVENTS; i++)
		sample(i, 10);
	CHECK(!allocations(0));
	sample(ORMA_HEAP_STREAM_EVENTS, 10);
	CHECK(allocations(0) && allocations(0)->size.count == ORMA_HEAP_STREAM_EVENTS);
	for (uint64_t i = 1; i <= ORMA_HEAP_STREAM_EVENTS; i++)
		heap_tell_free(&fixture, i);
	CHECK(frees(0) && frees(0)->address.count == ORMA_HEAP_STREAM_EVENTS);
	orma_heap_stream_flush(&stream);
	CHECK(!allocations(1) && !frees(1));
	finish();
}
