/* SPDX-License-Identifier: Apache-2.0
 * tiles.h - what pages draw of slices, of CPUs and of states of threads: boxes, of which the small ones are joined.
 */
#ifndef ORMA_VIEW_TILES_H
#define ORMA_VIEW_TILES_H

#include "view/view_state.h"

enum {
	ORMA_BOX_IS_MERGED =
		1, /* it stands for several rows; `name` and `row` are the longest one's */
	ORMA_BOX_IS_INSTANT = 2,    /* it has no duration; for a merged one, none of its rows has */
	ORMA_BOX_IS_UNFINISHED = 4, /* its end is not in the trace */
	ORMA_BOX_IS_REAL_TIME = 16, /* a task with a real-time priority runs */
};

/* It is so on the wire, too. */
struct orma_box {
	double start, end; /* nanoseconds since the trace's start */
	uint32_t
		name; /* a string, or the thread on a CPU, or the place of a thread's state; 0 = none */
	uint32_t row;     /* in its table */
	uint32_t count;   /* how many rows it stands for */
	uint8_t category; /* a hash of its name without digits, from 1 to 255; 0 = it has none */
	uint8_t flags;
	uint16_t depth;
};

/* Takes a box; what is not 0 ends the walk. */
typedef int orma_view_box_fn(void *ctx, const struct orma_box *box);
/*
 * Goes through all boxes of a lane of a table with durations, ordered by depth and begin. At level 0 each row is a box; above, a row
 * shorter than 2^level nanoseconds is joined with those around it that begin in the same bucket, as in tiles. 0, or what `fn` returned.
 */
int orma_view_lane_boxes(const struct orma_view *view, enum orma_view_table table, uint32_t lane,
			 unsigned level, orma_view_box_fn *fn, void *ctx);

/* Answers /api/tiles. Errors as of orma_view_fn. */
int orma_view_tiles(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		    struct orma_error *reterr);

#endif
