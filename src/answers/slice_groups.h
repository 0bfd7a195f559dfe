/* SPDX-License-Identifier: Apache-2.0
 * slice_groups.h - slices by category and name: how many there are, how long they take, and which are the slowest.
 */
#ifndef ORMA_ANSWERS_SLICE_GROUPS_H
#define ORMA_ANSWERS_SLICE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answers/sample.h"

struct orma_trace_database;

enum { ORMA_SLOWEST_MAX = 3, ORMA_OPEN_SLICES_MAX = 100 };

/* A slice that does not end in the trace has no length, and counts as unfinished. */
struct orma_slice_group {
	int64_t category, name; /* cells */
	uint64_t count, unfinished, instants;
	int64_t total_ns, self_ns; /* self: without what lies in slices below */
	int64_t max_ns;
	uint32_t next; /* another category of the name; index + 1 */
	/* orma_slice_groups_measure() sets these for groups that are chosen. */
	bool is_chosen;
	struct orma_sample lengths;
	uint64_t slowest[ORMA_SLOWEST_MAX]; /* rows, the longest first */
	int64_t slowest_ns[ORMA_SLOWEST_MAX];
	uint32_t slowest_count;
};

/* {0} is empty. */
struct orma_slice_groups {
	struct orma_slice_group *items;
	uint32_t count, capacity;
	uint32_t *
		by_name; /* index + 1 of the name's first group, by the string's id; [0] is of slices without one */
	uint64_t slices, instants, unfinished; /* instants are slices, too */
	/* Unfinished slices without others inside, whose threads had not ended either, by when the outermost began. */
	uint64_t open_rows[ORMA_OPEN_SLICES_MAX];
	size_t open_count;
};

/* Reads all slices. 0 or -ENOMEM; `ret` is to be given to done() in any case. */
int orma_slice_groups_read(struct orma_trace_database *database, struct orma_slice_groups *ret);
void orma_slice_groups_done(struct orma_slice_groups *groups);
/* Reads them again, for the percentiles and the slowest slices of the groups that are chosen. 0 or -ENOMEM. */
int orma_slice_groups_measure(struct orma_trace_database *database,
			      struct orma_slice_groups *groups);
/* Returns NULL when there is no such group. The strings are cells. */
struct orma_slice_group *orma_slice_groups_find(const struct orma_slice_groups *groups,
						int64_t category, int64_t name);

#endif
