/* SPDX-License-Identifier: Apache-2.0
 * event_rows.h - slices, instants, counters, states, kernel events and log entries as one list in the order of time.
 */
#ifndef ORMA_ANSWERS_EVENT_ROWS_H
#define ORMA_ANSWERS_EVENT_ROWS_H

#include <stdbool.h>

#include "trace/tables.h"

enum orma_event_kind {
	ORMA_KIND_SLICE,
	ORMA_KIND_INSTANT,
	ORMA_KIND_COUNTER,
	ORMA_KIND_STATE,
	ORMA_KIND_KERNEL,
	ORMA_KIND_LOG,
	ORMA_EVENT_KINDS
};

/* Strings are cells; numbers of threads, processes and CPUs are -1 when there is none. */
struct orma_event_row {
	enum orma_event_kind kind;
	uint64_t row;
	int64_t ts;
	int64_t dur; /* -1 = it has no end, or not yet */
	int64_t name, category;
	int64_t utid, upid, cpu;
	double value;    /* a counter's */
	int64_t unit;    /* a counter's */
	int64_t text;    /* a state's value, a log entry's message */
	int64_t arg_set; /* ORMA_CELL_NULL = no arguments */
};

enum { ORMA_EVENT_TABLES = 5 };

/* Reads a row of one of the tables of events. */
void orma_event_row_read(const struct orma_tables *tables, enum orma_table_id table, uint64_t row,
			 struct orma_event_row *ret);

struct orma_event_walk {
	const struct orma_tables *tables;
	uint64_t next[ORMA_EVENT_TABLES], end[ORMA_EVENT_TABLES];
	int64_t ts[ORMA_EVENT_TABLES]; /* when the next rows are */
};

/* Goes through the events of [from_ns, to_ns] of some kinds (bits by kind). */
void orma_event_walk_begin(struct orma_event_walk *walk, const struct orma_tables *tables,
			   int64_t from_ns, int64_t to_ns, unsigned kinds);
/* Reads the next event. False at the end. */
bool orma_event_walk_next(struct orma_event_walk *walk, struct orma_event_row *ret);

#endif
