/* SPDX-License-Identifier: Apache-2.0
 * arg_walk.c - how the path and the stack change.
 */
#include "trace/arg_walk.h"

void orma_arg_path_done(struct orma_arg_path *path)
{
	orma_base_buf_done(&path->flat_key);
	orma_base_buf_done(&path->key);
}

int orma_arg_walk_append_index(struct orma_arg_walk *walk, uint32_t idx)
{
	return orma_base_buf_printf(&walk->path->key, "[%u]", idx);
}

void orma_arg_walk_add(struct orma_arg_walk *walk, enum orma_arg_type type, uint64_t number,
		       struct orma_str text)
{
	struct orma_arg_path *path = walk->path;
	int64_t value = (int64_t)number;
	if (type == ORMA_ARG_STRING || type == ORMA_ARG_JSON)
		value = orma_tables_passing_string(walk->list->tables,
						   text.data ? text : ORMA_STR(""));
	orma_arg_list_add(walk->list,
			  (struct orma_str){(char *)path->flat_key.data, path->flat_key.size},
			  (struct orma_str){(char *)path->key.data, path->key.size}, type, value);
}

struct orma_str orma_arg_walk_key(const struct orma_arg_walk *walk)
{
	return (struct orma_str){(char *)walk->path->key.data, walk->path->key.size};
}

void orma_arg_walk_push(struct orma_arg_walk *walk, enum orma_arg_level_kind kind,
			struct orma_str message, size_t flat_size, size_t key_size)
{
	if (walk->depth == ORMA_DEBUG_ARGS_DEPTH_MAX) {
		walk->problems++;
		walk->path->flat_key.size = flat_size;
		walk->path->key.size = key_size;
		return;
	}
	struct orma_arg_level *level = &walk->levels[walk->depth++];
	*level =
		(struct orma_arg_level){.kind = kind, .flat_size = flat_size, .key_size = key_size};
	orma_proto_reader_init(&level->children, message.data, message.size);
	level->names = level->children;
	if (kind == ORMA_LEVEL_ARRAY || kind == ORMA_LEVEL_OLD_ARRAY)
		level->idx = orma_arg_list_index(walk->list, orma_arg_walk_key(walk));
}

void orma_arg_walk_end_child(struct orma_arg_walk *walk, size_t flat_size, size_t key_size,
			     bool has_added)
{
	walk->path->flat_key.size = flat_size;
	walk->path->key.size = key_size;
	if (walk->depth > 0) {
		walk->levels[walk->depth - 1].idx += has_added;
		walk->levels[walk->depth - 1].has_added |= has_added;
	}
}
