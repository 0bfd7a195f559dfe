/* SPDX-License-Identifier: Apache-2.0
 * column.c - full blocks are packed as they age; a cell of a packed block is changed through a list of patches.
 *
 * A slice's row is written when it begins and gets its duration when it ends, mostly soon. So the last `raw_blocks` full
 * blocks stay arrays, where a change is a store. A change of an older row becomes a patch. Patches are applied
 * when there are many, and when the column is sealed: sorted by row, so that each block is unpacked and packed once.
 * Invariant: blocks below `packed` are in extents, those from `packed` on are raw; a patch refers to a packed block. A raw block
 * whose cells are all equal has no array, but the cell in `min`: most columns of most traces are such, and are never written.
 *
 * Rejected: blocks that stay raw until all their slices have ended, because one endless slice in each block, which a
 * trace may have, keeps the whole column raw. Also rejected: holding a row back until its slice ends, because rows would
 * no longer be in the order of their timestamps.
 */
#include "store/column.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"

enum { PATCHES_MAX = 1 << 16 };

struct orma_column_patch {
	uint64_t row;
	int64_t cell;
	uint64_t order; /* the latest change of a row wins */
};

void orma_store_column_init(struct orma_column *column, enum orma_column_type type,
			    struct orma_extents *extents, uint32_t raw_blocks)
{
	*column = (struct orma_column){.extents = extents, .type = type, .raw_blocks = raw_blocks};
}

void orma_store_column_done(struct orma_column *column)
{
	for (size_t i = column->packed; i < column->block_count; i++)
		orma_base_free((void *)(uintptr_t)column->blocks[i].data);
	orma_base_free(column->blocks);
	orma_base_free(column->tail);
	orma_base_free(column->spare);
	orma_base_free(column->patches);
	*column = (struct orma_column){0};
}

/* Doubles without a fraction pack well as integers. -0.0 is one that would come back as another. */
static bool as_integers(const int64_t *cells, size_t count, int64_t *ret)
{
	for (size_t i = 0; i < count; i++) {
		double value = orma_store_double_of_cell(cells[i]);
		if (cells[i] == ORMA_DOUBLE_NULL) {
			ret[i] = ORMA_CELL_NULL;
			continue;
		}
		if (!(fabs(value) <= 0x1p53) || value != (double)(int64_t)value ||
		    (value == 0 && cells[i] != 0))
			return false;
		ret[i] = (int64_t)value;
	}
	return true;
}

static void as_doubles(int64_t *cells, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cells[i] = cells[i] == ORMA_CELL_NULL ? ORMA_DOUBLE_NULL
						      : orma_store_cell_of_double((double)cells[i]);
}

static int pack_block(struct orma_column *column, const int64_t *cells, struct orma_block *ret)
{
	uint8_t bytes[ORMA_PACK_MAX_BYTES];
	int64_t integers[ORMA_BLOCK_ROWS];
	bool is_integral =
		column->type == ORMA_COLUMN_DOUBLE && as_integers(cells, ORMA_BLOCK_ROWS, integers);
	struct orma_block block;
	size_t size =
		orma_store_pack(is_integral ? integers : cells, ORMA_BLOCK_ROWS, &block, bytes);
	if (is_integral)
		block.flags |= ORMA_BLOCK_IS_INTEGRAL;
	if (size > 0) {
		const void *data;
		int r = orma_store_extents_add(column->extents, bytes, size, &data);
		if (r < 0)
			return r;
		block.data = data;
	}
	*ret = block;
	return 0;
}

static void fill(int64_t *cells, size_t count, int64_t cell)
{
	for (size_t i = 0; i < count; i++)
		cells[i] = cell;
}

/* A block of equal cells as packing yields it, but for doubles, which stay bits. */
static struct orma_block uniform_block(int64_t cell)
{
	bool is_null = cell == ORMA_CELL_NULL;
	return (struct orma_block){.min = is_null ? INT64_MAX : cell,
				   .max = is_null ? INT64_MIN : cell,
				   .flags = is_null ? ORMA_BLOCK_IS_NULL : 0};
}

/* Returns an array with `count` equal cells, or NULL when out of memory. */
static int64_t *new_array(struct orma_column *column, size_t count, int64_t cell)
{
	int64_t *cells = column->spare;
	column->spare = NULL;
	if (!cells)
		cells = orma_base_alloc(ORMA_BLOCK_ROWS * sizeof(*cells));
	if (cells)
		fill(cells, count, cell);
	return cells;
}

static void free_array(struct orma_column *column, int64_t *cells)
{
	if (column->spare)
		orma_base_free(cells);
	else
		column->spare = cells;
}

/* Packs the oldest raw blocks until `left` of them are left. */
static int pack_oldest(struct orma_column *column, size_t left)
{
	while (column->block_count - column->packed > left) {
		struct orma_block *block = &column->blocks[column->packed];
		int64_t *cells = (int64_t *)(uintptr_t)block->data;
		if (column->forgets) {
			if (cells)
				free_array(column, cells);
			*block = uniform_block(ORMA_CELL_NULL);
			column->packed++;
			continue;
		}
		if (!cells) {
			*block = uniform_block(block->min);
			column->packed++;
			continue;
		}
		int r = pack_block(column, cells, block);
		if (r < 0)
			return r;
		column->packed++;
		free_array(column, cells);
	}
	return 0;
}

static int add_block(struct orma_column *column)
{
	if (column->block_count == column->block_capacity) {
		size_t capacity = ORMA_MAX(column->block_capacity * 2, (size_t)8);
		struct orma_block *blocks =
			orma_base_realloc_array(column->blocks, capacity, sizeof(*blocks));
		if (!blocks)
			return -ENOMEM;
		column->blocks = blocks;
		column->block_capacity = capacity;
	}
	column->blocks[column->block_count++] =
		(struct orma_block){.data = (const uint8_t *)column->tail,
				    .min = column->tail_cell,
				    .flags = ORMA_BLOCK_IS_RAW};
	column->tail = column->next = column->end = NULL;
	column->equal_count = 0;
	return 0;
}

static int begin_array(struct orma_column *column)
{
	size_t count = column->equal_count;
	int64_t *cells = new_array(column, count, column->tail_cell);
	if (!cells)
		return -ENOMEM;
	column->tail = cells;
	column->next = cells + count;
	column->end = cells + ORMA_BLOCK_ROWS;
	column->equal_count = 0;
	return 0;
}

/* Appends a cell that needs more than a place in the tail: a block, or an array because the cells are no longer equal. */
int orma_store_column_append_other(struct orma_column *column, int64_t cell)
{
	int r = 0;
	if (orma_store_column_tail(column) == ORMA_BLOCK_ROWS) {
		r = add_block(column);
		if (r == 0)
			r = pack_oldest(column, column->raw_blocks);
		if (r < 0)
			return r;
	}
	if (column->equal_count == 0) {
		column->tail_cell = cell;
		column->equal_count = 1;
		return 0;
	}
	r = begin_array(column);
	if (r == 0)
		*column->next++ = cell;
	return r;
}

int orma_store_column_pad(struct orma_column *column, uint64_t rows)
{
	uint64_t left = rows - orma_store_column_rows(column);
	int r = 0;
	while (left > 0 && r == 0) {
		bool is_uniform = !column->tail && column->equal_count > 0 &&
				  column->tail_cell == ORMA_CELL_NULL;
		size_t count = is_uniform ? (size_t)ORMA_MIN(left, (uint64_t)ORMA_BLOCK_ROWS -
									   column->equal_count)
					  : 0;
		column->equal_count += count;
		left -= count;
		if (left > 0 && count == 0) {
			r = orma_store_column_append(column, ORMA_CELL_NULL);
			left--;
		}
	}
	return r;
}

static int compare_patches(const void *a, const void *b)
{
	const struct orma_column_patch *x = a, *y = b;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static int apply_patches(struct orma_column *column)
{
	int64_t cells[ORMA_BLOCK_ROWS];
	if (column->patch_count == 0)
		return 0;
	qsort(column->patches, column->patch_count, sizeof(*column->patches), compare_patches);
	for (size_t i = 0; i < column->patch_count;) {
		size_t block_idx = (size_t)(column->patches[i].row >> ORMA_BLOCK_SHIFT);
		orma_store_column_read(column, block_idx, cells);
		for (; i < column->patch_count &&
		       column->patches[i].row >> ORMA_BLOCK_SHIFT == block_idx;
		     i++)
			cells[column->patches[i].row % ORMA_BLOCK_ROWS] = column->patches[i].cell;
		int r = pack_block(column, cells, &column->blocks[block_idx]);
		if (r < 0)
			return r;
	}
	column->patch_count = 0;
	return 0;
}

static int add_patch(struct orma_column *column, uint64_t row, int64_t cell)
{
	if (column->patch_count == PATCHES_MAX) {
		int r = apply_patches(column);
		if (r < 0)
			return r;
	}
	if (column->patch_count == column->patch_capacity) {
		size_t capacity = ORMA_MAX(column->patch_capacity * 2, (size_t)64);
		struct orma_column_patch *patches =
			orma_base_realloc_array(column->patches, capacity, sizeof(*patches));
		if (!patches)
			return -ENOMEM;
		column->patches = patches;
		column->patch_capacity = capacity;
	}
	column->patches[column->patch_count] =
		(struct orma_column_patch){.row = row, .cell = cell, .order = column->patch_count};
	column->patch_count++;
	return 0;
}

int orma_store_column_set_other(struct orma_column *column, uint64_t row, int64_t cell)
{
	size_t block_idx = (size_t)(row >> ORMA_BLOCK_SHIFT), idx = (size_t)(row % ORMA_BLOCK_ROWS);
	int r = 0;
	if (row >= orma_store_column_rows(column)) {
		ORMA_ASSERT(column->is_sparse);
		r = cell == ORMA_CELL_NULL ? 0 : orma_store_column_pad(column, row + 1);
		if (r < 0 || cell == ORMA_CELL_NULL)
			return r;
	}
	if (block_idx < column->packed)
		return column->forgets ? 0 : add_patch(column, row, cell);
	if (block_idx == column->block_count) {
		if (!column->tail && cell == column->tail_cell)
			return 0;
		r = column->tail ? 0 : begin_array(column);
		if (r == 0)
			column->tail[idx] = cell;
		return r;
	}
	struct orma_block *block = &column->blocks[block_idx];
	int64_t *cells = (int64_t *)(uintptr_t)block->data;
	if (!cells) {
		if (cell == block->min)
			return 0;
		cells = new_array(column, ORMA_BLOCK_ROWS, block->min);
		if (!cells)
			return -ENOMEM;
		block->data = (const uint8_t *)cells;
	}
	cells[idx] = cell;
	return 0;
}

int orma_store_column_seal(struct orma_column *column)
{
	int r = pack_oldest(column, 0);
	if (r < 0)
		return r;
	r = apply_patches(column);
	orma_base_free(column->patches);
	orma_base_free(column->spare);
	column->patches = NULL;
	column->spare = NULL;
	column->patch_capacity = 0;
	return r;
}

static bool is_uniform(const struct orma_block *block)
{
	return block->flags & ORMA_BLOCK_IS_RAW && !block->data;
}

int64_t orma_store_column_get(const struct orma_column *column, uint64_t row)
{
	size_t block_idx = (size_t)(row >> ORMA_BLOCK_SHIFT), idx = (size_t)(row % ORMA_BLOCK_ROWS);
	if (block_idx >= column->block_count) {
		bool is_there = row < orma_store_column_rows(column);
		ORMA_ASSERT(is_there || column->is_sparse);
		if (!is_there)
			return ORMA_CELL_NULL;
		return column->tail ? column->tail[idx] : column->tail_cell;
	}
	const struct orma_block *block = &column->blocks[block_idx];
	if (is_uniform(block))
		return block->min;
	int64_t cell = orma_store_unpack_one(block, ORMA_BLOCK_ROWS, idx);
	if (block->flags & ORMA_BLOCK_IS_INTEGRAL)
		as_doubles(&cell, 1);
	return cell;
}

size_t orma_store_column_read(const struct orma_column *column, size_t block_idx,
			      int64_t ret[ORMA_BLOCK_ROWS])
{
	if (block_idx == column->block_count) {
		size_t count = orma_store_column_tail(column);
		if (column->tail)
			memcpy(ret, column->tail, count * sizeof(*ret));
		else
			fill(ret, count, column->tail_cell);
		return count;
	}
	const struct orma_block *block = &column->blocks[block_idx];
	if (is_uniform(block)) {
		fill(ret, ORMA_BLOCK_ROWS, block->min);
		return ORMA_BLOCK_ROWS;
	}
	orma_store_unpack(block, ORMA_BLOCK_ROWS, ret);
	if (block->flags & ORMA_BLOCK_IS_INTEGRAL)
		as_doubles(ret, ORMA_BLOCK_ROWS);
	return ORMA_BLOCK_ROWS;
}

void orma_store_column_read_some(const struct orma_column *column, size_t block_idx,
				 const uint16_t *places, size_t count, int64_t *ret)
{
	if (block_idx == column->block_count) {
		for (size_t i = 0; i < count; i++)
			ret[i] = column->tail ? column->tail[places[i]] : column->tail_cell;
		return;
	}
	const struct orma_block *block = &column->blocks[block_idx];
	if (is_uniform(block)) {
		fill(ret, count, block->min);
		return;
	}
	orma_store_unpack_some(block, ORMA_BLOCK_ROWS, places, count, ret);
	if (block->flags & ORMA_BLOCK_IS_INTEGRAL)
		as_doubles(ret, count);
}

bool orma_store_column_range(const struct orma_column *column, size_t block_idx, int64_t *retmin,
			     int64_t *retmax)
{
	if (block_idx >= column->packed || column->type == ORMA_COLUMN_DOUBLE)
		return false;
	*retmin = column->blocks[block_idx].min;
	*retmax = column->blocks[block_idx].max;
	return true;
}

bool orma_store_column_is_uniform(const struct orma_column *column, size_t block_idx, int64_t *ret)
{
	if (block_idx >= column->block_count) {
		*ret = column->tail_cell;
		return !column->tail;
	}
	const struct orma_block *block = &column->blocks[block_idx];
	*ret = block->flags & ORMA_BLOCK_IS_NULL ? ORMA_CELL_NULL : block->min;
	return is_uniform(block) || (block->width == 0 && !(block->flags & ORMA_BLOCK_IS_RAW));
}

bool orma_store_column_match(const struct orma_column *column, size_t block_idx, int64_t low,
			     int64_t high, uint8_t mask[ORMA_BLOCK_ROWS / 8])
{
	return block_idx < column->packed && column->type != ORMA_COLUMN_DOUBLE &&
	       orma_store_pack_match(&column->blocks[block_idx], ORMA_BLOCK_ROWS, low, high, mask);
}

bool orma_store_column_sum(const struct orma_column *column, size_t block_idx,
			   const uint8_t mask[ORMA_BLOCK_ROWS / 8], int64_t *ret_sum,
			   uint64_t *ret_number)
{
	return block_idx < column->packed && column->type == ORMA_COLUMN_INT &&
	       orma_store_pack_sum(&column->blocks[block_idx], ORMA_BLOCK_ROWS, mask, ret_sum,
				   ret_number);
}
