/* SPDX-License-Identifier: Apache-2.0
 * arg_walk.h - the stack with which arguments are read. Private to debug_args.c and typed_args.c.
 *
 * A level of the stack is a message whose children are being read. Invariant: the path is that of the level's children
 * without their own names, so that a child appends its name or index and cuts it off again. The index of an array counts
 * only children that became arguments.
 */
#ifndef ORMA_TRACE_ARG_WALK_H
#define ORMA_TRACE_ARG_WALK_H

#include "proto/reader.h"
#include "trace/debug_args.h"

enum orma_arg_level_kind {
	ORMA_LEVEL_DICTIONARY,
	ORMA_LEVEL_ARRAY,
	ORMA_LEVEL_OLD_DICTIONARY,
	ORMA_LEVEL_OLD_ARRAY,
	ORMA_LEVEL_MESSAGE
};

struct orma_arg_level {
	enum orma_arg_level_kind kind;
	struct orma_proto_reader children,
		names;              /* an old dictionary has names and values in two lists */
	size_t flat_size, key_size; /* sizes of the path above */
	uint32_t idx;               /* an array's next; a message's number, which is its own */
	uint64_t type;              /* a message's */
	bool has_added;             /* for a message: it has a field, known or not */
};

struct orma_arg_walk {
	struct orma_arg_list *list;
	const struct orma_interning *interning;
	const struct orma_type_pool *types;
	struct orma_map repeated; /* the next index + 1 by number of the message and field */
	uint32_t message_count;
	struct orma_arg_path *path;
	struct orma_arg_level levels[ORMA_DEBUG_ARGS_DEPTH_MAX];
	unsigned depth;
	int problems;
};

/* Appends the index of an array's child to the path. 0 or -ENOMEM. */
int orma_arg_walk_append_index(struct orma_arg_walk *walk, uint32_t idx);
/* Adds an argument whose name is the path. */
void orma_arg_walk_add(struct orma_arg_walk *walk, enum orma_arg_type type, uint64_t number,
		       struct orma_str text);
struct orma_str orma_arg_walk_key(const struct orma_arg_walk *walk);
/* Begins to read the children of a message, whose own name is in the path. */
void orma_arg_walk_push(struct orma_arg_walk *walk, enum orma_arg_level_kind kind,
			struct orma_str message, size_t flat_size, size_t key_size);
/* A child has ended; `has_added` when it became an argument. The path is that of its level again. */
void orma_arg_walk_end_child(struct orma_arg_walk *walk, size_t flat_size, size_t key_size,
			     bool has_added);

#endif
