/* SPDX-License-Identifier: Apache-2.0
 * cell_filter.h - a condition on one column, evaluated on a block of cells at a time.
 */
#ifndef ORMA_SQL_CELL_FILTER_H
#define ORMA_SQL_CELL_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/pack.h"

struct orma_text_match;

enum orma_filter_kind {
	ORMA_FILTER_ALL,     /* all rows */
	ORMA_FILTER_NONE,    /* no row */
	ORMA_FILTER_IS_NULL, /* these two also of doubles */
	ORMA_FILTER_NOT_NULL,
	ORMA_FILTER_RANGE,     /* low <= cell <= high, and not NULL */
	ORMA_FILTER_NOT_EQUAL, /* not NULL and not `low` */
	ORMA_FILTER_OTHER,     /* `is not low`: NULL, or another value */
	ORMA_FILTER_SET,       /* one of `set` */
	ORMA_FILTER_DOUBLE,    /* double_low <= value <= double_high */
	ORMA_FILTER_DOUBLE_NOT_EQUAL,
	ORMA_FILTER_DOUBLE_OTHER,
	ORMA_FILTER_DOUBLE_SET, /* `set` has the bits of doubles */
	ORMA_FILTER_TEXT,       /* `match` says whether the string fits */
};

struct orma_filter {
	enum orma_filter_kind kind;
	size_t column_idx;
	bool is_double; /* the column's type */
	int64_t low, high;
	double double_low, double_high;
	int64_t *set; /* ascending as integers, without NULL; the filter's */
	size_t set_count;
	uint64_t *set_bits; /* one for each value from low to high, when those are not many */
	struct orma_text_match *match; /* the filter's */
};

void orma_sql_filter_done(struct orma_filter *filter);
/* The values, in any order, become the filter's set, which frees them. 0 or -ENOMEM. */
int orma_sql_filter_use_set(struct orma_filter *filter, int64_t *set, size_t count);

/*
 * Writes which cells fit to `ret`, ascending, and returns how many do. `cells` has all cells of the block. `among`
 * names the `count` ones to look at; NULL = the first `count`. `ret` may be `among`. Or a negative errno value.
 */
int orma_sql_filter_block(const struct orma_filter *filter, const int64_t *cells,
			  const uint16_t *among, size_t count, uint16_t *ret);
/* Returns 1, 0 or a negative errno value. */
int orma_sql_filter_cell(const struct orma_filter *filter, int64_t cell);
/* False when no cell of a block with this range can fit. */
bool orma_sql_filter_may_fit(const struct orma_filter *filter, int64_t min, int64_t max);

#endif
