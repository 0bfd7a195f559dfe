/* SPDX-License-Identifier: Apache-2.0
 * flame_source.c - a table of stacks, its rows with parents first.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "answers/flamegraph.h"
#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "base/map.h"

#define NONE UINT32_MAX

void orma_flame_source_done(struct orma_flame_source *source)
{
	for (size_t i = 0; source->names && i < source->rows.column_count; i++)
		orma_base_free(source->names[i]);
	orma_base_free(source->names);
	orma_base_free(source->parents);
	orma_base_free(source->types);
	orma_row_set_done(&source->rows);
}

int orma_flame_source_find(const struct orma_flame_source *source, const char *name,
			   struct orma_error *reterr)
{
	for (size_t i = 0; i < source->rows.column_count; i++)
		if (strcasecmp(source->names[i], name) == 0)
			return (int)i;
	return orma_base_error_set(reterr, -EINVAL, "flamegraph: there is no column %s", name);
}

/* The numbers of a column are all integers, or all doubles. */
static void make_doubles(struct orma_row_set *rows, size_t column)
{
	for (size_t row = 0; row < rows->row_count; row++) {
		size_t at = orma_row_set_at(rows, row, column);
		double value = orma_row_set_double(rows, row, column);
		if (rows->types[at] != SQLITE_INTEGER)
			continue;
		rows->types[at] = SQLITE_FLOAT;
		memcpy(&rows->cells[at], &value, sizeof(value));
	}
}

static int find_types(struct orma_flame_source *source, struct orma_error *reterr)
{
	const struct orma_row_set *rows = &source->rows;
	for (size_t column = 0; column < rows->column_count; column++) {
		uint8_t type = SQLITE_NULL;
		for (size_t row = 0; row < rows->row_count; row++) {
			uint8_t cell = rows->types[orma_row_set_at(rows, row, column)];
			bool is_mixed = type != SQLITE_NULL && cell != SQLITE_NULL &&
					(type == SQLITE_TEXT) != (cell == SQLITE_TEXT);
			if (is_mixed)
				return orma_base_error_set(
					reterr, -EINVAL,
					"flamegraph: column %s has numbers and texts",
					source->names[column]);
			if (cell != SQLITE_NULL && type != SQLITE_FLOAT)
				type = cell;
		}
		source->types[column] = type;
		if (type == SQLITE_FLOAT)
			make_doubles(&source->rows, column);
	}
	if (source->types[ORMA_FLAME_NAME] == SQLITE_INTEGER ||
	    source->types[ORMA_FLAME_NAME] == SQLITE_FLOAT)
		return orma_base_error_set(reterr, -EINVAL, "flamegraph: names are not texts");
	if (source->types[ORMA_FLAME_VALUE] == SQLITE_TEXT)
		return orma_base_error_set(reterr, -EINVAL, "flamegraph: values are not numbers");
	return 0;
}

static int find_parents(struct orma_flame_source *source, struct orma_error *reterr)
{
	const struct orma_row_set *rows = &source->rows;
	struct orma_map by_id = {0};
	int r = 0;
	for (size_t row = 0; row < rows->row_count && r == 0; row++)
		r = orma_base_map_put(&by_id, (uint64_t)orma_row_set_int(rows, row, ORMA_FLAME_ID),
				      (void *)(uintptr_t)(row + 1));
	for (size_t row = 0; row < rows->row_count && r == 0; row++) {
		source->parents[row] = NONE;
		if (orma_row_set_is_null(rows, row, ORMA_FLAME_PARENT))
			continue;
		int64_t id = orma_row_set_int(rows, row, ORMA_FLAME_PARENT);
		uintptr_t parent = (uintptr_t)orma_base_map_get(&by_id, (uint64_t)id);
		if (parent == 0)
			r = orma_base_error_set(reterr, -EINVAL,
						"flamegraph: no row has the id %lld",
						(long long)id);
		source->parents[row] = (uint32_t)parent - 1;
	}
	orma_base_map_done(&by_id);
	return r;
}

/* Finds how many parents each row has above it. -EINVAL for rows that are above themselves. */
static int find_depths(const struct orma_flame_source *source, uint32_t *depths,
		       struct orma_error *reterr)
{
	const uint32_t *parents = source->parents;
	size_t count = source->rows.row_count;
	for (size_t row = 0; row < count; row++)
		depths[row] = NONE;
	for (size_t row = 0; row < count; row++) {
		uint32_t steps = 0, top = (uint32_t)row;
		while (depths[top] == NONE && parents[top] != NONE && steps <= count) {
			top = parents[top];
			steps++;
		}
		if (steps > count)
			return orma_base_error_set(reterr, -EINVAL,
						   "flamegraph: parents form a loop");
		uint32_t depth = (depths[top] == NONE ? 0 : depths[top]) + steps;
		for (uint32_t at = (uint32_t)row; depths[at] == NONE; at = parents[at]) {
			depths[at] = depth--;
			if (parents[at] == NONE)
				break;
		}
	}
	return 0;
}

static int copy_row(struct orma_row_set *to, const struct orma_row_set *from, size_t row)
{
	int r = orma_row_set_add(to);
	for (size_t i = 0; r == 0 && i < from->column_count; i++) {
		size_t at = orma_row_set_at(from, row, i);
		orma_row_set_put(to, i, from->types[at], from->cells[at]);
	}
	return r;
}

/* Sorts rows by depth, and keeps the order of those of one depth. */
static int sort_rows(struct orma_flame_source *source, const uint32_t *depths)
{
	size_t count = source->rows.row_count;
	uint32_t deepest = 0;
	int r = 0;
	for (size_t row = 0; row < count; row++)
		deepest = ORMA_MAX(deepest, depths[row]);
	ORMA_AUTO(orma_base_freep)
	uint32_t *starts = orma_base_alloc_array((size_t)deepest + 2, sizeof(*starts));
	ORMA_AUTO(orma_base_freep) uint32_t *order = orma_base_alloc_array(count, sizeof(*order));
	struct orma_row_set sorted = {.column_count = source->rows.column_count,
				      .pool = source->rows.pool,
				      .interrupt = source->rows.interrupt,
				      .budget = source->rows.budget};
	if (!starts || !order)
		return -ENOMEM;
	for (size_t row = 0; row < count; row++)
		starts[depths[row] + 1]++;
	for (uint32_t i = 0; i < deepest; i++)
		starts[i + 1] += starts[i];
	for (size_t row = 0; row < count; row++)
		order[starts[depths[row]]++] = (uint32_t)row;
	for (size_t i = 0; i < count && r == 0; i++)
		r = copy_row(&sorted, &source->rows, order[i]);
	orma_row_set_done(r == 0 ? &source->rows : &sorted);
	if (r == 0)
		source->rows = sorted;
	return r;
}

int orma_flame_source_finish(struct orma_flame_source *source, struct orma_error *reterr)
{
	size_t count = source->rows.row_count;
	if (count >= NONE)
		return -EOVERFLOW;
	source->types = orma_base_zalloc(source->rows.column_count);
	source->parents = orma_base_alloc_array(count + 1, sizeof(*source->parents));
	ORMA_AUTO(orma_base_freep)
	uint32_t *depths = orma_base_alloc_array(count + 1, sizeof(*depths));
	if (!source->types || !source->parents || !depths)
		return -ENOMEM;
	int r = find_types(source, reterr);
	if (r == 0)
		r = find_parents(source, reterr);
	if (r == 0)
		r = find_depths(source, depths, reterr);
	bool is_sorted = true;
	for (size_t row = 0; row < count && r == 0; row++)
		is_sorted =
			is_sorted && (source->parents[row] == NONE || source->parents[row] < row);
	if (r < 0 || is_sorted)
		return r;
	r = sort_rows(source, depths);
	return r < 0 ? r : find_parents(source, reterr);
}
