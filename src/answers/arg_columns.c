/* SPDX-License-Identifier: Apache-2.0
 * arg_columns.c - extract_arg(arg_set_id, 'key') of all slices as a column of integers, for aggregates that are computed natively.
 *
 * A block of slices whose arguments have one shape is a block of values, as they were kept when the trace was loaded (trace/kept_args.h).
 * An argument that was not kept is read from the packets. Invariant: the column has what the function returns. It returns values of
 * all types, and a column has one, so a text or a double ends the reading with -ENOTSUP, and SQLite calls the function.
 */
#include <errno.h>

#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/macros.h"

enum { NOT_THERE = -1, IN_PACKET = -2 };

struct orma_arg_column {
	struct orma_arg_column *next;
	struct orma_trace_database *database;
	uint32_t key;
	int8_t places
		[ORMA_ARG_SHAPES_MAX]; /* by shape: the column of values, or one of the above */
};

void orma_arg_columns_free(struct orma_arg_column *column)
{
	while (column) {
		struct orma_arg_column *next = column->next;
		orma_base_free(column);
		column = next;
	}
}

/* Reads one value from the packets, if the slice has arguments. */
static int read_packets(const struct orma_arg_column *column, uint64_t row, int64_t *ret)
{
	struct orma_trace_database *database = column->database;
	const struct orma_column *columns = database->tables.all[ORMA_TABLE_SLICE].columns;
	int64_t set = orma_store_column_get(&columns[ORMA_SLICE_ARG_SET_ID], row);
	const struct orma_arg_list *list;
	*ret = ORMA_CELL_NULL;
	if (set == ORMA_CELL_NULL && !orma_slice_has_args(columns, row))
		return 0;
	if (set == ORMA_CELL_NULL)
		set = ORMA_ARG_SET_OF_SLICE | (int64_t)row;
	int r = orma_trace_database_args(database, set, &list);
	for (uint32_t i = 0; r == 0 && i < list->count; i++) {
		const struct orma_arg *arg = &list->args[i];
		if (arg->key != column->key)
			continue;
		if (arg->type == ORMA_ARG_NULL)
			return 0;
		bool is_number = arg->type != ORMA_ARG_REAL && arg->type != ORMA_ARG_STRING &&
				 arg->type != ORMA_ARG_JSON;
		*ret = arg->value;
		return is_number && arg->value != ORMA_CELL_NULL ? 0 : -ENOTSUP;
	}
	return r;
}

static int read_row(const struct orma_arg_column *column, uint64_t row, int64_t *ret)
{
	const struct orma_kept_args *kept = &column->database->importer.kept_args;
	const struct orma_arg_shape *shape = orma_kept_args_shape(kept, row);
	int place = shape ? column->places[shape - kept->shapes] : IN_PACKET;
	*ret = ORMA_CELL_NULL;
	if (place == NOT_THERE)
		return 0;
	if (place >= 0)
		*ret = orma_store_column_get(
			orma_tables_column(&column->database->tables, ORMA_TABLE_SLICE,
					   ORMA_SLICE_ARG_VALUE + (size_t)place),
			row);
	return *ret != ORMA_CELL_NULL ? 0 : read_packets(column, row, ret);
}

/* All slices have one shape. */
static int read_shape(const struct orma_arg_column *column, uint64_t first, size_t count, int place,
		      int64_t *ret)
{
	int r = 0;
	if (place >= 0)
		orma_store_column_read(orma_tables_column(&column->database->tables,
							  ORMA_TABLE_SLICE,
							  ORMA_SLICE_ARG_VALUE + (size_t)place),
				       (size_t)(first >> ORMA_BLOCK_SHIFT), ret);
	for (size_t i = 0; i < count && r == 0; i++) {
		if (place < 0)
			ret[i] = ORMA_CELL_NULL;
		if (ret[i] == ORMA_CELL_NULL && place != NOT_THERE)
			r = read_packets(column, first + i, &ret[i]);
	}
	return r;
}

/* The shapes are in `ret`, and are replaced by the values. */
static int read_mixed(const struct orma_arg_column *column, uint64_t first, size_t count,
		      int64_t *ret)
{
	int64_t values[ORMA_ARG_VALUES][ORMA_BLOCK_ROWS];
	bool is_read[ORMA_ARG_VALUES] = {false};
	int r = 0;
	for (size_t i = 0; i < count && r == 0; i++) {
		int place = ret[i] == ORMA_CELL_NULL ? IN_PACKET : column->places[ret[i]];
		ret[i] = ORMA_CELL_NULL;
		if (place >= 0 && !is_read[place]) {
			is_read[place] = true;
			orma_store_column_read(
				orma_tables_column(&column->database->tables, ORMA_TABLE_SLICE,
						   ORMA_SLICE_ARG_VALUE + (size_t)place),
				(size_t)(first >> ORMA_BLOCK_SHIFT), values[place]);
		}
		if (place >= 0)
			ret[i] = values[place][i];
		if (ret[i] == ORMA_CELL_NULL && place != NOT_THERE)
			r = read_packets(column, first + i, &ret[i]);
	}
	return r;
}

static int read_column(void *ctx, uint64_t first, size_t count, int64_t *ret)
{
	const struct orma_arg_column *column = ctx;
	const struct orma_kept_args *kept = &column->database->importer.kept_args;
	if (count == 1)
		return read_row(column, first, ret);
	switch (orma_kept_args_read_block(kept, (size_t)(first >> ORMA_BLOCK_SHIFT), ret)) {
	case ORMA_KEPT_NO_ARGS:
		return read_shape(column, first, count, NOT_THERE, ret);
	case ORMA_KEPT_ONE_SHAPE:
		return read_shape(column, first, count, column->places[ret[0]], ret);
	case ORMA_KEPT_MIXED:
		break;
	}
	return read_mixed(column, first, count, ret);
}

/* Finds where each shape has the key. False when no shape has it, or one has a value that is no integer. */
static bool find_places(const struct orma_kept_args *kept, uint32_t key, int8_t *ret)
{
	bool has_key = false;
	for (uint32_t i = 0; i < kept->shape_count; i++) {
		const struct orma_arg_shape *shape = &kept->shapes[i];
		ret[i] = NOT_THERE;
		for (uint32_t k = 0; k < shape->count; k++) {
			if (shape->keys[k] != key)
				continue;
			if (shape->types[k] == ORMA_ARG_STRING || shape->types[k] == ORMA_ARG_REAL)
				return false;
			ret[i] = shape->values[k];
			if (ret[i] < 0)
				ret[i] = IN_PACKET;
			has_key = true;
		}
	}
	return has_key;
}

int orma_arg_column_find(void *ctx, struct orma_str key, struct orma_relation_column *ret)
{
	struct orma_trace_database *database = ctx;
	uint32_t id = orma_store_pool_find(&database->tables.strings, key);
	struct orma_arg_column *column = database->arg_columns;
	int8_t places[ORMA_ARG_SHAPES_MAX] = {0};
	while (column && column->key != id)
		column = column->next;
	if (!column) {
		/* So there are not more of them than keys of shapes. */
		if (id == 0 || !find_places(&database->importer.kept_args, id, places))
			return -ENOTSUP;
		column = orma_base_alloc(sizeof(*column));
		if (!column)
			return -ENOMEM;
		*column = (struct orma_arg_column){
			.next = database->arg_columns, .database = database, .key = id};
		memcpy(column->places, places, sizeof(places));
		database->arg_columns = column;
	}
	*ret = (struct orma_relation_column){.name = "extract_arg",
					     .type = ORMA_COLUMN_INT,
					     .flags = ORMA_COLUMN_HIDDEN | ORMA_RELATION_CALL,
					     .read = read_column,
					     .ctx = column};
	return 0;
}
