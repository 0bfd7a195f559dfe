/* SPDX-License-Identifier: Apache-2.0
 * view_search.h - finds rows: by their names, by flows between them, and by their place.
 */
#ifndef ORMA_VIEW_VIEW_SEARCH_H
#define ORMA_VIEW_VIEW_SEARCH_H

#include "view/view_state.h"

/* Answer /api/search, /api/flows and /api/neighbour. Errors as of orma_view_fn. */
int orma_view_search(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		     struct orma_error *reterr);
int orma_view_flows(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		    struct orma_error *reterr);
int orma_view_neighbour(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
			struct orma_error *reterr);

#endif
