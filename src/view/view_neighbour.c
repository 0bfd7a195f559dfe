/* SPDX-License-Identifier: Apache-2.0
 * view_neighbour.c - the next row of a line, the one before, and the one with an edge near a time; and rows that flows join.
 */
#include <errno.h>
#include <math.h>

#include "answers/column_scan.h"
#include "base/error_message.h"
#include "view/json_request.h"
#include "view/view_json.h"
#include "view/view_row.h"
#include "view/view_search.h"

enum { FLOWS_MAX = 1000 };

/* Returns the place that has an edge nearest to a time; `place` is the first that begins at the time or later. */
static uint32_t find_nearest(const struct orma_lanes *lanes, const struct orma_lane_line *line,
			     uint32_t place, double time)
{
	uint32_t best = UINT32_MAX;
	double distance = INFINITY;
	for (uint32_t i = place > line->first ? place - 1 : place;
	     i <= place && i < line->first + line->count; i++) {
		double to_start = fabs((double)orma_lanes_start(lanes, i) - time);
		double to_end = fabs((double)orma_lanes_end(lanes, line, i) - time);
		if (ORMA_MIN(to_start, to_end) < distance) {
			distance = ORMA_MIN(to_start, to_end);
			best = i;
		}
	}
	return best;
}

/* Returns a place, or UINT32_MAX when there is none. */
static uint32_t find_neighbour(const struct orma_lanes *lanes, const struct orma_lane_line *line,
			       double time, double direction)
{
	uint64_t at = time > 0 ? time < 0x1p63 ? (uint64_t)time : UINT64_C(1) << 63 : 0;
	uint32_t place = orma_lanes_find_start(lanes, line, line->first, at);
	uint32_t end = line->first + line->count;
	if (direction == 0)
		return find_nearest(lanes, line, place, time);
	if (direction < 0)
		return place > line->first ? place - 1 : UINT32_MAX;
	while (place < end && orma_lanes_start(lanes, place) <= at)
		place++;
	return place < end ? place : UINT32_MAX;
}

static int answer_neighbour(const struct orma_view *view, const double *numbers,
			    struct orma_buf *ret, struct orma_error *reterr)
{
	enum orma_view_table table = ORMA_VIEW_SLICES;
	uint32_t lane = 0, line, found = UINT32_MAX;
	const struct orma_lanes *lanes =
		numbers[0] >= 0 && numbers[0] < UINT32_MAX
			? orma_view_find_lane(view, (uint32_t)numbers[0], &table, &lane)
			: NULL;
	if (!lanes)
		return orma_base_error_set(reterr, -ENOENT, "there is no such lane");
	uint32_t end = orma_lanes_lines(lanes, lane, &line);
	if (numbers[1] >= 0 && numbers[1] < end - line)
		found = find_neighbour(lanes, &lanes->lines[line + (uint32_t)numbers[1]],
				       numbers[2], numbers[3]);
	if (found == UINT32_MAX)
		return orma_view_json_raw(ret, "null");
	struct orma_view_row row = orma_view_row_read(view, table, lanes->rows[found]);
	return orma_view_row_append(ret, view, &row);
}

int orma_view_neighbour(struct orma_view *view, struct orma_str body, struct orma_buf *ret,
			struct orma_error *reterr)
{
	static const char *const keys[] = {"lane", "depth", "time", "dir"};
	double numbers[ORMA_ARRAY_SIZE(keys)] = {0};
	struct orma_json_request request;
	int r = orma_json_request_init(&request, body);
	if (r < 0)
		return orma_base_error_set(reterr, r, "the request is no object with a \"lane\"");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(keys) && r == 0; i++)
		if (!orma_json_request_number(&request, keys[i], &numbers[i]))
			r = orma_base_error_set(reterr, -EINVAL, "\"%s\" is no number", keys[i]);
	orma_json_request_done(&request);
	return r < 0 ? r : answer_neighbour(view, numbers, ret, reterr);
}

static int append_flow(const struct orma_view *view, uint64_t from, uint64_t to,
		       struct orma_buf *json)
{
	uint64_t count = orma_store_table_rows(view->lanes[ORMA_VIEW_SLICES].table);
	if (from >= count || to >= count)
		return 0;
	struct orma_view_row begin = orma_view_row_read(view, ORMA_VIEW_SLICES, from);
	struct orma_view_row end = orma_view_row_read(view, ORMA_VIEW_SLICES, to);
	int r = orma_json_begin_element(json);
	if (r == 0)
		r = orma_view_json_raw(json, "\"from\":");
	if (r == 0)
		r = orma_view_row_append(json, view, &begin);
	if (r == 0)
		r = orma_view_json_raw(json, ",\"to\":");
	if (r == 0)
		r = orma_view_row_append(json, view, &end);
	return r < 0 ? r : orma_view_json_raw(json, "}");
}

int orma_view_flows(struct orma_view *view, struct orma_str body, struct orma_buf *ret,
		    struct orma_error *reterr)
{
	static const size_t columns[] = {ORMA_FLOW_SLICE_OUT, ORMA_FLOW_SLICE_IN};
	struct orma_view_row row;
	struct orma_column_scan scan = {0};
	size_t found = 0;
	int r = orma_view_row_of_request(view, body, &row, reterr);
	if (r == 0)
		r = orma_view_json_raw(ret, "{\"flows\":[");
	if (r == 0 && row.table == ORMA_VIEW_SLICES)
		r = orma_column_scan_begin(&scan, &view->database->tables.all[ORMA_TABLE_FLOW],
					   columns, ORMA_ARRAY_SIZE(columns), 0);
	while (r == 0 && scan.table && orma_column_scan_next(&scan)) {
		r = orma_view_check_stop(view);
		for (size_t i = 0; i < scan.row_count && r == 0 && found < FLOWS_MAX; i++) {
			if (scan.cells[0][i] != row.row && scan.cells[1][i] != row.row)
				continue;
			r = append_flow(view, (uint64_t)scan.cells[0][i],
					(uint64_t)scan.cells[1][i], ret);
			found++;
		}
	}
	orma_column_scan_done(&scan);
	return r < 0 ? r : orma_view_json_raw(ret, "]}");
}
