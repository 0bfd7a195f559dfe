/* SPDX-License-Identifier: Apache-2.0
 * packet_sink.c - encodes packets into one buffer in memory, and counts them.
 *
 * No service runs, so `valgrind --tool=callgrind` counts the probe and the encoding of its packets alone.
 */
#include "packet_sink.h"

#include <orma/data_source.h>
#include <stdlib.h>

#include "base/buf.h"
#include "proto/writer.h"

struct orma_packet {
	struct orma_proto_heap_writer heap;
	struct orma_buf buf;
};

static struct orma_packet the_packet;
static struct bench_packets packets;

struct bench_packets bench_take_packets(void)
{
	const struct bench_packets taken = packets;

	packets = (struct bench_packets){0};
	return taken;
}

struct orma_packet *orma_packet_begin(struct orma_data_source *source, uint32_t idx)
{
	(void)source;
	(void)idx;
	orma_proto_heap_writer_init(&the_packet.heap, &the_packet.buf);
	return &the_packet;
}

void orma_packet_end(struct orma_packet *packet)
{
	if (orma_proto_heap_writer_finish(&packet->heap) < 0)
		abort();
	packets.count++;
	packets.bytes += packet->buf.size;
	packet->buf.size = 0;
}

bool orma_packet_take_needs_state(struct orma_packet *packet)
{
	(void)packet;
	return false;
}

void orma_packet_varint(struct orma_packet *packet, uint32_t field_id, uint64_t value)
{
	orma_proto_write_varint(&packet->heap.writer, field_id, value);
}

void orma_packet_int(struct orma_packet *packet, uint32_t field_id, int64_t value)
{
	orma_proto_write_int(&packet->heap.writer, field_id, value);
}

void orma_packet_bytes(struct orma_packet *packet, uint32_t field_id, const void *data, size_t size)
{
	orma_proto_write_bytes(&packet->heap.writer, field_id, data, size);
}

void orma_packet_raw(struct orma_packet *packet, const void *data, size_t size)
{
	orma_proto_write_raw(&packet->heap.writer, data, size);
}

void orma_packet_nested_begin(struct orma_packet *packet, struct orma_nested *nested,
			      uint32_t field_id)
{
	orma_proto_nested_begin(&packet->heap.writer, (struct orma_proto_nested *)(void *)nested,
				field_id);
}

void orma_packet_nested_end(struct orma_packet *packet, struct orma_nested *nested)
{
	orma_proto_nested_end(&packet->heap.writer, (struct orma_proto_nested *)(void *)nested);
}
