/* SPDX-License-Identifier: Apache-2.0
 * packet_view.c - reads the envelope of a packet, without decoding its content.
 *
 * The content is the field of bytes that is not a part of the envelope, so that packets whose content
 * this version does not know have a kind too. Rejected: decoding into struct orma_pb_trace_packet,
 * which builds every kernel event of a bundle to learn a number of its envelope.
 */
#include "tool/trace/packet_view.h"

#include <errno.h>

#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/trace_packet.pb.h"

static void read_number(struct orma_packet_view *packet, uint32_t id, uint64_t value)
{
	switch (id) {
	case ORMA_PB_TRACE_PACKET_TIMESTAMP:
		packet->timestamp = value;
		packet->has_timestamp = true;
		break;
	case ORMA_PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID:
		packet->clock = (uint32_t)value;
		break;
	case ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID:
		packet->sequence = (uint32_t)value;
		break;
	case ORMA_PB_TRACE_PACKET_TRUSTED_PID:
		packet->pid = (int32_t)value;
		packet->has_pid = true;
		break;
	case ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS:
		packet->flags |= (uint32_t)value;
		break;
	case ORMA_PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED:
		packet->flags |=
			value ? ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_INCREMENTAL_STATE_CLEARED
			      : 0;
		break;
	case ORMA_PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED:
		packet->dropped = (uint32_t)value;
		break;
	case ORMA_PB_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE:
		packet->is_first_on_sequence = value != 0;
		break;
	case ORMA_PB_TRACE_PACKET_MACHINE_ID:
		packet->machine = (uint32_t)value;
		break;
	default:
		break;
	}
}

int orma_packet_view_read(const void *data, size_t size, struct orma_packet_view *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int more;

	*ret = (struct orma_packet_view){.bytes = {data, size}};
	orma_proto_reader_init(&reader, data, size);
	while ((more = orma_proto_reader_next(&reader, &field)) > 0) {
		if (field.type != ORMA_PROTO_BYTES) {
			read_number(ret, field.id, field.value);
		} else if (field.id == ORMA_PB_TRACE_PACKET_INTERNED_DATA) {
			ret->interned = field.bytes;
		} else if (field.id == ORMA_PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS) {
			ret->defaults = field.bytes;
		} else {
			ret->kind = field.id;
			ret->content = field.bytes;
		}
	}
	return more;
}

/* The messages around the current place are on a stack, because the bytes choose the depth. */
bool orma_packet_is_intact(const void *data, size_t size)
{
	struct {
		const struct orma_proto_desc *desc;
		struct orma_proto_reader reader;
	} open[ORMA_PROTO_DEPTH_MAX];
	size_t count = 1;

	open[0].desc = &orma_pb_trace_packet_desc;
	orma_proto_reader_init(&open[0].reader, data, size);
	while (count > 0) {
		const struct orma_proto_desc *desc = open[count - 1].desc;
		const struct orma_proto_field_desc *known = NULL;
		struct orma_proto_field field;
		int more = orma_proto_reader_next(&open[count - 1].reader, &field);

		if (more < 0)
			return false;
		if (more == 0)
			count--;
		else if (field.type == ORMA_PROTO_BYTES)
			known = orma_proto_desc_find(desc, field.id);
		if (!known || known->kind != ORMA_PROTO_KIND_MESSAGE)
			continue;
		if (count == ORMA_ARRAY_SIZE(open))
			return false;
		open[count].desc = desc->types[known->type_idx].message;
		orma_proto_reader_init(&open[count++].reader, field.bytes.data, field.bytes.size);
	}
	return true;
}

bool orma_packet_is_event(uint32_t kind)
{
	static const uint32_t descriptions[] = {
		0,
		ORMA_PB_TRACE_PACKET_PROCESS_TREE,
		ORMA_PB_TRACE_PACKET_INODE_FILE_MAP,
		ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT,
		ORMA_PB_TRACE_PACKET_TRACE_CONFIG,
		ORMA_PB_TRACE_PACKET_FTRACE_STATS,
		ORMA_PB_TRACE_PACKET_TRACE_STATS,
		ORMA_PB_TRACE_PACKET_SYNCHRONIZATION_MARKER,
		ORMA_PB_TRACE_PACKET_PROCESS_DESCRIPTOR,
		ORMA_PB_TRACE_PACKET_THREAD_DESCRIPTOR,
		ORMA_PB_TRACE_PACKET_SYSTEM_INFO,
		ORMA_PB_TRACE_PACKET_TRIGGER,
		ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR,
		ORMA_PB_TRACE_PACKET_MODULE_SYMBOLS,
		ORMA_PB_TRACE_PACKET_CPU_INFO,
		ORMA_PB_TRACE_PACKET_SERVICE_EVENT,
		ORMA_PB_TRACE_PACKET_EXTENSION_DESCRIPTOR,
		ORMA_PB_TRACE_PACKET_UI_STATE,
		ORMA_PB_TRACE_PACKET_TRACE_UUID,
		ORMA_PB_TRACE_PACKET_TRACK_EVENT_RANGE_OF_INTEREST,
		ORMA_PB_TRACE_PACKET_REMOTE_CLOCK_SYNC,
		ORMA_PB_TRACE_PACKET_CLONE_SNAPSHOT_TRIGGER,
		ORMA_PB_TRACE_PACKET_TRACE_PROVENANCE,
		ORMA_PB_TRACE_PACKET_TRACE_ATTRIBUTES,
		ORMA_PB_TRACE_PACKET_INTERRUPT_INFO,
		ORMA_PB_TRACE_PACKET_CONCURRENT_SESSION_EVENT,
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(descriptions); i++)
		if (descriptions[i] == kind)
			return false;
	return true;
}
