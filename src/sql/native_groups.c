/* SPDX-License-Identifier: Apache-2.0
 * native_groups.c - the groups as they are met, and then as a small table: their cells are decoded from their numbers, sorted,
 * and put beside the aggregates.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/native_aggregation.h"
#include "sql/relation_plan.h"
#include "sql/row_sort.h"

enum { GROUPS_MAX = 1 << 20 };

/* The relation that shows the groups owns this. */
struct group_table {
	struct orma_extents extents;
	struct orma_column columns[ORMA_NATIVE_GROUPS_MAX + ORMA_NATIVE_AGGREGATES_MAX];
	char names[ORMA_NATIVE_GROUPS_MAX + ORMA_NATIVE_AGGREGATES_MAX][8];
	size_t column_count;
};

int orma_sql_native_add_group(struct orma_native_aggregation *aggregation, uint32_t code)
{
	const struct orma_native_query *query = aggregation->query;
	if (aggregation->group_count == GROUPS_MAX)
		return -ENOTSUP;
	if (aggregation->group_count == aggregation->group_capacity) {
		size_t capacity = ORMA_MAX(aggregation->group_capacity * 2, (size_t)64);
		uint32_t *codes =
			orma_base_realloc_array(aggregation->codes, capacity, sizeof(*codes));
		if (!codes)
			return -ENOMEM;
		aggregation->codes = codes;
		for (size_t i = 0; i < query->aggregate_count; i++) {
			struct orma_native_accumulator *bigger = orma_base_realloc_array(
				aggregation->accumulators[i], capacity, sizeof(*bigger));
			if (!bigger)
				return -ENOMEM;
			aggregation->accumulators[i] = bigger;
		}
		aggregation->group_capacity = capacity;
	}
	size_t group = aggregation->group_count++;
	aggregation->codes[group] = code;
	for (size_t i = 0; i < query->aggregate_count; i++)
		aggregation->accumulators[i][group] = (struct orma_native_accumulator){.count = 0};
	aggregation->group_of_code[code] = (uint32_t)group + 1;
	return 0;
}

static void free_table(void *ctx)
{
	struct group_table *table = ctx;
	for (size_t i = 0; i < table->column_count; i++)
		orma_store_column_done(&table->columns[i]);
	orma_store_extents_done(&table->extents);
	orma_base_free(table);
}

static void add_column(struct group_table *table, char prefix, size_t number,
		       enum orma_column_type type)
{
	size_t i = table->column_count++;
	orma_store_column_init(&table->columns[i], type, &table->extents, 0);
	snprintf(table->names[i], sizeof(table->names[i]), "%c%u", prefix, (unsigned)number % 100);
}

static enum orma_column_type result_type(const struct orma_native_query *query, size_t aggregate)
{
	const struct orma_native_aggregate *wanted = &query->aggregates[aggregate];
	if (wanted->kind == ORMA_AGGREGATE_AVG)
		return ORMA_COLUMN_DOUBLE;
	bool is_count = wanted->kind == ORMA_AGGREGATE_COUNT;
	return is_count ? ORMA_COLUMN_INT : query->relation->columns[wanted->column].type;
}

static int64_t result_cell(const struct orma_native_query *query, size_t aggregate,
			   const struct orma_native_accumulator *a)
{
	const struct orma_native_aggregate *wanted = &query->aggregates[aggregate];
	if (wanted->kind == ORMA_AGGREGATE_COUNT)
		return a->count;
	if (a->count == 0)
		return orma_store_null_of(result_type(query, aggregate));
	bool is_double = query->relation->columns[wanted->column].type == ORMA_COLUMN_DOUBLE;
	double real = isfinite(a->error) ? a->real + a->error : a->real;
	if (wanted->kind == ORMA_AGGREGATE_AVG)
		real = (is_double ? real : (double)a->value) / (double)a->count;
	else if (!is_double)
		return a->value;
	return orma_store_cell_of_double(real);
}

/* The cell of a group column that a group's code stands for. */
static int64_t group_cell(const struct orma_native_aggregation *aggregation, size_t group,
			  size_t column)
{
	uint64_t code = aggregation->codes[group];
	for (size_t i = aggregation->query->group_count - 1; i > column; i--)
		code /= aggregation->spans[i];
	code %= aggregation->spans[column];
	return code == aggregation->spans[column] - 1
		       ? ORMA_CELL_NULL
		       : (int64_t)((uint64_t)aggregation->mins[column] + code);
}

static int new_table(const struct orma_native_query *query, bool has_aggregates,
		     struct group_table **ret)
{
	struct group_table *table = orma_base_zalloc(sizeof(*table));
	if (!table)
		return -ENOMEM;
	table->extents.fd = -1;
	for (size_t i = 0; i < query->group_count; i++)
		add_column(table, 'g', i, query->relation->columns[query->groups[i]].type);
	for (size_t i = 0; has_aggregates && i < query->aggregate_count; i++)
		add_column(table, 'a', i, result_type(query, i));
	*ret = table;
	return 0;
}

/* Adds a group's row to a table of group columns and, if it has them, aggregates. */
static int add_row(const struct orma_native_aggregation *aggregation, struct group_table *table,
		   size_t group)
{
	const struct orma_native_query *query = aggregation->query;
	int r = 0;
	for (size_t i = 0; r == 0 && i < table->column_count; i++) {
		size_t aggregate = i - query->group_count;
		int64_t cell = i < query->group_count
				       ? group_cell(aggregation, group, i)
				       : result_cell(query, aggregate,
						     &aggregation->accumulators[aggregate][group]);
		r = orma_store_column_append(&table->columns[i], cell);
	}
	return r;
}

/* Makes the relation that owns the table. On failure the table is freed. */
static int show(const struct orma_native_query *query, struct group_table *table, uint64_t rows,
		const char *name, struct orma_relation **ret)
{
	struct orma_relation *relation = NULL;
	int r = 0;
	for (size_t i = 0; r == 0 && i < table->column_count; i++)
		r = orma_store_column_seal(&table->columns[i]);
	if (r == 0)
		r = orma_sql_relation_new(name, NULL, query->relation->pool, &relation);
	if (r < 0 || !relation) {
		free_table(table);
		return r;
	}
	relation->release = free_table;
	relation->release_ctx = table;
	relation->row_count = rows;
	for (size_t i = 0; r == 0 && i < table->column_count; i++)
		r = orma_sql_relation_add(
			relation, &(struct orma_relation_column){.name = table->names[i],
								 .type = table->columns[i].type,
								 .stored = &table->columns[i]});
	if (r < 0) {
		orma_sql_relation_unref(relation);
		return r;
	}
	*ret = relation;
	return 0;
}

/* Writes the groups' numbers in ascending order of their cells to `sort`, through a table of the cells alone. */
static int sort_groups(const struct orma_native_aggregation *aggregation,
		       const struct orma_plan_order *orders, struct orma_relation **retunsorted,
		       struct orma_row_sort *sort)
{
	const struct orma_native_query *query = aggregation->query;
	struct group_table *table;
	int r = new_table(query, false, &table);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < aggregation->group_count; i++)
		r = add_row(aggregation, table, i);
	if (r < 0) {
		free_table(table);
		return r;
	}
	r = show(query, table, aggregation->group_count, "unsorted", retunsorted);
	if (r < 0)
		return r;
	orma_sql_row_sort_init(sort, *retunsorted, orders, query->group_count, UINT64_MAX);
	for (size_t i = 0; r == 0 && i < aggregation->group_count; i++)
		r = orma_sql_row_sort_add(sort, (uint32_t)i, 0);
	return r < 0 ? r : orma_sql_row_sort_finish(sort);
}

int orma_sql_native_show(const struct orma_native_aggregation *aggregation, const char *name,
			 struct orma_relation **ret)
{
	const struct orma_native_query *query = aggregation->query;
	struct orma_plan_order orders[ORMA_NATIVE_GROUPS_MAX];
	struct orma_row_sort sort = {.limit = 0};
	struct orma_relation *unsorted = NULL;
	struct group_table *table = NULL;
	/* Column 0 of a relation is the row's number. */
	for (size_t i = 0; i < query->group_count; i++)
		orders[i] = (struct orma_plan_order){.column_idx = i + 1};
	/* `distinct` keeps the order in which the groups were met. */
	bool is_sorted = query->group_count > 0 && !query->is_distinct;
	int r = is_sorted ? sort_groups(aggregation, orders, &unsorted, &sort) : 0;
	if (r == 0)
		r = new_table(query, true, &table);
	for (size_t i = 0; r == 0 && i < aggregation->group_count; i++)
		r = add_row(aggregation, table, sort.rows ? sort.rows[i] : i);
	orma_sql_row_sort_done(&sort);
	orma_sql_relation_unref(unsorted);
	if (r == 0)
		return show(query, table, aggregation->group_count, name, ret);
	if (table)
		free_table(table);
	return r;
}
