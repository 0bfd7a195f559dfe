/* SPDX-License-Identifier: Apache-2.0
 * report_events.h - the boxes of a report, in the order of time, as packets.
 */
#ifndef ORMA_FORMATS_REPORT_EVENTS_H
#define ORMA_FORMATS_REPORT_EVENTS_H

#include "formats/ftrace_output.h"
#include "formats/report_tree.h"

struct orma_report_events {
	const struct orma_report_file *file;
	struct orma_report_tree *tree;
	struct orma_packet_output *output;
	struct orma_ftrace_output ftrace;
	struct orma_map strip_lines; /* the line of a thread's states + 1, by utid + 1 */
	/* Where a box of scheduling begins and none is before it: the line of the states of the thread that stopped, + 1, by the box + 1;
	 * and the boxes of the states that began with it, + 1. */
	struct orma_map stopped_by_box, stopped_states;
	int64_t *state_numbers;  /* prev_state of each state */
	uint8_t *flow_states;    /* by flow: which of its ends are written */
	struct orma_arena arena; /* for the arguments or the stack of one event */
	int64_t start_ns;        /* the trace's start */
};

/* Writes all boxes. 0 or the first error. */
int orma_report_events_write(struct orma_report_events *events);

/* An event of a line. At one time, lower numbers come first. */
enum orma_report_moment { ORMA_REPORT_END, ORMA_REPORT_WAKE, ORMA_REPORT_BEGIN };

/* Finds what the scheduling of the whole report needs, when the strips are known. 0 or -ENOMEM. */
int orma_report_sched_begin(struct orma_report_events *events, unsigned kernel_version);
void orma_report_sched_done(struct orma_report_events *events);
/* A box of scheduling begins or ends; a strip of states has a new one. */
int orma_report_write_switch(struct orma_report_events *events, const struct orma_report_line *line,
			     uint32_t box, enum orma_report_moment moment);
int orma_report_write_waking(struct orma_report_events *events, const struct orma_report_line *line,
			     uint32_t box);

/* Parts of the open event of a slice. */
void orma_report_write_flows(struct orma_report_events *events, uint32_t box,
			     enum orma_report_moment moment);
int orma_report_write_stack(struct orma_report_events *events, uint32_t box);

/* The end of a box, since the trace's start. */
static inline uint64_t orma_report_end_of(const struct orma_report_file *file,
					  enum orma_report_table table, uint32_t box)
{
	return file->starts[table][box] +
	       orma_report_file_get(file, table, ORMA_REPORT_LENGTH, box);
}

#endif
