/* SPDX-License-Identifier: Apache-2.0
 * view_find.h - all slices of one name: how many there are, how long they take, and which are the longest.
 */
#ifndef ORMA_VIEW_VIEW_FIND_H
#define ORMA_VIEW_VIEW_FIND_H

#include "answers/sample.h"
#include "view/view_state.h"

enum { ORMA_FIND_TOP_MAX = 100, ORMA_FIND_BUCKETS = 64 };

/* {.name = ..., .than = ...} is empty. Slices that have no end have no duration, and are left out. */
struct orma_named_slices {
	int64_t name;           /* a cell */
	int64_t than;           /* a duration */
	uint64_t count, longer; /* all, and those that are longer than that */
	double sum;
	uint64_t histogram[ORMA_FIND_BUCKETS]; /* by the power of two below the duration */
	struct orma_sample sample;
	struct orma_long_slice {
		int64_t dur;
		uint64_t row;
	} top[ORMA_FIND_TOP_MAX]; /* the longest first */
	size_t top_count;
};

/* 0 or -ENOMEM; `slices` is to be given to done() in any case. */
int orma_named_slices_find(const struct orma_view *view, struct orma_named_slices *slices);
void orma_named_slices_done(struct orma_named_slices *slices);
/* Appends the histogram up to its last bucket that is not empty. 0 or -ENOMEM. */
int orma_named_slices_append_histogram(const struct orma_named_slices *slices,
				       struct orma_buf *json);

/* Answer /api/find and /api/flame. Errors as of orma_view_fn. */
int orma_view_find(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		   struct orma_error *reterr);
int orma_view_flame(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		    struct orma_error *reterr);

#endif
