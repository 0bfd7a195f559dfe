/* SPDX-License-Identifier: Apache-2.0
 * column_scan.h - reads some columns of a table a block of rows at a time, for answers that look at every row.
 */
#ifndef ORMA_ANSWERS_COLUMN_SCAN_H
#define ORMA_ANSWERS_COLUMN_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "store/table.h"

enum { ORMA_COLUMN_SCAN_MAX = 8 };

/* {0} may be given to done(). */
struct orma_column_scan {
	const struct orma_table *table;
	const size_t *columns;
	size_t column_count;
	uint64_t first_row; /* the current block's */
	size_t row_count;
	const uint16_t *places; /* where the rows are in the block; NULL = all are read */
	const int64_t
		*cells[ORMA_COLUMN_SCAN_MAX]; /* the current block's, in the order of `columns` */
	/* The rest is the scan's. */
	size_t next_block;
	int64_t *buffer;
	const struct orma_column *filter;
	int64_t wanted;
};

/* Begins at a row's block. `columns` are borrowed. 0 or -ENOMEM. */
int orma_column_scan_begin(struct orma_column_scan *scan, const struct orma_table *table,
			   const size_t *columns, size_t column_count, uint64_t row);
/* Reads only the rows that have this cell in another column, and skips blocks without any. 0 or -ENOMEM. */
int orma_column_scan_begin_equal(struct orma_column_scan *scan, const struct orma_table *table,
				 const size_t *columns, size_t column_count, uint64_t row,
				 size_t filter, int64_t wanted);
void orma_column_scan_done(struct orma_column_scan *scan);
/* Reads the next block. False behind the last. */
bool orma_column_scan_next(struct orma_column_scan *scan);
/* Adds a length to a sum. Lengths come from a file, so the sum may wrap. */
static inline void orma_add_ns(int64_t *sum, int64_t ns)
{
	*sum = (int64_t)((uint64_t)*sum + (uint64_t)ns);
}
/* Returns the first row of a sorted column whose cell is not less than `cell`. */
uint64_t orma_column_lower_bound(const struct orma_column *column, int64_t cell);

#endif
