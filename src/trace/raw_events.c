/* SPDX-License-Identifier: Apache-2.0
 * raw_events.c - the table of kernel events, with gaps while a trace is read.
 *
 * A compact switch becomes a row of sched and a row here, which says the same once more: the time, the CPU and, as the row of
 * sched before it on that CPU, the thread that stopped. Few questions need it. So such a row is left out while a trace is
 * read, and only where it belongs is noted. Invariants: the rows of the table are in the order of time, without those of the gaps; a gap
 * (row, first, count) says that before this row `count` rows belong, told by the rows of sched from `first` on, one each; the last gap is
 * not yet among `gaps` when `told_count` is not 0. A switch that the rows of sched do not tell has a row of its own, and so has all else,
 * so a trace without compact switches has no gaps.
 *
 * The table is written anew when it is asked for. The rows that it had before keep their memory until the trace is closed,
 * because extents never shrink. A trace that consists of switches had hardly any such rows.
 */
#include "trace/raw_events.h"

#include <errno.h>

#include "base/alloc.h"
#include "store/grow.h"
#include "trace/row_reader.h"

enum { GAP_ROW, GAP_FIRST, GAP_COUNT, GAP_COLUMNS };
static const struct orma_column_spec gap_columns[GAP_COLUMNS] = {
	[GAP_ROW] = {"row", ORMA_COLUMN_INT, ORMA_COLUMN_SORTED},
	[GAP_FIRST] = {"first", ORMA_COLUMN_INT, ORMA_COLUMN_SORTED},
	[GAP_COUNT] = {"count", ORMA_COLUMN_INT, 0},
};
static const size_t all_gap_columns[GAP_COLUMNS] = {GAP_ROW, GAP_FIRST, GAP_COUNT};

enum { SCHED_TS, SCHED_UTID, SCHED_UCPU, SCHED_COLUMNS };
static const size_t sched_columns[SCHED_COLUMNS] = {ORMA_SCHED_TS, ORMA_SCHED_UTID,
						    ORMA_SCHED_UCPU};

static const size_t all_columns[ORMA_FTRACE_EVENT_COLUMNS] = {
	ORMA_FTRACE_EVENT_TS,         ORMA_FTRACE_EVENT_NAME,         ORMA_FTRACE_EVENT_UTID,
	ORMA_FTRACE_EVENT_ARG_SET_ID, ORMA_FTRACE_EVENT_COMMON_FLAGS, ORMA_FTRACE_EVENT_UCPU,
	ORMA_FTRACE_EVENT_PACKET,     ORMA_FTRACE_EVENT_OFFSET,
};

static struct orma_table *table_of(const struct orma_raw_events *events)
{
	return &events->tables->all[ORMA_TABLE_FTRACE_EVENT];
}

static void forget_gaps(struct orma_raw_events *events)
{
	if (events->gaps.columns) {
		orma_store_table_done(&events->gaps);
		orma_store_extents_done(&events->extents);
	}
	events->told_count = events->missing = 0;
}

void orma_raw_events_done(struct orma_raw_events *events)
{
	forget_gaps(events);
}

int orma_raw_events_end_gap(struct orma_raw_events *events)
{
	int64_t cells[GAP_COLUMNS] = {
		[GAP_ROW] = (int64_t)orma_store_table_rows(table_of(events)),
		[GAP_FIRST] = (int64_t)events->first_told,
		[GAP_COUNT] = (int64_t)events->told_count,
	};
	if (!events->gaps.columns) {
		events->extents =
			(struct orma_extents){.fd = -1, .budget = &events->tables->budget};
		int r = orma_store_table_init(&events->gaps, "gaps", gap_columns, GAP_COLUMNS,
					      &events->extents);
		if (r < 0)
			return r;
	}
	events->told_count = 0;
	return orma_store_table_append(&events->gaps, cells);
}

int orma_raw_events_add(struct orma_raw_events *events,
			const int64_t cells[ORMA_FTRACE_EVENT_COLUMNS])
{
	int r = events->told_count > 0 ? orma_raw_events_end_gap(events) : 0;
	return r < 0 ? r : orma_store_table_append(table_of(events), cells);
}

uint64_t orma_raw_events_count(const struct orma_raw_events *events)
{
	return orma_store_table_rows(table_of(events)) + events->missing;
}

struct filling {
	struct orma_raw_events *events;
	struct orma_table whole;
	struct orma_row_reader rows, gaps, sched;
	int64_t *utids; /* by ucpu: the thread of the last row of sched */
	uint32_t cpu_count;
};

/* Moves the rows up to one that are there already. */
static int add_rows(struct filling *filling, uint64_t end)
{
	int64_t cells[ORMA_FTRACE_EVENT_COLUMNS];
	int r = 0;
	for (; r == 0 && filling->rows.next < end; filling->rows.next++) {
		const int64_t *row = orma_row_reader_peek(&filling->rows);
		for (size_t i = 0; i < ORMA_FTRACE_EVENT_COLUMNS; i++)
			cells[i] = ORMA_ROW_CELL(row, i);
		r = orma_store_table_append(&filling->whole, cells);
	}
	return r;
}

static int add_told(struct filling *filling, const int64_t *row)
{
	int64_t ucpu = ORMA_ROW_CELL(row, SCHED_UCPU);
	int64_t cells[ORMA_FTRACE_EVENT_COLUMNS] = {
		[ORMA_FTRACE_EVENT_TS] = ORMA_ROW_CELL(row, SCHED_TS),
		[ORMA_FTRACE_EVENT_NAME] = filling->events->switch_name,
		[ORMA_FTRACE_EVENT_UTID] = filling->utids[ucpu],
		[ORMA_FTRACE_EVENT_ARG_SET_ID] = ORMA_CELL_NULL,
		[ORMA_FTRACE_EVENT_COMMON_FLAGS] = 0,
		[ORMA_FTRACE_EVENT_UCPU] = ucpu,
		[ORMA_FTRACE_EVENT_PACKET] = ORMA_CELL_NULL,
		[ORMA_FTRACE_EVENT_OFFSET] = ORMA_CELL_NULL,
	};
	return orma_store_table_append(&filling->whole, cells);
}

/* Goes through rows of sched up to one, and makes the rows that those from `first` on tell. */
static int follow_sched(struct filling *filling, uint64_t first, uint64_t end)
{
	int r = 0;
	for (; r == 0 && filling->sched.next < end; filling->sched.next++) {
		const int64_t *row = orma_row_reader_peek(&filling->sched);
		uint64_t cpus = (uint64_t)ORMA_ROW_CELL(row, SCHED_UCPU) + 1;
		if (cpus > filling->cpu_count)
			r = orma_store_grow(&filling->utids, cpus, &filling->cpu_count,
					    sizeof(*filling->utids));
		if (r == 0 && filling->sched.next >= first)
			r = add_told(filling, row);
		if (r == 0)
			filling->utids[cpus - 1] = ORMA_ROW_CELL(row, SCHED_UTID);
	}
	return r;
}

static int fill_gaps(struct filling *filling)
{
	const int64_t *gap;
	int r = 0;
	while (r == 0 && (gap = orma_row_reader_peek(&filling->gaps))) {
		uint64_t first = (uint64_t)ORMA_ROW_CELL(gap, GAP_FIRST);
		r = add_rows(filling, (uint64_t)ORMA_ROW_CELL(gap, GAP_ROW));
		if (r == 0)
			r = follow_sched(filling, first,
					 first + (uint64_t)ORMA_ROW_CELL(gap, GAP_COUNT));
		filling->gaps.next++;
	}
	if (r == 0)
		r = add_rows(filling, filling->rows.count);
	return r < 0 ? r : orma_store_table_seal(&filling->whole);
}

/* The columns stay where they are: relations refer to them. */
static void replace_columns(struct orma_table *table, struct orma_table *whole)
{
	for (size_t i = 0; i < table->column_count; i++) {
		struct orma_column old = table->columns[i];
		table->columns[i] = whole->columns[i];
		whole->columns[i] = old;
	}
}

static int make_all(struct orma_raw_events *events)
{
	struct orma_table *table = table_of(events),
			  *sched = &events->tables->all[ORMA_TABLE_SCHED];
	struct filling filling = {.events = events};
	int r = orma_raw_events_end_gap(events);
	if (r == 0)
		r = orma_store_table_seal(table);
	if (r == 0)
		r = orma_store_table_seal(sched);
	if (r == 0)
		r = orma_store_table_seal(&events->gaps);
	if (r == 0)
		r = orma_store_table_init(&filling.whole, table->name, table->specs,
					  table->column_count, &events->tables->extents);
	if (r == 0)
		r = orma_row_reader_begin(&filling.rows, table, all_columns,
					  ORMA_FTRACE_EVENT_COLUMNS);
	if (r == 0)
		r = orma_row_reader_begin(&filling.gaps, &events->gaps, all_gap_columns,
					  GAP_COLUMNS);
	if (r == 0)
		r = orma_row_reader_begin(&filling.sched, sched, sched_columns, SCHED_COLUMNS);
	if (r == 0)
		r = fill_gaps(&filling);
	if (r == 0)
		replace_columns(table, &filling.whole);
	orma_row_reader_done(&filling.rows);
	orma_row_reader_done(&filling.gaps);
	orma_row_reader_done(&filling.sched);
	orma_store_table_done(&filling.whole);
	orma_base_free(filling.utids);
	return r;
}

int orma_raw_events_finish(struct orma_raw_events *events)
{
	if (events->missing == 0 || events->error < 0)
		return events->error;
	events->error = make_all(events);
	forget_gaps(events);
	return events->error;
}
