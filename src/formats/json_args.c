/* SPDX-License-Identifier: Apache-2.0
 * json_args.c - objects and arrays become debug annotations, with a stack of their own, because the file chooses how deep
 * they are.
 */
#include "formats/json_event.h"
#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/track_event.pb.h"

/* Readers of annotations go as deep. Deeper values are left out. */
enum { DEPTH_MAX = 64 };

struct level {
	struct orma_json_scan scan;
	struct orma_proto_nested annotation; /* that the level is the value of */
	bool is_array;
};

static void write_value(struct orma_proto_writer *writer, const struct orma_json_value *value,
			struct orma_arena *arena)
{
	int64_t number;
	double real;
	switch (value->kind) {
	case ORMA_JSON_FALSE:
	case ORMA_JSON_TRUE:
		orma_proto_write_bool(writer, ORMA_PB_DEBUG_ANNOTATION_BOOL_VALUE,
				      value->kind == ORMA_JSON_TRUE);
		break;
	case ORMA_JSON_INTEGER:
	case ORMA_JSON_REAL:
		if (orma_json_value_i64(value, &number))
			orma_proto_write_int(writer, ORMA_PB_DEBUG_ANNOTATION_INT_VALUE, number);
		else if (orma_json_value_double(value, &real))
			orma_proto_write_double(writer, ORMA_PB_DEBUG_ANNOTATION_DOUBLE_VALUE,
						real);
		break;
	case ORMA_JSON_STRING:
		orma_proto_write_str(writer, ORMA_PB_DEBUG_ANNOTATION_STRING_VALUE,
				     orma_json_unescape(value, arena));
		break;
	default:
		break;
	}
}

/* Reads the next member of a level, and begins its annotation. Nulls are skipped. */
static bool begin_member(struct orma_packet_output *output, struct level *level, uint32_t field,
			 struct orma_arena *arena, struct orma_proto_nested *annotation,
			 struct orma_json_value *ret)
{
	struct orma_json_value key;
	enum orma_json_next next;
	do
		next = level->is_array ? orma_json_read_item(&level->scan, ret)
				       : orma_json_read_field(&level->scan, &key, ret);
	while (next == ORMA_JSON_MEMBER && ret->kind == ORMA_JSON_NULL);
	if (next != ORMA_JSON_MEMBER)
		return false;
	orma_proto_nested_begin(&output->heap.writer, annotation, field);
	if (level->is_array)
		return true;
	struct orma_str name = orma_json_unescape(&key, arena);
	uint64_t iid = orma_packet_output_intern(
		output, ORMA_PB_INTERNED_DATA_DEBUG_ANNOTATION_NAMES, name);
	if (iid)
		orma_proto_write_varint(&output->heap.writer, ORMA_PB_DEBUG_ANNOTATION_NAME_IID,
					iid);
	else
		orma_proto_write_str(&output->heap.writer, ORMA_PB_DEBUG_ANNOTATION_NAME, name);
	return true;
}

void orma_json_args_write(struct orma_packet_output *output, struct orma_arena *arena,
			  struct orma_str object)
{
	struct level levels[DEPTH_MAX];
	struct orma_proto_writer *writer = &output->heap.writer;
	unsigned depth = 1;
	levels[0].scan = (struct orma_json_scan){object.data, object.data + object.size, true};
	levels[0].is_array = false;
	while (depth > 0) {
		struct level *level = &levels[depth - 1], *below = &levels[depth];
		struct orma_proto_nested leaf;
		struct orma_json_value value;
		uint32_t field = depth == 1        ? ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS
				 : level->is_array ? ORMA_PB_DEBUG_ANNOTATION_ARRAY_VALUES
						   : ORMA_PB_DEBUG_ANNOTATION_DICT_ENTRIES;
		struct orma_proto_nested *annotation =
			depth < DEPTH_MAX ? &below->annotation : &leaf;
		if (!begin_member(output, level, field, arena, annotation, &value)) {
			if (depth > 1)
				orma_packet_output_nested_end(output, &level->annotation);
			depth--;
			continue;
		}
		bool is_level = value.kind == ORMA_JSON_OBJECT || value.kind == ORMA_JSON_ARRAY;
		if (is_level && depth < DEPTH_MAX) {
			below->scan = (struct orma_json_scan){
				value.text.data, value.text.data + value.text.size, true};
			below->is_array = value.kind == ORMA_JSON_ARRAY;
			depth++;
			continue;
		}
		write_value(writer, &value, arena);
		orma_packet_output_nested_end(output, annotation);
	}
}
