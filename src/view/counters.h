/* SPDX-License-Identifier: Apache-2.0
 * counters.h - what pages draw of counters: points with the least, the largest, the first and the last value of a bucket.
 */
#ifndef ORMA_VIEW_COUNTERS_H
#define ORMA_VIEW_COUNTERS_H

#include "view/view_state.h"

/* It is so on the wire, too. NaN is a value that is not known. */
struct orma_point {
	double time; /* when the bucket's first value is, in nanoseconds since the trace's start */
	double min, max;
	/* From the first value of a point to that of the next one, a mean rate is exact however many values are joined. */
	double first, last;
};

/* Takes a point and the number of values that it stands for; what is not 0 ends the walk. */
typedef int orma_view_point_fn(void *ctx, const struct orma_point *point, uint32_t count);
/*
 * Goes through all points of a lane of the table of counters. At level 0 each value is a point; above, those of a bucket of 2^level
 * nanoseconds are one. 0, or what `fn` returned.
 */
int orma_view_lane_points(const struct orma_view *view, uint32_t lane, unsigned level,
			  orma_view_point_fn *fn, void *ctx);

/* Answers /api/counters. Errors as of orma_view_fn. */
int orma_view_counters(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		       struct orma_error *reterr);

#endif
