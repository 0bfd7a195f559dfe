/* SPDX-License-Identifier: Apache-2.0
 * table.c - a table is an array of columns. Invariant: all have the same number of rows, unless an append failed, or they are
 * sparse and the table is not sealed: then NULLs at their ends are left out, because skipping one is cheaper than counting it.
 */
#include "store/table.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "store/group_sums.h"

/* A slice that ends while this many blocks are younger than its row, 32,768 slices, costs no patch. */
enum { RAW_BLOCKS = 8 };

int orma_store_table_init(struct orma_table *table, const char *name,
			  const struct orma_column_spec *specs, size_t column_count,
			  struct orma_extents *extents)
{
	ORMA_ASSERT(column_count > 0 && column_count <= 64);
	*table = (struct orma_table){.name = name, .specs = specs};
	table->columns = orma_base_alloc_array(column_count, sizeof(*table->columns));
	if (!table->columns)
		return -ENOMEM;
	table->column_count = column_count;
	for (size_t i = 0; i < column_count; i++) {
		uint32_t raw_blocks = specs[i].flags & ORMA_COLUMN_CHANGES ? RAW_BLOCKS : 0;
		if (specs[i].flags & ORMA_COLUMN_RANDOM)
			raw_blocks = UINT32_MAX;
		orma_store_column_init(&table->columns[i], specs[i].type, extents, raw_blocks);
		/* The first column says how many rows there are. */
		ORMA_ASSERT(i > 0 || !(specs[i].flags & ORMA_COLUMN_SPARSE));
		table->columns[i].is_sparse = (specs[i].flags & ORMA_COLUMN_SPARSE) != 0;
		table->sparse |= (uint64_t)table->columns[i].is_sparse << i;
	}
	return 0;
}

void orma_store_table_done(struct orma_table *table)
{
	orma_store_table_forget_sums(table);
	for (size_t i = 0; i < table->column_count; i++)
		orma_store_column_done(&table->columns[i]);
	orma_base_free(table->columns);
	*table = (struct orma_table){0};
}

int orma_store_table_append(struct orma_table *table, const int64_t *cells)
{
	struct orma_column *column = table->columns, *end = column + table->column_count;
	uint64_t sparse = table->sparse;
	for (; column != end; column++, cells++, sparse >>= 1) {
		int r = 0;
		if (!(sparse & 1) && column->next != column->end) {
			*column->next++ = *cells;
			continue;
		}
		if (sparse & 1) {
			if (*cells == ORMA_CELL_NULL)
				continue;
			r = orma_store_column_pad(column, orma_store_table_rows(table) - 1);
		}
		if (r == 0)
			r = orma_store_column_append(column, *cells);
		if (r < 0)
			return r;
	}
	return 0;
}

int orma_store_table_seal(struct orma_table *table)
{
	orma_store_table_forget_sums(table);
	if (orma_store_table_rows(table) == 0)
		return 0;
	for (size_t i = 0; i < table->column_count; i++) {
		struct orma_column *column = &table->columns[i];
		int r = column->is_sparse
				? orma_store_column_pad(column, orma_store_table_rows(table))
				: 0;
		if (r == 0)
			r = orma_store_column_seal(column);
		if (r < 0)
			return r;
		column->is_sparse = false;
	}
	table->sparse = 0;
	return 0;
}

void orma_store_table_forget(struct orma_table *table)
{
	for (size_t i = 0; i < table->column_count; i++) {
		struct orma_column *column = &table->columns[i];
		column->forgets = true;
		column->raw_blocks = column->raw_blocks > 2 ? column->raw_blocks : 2;
	}
}
