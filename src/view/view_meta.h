/* SPDX-License-Identifier: Apache-2.0
 * view_meta.h - what a page asks first: what the trace is, what is missing in it, and the names of strings.
 */
#ifndef ORMA_VIEW_VIEW_META_H
#define ORMA_VIEW_VIEW_META_H

#include "view/view_state.h"

/* Answer /api/meta and /api/names. Errors as of orma_view_fn. */
int orma_view_meta(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		   struct orma_error *reterr);
int orma_view_names(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		    struct orma_error *reterr);

#endif
