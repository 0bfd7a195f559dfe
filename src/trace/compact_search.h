/* SPDX-License-Identifier: Apache-2.0
 * compact_search.h - where the compact event of a row lies.
 */
#ifndef ORMA_TRACE_COMPACT_SEARCH_H
#define ORMA_TRACE_COMPACT_SEARCH_H

#include "trace/kernel_args.h"

/* The compact events of a CPU at one time: nearly always there is one. */
struct orma_compact_search {
	const struct orma_lane *lanes;
	int64_t ns;
	bool is_waking;
	/* The one that was found last; its bundle is loaded. */
	const struct orma_lane *lane;
	uint32_t bundle_idx, idx;
};

/* Finds the event of a row, and loads its bundle into `args->compact`. 1, 0 (it can't be told which it is), -ENOMEM or an error
 * of reading. */
int orma_compact_search_row(struct orma_kernel_args *args, uint64_t row,
			    struct orma_compact_search *ret);
/* Finds the priority that the switch before on the CPU gave, which may be in the bundle before; 0 = there is none. 0 or as above. */
int orma_compact_last_prio(struct orma_kernel_args *args, const struct orma_compact_search *search,
			   int32_t *ret);

#endif
