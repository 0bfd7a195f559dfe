/* SPDX-License-Identifier: Apache-2.0
 * counters.h - what pages draw of counters: points with the least, the largest and the last value of a bucket.
 */
#ifndef ORMA_VIEW_COUNTERS_H
#define ORMA_VIEW_COUNTERS_H

#include "view/view_state.h"

/* It is so on the wire, too. NaN is a value that is not known. */
struct orma_point {
	double time; /* when the bucket's first value is, in nanoseconds since the trace's start */
	double min, max, last;
};

/* Answers /api/counters. Errors as of orma_view_fn. */
int orma_view_counters(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		       struct orma_error *reterr);

#endif
