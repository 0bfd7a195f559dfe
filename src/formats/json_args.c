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

/* Room for the head of an annotation, the number of its name, and a value but for its text. */
enum {
	HEAD_MAX_BYTES = ORMA_PROTO_TAG_MAX + ORMA_PROTO_LENGTH_BYTES,
	LEAF_MAX_BYTES = HEAD_MAX_BYTES + 2 * ORMA_PROTO_SCALAR_FIELD_MAX,
};

static inline struct orma_str text_of(const struct orma_json_value *value, struct orma_arena *arena)
{
	return value->has_escapes ? orma_json_unescape(value, arena) : value->text;
}

static inline uint8_t *put_number(uint8_t *at, uint32_t field, uint64_t number)
{
	return orma_proto_put_varint(
		orma_proto_put_varint(at, orma_proto_tag(field, ORMA_PROTO_VARINT)), number);
}

static uint8_t *put_real(uint8_t *at, double real)
{
	at = orma_proto_put_varint(
		at, orma_proto_tag(ORMA_PB_DEBUG_ANNOTATION_DOUBLE_VALUE, ORMA_PROTO_FIXED64));
	memcpy(at, &real, sizeof(real));
	return at + sizeof(real);
}

static uint8_t *put_text(uint8_t *at, struct orma_str text)
{
	at = orma_proto_put_varint(
		at, orma_proto_tag(ORMA_PB_DEBUG_ANNOTATION_STRING_VALUE, ORMA_PROTO_BYTES));
	at = orma_proto_put_varint(at, text.size);
	if (text.size > 0)
		memcpy(at, text.data, text.size);
	return at + text.size;
}

static inline uint8_t *put_value(uint8_t *at, const struct orma_json_value *value,
				 struct orma_str text)
{
	int64_t number;
	double real;
	switch (value->kind) {
	case ORMA_JSON_FALSE:
	case ORMA_JSON_TRUE:
		return put_number(at, ORMA_PB_DEBUG_ANNOTATION_BOOL_VALUE,
				  value->kind == ORMA_JSON_TRUE);
	case ORMA_JSON_INTEGER:
	case ORMA_JSON_REAL:
		if (orma_json_value_i64(value, &number))
			return put_number(at, ORMA_PB_DEBUG_ANNOTATION_INT_VALUE, (uint64_t)number);
		return orma_json_value_double(value, &real) ? put_real(at, real) : at;
	case ORMA_JSON_STRING:
		return put_text(at, text);
	default:
		return at;
	}
}

/* Reads the next member of a level. Nulls are skipped. */
static inline bool read_member(struct level *level, struct orma_json_value *ret_key,
			       struct orma_json_value *ret)
{
	enum orma_json_next next;
	do
		next = level->is_array ? orma_json_read_item(&level->scan, ret)
				       : orma_json_read_field(&level->scan, ret_key, ret);
	while (next == ORMA_JSON_MEMBER && ret->kind == ORMA_JSON_NULL);
	return next == ORMA_JSON_MEMBER;
}

/* Returns the number of a name, or 0 when the name is to be written in place. */
static inline uint64_t intern(struct orma_packet_output *output, struct orma_str name)
{
	return orma_packet_output_intern(output, ORMA_PB_INTERNED_DATA_DEBUG_ANNOTATION_NAMES,
					 name);
}

/* Writes an annotation without others in it. Its name is a number, or it is an item of an array and has none. */
static void write_leaf(struct orma_packet_output *output, uint32_t field, uint64_t iid,
		       const struct orma_json_value *value, struct orma_str text)
{
	struct orma_proto_writer *writer = &output->heap.writer;
	uint8_t *at = orma_proto_heap_writer_reserve(&output->heap, LEAF_MAX_BYTES + text.size);
	if (!at)
		return;
	uint8_t *length = orma_proto_put_varint(at, orma_proto_tag(field, ORMA_PROTO_BYTES));
	uint8_t *content = length + 1;
	at = iid ? put_number(content, ORMA_PB_DEBUG_ANNOTATION_NAME_IID, iid) : content;
	at = put_value(at, value, text);
	size_t size = (size_t)(at - content), extra = orma_proto_varint_size(size) - 1;
	/* Nearly all have a length of one byte. */
	if (ORMA_UNLIKELY(extra > 0))
		memmove(content + extra, content, size);
	orma_proto_put_varint(length, size);
	writer->cursor = at + extra;
}

/* Begins the annotation of a member, and leaves it open. The items of an array have no names: their `name` has no data. */
static void begin_member(struct orma_packet_output *output, uint32_t field, struct orma_str name,
			 uint64_t iid, struct orma_proto_nested *annotation)
{
	struct orma_proto_writer *writer = &output->heap.writer;
	orma_proto_nested_begin(writer, annotation, field);
	if (iid)
		orma_proto_write_varint(writer, ORMA_PB_DEBUG_ANNOTATION_NAME_IID, iid);
	else if (name.data)
		orma_proto_write_str(writer, ORMA_PB_DEBUG_ANNOTATION_NAME, name);
}

/* The same for a name that has no number, which is long. */
static void write_named_leaf(struct orma_packet_output *output, uint32_t field,
			     struct orma_str name, const struct orma_json_value *value,
			     struct orma_str text)
{
	struct orma_proto_nested annotation;
	begin_member(output, field, name, 0, &annotation);
	uint8_t *at = orma_proto_heap_writer_reserve(&output->heap, LEAF_MAX_BYTES + text.size);
	if (at)
		output->heap.writer.cursor = put_value(at, value, text);
	orma_packet_output_nested_end(output, &annotation);
}

/* Writes the annotation of a member that is not a level. */
static void write_member(struct orma_packet_output *output, uint32_t field, struct orma_str name,
			 uint64_t iid, const struct orma_json_value *value,
			 struct orma_arena *arena)
{
	struct orma_str text = {NULL, 0};
	if (value->kind == ORMA_JSON_STRING)
		text = text_of(value, arena);
	if (iid || !name.data)
		write_leaf(output, field, iid, value, text);
	else
		write_named_leaf(output, field, name, value, text);
}

static uint32_t field_of(const struct level *level, unsigned depth)
{
	if (depth == 1)
		return ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS;
	return level->is_array ? ORMA_PB_DEBUG_ANNOTATION_ARRAY_VALUES
			       : ORMA_PB_DEBUG_ANNOTATION_DICT_ENTRIES;
}

void orma_json_args_write(struct orma_packet_output *output, struct orma_arena *arena,
			  struct orma_str object)
{
	struct level levels[DEPTH_MAX];
	unsigned depth = 1;
	levels[0].scan = (struct orma_json_scan){object.data, object.data + object.size, true};
	levels[0].is_array = false;
	while (depth > 0) {
		struct level *level = &levels[depth - 1], *below = &levels[depth];
		struct orma_json_value key, value;
		struct orma_str name = {NULL, 0};
		if (!read_member(level, &key, &value)) {
			if (depth > 1)
				orma_packet_output_nested_end(output, &level->annotation);
			depth--;
			continue;
		}
		if (!level->is_array)
			name = text_of(&key, arena);
		uint64_t iid = level->is_array ? 0 : intern(output, name);
		uint32_t field = field_of(level, depth);
		bool is_level = (value.kind == ORMA_JSON_OBJECT || value.kind == ORMA_JSON_ARRAY) &&
				depth < DEPTH_MAX;
		if (is_level) {
			below->scan = (struct orma_json_scan){
				value.text.data, value.text.data + value.text.size, true};
			below->is_array = value.kind == ORMA_JSON_ARRAY;
			begin_member(output, field, name, iid, &below->annotation);
			depth++;
			continue;
		}
		write_member(output, field, name, iid, &value, arena);
	}
}
