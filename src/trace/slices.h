/* SPDX-License-Identifier: Apache-2.0
 * slices.h - slices from begins, ends and whole intervals, in the order of time.
 */
#ifndef ORMA_TRACE_SLICES_H
#define ORMA_TRACE_SLICES_H

#include <stdbool.h>

#include "trace/tables.h"

#define ORMA_SLICE_DEPTH_MAX 512

enum orma_slice_count {
	ORMA_SLICES_MISPLACED_ENDS,
	ORMA_SLICES_OVERLAPPING,
	ORMA_SLICES_TOO_DEEP,
	ORMA_SLICES_COUNTS,
};

struct orma_open_slice;
struct orma_slice_begin;

struct orma_slice_stack {
	struct orma_open_slice *slices;
	uint32_t depth, capacity;
	uint32_t ended; /* entries that have a length */
};

/* {.tables = ...} is empty. */
struct orma_slices {
	struct orma_tables *tables;
	struct orma_slice_stack *stacks; /* by track id */
	uint32_t stack_count;
	uint64_t counts[ORMA_SLICES_COUNTS];
	/* Sees when the length of a slice becomes known; may be NULL. */
	void (*on_end)(void *ctx, int64_t row, int64_t dur);
	void *on_end_ctx;
	/* Sees a slice that is refused, and the row of the one in its way; may be NULL. 0 or a negative errno value. */
	int (*on_refusal)(void *ctx, enum orma_slice_count why,
			  const struct orma_slice_begin *slice, int64_t other);
	void *on_refusal_ctx;
};

/* The cells that are known when a slice begins, as in the table. Unused ones have to be ORMA_CELL_NULL, which is not 0. */
struct orma_slice_begin {
	int64_t ts;
	int64_t dur; /* -1 = open, 0 = an instant */
	uint32_t track_id;
	int64_t category, name;
	int64_t arg_set_id;
	int64_t begin_packet;
	int64_t passed_utid;
	int64_t thread_ts, thread_dur;
	int64_t thread_instruction_count, thread_instruction_delta;
};

#define ORMA_NO_SLICE (-1)

void orma_slices_done(struct orma_slices *slices);
/* Adds a slice above the open ones of its track. 1, 0 (it was refused and counted), or a negative errno value. `*ret_id` is
 * its row or ORMA_NO_SLICE. */
int orma_slices_begin(struct orma_slices *slices, const struct orma_slice_begin *begin,
		      int64_t *ret_id);
/*
 * Ends the innermost open slice of a track whose name and category fit; NULL of a name, and of the category here, fits
 * all. `*ret_id` is its row or ORMA_NO_SLICE. 0 or a negative errno value.
 */
int orma_slices_end(struct orma_slices *slices, int64_t ts, uint32_t track_id, int64_t category,
		    int64_t name, int64_t *ret_id);
/* Returns the row of the slice for which orma_slices_begin() would refuse a whole slice, because that begins in it and ends behind
 * it, or ORMA_NO_SLICE. */
int64_t orma_slices_find_overlap(const struct orma_slices *slices, uint32_t track_id, int64_t ts,
				 int64_t dur);
/* Returns the row of the topmost slice of a track, or ORMA_NO_SLICE. */
int64_t orma_slices_top(const struct orma_slices *slices, uint32_t track_id);
/* The same for a slice that the next orma_slices_end() with these arguments would end, or ORMA_NO_SLICE. */
int64_t orma_slices_find(const struct orma_slices *slices, uint32_t track_id, int64_t category,
			 int64_t name);

#endif
