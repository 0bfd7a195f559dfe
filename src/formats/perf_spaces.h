/* SPDX-License-Identifier: Apache-2.0
 * perf_spaces.h - which file is where in the address spaces of processes and of the kernel.
 */
#ifndef ORMA_FORMATS_PERF_SPACES_H
#define ORMA_FORMATS_PERF_SPACES_H

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"

enum {
	ORMA_PERF_MAPPINGS_MAX = 4 << 20,
	ORMA_PERF_MOVES_MAX =
		1 << 30, /* mappings that are copied or moved to make room: some seconds of work */
	ORMA_PERF_KERNEL_PID = -1
};

struct orma_perf_mapping {
	uint64_t start, end, offset;
	struct orma_str name, build_id; /* borrowed from the arena of the spaces */
};

/* Sorted by address; none overlap. */
struct orma_perf_space {
	struct orma_perf_mapping *mappings;
	uint32_t count, capacity;
};

/* {0} is empty. */
struct orma_perf_spaces {
	struct orma_map spaces; /* struct orma_perf_space by process */
	struct orma_map texts;  /* struct orma_str by hash */
	struct orma_arena arena;
	uint32_t mapping_count; /* in all spaces */
	uint32_t moves;
};

void orma_perf_spaces_done(struct orma_perf_spaces *spaces);
/* Adds a mapping, which takes the place of what was there. 0, -ENOMEM, or -ENOSPC for one too many. */
int orma_perf_spaces_add(struct orma_perf_spaces *spaces, int32_t pid,
			 const struct orma_perf_mapping *mapping);
/* A process begins with its parent's mappings, or (without a parent, -1) with none. Errors as above. */
int orma_perf_spaces_begin(struct orma_perf_spaces *spaces, int32_t pid, int32_t parent_pid);
/* Returns NULL when nothing is there. */
const struct orma_perf_mapping *orma_perf_spaces_find(const struct orma_perf_spaces *spaces,
						      int32_t pid, uint64_t address);

#endif
