/* SPDX-License-Identifier: Apache-2.0
 * column_scan.c - unpacks a block of each column into a buffer.
 */
#include "answers/column_scan.h"

#include <errno.h>

#include "base/alloc.h"

int orma_column_scan_begin(struct orma_column_scan *scan, const struct orma_table *table,
			   const size_t *columns, size_t column_count, uint64_t row)
{
	*scan = (struct orma_column_scan){.table = table,
					  .columns = columns,
					  .column_count = column_count,
					  .next_block = (size_t)(row >> ORMA_BLOCK_SHIFT)};
	scan->buffer = orma_base_alloc(column_count * ORMA_BLOCK_ROWS * sizeof(*scan->buffer));
	return scan->buffer ? 0 : -ENOMEM;
}

void orma_column_scan_done(struct orma_column_scan *scan)
{
	orma_base_free(scan->buffer);
	scan->buffer = NULL;
}

bool orma_column_scan_next(struct orma_column_scan *scan)
{
	const struct orma_column *columns = scan->table->columns;
	if (scan->next_block >= orma_store_column_blocks(&columns[0]))
		return false;
	for (size_t i = 0; i < scan->column_count; i++) {
		int64_t *cells = scan->buffer + i * ORMA_BLOCK_ROWS;
		scan->row_count =
			orma_store_column_read(&columns[scan->columns[i]], scan->next_block, cells);
		scan->cells[i] = cells;
	}
	scan->first_row = (uint64_t)scan->next_block++ << ORMA_BLOCK_SHIFT;
	return true;
}

uint64_t orma_column_lower_bound(const struct orma_column *column, int64_t cell)
{
	uint64_t low = 0, high = orma_store_column_rows(column);
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (orma_store_column_get(column, middle) < cell)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
