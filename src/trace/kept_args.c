/* SPDX-License-Identifier: Apache-2.0
 * kept_args.c - a slice has the number of a shape, and up to four numbers in columns of their own.
 *
 * A shape is a list of keys and types. A trace has few, because each place in a program that emits an event makes one. So whatever asks
 * for keys asks for shapes. A value is read from its column, a nanosecond for each row of a block, where reading the two packets of
 * a slice again takes 150. Shapes and values are hidden columns of the slices. They are packed, spilled and written into an index as
 * other columns are.
 *
 * Invariant: nothing differs from what event_args.c reads. A shape stands for the arguments of the packet that the slice began with. So
 * the shape is not used if the slice has more arguments: from the packet that ended it, from a thread that is not its track's, or from
 * the import itself. A value that has no column is read from the packet. These are texts, a fifth number, and the one number that
 * means NULL in a column. A set has no shape if an argument is not plain, if two arguments have the same key, or if a limit is exceeded.
 *
 * Values that differ much take as many bytes as in the trace. When they have an eighth of the trace's bytes, no more are kept.
 *
 * Rejected: columns that are made from the packets at the first question, because that question would take as long as it does
 * without columns. Rejected, too: a column for each key, because keys are many and each slice has few; texts, which would go
 * into the pool, whether anybody asks for them or not; and values in one column, one behind the other, which need a sum over
 * shapes to be found.
 */
#include "trace/kept_args.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"

void orma_kept_args_done(struct orma_kept_args *kept)
{
	orma_base_free(kept->shapes);
	*kept = (struct orma_kept_args){0};
}

size_t orma_note_args(const struct orma_plain_arg *args, int count,
		      struct orma_noted_arg ret[ORMA_KEPT_ARGS_MAX])
{
	if (count <= 0 || count > ORMA_KEPT_ARGS_MAX)
		return 0;
	for (int i = 0; i < count; i++) {
		if (args[i].iid > UINT32_MAX)
			return 0;
		ret[i] = (struct orma_noted_arg){.value = (int64_t)args[i].number,
						 .iid = (uint32_t)args[i].iid,
						 .type = (uint8_t)args[i].type,
						 .count = (uint8_t)count};
	}
	return (size_t)count;
}

static uint32_t hash_set(const uint32_t *keys, const uint8_t *types, uint32_t count)
{
	uint64_t hash = count;
	for (uint32_t i = 0; i < count; i++)
		hash = (hash ^ ((uint64_t)keys[i] << 3 | types[i])) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(hash >> 32) % ORMA_SHAPE_SLOTS;
}

/* Returns the slot of the set's shape, or the empty one that a new shape would get. At most a quarter of the slots is used. */
static uint32_t find_slot(const struct orma_kept_args *kept, const struct orma_arg_shape *wanted)
{
	uint32_t slot = hash_set(wanted->keys, wanted->types, wanted->count);
	for (;; slot = (slot + 1) % ORMA_SHAPE_SLOTS) {
		if (kept->slots[slot] == 0)
			return slot;
		const struct orma_arg_shape *shape = &kept->shapes[kept->slots[slot] - 1];
		uint32_t same = shape->count == wanted->count ? 0 : UINT32_MAX;
		while (same < wanted->count && shape->keys[same] == wanted->keys[same] &&
		       shape->types[same] == wanted->types[same])
			same++;
		if (same == wanted->count)
			return slot;
	}
}

/* Says which numbers get a column. */
static void place_values(struct orma_arg_shape *shape)
{
	int8_t column = 0;
	for (uint32_t i = 0; i < shape->count; i++) {
		bool has_column = shape->types[i] != ORMA_ARG_STRING && column < ORMA_ARG_VALUES;
		shape->values[i] = -1;
		if (has_column)
			shape->values[i] = column++;
	}
}

static bool has_key_twice(const struct orma_arg_shape *shape)
{
	for (uint32_t i = 1; i < shape->count; i++)
		for (uint32_t k = 0; k < i; k++)
			if (shape->keys[i] == shape->keys[k])
				return true;
	return false;
}

static int insert_shape(struct orma_kept_args *kept, struct orma_arg_shape *shape, uint32_t slot)
{
	int r = orma_store_grow(&kept->shapes, (uint64_t)kept->shape_count + 1,
				&kept->shape_capacity, sizeof(*kept->shapes));
	if (r < 0)
		return r;
	place_values(shape);
	kept->shapes[kept->shape_count++] = *shape;
	kept->slots[slot] = (uint8_t)kept->shape_count;
	return 0;
}

static int write_shape(struct orma_kept_args *kept, const struct orma_arg_shape *shape)
{
	struct orma_table *table = &kept->tables->all[ORMA_TABLE_ARG_SHAPE];
	int r = 0;
	for (uint32_t i = 0; i < shape->count && r == 0; i++) {
		int64_t cells[] = {[ORMA_ARG_SHAPE_SHAPE] = kept->shape_count - 1,
				   [ORMA_ARG_SHAPE_KEY] = shape->keys[i],
				   [ORMA_ARG_SHAPE_TYPE] = shape->types[i]};
		r = orma_store_table_append(table, cells);
	}
	return r;
}

/* Finds the shape of a set, which is made if it is new. 1, 0 (it gets none), -ENOMEM or an error of spilling. */
static int find_shape(struct orma_kept_args *kept, struct orma_arg_shape *wanted, uint32_t *ret)
{
	uint32_t slot = find_slot(kept, wanted);
	if (ORMA_UNLIKELY(kept->slots[slot] == 0)) {
		if (kept->shape_count == ORMA_ARG_SHAPES_MAX || has_key_twice(wanted))
			return 0;
		int r = insert_shape(kept, wanted, slot);
		if (r == 0)
			r = write_shape(kept, wanted);
		if (r < 0)
			return r;
	}
	*ret = kept->slots[slot] - 1u;
	return 1;
}

static struct orma_column *column_of(const struct orma_kept_args *kept, size_t column)
{
	return &kept->tables->all[ORMA_TABLE_SLICE].columns[column];
}

/* Adds the bytes of the blocks that were packed since the last time. */
static void count_bytes(struct orma_kept_args *kept)
{
	for (size_t i = 0; i < ORMA_ARG_VALUES; i++) {
		const struct orma_column *column = column_of(kept, ORMA_SLICE_ARG_VALUE + i);
		for (size_t *k = &kept->counted_blocks[i]; *k < column->packed; ++*k)
			kept->bytes +=
				orma_store_packed_bytes(&column->blocks[*k], ORMA_BLOCK_ROWS);
	}
	kept->has_no_room = kept->bytes > kept->max_bytes;
}

/* Sets the cell of the newest row in a sparse column. */
static int add_cell(const struct orma_kept_args *kept, size_t column_idx, uint64_t row,
		    int64_t cell)
{
	struct orma_column *column = column_of(kept, column_idx);
	int r = 0;
	if (orma_store_column_rows(column) < row)
		r = orma_store_column_pad(column, row);
	return r < 0 ? r : orma_store_column_append(column, cell);
}

static int add_values(struct orma_kept_args *kept, const struct orma_arg_shape *shape,
		      const struct orma_noted_arg *args, uint64_t row)
{
	int r = 0;
	if (row >> ORMA_BLOCK_SHIFT != kept->block) {
		kept->block = row >> ORMA_BLOCK_SHIFT;
		count_bytes(kept);
	}
	for (uint32_t i = 0; i < shape->count && r == 0 && !kept->has_no_room; i++)
		if (shape->values[i] >= 0)
			r = add_cell(kept, ORMA_SLICE_ARG_VALUE + (size_t)shape->values[i], row,
				     args[i].value);
	return r;
}

int orma_kept_args_add(struct orma_kept_args *kept, struct orma_interning *interning,
		       const struct orma_noted_arg *args, uint64_t row)
{
	struct orma_arg_shape wanted = {.count = args->count};
	uint32_t shape;
	if (!kept->is_on)
		return 0;
	for (uint32_t i = 0; i < wanted.count; i++) {
		int r = orma_plain_arg_key(kept->tables, interning, args[i].iid, &wanted.keys[i]);
		if (r <= 0)
			return r;
		wanted.types[i] = args[i].type;
	}
	int r = find_shape(kept, &wanted, &shape);
	if (r <= 0)
		return r;
	r = add_cell(kept, ORMA_SLICE_ARG_SHAPE, row, shape);
	return r < 0 ? r : add_values(kept, &kept->shapes[shape], args, row);
}

/* --- asking ----------------------------------------------------------------------------------- */

/* Adds an argument to the shape that is being read. False when it makes no sense. */
static bool restore_arg(const struct orma_kept_args *kept, uint64_t row,
			struct orma_arg_shape *shape)
{
	const struct orma_column *columns = kept->tables->all[ORMA_TABLE_ARG_SHAPE].columns;
	int64_t key = orma_store_column_get(&columns[ORMA_ARG_SHAPE_KEY], row);
	int64_t type = orma_store_column_get(&columns[ORMA_ARG_SHAPE_TYPE], row);
	if (shape->count == ORMA_KEPT_ARGS_MAX || key <= 0 ||
	    key > (int64_t)kept->tables->strings.count || type <= ORMA_ARG_NULL ||
	    type > ORMA_ARG_BOOL)
		return false;
	shape->keys[shape->count] = (uint32_t)key;
	shape->types[shape->count++] = (uint8_t)type;
	return true;
}

int orma_kept_args_restore(struct orma_kept_args *kept)
{
	const struct orma_table *table = &kept->tables->all[ORMA_TABLE_ARG_SHAPE];
	uint64_t rows = orma_store_table_rows(table);
	struct orma_arg_shape shape = {.count = 0};
	for (uint64_t row = 0; row < rows; row++) {
		bool is_last = row + 1 == rows ||
			       orma_store_column_get(&table->columns[ORMA_ARG_SHAPE_SHAPE],
						     row + 1) != kept->shape_count;
		if (!restore_arg(kept, row, &shape))
			return -EBADMSG;
		if (!is_last)
			continue;
		uint32_t slot = find_slot(kept, &shape);
		if (kept->shape_count == ORMA_ARG_SHAPES_MAX || kept->slots[slot] != 0)
			return -EBADMSG;
		int r = insert_shape(kept, &shape, slot);
		if (r < 0)
			return r;
		shape.count = 0;
	}
	return 0;
}

/* A slice that has one of these has more arguments than those of the packet that it began with. */
static const size_t other_sources[] = {ORMA_SLICE_END_PACKET, ORMA_SLICE_PASSED_UTID,
				       ORMA_SLICE_ARG_SET_ID};

const struct orma_arg_shape *orma_kept_args_shape(const struct orma_kept_args *kept, uint64_t row)
{
	if (kept->shape_count == 0)
		return NULL;
	int64_t shape = orma_store_column_get(column_of(kept, ORMA_SLICE_ARG_SHAPE), row);
	if ((uint64_t)shape >= kept->shape_count)
		return NULL;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(other_sources); i++)
		if (orma_store_column_get(column_of(kept, other_sources[i]), row) != ORMA_CELL_NULL)
			return NULL;
	return &kept->shapes[shape];
}

int64_t orma_kept_args_value(const struct orma_kept_args *kept, const struct orma_arg_shape *shape,
			     uint32_t idx, uint64_t row)
{
	int8_t column = shape->values[idx];
	if (column < 0)
		return ORMA_CELL_NULL;
	return orma_store_column_get(column_of(kept, ORMA_SLICE_ARG_VALUE + (size_t)column), row);
}

static bool is_uniform(const struct orma_kept_args *kept, size_t column, size_t block_idx,
		       int64_t *ret)
{
	return orma_store_column_is_uniform(column_of(kept, column), block_idx, ret);
}

/* Takes the shapes away from slices that have a cell in the column. */
static void clear_others(const struct orma_column *column, size_t block_idx,
			 int64_t cells[ORMA_BLOCK_ROWS])
{
	int64_t others[ORMA_BLOCK_ROWS];
	size_t count = orma_store_column_read(column, block_idx, others);
	for (size_t i = 0; i < count; i++)
		cells[i] = others[i] == ORMA_CELL_NULL ? cells[i] : ORMA_CELL_NULL;
}

enum orma_kept_block orma_kept_args_read_block(const struct orma_kept_args *kept, size_t block_idx,
					       int64_t cells[ORMA_BLOCK_ROWS])
{
	int64_t cell, first = 0;
	bool is_plain = true, has_one = is_uniform(kept, ORMA_SLICE_ARG_SHAPE, block_idx, &first);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(other_sources); i++)
		is_plain = is_plain && is_uniform(kept, other_sources[i], block_idx, &cell) &&
			   cell == ORMA_CELL_NULL;
	if (has_one && is_plain && (uint64_t)first < kept->shape_count) {
		cells[0] = first;
		return ORMA_KEPT_ONE_SHAPE;
	}
	if (is_plain && is_uniform(kept, ORMA_SLICE_BEGIN_PACKET, block_idx, &cell) &&
	    cell == ORMA_CELL_NULL)
		return ORMA_KEPT_NO_ARGS;
	size_t count =
		orma_store_column_read(column_of(kept, ORMA_SLICE_ARG_SHAPE), block_idx, cells);
	for (size_t i = 0; i < count; i++)
		cells[i] = (uint64_t)cells[i] < kept->shape_count ? cells[i] : ORMA_CELL_NULL;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(other_sources) && !is_plain; i++)
		clear_others(column_of(kept, other_sources[i]), block_idx, cells);
	return ORMA_KEPT_MIXED;
}
