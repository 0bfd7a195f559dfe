/* SPDX-License-Identifier: Apache-2.0
 * heap_packet.c - the encoding of samples and frees, straight into shared memory.
 *
 * All sizes are known before the first byte, so no length has to be filled in afterwards. A stack is copied once, from memory into
 * the chunk. The client's inner functions are used in place of orma_packet_begin(), because only they tell whether a packet was
 * lost. A sample that was lost must not become a live block.
 */
#include "heap/heap_packet.h"

#include <string.h>

#include "client/thread.h"
#include "proto/wire.h"
#include "schema/gen/orma_heap_record.pb.h"

#define RECORD_TAG                                                                                 \
	orma_proto_tag(ORMA_PB_ORMA_HEAP_RECORD_PACKET_FIELD_PACKET_FIELD, ORMA_PROTO_BYTES)

/* The room for tags, sizes and scalars of a sample, which are at most 20 fields. */
#define HEAD_BYTES (20u * ORMA_PROTO_SCALAR_FIELD_MAX)

static uint8_t *put_field(uint8_t *at, uint32_t id, uint64_t value)
{
	at = orma_proto_put_varint(at, orma_proto_tag(id, ORMA_PROTO_VARINT));
	return orma_proto_put_varint(at, value);
}

static uint8_t *put_size(uint8_t *at, uint32_t id, size_t size)
{
	at = orma_proto_put_varint(at, orma_proto_tag(id, ORMA_PROTO_BYTES));
	return orma_proto_put_varint(at, size);
}

/* The bytes before a message of `size` bytes. */
static size_t put_wrapping(uint8_t *begin, uint32_t id, size_t size)
{
	uint8_t inner[ORMA_PROTO_SCALAR_FIELD_MAX];
	size_t inner_size = (size_t)(put_size(inner, id, size) - inner);
	uint8_t *at = orma_proto_put_varint(begin, RECORD_TAG);

	at = orma_proto_put_varint(at, inner_size + size);
	memcpy(at, inner, inner_size);
	return (size_t)(at - begin) + inner_size;
}

struct parts {
	const void *head, *tail;
	size_t head_size, tail_size;
};

static bool write_parts(struct orma_data_source *source, uint32_t instance, uint32_t id,
			const struct parts *parts)
{
	uint8_t wrapping[3 * ORMA_PROTO_SCALAR_FIELD_MAX];
	struct orma_packet *slot = orma_client_slot_get(source, instance);
	struct orma_proto_writer *proto;
	bool is_written;

	if (!slot)
		return false;
	proto = orma_shm_writer_packet_begin(slot->writer);
	orma_proto_write_raw(proto, wrapping,
			     put_wrapping(wrapping, id, parts->head_size + parts->tail_size));
	orma_proto_write_raw(proto, parts->head, parts->head_size);
	orma_proto_write_raw(proto, parts->tail, parts->tail_size);
	orma_shm_writer_packet_end(slot->writer);
	is_written = orma_client_slot_check(slot);
	orma_client_slot_leave(slot);
	return is_written;
}

static uint8_t *put_registers(uint8_t *at, const struct orma_heap_sample *sample)
{
	const uint64_t values[] = {sample->registers.pc, sample->registers.sp, sample->registers.fp,
				   sample->registers.lr};

	at = put_size(at, ORMA_PB_ORMA_HEAP_RECORD_SAMPLE_REGISTERS, sizeof(values));
	memcpy(at, values, sizeof(values));
	at += sizeof(values);
	if (sample->stack_size == 0)
		return put_field(at, ORMA_PB_ORMA_HEAP_RECORD_SAMPLE_IS_WITHOUT_STACK, 1);
	return put_size(at, ORMA_PB_ORMA_HEAP_RECORD_SAMPLE_STACK, sample->stack_size);
}

bool orma_heap_write_sample(struct orma_data_source *source, uint32_t instance,
			    const struct orma_heap_sample *sample)
{
	uint8_t head[HEAD_BYTES];
	struct parts parts = {head, sample->stack, 0, sample->stack_size};
	uint8_t *at = put_field(head, ORMA_PB_ORMA_HEAP_RECORD_SAMPLE_SERIAL, sample->serial);

	at = put_field(at, ORMA_PB_ORMA_HEAP_RECORD_SAMPLE_HEAP_ID, sample->heap);
	at = put_field(at, ORMA_PB_ORMA_HEAP_RECORD_SAMPLE_SIZE, sample->size);
	if (sample->points > 0)
		at = put_field(at, ORMA_PB_ORMA_HEAP_RECORD_SAMPLE_POINTS, sample->points);
	at = put_field(at, ORMA_PB_ORMA_HEAP_RECORD_SAMPLE_INTERVAL_BYTES, sample->interval_bytes);
	at = put_field(at, ORMA_PB_ORMA_HEAP_RECORD_SAMPLE_TIMESTAMP_NS, sample->timestamp_ns);
	at = put_field(at, ORMA_PB_ORMA_HEAP_RECORD_SAMPLE_ADDRESS, sample->address);
	at = put_field(at, ORMA_PB_ORMA_HEAP_RECORD_SAMPLE_TID, sample->tid);
	at = put_field(at, ORMA_PB_ORMA_HEAP_RECORD_SAMPLE_MAPS_GENERATION,
		       sample->maps_generation);
	if (sample->is_cut)
		at = put_field(at, ORMA_PB_ORMA_HEAP_RECORD_SAMPLE_IS_CUT, 1);
	if (sample->pcs) {
		parts.tail = sample->pcs;
		parts.tail_size = sample->pc_count * sizeof(*sample->pcs);
		at = put_size(at, ORMA_PB_ORMA_HEAP_RECORD_SAMPLE_PCS, parts.tail_size);
	} else {
		at = put_registers(at, sample);
	}
	parts.head_size = (size_t)(at - head);
	return write_parts(source, instance, ORMA_PB_ORMA_HEAP_RECORD_SAMPLE, &parts);
}

bool orma_heap_write_free(struct orma_data_source *source, uint32_t instance, uint64_t serial,
			  uint64_t timestamp_ns)
{
	uint8_t message[4 * ORMA_PROTO_SCALAR_FIELD_MAX], packed[ORMA_PROTO_VARINT_MAX];
	size_t packed_size = (size_t)(orma_proto_put_varint(packed, serial) - packed);
	uint8_t *at = put_size(message, ORMA_PB_ORMA_HEAP_RECORD_FREE_SERIALS, packed_size);

	memcpy(at, packed, packed_size);
	at = put_field(at + packed_size, ORMA_PB_ORMA_HEAP_RECORD_FREE_TIMESTAMP_NS, timestamp_ns);
	return orma_heap_write_message(source, instance, ORMA_PB_ORMA_HEAP_RECORD_FREE, message,
				       (size_t)(at - message));
}

bool orma_heap_has_room(struct orma_data_source *source, uint32_t instance, size_t size)
{
	struct orma_packet *slot = orma_client_slot_get(source, instance);
	bool has_room;

	if (!slot)
		return false;
	has_room = orma_shm_writer_room(slot->writer) >= size;
	orma_client_slot_leave(slot);
	return has_room;
}

bool orma_heap_write_message(struct orma_data_source *source, uint32_t instance, uint32_t id,
			     const void *message, size_t size)
{
	const struct parts parts = {message, NULL, size, 0};

	return write_parts(source, instance, id, &parts);
}

bool orma_heap_send_message(struct orma_data_source *source, uint32_t instance, uint32_t id,
			    struct orma_proto_heap_writer *writer, struct orma_buf *buf)
{
	bool is_written = orma_proto_heap_writer_finish(writer) == 0 &&
			  orma_heap_write_message(source, instance, id, buf->data, buf->size);

	orma_base_buf_done(buf);
	return is_written;
}
