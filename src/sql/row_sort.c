/* SPDX-License-Identifier: Apache-2.0
 * row_sort.c - a key of 64 bits for each cell, whose order is that of the cells, and a radix sort by each column, the
 * last one first.
 *
 * The key of a string is its rank among the strings that occur. With a limit and a number as first order, only
 * candidates are kept: whenever they are twice as many as the limit, the best ones are selected and the rest is dropped.
 */
#include "sql/row_sort.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/radix_sort.h"
#include "sql/relation.h"
#include "sql/relation_plan.h"

/* A limit beyond this drops so few rows that selecting does not pay. */
enum { LIMIT_MAX = 1 << 20, CAPACITY_MIN = 1 << 12 };

void orma_sql_row_sort_init(struct orma_row_sort *sort, const struct orma_relation *relation,
			    const struct orma_plan_order *orders, size_t order_count,
			    uint64_t limit)
{
	*sort = (struct orma_row_sort){.relation = relation,
				       .orders = orders,
				       .order_count = order_count,
				       .limit = limit,
				       .worst = UINT64_MAX};
}

void orma_sql_row_sort_done(struct orma_row_sort *sort)
{
	orma_base_free(sort->rows);
	orma_base_free(sort->keys);
	*sort = (struct orma_row_sort){0};
}

bool orma_sql_row_sort_needs_cell(const struct orma_row_sort *sort)
{
	return sort->limit <= LIMIT_MAX &&
	       sort->relation->columns[sort->orders[0].column_idx].type != ORMA_COLUMN_STRING;
}

/* NULL is 0. The few integers below its cell move up into the gap that it leaves. */
static uint64_t key_of(enum orma_column_type type, int64_t cell)
{
	const uint64_t sign = UINT64_C(1) << 63;
	if (type != ORMA_COLUMN_DOUBLE)
		return cell == ORMA_CELL_NULL ? 0
					      : ((uint64_t)cell ^ sign) + (cell < ORMA_CELL_NULL);
	double value = orma_store_double_of_cell(cell);
	if (isnan(value))
		return 0;
	uint64_t bits = (uint64_t)orma_store_cell_of_double(value == 0 ? 0 : value);
	return bits & sign ? ~bits : bits | sign;
}

static int grow(struct orma_row_sort *sort)
{
	size_t capacity = ORMA_MAX(sort->capacity * 2, (size_t)CAPACITY_MIN);
	uint32_t *rows = orma_base_realloc_array(sort->rows, capacity, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	sort->rows = rows;
	if (orma_sql_row_sort_needs_cell(sort)) {
		uint64_t *keys = orma_base_realloc_array(sort->keys, capacity, sizeof(*keys));
		if (!keys)
			return -ENOMEM;
		sort->keys = keys;
	}
	sort->capacity = capacity;
	return 0;
}

/* Returns the key that `nth` keys are smaller than or equal to, counting from 0. Changes the order of the keys. */
static uint64_t select_key(uint64_t *keys, size_t count, size_t nth)
{
	size_t low = 0, high = count - 1;
	while (low < high) {
		uint64_t pivot = keys[low + (high - low) / 2];
		size_t i = low, j = high;
		for (;;) {
			while (keys[i] < pivot)
				i++;
			while (keys[j] > pivot)
				j--;
			if (i >= j)
				break;
			uint64_t key = keys[i];
			keys[i++] = keys[j];
			keys[j--] = key;
		}
		if (nth <= j)
			high = j;
		else
			low = j + 1;
	}
	return keys[nth];
}

/*
 * Drops the rows that cannot be among the first `limit`. With one order, rows with the worst key that came later are
 * dropped as well; with more orders they may still win.
 */
static int drop_worst(struct orma_row_sort *sort)
{
	size_t limit = (size_t)sort->limit, kept = 0, smaller = 0;
	uint64_t *copy = orma_base_memdup(sort->keys, sort->count * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	uint64_t worst = select_key(copy, sort->count, limit - 1);
	orma_base_free(copy);
	for (size_t i = 0; i < sort->count; i++)
		smaller += sort->keys[i] < worst;
	size_t equal = sort->order_count > 1 ? SIZE_MAX : limit - smaller;
	for (size_t i = 0; i < sort->count; i++) {
		if (sort->keys[i] > worst || (sort->keys[i] == worst && equal == 0))
			continue;
		equal -= sort->keys[i] == worst;
		sort->rows[kept] = sort->rows[i];
		sort->keys[kept++] = sort->keys[i];
	}
	sort->count = kept;
	sort->worst = sort->order_count > 1 ? worst + (worst < UINT64_MAX) : worst;
	return 0;
}

int orma_sql_row_sort_add(struct orma_row_sort *sort, uint32_t row, int64_t cell)
{
	bool needs_cell = orma_sql_row_sort_needs_cell(sort);
	uint64_t key = 0;
	if (needs_cell) {
		key = key_of(sort->relation->columns[sort->orders[0].column_idx].type, cell);
		key = sort->orders[0].is_descending ? ~key : key;
		if (key >= sort->worst && sort->worst < UINT64_MAX)
			return 0;
	}
	if (sort->count == sort->capacity) {
		int r = 0;
		if (needs_cell && sort->limit > 0 && sort->count >= 2 * sort->limit)
			r = drop_worst(sort);
		/* Little may have been dropped, when many keys are equal. */
		if (r == 0 && sort->count >= sort->capacity / 2)
			r = grow(sort);
		if (r < 0)
			return r;
	}
	if (sort->keys)
		sort->keys[sort->count] = key;
	sort->rows[sort->count++] = row;
	return 0;
}

struct text_rank {
	struct orma_str text;
	uint32_t id;
};

static int compare_texts(const void *a, const void *b)
{
	const struct text_rank *x = a, *y = b;
	size_t shared = ORMA_MIN(x->text.size, y->text.size);
	int order = shared > 0 ? memcmp(x->text.data, y->text.data, shared) : 0;
	return order != 0 ? order : (x->text.size > y->text.size) - (x->text.size < y->text.size);
}

/* Replaces the keys, which are ids of strings or 0, with the ranks of their texts. */
static int rank_strings(const struct orma_string_pool *pool, uint64_t *keys, size_t count)
{
	uint32_t *ranks = orma_base_alloc_array((size_t)pool->count + 1, sizeof(*ranks));
	size_t used = 0;
	if (!ranks)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		used += ranks[keys[i]] == 0 && keys[i] > 0;
		ranks[keys[i]] = 1;
	}
	struct text_rank *texts = orma_base_alloc_array(used + 1, sizeof(*texts));
	if (!texts) {
		orma_base_free(ranks);
		return -ENOMEM;
	}
	used = 0;
	for (uint32_t id = 1; id <= pool->count; id++)
		if (ranks[id] > 0)
			texts[used++] = (struct text_rank){orma_store_pool_get(pool, id), id};
	qsort(texts, used, sizeof(*texts), compare_texts);
	ranks[0] = 0;
	for (size_t i = 0; i < used; i++)
		ranks[texts[i].id] = (uint32_t)i + 1;
	for (size_t i = 0; i < count; i++)
		keys[i] = ranks[keys[i]];
	orma_base_free(texts);
	orma_base_free(ranks);
	return 0;
}

/* Reads the cells of the rows, whole blocks at a time when most rows of the relation are wanted. */
static int read_cells(const struct orma_row_sort *sort, size_t column_idx, bool is_ascending,
		      uint64_t *ret)
{
	int64_t cells[ORMA_BLOCK_ROWS];
	uint64_t block = UINT64_MAX;
	bool by_block = is_ascending && sort->count >= orma_sql_relation_rows(sort->relation) / 64;
	for (size_t i = 0; i < sort->count; i++) {
		uint32_t row = sort->rows[i];
		int64_t cell = 0;
		int r = 0;
		if (!by_block) {
			r = orma_sql_relation_get(sort->relation, column_idx, row, &cell);
		} else {
			if (row >> ORMA_BLOCK_SHIFT != block) {
				block = row >> ORMA_BLOCK_SHIFT;
				r = orma_sql_relation_read(sort->relation, column_idx, block,
							   cells);
			}
			cell = cells[row % ORMA_BLOCK_ROWS];
		}
		if (r < 0)
			return r;
		ret[i] = (uint64_t)cell;
	}
	return 0;
}

static int sort_by(struct orma_row_sort *sort, const struct orma_plan_order *order,
		   bool is_ascending, uint64_t *keys)
{
	enum orma_column_type type = sort->relation->columns[order->column_idx].type;
	int r = read_cells(sort, order->column_idx, is_ascending, keys);
	if (r < 0)
		return r;
	if (type == ORMA_COLUMN_STRING) {
		for (size_t i = 0; i < sort->count; i++)
			keys[i] = (int64_t)keys[i] == ORMA_CELL_NULL ? 0 : keys[i];
		r = rank_strings(sort->relation->pool, keys, sort->count);
	} else {
		for (size_t i = 0; i < sort->count; i++)
			keys[i] = key_of(type, (int64_t)keys[i]);
	}
	for (size_t i = 0; order->is_descending && i < sort->count; i++)
		keys[i] = ~keys[i];
	return r < 0 ? r : orma_sql_radix_sort(keys, sort->rows, sort->count);
}

int orma_sql_row_sort_finish(struct orma_row_sort *sort)
{
	if (sort->count == 0)
		return 0;
	uint64_t *keys = orma_base_alloc_array(sort->count, sizeof(*keys));
	int r = keys ? 0 : -ENOMEM;
	for (size_t i = sort->order_count; r == 0 && i > 0; i--)
		r = sort_by(sort, &sort->orders[i - 1], i == sort->order_count, keys);
	orma_base_free(keys);
	sort->count = (size_t)ORMA_MIN((uint64_t)sort->count, sort->limit);
	return r;
}
