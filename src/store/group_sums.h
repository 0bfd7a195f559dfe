/* SPDX-License-Identifier: Apache-2.0
 * group_sums.h - how many rows of a table have each value of one column, and the sums of another column over them.
 */
#ifndef ORMA_STORE_GROUP_SUMS_H
#define ORMA_STORE_GROUP_SUMS_H

#include "store/table.h"

enum { ORMA_GROUP_SUMS_COLUMNS = 2 };

struct orma_group_sum {
	int64_t key;          /* a cell, which may be NULL */
	uint32_t rows, nulls; /* `nulls` of the rows have no number to be summed */
	int64_t sum, min,
		max; /* The numbers give these; the last two mean nothing when there are none. */
};

/* The rows are cut into runs of equal size. The sums of a run are in the order in which the rows have the keys first. */
struct orma_group_run {
	struct orma_group_sum *sums;
	size_t count; /* 0 = this run has none, because they would take too much memory or might overflow */
};

/* {0} is empty. The sums belong to a sealed table, which frees them when its cells change. */
struct orma_group_sums {
	size_t run_blocks;
	size_t run_count; /* rows behind the last run have no sums */
	size_t value;     /* the column of numbers */
	size_t keys[ORMA_GROUP_SUMS_COLUMNS], key_count;
	struct orma_group_run *runs[ORMA_GROUP_SUMS_COLUMNS];
	size_t bytes; /* the memory they take of the table's budget */
};

/*
 * Makes the sums of a sealed table. `keys` are up to ORMA_GROUP_SUMS_COLUMNS columns of numbers or strings. `value` is a column of
 * numbers, which are added up. Each run has `run_blocks` blocks; with 0, this function chooses how many.
 * A table gets no sums when some of its blocks lie in the spill file. When the memory budget is used up, the remaining runs get no sums. Returns 0 or -ENOMEM.
 */
int orma_store_table_sum(struct orma_table *table, const size_t *keys, size_t key_count,
			 size_t value, size_t run_blocks);
/* Frees the table's sums. */
void orma_store_table_forget_sums(struct orma_table *table);
/* Returns the number of a key column among those that have sums, or -1. */
int orma_store_group_sums_find(const struct orma_group_sums *sums, size_t key);

#endif
