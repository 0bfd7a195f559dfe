/* SPDX-License-Identifier: Apache-2.0
 * relation_read.c - reading dispatches on where the cells come from; ranges come from the headers of blocks.
 */
#include "base/assert.h"
#include "base/macros.h"
#include "sql/index.h"
#include "sql/relation.h"

int orma_sql_relation_read(const struct orma_relation *relation, size_t column_idx,
			   uint64_t block_idx, int64_t ret[ORMA_BLOCK_ROWS])
{
	const struct orma_relation_column *column = &relation->columns[column_idx];
	if (column->stored)
		return (int)orma_store_column_read(column->stored, (size_t)block_idx, ret);
	uint64_t first = block_idx * ORMA_BLOCK_ROWS, rows = orma_sql_relation_rows(relation);
	ORMA_ASSERT(first < rows);
	size_t count = (size_t)ORMA_MIN(rows - first, (uint64_t)ORMA_BLOCK_ROWS);
	if (column->flags & ORMA_RELATION_ROW) {
		for (size_t i = 0; i < count; i++)
			ret[i] = (int64_t)(first + i);
		return (int)count;
	}
	int r = column->read(column->ctx, first, count, ret);
	return r < 0 ? r : (int)count;
}

int orma_sql_relation_get(const struct orma_relation *relation, size_t column_idx, uint64_t row,
			  int64_t *ret)
{
	const struct orma_relation_column *column = &relation->columns[column_idx];
	if (column->stored)
		*ret = orma_store_column_get(column->stored, row);
	else if (column->flags & ORMA_RELATION_ROW)
		*ret = (int64_t)row;
	else
		return column->read(column->ctx, row, 1, ret);
	return 0;
}

bool orma_sql_relation_range(const struct orma_relation *relation, size_t column_idx,
			     int64_t *retmin, int64_t *retmax)
{
	const struct orma_relation_column *column = &relation->columns[column_idx];
	uint64_t rows = orma_sql_relation_rows(relation);
	if (column->flags & ORMA_RELATION_ROW) {
		*retmin = 0;
		*retmax = (int64_t)rows - 1;
		return rows > 0;
	}
	const struct orma_column *stored = column->stored ? column->stored : column->values;
	if (!stored || column->type == ORMA_COLUMN_DOUBLE)
		return false;
	int64_t min = INT64_MAX, max = INT64_MIN;
	for (size_t block = 0; block < orma_store_column_blocks(stored); block++) {
		int64_t low, high;
		if (orma_store_column_range(stored, block, &low, &high)) {
			min = ORMA_MIN(min, low);
			max = ORMA_MAX(max, high);
			continue;
		}
		int64_t cells[ORMA_BLOCK_ROWS];
		size_t count = orma_store_column_read(stored, block, cells);
		for (size_t i = 0; i < count; i++) {
			if (cells[i] == ORMA_CELL_NULL)
				continue;
			min = ORMA_MIN(min, cells[i]);
			max = ORMA_MAX(max, cells[i]);
		}
	}
	*retmin = min;
	*retmax = max;
	return min <= max;
}

uint64_t orma_sql_relation_lower_bound(const struct orma_relation *relation, size_t column_idx,
				       int64_t cell)
{
	const struct orma_relation_column *column = &relation->columns[column_idx];
	uint64_t low = 0, high = orma_sql_relation_rows(relation);
	if (column->flags & ORMA_RELATION_ROW)
		return cell < 0 ? 0 : ORMA_MIN((uint64_t)cell, high);
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (orma_store_column_get(column->stored, middle) < cell)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t orma_sql_relation_distinct(const struct orma_relation *relation, size_t column_idx)
{
	const struct orma_relation_column *column = &relation->columns[column_idx];
	uint64_t rows = ORMA_MAX(orma_sql_relation_rows(relation), (uint64_t)1);
	if (column->flags & ORMA_RELATION_DISTINCT_ROWS)
		return rows;
	if (column->index)
		return ORMA_MAX(column->index->distinct, (uint64_t)1);
	if (column->distinct > 0)
		return ORMA_MIN(column->distinct, rows);
	int64_t min, max;
	uint64_t guess = ORMA_MAX(rows / 4, (uint64_t)1);
	if (orma_sql_relation_range(relation, column_idx, &min, &max)) {
		uint64_t span = (uint64_t)max - (uint64_t)min;
		guess = ORMA_MIN(guess, span == UINT64_MAX ? span : span + 1);
	}
	return guess;
}
