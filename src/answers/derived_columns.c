/* SPDX-License-Identifier: Apache-2.0
 * derived_columns.c - columns of slices that need a look at all slices: they are computed when a query first reads them,
 * and kept as packed columns.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "base/map.h"
#include "trace/slices.h"

struct derived_column {
	struct orma_trace_database *database;
	/* Fills an array that has a place for each slice, all of them 0. 0 or a negative errno value. */
	int (*compute)(struct orma_trace_database *database, int64_t *cells, uint64_t count);
	struct orma_column column;
	bool is_computed;
};

struct orma_derived_columns {
	struct derived_column self_dur, stack_id;
};

static int store(struct derived_column *derived)
{
	struct orma_trace_database *database = derived->database;
	uint64_t count = orma_store_table_rows(&database->tables.all[ORMA_TABLE_SLICE]);
	if (count > SIZE_MAX)
		return -ENOMEM;
	ORMA_AUTO(orma_base_freep)
	int64_t *cells = orma_base_alloc_array((size_t)count + 1, sizeof(*cells));
	int r = cells ? derived->compute(database, cells, count) : -ENOMEM;
	orma_store_column_done(&derived->column);
	orma_store_column_init(&derived->column, ORMA_COLUMN_INT, &database->tables.extents, 0);
	for (uint64_t i = 0; i < count && r == 0; i++)
		r = orma_store_column_append(&derived->column, cells[i]);
	derived->is_computed = r == 0;
	return r;
}

static int read_derived(void *ctx, uint64_t first, size_t count, int64_t *ret)
{
	struct derived_column *derived = ctx;
	int r = derived->is_computed ? 0 : store(derived);
	uint64_t rows = orma_store_column_rows(&derived->column);
	if (r == 0 && first % ORMA_BLOCK_ROWS == 0 && first < rows &&
	    count == ORMA_MIN(rows - first, (uint64_t)ORMA_BLOCK_ROWS)) {
		orma_store_column_read(&derived->column, (size_t)(first >> ORMA_BLOCK_SHIFT), ret);
		return 0;
	}
	for (size_t i = 0; i < count && r == 0; i++)
		ret[i] = orma_store_column_get(&derived->column, first + i);
	return r;
}

/* The duration less those of the children. A child that is still open counts -1, as in Perfetto. */
static int compute_self_dur(struct orma_trace_database *database, int64_t *cells, uint64_t count)
{
	const struct orma_column *columns = database->tables.all[ORMA_TABLE_SLICE].columns;
	int64_t durs[ORMA_BLOCK_ROWS], parents[ORMA_BLOCK_ROWS];
	for (uint64_t first = 0; first < count; first += ORMA_BLOCK_ROWS) {
		size_t block = (size_t)(first >> ORMA_BLOCK_SHIFT);
		size_t rows = orma_store_column_read(&columns[ORMA_SLICE_DUR], block, durs);
		orma_store_column_read(&columns[ORMA_SLICE_PARENT_ID], block, parents);
		for (size_t i = 0; i < rows; i++) {
			uint64_t row = first + i, dur = (uint64_t)durs[i];
			int64_t parent = parents[i];
			cells[row] = (int64_t)((uint64_t)cells[row] + dur);
			if (parent >= 0 && (uint64_t)parent < row)
				cells[parent] = (int64_t)((uint64_t)cells[parent] - dur);
		}
	}
	return 0;
}

static struct orma_str string_of(const struct orma_trace_database *database, size_t column,
				 uint64_t slice)
{
	int64_t id = orma_store_column_get(&database->tables.all[ORMA_TABLE_SLICE].columns[column],
					   slice);
	return id == ORMA_CELL_NULL ? (struct orma_str){NULL, 0}
				    : orma_store_pool_get(&database->tables.strings, (uint32_t)id);
}

/* The hash of a slice's category and name; 0 = no name. */
static uint64_t hash_slice(const struct orma_trace_database *database, uint64_t slice)
{
	struct orma_str category = string_of(database, ORMA_SLICE_CATEGORY, slice);
	struct orma_str name = string_of(database, ORMA_SLICE_NAME, slice);
	if (!name.data)
		return 0;
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, category.data, category.size);
	hash = orma_base_fnv1a(hash, "|", 1);
	return orma_base_fnv1a(hash, name.data, name.size);
}

static int64_t hash_stack(const int64_t *slices, size_t count)
{
	uint64_t hash = ORMA_FNV1A_INIT;
	bool is_first = true;
	for (size_t i = 0; i < count; i++) {
		char text[32];
		if (slices[i] == 0)
			continue;
		int size =
			snprintf(text, sizeof(text), "%s%" PRId64, is_first ? "" : "|", slices[i]);
		hash = orma_base_fnv1a(hash, text, (size_t)size);
		is_first = false;
	}
	return is_first ? 0 : (int64_t)hash;
}

/*
 * A stack's id is Perfetto's: the hash of the hashes of the slice and, from the outermost on, of those above it, written
 * as numbers with bars between them. From the last slice to the first, because those above must still have their own hash.
 */
static int compute_stack_id(struct orma_trace_database *database, int64_t *cells, uint64_t count)
{
	const struct orma_column *columns = database->tables.all[ORMA_TABLE_SLICE].columns;
	int64_t stack[ORMA_SLICE_DEPTH_MAX + 1];
	for (uint64_t i = 0; i < count; i++)
		cells[i] = (int64_t)hash_slice(database, i);
	for (uint64_t i = count; i-- > 0;) {
		size_t first = ORMA_SLICE_DEPTH_MAX + 1;
		for (uint64_t slice = i;;) {
			int64_t parent =
				orma_store_column_get(&columns[ORMA_SLICE_PARENT_ID], slice);
			if (parent < 0 || (uint64_t)parent >= slice || first == 1)
				break;
			slice = (uint64_t)parent;
			stack[--first] = cells[slice];
		}
		stack[--first] = cells[i];
		cells[i] = hash_stack(&stack[first], ORMA_SLICE_DEPTH_MAX + 1 - first);
	}
	return 0;
}

static int add(struct orma_trace_database *database, const char *name, const char *column_name,
	       struct derived_column *derived)
{
	struct orma_relation *relation;
	int r = orma_sql_relation_new(name, "id", &database->tables.strings, &relation);
	if (r < 0)
		return r;
	derived->database = database;
	orma_store_column_init(&derived->column, ORMA_COLUMN_INT, &database->tables.extents, 0);
	relation->table = &database->tables.all[ORMA_TABLE_SLICE];
	r = orma_sql_relation_add(relation, &(struct orma_relation_column){.name = column_name,
									   .type = ORMA_COLUMN_INT,
									   .read = read_derived,
									   .ctx = derived});
	if (r == 0)
		r = orma_sql_add_relation(database->sql, relation);
	orma_sql_relation_unref(relation);
	return r;
}

int orma_derived_columns_add(struct orma_trace_database *database)
{
	struct orma_derived_columns *columns = orma_base_zalloc(sizeof(*columns));
	if (!columns)
		return -ENOMEM;
	database->derived = columns;
	columns->self_dur.compute = compute_self_dur;
	columns->stack_id.compute = compute_stack_id;
	int r = add(database, "__intrinsic_slice_self_dur", "self_dur", &columns->self_dur);
	if (r == 0)
		r = add(database, "__intrinsic_slice_stack", "stack_id", &columns->stack_id);
	return r;
}

void orma_derived_columns_free(struct orma_derived_columns *columns)
{
	if (!columns)
		return;
	orma_store_column_done(&columns->self_dur.column);
	orma_store_column_done(&columns->stack_id.column);
	orma_base_free(columns);
}
