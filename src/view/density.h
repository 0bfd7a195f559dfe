/* SPDX-License-Identifier: Apache-2.0
 * density.h - how busy processes are, or all CPUs, over time: what pages draw of what is folded.
 */
#ifndef ORMA_VIEW_DENSITY_H
#define ORMA_VIEW_DENSITY_H

#include "view/view_state.h"

/* Answers /api/density. Errors as of orma_view_fn. */
int orma_view_density(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		      struct orma_error *reterr);

#endif
