/* SPDX-License-Identifier: Apache-2.0
 * slice_causes.c - one pass over the states of all threads, for all slices that are asked about together.
 *
 * A wake-up is in the state that follows the blocked one: runnable, with the waker. So the length of a thread's last blocked
 * state is kept until the next one of the thread says who ended it.
 */
#include "answers/slice_causes.h"

#include <errno.h>

#include "answers/column_scan.h"
#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/macros.h"

/* --- slices below another one -------------------------------------------------------------------- */

struct child_name {
	int64_t name, ns;
	uint64_t count;
};

enum { CHILD_NAMES_MAX = 64 };

static void add_child(struct child_name *names, int64_t name, int64_t ns)
{
	size_t i = 0;
	while (i < CHILD_NAMES_MAX && names[i].count > 0 && names[i].name != name)
		i++;
	if (i == CHILD_NAMES_MAX)
		return;
	names[i].name = name;
	orma_add_ns(&names[i].ns, ns);
	names[i].count++;
}

/* Children come behind their parent, and begin before it ends. */
static int find_children(struct orma_trace_database *database, struct orma_slice_cause *cause)
{
	static const size_t columns[] = {ORMA_SLICE_PARENT_ID, ORMA_SLICE_TS, ORMA_SLICE_DUR,
					 ORMA_SLICE_NAME};
	struct child_name names[CHILD_NAMES_MAX] = {{0}};
	struct orma_column_scan scan;
	bool is_behind = false;
	int r = orma_column_scan_begin(&scan, &database->tables.all[ORMA_TABLE_SLICE], columns,
				       ORMA_ARRAY_SIZE(columns), cause->row);
	while (r == 0 && !is_behind && orma_column_scan_next(&scan)) {
		for (size_t i = 0; i < scan.row_count; i++)
			if (scan.cells[0][i] == (int64_t)cause->row)
				add_child(names, scan.cells[3][i],
					  ORMA_MAX(scan.cells[2][i], (int64_t)0));
		is_behind = scan.cells[1][scan.row_count - 1] > cause->ts + cause->length_ns;
	}
	orma_column_scan_done(&scan);
	cause->child_name = ORMA_CELL_NULL;
	for (size_t i = 0; i < CHILD_NAMES_MAX && names[i].count > 0; i++)
		if (names[i].ns > cause->child_ns) {
			cause->child_name = names[i].name;
			cause->child_ns = names[i].ns;
			cause->child_count = names[i].count;
		}
	return r;
}

/* --- states of the thread --------------------------------------------------------------------- */

enum state_kind { STATE_OTHER, STATE_RUNNING, STATE_RUNNABLE, STATE_ASLEEP, STATE_UNINTERRUPTIBLE };

static enum state_kind kind_of(struct orma_str state)
{
	if (orma_base_str_is(state, "Running"))
		return STATE_RUNNING;
	switch (state.size > 0 ? state.data[0] : 0) {
	case 'R':
		return STATE_RUNNABLE;
	case 'S':
	case 'I':
		return STATE_ASLEEP;
	case 'D':
		return STATE_UNINTERRUPTIBLE;
	default:
		return STATE_OTHER;
	}
}

/* Adds to the part with the key. A slice with more parts than there is room for forgets the last ones. */
static void add_part(struct orma_cause_part *parts, int64_t key, int64_t ns)
{
	size_t i = 0;
	while (i < ORMA_CAUSE_WAKERS_MAX && parts[i].ns > 0 && parts[i].key != key)
		i++;
	if (i == ORMA_CAUSE_WAKERS_MAX || ns <= 0)
		return;
	parts[i].key = key;
	parts[i].ns += ns;
}

static const struct orma_cause_part *largest_part(const struct orma_cause_part *parts)
{
	const struct orma_cause_part *ret = parts;
	for (size_t i = 1; i < ORMA_CAUSE_WAKERS_MAX; i++)
		if (parts[i].ns > ret->ns)
			ret = &parts[i];
	return ret;
}

static const size_t state_columns[] = {
	ORMA_THREAD_STATE_TS,         ORMA_THREAD_STATE_DUR,     ORMA_THREAD_STATE_UTID,
	ORMA_THREAD_STATE_STATE,      ORMA_THREAD_STATE_IO_WAIT, ORMA_THREAD_STATE_BLOCKED_FUNCTION,
	ORMA_THREAD_STATE_WAKER_UTID,
};
enum { TS, DUR, UTID, STATE, IO_WAIT, FUNCTION, WAKER, STATE_COLUMNS };

static void add_blocked(struct orma_slice_cause *cause, const struct orma_column_scan *scan,
			size_t i, int64_t ns)
{
	int64_t function = scan->cells[FUNCTION][i];
	if (function != ORMA_CELL_NULL)
		add_part(cause->functions, function, ns);
	cause->last_blocked_ns = ns;
}

static void add_state(struct orma_trace_database *database, struct orma_slice_cause *cause,
		      const struct orma_column_scan *scan, size_t i)
{
	int64_t ts = scan->cells[TS][i], dur = scan->cells[DUR][i];
	int64_t end = dur < 0 ? database->end_ns : ts + dur;
	int64_t slice_end = cause->ts + cause->length_ns;
	int64_t ns = ORMA_MIN(end, slice_end) - ORMA_MAX(ts, cause->ts);
	if (ts > slice_end || ns < 0)
		return;
	cause->has_states = true;
	enum state_kind kind = kind_of(orma_trace_database_text(database, scan->cells[STATE][i]));
	/* The first state behind a blocked one tells the waker, if any does. */
	if (cause->last_blocked_ns > 0 && scan->cells[WAKER][i] != ORMA_CELL_NULL)
		add_part(cause->wakers, scan->cells[WAKER][i], cause->last_blocked_ns);
	cause->last_blocked_ns = 0;
	if (kind == STATE_RUNNING) {
		cause->running_ns += ns;
	} else if (kind == STATE_RUNNABLE) {
		cause->runnable_ns += ns;
	} else if (kind == STATE_ASLEEP) {
		cause->asleep_ns += ns;
		add_blocked(cause, scan, i, ns);
	} else if (kind == STATE_UNINTERRUPTIBLE) {
		cause->uninterruptible_ns += ns;
		cause->io_ns += scan->cells[IO_WAIT][i] == 1 ? ns : 0;
		add_blocked(cause, scan, i, ns);
	}
}

static int find_states(struct orma_trace_database *database, struct orma_slice_cause *causes,
		       size_t count)
{
	struct orma_column_scan scan;
	int r = orma_thread_states_finish(&database->importer.sched.states);
	if (r == 0)
		r = orma_column_scan_begin(&scan, &database->tables.all[ORMA_TABLE_THREAD_STATE],
					   state_columns, STATE_COLUMNS, 0);
	if (r < 0)
		return r;
	while (r == 0 && orma_column_scan_next(&scan))
		for (size_t i = 0; i < scan.row_count; i++)
			for (size_t k = 0; k < count; k++)
				if (causes[k].utid == scan.cells[UTID][i])
					add_state(database, &causes[k], &scan, i);
	orma_column_scan_done(&scan);
	for (size_t k = 0; k < count; k++) {
		const struct orma_cause_part *waker = largest_part(causes[k].wakers),
					     *function = largest_part(causes[k].functions);
		causes[k].waker_utid = waker->ns > 0 ? waker->key : -1;
		causes[k].woken_ns = waker->ns;
		causes[k].blocked_function = function->ns > 0 ? function->key : ORMA_CELL_NULL;
		causes[k].blocked_function_ns = function->ns;
	}
	return r;
}

static void find_slice(struct orma_trace_database *database, struct orma_slice_cause *cause)
{
	const struct orma_table *slices = &database->tables.all[ORMA_TABLE_SLICE];
	uint64_t track =
		(uint64_t)orma_store_column_get(&slices->columns[ORMA_SLICE_TRACK_ID], cause->row);
	int64_t dur = orma_store_column_get(&slices->columns[ORMA_SLICE_DUR], cause->row);
	cause->ts = orma_store_column_get(&slices->columns[ORMA_SLICE_TS], cause->row);
	cause->length_ns = dur >= 0 ? dur : ORMA_MAX(database->end_ns - cause->ts, (int64_t)0);
	cause->utid = orma_trace_database_cell(database, ORMA_TABLE_TRACK, ORMA_TRACK_UTID, track);
	cause->upid = orma_trace_database_cell(database, ORMA_TABLE_TRACK, ORMA_TRACK_UPID, track);
	if (cause->utid == ORMA_CELL_NULL)
		cause->utid = -1;
	else
		cause->upid = orma_trace_database_cell(database, ORMA_TABLE_THREAD,
						       ORMA_THREAD_UPID, (uint64_t)cause->utid);
	if (cause->upid == ORMA_CELL_NULL)
		cause->upid = -1;
}

int orma_slice_causes_find(struct orma_trace_database *database, struct orma_slice_cause *causes,
			   size_t count)
{
	int r = 0;
	for (size_t i = 0; i < count && r == 0; i++) {
		causes[i] = (struct orma_slice_cause){.row = causes[i].row};
		find_slice(database, &causes[i]);
		r = find_children(database, &causes[i]);
	}
	return r == 0 ? find_states(database, causes, count) : r;
}
