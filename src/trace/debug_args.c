/* SPDX-License-Identifier: Apache-2.0
 * debug_args.c - walks dictionaries, arrays and messages with a stack of its own, because the trace chooses how deep they are.
 * See arg_walk.h.
 */
#include "trace/debug_args.h"

#include <errno.h>

#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/interned_data.pb.h"
#include "trace/annotation_json.h"
#include "trace/typed_args.h"

/* The fields of one annotation. A dictionary or an array applies first, then a plain value, then one of the old format. */
struct annotation {
	struct orma_str name;
	struct orma_str old_value;
	uint64_t number;
	enum orma_arg_type type; /* ORMA_ARG_NULL = no plain value */
	struct orma_str text;
	struct orma_str type_name, message;
	bool has_name, is_dictionary, is_array, has_old_value, has_message;
};

static struct orma_str interned_text(const struct orma_arg_walk *walk, uint32_t field, uint64_t iid)
{
	const struct orma_interned *entry = orma_interning_find(walk->interning, field, iid);
	return entry && entry->text.data ? entry->text : (struct orma_str){NULL, 0};
}

static void take_field(struct orma_arg_walk *walk, const struct orma_proto_field *field,
		       struct annotation *ret)
{
	switch (field->id) {
	case ORMA_PB_DEBUG_ANNOTATION_NAME_IID:
		ret->name = interned_text(walk, ORMA_PB_INTERNED_DATA_DEBUG_ANNOTATION_NAMES,
					  field->value);
		ret->has_name = ret->name.data != NULL;
		break;
	case ORMA_PB_DEBUG_ANNOTATION_NAME:
		ret->name = field->bytes;
		ret->has_name = true;
		break;
	case ORMA_PB_DEBUG_ANNOTATION_BOOL_VALUE:
		ret->type = ORMA_ARG_BOOL;
		ret->number = field->value != 0;
		break;
	case ORMA_PB_DEBUG_ANNOTATION_UINT_VALUE:
		ret->type = ORMA_ARG_UINT;
		ret->number = field->value;
		break;
	case ORMA_PB_DEBUG_ANNOTATION_INT_VALUE:
		ret->type = ORMA_ARG_INT;
		ret->number = field->value;
		break;
	case ORMA_PB_DEBUG_ANNOTATION_DOUBLE_VALUE:
		ret->type = ORMA_ARG_REAL;
		ret->number = field->value;
		break;
	case ORMA_PB_DEBUG_ANNOTATION_POINTER_VALUE:
		ret->type = ORMA_ARG_POINTER;
		ret->number = field->value;
		break;
	case ORMA_PB_DEBUG_ANNOTATION_STRING_VALUE:
		ret->type = ORMA_ARG_STRING;
		ret->text = field->bytes;
		break;
	case ORMA_PB_DEBUG_ANNOTATION_STRING_VALUE_IID:
		ret->type = ORMA_ARG_STRING;
		ret->text = interned_text(
			walk, ORMA_PB_INTERNED_DATA_DEBUG_ANNOTATION_STRING_VALUES, field->value);
		walk->problems += ret->text.data == NULL;
		break;
	case ORMA_PB_DEBUG_ANNOTATION_LEGACY_JSON_VALUE:
		ret->type = ORMA_ARG_JSON;
		ret->text = field->bytes;
		break;
	case ORMA_PB_DEBUG_ANNOTATION_PROTO_TYPE_NAME:
		ret->type_name = field->bytes;
		break;
	case ORMA_PB_DEBUG_ANNOTATION_PROTO_TYPE_NAME_IID:
		ret->type_name =
			interned_text(walk, ORMA_PB_INTERNED_DATA_DEBUG_ANNOTATION_VALUE_TYPE_NAMES,
				      field->value);
		break;
	case ORMA_PB_DEBUG_ANNOTATION_PROTO_VALUE:
		ret->has_message = true;
		ret->message = field->bytes;
		break;
	case ORMA_PB_DEBUG_ANNOTATION_NESTED_VALUE:
		ret->has_old_value = true;
		ret->old_value = field->bytes;
		break;
	case ORMA_PB_DEBUG_ANNOTATION_DICT_ENTRIES:
		ret->is_dictionary = true;
		break;
	case ORMA_PB_DEBUG_ANNOTATION_ARRAY_VALUES:
		ret->is_array = true;
		break;
	default:
		break;
	}
}

static int append_name(struct orma_arg_walk *walk, struct orma_str name)
{
	struct orma_buf *bufs[] = {&walk->path->flat_key, &walk->path->key};
	for (int i = 0; i < 2; i++) {
		struct orma_buf *buf = bufs[i];
		int r = buf->size > 0 ? orma_base_buf_append(buf, ".", 1) : 0;
		size_t begin = buf->size;
		if (r == 0)
			r = orma_base_buf_append(buf, name.data, name.size);
		if (r < 0)
			return r;
		if (!walk->path->keeps_names)
			orma_arg_clean_name((char *)buf->data + begin, buf->size - begin);
	}
	return 0;
}

/* A value of the format before dict_entries. Its name is in the path. */
static void begin_old_value(struct orma_arg_walk *walk, struct orma_str message, size_t flat_size,
			    size_t key_size)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	uint64_t number = 0, kind = 0;
	enum orma_arg_type type = ORMA_ARG_NULL;
	struct orma_str text = {NULL, 0};
	orma_proto_reader_init(&reader, message.data, message.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		switch (field.id) {
		case ORMA_PB_DEBUG_ANNOTATION_NESTED_VALUE_NESTED_TYPE:
			kind = field.value;
			break;
		case ORMA_PB_DEBUG_ANNOTATION_NESTED_VALUE_INT_VALUE:
			type = ORMA_ARG_INT;
			number = field.value;
			break;
		case ORMA_PB_DEBUG_ANNOTATION_NESTED_VALUE_DOUBLE_VALUE:
			type = ORMA_ARG_REAL;
			number = field.value;
			break;
		case ORMA_PB_DEBUG_ANNOTATION_NESTED_VALUE_BOOL_VALUE:
			type = ORMA_ARG_BOOL;
			number = field.value != 0;
			break;
		case ORMA_PB_DEBUG_ANNOTATION_NESTED_VALUE_STRING_VALUE:
			type = ORMA_ARG_STRING;
			text = field.bytes;
			break;
		default:
			break;
		}
	}
	if (kind == ORMA_PB_DEBUG_ANNOTATION_NESTED_VALUE_NESTED_TYPE_DICT) {
		orma_arg_walk_push(walk, ORMA_LEVEL_OLD_DICTIONARY, message, flat_size, key_size);
	} else if (kind == ORMA_PB_DEBUG_ANNOTATION_NESTED_VALUE_NESTED_TYPE_ARRAY) {
		orma_arg_walk_push(walk, ORMA_LEVEL_OLD_ARRAY, message, flat_size, key_size);
	} else {
		if (type != ORMA_ARG_NULL)
			orma_arg_walk_add(walk, type, number, text);
		orma_arg_walk_end_child(walk, flat_size, key_size, type != ORMA_ARG_NULL);
	}
}

static bool is_annotation_type(uint64_t type)
{
	return type == orma_type_of_name(ORMA_STR(".perfetto.protos.DebugAnnotation"));
}

static void push_message(struct orma_arg_walk *walk, struct orma_str message, uint64_t type,
			 size_t flat_size, size_t key_size)
{
	unsigned depth = walk->depth;
	orma_arg_walk_push(walk, ORMA_LEVEL_MESSAGE, message, flat_size, key_size);
	if (walk->depth == depth)
		return;
	walk->levels[depth].type = type;
	walk->levels[depth].idx = walk->message_count++;
}

/* The value of an annotation is a message. Its name is in the path. */
static void begin_typed_value(struct orma_arg_walk *walk, struct orma_str message,
			      struct orma_str type_name, size_t flat_size, size_t key_size)
{
	uint64_t type = orma_type_of_name(type_name);
	if (orma_type_pool_has(walk->types, type)) {
		push_message(walk, message, type, flat_size, key_size);
		return;
	}
	walk->problems++;
	orma_arg_walk_end_child(walk, flat_size, key_size, false);
}

/* An annotation: a value, which is added, or a level that is entered. An array's child has its index in the path and no name. */
static int begin_annotation(struct orma_arg_walk *walk, struct orma_str message, bool takes_name,
			    size_t flat_size, size_t key_size)
{
	struct annotation annotation = {0};
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	orma_proto_reader_init(&reader, message.data, message.size);
	while (orma_proto_reader_next(&reader, &field) > 0)
		take_field(walk, &field, &annotation);
	if (takes_name) {
		if (!annotation.has_name) {
			walk->problems++;
			orma_arg_walk_end_child(walk, flat_size, key_size, false);
			return 0;
		}
		int r = append_name(walk, annotation.name);
		if (r < 0)
			return r;
	}
	if (annotation.is_dictionary || annotation.is_array) {
		orma_arg_walk_push(
			walk, annotation.is_dictionary ? ORMA_LEVEL_DICTIONARY : ORMA_LEVEL_ARRAY,
			message, flat_size, key_size);
	} else if (annotation.type == ORMA_ARG_JSON) {
		int r = orma_annotation_json_add(walk, annotation.text);
		walk->problems += r == -EBADMSG;
		orma_arg_walk_end_child(walk, flat_size, key_size, r > 0);
		return r == -ENOMEM ? r : 0;
	} else if (annotation.type != ORMA_ARG_NULL) {
		orma_arg_walk_add(walk, annotation.type, annotation.number, annotation.text);
		orma_arg_walk_end_child(walk, flat_size, key_size, true);
	} else if (annotation.has_message) {
		begin_typed_value(walk, annotation.message, annotation.type_name, flat_size,
				  key_size);
	} else if (annotation.has_old_value) {
		begin_old_value(walk, annotation.old_value, flat_size, key_size);
	} else {
		orma_arg_walk_end_child(walk, flat_size, key_size, false);
	}
	return 0;
}

static bool next_of(struct orma_proto_reader *reader, uint32_t field_id, struct orma_str *ret)
{
	struct orma_proto_field field;
	while (orma_proto_reader_next(reader, &field) > 0)
		if (field.id == field_id && field.type == ORMA_PROTO_BYTES) {
			*ret = field.bytes;
			return true;
		}
	return false;
}

static void pop(struct orma_arg_walk *walk)
{
	const struct orma_arg_level level = walk->levels[--walk->depth];
	bool is_dictionary = level.kind == ORMA_LEVEL_DICTIONARY ||
			     level.kind == ORMA_LEVEL_OLD_DICTIONARY ||
			     level.kind == ORMA_LEVEL_MESSAGE;
	if (level.kind == ORMA_LEVEL_MESSAGE && !level.has_added)
		orma_arg_walk_add(walk, ORMA_ARG_NULL, 0, (struct orma_str){NULL, 0});
	if (!is_dictionary)
		orma_arg_list_set_index(walk->list, orma_arg_walk_key(walk), level.idx);
	orma_arg_walk_end_child(walk, level.flat_size, level.key_size,
				level.has_added || is_dictionary);
}

/* Adds one field of the message on top of the stack, or enters the message that it is. */
static int add_field(struct orma_arg_walk *walk, const struct orma_typed_field *field,
		     const struct orma_proto_field *part)
{
	size_t flat_size = walk->path->flat_key.size, key_size = walk->path->key.size;
	if (field->kind != ORMA_PROTO_KIND_MESSAGE)
		return orma_typed_add(walk, field, part);
	if (part->type != ORMA_PROTO_BYTES)
		return 0;
	if (is_annotation_type(field->type))
		return begin_annotation(walk, part->bytes, true, flat_size, key_size);
	int r = orma_typed_append_name(walk, field, part->id);
	if (r == 0 && orma_type_pool_has(walk->types, field->type)) {
		push_message(walk, part->bytes, field->type, flat_size, key_size);
		return 0;
	}
	walk->problems++;
	walk->path->flat_key.size = flat_size;
	walk->path->key.size = key_size;
	return r;
}

static int step_message(struct orma_arg_walk *walk)
{
	struct orma_arg_level *level = &walk->levels[walk->depth - 1];
	struct orma_proto_field part;
	if (orma_proto_reader_next(&level->children, &part) <= 0) {
		pop(walk);
		return 0;
	}
	level->has_added = true;
	const struct orma_typed_field *field =
		orma_type_pool_field(walk->types, level->type, part.id);
	return field ? add_field(walk, field, &part) : 0;
}

/* Reads the next child of the level at the top, or leaves the level. */
static int step(struct orma_arg_walk *walk)
{
	static const uint32_t fields[] = {
		[ORMA_LEVEL_DICTIONARY] = ORMA_PB_DEBUG_ANNOTATION_DICT_ENTRIES,
		[ORMA_LEVEL_ARRAY] = ORMA_PB_DEBUG_ANNOTATION_ARRAY_VALUES,
		[ORMA_LEVEL_OLD_DICTIONARY] = ORMA_PB_DEBUG_ANNOTATION_NESTED_VALUE_DICT_VALUES,
		[ORMA_LEVEL_OLD_ARRAY] = ORMA_PB_DEBUG_ANNOTATION_NESTED_VALUE_ARRAY_VALUES,
	};
	struct orma_arg_level *level = &walk->levels[walk->depth - 1];
	size_t flat_size = walk->path->flat_key.size, key_size = walk->path->key.size;
	struct orma_str child, name;
	if (level->kind == ORMA_LEVEL_MESSAGE)
		return step_message(walk);
	if (!next_of(&level->children, fields[level->kind], &child)) {
		pop(walk);
		return 0;
	}
	if (level->kind == ORMA_LEVEL_DICTIONARY)
		return begin_annotation(walk, child, true, flat_size, key_size);
	int r;
	if (level->kind == ORMA_LEVEL_OLD_DICTIONARY) {
		if (!next_of(&level->names, ORMA_PB_DEBUG_ANNOTATION_NESTED_VALUE_DICT_KEYS,
			     &name)) {
			walk->problems++;
			pop(walk);
			return 0;
		}
		r = append_name(walk, name);
	} else {
		r = orma_arg_walk_append_index(walk, level->idx);
	}
	if (r == 0 && level->kind == ORMA_LEVEL_ARRAY)
		return begin_annotation(walk, child, false, flat_size, key_size);
	if (r == 0)
		begin_old_value(walk, child, flat_size, key_size);
	return r;
}

static int finish(struct orma_arg_walk *walk, int r)
{
	while (r == 0 && walk->depth > 0)
		r = step(walk);
	orma_base_map_done(&walk->repeated);
	return r < 0 ? r : walk->problems;
}

/* The levels stay as they are until they are pushed: there are many, and few arguments use one. */
static void begin_walk(struct orma_arg_walk *walk, struct orma_arg_list *list,
		       const struct orma_arg_names *names, struct orma_arg_path *path)
{
	walk->list = list;
	walk->interning = names->interning;
	walk->types = names->types;
	walk->repeated = (struct orma_map){0};
	walk->message_count = 0;
	walk->path = path;
	walk->depth = 0;
	walk->problems = 0;
}

int orma_debug_args_add(struct orma_arg_list *list, const struct orma_arg_names *names,
			struct orma_arg_path *path, struct orma_str annotation)
{
	struct orma_arg_walk walk;
	size_t flat_size = path->flat_key.size, key_size = path->key.size;
	begin_walk(&walk, list, names, path);
	int r = finish(&walk, begin_annotation(&walk, annotation, true, flat_size, key_size));
	path->flat_key.size = flat_size;
	path->key.size = key_size;
	return r;
}

int orma_json_members_add(struct orma_arg_list *list, const struct orma_arg_names *names,
			  struct orma_arg_path *path, struct orma_str members)
{
	struct orma_arg_walk walk;
	begin_walk(&walk, list, names, path);
	return finish(&walk, orma_record_args_add(&walk, members));
}

int orma_typed_args_add(struct orma_arg_list *list, const struct orma_arg_names *names,
			struct orma_arg_path *path, struct orma_str message, uint64_t type)
{
	struct orma_arg_walk walk;
	size_t flat_size = path->flat_key.size, key_size = path->key.size;
	if (message.size == 0)
		return 0;
	begin_walk(&walk, list, names, path);
	push_message(&walk, message, type, flat_size, key_size);
	int r = finish(&walk, 0);
	path->flat_key.size = flat_size;
	path->key.size = key_size;
	return r;
}
