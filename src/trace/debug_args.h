/* SPDX-License-Identifier: Apache-2.0
 * debug_args.h - debug annotations as arguments: "debug.request.headers[2].name".
 */
#ifndef ORMA_TRACE_DEBUG_ARGS_H
#define ORMA_TRACE_DEBUG_ARGS_H

#include "base/buf.h"
#include "trace/args.h"
#include "trace/interning.h"
#include "trace/type_pool.h"

#define ORMA_DEBUG_ARGS_DEPTH_MAX 64

/* Where an argument is added. The keys have the names of all that it is in; {0} is the top. */
struct orma_arg_path {
	struct orma_buf flat_key, key; /* the flat one has no indexes of arrays */
	bool keeps_names;              /* names are not changed; see conversion.h */
};

void orma_arg_path_done(struct orma_arg_path *path);
/* The names that arguments are read with. */
struct orma_arg_names {
	const struct orma_interning *interning; /* has the names of the event's generation */
	const struct orma_type_pool *types;
};

/*
 * Adds what an untrusted DebugAnnotation says to a list, below the path. Returns the number of things that make
 * no sense, or -ENOMEM.
 */
int orma_debug_args_add(struct orma_arg_list *list, const struct orma_arg_names *names,
			struct orma_arg_path *path, struct orma_str annotation);
/* The same for the members of a JSON object, which stand between its brackets. */
int orma_json_members_add(struct orma_arg_list *list, const struct orma_arg_names *names,
			  struct orma_arg_path *path, struct orma_str members);
/* The same for a message of a type of the pool; its fields that are not in the pool are skipped. */
int orma_typed_args_add(struct orma_arg_list *list, const struct orma_arg_names *names,
			struct orma_arg_path *path, struct orma_str message, uint64_t type);

#endif
