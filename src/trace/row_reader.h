/* SPDX-License-Identifier: Apache-2.0
 * row_reader.h - some columns of a table from its first row to its last.
 */
#ifndef ORMA_TRACE_ROW_READER_H
#define ORMA_TRACE_ROW_READER_H

#include "store/table.h"

/* Reads a block of each column at a time. */
struct orma_row_reader {
	const struct orma_table *table;
	const size_t *columns;
	size_t column_count;
	uint64_t next, count; /* rows */
	uint64_t blocks_read;
	int64_t *buffer; /* the last one of them, column by column */
};

/* Begins to read a sealed table, which may have no columns yet; `columns` stays where it is. 0 or -ENOMEM. */
int orma_row_reader_begin(struct orma_row_reader *reader, const struct orma_table *table,
			  const size_t *columns, size_t column_count);
void orma_row_reader_done(struct orma_row_reader *reader);
/* Returns where the cells of the row `next` are, ORMA_BLOCK_ROWS apart; NULL behind the last row. The caller goes on by adding 1
 * to `next`. */
const int64_t *orma_row_reader_peek(struct orma_row_reader *reader);
#define ORMA_ROW_CELL(row, column) ((row)[(size_t)(column)*ORMA_BLOCK_ROWS])

#endif
