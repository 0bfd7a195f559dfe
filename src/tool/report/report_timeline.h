/* SPDX-License-Identifier: Apache-2.0
 * report_timeline.h - the part of a report that draws the trace: its data, as much of it as there is room for.
 */
#ifndef ORMA_TOOL_REPORT_TIMELINE_H
#define ORMA_TOOL_REPORT_TIMELINE_H

#include <stdbool.h>

#include "view/report_data.h"

/* A part of the trace that the page shows first, in nanoseconds since the trace's start. */
struct orma_report_range {
	uint64_t start, end; /* 0, 0 = none: the tables are shown first */
};

/* {0} is empty. */
struct orma_report_timeline {
	struct orma_buf meta; /* JSON, as a route of `orma view` answers */
	struct orma_report_data data;
	struct orma_buf blocks; /* elements with the data */
	uint32_t block_count;
	unsigned level; /* as of orma_report_data_make() */
	bool is_packed;
	bool is_there; /* there was room for it */
};

/*
 * Makes the timeline at the least level whose elements have no more than `max_bytes`, if there is one. `name` is what the
 * page calls the trace. 0 or a negative errno value.
 */
int orma_report_timeline_make(struct orma_trace_database *database, const char *name,
			      uint64_t max_bytes, struct orma_report_timeline *ret);
void orma_report_timeline_done(struct orma_report_timeline *timeline);
/* Appends a sentence about what was left out; nothing when all is there. 0 or -ENOMEM. */
int orma_report_timeline_append_missing(const struct orma_report_timeline *timeline,
					struct orma_buf *text);
/* Appends the elements that docs/report-format.md describes. 0 or -ENOMEM. */
int orma_report_timeline_append_data(const struct orma_report_timeline *timeline,
				     struct orma_report_range first, struct orma_buf *html);

#endif
