/* SPDX-License-Identifier: Apache-2.0
 * flows.h - arrows from slice to slice.
 */
#ifndef ORMA_TRACE_FLOWS_H
#define ORMA_TRACE_FLOWS_H

#include "base/map.h"
#include "trace/tables.h"

/* {.tables = ...} is empty. */
struct orma_flows {
	struct orma_tables *tables;
	struct orma_map active; /* row + 1 of the last slice by id of the flow */
};

void orma_flows_done(struct orma_flows *flows);
/* A slice takes part in a flow: begins it, or gets an arrow from the slice before. 0 or a negative errno value. */
int orma_flows_step(struct orma_flows *flows, uint64_t id, int64_t slice);
/* A slice ends a flow. One that has not begun is left alone. 0 or a negative errno value. */
int orma_flows_end(struct orma_flows *flows, uint64_t id, int64_t slice);

#endif
