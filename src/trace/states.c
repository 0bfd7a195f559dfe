/* SPDX-License-Identifier: Apache-2.0
 * states.c - a row for each value, which lasts until the next one. The same value again changes nothing.
 */
#include "trace/states.h"

void orma_states_done(struct orma_states *states)
{
	orma_base_map_done(&states->current);
}

int orma_states_set(struct orma_states *states, int64_t ts, int64_t track_id, int64_t category,
		    int64_t value, int64_t *ret_state)
{
	struct orma_table *table = &states->tables->all[ORMA_TABLE_STATE];
	struct orma_column *columns = table->columns;
	int64_t row =
		(int64_t)(uintptr_t)orma_base_map_get(&states->current, (uint64_t)track_id) - 1;
	*ret_state = row;
	if (row >= 0) {
		if (orma_store_column_get(&columns[ORMA_STATE_VALUE], (uint64_t)row) == value)
			return 0;
		*ret_state = -1;
		int64_t begin = orma_store_column_get(&columns[ORMA_STATE_TS], (uint64_t)row);
		int r = orma_store_column_set(&columns[ORMA_STATE_DUR], (uint64_t)row, ts - begin);
		if (r < 0)
			return r;
		orma_base_map_remove(&states->current, (uint64_t)track_id);
	}
	if (value == ORMA_CELL_NULL)
		return 0;
	int64_t cells[ORMA_STATE_COLUMNS] = {[ORMA_STATE_TS] = ts,
					     [ORMA_STATE_DUR] = -1,
					     [ORMA_STATE_TRACK_ID] = track_id,
					     [ORMA_STATE_CATEGORY] = category,
					     [ORMA_STATE_VALUE] = value,
					     [ORMA_STATE_ARG_SET_ID] = ORMA_CELL_NULL};
	*ret_state = row = (int64_t)orma_store_table_rows(table);
	int r = orma_base_map_put(&states->current, (uint64_t)track_id,
				  (void *)((uintptr_t)row + 1));
	return r < 0 ? r : orma_store_table_append(table, cells);
}
