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
	for (size_t i = 0; i < count && r == 0; i++)
		ret[i] = orma_store_column_get(&derived->column, first + i);
	return r;
}

/* The duration less those of the children. A child that is still open counts -1, as in Perfetto. */
static int compute_self_dur(struct orma_trace_database *database, int64_t *cells, uint64_t count)
{
	const struct orma_column *columns = database->tables.all[ORMA_TABLE_SLICE].columns;
	for (uint64_t i = 0; i < count; i++) {
		int64_t dur = orma_store_column_get(&columns[ORMA_SLICE_DUR], i);
		int64_t parent = orma_store_column_get(&columns[ORMA_SLICE_PARENT_ID], i);
		cells[i] = (int64_t)((uint64_t)cells[i] + (uint64_t)dur);
		if (parent >= 0 && (uint64_t)parent < i)
			cells[parent] = (int64_t)((uint64_t)cells[parent] - (uint64_t)dur);
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

/*
 * A stack's id is the hash of its slices' hashes, written as numbers with bars between them. The hash of a longer text
 * continues that of the shorter one, so a slice needs only its parent's.
 */
static int compute_stack_id(struct orma_trace_database *database, int64_t *cells, uint64_t count)
{
	const struct orma_column *columns = database->tables.all[ORMA_TABLE_SLICE].columns;
	for (uint64_t i = 0; i < count; i++) {
		struct orma_str category = string_of(database, ORMA_SLICE_CATEGORY, i);
		struct orma_str name = string_of(database, ORMA_SLICE_NAME, i);
		int64_t parent = orma_store_column_get(&columns[ORMA_SLICE_PARENT_ID], i);
		bool has_parent = parent >= 0 && (uint64_t)parent < i && cells[parent] != 0;
		cells[i] = has_parent ? cells[parent] : 0;
		if (!name.data)
			continue;
		uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, category.data, category.size);
		hash = orma_base_fnv1a(hash, "|", 1);
		hash = orma_base_fnv1a(hash, name.data, name.size);
		char text[32];
		int size = snprintf(text, sizeof(text), "%s%" PRId64, has_parent ? "|" : "",
				    (int64_t)hash);
		cells[i] = (int64_t)orma_base_fnv1a(
			has_parent ? (uint64_t)cells[parent] : ORMA_FNV1A_INIT, text, (size_t)size);
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
