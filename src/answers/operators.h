/* SPDX-License-Identifier: Apache-2.0
 * operators.h - the operators that the modules of SQL are made of; see sql/row_operator.h. None is for users' queries.
 */
#ifndef ORMA_ANSWERS_OPERATORS_H
#define ORMA_ANSWERS_OPERATORS_H

#include "sql/row_operator.h"

/*
 * __intrinsic_interval_intersect(rows(id, ts, dur, partition...), ...): where intervals of all tables overlap, within
 * partitions of equal values.
 */
extern const struct orma_row_operator orma_interval_intersect;
/* __intrinsic_interval_create(rows(ts), rows(ts)): from each start to the first end behind it. Both are sorted. */
extern const struct orma_row_operator orma_interval_create;
/* __intrinsic_counter_intervals(end, rows(id, ts, track_id, value)): from each value to the track's next. Sorted by ts. */
extern const struct orma_row_operator orma_counter_intervals;

struct orma_sql;

/* Operators that need no trace. 0 or -ENOMEM. */
int orma_operators_add(struct orma_sql *sql);

#endif
