/* SPDX-License-Identifier: Apache-2.0
 * column.h - one column of a table: integers, doubles or strings, appended in order and packed in blocks.
 */
#ifndef ORMA_STORE_COLUMN_H
#define ORMA_STORE_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "store/extents.h"
#include "store/pack.h"

enum orma_column_type {
	ORMA_COLUMN_INT,
	ORMA_COLUMN_STRING, /* cells are ids of a string pool */
	ORMA_COLUMN_DOUBLE, /* cells are the bits of a double */
};

/* The cell of a NULL among doubles: a NaN that no arithmetic yields. SQL has no NaN. */
#define ORMA_DOUBLE_NULL INT64_C(0x7ff86e756c6c0000)

struct orma_column_patch;

struct orma_column {
	struct orma_extents *extents;
	struct orma_block *blocks; /* all full blocks; the newest ones may be raw */
	size_t block_count, block_capacity;
	size_t packed; /* blocks at the start that are packed */
	/* The block that is being filled. While all of its cells are `tail_cell`, it has no array but a count. */
	int64_t *tail, *next,
		*end; /* `next` is behind the last cell, `end` behind the array; NULL without an array */
	int64_t tail_cell;
	size_t equal_count;
	int64_t *spare;                    /* an array for a later block; NULL = none */
	struct orma_column_patch *patches; /* changes of packed cells that are not yet made */
	size_t patch_count, patch_capacity;
	enum orma_column_type type;
	/* How many full blocks stay raw, so that their cells can be changed: 0 for a column that is only appended to. */
	uint32_t raw_blocks;
	bool is_sparse; /* NULLs at its end may be missing; see table.h */
	bool forgets; /* nobody asks the table later: the cells of a block become NULL when it is no longer raw */
};

void orma_store_column_init(struct orma_column *column, enum orma_column_type type,
			    struct orma_extents *extents, uint32_t raw_blocks);
void orma_store_column_done(struct orma_column *column);

int orma_store_column_append_other(struct orma_column *column, int64_t cell);
/* Adds a cell. 0, -ENOMEM or an error of spilling. */
static inline int orma_store_column_append(struct orma_column *column, int64_t cell)
{
	if (column->next != column->end) {
		*column->next++ = cell;
		return 0;
	}
	if (cell == column->tail_cell && column->equal_count - 1 < ORMA_BLOCK_ROWS - 1) {
		column->equal_count++;
		return 0;
	}
	return orma_store_column_append_other(column, cell);
}

/* Adds NULLs until the column has so many rows. Not for doubles. Errors as above. */
int orma_store_column_pad(struct orma_column *column, uint64_t rows);

static inline size_t orma_store_column_tail(const struct orma_column *column)
{
	return column->tail ? (size_t)(column->next - column->tail) : column->equal_count;
}

static inline uint64_t orma_store_column_rows(const struct orma_column *column)
{
	return (uint64_t)column->block_count * ORMA_BLOCK_ROWS + orma_store_column_tail(column);
}

int orma_store_column_set_other(struct orma_column *column, uint64_t row, int64_t cell);
/* Changes the cell of a row that is there. Cheap while its block is raw. 0, -ENOMEM or an error of spilling. */
static inline int orma_store_column_set(struct orma_column *column, uint64_t row, int64_t cell)
{
	/* Most rows are changed soon, so they are in the tail. */
	size_t idx = (size_t)(row % ORMA_BLOCK_ROWS);
	if (column->tail && row >> ORMA_BLOCK_SHIFT == column->block_count &&
	    column->tail + idx < column->next) {
		column->tail[idx] = cell;
		return 0;
	}
	return orma_store_column_set_other(column, row, cell);
}
/* Packs all full blocks and makes all changes, so that the column can be read. 0 or an error as above. */
int orma_store_column_seal(struct orma_column *column);

/* The following need a column without changes since it was sealed; appended rows are allowed. */
int64_t orma_store_column_get(const struct orma_column *column, uint64_t row);
static inline size_t orma_store_column_blocks(const struct orma_column *column)
{
	return column->block_count + (orma_store_column_tail(column) > 0);
}
/* Writes the cells of one block, and returns how many there are. */
size_t orma_store_column_read(const struct orma_column *column, size_t block_idx,
			      int64_t ret[ORMA_BLOCK_ROWS]);
/* Writes the cells at some places of a block, which has so many rows. */
void orma_store_column_read_some(const struct orma_column *column, size_t block_idx,
				 const uint16_t *places, size_t count, int64_t *ret);
/* The least and the largest cell of a block that are not NULL. False when that is not known. Not for doubles. */
bool orma_store_column_range(const struct orma_column *column, size_t block_idx, int64_t *retmin,
			     int64_t *retmax);

/* Returns true when all cells of a block are equal, and that is known without a look at each. Not for doubles. */
bool orma_store_column_is_uniform(const struct orma_column *column, size_t block_idx, int64_t *ret);

/*
 * Sets a bit for each cell of a block that is in [low, high] and not NULL. False when its cells have to be read instead. Not
 * for doubles.
 */
bool orma_store_column_match(const struct orma_column *column, size_t block_idx, int64_t low,
			     int64_t high, uint8_t mask[ORMA_BLOCK_ROWS / 8]);

/* Adds the cells of a block whose bits are set, but for NULLs. False when its cells have to be read instead, as those of
 * strings and doubles have. */
bool orma_store_column_sum(const struct orma_column *column, size_t block_idx,
			   const uint8_t mask[ORMA_BLOCK_ROWS / 8], int64_t *ret_sum,
			   uint64_t *ret_number);

static inline int64_t orma_store_cell_of_double(double value)
{
	int64_t cell;
	memcpy(&cell, &value, sizeof(cell));
	return cell;
}

static inline double orma_store_double_of_cell(int64_t cell)
{
	double value;
	memcpy(&value, &cell, sizeof(value));
	return value;
}

static inline int64_t orma_store_null_of(enum orma_column_type type)
{
	return type == ORMA_COLUMN_DOUBLE ? ORMA_DOUBLE_NULL : ORMA_CELL_NULL;
}

#endif
