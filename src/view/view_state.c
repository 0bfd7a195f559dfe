/* SPDX-License-Identifier: Apache-2.0
 * view_state.c - makes the lanes of a trace, once for all answers.
 *
 * All of it is made when the trace is loaded, on the thread that asks SQL, although a page may never show a table: then the loop's
 * thread only reads, and nothing needs a lock. 8 M slices take 70 ms.
 */
#include "view/view_state.h"

#include <errno.h>

#include "answers/column_scan.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "view/view_tracks.h"

static const struct orma_lane_spec specs[ORMA_VIEW_TABLES] = {
	[ORMA_VIEW_SLICES] = {.table = ORMA_TABLE_SLICE,
			      .keys = ORMA_TABLE_TRACK,
			      .ts = ORMA_SLICE_TS,
			      .key = ORMA_SLICE_TRACK_ID,
			      .dur = ORMA_SLICE_DUR,
			      .depth = ORMA_SLICE_DEPTH,
			      .value = ORMA_LANE_NO_COLUMN},
	[ORMA_VIEW_STATES] = {.table = ORMA_TABLE_STATE,
			      .keys = ORMA_TABLE_TRACK,
			      .ts = ORMA_STATE_TS,
			      .key = ORMA_STATE_TRACK_ID,
			      .dur = ORMA_STATE_DUR,
			      .depth = ORMA_LANE_NO_COLUMN,
			      .value = ORMA_LANE_NO_COLUMN},
	[ORMA_VIEW_SCHED] = {.table = ORMA_TABLE_SCHED,
			     .keys = ORMA_TABLE_CPU,
			     .ts = ORMA_SCHED_TS,
			     .key = ORMA_SCHED_UCPU,
			     .dur = ORMA_SCHED_DUR,
			     .depth = ORMA_LANE_NO_COLUMN,
			     .value = ORMA_LANE_NO_COLUMN},
	[ORMA_VIEW_THREAD_STATES] = {.table = ORMA_TABLE_THREAD_STATE,
				     .keys = ORMA_TABLE_THREAD,
				     .ts = ORMA_THREAD_STATE_TS,
				     .key = ORMA_THREAD_STATE_UTID,
				     .dur = ORMA_THREAD_STATE_DUR,
				     .depth = ORMA_LANE_NO_COLUMN,
				     .value = ORMA_LANE_NO_COLUMN},
	[ORMA_VIEW_COUNTERS] = {.table = ORMA_TABLE_COUNTER,
				.keys = ORMA_TABLE_TRACK,
				.ts = ORMA_COUNTER_TS,
				.key = ORMA_COUNTER_TRACK_ID,
				.dur = ORMA_LANE_NO_COLUMN,
				.depth = ORMA_LANE_NO_COLUMN,
				.value = ORMA_COUNTER_VALUE},
};

static int make_lanes(struct orma_view *view)
{
	uint64_t next = 0;
	for (size_t i = 0; i < ORMA_VIEW_TABLES; i++) {
		int r = orma_lanes_init(&view->lanes[i], &view->database->tables, &specs[i],
					view->database->start_ns, view->database->end_ns);
		if (r < 0)
			return r;
		view->first_lanes[i] = (uint32_t)next;
		next += view->lanes[i].lane_count;
	}
	view->first_lanes[ORMA_VIEW_TABLES] = (uint32_t)next;
	return next > UINT32_MAX ? -EOVERFLOW : 0;
}

/* Rows of one state follow each other often enough that the list is short to search. */
static void add_thread_state(struct orma_view *view, int64_t state, bool is_io_wait)
{
	for (uint32_t i = view->thread_state_count; i-- > 0;)
		if (view->thread_states[i].state == state &&
		    view->thread_states[i].is_io_wait == is_io_wait)
			return;
	if (view->thread_state_count < ORMA_VIEW_THREAD_STATES_MAX)
		view->thread_states[view->thread_state_count++] =
			(struct orma_view_thread_state){state, is_io_wait};
}

static int find_thread_states(struct orma_view *view)
{
	static const size_t columns[] = {ORMA_THREAD_STATE_STATE, ORMA_THREAD_STATE_IO_WAIT};
	const struct orma_table *table = &view->database->tables.all[ORMA_TABLE_THREAD_STATE];
	struct orma_column_scan scan;
	int r = orma_column_scan_begin(&scan, table, columns, ORMA_ARRAY_SIZE(columns), 0);
	/* The first is what a row is shown as that is one too many. */
	view->thread_states[view->thread_state_count++].state = ORMA_CELL_NULL;
	while (r == 0 && orma_column_scan_next(&scan))
		for (size_t i = 0; i < scan.row_count; i++)
			add_thread_state(view, scan.cells[0][i], scan.cells[1][i] == 1);
	orma_column_scan_done(&scan);
	return r;
}

uint32_t orma_view_thread_state_of(const struct orma_view *view, uint64_t row)
{
	const struct orma_column *columns =
		view->database->tables.all[ORMA_TABLE_THREAD_STATE].columns;
	int64_t state = orma_store_column_get(&columns[ORMA_THREAD_STATE_STATE], row);
	bool is_io_wait = orma_store_column_get(&columns[ORMA_THREAD_STATE_IO_WAIT], row) == 1;
	for (uint32_t i = 0; i < view->thread_state_count; i++)
		if (view->thread_states[i].state == state &&
		    view->thread_states[i].is_io_wait == is_io_wait)
			return i;
	return 0;
}

static int copy_strings(struct orma_view *view)
{
	const struct orma_string_pool *pool = &view->database->tables.strings;
	view->strings.strings =
		orma_base_alloc_array((size_t)pool->count + 1, sizeof(*pool->strings));
	if (!view->strings.strings)
		return -ENOMEM;
	if (pool->count > 0)
		memcpy(view->strings.strings, pool->strings, pool->count * sizeof(*pool->strings));
	view->strings.count = pool->count;
	return 0;
}

int orma_view_state_init(struct orma_view *view)
{
	int r = orma_thread_states_finish(&view->database->importer.sched.states);
	if (r == 0)
		r = make_lanes(view);
	if (r == 0)
		r = find_thread_states(view);
	if (r == 0)
		r = copy_strings(view);
	return r == 0 ? orma_view_tracks_init(view) : r;
}

void orma_view_state_done(struct orma_view *view)
{
	for (size_t i = 0; i < ORMA_VIEW_TABLES; i++)
		orma_lanes_done(&view->lanes[i]);
	orma_view_tracks_done(view);
	orma_base_free(view->strings.strings);
	view->strings = (struct orma_string_pool){0};
}

const struct orma_lanes *orma_view_find_lane(const struct orma_view *view, uint32_t lane,
					     enum orma_view_table *ret_table, uint32_t *ret_lane)
{
	for (unsigned i = 0; i < ORMA_VIEW_TABLES; i++)
		if (lane < view->first_lanes[i + 1]) {
			*ret_table = (enum orma_view_table)i;
			*ret_lane = lane - view->first_lanes[i];
			return &view->lanes[i];
		}
	return NULL;
}
