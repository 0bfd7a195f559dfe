/* SPDX-License-Identifier: Apache-2.0
 * flows.c - a flow is the last slice that it has come to.
 */
#include "trace/flows.h"

void orma_flows_done(struct orma_flows *flows)
{
	orma_base_map_done(&flows->active);
}

/* The arrow begins at the slice that began first, whatever order the events came in. */
static int add_row(struct orma_flows *flows, uint64_t id, int64_t last, int64_t slice)
{
	int64_t cells[ORMA_FLOW_COLUMNS] = {
		[ORMA_FLOW_SLICE_OUT] = last < slice ? last : slice,
		[ORMA_FLOW_SLICE_IN] = last < slice ? slice : last,
		[ORMA_FLOW_TRACE_ID] = (int64_t)id,
		[ORMA_FLOW_ARG_SET_ID] = ORMA_CELL_NULL,
	};
	return orma_store_table_append(&flows->tables->all[ORMA_TABLE_FLOW], cells);
}

int orma_flows_step(struct orma_flows *flows, uint64_t id, int64_t slice)
{
	int64_t last = (int64_t)(uintptr_t)orma_base_map_get(&flows->active, id) - 1;
	int r = orma_base_map_put(&flows->active, id, (void *)((uintptr_t)slice + 1));
	return r < 0 || last < 0 ? r : add_row(flows, id, last, slice);
}

int orma_flows_end(struct orma_flows *flows, uint64_t id, int64_t slice)
{
	int64_t last = (int64_t)(uintptr_t)orma_base_map_remove(&flows->active, id) - 1;
	return last < 0 ? 0 : add_row(flows, id, last, slice);
}
