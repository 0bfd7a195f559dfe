/* SPDX-License-Identifier: Apache-2.0
 * row_reader.c - unpacking a block costs little a row, and finding a single cell costs much, so rows are read by blocks.
 */
#include "trace/row_reader.h"

#include <errno.h>

#include "base/alloc.h"

int orma_row_reader_begin(struct orma_row_reader *reader, const struct orma_table *table,
			  const size_t *columns, size_t column_count)
{
	*reader = (struct orma_row_reader){
		.table = table, .columns = columns, .column_count = column_count};
	reader->count = table->columns ? orma_store_table_rows(table) : 0;
	if (reader->count == 0)
		return 0;
	reader->buffer =
		orma_base_alloc_array(column_count * ORMA_BLOCK_ROWS, sizeof(*reader->buffer));
	return reader->buffer ? 0 : -ENOMEM;
}

void orma_row_reader_done(struct orma_row_reader *reader)
{
	orma_base_free(reader->buffer);
}

const int64_t *orma_row_reader_peek(struct orma_row_reader *reader)
{
	uint64_t block = reader->next >> ORMA_BLOCK_SHIFT;
	if (reader->next == reader->count)
		return NULL;
	for (size_t i = 0; block == reader->blocks_read && i < reader->column_count; i++)
		orma_store_column_read(&reader->table->columns[reader->columns[i]], (size_t)block,
				       reader->buffer + i * ORMA_BLOCK_ROWS);
	reader->blocks_read = block + 1;
	return reader->buffer + reader->next % ORMA_BLOCK_ROWS;
}
