/* SPDX-License-Identifier: Apache-2.0
 * index.c - a counting sort where the cells are small numbers, as ids of rows and strings are; else a radix sort.
 */
#include "sql/index.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/radix_sort.h"
#include "sql/relation.h"

/* A place for each value costs four bytes; this many places for each row are less than sorting and searching cost. */
enum { PLACES_PER_ROW = 2, PLACES_MIN = 1 << 16 };

void orma_sql_index_free(struct orma_index *index)
{
	if (!index)
		return;
	orma_base_free(index->rows);
	orma_base_free(index->offsets);
	orma_base_free(index->values);
	orma_base_free(index);
}

typedef void (*visit_fn)(struct orma_index *index, uint32_t row, int64_t cell);

static void count_cell(struct orma_index *index, uint32_t row, int64_t cell)
{
	(void)row;
	index->offsets[(uint64_t)cell - (uint64_t)index->min + 1]++;
}

static void place_row(struct orma_index *index, uint32_t row, int64_t cell)
{
	index->rows[index->offsets[(uint64_t)cell - (uint64_t)index->min]++] = row;
}

static int visit_cells(const struct orma_relation *relation, size_t column_idx,
		       struct orma_index *index, visit_fn visit)
{
	int64_t cells[ORMA_BLOCK_ROWS];
	for (uint64_t first = 0; first < index->row_count; first += ORMA_BLOCK_ROWS) {
		int count = orma_sql_relation_read(relation, column_idx, first >> ORMA_BLOCK_SHIFT,
						   cells);
		if (count < 0)
			return count;
		for (int i = 0; i < count; i++)
			if (cells[i] != ORMA_CELL_NULL)
				visit(index, (uint32_t)first + (uint32_t)i, cells[i]);
	}
	return 0;
}

static int sort_by_counting(const struct orma_relation *relation, size_t column_idx,
			    struct orma_index *index)
{
	index->offsets = orma_base_alloc_array(index->value_count + 2, sizeof(*index->offsets));
	index->rows = orma_base_alloc((size_t)index->row_count * sizeof(*index->rows) + 1);
	if (!index->offsets || !index->rows)
		return -ENOMEM;
	int r = visit_cells(relation, column_idx, index, count_cell);
	if (r < 0)
		return r;
	for (size_t i = 0; i < index->value_count; i++) {
		index->distinct += index->offsets[i + 1] > 0;
		index->offsets[i + 1] += index->offsets[i];
	}
	r = visit_cells(relation, column_idx, index, place_row);
	/* Each offset now is where the next value begins. */
	for (size_t i = index->value_count; i > 0; i--)
		index->offsets[i] = index->offsets[i - 1];
	index->offsets[0] = 0;
	return r;
}

/* Keeps the place where each value begins, and frees what the sort needed more. */
static int collect_values(struct orma_index *index, const uint64_t *keys, size_t count)
{
	size_t distinct = 0;
	for (size_t i = 0; i < count; i++)
		distinct += i == 0 || keys[i] != keys[i - 1];
	index->values = orma_base_alloc_array(distinct + 1, sizeof(*index->values));
	index->offsets = orma_base_alloc_array(distinct + 1, sizeof(*index->offsets));
	if (!index->values || !index->offsets)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (i == 0 || keys[i] != keys[i - 1]) {
			index->values[index->value_count] =
				(int64_t)(keys[i] ^ (uint64_t)INT64_MIN);
			index->offsets[index->value_count++] = (uint32_t)i;
		}
	index->offsets[distinct] = (uint32_t)count;
	index->distinct = distinct;
	return 0;
}

static int sort_by_radix(const struct orma_relation *relation, size_t column_idx,
			 struct orma_index *index)
{
	int64_t cells[ORMA_BLOCK_ROWS];
	size_t count = 0;
	uint64_t *keys = orma_base_alloc((size_t)index->row_count * sizeof(*keys) + 1);
	index->rows = orma_base_alloc((size_t)index->row_count * sizeof(*index->rows) + 1);
	int r = keys && index->rows ? 0 : -ENOMEM;
	for (uint64_t first = 0; r >= 0 && first < index->row_count; first += ORMA_BLOCK_ROWS) {
		r = orma_sql_relation_read(relation, column_idx, first >> ORMA_BLOCK_SHIFT, cells);
		for (int i = 0; i < r; i++)
			if (cells[i] != ORMA_CELL_NULL) {
				keys[count] = (uint64_t)cells[i] ^ (uint64_t)INT64_MIN;
				index->rows[count++] = (uint32_t)first + (uint32_t)i;
			}
	}
	if (r >= 0)
		r = orma_sql_radix_sort(keys, index->rows, count);
	if (r == 0)
		r = collect_values(index, keys, count);
	orma_base_free(keys);
	return r;
}

int orma_sql_index_new(const struct orma_relation *relation, size_t column_idx,
		       struct orma_index **ret)
{
	uint64_t rows = orma_sql_relation_rows(relation);
	if (rows >= UINT32_MAX)
		return -EOVERFLOW;
	struct orma_index *index = orma_base_zalloc(sizeof(*index));
	if (!index)
		return -ENOMEM;
	index->row_count = rows;
	int64_t min, max;
	int r;
	if (orma_sql_relation_range(relation, column_idx, &min, &max) &&
	    (uint64_t)max - (uint64_t)min < ORMA_MAX(rows * PLACES_PER_ROW, (uint64_t)PLACES_MIN)) {
		index->min = min;
		index->value_count = (size_t)((uint64_t)max - (uint64_t)min + 1);
		r = sort_by_counting(relation, column_idx, index);
	} else {
		r = sort_by_radix(relation, column_idx, index);
	}
	if (r < 0) {
		orma_sql_index_free(index);
		return r;
	}
	*ret = index;
	return 0;
}

int orma_sql_index_use(struct orma_relation *relation, size_t column_idx,
		       const struct orma_index **ret)
{
	struct orma_relation_column *column = &relation->columns[column_idx];
	int r = 0;
	if (column->index && column->index->row_count != orma_sql_relation_rows(relation)) {
		orma_sql_index_free(column->index);
		column->index = NULL;
	}
	if (!column->index)
		r = orma_sql_index_new(relation, column_idx, &column->index);
	*ret = column->index;
	return r;
}

size_t orma_sql_index_find(const struct orma_index *index, int64_t cell, const uint32_t **ret)
{
	uint64_t place;
	if (!index->values) {
		place = (uint64_t)cell - (uint64_t)index->min;
		if (place >= index->value_count)
			return 0;
	} else {
		size_t low = 0, high = index->value_count;
		while (low < high) {
			size_t middle = low + (high - low) / 2;
			if (index->values[middle] < cell)
				low = middle + 1;
			else
				high = middle;
		}
		if (low == index->value_count || index->values[low] != cell)
			return 0;
		place = low;
	}
	*ret = index->rows + index->offsets[place];
	return index->offsets[place + 1] - index->offsets[place];
}
