/* SPDX-License-Identifier: Apache-2.0
 * view_row.c - reads rows of slices, states, CPUs, states of threads and counters alike.
 */
#include "view/view_row.h"

#include <errno.h>

#include "answers/task_names.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "view/json_request.h"
#include "view/view_json.h"

static const char *const table_names[] = {[ORMA_VIEW_SLICES] = "slice",
					  [ORMA_VIEW_STATES] = "state",
					  [ORMA_VIEW_SCHED] = "sched",
					  [ORMA_VIEW_THREAD_STATES] = "thread_state",
					  [ORMA_VIEW_COUNTERS] = "counter"};

const char *orma_view_table_name(enum orma_view_table table)
{
	return table_names[table];
}

/* Finds a table by its name: 0 or -ENOENT. */
static int find_table(struct orma_str name, enum orma_view_table *ret)
{
	for (unsigned i = 0; i < ORMA_VIEW_TABLES; i++)
		if (orma_base_str_is(name, table_names[i])) {
			*ret = (enum orma_view_table)i;
			return 0;
		}
	return -ENOENT;
}

static int64_t name_of(const struct orma_view *view, enum orma_view_table table, uint64_t row,
		       int64_t key)
{
	static const size_t columns[] = {[ORMA_VIEW_SLICES] = ORMA_SLICE_NAME,
					 [ORMA_VIEW_STATES] = ORMA_STATE_VALUE,
					 [ORMA_VIEW_THREAD_STATES] = ORMA_THREAD_STATE_STATE};
	const struct orma_trace_database *database = view->database;
	const struct orma_lanes *lanes = &view->lanes[table];
	if (table == ORMA_VIEW_COUNTERS)
		return (uint64_t)key < lanes->lane_count
			       ? orma_trace_database_cell(database, ORMA_TABLE_TRACK,
							  ORMA_TRACK_NAME, (uint64_t)key)
			       : ORMA_CELL_NULL;
	if (table != ORMA_VIEW_SCHED)
		return orma_store_column_get(&lanes->table->columns[columns[table]], row);
	uint64_t utid =
		(uint64_t)orma_store_column_get(&lanes->table->columns[ORMA_SCHED_UTID], row);
	return utid < orma_store_table_rows(&database->tables.all[ORMA_TABLE_THREAD])
		       ? orma_trace_database_cell(database, ORMA_TABLE_THREAD, ORMA_THREAD_NAME,
						  utid)
		       : ORMA_CELL_NULL;
}

struct orma_view_row orma_view_row_read(const struct orma_view *view, enum orma_view_table table,
					uint64_t row)
{
	const struct orma_lanes *lanes = &view->lanes[table];
	const struct orma_lane_spec *spec = &lanes->spec;
	const struct orma_column *columns = lanes->table->columns;
	int64_t key = orma_store_column_get(&columns[spec->key], row);
	int64_t depth = spec->depth == ORMA_LANE_NO_COLUMN
				? 0
				: orma_store_column_get(&columns[spec->depth], row);
	struct orma_view_row ret = {
		.table = table,
		.row = (uint32_t)row,
		.ts = orma_store_column_get(&columns[spec->ts], row),
		.dur = lanes->lengths ? orma_store_column_get(&columns[spec->dur], row) : -1,
		.depth = (uint32_t)ORMA_MIN((uint64_t)depth, (uint64_t)ORMA_LANE_DEPTHS - 1),
		.is_shown = (uint64_t)key < lanes->lane_count,
		.name = name_of(view, table, row, key)};
	ret.lane = ret.is_shown ? orma_view_lane_of(view, table, (uint32_t)key) : 0;
	ret.start = (uint64_t)ret.ts - (uint64_t)lanes->origin_ns;
	ret.end = lanes->lengths ? orma_lanes_end_of(lanes, ret.start, ret.dur) : ret.start;
	return ret;
}

int orma_view_row_of_request(const struct orma_view *view, struct orma_str body,
			     struct orma_view_row *ret, struct orma_error *reterr)
{
	struct orma_json_request request;
	struct orma_str name = {NULL, 0};
	enum orma_view_table table = ORMA_VIEW_SLICES;
	double id = -1;
	int r = orma_json_request_init(&request, body);
	if (r < 0)
		return orma_base_error_set(reterr, r, "the request is no object that names a row");
	bool has_both = orma_json_request_string(&request, "table", &name) &&
			orma_json_request_number(&request, "id", &id);
	if (!has_both)
		r = orma_base_error_set(reterr, -EINVAL, "a row is named by \"table\" and \"id\"");
	else if (find_table(name, &table) < 0)
		r = orma_base_error_set(reterr, -ENOENT, "there is no such table of rows");
	else if (!(id >= 0 && id < (double)orma_store_table_rows(view->lanes[table].table)))
		r = orma_base_error_set(reterr, -ENOENT, "the table has no row of this number");
	orma_json_request_done(&request);
	if (r == 0)
		*ret = orma_view_row_read(view, table, (uint64_t)id);
	return r;
}

int orma_view_row_append(struct orma_buf *json, const struct orma_view *view,
			 const struct orma_view_row *row)
{
	int r = orma_json_begin_element(json);
	if (r == 0)
		r = orma_json_append_text(json, "table",
					  orma_base_str(orma_view_table_name(row->table)));
	if (r == 0)
		r = orma_view_json_integer(json, "id", row->row);
	if (r == 0)
		r = orma_view_json_double(json, "start", (double)row->start);
	if (r == 0)
		r = orma_view_json_double(json, "end", (double)row->end);
	if (r == 0)
		r = orma_view_json_double(json, "dur", (double)(row->end - row->start));
	if (r == 0)
		r = orma_view_json_id(json, "lane", row->is_shown ? (int64_t)row->lane : -1);
	if (r == 0)
		r = orma_view_json_integer(json, "depth", row->depth);
	if (r == 0)
		r = orma_view_json_cell(json, view, "name", row->name);
	return r < 0 ? r : orma_view_json_raw(json, "}");
}
