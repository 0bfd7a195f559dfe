/* SPDX-License-Identifier: Apache-2.0
 * view_row.h - a row of a table as a page knows it: the place of its box, and its name.
 */
#ifndef ORMA_VIEW_VIEW_ROW_H
#define ORMA_VIEW_VIEW_ROW_H

#include "view/view_state.h"

struct orma_view_row {
	enum orma_view_table table;
	uint32_t row;
	uint32_t lane, depth; /* the lane as on the wire */
	int64_t ts;           /* by the trace's clock */
	int64_t dur;          /* negative = it has no end */
	uint64_t start, end;  /* since the trace's start */
	int64_t name;  /* a cell; of a row of sched the thread's name, of a value its track's */
	bool is_shown; /* its lane is there */
};

/* The name of a table in requests and answers. */
const char *orma_view_table_name(enum orma_view_table table);

/* Reads a row that is there. */
struct orma_view_row orma_view_row_read(const struct orma_view *view, enum orma_view_table table,
					uint64_t row);
/* Finds the row that a request names with "table" and "id". 0, -ENOENT, -EINVAL or -ENOMEM. */
int orma_view_row_of_request(const struct orma_view *view, struct orma_str request,
			     struct orma_view_row *ret, struct orma_error *reterr);
/* Appends an object: table, id, start, end, dur, lane, depth and name. 0 or -ENOMEM. */
int orma_view_row_append(struct orma_buf *json, const struct orma_view *view,
			 const struct orma_view_row *row);

#endif
