/* SPDX-License-Identifier: Apache-2.0
 * report_links.c - flows and stacks of the slices of a report.
 *
 * A flow is a pair of boxes, in the order of the first and then of the second one, so that the same trace gives the same bytes and
 * the first column is small differences. Both ends have to be boxes of one slice: where slices are joined, nobody could tell whose
 * flow it is. A stack is written once however many slices began at it.
 *
 * Rejected: a column of boxes with the number of the next slice (a slice has any number of flows); ids of flows as the trace has
 * them, which are large, and from which the page would have to make pairs again.
 */
#include "view/report_links.h"

#include <errno.h>
#include <stdlib.h>

#include "answers/column_scan.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "trace/profile_tables.h"
#include "view/report_columns.h"
#include "view/view_detail.h"
#include "view/view_json.h"

static int find_sites(struct orma_report_links *links)
{
	static const size_t columns[] = {ORMA_EVENT_CALLSTACK_SLICE_ID,
					 ORMA_EVENT_CALLSTACK_CALLSITE_ID};
	const struct orma_trace_database *database = links->view->database;
	struct orma_column_scan scan;
	int r = orma_column_scan_begin(&scan, &database->tables.all[ORMA_TABLE_EVENT_CALLSTACK],
				       columns, ORMA_ARRAY_SIZE(columns), 0);
	while (r == 0 && orma_column_scan_next(&scan)) {
		for (size_t i = 0; i < scan.row_count && r == 0; i++) {
			int64_t slice = scan.cells[0][i], site = scan.cells[1][i];
			/* The first one of a slice is that of its begin. */
			if (slice >= 0 && site >= 0 &&
			    !orma_base_map_get(&links->sites, (uint64_t)slice))
				r = orma_base_map_put(&links->sites, (uint64_t)slice,
						      (void *)(uintptr_t)(site + 1));
		}
	}
	orma_column_scan_done(&scan);
	return r;
}

int orma_report_links_begin(struct orma_report_links *links, const struct orma_view *view)
{
	uint64_t slices = orma_store_table_rows(view->lanes[ORMA_VIEW_SLICES].table);
	*links = (struct orma_report_links){.view = view};
	if (orma_store_table_rows(&view->database->tables.all[ORMA_TABLE_FLOW]) > 0) {
		links->boxes = orma_base_alloc_array((size_t)slices + 1, sizeof(*links->boxes));
		if (!links->boxes)
			return -ENOMEM;
	}
	int r = orma_view_json_raw(&links->stacks, "[");
	return r ? r : find_sites(links);
}

void orma_report_links_done(struct orma_report_links *links)
{
	orma_base_free(links->boxes);
	orma_base_map_done(&links->sites);
	orma_base_map_done(&links->numbers);
	orma_base_buf_done(&links->stacks);
}

static int number_stack(struct orma_report_links *links, int64_t site, uint64_t *ret)
{
	*ret = (uintptr_t)orma_base_map_get(&links->numbers, (uint64_t)site);
	if (*ret > 0)
		return 0;
	int r = orma_view_json_comma(&links->stacks);
	if (r == 0)
		r = orma_view_append_stack(links->view, site, &links->stacks);
	*ret = links->stack_count + 1;
	if (r == 0)
		r = orma_base_map_put(&links->numbers, (uint64_t)site, (void *)(uintptr_t)*ret);
	links->stack_count += r == 0;
	return r;
}

int orma_report_links_add_slice(struct orma_report_links *links, uint32_t row, uint32_t box,
				uint64_t *ret_stack)
{
	uintptr_t site = (uintptr_t)orma_base_map_get(&links->sites, row);
	if (links->boxes)
		links->boxes[row] = box + 1;
	*ret_stack = 0;
	return site > 0 ? number_stack(links, (int64_t)site - 1, ret_stack) : 0;
}

/* --- flows ----------------------------------------------------------------------------------- */

/* Finds the pairs of boxes: the first one is the upper half. */
static int find_pairs(const struct orma_report_links *links, struct orma_report_column *pairs)
{
	static const size_t columns[] = {ORMA_FLOW_SLICE_OUT, ORMA_FLOW_SLICE_IN};
	uint64_t slices = orma_store_table_rows(links->view->lanes[ORMA_VIEW_SLICES].table);
	struct orma_column_scan scan;
	int r = orma_column_scan_begin(&scan, &links->view->database->tables.all[ORMA_TABLE_FLOW],
				       columns, ORMA_ARRAY_SIZE(columns), 0);
	while (r == 0 && orma_column_scan_next(&scan)) {
		for (size_t i = 0; i < scan.row_count && r == 0; i++) {
			uint64_t from = (uint64_t)scan.cells[0][i], to = (uint64_t)scan.cells[1][i];
			if (from >= slices || to >= slices || links->boxes[from] == 0 ||
			    links->boxes[to] == 0)
				continue;
			r = orma_report_column_add(pairs, (uint64_t)(links->boxes[from] - 1) << 32 |
								  (links->boxes[to] - 1));
		}
	}
	orma_column_scan_done(&scan);
	return r;
}

static int compare_pairs(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Takes sorted pairs apart into the difference to the first box before, and the second box. */
static int split_pairs(const struct orma_report_column *pairs, struct orma_report_column *from,
		       struct orma_report_column *to)
{
	uint64_t before = 0;
	int r = 0;
	for (size_t i = 0; i < pairs->count && r == 0; i++) {
		uint64_t first = pairs->values[i] >> 32;
		r = orma_report_column_add(from, first - before);
		if (r == 0)
			r = orma_report_column_add(to, pairs->values[i] & UINT32_MAX);
		before = first;
	}
	return r;
}

int orma_report_links_write_flows(const struct orma_report_links *links, uint64_t max,
				  struct orma_buf *data, struct orma_buf *layout)
{
	struct orma_report_column pairs = {0}, from = {.name = "flow.from"},
				  to = {.name = "flow.to"};
	int r = links->boxes ? find_pairs(links, &pairs) : 0;
	if (pairs.count > 0)
		qsort(pairs.values, pairs.count, sizeof(*pairs.values), compare_pairs);
	if (r == 0)
		r = pairs.count > max ? -EFBIG : split_pairs(&pairs, &from, &to);
	if (r == 0)
		r = orma_report_column_write(&from, data, layout);
	if (r == 0)
		r = orma_report_column_write(&to, data, layout);
	orma_report_column_done(&pairs);
	orma_report_column_done(&from);
	orma_report_column_done(&to);
	return r;
}
