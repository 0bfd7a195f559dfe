/* SPDX-License-Identifier: Apache-2.0
 * row_sort.h - collects rows of a relation, and sorts them by columns.
 */
#ifndef ORMA_SQL_ROW_SORT_H
#define ORMA_SQL_ROW_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct orma_plan_order;
struct orma_relation;

struct orma_row_sort {
	const struct orma_relation *relation;
	const struct orma_plan_order *orders;
	size_t order_count;
	uint64_t limit; /* rows beyond this many are not wanted; UINT64_MAX = all are */
	uint32_t *rows;
	uint64_t *keys; /* for the first order; only while rows are dropped because of the limit */
	size_t count, capacity;
	uint64_t worst; /* a row with this key or a larger one cannot be among the first */
};

/* The relation has fewer than 2^32 rows. It and the orders outlive the sort. {0} may be given to done(). */
void orma_sql_row_sort_init(struct orma_row_sort *sort, const struct orma_relation *relation,
			    const struct orma_plan_order *orders, size_t order_count,
			    uint64_t limit);
void orma_sql_row_sort_done(struct orma_row_sort *sort);
/* True when add() wants the cell of the first order's column; else it may be anything. */
bool orma_sql_row_sort_needs_cell(const struct orma_row_sort *sort);
/* Rows are added in ascending order. 0 or -ENOMEM. */
int orma_sql_row_sort_add(struct orma_row_sort *sort, uint32_t row, int64_t cell);
/*
 * Sorts `rows`; rows with equal cells stay in the order of their numbers. NULL is the smallest. 0, -ENOMEM or an error of
 * a column.
 */
int orma_sql_row_sort_finish(struct orma_row_sort *sort);

#endif
