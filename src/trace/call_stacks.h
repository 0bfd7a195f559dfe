/* SPDX-License-Identifier: Apache-2.0
 * call_stacks.h - mappings, frames and callsites, each content once, and the symbols of frames.
 */
#ifndef ORMA_TRACE_CALL_STACKS_H
#define ORMA_TRACE_CALL_STACKS_H

#include "base/map.h"
#include "trace/tables.h"

/* A part of an address space that a file is mapped to. Texts are cells. */
struct orma_mapping {
	int64_t upid; /* ORMA_CELL_NULL = of all processes */
	int64_t build_id, name;
	uint64_t exact_offset, start_offset, start, end, load_bias;
};

/* Code at an address of a mapping. Cells are ORMA_CELL_NULL when they are not known. */
struct orma_frame {
	int64_t mapping_id;
	uint64_t rel_pc;
	int64_t name;
	int64_t source_file, line;
	bool has_source; /* `source_file` or `line` is given, which makes a symbol */
};

struct orma_frame_entry {
	int64_t mapping_id, name;
	int64_t next_at_pc; /* another frame at the same place; -1 = none */
};

struct orma_mapping_entry {
	int64_t name, build_id;
	int64_t next_of_module; /* another mapping of the same file; -1 = none */
};

/* {.tables = ...} is empty. Values of the maps are ids + 1. */
struct orma_call_stacks {
	struct orma_tables *tables;
	struct orma_map mappings, frames, callsites; /* by content */
	struct orma_map modules;                     /* the newest mapping by name and build id */
	struct orma_map places;                      /* the newest frame by mapping and rel_pc */
	struct orma_mapping_entry *mapping_entries;
	struct orma_frame_entry *frame_entries;
	uint32_t *depths; /* each callsite has one */
	uint32_t mapping_count, mapping_capacity, frame_count, frame_capacity;
	uint32_t callsite_count, callsite_capacity;
	struct orma_recent_callsite *recent; /* in front of `callsites`; NULL = none yet */
	int64_t inline_mappings[4];          /* id + 1 by enum orma_inline_mapping */
};

/* Ids share their type with negative errno values and with ORMA_CELL_NULL, which is neither. */
static inline bool orma_is_failure(int64_t id)
{
	return id < 0 && id != ORMA_CELL_NULL;
}

void orma_call_stacks_done(struct orma_call_stacks *stacks);

/* All return an id or a negative errno value. */
int64_t orma_call_stacks_mapping(struct orma_call_stacks *stacks,
				 const struct orma_mapping *mapping);
int64_t orma_call_stacks_frame(struct orma_call_stacks *stacks, const struct orma_frame *frame);
/* `parent_id` is ORMA_CELL_NULL for the root. */
int64_t orma_call_stacks_callsite(struct orma_call_stacks *stacks, int64_t parent_id,
				  int64_t frame_id);

/* Frames that have a name and no address belong to a mapping that stands for where they are from. */
enum orma_inline_mapping {
	ORMA_INLINE_INTERNED,
	ORMA_INLINE_TRACK_EVENTS,
	ORMA_INLINE_STACK_SAMPLES,
	ORMA_INLINE_ART_PROCESS,
};
/* `frame` needs no mapping_id and no rel_pc. */
int64_t orma_call_stacks_inline_frame(struct orma_call_stacks *stacks,
				      enum orma_inline_mapping origin, struct orma_frame frame);
/* Returns the callsite of an InlineCallstack, ORMA_CELL_NULL for an empty one, or a negative errno value. */
int64_t orma_call_stacks_inline(struct orma_call_stacks *stacks, enum orma_inline_mapping origin,
				struct orma_str callstack);

/* The first mapping of a file, or -1; others follow in its entry. */
int64_t orma_call_stacks_module(const struct orma_call_stacks *stacks, int64_t name,
				int64_t build_id);
/* The first frame at a place, or -1. */
int64_t orma_call_stacks_at(const struct orma_call_stacks *stacks, int64_t mapping_id,
			    uint64_t rel_pc);
/* Changes a cell of a frame. 0 or a negative errno value. */
int orma_call_stacks_set(struct orma_call_stacks *stacks, int64_t frame_id, size_t column,
			 int64_t cell);

/* Returns the cell of a build id in hexadecimal digits. Chrome writes 33 digits, which stay. */
int64_t orma_call_stacks_build_id(struct orma_tables *tables, struct orma_str bytes);

#endif
