/* SPDX-License-Identifier: Apache-2.0
 * view_categories.h - the categories of slices by their names.
 */
#ifndef ORMA_VIEW_VIEW_CATEGORIES_H
#define ORMA_VIEW_VIEW_CATEGORIES_H

#include "view/view_state.h"

/* Answers /api/categories. Errors as of orma_view_fn. */
int orma_view_categories(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
			 struct orma_error *reterr);

#endif
