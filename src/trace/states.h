/* SPDX-License-Identifier: Apache-2.0
 * states.h - tracks that have one value at a time.
 */
#ifndef ORMA_TRACE_STATES_H
#define ORMA_TRACE_STATES_H

#include "base/map.h"
#include "trace/tables.h"

/* {.tables = ...} is empty. */
struct orma_states {
	struct orma_tables *tables;
	struct orma_map current; /* row + 1 of the last state by track */
};

void orma_states_done(struct orma_states *states);
/* A track has a value from now on; NULL = none. All are cells. `*ret_state` is the row of the state that it has now, or -1. 0
 * or a negative errno value. */
int orma_states_set(struct orma_states *states, int64_t ts, int64_t track_id, int64_t category,
		    int64_t value, int64_t *ret_state);

#endif
