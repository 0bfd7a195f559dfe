/* SPDX-License-Identifier: Apache-2.0
 * descriptor_read.c - the fields of TrackDescriptor, and of the descriptors in it.
 */
#include "trace/descriptor_read.h"

#include <stdio.h>

#include "proto/reader.h"
#include "schema/gen/counter_descriptor.pb.h"
#include "schema/gen/process_descriptor.pb.h"
#include "schema/gen/thread_descriptor.pb.h"
#include "schema/gen/track_descriptor.pb.h"

enum { MERGE_BY_KEY = 3, MERGE_NONE = 2, ORDERING_MAX = 3, ORDER_EXPLICIT = 1 };

static void read_thread(struct orma_str bytes, struct orma_descriptor *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	ret->has_thread = true;
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.type != ORMA_PROTO_VARINT)
			continue;
		if (field.id == ORMA_PB_THREAD_DESCRIPTOR_PID)
			ret->pid = (int32_t)field.value;
		else if (field.id == ORMA_PB_THREAD_DESCRIPTOR_TID)
			ret->tid = (int64_t)field.value;
	}
}

static void read_process(struct orma_str bytes, struct orma_descriptor *ret)
{
	struct orma_proto_field field;
	ret->has_process = true;
	if (orma_proto_reader_find(bytes.data, bytes.size, ORMA_PB_PROCESS_DESCRIPTOR_PID, &field) >
		    0 &&
	    field.type == ORMA_PROTO_VARINT)
		ret->pid = (int32_t)field.value;
}

static void read_counter(struct orma_tables *tables, struct orma_str bytes,
			 struct orma_descriptor *ret)
{
	static const char *const units[] = {NULL, "ns", "count", "bytes"};
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	struct orma_str unit_name = {NULL, 0};
	uint64_t type = 0, unit = 0;
	char categories[256];
	size_t size = 0;
	ret->is_counter = true;
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		bool is_text = field.type == ORMA_PROTO_BYTES;
		if (field.id == ORMA_PB_COUNTER_DESCRIPTOR_TYPE && !is_text)
			type = field.value;
		else if (field.id == ORMA_PB_COUNTER_DESCRIPTOR_UNIT && !is_text)
			unit = field.value;
		else if (field.id == ORMA_PB_COUNTER_DESCRIPTOR_UNIT_NAME && is_text)
			unit_name = field.bytes;
		else if (field.id == ORMA_PB_COUNTER_DESCRIPTOR_UNIT_MULTIPLIER && !is_text)
			ret->multiplier =
				(int64_t)field.value > 0 ? (double)(int64_t)field.value : 1;
		else if (field.id == ORMA_PB_COUNTER_DESCRIPTOR_IS_INCREMENTAL && !is_text)
			ret->is_incremental = field.value != 0;
		else if (field.id == ORMA_PB_COUNTER_DESCRIPTOR_Y_AXIS_SHARE_KEY && is_text)
			ret->share_key = orma_tables_string(tables, field.bytes);
		else if (field.id == ORMA_PB_COUNTER_DESCRIPTOR_CATEGORIES && is_text &&
			 field.bytes.size < sizeof(categories) - size - 2)
			size += (size_t)snprintf(categories + size, sizeof(categories) - size,
						 "%s%.*s", size > 0 ? "," : "",
						 (int)field.bytes.size, field.bytes.data);
	}
	if (size > 0)
		ret->counter_category =
			orma_tables_string(tables, (struct orma_str){categories, size});
	if (type == 1 || type == 2) {
		ret->counter_type = orma_tables_string(
			tables,
			type == 1 ? ORMA_STR("thread_time") : ORMA_STR("thread_instruction_count"));
		unit = type;
	}
	ret->unit = orma_tables_string(tables, unit > 0 && unit < 4 ? orma_base_str(units[unit])
								    : unit_name);
}

/* A number as a key to merge by is kept apart from the same digits as a text. */
static int64_t number_key(struct orma_tables *tables, uint64_t number)
{
	char text[48];
	int size = snprintf(text, sizeof(text), "sibling_merge_key_int:%llu",
			    (unsigned long long)number);
	return orma_tables_string(tables, (struct orma_str){text, (size_t)size});
}

static void read_number(struct orma_tables *tables, uint32_t id, uint64_t value,
			struct orma_descriptor *ret)
{
	switch (id) {
	case ORMA_PB_TRACK_DESCRIPTOR_UUID:
		ret->uuid = value;
		ret->has_uuid = true;
		break;
	case ORMA_PB_TRACK_DESCRIPTOR_PARENT_UUID:
		ret->parent_uuid = value;
		break;
	case ORMA_PB_TRACK_DESCRIPTOR_DISALLOW_MERGING_WITH_SYSTEM_TRACKS:
		ret->is_separate = value != 0;
		break;
	case ORMA_PB_TRACK_DESCRIPTOR_CHILD_ORDERING:
		ret->child_ordering = (uint32_t)value;
		ret->is_bad_ordering = value > ORDERING_MAX;
		break;
	case ORMA_PB_TRACK_DESCRIPTOR_SIBLING_ORDER_RANK:
		ret->rank = (int32_t)value;
		ret->has_rank = true;
		break;
	case ORMA_PB_TRACK_DESCRIPTOR_SIBLING_MERGE_BEHAVIOR:
		ret->merge = value == MERGE_NONE     ? ORMA_MERGE_NEVER
			     : value == MERGE_BY_KEY ? ORMA_MERGE_BY_KEY
						     : ORMA_MERGE_BY_NAME;
		break;
	case ORMA_PB_TRACK_DESCRIPTOR_SIBLING_MERGE_KEY_INT:
		if (ret->merge_key == ORMA_CELL_NULL)
			ret->merge_key = number_key(tables, value);
		break;
	case ORMA_PB_TRACK_DESCRIPTOR_PROCESS_ORDERING:
		ret->is_process_order_explicit = value == ORDER_EXPLICIT;
		break;
	case ORMA_PB_TRACK_DESCRIPTOR_THREAD_ORDERING:
		ret->is_thread_order_explicit = value == ORDER_EXPLICIT;
		break;
	default:
		break;
	}
}

void orma_descriptor_read(struct orma_tables *tables, struct orma_str content,
			  struct orma_descriptor *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	struct orma_str names[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
	*ret = (struct orma_descriptor){.name = ORMA_CELL_NULL,
					.description = ORMA_CELL_NULL,
					.pid = -1,
					.tid = -1,
					.merge_key = ORMA_CELL_NULL,
					.unit = ORMA_CELL_NULL,
					.counter_category = ORMA_CELL_NULL,
					.counter_type = ORMA_CELL_NULL,
					.share_key = ORMA_CELL_NULL,
					.multiplier = 1,
					.utid = -1,
					.upid = -1,
					.track_id = -1};
	orma_proto_reader_init(&reader, content.data, content.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.type == ORMA_PROTO_VARINT) {
			read_number(tables, field.id, field.value, ret);
			continue;
		}
		if (field.type != ORMA_PROTO_BYTES)
			continue;
		if (field.id == ORMA_PB_TRACK_DESCRIPTOR_NAME)
			names[0] = field.bytes;
		else if (field.id == ORMA_PB_TRACK_DESCRIPTOR_STATIC_NAME)
			names[1] = field.bytes;
		else if (field.id == ORMA_PB_TRACK_DESCRIPTOR_ATRACE_NAME)
			names[2] = field.bytes;
		else if (field.id == ORMA_PB_TRACK_DESCRIPTOR_DESCRIPTION)
			ret->description = orma_tables_string(tables, field.bytes);
		else if (field.id == ORMA_PB_TRACK_DESCRIPTOR_SIBLING_MERGE_KEY)
			ret->merge_key = orma_tables_string(tables, field.bytes);
		else if (field.id == ORMA_PB_TRACK_DESCRIPTOR_THREAD)
			read_thread(field.bytes, ret);
		else if (field.id == ORMA_PB_TRACK_DESCRIPTOR_PROCESS)
			read_process(field.bytes, ret);
		else if (field.id == ORMA_PB_TRACK_DESCRIPTOR_COUNTER)
			read_counter(tables, field.bytes, ret);
		else if (field.id == ORMA_PB_TRACK_DESCRIPTOR_STATE)
			ret->is_state = true;
	}
	for (int i = 2; i >= 0; i--)
		ret->name = names[i].data ? orma_tables_string(tables, names[i]) : ret->name;
	/* A track is only one of these: a thread's, a process's, a counter's, or one of states, in this order. */
	ret->has_process = ret->has_process && !ret->has_thread;
	ret->is_counter = ret->is_counter && !ret->has_thread && !ret->has_process;
	ret->is_state = ret->is_state && !ret->has_thread && !ret->has_process && !ret->is_counter;
	if (ret->is_counter && ret->name == ORMA_CELL_NULL)
		ret->name = ret->counter_type;
}
