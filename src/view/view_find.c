/* SPDX-License-Identifier: Apache-2.0
 * view_find.c - reads the durations of all slices of one name, block by block.
 */
#include "view/view_find.h"

#include <errno.h>
#include <inttypes.h>

#include "answers/column_scan.h"
#include "answers/task_names.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "view/json_request.h"
#include "view/view_json.h"
#include "view/view_row.h"

static void keep_long(struct orma_named_slices *slices, int64_t dur, uint64_t row)
{
	size_t place = slices->top_count;
	if (place == ORMA_FIND_TOP_MAX) {
		if (dur <= slices->top[place - 1].dur)
			return;
		place--;
	} else {
		slices->top_count++;
	}
	for (; place > 0 && slices->top[place - 1].dur < dur; place--)
		slices->top[place] = slices->top[place - 1];
	slices->top[place] = (struct orma_long_slice){dur, row};
}

static int add_slice(struct orma_named_slices *slices, int64_t dur, uint64_t row)
{
	if (dur < 0)
		return 0;
	slices->count++;
	slices->longer += dur > slices->than;
	slices->sum += (double)dur;
	slices->histogram[dur > 0 ? 63 - __builtin_clzll((uint64_t)dur) : 0]++;
	keep_long(slices, dur, row);
	return orma_sample_add(&slices->sample, dur);
}

int orma_named_slices_find(const struct orma_view *view, struct orma_named_slices *slices)
{
	static const size_t columns[] = {ORMA_SLICE_DUR};
	struct orma_column_scan scan;
	int r = orma_column_scan_begin_equal(&scan, view->lanes[ORMA_VIEW_SLICES].table, columns,
					     ORMA_ARRAY_SIZE(columns), 0, ORMA_SLICE_NAME,
					     slices->name);
	while (r == 0 && orma_column_scan_next(&scan)) {
		r = orma_view_check_stop(view);
		for (size_t i = 0; i < scan.row_count && r == 0; i++)
			r = add_slice(slices, scan.cells[0][i], scan.first_row + scan.places[i]);
	}
	orma_column_scan_done(&scan);
	return r;
}

void orma_named_slices_done(struct orma_named_slices *slices)
{
	orma_sample_done(&slices->sample);
}

int orma_named_slices_append_histogram(const struct orma_named_slices *slices,
				       struct orma_buf *json)
{
	size_t count = ORMA_FIND_BUCKETS;
	int r = orma_view_json_raw(json, ",\"histogram\":[");
	while (count > 0 && slices->histogram[count - 1] == 0)
		count--;
	for (size_t i = 0; i < count && r == 0; i++) {
		r = orma_view_json_comma(json);
		if (r == 0)
			r = orma_view_json_integer_value(json, (int64_t)slices->histogram[i]);
	}
	return r < 0 ? r : orma_view_json_raw(json, "]");
}

/* Appends the longest slices as objects, with their threads. */
static int append_top(const struct orma_view *view, const struct orma_named_slices *slices,
		      struct orma_buf *json)
{
	int r = orma_view_json_raw(json, ",\"top\":[");
	for (size_t i = 0; i < slices->top_count && r == 0; i++) {
		struct orma_view_row row =
			orma_view_row_read(view, ORMA_VIEW_SLICES, slices->top[i].row);
		int64_t utid = row.is_shown
				       ? orma_trace_database_cell(
						 view->database, ORMA_TABLE_TRACK, ORMA_TRACK_UTID,
						 row.lane - view->first_lanes[ORMA_VIEW_SLICES])
				       : -1;
		struct orma_task_name name = orma_thread_name(view->database, utid);
		struct orma_buf text = {0};
		r = orma_view_row_append(json, view, &row);
		if (r == 0 && utid >= 0)
			r = orma_task_name_append(&name, &text);
		/* The thread is a member of the object, too. */
		json->size -= r == 0;
		if (r == 0)
			r = text.size > 0
				    ? orma_json_append_text(
					      json, "thread",
					      (struct orma_str){(const char *)text.data, text.size})
				    : orma_view_json_null(json, "thread");
		if (r == 0)
			r = orma_view_json_raw(json, "}");
		orma_base_buf_done(&text);
	}
	return r < 0 ? r : orma_view_json_raw(json, "]");
}

static int answer(const struct orma_view *view, struct orma_str name, struct orma_buf *ret)
{
	uint32_t id = orma_store_pool_find(&view->database->tables.strings, name);
	struct orma_named_slices slices = {.name = id, .than = INT64_MAX};
	int r = id > 0 ? orma_named_slices_find(view, &slices) : 0;
	if (r == 0)
		r = orma_view_json_raw(ret, "{");
	if (r == 0)
		r = orma_json_append_text(ret, "name", name);
	if (r == 0)
		r = orma_view_json_integer(ret, "count", (int64_t)slices.count);
	if (r == 0)
		r = orma_view_json_double(ret, "sum", slices.sum);
	static const struct {
		const char *key;
		unsigned per_mille;
	} quantiles[] = {{"p50", 500}, {"p90", 900}, {"p99", 990}};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(quantiles) && r == 0; i++)
		r = orma_view_json_integer(
			ret, quantiles[i].key,
			orma_sample_quantile(&slices.sample, quantiles[i].per_mille));
	if (r == 0)
		r = orma_named_slices_append_histogram(&slices, ret);
	if (r == 0)
		r = append_top(view, &slices, ret);
	orma_named_slices_done(&slices);
	return r;
}

/* Appends the statement that yields the slices. A quote in a text of SQL is written twice. */
static int append_sql(struct orma_str name, struct orma_buf *json)
{
	struct orma_buf sql = {0};
	int r = orma_base_buf_append_str(&sql, "select * from slice where name = '");
	for (size_t i = 0; i < name.size && r == 0; i++) {
		r = orma_base_buf_append(&sql, &name.data[i], 1);
		if (r == 0 && name.data[i] == '\'')
			r = orma_base_buf_append(&sql, "'", 1);
	}
	if (r == 0)
		r = orma_base_buf_append_str(&sql,
					     "' and dur >= 0 order by dur desc, id limit 100");
	if (r == 0)
		r = orma_json_append_text(json, "sql",
					  (struct orma_str){(const char *)sql.data, sql.size});
	orma_base_buf_done(&sql);
	return r < 0 ? r : orma_view_json_raw(json, "}");
}

int orma_view_find(struct orma_view *view, struct orma_str body, struct orma_buf *ret,
		   struct orma_error *reterr)
{
	struct orma_json_request request;
	struct orma_str name = {NULL, 0};
	int r = orma_json_request_init(&request, body);
	if (r < 0)
		return orma_base_error_set(reterr, r, "the request is no object with a \"name\"");
	if (!orma_json_request_string(&request, "name", &name))
		r = orma_base_error_set(reterr, -EINVAL, "there is no \"name\"");
	if (r == 0)
		r = answer(view, name, ret);
	if (r == 0)
		r = append_sql(name, ret);
	orma_json_request_done(&request);
	return r;
}
