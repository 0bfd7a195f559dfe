/* SPDX-License-Identifier: Apache-2.0
 * stack_functions.h - the functions that are in the frames of call stacks, by the names that people read.
 */
#ifndef ORMA_ANSWERS_STACK_FUNCTIONS_H
#define ORMA_ANSWERS_STACK_FUNCTIONS_H

#include "answers/trace_database.h"

/* Texts are NUL-terminated, and belong to the list or to the trace. */
struct orma_stack_function {
	struct orma_str name; /* as the source has it; "[libc.so.6]" when only the file is known */
	struct orma_str linker_name; /* the same, or mangled; .data = NULL: not known */
	struct orma_str file;        /* .data = NULL: not known */
};

struct orma_stack_line {
	uint32_t function;
	int64_t line; /* 0 = not known */
};

struct orma_frame_lines {
	uint32_t first, count; /* at least one */
};

struct orma_stack_functions {
	const struct orma_trace_database *database;
	struct orma_arena arena;
	struct orma_map by_cells, by_name; /* number + 1 */
	struct orma_stack_function *items;
	uint32_t count, capacity;
	struct orma_stack_line *lines;
	uint32_t line_count, line_capacity;
	struct orma_frame_lines *frames; /* one for each row of the table of frames */
	uint64_t frame_count;
};

/* Reads the functions of all frames. {0} is empty. 0 or a negative errno value. */
int orma_stack_functions_read(struct orma_stack_functions *functions,
			      const struct orma_trace_database *database);
void orma_stack_functions_done(struct orma_stack_functions *functions);
/* Returns the lines of a frame: the innermost of inlined functions first. */
static inline const struct orma_stack_line *
orma_stack_functions_frame(const struct orma_stack_functions *functions, int64_t frame,
			   uint32_t *ret_count)
{
	*ret_count = functions->frames[frame].count;
	return functions->lines + functions->frames[frame].first;
}

#endif
