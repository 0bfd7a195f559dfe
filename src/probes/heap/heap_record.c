/* SPDX-License-Identifier: Apache-2.0
 * heap_record.c - reads the packets of orma.heap by hand, without copying.
 *
 * Owns nothing. A profiled process writes up to several million packets a second, so the codec's tables are too slow for them. This
 * file skips unknown fields and fields of the wrong type. heap_process.c checks the values of the others.
 */
#include "probes/heap/heap_record.h"

#include <errno.h>

#include "proto/reader.h"
#include "schema/gen/orma_heap_record.pb.h"
#include "schema/gen/trace_packet.pb.h"

#define RECORD(name) ORMA_PB_ORMA_HEAP_RECORD_##name

static int read_process(struct orma_proto_reader *reader, struct orma_heap_record_process *ret)
{
	struct orma_proto_field field;
	int r;

	while ((r = orma_proto_reader_next(reader, &field)) > 0) {
		if (field.id == RECORD(PROCESS_PID))
			ret->pid = field.value;
		else if (field.id == RECORD(PROCESS_PARENT_PID))
			ret->parent_pid = field.value;
		else if (field.id == RECORD(PROCESS_IS_FROM_STARTUP))
			ret->is_from_startup = field.value != 0;
		else if (field.id == RECORD(PROCESS_START_TIMESTAMP_NS))
			ret->start_timestamp_ns = field.value;
		else if (field.id == RECORD(PROCESS_PROGRAM_START_NS))
			ret->program_start_ns = field.value;
	}
	return r;
}

static int read_heap(struct orma_proto_reader *reader, struct orma_heap_record_heap *ret)
{
	struct orma_proto_field field;
	int r;

	while ((r = orma_proto_reader_next(reader, &field)) > 0) {
		if (field.id == RECORD(HEAP_HEAP_ID))
			ret->id = (uint32_t)field.value;
		else if (field.id == RECORD(HEAP_NAME))
			ret->name = field.bytes;
		else if (field.id == RECORD(HEAP_INTERVAL_BYTES))
			ret->interval_bytes = field.value;
		else if (field.id == RECORD(HEAP_ORIGINAL_INTERVAL_BYTES))
			ret->original_interval_bytes = field.value;
	}
	return r;
}

static int read_maps(struct orma_proto_reader *reader, struct orma_heap_record_maps *ret)
{
	struct orma_proto_field field;
	int r;

	while ((r = orma_proto_reader_next(reader, &field)) > 0) {
		if (field.id == RECORD(MAPS_GENERATION))
			ret->generation = (uint32_t)field.value;
		else if (field.id == RECORD(MAPS_PART))
			ret->part = (uint32_t)field.value;
		else if (field.id == RECORD(MAPS_IS_LAST_PART))
			ret->is_last_part = field.value != 0;
		else if (field.id == RECORD(MAPS_TEXT))
			ret->text = field.bytes;
	}
	return r;
}

static void take_sample_field(const struct orma_proto_field *field,
			      struct orma_heap_record_sample *ret)
{
	switch (field->id) {
	case RECORD(SAMPLE_SERIAL):
		ret->serial = field->value;
		break;
	case RECORD(SAMPLE_HEAP_ID):
		ret->heap_id = (uint32_t)field->value;
		break;
	case RECORD(SAMPLE_SIZE):
		ret->size = field->value;
		break;
	case RECORD(SAMPLE_POINTS):
		ret->has_points = field->value > 0;
		break;
	case RECORD(SAMPLE_INTERVAL_BYTES):
		ret->interval_bytes = field->value;
		break;
	case RECORD(SAMPLE_TIMESTAMP_NS):
		ret->timestamp_ns = field->value;
		break;
	case RECORD(SAMPLE_ADDRESS):
		ret->address = field->value;
		break;
	case RECORD(SAMPLE_MAPS_GENERATION):
		ret->maps_generation = (uint32_t)field->value;
		break;
	case RECORD(SAMPLE_PCS):
		ret->pcs = field->bytes;
		break;
	case RECORD(SAMPLE_REGISTERS):
		ret->registers = field->bytes;
		break;
	case RECORD(SAMPLE_STACK):
		ret->stack = field->bytes;
		break;
	case RECORD(SAMPLE_IS_CUT):
		ret->is_cut = field->value != 0;
		break;
	case RECORD(SAMPLE_IS_WITHOUT_STACK):
		ret->is_without_stack = field->value != 0;
		break;
	default:
		break;
	}
}

static int read_sample(struct orma_proto_reader *reader, struct orma_heap_record_sample *ret)
{
	struct orma_proto_field field;
	int r;

	while ((r = orma_proto_reader_next(reader, &field)) > 0)
		take_sample_field(&field, ret);
	return r;
}

static int read_free(struct orma_proto_reader *reader, struct orma_heap_record_free *ret)
{
	struct orma_proto_field field;
	int r;

	while ((r = orma_proto_reader_next(reader, &field)) > 0) {
		if (field.id == RECORD(FREE_SERIALS))
			ret->serials = field.bytes;
		else if (field.id == RECORD(FREE_TIMESTAMP_NS))
			ret->timestamp_ns = field.value;
	}
	return r;
}

static int read_lost(struct orma_proto_reader *reader, struct orma_heap_record_lost *ret)
{
	struct orma_proto_field field;
	int r;

	while ((r = orma_proto_reader_next(reader, &field)) > 0) {
		if (field.id == RECORD(LOST_SAMPLES))
			ret->samples = field.value;
		else if (field.id == RECORD(LOST_SAMPLES_BEYOND_LIVE_SET))
			ret->samples_beyond_live_set = field.value;
		else if (field.id == RECORD(LOST_FREES))
			ret->frees = field.value;
		else if (field.id == RECORD(LOST_NESTED_CALLS))
			ret->nested_calls = field.value;
		else if (field.id == RECORD(LOST_FAILED_STACKS))
			ret->failed_stacks = field.value;
		else if (field.id == RECORD(LOST_SAMPLES_WRITTEN))
			ret->samples_written = field.value;
		else if (field.id == RECORD(LOST_FREES_WRITTEN))
			ret->frees_written = field.value;
		else if (field.id == RECORD(LOST_UNSEEN_BYTES))
			ret->unseen_bytes = field.value;
	}
	return r;
}

static int read_record(struct orma_str bytes, struct orma_heap_record *ret)
{
	struct orma_proto_reader reader, inner;
	struct orma_proto_field field;
	int r;

	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	r = orma_proto_reader_next(&reader, &field);
	if (r <= 0 || field.type != ORMA_PROTO_BYTES)
		return r;
	orma_proto_reader_init(&inner, field.bytes.data, field.bytes.size);
	switch (field.id) {
	case RECORD(PROCESS):
		ret->kind = ORMA_HEAP_RECORD_PROCESS;
		ret->process = (struct orma_heap_record_process){.message = field.bytes};
		return read_process(&inner, &ret->process);
	case RECORD(HEAP):
		ret->kind = ORMA_HEAP_RECORD_HEAP;
		ret->heap = (struct orma_heap_record_heap){0};
		return read_heap(&inner, &ret->heap);
	case RECORD(MAPS):
		ret->kind = ORMA_HEAP_RECORD_MAPS;
		ret->maps = (struct orma_heap_record_maps){0};
		return read_maps(&inner, &ret->maps);
	case RECORD(SAMPLE):
		ret->kind = ORMA_HEAP_RECORD_SAMPLE;
		ret->sample = (struct orma_heap_record_sample){0};
		return read_sample(&inner, &ret->sample);
	case RECORD(FREE):
		ret->kind = ORMA_HEAP_RECORD_FREE;
		ret->free = (struct orma_heap_record_free){0};
		return read_free(&inner, &ret->free);
	case RECORD(LOST):
		ret->kind = ORMA_HEAP_RECORD_LOST;
		ret->lost = (struct orma_heap_record_lost){0};
		return read_lost(&inner, &ret->lost);
	case RECORD(BYE):
		ret->kind = ORMA_HEAP_RECORD_BYE;
		return 0;
	default:
		return 0;
	}
}

int orma_heap_record_parse(struct orma_str packet_untrusted, struct orma_heap_record *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	struct orma_str record = {0};
	int r;

	ret->pid = 0;
	ret->uid = -1;
	ret->writer = 0;
	ret->is_after_loss = false;
	ret->kind = ORMA_HEAP_RECORD_NONE;
	orma_proto_reader_init(&reader, packet_untrusted.data, packet_untrusted.size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0) {
		if (field.id == RECORD(PACKET_FIELD_PACKET_FIELD))
			record = field.bytes;
		else if (field.id == ORMA_PB_TRACE_PACKET_TRUSTED_PID)
			ret->pid = (int32_t)field.value;
		else if (field.id == ORMA_PB_TRACE_PACKET_TRUSTED_UID)
			ret->uid = (int32_t)field.value;
		else if (field.id == ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID)
			ret->writer = (uint32_t)field.value;
		else if (field.id == ORMA_PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED)
			ret->is_after_loss = field.value != 0;
	}
	if (r == 0 && record.size > 0)
		r = read_record(record, ret);
	if (r < 0)
		ret->kind = ORMA_HEAP_RECORD_NONE;
	return r;
}

bool orma_heap_record_next_argument(struct orma_str process, size_t *offset, struct orma_str *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;

	if (*offset >= process.size)
		return false;
	orma_proto_reader_init(&reader, process.data + *offset, process.size - *offset);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id != RECORD(PROCESS_CMDLINE) || field.type != ORMA_PROTO_BYTES)
			continue;
		*ret = field.bytes;
		*offset = (size_t)(field.bytes.data + field.bytes.size - process.data);
		return true;
	}
	return false;
}
