/* SPDX-License-Identifier: Apache-2.0
 * debug_args.c - walks dictionaries and arrays with a stack of its own, because the trace chooses how deep they are.
 *
 * A level of the stack is a message whose children are being read. Invariant: the path is that of the level's children
 * without their own names, so that a child appends its name or index and cuts it off again. The index of an array counts
 * only children that became arguments.
 */
#include "trace/debug_args.h"

#include <errno.h>

#include "proto/reader.h"
#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/interned_data.pb.h"

enum level_kind { DICTIONARY, ARRAY, OLD_DICTIONARY, OLD_ARRAY };

struct level {
	enum level_kind kind;
	struct orma_proto_reader children,
		names;              /* an old dictionary has names and values in two lists */
	size_t flat_size, key_size; /* sizes of the path above */
	uint32_t idx;
	bool has_added;
};

struct walk {
	struct orma_arg_list *list;
	const struct orma_interning *interning;
	struct orma_arg_path *path;
	struct level levels[ORMA_DEBUG_ARGS_DEPTH_MAX];
	unsigned depth;
	int problems;
};

/* The fields of one annotation. A dictionary or an array applies first, then a plain value, then one of the old format. */
struct annotation {
	struct orma_str name;
	struct orma_str old_value;
	uint64_t number;
	enum orma_arg_type type; /* ORMA_ARG_NULL = no plain value */
	struct orma_str text;
	bool has_name, is_dictionary, is_array, has_old_value;
};

void orma_arg_path_done(struct orma_arg_path *path)
{
	orma_base_buf_done(&path->flat_key);
	orma_base_buf_done(&path->key);
}

static struct orma_str interned_text(const struct walk *walk, uint32_t field, uint64_t iid)
{
	const struct orma_interned *entry = orma_interning_find(walk->interning, field, iid);
	return entry && entry->text.data ? entry->text : (struct orma_str){NULL, 0};
}

static void take_field(struct walk *walk, const struct orma_proto_field *field,
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

/* Characters that separate the names of a key become '_' in a name of Perfetto. */
static int append_name(struct walk *walk, struct orma_str name)
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
		for (size_t at = begin; at < buf->size && !walk->path->keeps_names; at++)
			if (buf->data[at] == '.' || buf->data[at] == '[' || buf->data[at] == ']')
				buf->data[at] = '_';
	}
	return 0;
}

static int append_index(struct walk *walk, uint32_t idx)
{
	return orma_base_buf_printf(&walk->path->key, "[%u]", idx);
}

static void add_value(struct walk *walk, enum orma_arg_type type, uint64_t number,
		      struct orma_str text)
{
	struct orma_arg_path *path = walk->path;
	int64_t value = (int64_t)number;
	if (type == ORMA_ARG_STRING || type == ORMA_ARG_JSON)
		value = orma_tables_string(walk->list->tables, text.data ? text : ORMA_STR(""));
	orma_arg_list_add(walk->list,
			  (struct orma_str){(char *)path->flat_key.data, path->flat_key.size},
			  (struct orma_str){(char *)path->key.data, path->key.size}, type, value);
}

static struct orma_str key_of(const struct walk *walk)
{
	return (struct orma_str){(char *)walk->path->key.data, walk->path->key.size};
}

/* Begins to read the children of a message, whose own name is in the path. */
static void push(struct walk *walk, enum level_kind kind, struct orma_str message, size_t flat_size,
		 size_t key_size)
{
	if (walk->depth == ORMA_DEBUG_ARGS_DEPTH_MAX) {
		walk->problems++;
		walk->path->flat_key.size = flat_size;
		walk->path->key.size = key_size;
		return;
	}
	struct level *level = &walk->levels[walk->depth++];
	*level = (struct level){.kind = kind, .flat_size = flat_size, .key_size = key_size};
	orma_proto_reader_init(&level->children, message.data, message.size);
	level->names = level->children;
	if (kind == ARRAY || kind == OLD_ARRAY)
		level->idx = orma_arg_list_index(walk->list, key_of(walk));
}

/* A child has ended; `has_added` when it became an argument. The path is that of its level again. */
static void end_child(struct walk *walk, size_t flat_size, size_t key_size, bool has_added)
{
	walk->path->flat_key.size = flat_size;
	walk->path->key.size = key_size;
	if (walk->depth > 0) {
		walk->levels[walk->depth - 1].idx += has_added;
		walk->levels[walk->depth - 1].has_added |= has_added;
	}
}

/* A value of the format before dict_entries. Its name is in the path. */
static void begin_old_value(struct walk *walk, struct orma_str message, size_t flat_size,
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
		push(walk, OLD_DICTIONARY, message, flat_size, key_size);
	} else if (kind == ORMA_PB_DEBUG_ANNOTATION_NESTED_VALUE_NESTED_TYPE_ARRAY) {
		push(walk, OLD_ARRAY, message, flat_size, key_size);
	} else {
		if (type != ORMA_ARG_NULL)
			add_value(walk, type, number, text);
		end_child(walk, flat_size, key_size, type != ORMA_ARG_NULL);
	}
}

/* An annotation: a value, which is added, or a level that is entered. An array's child has its index in the path and no name. */
static int begin_annotation(struct walk *walk, struct orma_str message, bool takes_name,
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
			end_child(walk, flat_size, key_size, false);
			return 0;
		}
		int r = append_name(walk, annotation.name);
		if (r < 0)
			return r;
	}
	if (annotation.is_dictionary || annotation.is_array) {
		push(walk, annotation.is_dictionary ? DICTIONARY : ARRAY, message, flat_size,
		     key_size);
	} else if (annotation.type != ORMA_ARG_NULL) {
		add_value(walk, annotation.type, annotation.number, annotation.text);
		end_child(walk, flat_size, key_size, true);
	} else if (annotation.has_old_value) {
		begin_old_value(walk, annotation.old_value, flat_size, key_size);
	} else {
		end_child(walk, flat_size, key_size, false);
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

static void pop(struct walk *walk)
{
	const struct level level = walk->levels[--walk->depth];
	bool is_dictionary = level.kind == DICTIONARY || level.kind == OLD_DICTIONARY;
	if (!is_dictionary)
		orma_arg_list_set_index(walk->list, key_of(walk), level.idx);
	end_child(walk, level.flat_size, level.key_size, level.has_added || is_dictionary);
}

/* Reads the next child of the level at the top, or leaves the level. */
static int step(struct walk *walk)
{
	static const uint32_t fields[] = {
		[DICTIONARY] = ORMA_PB_DEBUG_ANNOTATION_DICT_ENTRIES,
		[ARRAY] = ORMA_PB_DEBUG_ANNOTATION_ARRAY_VALUES,
		[OLD_DICTIONARY] = ORMA_PB_DEBUG_ANNOTATION_NESTED_VALUE_DICT_VALUES,
		[OLD_ARRAY] = ORMA_PB_DEBUG_ANNOTATION_NESTED_VALUE_ARRAY_VALUES,
	};
	struct level *level = &walk->levels[walk->depth - 1];
	size_t flat_size = walk->path->flat_key.size, key_size = walk->path->key.size;
	struct orma_str child, name;
	if (!next_of(&level->children, fields[level->kind], &child)) {
		pop(walk);
		return 0;
	}
	if (level->kind == DICTIONARY)
		return begin_annotation(walk, child, true, flat_size, key_size);
	int r;
	if (level->kind == OLD_DICTIONARY) {
		if (!next_of(&level->names, ORMA_PB_DEBUG_ANNOTATION_NESTED_VALUE_DICT_KEYS,
			     &name)) {
			walk->problems++;
			pop(walk);
			return 0;
		}
		r = append_name(walk, name);
	} else {
		r = append_index(walk, level->idx);
	}
	if (r == 0 && level->kind == ARRAY)
		return begin_annotation(walk, child, false, flat_size, key_size);
	if (r == 0)
		begin_old_value(walk, child, flat_size, key_size);
	return r;
}

int orma_debug_args_add(struct orma_arg_list *list, const struct orma_interning *interning,
			struct orma_arg_path *path, struct orma_str annotation)
{
	struct walk walk = {.list = list, .interning = interning, .path = path};
	size_t flat_size = path->flat_key.size, key_size = path->key.size;
	int r = begin_annotation(&walk, annotation, true, flat_size, key_size);
	while (r == 0 && walk.depth > 0)
		r = step(&walk);
	path->flat_key.size = flat_size;
	path->key.size = key_size;
	return r < 0 ? r : walk.problems;
}
