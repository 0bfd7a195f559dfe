/* SPDX-License-Identifier: Apache-2.0
 * counter_groups.h - the values of each counter at a glance: least, largest, first, last, mean, and a line of some points.
 */
#ifndef ORMA_ANSWERS_COUNTER_GROUPS_H
#define ORMA_ANSWERS_COUNTER_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct orma_trace_database;

enum { ORMA_COUNTER_POINTS = 24 };

struct orma_counter_group {
	uint64_t count; /* values; 0 = the track is no counter, or has no value */
	uint64_t changes;
	double min, max, first, last, sum;
	double *points; /* the last value in each part of the trace; NaN before the first; NULL = not chosen */
	bool is_chosen;
};

/* {0} is empty. */
struct orma_counter_groups {
	struct orma_counter_group *tracks; /* by the track's row */
	size_t track_count;
	uint64_t values;
};

/* 0 or -ENOMEM; `ret` is to be given to done() in any case. */
int orma_counter_groups_read(struct orma_trace_database *database, struct orma_counter_groups *ret);
/* Makes the points of the counters that are chosen. 0 or -ENOMEM. */
int orma_counter_groups_draw(struct orma_trace_database *database,
			     struct orma_counter_groups *groups);
void orma_counter_groups_done(struct orma_counter_groups *groups);

#endif
