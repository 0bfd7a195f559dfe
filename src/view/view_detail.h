/* SPDX-License-Identifier: Apache-2.0
 * view_detail.h - all that a page shows of one row.
 */
#ifndef ORMA_VIEW_VIEW_DETAIL_H
#define ORMA_VIEW_VIEW_DETAIL_H

#include "view/view_row.h"

/* Answers /api/detail. Errors as of orma_view_fn. */
int orma_view_detail(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		     struct orma_error *reterr);

/* Answers /api/argument: the values that slices have of one argument. Errors as of orma_view_fn. */
int orma_view_argument(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		       struct orma_error *reterr);

/* Finds the arguments of a slice, which the database keeps until somebody asks for others. 0 or a negative errno value. */
int orma_view_find_args(const struct orma_view *view, uint64_t row,
			const struct orma_arg_list **ret);
/* Appends the value of an argument; `most` bytes of a text. 0 or -ENOMEM. */
int orma_view_append_arg_value(const struct orma_view *view, const struct orma_arg *arg,
			       size_t most, struct orma_buf *json);
/* Whether a key is `wanted`, or ends with it behind a dot: "debug.value" for "value". */
bool orma_view_is_arg_key(struct orma_str key, struct orma_str wanted);

/* Parts of the answer: each appends members of the object. 0 or a negative errno value. */
int orma_view_detail_append_args(struct orma_view *view, const struct orma_view_row *row,
				 struct orma_buf *json);
int orma_view_detail_append_rank(const struct orma_view *view, const struct orma_view_row *row,
				 struct orma_buf *json);
/* Tells how long the thread was in which states while the slice lasted. */
int orma_view_detail_append_time(const struct orma_view *view, const struct orma_view_row *row,
				 int64_t utid, struct orma_buf *json);
/* Tells the call stack that a slice began at, the innermost function first. */
int orma_view_detail_append_stack(const struct orma_view *view, const struct orma_view_row *row,
				  struct orma_buf *json);
/* Appends the call stack of a callsite as an array. The site may be ORMA_CELL_NULL. */
int orma_view_append_stack(const struct orma_view *view, int64_t site, struct orma_buf *json);

#endif
