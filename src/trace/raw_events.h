/* SPDX-License-Identifier: Apache-2.0
 * raw_events.h - a row for each kernel event; those that rows of sched tell are made when somebody asks for the first one.
 */
#ifndef ORMA_TRACE_RAW_EVENTS_H
#define ORMA_TRACE_RAW_EVENTS_H

#include "trace/tables.h"

/* {.tables = ...} is empty. */
struct orma_raw_events {
	struct orma_tables *tables;
	/* The rows that are missing, but for the last of them; without columns until there is one. */
	struct orma_table gaps;
	struct orma_extents extents;     /* the gaps' */
	uint64_t first_told, told_count; /* the rows of sched that tell the last gap */
	uint64_t missing;                /* rows */
	int64_t switch_name;             /* cell */
	int error;                       /* made the rows useless */
};

void orma_raw_events_done(struct orma_raw_events *events);
/* Adds a row. 0, -ENOMEM or an error of spilling. */
int orma_raw_events_add(struct orma_raw_events *events,
			const int64_t cells[ORMA_FTRACE_EVENT_COLUMNS]);
int orma_raw_events_end_gap(struct orma_raw_events *events);
/* Notes that the next row is a compact switch, which a row of sched began with: the thread that stopped is that of the row of
 * sched before it on the CPU. Errors as above. */
static inline int orma_raw_events_tell(struct orma_raw_events *events, uint64_t sched_row)
{
	int r = 0;
	events->missing++;
	if (events->told_count > 0 && events->first_told + events->told_count != sched_row)
		r = orma_raw_events_end_gap(events);
	if (events->told_count == 0)
		events->first_told = sched_row;
	events->told_count++;
	return r;
}

/* Returns how many rows there are when all are made. */
uint64_t orma_raw_events_count(const struct orma_raw_events *events);
/* Makes the missing rows when the trace is read, and the table can be read then. 0 or an error as above. */
int orma_raw_events_finish(struct orma_raw_events *events);

#endif
