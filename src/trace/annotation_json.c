/* SPDX-License-Identifier: Apache-2.0
 * annotation_json.c - members of objects and arrays are arguments of their own, like those of annotations.
 *
 * The text chooses how deep it is, so it is walked with a stack. An array that the begin and the end of a slice both give goes on
 * where it was. The members of a record (event_record.h) become what they would become as annotations: where a value is damaged or
 * too deep it is left out, and the others stay.
 */
#include "trace/annotation_json.h"

#include <errno.h>

#include "trace/json_scan.h"

enum { DEPTH_MAX = 64 };

struct json_level {
	struct orma_json_scan scan;
	size_t flat_size, key_size; /* sizes of the path above */
	bool is_array, has_added;
	bool has_member; /* that is not null */
	uint32_t idx;
};

struct json_walk {
	struct orma_arg_walk *args;
	struct orma_arena arena; /* texts with escapes */
	struct json_level levels[DEPTH_MAX];
	unsigned depth;
	bool has_added;  /* a value outside of all levels */
	bool is_lenient; /* the text is that of a record */
};

/* Returns false when the value is no number that can be stored. */
static bool add_scalar(struct json_walk *walk, const struct orma_json_value *value)
{
	struct orma_str none = {NULL, 0};
	int64_t number;
	double real;
	switch (value->kind) {
	case ORMA_JSON_TRUE:
	case ORMA_JSON_FALSE:
		orma_arg_walk_add(walk->args, ORMA_ARG_BOOL, value->kind == ORMA_JSON_TRUE, none);
		break;
	case ORMA_JSON_STRING:
		orma_arg_walk_add(walk->args, ORMA_ARG_STRING, 0,
				  orma_json_unescape(value, &walk->arena));
		break;
	case ORMA_JSON_INTEGER:
		if (orma_json_value_i64(value, &number)) {
			orma_arg_walk_add(walk->args, ORMA_ARG_INT, (uint64_t)number, none);
			break;
		}
		__attribute__((fallthrough));
	default:
		if (!orma_json_value_double(value, &real))
			return false;
		orma_arg_walk_add(walk->args, ORMA_ARG_REAL,
				  (uint64_t)orma_store_cell_of_double(real), none);
		break;
	}
	return true;
}

/* A member has ended: the path is that of its level again. */
static void end_member(struct json_walk *walk, size_t flat_size, size_t key_size, bool has_added)
{
	walk->args->path->flat_key.size = flat_size;
	walk->args->path->key.size = key_size;
	if (walk->depth == 0) {
		walk->has_added = has_added;
		return;
	}
	walk->levels[walk->depth - 1].idx += has_added;
	walk->levels[walk->depth - 1].has_added |= has_added;
}

/* Adds a value whose name is in the path, or enters it. 0 or -EBADMSG. */
static int take_value(struct json_walk *walk, const struct orma_json_value *value, size_t flat_size,
		      size_t key_size)
{
	bool is_array = value->kind == ORMA_JSON_ARRAY;
	if (!is_array && value->kind != ORMA_JSON_OBJECT) {
		bool is_value = value->kind != ORMA_JSON_NULL;
		bool is_number = is_value && add_scalar(walk, value);
		end_member(walk, flat_size, key_size, walk->is_lenient ? is_number : is_value);
		return 0;
	}
	if (walk->depth == DEPTH_MAX) {
		end_member(walk, flat_size, key_size, false);
		return walk->is_lenient ? 0 : -EBADMSG;
	}
	struct json_level *level = &walk->levels[walk->depth++];
	*level = (struct json_level){
		.scan = {value->text.data, value->text.data + value->text.size, true},
		.flat_size = flat_size,
		.key_size = key_size,
		.is_array = is_array};
	if (is_array)
		level->idx = orma_arg_list_index(walk->args->list, orma_arg_walk_key(walk->args));
	return 0;
}

static int append_name(struct json_walk *walk, struct orma_str name)
{
	struct orma_buf *bufs[] = {&walk->args->path->flat_key, &walk->args->path->key};
	int r = 0;
	for (int i = 0; i < 2 && r == 0; i++) {
		r = orma_base_buf_append(bufs[i], ".", 1);
		if (r == 0)
			r = orma_base_buf_append(bufs[i], name.data, name.size);
	}
	return r;
}

static void leave_level(struct json_walk *walk)
{
	struct json_level ended = walk->levels[walk->depth - 1];
	if (ended.is_array)
		orma_arg_list_set_index(walk->args->list, orma_arg_walk_key(walk->args), ended.idx);
	walk->depth--;
	/* A dictionary counts as an item of an array when it has an annotation, whatever that has. */
	end_member(walk, ended.flat_size, ended.key_size,
		   walk->is_lenient && !ended.is_array ? ended.has_member : ended.has_added);
}

/* Reads the next member of the level on top, or leaves the level. */
static int step(struct json_walk *walk)
{
	struct json_level *level = &walk->levels[walk->depth - 1];
	size_t flat_size = walk->args->path->flat_key.size, key_size = walk->args->path->key.size;
	struct orma_json_value key, value;
	enum orma_json_next next = level->is_array
					   ? orma_json_read_item(&level->scan, &value)
					   : orma_json_read_field(&level->scan, &key, &value);
	if (next == ORMA_JSON_END || (next != ORMA_JSON_MEMBER && walk->is_lenient)) {
		leave_level(walk);
		return 0;
	}
	if (next != ORMA_JSON_MEMBER)
		return -EBADMSG;
	level->has_member |= value.kind != ORMA_JSON_NULL;
	int r = level->is_array ? orma_arg_walk_append_index(walk->args, level->idx)
				: append_name(walk, orma_json_unescape(&key, &walk->arena));
	return r < 0 ? r : take_value(walk, &value, flat_size, key_size);
}

int orma_annotation_json_add(struct orma_arg_walk *args, struct orma_str text)
{
	struct json_walk walk = {.args = args};
	struct orma_json_scan scan = {text.data, text.data, true};
	struct orma_json_value value;
	size_t flat_size = args->path->flat_key.size, key_size = args->path->key.size;
	if (text.size == 0)
		return -EBADMSG;
	scan.end += text.size;
	if (orma_json_read_value(&scan, &value) != ORMA_JSON_MEMBER)
		return -EBADMSG;
	orma_json_skip_blanks(&scan);
	int r = scan.at < scan.end ? -EBADMSG : take_value(&walk, &value, flat_size, key_size);
	while (r == 0 && walk.depth > 0)
		r = step(&walk);
	orma_base_arena_done(&walk.arena);
	args->path->flat_key.size = flat_size;
	args->path->key.size = key_size;
	return r < 0 ? r : walk.has_added;
}

int orma_record_args_add(struct orma_arg_walk *args, struct orma_str members)
{
	struct json_walk walk = {.args = args, .is_lenient = true};
	struct orma_json_value object = {.kind = ORMA_JSON_OBJECT, .text = members};
	int r = take_value(&walk, &object, args->path->flat_key.size, args->path->key.size);
	while (r == 0 && walk.depth > 0)
		r = step(&walk);
	if (r == 0 && walk.arena.has_failed)
		r = -ENOMEM;
	orma_base_arena_done(&walk.arena);
	return r;
}
