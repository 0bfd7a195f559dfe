/* SPDX-License-Identifier: Apache-2.0
 * packet_join.c - copies packets, and gives their sequences numbers that no other trace has.
 *
 * Compressed packets are unpacked, because they have numbers too. The clock that a trace chooses for its times is the first
 * trace's; the others are converted to it through their snapshots.
 */
#include "formats/packet_join.h"

#include <errno.h>

#include "base/macros.h"
#include "formats/inflate.h"
#include "formats/zstd_unpack.h"
#include "proto/reader.h"
#include "proto/wire.h"
#include "proto/writer.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/trace.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "trace/packet_index.h"

enum { AHEAD_BYTES = 1 << 20, BATCH_BYTES = 256 << 10, ZLIB_HEADER_BYTES = 2, PACKET_TAG = 0x0a };

void orma_packet_join_done(struct orma_packet_join *join)
{
	orma_base_map_done(&join->ids);
	orma_base_buf_done(&join->batch);
}

static int flush(struct orma_packet_join *join)
{
	uint64_t address;
	int r = join->batch.size > 0 ? orma_trace_bytes_add(join->output, join->batch.data,
							    join->batch.size, &address)
				     : 0;
	join->batch.size = 0;
	return r;
}

/* Returns the new number of a sequence, or 0 when out of memory. */
static uint32_t find_id(struct orma_packet_join *join, uint64_t old)
{
	uint64_t key = (uint64_t)join->trace_idx << 32 | (uint32_t)old;
	uintptr_t known = (uintptr_t)orma_base_map_get(&join->ids, key);
	if (known)
		return (uint32_t)known;
	uint32_t id = (uint32_t)join->ids.count + 1;
	return orma_base_map_put(&join->ids, key, (void *)(uintptr_t)id) < 0 ? 0 : id;
}

/* True for a snapshot without times: it only chooses the clock of the trace. */
static bool is_clock_choice(const struct orma_packet *packet)
{
	return packet->kind == ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT && packet->content.size > 0 &&
	       packet->content.data[0] ==
		       (char)orma_proto_tag(ORMA_PB_CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK,
					    ORMA_PROTO_VARINT);
}

static int append_packet(struct orma_packet_join *join, const struct orma_packet *packet)
{
	uint8_t head[2 + 2 * ORMA_PROTO_VARINT_MAX], id[1 + ORMA_PROTO_VARINT_MAX];
	size_t id_size = 0;
	struct orma_str bytes = packet->bytes;
	if (join->trace_idx > 0 && is_clock_choice(packet))
		return 0;
	if (packet->flags & ORMA_PACKET_HAS_SEQUENCE) {
		uint32_t number = find_id(join, packet->sequence);
		if (number == 0)
			return -ENOMEM;
		/* The last field of a number counts, so the old one may stay. */
		id[0] = (uint8_t)orma_proto_tag(ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID,
						ORMA_PROTO_VARINT);
		id_size = (size_t)(orma_proto_put_varint(id + 1, number) - id);
	}
	head[0] = PACKET_TAG;
	size_t head_size = (size_t)(orma_proto_put_varint(head + 1, bytes.size + id_size) - head);
	int r = orma_base_buf_append(&join->batch, head, head_size);
	if (r == 0)
		r = orma_base_buf_append(&join->batch, bytes.data, bytes.size);
	if (r == 0)
		r = orma_base_buf_append(&join->batch, id, id_size);
	return r == 0 && join->batch.size >= BATCH_BYTES ? flush(join) : r;
}

static bool is_compressed(const struct orma_packet *packet)
{
	return packet->kind == ORMA_PB_TRACE_PACKET_COMPRESSED_PACKETS ||
	       packet->kind == ORMA_PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS;
}

static int unpack(const struct orma_packet *packet, struct orma_trace_bytes *ret)
{
	struct orma_trace_bytes packed = {.fd = -1, .spool_fd = -1};
	struct orma_str content = packet->content;
	uint64_t limit = orma_unpacked_limit(content.size), address, size;
	uint32_t crc;
	if (packet->kind == ORMA_PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS)
		return orma_zstd_unpack(content, limit, ret);
	if (content.size < ZLIB_HEADER_BYTES)
		return -EBADMSG;
	int r = orma_trace_bytes_add(&packed, content.data, content.size, &address);
	address += ZLIB_HEADER_BYTES;
	if (r == 0)
		r = orma_inflate(&packed, &address, content.size, limit, ret, &crc, &size);
	orma_trace_bytes_done(&packed);
	return r;
}

/* Finds the next entry at an address. 1 (a packet), 0 (another field), or a negative errno value. */
static int read_entry(struct orma_trace_window *window, const struct orma_trace_bytes *packets,
		      uint64_t address, struct orma_packet *ret, uint64_t *ret_size)
{
	uint64_t left = orma_trace_bytes_end(packets) - address;
	size_t wanted = (size_t)ORMA_MIN(left, (uint64_t)2 * ORMA_PROTO_VARINT_MAX);
	for (;;) {
		const uint8_t *data;
		struct orma_str bytes;
		int r = orma_trace_window_read(window, packets, address, wanted,
					       (size_t)ORMA_MIN(left, (uint64_t)AHEAD_BYTES),
					       &data);
		if (r <= 0)
			return r < 0 ? r : -EBADMSG;
		size_t have = window->size - (size_t)(address - window->address);
		r = orma_trace_entry_read(data, have, &bytes, ret_size);
		if (r == -EAGAIN && *ret_size > have && *ret_size <= left) {
			wanted = (size_t)*ret_size;
			continue;
		}
		if (r > 0 && orma_trace_packet_read(bytes.data, bytes.size, ret) < 0)
			return 0;
		return r == -EAGAIN ? -EBADMSG : r;
	}
}

/* Appends packets of which none is compressed. */
static int add_plain(struct orma_packet_join *join, const struct orma_trace_bytes *packets)
{
	struct orma_trace_window window = {0};
	uint64_t address = 0;
	int r = 0;
	while (r >= 0 && address < orma_trace_bytes_end(packets)) {
		struct orma_packet packet;
		uint64_t size = 0;
		r = read_entry(&window, packets, address, &packet, &size);
		if (r > 0)
			r = append_packet(join, &packet);
		address += size;
	}
	orma_trace_window_done(&window);
	return ORMA_MIN(r, 0);
}

static int add_compressed(struct orma_packet_join *join, const struct orma_packet *packet)
{
	struct orma_trace_bytes unpacked = {.fd = -1, .spool_fd = -1};
	int r = unpack(packet, &unpacked);
	/* The beginning of a damaged one counts. */
	if (r == 0 || r == -EBADMSG)
		r = add_plain(join, &unpacked);
	orma_trace_bytes_done(&unpacked);
	return r == -EBADMSG ? 0 : r;
}

/* Tells the importer whose packets follow. */
static int append_mark(struct orma_packet_join *join, uint32_t file)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested packet;
	orma_proto_heap_writer_init(&heap, &join->batch);
	orma_proto_nested_begin(&heap.writer, &packet, ORMA_PB_TRACE_PACKET);
	orma_proto_write_bytes(&heap.writer, ORMA_PACKET_TRACE_FILE, &file, sizeof(file));
	orma_proto_nested_end(&heap.writer, &packet);
	return orma_proto_heap_writer_finish(&heap);
}

int orma_packet_join_add(struct orma_packet_join *join, uint32_t file,
			 const struct orma_trace_bytes *packets)
{
	struct orma_trace_window window = {0};
	uint64_t address = 0;
	int r = append_mark(join, file);
	while (r >= 0 && address < orma_trace_bytes_end(packets)) {
		struct orma_packet packet;
		uint64_t size = 0;
		r = read_entry(&window, packets, address, &packet, &size);
		if (r > 0)
			r = is_compressed(&packet) ? add_compressed(join, &packet)
						   : append_packet(join, &packet);
		address += r < 0 ? 0 : size;
	}
	orma_trace_window_done(&window);
	join->end_address = address;
	int last = flush(join);
	join->trace_idx++;
	return last < 0 ? last : ORMA_MIN(r, 0);
}
