/* SPDX-License-Identifier: Apache-2.0
 * span_join.h - span_join, span_left_join and span_outer_join: where the spans of two tables overlap in time; and
 * __intrinsic_window, a table of equal spans.
 *
 * `create virtual table x using span_join(a partitioned c, b partitioned c)`. The spans of a table do not overlap within
 * a partition; this is not checked. Columns: ts, dur, the partition if there is one, the others of a, those of b.
 */
#ifndef ORMA_SQL_SPAN_JOIN_H
#define ORMA_SQL_SPAN_JOIN_H

struct orma_sql;

/* 0 or -ENOMEM. */
int orma_sql_add_span_joins(struct orma_sql *sql);
int orma_sql_add_window(struct orma_sql *sql);

#endif
