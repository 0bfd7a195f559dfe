/* SPDX-License-Identifier: Apache-2.0
 * event_rows.c - merges the tables of events, each of which is in the order of time.
 */
#include "answers/event_rows.h"

#include "answers/column_scan.h"

/* The tables that events are in. */
static const enum orma_table_id event_tables[ORMA_EVENT_TABLES] = {
	ORMA_TABLE_SLICE, ORMA_TABLE_STATE, ORMA_TABLE_COUNTER, ORMA_TABLE_FTRACE_EVENT,
	ORMA_TABLE_LOG};

/* The kinds that the rows of each table have. */
static const unsigned table_kinds[ORMA_EVENT_TABLES] = {
	1u << ORMA_KIND_SLICE | 1u << ORMA_KIND_INSTANT, 1u << ORMA_KIND_STATE,
	1u << ORMA_KIND_COUNTER, 1u << ORMA_KIND_KERNEL, 1u << ORMA_KIND_LOG};

static int64_t cell(const struct orma_tables *tables, enum orma_table_id table, size_t column,
		    uint64_t row)
{
	return orma_store_column_get(&tables->all[table].columns[column], row);
}

/* Takes the owner from the event's track, which is -1 for an event without one. */
static void read_track(const struct orma_tables *tables, int64_t track, struct orma_event_row *ret)
{
	if (track < 0 || (uint64_t)track >= orma_store_table_rows(&tables->all[ORMA_TABLE_TRACK]))
		return;
	int64_t utid = cell(tables, ORMA_TABLE_TRACK, ORMA_TRACK_UTID, (uint64_t)track);
	int64_t upid = cell(tables, ORMA_TABLE_TRACK, ORMA_TRACK_UPID, (uint64_t)track);
	ret->utid = utid >= 0 ? utid : -1;
	ret->upid = upid >= 0 ? upid : -1;
	if (ret->kind != ORMA_KIND_COUNTER && ret->kind != ORMA_KIND_STATE)
		return;
	ret->name = cell(tables, ORMA_TABLE_TRACK, ORMA_TRACK_NAME, (uint64_t)track);
	ret->unit = cell(tables, ORMA_TABLE_TRACK, ORMA_TRACK_COUNTER_UNIT, (uint64_t)track);
}

static void read_slice(const struct orma_tables *tables, uint64_t row, struct orma_event_row *ret)
{
	const enum orma_table_id table = ORMA_TABLE_SLICE;
	ret->dur = cell(tables, table, ORMA_SLICE_DUR, row);
	ret->kind = ret->dur == 0 ? ORMA_KIND_INSTANT : ORMA_KIND_SLICE;
	ret->name = cell(tables, table, ORMA_SLICE_NAME, row);
	ret->category = cell(tables, table, ORMA_SLICE_CATEGORY, row);
	ret->arg_set = cell(tables, table, ORMA_SLICE_ARG_SET_ID, row);
	if (ret->arg_set == ORMA_CELL_NULL &&
	    (cell(tables, table, ORMA_SLICE_BEGIN_PACKET, row) != ORMA_CELL_NULL ||
	     cell(tables, table, ORMA_SLICE_END_PACKET, row) != ORMA_CELL_NULL))
		ret->arg_set = ORMA_ARG_SET_OF_SLICE | (int64_t)row;
	read_track(tables, cell(tables, table, ORMA_SLICE_TRACK_ID, row), ret);
}

static void read_counter(const struct orma_tables *tables, uint64_t row, struct orma_event_row *ret)
{
	ret->kind = ORMA_KIND_COUNTER;
	ret->value = orma_store_double_of_cell(
		cell(tables, ORMA_TABLE_COUNTER, ORMA_COUNTER_VALUE, row));
	ret->arg_set = cell(tables, ORMA_TABLE_COUNTER, ORMA_COUNTER_ARG_SET_ID, row);
	read_track(tables, cell(tables, ORMA_TABLE_COUNTER, ORMA_COUNTER_TRACK_ID, row), ret);
}

static void read_state(const struct orma_tables *tables, uint64_t row, struct orma_event_row *ret)
{
	ret->kind = ORMA_KIND_STATE;
	ret->dur = cell(tables, ORMA_TABLE_STATE, ORMA_STATE_DUR, row);
	ret->category = cell(tables, ORMA_TABLE_STATE, ORMA_STATE_CATEGORY, row);
	ret->text = cell(tables, ORMA_TABLE_STATE, ORMA_STATE_VALUE, row);
	ret->arg_set = cell(tables, ORMA_TABLE_STATE, ORMA_STATE_ARG_SET_ID, row);
	read_track(tables, cell(tables, ORMA_TABLE_STATE, ORMA_STATE_TRACK_ID, row), ret);
}

static void read_kernel_event(const struct orma_tables *tables, uint64_t row,
			      struct orma_event_row *ret)
{
	int64_t ucpu = cell(tables, ORMA_TABLE_FTRACE_EVENT, ORMA_FTRACE_EVENT_UCPU, row);
	ret->kind = ORMA_KIND_KERNEL;
	ret->name = cell(tables, ORMA_TABLE_FTRACE_EVENT, ORMA_FTRACE_EVENT_NAME, row);
	ret->utid = cell(tables, ORMA_TABLE_FTRACE_EVENT, ORMA_FTRACE_EVENT_UTID, row);
	if (ucpu >= 0)
		ret->cpu = cell(tables, ORMA_TABLE_CPU, ORMA_CPU_CPU, (uint64_t)ucpu);
	ret->arg_set = ORMA_ARG_SET_OF_FTRACE_EVENT | (int64_t)row;
}

static void read_log(const struct orma_tables *tables, uint64_t row, struct orma_event_row *ret)
{
	ret->kind = ORMA_KIND_LOG;
	ret->utid = cell(tables, ORMA_TABLE_LOG, ORMA_LOG_UTID, row);
	ret->name = cell(tables, ORMA_TABLE_LOG, ORMA_LOG_TAG, row);
	ret->text = cell(tables, ORMA_TABLE_LOG, ORMA_LOG_MSG, row);
	ret->arg_set = cell(tables, ORMA_TABLE_LOG, ORMA_LOG_ARG_SET_ID, row);
}

void orma_event_row_read(const struct orma_tables *tables, enum orma_table_id table, uint64_t row,
			 struct orma_event_row *ret)
{
	*ret = (struct orma_event_row){.row = row,
				       .ts = cell(tables, table, 0, row),
				       .dur = -1,
				       .name = ORMA_CELL_NULL,
				       .category = ORMA_CELL_NULL,
				       .utid = -1,
				       .upid = -1,
				       .cpu = -1,
				       .unit = ORMA_CELL_NULL,
				       .text = ORMA_CELL_NULL,
				       .arg_set = ORMA_CELL_NULL};
	if (table == ORMA_TABLE_SLICE)
		read_slice(tables, row, ret);
	else if (table == ORMA_TABLE_COUNTER)
		read_counter(tables, row, ret);
	else if (table == ORMA_TABLE_STATE)
		read_state(tables, row, ret);
	else if (table == ORMA_TABLE_FTRACE_EVENT)
		read_kernel_event(tables, row, ret);
	else
		read_log(tables, row, ret);
	if (ret->utid >= 0) {
		ret->upid = cell(tables, ORMA_TABLE_THREAD, ORMA_THREAD_UPID, (uint64_t)ret->utid);
		ret->upid = ret->upid >= 0 ? ret->upid : -1;
	} else {
		ret->utid = -1;
	}
}

static void load_time(struct orma_event_walk *walk, size_t i)
{
	walk->ts[i] = walk->next[i] < walk->end[i]
			      ? cell(walk->tables, event_tables[i], 0, walk->next[i])
			      : INT64_MAX;
}

void orma_event_walk_begin(struct orma_event_walk *walk, const struct orma_tables *tables,
			   int64_t from_ns, int64_t to_ns, unsigned kinds)
{
	*walk = (struct orma_event_walk){.tables = tables};
	for (size_t i = 0; i < ORMA_EVENT_TABLES; i++) {
		const struct orma_column *times = tables->all[event_tables[i]].columns;
		if (table_kinds[i] & kinds) {
			walk->next[i] = orma_column_lower_bound(times, from_ns);
			walk->end[i] = to_ns == INT64_MAX
					       ? orma_store_column_rows(times)
					       : orma_column_lower_bound(times, to_ns + 1);
		}
		load_time(walk, i);
	}
}

bool orma_event_walk_next(struct orma_event_walk *walk, struct orma_event_row *ret)
{
	size_t first = ORMA_EVENT_TABLES;
	for (size_t i = 0; i < ORMA_EVENT_TABLES; i++)
		if (walk->next[i] < walk->end[i] &&
		    (first == ORMA_EVENT_TABLES || walk->ts[i] < walk->ts[first]))
			first = i;
	if (first == ORMA_EVENT_TABLES)
		return false;
	orma_event_row_read(walk->tables, event_tables[first], walk->next[first]++, ret);
	load_time(walk, first);
	return true;
}
