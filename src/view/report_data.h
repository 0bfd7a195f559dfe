/* SPDX-License-Identifier: Apache-2.0
 * report_data.h - all boxes and points of a trace as columns, for a report that has no engine to ask. docs/report-format.md
 * describes them.
 */
#ifndef ORMA_VIEW_REPORT_DATA_H
#define ORMA_VIEW_REPORT_DATA_H

#include "view/view_state.h"

/* {0} is empty. */
struct orma_report_data {
	struct orma_buf bytes;  /* the columns, one behind the other */
	struct orma_buf layout; /* a JSON array with [name, width, count] of each column */
	uint64_t rows;          /* in the trace's tables */
	uint64_t boxes;         /* and points; fewer than the rows when some are joined */
};

/*
 * Makes the columns. At level 0 each row is a box; above, short rows are joined as orma_view_lane_boxes() says. 0, -EFBIG (more
 * than `max_boxes` boxes and points), -ENOMEM, or an error of the file that holds what is beyond the budget. In case of an error, too,
 * `ret` has to be emptied.
 */
int orma_report_data_make(struct orma_view *view, unsigned level, uint64_t max_boxes,
			  struct orma_report_data *ret);
void orma_report_data_done(struct orma_report_data *data);

#endif
