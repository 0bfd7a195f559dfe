/* SPDX-License-Identifier: Apache-2.0
 * view_meta.h - what a page asks first: what the trace is, what is missing in it, and the names of strings.
 */
#ifndef ORMA_VIEW_VIEW_META_H
#define ORMA_VIEW_VIEW_META_H

#include "view/view_state.h"

enum { ORMA_VIEW_NAMES_MAX = 4096 };

/* Reads the numbers of strings of which a request consists, at most ORMA_VIEW_NAMES_MAX, and returns their count or -EINVAL. */
int orma_view_read_ids(struct orma_str request_untrusted, uint32_t *ret_ids,
		       struct orma_error *reterr);
/* Appends the text of a cell to a list of JSON, null when it has none. */
int orma_view_append_string(const struct orma_view *view, int64_t cell, struct orma_buf *ret);
/* Answer /api/meta and /api/names. Errors as of orma_view_fn. */
int orma_view_meta(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		   struct orma_error *reterr);
int orma_view_names(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		    struct orma_error *reterr);

#endif
