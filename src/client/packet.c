/* SPDX-License-Identifier: Apache-2.0
 * packet.c - the public functions that write packets: thin wrappers around the trace writer.
 *
 * A struct orma_packet is the calling thread's slot of an instance, so that beginning a packet
 * makes nothing. Rejected: a packet object on the caller's stack (its layout would be ABI), and
 * handing out the writer's own struct (its members would be).
 */
#include <orma/packet.h>

#include "client/thread.h"

static_assert(sizeof(struct orma_proto_nested) <= sizeof(struct orma_nested) &&
		      _Alignof(struct orma_proto_nested) <= _Alignof(struct orma_nested),
	      "the public struct holds the writer's own");

struct orma_packet *orma_packet_begin(struct orma_data_source *source, uint32_t idx)
{
	struct orma_packet *slot;

	if (!source || idx >= ORMA_INSTANCES_MAX)
		return NULL;
	slot = orma_client_slot_get(source, idx);
	if (!slot)
		return NULL;
	orma_shm_writer_packet_begin(slot->writer);
	return slot;
}

void orma_packet_end(struct orma_packet *packet)
{
	if (!packet || !orma_client_slot_is_open(packet))
		return;
	orma_shm_writer_packet_end(packet->writer);
	orma_client_slot_check(packet);
	orma_client_slot_leave(packet);
}

bool orma_packet_take_needs_state(struct orma_packet *packet)
{
	if (!packet)
		return false;

	bool needs_state = packet->needs_state;

	packet->needs_state = false;
	return needs_state;
}

void *orma_packet_thread_state(struct orma_packet *packet)
{
	if (!packet)
		return NULL;

	struct orma_client_user *user = orma_client_slot_user(packet);

	return user ? user->thread_state : NULL;
}

void *orma_packet_incremental_state(struct orma_packet *packet)
{
	if (!packet)
		return NULL;

	struct orma_client_user *user = orma_client_slot_user(packet);

	return user ? user->incremental_state : NULL;
}

void orma_data_source_flush_thread(struct orma_data_source *source, uint32_t idx)
{
	if (source && idx < ORMA_INSTANCES_MAX)
		orma_client_self_flush(source, idx);
}

void orma_packet_varint(struct orma_packet *packet, uint32_t field_id, uint64_t value)
{
	if (ORMA_UNLIKELY(!packet))
		return;
	orma_proto_write_varint(&packet->writer->proto, field_id, value);
}

void orma_packet_int(struct orma_packet *packet, uint32_t field_id, int64_t value)
{
	if (ORMA_UNLIKELY(!packet))
		return;
	orma_proto_write_int(&packet->writer->proto, field_id, value);
}

void orma_packet_sint(struct orma_packet *packet, uint32_t field_id, int64_t value)
{
	if (ORMA_UNLIKELY(!packet))
		return;
	orma_proto_write_sint(&packet->writer->proto, field_id, value);
}

void orma_packet_bool(struct orma_packet *packet, uint32_t field_id, bool value)
{
	if (ORMA_UNLIKELY(!packet))
		return;
	orma_proto_write_bool(&packet->writer->proto, field_id, value);
}

void orma_packet_fixed32(struct orma_packet *packet, uint32_t field_id, uint32_t value)
{
	if (ORMA_UNLIKELY(!packet))
		return;
	orma_proto_write_fixed32(&packet->writer->proto, field_id, value);
}

void orma_packet_fixed64(struct orma_packet *packet, uint32_t field_id, uint64_t value)
{
	if (ORMA_UNLIKELY(!packet))
		return;
	orma_proto_write_fixed64(&packet->writer->proto, field_id, value);
}

void orma_packet_float(struct orma_packet *packet, uint32_t field_id, float value)
{
	if (ORMA_UNLIKELY(!packet))
		return;
	orma_proto_write_float(&packet->writer->proto, field_id, value);
}

void orma_packet_double(struct orma_packet *packet, uint32_t field_id, double value)
{
	if (ORMA_UNLIKELY(!packet))
		return;
	orma_proto_write_double(&packet->writer->proto, field_id, value);
}

void orma_packet_string(struct orma_packet *packet, uint32_t field_id, const char *text)
{
	if (ORMA_UNLIKELY(!packet))
		return;
	orma_proto_write_string(&packet->writer->proto, field_id, text ? text : "");
}

void orma_packet_bytes(struct orma_packet *packet, uint32_t field_id, const void *data, size_t size)
{
	if (ORMA_UNLIKELY(!packet || (!data && size > 0)))
		return;
	orma_proto_write_bytes(&packet->writer->proto, field_id, data, size);
}

void orma_packet_raw(struct orma_packet *packet, const void *data, size_t size)
{
	if (ORMA_UNLIKELY(!packet || (!data && size > 0)))
		return;
	orma_proto_write_raw(&packet->writer->proto, data, size);
}

void orma_packet_nested_begin(struct orma_packet *packet, struct orma_nested *nested,
			      uint32_t field_id)
{
	if (ORMA_UNLIKELY(!packet || !nested))
		return;
	orma_proto_nested_begin(&packet->writer->proto, (struct orma_proto_nested *)(void *)nested,
				field_id);
}

void orma_packet_nested_end(struct orma_packet *packet, struct orma_nested *nested)
{
	if (ORMA_UNLIKELY(!packet || !nested))
		return;
	orma_proto_nested_end(&packet->writer->proto, (struct orma_proto_nested *)(void *)nested);
}
