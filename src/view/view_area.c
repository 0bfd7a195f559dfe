/* SPDX-License-Identifier: Apache-2.0
 * view_area.c - the tables of an area: slices by name, CPUs and states by thread, and counters.
 *
 * Each table has the statement that yields its main columns. Times are in nanoseconds: "total" and "self" of what lies in the
 * range, the others of whole slices.
 */
#include "view/view_area.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "answers/task_names.h"
#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "view/json_request.h"
#include "view/view_json.h"
#include "view/view_row.h"

enum { NODES_MAX = 4096, ROWS_MAX = 1000 };

/* --- the request ------------------------------------------------------------------------------ */

static int choose_nodes(struct orma_area *area, const struct orma_json_request *request,
			const char *key, struct orma_error *reterr)
{
	const struct orma_view *view = area->view;
	size_t nodes_bytes = NODES_MAX * sizeof(double);
	double *nodes = orma_base_alloc(nodes_bytes);
	area->is_chosen = orma_base_zalloc((size_t)view->node_count + 1);
	int r = nodes && area->is_chosen ? 0 : -ENOMEM;
	size_t count = r == 0 ? orma_json_request_numbers(request, key, nodes, NODES_MAX) : 0;
	if (count > NODES_MAX)
		r = orma_base_error_set(reterr, -EINVAL, "there are more than %d nodes", NODES_MAX);
	for (size_t i = 0; i < count && r == 0; i++)
		if (nodes[i] >= 0 && nodes[i] < view->node_count)
			area->is_chosen[(size_t)nodes[i]] = 1;
		else
			r = orma_base_error_set(reterr, -ENOENT, "there is no node %g", nodes[i]);
	area->is_whole = count == 0;
	/* Nodes below a node are chosen with it; parents come before their children. */
	for (uint32_t i = 0; i < view->node_count && r == 0; i++) {
		int64_t parent = view->nodes[i].parent;
		if (count == 0 || (parent >= 0 && area->is_chosen[parent]))
			area->is_chosen[i] = 1;
	}
	orma_base_free(nodes);
	return r;
}

static int read_range(struct orma_area *area, const struct orma_json_request *request,
		      const char *const keys[3], struct orma_error *reterr)
{
	double start = 0, end = 0;
	int r = 0;
	if (!orma_json_request_number(request, keys[0], &start) ||
	    !orma_json_request_number(request, keys[1], &end) ||
	    !(start >= 0 && end > start && end < 0x1p63))
		r = orma_base_error_set(reterr, -EINVAL, "\"%s\" and \"%s\" are no range", keys[0],
					keys[1]);
	area->start = r == 0 ? (uint64_t)start : 0;
	area->end = r == 0 ? (uint64_t)ceil(end) : 0;
	return r < 0 ? r : choose_nodes(area, request, keys[2], reterr);
}

int orma_area_read(struct orma_area *area, struct orma_str body, struct orma_error *reterr)
{
	static const char *const keys[] = {"start", "end", "nodes"};
	struct orma_json_request request;
	struct orma_str by = {NULL, 0};
	int r = orma_json_request_init(&request, body);
	if (r < 0)
		return orma_base_error_set(reterr, r, "the request is no object with a range");
	(void)orma_json_request_string(&request, "by", &by);
	area->is_by_thread = orma_base_str_is(by, "thread");
	r = read_range(area, &request, keys, reterr);
	orma_json_request_done(&request);
	return r;
}

int orma_area_read_before(struct orma_area *area, struct orma_str body, struct orma_error *reterr)
{
	static const char *const keys[] = {"before_start", "before_end", "before_nodes"};
	struct orma_json_request request;
	double start;
	int r = orma_json_request_init(&request, body);
	if (r < 0)
		return orma_base_error_set(reterr, r, "the request is no object with a range");
	r = orma_json_request_number(&request, keys[0], &start)
		    ? read_range(area, &request, keys, reterr)
		    : -ENODATA;
	orma_json_request_done(&request);
	return r;
}

/* --- statements ------------------------------------------------------------------------------- */

/* Appends the lanes of a table that are chosen, as a list for SQL. */
static int append_lanes(const struct orma_area *area, enum orma_view_table table,
			struct orma_buf *sql)
{
	const struct orma_view *view = area->view;
	bool is_first = true;
	int r = 0;
	for (uint32_t i = 0; i < view->node_count && r == 0; i++) {
		enum orma_view_table found;
		uint32_t lane;
		if (!area->is_chosen[i] || !view->nodes[i].table ||
		    !orma_view_find_lane(view, view->nodes[i].lane, &found, &lane) ||
		    found != table)
			continue;
		r = orma_base_buf_printf(sql, "%s%" PRIu32, is_first ? "" : ", ", lane);
		is_first = false;
	}
	return r;
}

int orma_area_append_sql(const struct orma_area *area, enum orma_view_table table,
			 const struct orma_area_statement *statement, struct orma_buf *json)
{
	const struct orma_view *view = area->view;
	int64_t origin = view->database->start_ns;
	int64_t start = origin + (int64_t)area->start, end = origin + (int64_t)area->end;
	struct orma_buf sql = {0};
	int r = orma_base_buf_printf(&sql,
				     "with area as (select *, max(ts, %" PRId64
				     ") as t0, min(iif(dur < 0, trace_end(), ts + "
				     "dur), %" PRId64 ") as t1 from %s where ts < %" PRId64
				     " and (ts >= %" PRId64
				     " or iif(dur < 0, trace_end(), ts + dur) > %" PRId64 ")",
				     start, end, orma_view_table_name(table), end, start, start);
	if (r == 0 && !area->is_whole)
		r = orma_base_buf_printf(&sql, " and %s in (", statement->lane);
	if (r == 0 && !area->is_whole)
		r = append_lanes(area, table, &sql);
	if (r == 0)
		r = orma_base_buf_printf(&sql, "%s) %s from %s %s", area->is_whole ? "" : ")",
					 statement->select, statement->from, statement->group);
	if (r == 0)
		r = orma_json_append_text(json, "sql", orma_base_buf_str(&sql));
	orma_base_buf_done(&sql);
	return r;
}

/* --- tables ----------------------------------------------------------------------------------- */

static int compare_groups(const void *a, const void *b)
{
	const struct orma_area_group *x = a, *y = b;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return x->utid < y->utid ? -1 : x->utid > y->utid;
}

static int append_task(const struct orma_task_name *name, struct orma_buf *json)
{
	struct orma_buf text = {0};
	int r = orma_task_name_append(name, &text);
	if (r == 0)
		r = orma_view_json_comma(json);
	if (r == 0)
		r = orma_json_append_string(json,
					    (struct orma_str){(const char *)text.data, text.size});
	orma_base_buf_done(&text);
	return r;
}

/* Appends the names of a thread and of its process. */
static int append_thread(const struct orma_view *view, int64_t utid, struct orma_buf *json)
{
	struct orma_task_name thread = orma_thread_name(view->database, utid);
	struct orma_task_name process =
		orma_process_name(view->database, orma_thread_process(view->database, utid));
	int r = append_task(&thread, json);
	return r < 0 ? r : append_task(&process, json);
}

static int append_numbers(const double *numbers, size_t count, struct orma_buf *json)
{
	int r = 0;
	for (size_t i = 0; i < count && r == 0; i++) {
		r = orma_view_json_comma(json);
		if (r == 0)
			r = orma_view_json_double_value(json, numbers[i]);
	}
	return r;
}

static int append_slice_group(const struct orma_area *area, struct orma_area_group *group,
			      struct orma_buf *json)
{
	struct orma_str name = orma_view_text(area->view, group->name);
	double range = (double)(area->end - area->start);
	const double numbers[] = {
		(double)group->count,
		group->total,
		group->self,
		group->known > 0 ? group->min : NAN,
		group->known > 0 ? group->sum / (double)group->known : NAN,
		group->known > 0 ? (double)orma_sample_quantile(&group->durations, 500) : NAN,
		group->known > 0 ? (double)orma_sample_quantile(&group->durations, 900) : NAN,
		group->known > 0 ? (double)orma_sample_quantile(&group->durations, 990) : NAN,
		group->known > 0 ? group->max : NAN,
		group->total / range * 100};
	int r = name.data ? orma_json_append_string(json, name) : orma_view_json_raw(json, "null");
	if (r == 0 && area->is_by_thread)
		r = append_thread(area->view, group->utid, json);
	return r < 0 ? r : append_numbers(numbers, ORMA_ARRAY_SIZE(numbers), json);
}

static int append_cpu_group(const struct orma_area *area, struct orma_area_group *group,
			    struct orma_buf *json)
{
	const double numbers[] = {group->total,
				  group->total / (double)(area->end - area->start) * 100,
				  (double)group->count};
	int r = append_thread(area->view, group->utid, json);
	return r < 0 ? r : append_numbers(numbers, ORMA_ARRAY_SIZE(numbers), json);
}

static int append_state_group(const struct orma_area *area, struct orma_area_group *group,
			      struct orma_buf *json)
{
	const double numbers[] = {group->total, (double)group->count};
	int r = append_thread(area->view, group->utid, json);
	if (r == 0)
		r = orma_view_json_comma(json);
	if (r == 0)
		r = orma_view_append_thread_state(json, area->view, (uint32_t)group->name);
	return r < 0 ? r : append_numbers(numbers, ORMA_ARRAY_SIZE(numbers), json);
}

struct table {
	const char *key, *columns; /* the columns are JSON */
	enum orma_view_table table;
	struct orma_area_statement statement;
	int (*append)(const struct orma_area *area, struct orma_area_group *group,
		      struct orma_buf *json);
};

static int append_table(const struct orma_area *area, const struct table *table,
			struct orma_buf *json)
{
	struct orma_area_groups groups = {0};
	int r = orma_area_group_rows(area, table->table, &groups);
	if (groups.count > 0)
		qsort(groups.items, groups.count, sizeof(*groups.items), compare_groups);
	if (r == 0)
		r = orma_json_append_key(json, table->key);
	if (r == 0)
		r = orma_view_json_raw(json, "{");
	if (r == 0)
		r = orma_area_append_sql(area, table->table, &table->statement, json);
	if (r == 0)
		r = orma_base_buf_printf(json, ",\"columns\":%s,\"rows\":[", table->columns);
	for (uint32_t i = 0; i < ORMA_MIN(groups.count, (uint32_t)ROWS_MAX) && r == 0; i++) {
		r = orma_view_json_comma(json);
		if (r == 0)
			r = orma_view_json_raw(json, "[");
		if (r == 0)
			r = table->append(area, &groups.items[i], json);
		if (r == 0)
			r = orma_view_json_raw(json, "]");
	}
	if (r == 0)
		r = orma_view_json_raw(json, "]");
	if (r == 0)
		r = orma_view_json_integer(json, "total", groups.count);
	orma_area_groups_done(&groups);
	return r < 0 ? r : orma_view_json_raw(json, "}");
}

/* --- counters --------------------------------------------------------------------------------- */

/* Adds up the values that a counter has in the range; the first may be older. Returns how many there are, or -ECANCELED. */
static int64_t measure(const struct orma_area *area, const struct orma_lane_line *line,
		       double *numbers)
{
	enum { MIN, MAX, AVG, FIRST, LAST };
	const struct orma_lanes *lanes = &area->view->lanes[ORMA_VIEW_COUNTERS];
	uint32_t place = orma_lanes_find_start(lanes, line, line->first, area->start);
	uint32_t end = orma_lanes_find_start(lanes, line, place, area->end);
	double weight = 0, sum = 0;
	place -= place > line->first;
	if (place == end)
		return 0;
	struct orma_lane_extremes extremes = orma_lanes_extremes(lanes, line, place, end);
	for (uint32_t i = place; i < end; i++) {
		if (orma_view_check_stop(area->view) < 0)
			return -ECANCELED;
		uint64_t start = orma_lanes_start(lanes, i),
			 behind = orma_lanes_end(lanes, line, i);
		uint64_t from = ORMA_MAX(start, area->start), to = ORMA_MIN(behind, area->end);
		double held = to > from ? (double)(to - from) : 0;
		sum += held * orma_lanes_value(lanes, i);
		weight += held;
	}
	numbers[MIN] = extremes.min;
	numbers[MAX] = extremes.max;
	numbers[FIRST] = orma_lanes_value(lanes, place);
	numbers[LAST] = orma_lanes_value(lanes, end - 1);
	numbers[AVG] = weight > 0 ? sum / weight : numbers[LAST];
	return end - place;
}

static int append_counter(const struct orma_area *area, const struct orma_view_node *node,
			  uint32_t lane, struct orma_buf *json)
{
	const struct orma_lanes *lanes = &area->view->lanes[ORMA_VIEW_COUNTERS];
	double numbers[7];
	uint32_t line;
	if (orma_lanes_lines(lanes, lane, &line) == line)
		return 0;
	int64_t count = measure(area, &lanes->lines[line], numbers);
	if (count <= 0)
		return (int)count;
	numbers[5] = numbers[4] - numbers[3];
	numbers[6] = numbers[5] / ((double)(area->end - area->start) / 1e9);
	int r = orma_view_json_comma(json);
	if (r == 0)
		r = orma_view_json_raw(json, "[");
	if (r == 0)
		r = node->name.data ? orma_json_append_string(json, node->name)
				    : orma_view_json_raw(json, "null");
	if (r == 0)
		r = append_numbers(numbers, ORMA_ARRAY_SIZE(numbers), json);
	return r < 0 ? r : orma_view_json_raw(json, "]");
}

/* A value counts until the next one, and the first in the range may have begun before. */
static int append_counters_sql(const struct orma_area *area, struct orma_buf *json)
{
	int64_t start = area->view->database->start_ns + (int64_t)area->start;
	int64_t end = area->view->database->start_ns + (int64_t)area->end;
	struct orma_buf sql = {0};
	int r = orma_base_buf_printf(&sql,
				     "with area as (select *, lead(ts, 1, trace_end()) over "
				     "(partition by track_id order by "
				     "ts, id) as until from counter where ts < %" PRId64,
				     end);
	if (r == 0 && !area->is_whole)
		r = orma_base_buf_append_str(&sql, " and track_id in (");
	if (r == 0 && !area->is_whole)
		r = append_lanes(area, ORMA_VIEW_COUNTERS, &sql);
	if (r == 0)
		r = orma_base_buf_printf(
			&sql,
			"%s), part as (select track_id, value, min(until, %" PRId64
			") - max(ts, %" PRId64
			") as held, first_value(value) over track as first, last_value(value) over "
			"track as last from area where until >= %" PRId64
			" window track as (partition by track_id order by ts, id rows between "
			"unbounded preceding and unbounded following)) select name as counter, "
			"min(value) as min, max(value) as max, ifnull(sum(value * held) / "
			"nullif(sum(held), 0), last) as avg, first, last, last - first as delta, "
			"(last - first) * 1e9 / %" PRId64 " as rate from part join counter_track t "
			"on track_id = t.id group by track_id",
			area->is_whole ? "" : ")", end, start, start, end - start);
	if (r == 0)
		r = orma_json_append_text(json, "sql", orma_base_buf_str(&sql));
	orma_base_buf_done(&sql);
	return r;
}

static int append_counters(const struct orma_area *area, struct orma_buf *json)
{
	const struct orma_view *view = area->view;
	int r = orma_view_json_raw(json, ",\"counters\":{");
	if (r == 0)
		r = append_counters_sql(area, json);
	if (r == 0)
		r = orma_view_json_raw(json, ",\"columns\":[\"counter\",\"min\",\"max\",\"avg\","
					     "\"first\",\"last\",\"delta\",\"rate\"],\"rows\":[");
	for (uint32_t i = 0; i < view->node_count && r == 0; i++) {
		enum orma_view_table found;
		uint32_t lane;
		if (area->is_chosen[i] && view->nodes[i].table &&
		    orma_view_find_lane(view, view->nodes[i].lane, &found, &lane) &&
		    found == ORMA_VIEW_COUNTERS)
			r = append_counter(area, &view->nodes[i], lane, json);
	}
	return r < 0 ? r : orma_view_json_raw(json, "]}");
}

/*
 * The percentiles are the smallest durations that so many of a name's do not exceed. An unfinished slice has no duration, but
 * a part in the range.
 */
#define SLICES_SELECT(by)                                                                          \
	"select " by ", count(*) as count, sum(t1 - t0) as total, sum(t1 - t0 - below) as self, "  \
	"min(known) as min, avg(known) as avg, min(iif(2 * rank >= n, known, null)) as p50, "      \
	"min(iif(10 * rank >= 9 * n, known, null)) as p90, "                                       \
	"min(iif(100 * rank >= 99 * n, known, null)) as p99, max(known) as max"
#define SLICES_FROM(by, rows)                                                                      \
	"(select *, ifnull(ns, 0) as below, row_number() over (partition by " by                   \
	" order by known nulls last) as rank, count(known) over (partition by " by                 \
	") as n from (select *, nullif(dur, -1) as known from " rows                               \
	") left join (select parent_id as above, sum(t1 - t0) as ns from area group by "           \
	"parent_id) on above = id)"
#define SLICES_GROUP(by) "group by " by " order by total desc"
static const struct orma_area_statement slices_by_name = {
	SLICES_SELECT("name"), SLICES_FROM("name", "area"), SLICES_GROUP("name"), "track_id"};
static const struct orma_area_statement slices_by_thread = {
	SLICES_SELECT("name, utid"),
	SLICES_FROM("name, utid", "area left join (select id as of_thread, utid from thread_track) "
				  "on of_thread = track_id"),
	SLICES_GROUP("name, utid"), "track_id"};

int orma_view_area(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		   struct orma_error *reterr)
{
	struct orma_area area = {.view = view};
	int r = orma_area_read(&area, request, reterr);
	const struct table tables[] = {
		{"slices",
		 area.is_by_thread ? "[\"name\",\"thread\",\"process\",\"count\",\"total\","
				     "\"self\",\"min\",\"avg\","
				     "\"p50\",\"p90\",\"p99\",\"max\",\"share\"]"
				   : "[\"name\",\"count\",\"total\",\"self\",\"min\",\"avg\","
				     "\"p50\",\"p90\",\"p99\","
				     "\"max\",\"share\"]",
		 ORMA_VIEW_SLICES, area.is_by_thread ? slices_by_thread : slices_by_name,
		 append_slice_group},
		{"cpu",
		 "[\"thread\",\"process\",\"total\",\"share\",\"runs\"]",
		 ORMA_VIEW_SCHED,
		 {"select utid, sum(t1 - t0) as total, count(*) as runs", "area",
		  "group by utid order by total desc", "ucpu"},
		 append_cpu_group},
		{"states",
		 "[\"thread\",\"process\",\"state\",\"total\",\"count\"]",
		 ORMA_VIEW_THREAD_STATES,
		 {"select utid, state, io_wait, sum(t1 - t0) as total, count(*) as count", "area",
		  "group by utid, state, io_wait order by total desc", "utid"},
		 append_state_group}};
	if (r == 0)
		r = orma_view_json_raw(ret, "{");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(tables) && r == 0; i++)
		r = append_table(&area, &tables[i], ret);
	if (r == 0)
		r = append_counters(&area, ret);
	orma_base_free(area.is_chosen);
	return r < 0 ? r : orma_view_json_raw(ret, "}");
}
