/* SPDX-License-Identifier: Apache-2.0
 * view_detail.c - one row of any table: its name and times, whose it is, and for slices what is above and below it.
 *
 * All is read from the tables and from lanes: a slice's children are the neighbours in the line below that lie in it. The statement
 * that the page shows as "sql" yields the same row.
 */
#include "view/view_detail.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "answers/column_scan.h"
#include "answers/task_names.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"
#include "view/view_json.h"
#include "view/view_tracks.h"

enum { CHILD_NAMES_MAX = 100, PARENTS_MAX = ORMA_LANE_DEPTHS };

static int64_t cell(const struct orma_view *view, const struct orma_view_row *row, size_t column)
{
	return orma_store_column_get(&view->lanes[row->table].table->columns[column], row->row);
}

/* --- times ------------------------------------------------------------------------------------ */

static int append_clocks(const struct orma_view *view, const struct orma_view_row *row,
			 struct orma_buf *json)
{
	int64_t realtime;
	char text[64];
	int r = orma_base_buf_printf(json, ",\"abs\":{\"trace\":\"%" PRId64 "\"", row->ts);
	if (r == 0 && orma_trace_database_realtime(view->database, row->ts, &realtime)) {
		time_t seconds = (time_t)(realtime / 1000000000);
		struct tm utc;
		r = orma_base_buf_printf(json, ",\"realtime\":\"%" PRId64 "\"", realtime);
		if (r == 0 && realtime >= 0 && gmtime_r(&seconds, &utc) &&
		    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &utc) > 0)
			r = orma_base_buf_printf(json, ",\"utc\":\"%s.%09" PRId64 "\"", text,
						 realtime % 1000000000);
	}
	return r < 0 ? r : orma_view_json_raw(json, "}");
}

/* --- thread and process ------------------------------------------------------------------------------ */

/* Appends "name (id)", or null for none. */
static int append_task(struct orma_buf *json, const char *key, const struct orma_task_name *name)
{
	struct orma_buf text = {0};
	if (name->id < 0 && name->name.size == 0)
		return orma_view_json_null(json, key);
	int r = orma_task_name_append(name, &text);
	if (r == 0)
		r = orma_json_append_text(json, key,
					  (struct orma_str){(const char *)text.data, text.size});
	orma_base_buf_done(&text);
	return r;
}

static int64_t thread_of(const struct orma_view *view, const struct orma_view_row *row)
{
	static const size_t columns[] = {[ORMA_VIEW_SLICES] = ORMA_SLICE_TRACK_ID,
					 [ORMA_VIEW_STATES] = ORMA_STATE_TRACK_ID,
					 [ORMA_VIEW_SCHED] = ORMA_SCHED_UTID,
					 [ORMA_VIEW_THREAD_STATES] = ORMA_THREAD_STATE_UTID,
					 [ORMA_VIEW_COUNTERS] = ORMA_COUNTER_TRACK_ID};
	int64_t key = cell(view, row, columns[row->table]);
	if (row->table == ORMA_VIEW_SCHED || row->table == ORMA_VIEW_THREAD_STATES ||
	    !row->is_shown)
		return key;
	return orma_trace_database_cell(view->database, ORMA_TABLE_TRACK, ORMA_TRACK_UTID,
					(uint64_t)key);
}

static int append_owner(const struct orma_view *view, const struct orma_view_row *row, int64_t utid,
			struct orma_buf *json)
{
	const struct orma_trace_database *database = view->database;
	int64_t upid = orma_thread_process(database, utid);
	int64_t node = row->is_shown ? orma_view_node_of_lane(view, row->lane) : -1;
	if (upid < 0 && node >= 0)
		upid = view->nodes[node].upid;
	struct orma_task_name thread = orma_thread_name(database, utid);
	struct orma_task_name process = orma_process_name(database, upid);
	int r = orma_view_json_id(json, "node", node);
	if (r == 0)
		r = append_task(json, "thread", &thread);
	return r < 0 ? r : append_task(json, "process", &process);
}

/* --- above and below -------------------------------------------------------------------------- */

static int append_parents(const struct orma_view *view, const struct orma_view_row *row,
			  struct orma_buf *json)
{
	uint64_t rows = orma_store_table_rows(view->lanes[ORMA_VIEW_SLICES].table);
	int64_t parent = cell(view, row, ORMA_SLICE_PARENT_ID);
	struct orma_view_row above = *row;
	int r = orma_view_json_raw(json, ",\"parents\":[");
	double share = -1;
	for (size_t i = 0; i < PARENTS_MAX && parent >= 0 && (uint64_t)parent < rows && r == 0;
	     i++) {
		above = orma_view_row_read(view, ORMA_VIEW_SLICES, (uint64_t)parent);
		if (i == 0 && above.end > above.start)
			share = (double)(row->end - row->start) / (double)(above.end - above.start);
		r = orma_view_row_append(json, view, &above);
		parent = cell(view, &above, ORMA_SLICE_PARENT_ID);
	}
	if (r == 0)
		r = orma_view_json_raw(json, "]");
	if (r == 0 && share >= 0)
		return orma_view_json_double(json, "share_of_parent", share);
	return r < 0 ? r : orma_view_json_null(json, "share_of_parent");
}

/* The children of one name. */
struct child_name {
	int64_t name;
	uint64_t count, total;
};

struct children {
	struct child_name *names;
	uint32_t count, capacity;
	struct orma_map places; /* index + 1 by the name */
	uint64_t total;
};

static int add_child(struct children *children, int64_t name, uint64_t dur)
{
	uintptr_t place = (uintptr_t)orma_base_map_get(&children->places, (uint64_t)name);
	if (place == 0) {
		int r = orma_store_grow(&children->names, (uint64_t)children->count + 1,
					&children->capacity, sizeof(*children->names));
		place = (uintptr_t)children->count + 1;
		if (r == 0)
			r = orma_base_map_put(&children->places, (uint64_t)name, (void *)place);
		if (r < 0)
			return r;
		children->names[children->count++] = (struct child_name){.name = name};
	}
	children->names[place - 1].count++;
	children->names[place - 1].total += dur;
	children->total += dur;
	return 0;
}

/* Adds up what lies in a slice, in the line below its own. */
static int find_children(const struct orma_view *view, const struct orma_view_row *row,
			 struct children *children)
{
	const struct orma_lanes *lanes = &view->lanes[ORMA_VIEW_SLICES];
	uint32_t line,
		end = orma_lanes_lines(lanes, row->lane - view->first_lanes[row->table], &line);
	int r = 0;
	if (!row->is_shown || line + row->depth + 1 >= end)
		return 0;
	const struct orma_lane_line *below = &lanes->lines[line + row->depth + 1];
	uint32_t place = orma_lanes_find_start(lanes, below, below->first, row->start);
	for (; place < below->first + below->count && r == 0; place++) {
		uint64_t start = orma_lanes_start(lanes, place);
		if (start > row->end)
			break;
		/* One that begins when this ends is another's, and so is what is at the begin of this but came before. */
		struct orma_view_row child =
			orma_view_row_read(view, ORMA_VIEW_SLICES, lanes->rows[place]);
		r = orma_view_check_stop(view);
		if (r == 0 && cell(view, &child, ORMA_SLICE_PARENT_ID) == row->row)
			r = add_child(children, child.name,
				      orma_lanes_end(lanes, below, place) - start);
	}
	return r;
}

static int compare_children(const void *a, const void *b)
{
	const struct child_name *x = a, *y = b;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static int append_children(const struct orma_view *view, const struct orma_view_row *row,
			   struct orma_buf *json)
{
	struct children children = {0};
	int r = find_children(view, row, &children);
	if (children.count > 0)
		qsort(children.names, children.count, sizeof(*children.names), compare_children);
	if (r == 0)
		r = orma_view_json_double(json, "self",
					  (double)(row->end - row->start) - (double)children.total);
	if (r == 0)
		r = orma_view_json_raw(json, ",\"children\":[");
	for (uint32_t i = 0; i < ORMA_MIN(children.count, (uint32_t)CHILD_NAMES_MAX) && r == 0;
	     i++) {
		r = orma_json_begin_element(json);
		if (r == 0)
			r = orma_view_json_cell(json, view, "name", children.names[i].name);
		if (r == 0)
			r = orma_view_json_integer(json, "count", (int64_t)children.names[i].count);
		if (r == 0)
			r = orma_view_json_double(json, "total", (double)children.names[i].total);
		if (r == 0)
			r = orma_view_json_raw(json, "}");
	}
	orma_base_free(children.names);
	orma_base_map_done(&children.places);
	return r < 0 ? r : orma_view_json_raw(json, "]");
}

/* --- flows ------------------------------------------------------------------------------------ */

/* The flows that end in a slice, or those that begin there. */
static int append_flows(const struct orma_view *view, const struct orma_view_row *row, bool is_in,
			struct orma_buf *json)
{
	static const size_t columns[] = {ORMA_FLOW_SLICE_OUT, ORMA_FLOW_SLICE_IN};
	uint64_t rows = orma_store_table_rows(view->lanes[ORMA_VIEW_SLICES].table);
	struct orma_column_scan scan;
	size_t count = 0;
	int r = orma_column_scan_begin(&scan, &view->database->tables.all[ORMA_TABLE_FLOW], columns,
				       ORMA_ARRAY_SIZE(columns), 0);
	if (r == 0)
		r = orma_view_json_raw(json, is_in ? "\"in\":[" : ",\"out\":[");
	while (r == 0 && orma_column_scan_next(&scan)) {
		r = orma_view_check_stop(view);
		for (size_t i = 0; i < scan.row_count && r == 0 && count < CHILD_NAMES_MAX; i++) {
			uint64_t other = (uint64_t)scan.cells[is_in ? 0 : 1][i];
			if (scan.cells[is_in ? 1 : 0][i] != row->row || other >= rows)
				continue;
			struct orma_view_row end =
				orma_view_row_read(view, ORMA_VIEW_SLICES, other);
			double latency = is_in ? (double)row->start - (double)end.start
					       : (double)end.start - (double)row->start;
			struct orma_task_name thread =
				orma_thread_name(view->database, thread_of(view, &end));
			r = orma_view_row_append(json, view, &end);
			/* The latency is a member, too. */
			json->size -= r == 0;
			if (r == 0)
				r = orma_view_json_double(json, "latency", latency);
			if (r == 0)
				r = append_task(json, "thread", &thread);
			if (r == 0)
				r = orma_view_json_raw(json, "}");
			count++;
		}
	}
	orma_column_scan_done(&scan);
	return r < 0 ? r : orma_view_json_raw(json, "]");
}

/* The queries that make the tables about a slice. An unfinished one lasts until the trace ends. */
static int append_queries(const struct orma_view_row *row, int64_t utid, struct orma_buf *json)
{
#define UNTIL_END "iif(dur < 0, trace_end() - ts, dur)"
	int r = orma_base_buf_printf(
		json,
		",\"queries\":{\"parents\":\"select id, name, " UNTIL_END
		" as dur from ancestor_slice(%" PRIu32
		") order by depth desc\",\"children\":\"select name, count(*) as count, "
		"sum(" UNTIL_END ") as total from slice where parent_id = %" PRIu32
		" group by name order by total desc limit %d\","
		"\"flows\":\"select iif(slice_in = me.id, 'in', 'out') as way, other.id, "
		"other.name, iif(slice_in = me.id, me.ts - other.ts, other.ts - me.ts) as latency "
		"from flow join slice me on me.id in (slice_out, slice_in) join slice other on "
		"other.id = iif(slice_in = me.id, slice_out, slice_in) where me.id = %" PRIu32
		" order by way, flow.id\"",
		row->row, row->row, CHILD_NAMES_MAX, row->row);
#undef UNTIL_END
	if (r == 0 && utid >= 0)
		r = orma_base_buf_printf(
			json,
			",\"time\":\"select state, sum(until - since) as ns from (select state, "
			"max(ts, %" PRId64
			") as since, min(iif(dur < 0, trace_end(), ts + dur), %" PRId64
			") as until from thread_state where utid = %" PRId64
			") where until > since group by state order by ns desc\"",
			row->ts, row->ts + (int64_t)(row->end - row->start), utid);
	return r < 0 ? r : orma_view_json_raw(json, "}");
}

static int append_slice(struct orma_view *view, const struct orma_view_row *row, int64_t utid,
			struct orma_buf *json)
{
	int64_t thread_dur = cell(view, row, ORMA_SLICE_THREAD_DUR);
	int r = orma_view_json_cell(json, view, "category", cell(view, row, ORMA_SLICE_CATEGORY));
	if (r == 0)
		r = orma_view_json_id(json, "thread_dur", thread_dur);
	if (r == 0)
		r = append_children(view, row, json);
	if (r == 0)
		r = append_parents(view, row, json);
	if (r == 0)
		r = orma_view_json_raw(json, ",\"flows\":{");
	if (r == 0)
		r = append_flows(view, row, true, json);
	if (r == 0)
		r = append_flows(view, row, false, json);
	if (r == 0)
		r = orma_view_json_raw(json, "}");
	if (r == 0)
		r = orma_view_detail_append_rank(view, row, json);
	if (r == 0)
		r = orma_view_detail_append_time(view, row, utid, json);
	if (r == 0)
		r = orma_view_detail_append_stack(view, row, json);
	if (r == 0)
		r = append_queries(row, utid, json);
	return r < 0 ? r : orma_view_detail_append_args(view, row, json);
}

/* --- other tables ----------------------------------------------------------------------------- */

static int append_sched(const struct orma_view *view, const struct orma_view_row *row,
			struct orma_buf *json)
{
	int r = orma_view_json_integer(json, "cpu", cell(view, row, ORMA_SCHED_UCPU));
	if (r == 0)
		r = orma_view_json_integer(json, "priority", cell(view, row, ORMA_SCHED_PRIORITY));
	return r < 0 ? r
		     : orma_view_json_cell(json, view, "end_state",
					   cell(view, row, ORMA_SCHED_END_STATE));
}

static int append_thread_state(const struct orma_view *view, const struct orma_view_row *row,
			       struct orma_buf *json)
{
	int64_t waker = cell(view, row, ORMA_THREAD_STATE_WAKER_UTID);
	int64_t io_wait = cell(view, row, ORMA_THREAD_STATE_IO_WAIT);
	int r = orma_view_json_id(json, "cpu", cell(view, row, ORMA_THREAD_STATE_UCPU));
	if (r == 0)
		r = orma_view_json_id(json, "io_wait", io_wait);
	if (r == 0)
		r = orma_view_json_cell(json, view, "blocked_function",
					cell(view, row, ORMA_THREAD_STATE_BLOCKED_FUNCTION));
	struct orma_task_name name = orma_thread_name(view->database, waker);
	return r < 0 ? r : append_task(json, "waker", &name);
}

/* A value, and how it differs from the one before. */
static int append_counter(const struct orma_view *view, const struct orma_view_row *row,
			  struct orma_buf *json)
{
	const struct orma_lanes *lanes = &view->lanes[ORMA_VIEW_COUNTERS];
	double value = orma_store_double_of_cell(cell(view, row, ORMA_COUNTER_VALUE));
	uint32_t line, lane = row->lane - view->first_lanes[row->table];
	int r = orma_view_json_double(json, "value", value);
	if (r < 0 || orma_lanes_lines(lanes, lane, &line) == line)
		return r;
	uint32_t first = lanes->lines[line].first;
	uint32_t place = orma_lanes_find_start(lanes, &lanes->lines[line], first, row->start);
	while (lanes->rows[place] < row->row)
		place++;
	return place > first ? orma_view_json_double(json, "delta",
						     value - orma_lanes_value(lanes, place - 1))
			     : orma_view_json_null(json, "delta");
}

int orma_view_detail(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		     struct orma_error *reterr)
{
	struct orma_view_row row;
	int r = orma_view_row_of_request(view, request, &row, reterr);
	if (r < 0)
		return r;
	int64_t utid = thread_of(view, &row);
	r = orma_view_row_append(ret, view, &row);
	if (r < 0)
		return r;
	/* More members of the same object follow. */
	ret->size--;
	r = orma_view_json_bool(ret, "unfinished", row.table != ORMA_VIEW_COUNTERS && row.dur < 0);
	if (r == 0)
		r = append_clocks(view, &row, ret);
	if (r == 0)
		r = append_owner(view, &row, utid, ret);
	if (r == 0 && row.table == ORMA_VIEW_SLICES)
		r = append_slice(view, &row, utid, ret);
	else if (r == 0 && row.table == ORMA_VIEW_SCHED)
		r = append_sched(view, &row, ret);
	else if (r == 0 && row.table == ORMA_VIEW_THREAD_STATES)
		r = append_thread_state(view, &row, ret);
	else if (r == 0 && row.table == ORMA_VIEW_COUNTERS)
		r = append_counter(view, &row, ret);
	return r < 0 ? r
		     : orma_base_buf_printf(ret,
					    ",\"sql\":\"select * from %s where id = %" PRIu32 "\"}",
					    orma_view_table_name(row.table), row.row);
}
