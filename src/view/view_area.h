/* SPDX-License-Identifier: Apache-2.0
 * view_area.h - what happened in a range of time on some of the page's rows, as tables.
 */
#ifndef ORMA_VIEW_VIEW_AREA_H
#define ORMA_VIEW_VIEW_AREA_H

#include "answers/sample.h"
#include "base/map.h"
#include "view/view_tracks.h"

/* Answers /api/area. Errors as of orma_view_fn. */
int orma_view_area(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		   struct orma_error *reterr);

struct orma_area {
	const struct orma_view *view;
	uint64_t start, end; /* [start, end), since the trace's start */
	uint8_t *is_chosen;  /* by node */
	bool is_whole;       /* all nodes are */
	bool is_by_thread;
};

/* Reads a request's range and nodes; `area->view` is set. The caller frees is_chosen in any case. Errors as of orma_view_fn. */
int orma_area_read(struct orma_area *area, struct orma_str body, struct orma_error *reterr);
/* The same for the members "before_start", "before_end" and "before_nodes". -ENODATA: there are none. */
int orma_area_read_before(struct orma_area *area, struct orma_str body, struct orma_error *reterr);

/*
 * Parts of a statement, in which "area" has the rows of the range, and t0 and t1, the begin and end of their parts in it. `lane`
 * is the column that has the lane.
 */
struct orma_area_statement {
	const char *select, *from, *group, *lane;
};

/* Appends the member "sql", the statement about the chosen lanes of a table. 0 or -ENOMEM. */
int orma_area_append_sql(const struct orma_area *area, enum orma_view_table table,
			 const struct orma_area_statement *statement, struct orma_buf *json);

/* The rows with one name, or of one thread, and of one state. */
struct orma_area_group {
	int64_t name; /* a cell, or the number of a state; -1 = the group has none */
	int64_t utid; /* -1 = of all threads */
	uint64_t count;
	double total, self;   /* in the range */
	double min, max, sum; /* they count whole durations that are known */
	uint64_t known;
	struct orma_sample durations;
};

/* {0} is empty. */
struct orma_area_groups {
	struct orma_area_group *items;
	uint32_t count, capacity;
	struct orma_map places; /* index + 1 by name and thread */
};

/* Adds up the rows of the chosen lanes of a table. 0 or -ENOMEM; `groups` is to be given to done() in any case. */
int orma_area_group_rows(const struct orma_area *area, enum orma_view_table table,
			 struct orma_area_groups *groups);
void orma_area_groups_done(struct orma_area_groups *groups);

#endif
