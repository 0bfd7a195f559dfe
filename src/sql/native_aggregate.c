/* SPDX-License-Identifier: Apache-2.0
 * native_aggregate.c - each row of a block gets the number of its group, then each aggregate goes through the block.
 *
 * The group columns hold small numbers: ids of strings, tracks, threads. So a group's number is looked up in an array by
 * cell; with two columns, by both. Columns with too many values are left to SQLite. The sums of doubles carry their
 * rounding error along (Neumaier), as SQLite does since 3.43.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/native.h"
#include "sql/relation_plan.h"
#include "sql/relation_vtab.h"
#include "sql/row_sort.h"
#include "sql/scan.h"

enum { CODES_MAX = 8 << 20, GROUPS_MAX = 1 << 20, FEW_ROWS = 128 };

struct accumulator {
	int64_t count; /* values that are not NULL */
	int64_t value; /* sum, least or largest one */
	double real, error;
};

struct aggregation {
	const struct orma_native_query *query;
	struct orma_scan scan;
	int64_t mins[ORMA_NATIVE_GROUPS_MAX];
	uint64_t spans[ORMA_NATIVE_GROUPS_MAX]; /* codes of each column; the last one is NULL's */
	uint32_t *group_of_code;                /* + 1; 0 = not met */
	uint32_t *codes;                        /* the groups' */
	size_t group_count, group_capacity;
	struct accumulator *accumulators[ORMA_NATIVE_AGGREGATES_MAX];
	uint32_t groups[ORMA_BLOCK_ROWS]; /* by chosen row, as are `cells` */
	int64_t cells[ORMA_BLOCK_ROWS];
	bool overflows;
};

static void done(struct aggregation *aggregation)
{
	orma_sql_scan_done(&aggregation->scan);
	orma_base_free(aggregation->group_of_code);
	orma_base_free(aggregation->codes);
	for (size_t i = 0; i < ORMA_NATIVE_AGGREGATES_MAX; i++)
		orma_base_free(aggregation->accumulators[i]);
	orma_base_free(aggregation);
}

static int add_group(struct aggregation *aggregation, uint32_t code)
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
			struct accumulator *bigger = orma_base_realloc_array(
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
		aggregation->accumulators[i][group] = (struct accumulator){.count = 0};
	aggregation->group_of_code[code] = (uint32_t)group + 1;
	return 0;
}

static int find_spans(struct aggregation *aggregation)
{
	const struct orma_native_query *query = aggregation->query;
	uint64_t codes = 1;
	for (size_t i = 0; i < query->group_count; i++) {
		int64_t min = 0, max = -1;
		if (!orma_sql_relation_range(query->relation, query->groups[i], &min, &max)) {
			/* A column of NULLs only, or a computed one. */
			if (!query->relation->columns[query->groups[i]].stored)
				return -ENOTSUP;
			min = 0;
			max = -1;
		}
		uint64_t span = (uint64_t)max - (uint64_t)min + 2;
		if (span < 1 || span > CODES_MAX || codes * span > CODES_MAX)
			return -ENOTSUP;
		aggregation->mins[i] = min;
		aggregation->spans[i] = span;
		codes *= span;
	}
	aggregation->group_of_code = orma_base_alloc_array((size_t)codes, sizeof(uint32_t));
	return aggregation->group_of_code ? 0 : -ENOMEM;
}

/* The code of NULL is the last one of its column. */
static uint32_t code_of(const struct aggregation *aggregation, size_t i, int64_t cell)
{
	return cell == ORMA_CELL_NULL ? (uint32_t)(aggregation->spans[i] - 1)
				      : (uint32_t)((uint64_t)cell - (uint64_t)aggregation->mins[i]);
}

/* Returns the column's cells of the chosen rows alone. */
static int read_chosen(struct aggregation *aggregation, size_t column, const int64_t **ret)
{
	struct orma_scan *scan = &aggregation->scan;
	size_t count = scan->chosen_count;
	const int64_t *cells;
	int r = 0;
	*ret = aggregation->cells;
	if (count < FEW_ROWS) {
		for (size_t n = 0; r == 0 && n < count; n++)
			r = orma_sql_scan_cell(scan, column, scan->chosen[n],
					       &aggregation->cells[n]);
		return r;
	}
	r = orma_sql_scan_cells(scan, column, &cells);
	if (r < 0)
		return r;
	/* The places ascend, so these are all in between. */
	if (scan->chosen[count - 1] - scan->chosen[0] == (int)count - 1) {
		*ret = cells + scan->chosen[0];
		return 0;
	}
	for (size_t n = 0; n < count; n++)
		aggregation->cells[n] = cells[scan->chosen[n]];
	return 0;
}

static int find_groups(struct aggregation *aggregation)
{
	const struct orma_native_query *query = aggregation->query;
	size_t count = aggregation->scan.chosen_count;
	uint32_t *groups = aggregation->groups;
	/* They stay zero when there is only one group. */
	if (query->group_count == 0)
		return 0;
	memset(groups, 0, count * sizeof(*groups));
	for (size_t i = 0; i < query->group_count; i++) {
		const int64_t *cells;
		int r = read_chosen(aggregation, query->groups[i], &cells);
		if (r < 0)
			return r;
		uint32_t span = (uint32_t)aggregation->spans[i];
		for (size_t n = 0; n < count; n++)
			groups[n] = groups[n] * span + code_of(aggregation, i, cells[n]);
	}
	for (size_t n = 0; n < count; n++) {
		uint32_t code = groups[n];
		if (ORMA_UNLIKELY(aggregation->group_of_code[code] == 0)) {
			int r = add_group(aggregation, code);
			if (r < 0)
				return r;
		}
		groups[n] = aggregation->group_of_code[code] - 1;
	}
	return 0;
}

/*
 * `update` changes the accumulator `a` by the value `v`, which is not NULL. The accumulator of a single group stays in
 * registers.
 */
#define FOR_EACH(type, read, is_absent, update)                                                    \
	do {                                                                                       \
		if (aggregation->group_count == 1) {                                               \
			struct accumulator single = accumulators[0], *a = &single;                 \
			for (size_t n = 0; n < count; n++) {                                       \
				type v = read(cells[n]);                                           \
				if (is_absent(v))                                                  \
					continue;                                                  \
				update;                                                            \
				a->count++;                                                        \
			}                                                                          \
			accumulators[0] = single;                                                  \
			break;                                                                     \
		}                                                                                  \
		for (size_t n = 0; n < count; n++) {                                               \
			type v = read(cells[n]);                                                   \
			struct accumulator *a = &accumulators[groups[n]];                          \
			if (is_absent(v))                                                          \
				continue;                                                          \
			update;                                                                    \
			a->count++;                                                                \
		}                                                                                  \
	} while (0)

#define IS_NULL_CELL(cell)      ((cell) == ORMA_CELL_NULL)
#define FOR_EACH_INT(update)    FOR_EACH(int64_t, (int64_t), IS_NULL_CELL, update)
#define FOR_EACH_DOUBLE(update) FOR_EACH(double, orma_store_double_of_cell, isnan, update)

static void add_real(struct accumulator *a, double value)
{
	double sum = a->real + value;
	a->error +=
		fabs(a->real) >= fabs(value) ? (a->real - sum) + value : (value - sum) + a->real;
	a->real = sum;
}

typedef void (*accumulate_fn)(struct aggregation *aggregation, struct accumulator *accumulators,
			      const int64_t *cells);

/* One function for each aggregate and type of column. */
#define ACCUMULATE(name, for_each, update)                                                         \
	static void name(struct aggregation *aggregation, struct accumulator *accumulators,        \
			 const int64_t *cells)                                                     \
	{                                                                                          \
		const uint32_t *groups = aggregation->groups;                                      \
		size_t count = aggregation->scan.chosen_count;                                     \
		bool overflows = false;                                                            \
		for_each(update);                                                                  \
		aggregation->overflows |= overflows;                                               \
	}

ACCUMULATE(count_ints, FOR_EACH_INT, (void)v)
ACCUMULATE(sum_ints, FOR_EACH_INT, overflows |= __builtin_add_overflow(a->value, v, &a->value))
ACCUMULATE(min_ints, FOR_EACH_INT, a->value = a->count == 0 || v < a->value ? v : a->value)
ACCUMULATE(max_ints, FOR_EACH_INT, a->value = a->count == 0 || v > a->value ? v : a->value)
ACCUMULATE(count_doubles, FOR_EACH_DOUBLE, (void)v)
ACCUMULATE(sum_doubles, FOR_EACH_DOUBLE, add_real(a, v))
ACCUMULATE(min_doubles, FOR_EACH_DOUBLE, a->real = a->count == 0 || v < a->real ? v : a->real)
ACCUMULATE(max_doubles, FOR_EACH_DOUBLE, a->real = a->count == 0 || v > a->real ? v : a->real)

static const accumulate_fn accumulate_cells[][2] = {
	[ORMA_AGGREGATE_COUNT] = {count_ints, count_doubles},
	[ORMA_AGGREGATE_SUM] = {sum_ints, sum_doubles},
	[ORMA_AGGREGATE_MIN] = {min_ints, min_doubles},
	[ORMA_AGGREGATE_MAX] = {max_ints, max_doubles},
	[ORMA_AGGREGATE_AVG] = {sum_ints, sum_doubles},
};

static void count_rows(const struct aggregation *aggregation, struct accumulator *accumulators)
{
	if (aggregation->query->group_count == 0) {
		accumulators[0].count += (int64_t)aggregation->scan.chosen_count;
		return;
	}
	for (size_t n = 0; n < aggregation->scan.chosen_count; n++)
		accumulators[aggregation->groups[n]].count++;
}

static int accumulate_block(struct aggregation *aggregation)
{
	const struct orma_native_query *query = aggregation->query;
	int r = find_groups(aggregation);
	for (size_t i = 0; r == 0 && i < query->aggregate_count; i++) {
		const int64_t *cells;
		int column = query->aggregates[i].column;
		if (column < 0) {
			count_rows(aggregation, aggregation->accumulators[i]);
			continue;
		}
		r = read_chosen(aggregation, (size_t)column, &cells);
		if (r < 0)
			return r;
		bool is_double = query->relation->columns[column].type == ORMA_COLUMN_DOUBLE;
		accumulate_cells[query->aggregates[i].kind][is_double](
			aggregation, aggregation->accumulators[i], cells);
	}
	return r;
}

/* The number of rows needs no scan. */
static bool is_count_of_all(const struct orma_native_query *query)
{
	return query->filter_count == 0 && query->group_count == 0 && query->aggregate_count == 1 &&
	       query->aggregates[0].column < 0;
}

static int accumulate(struct aggregation *aggregation, struct orma_interrupt *interrupt)
{
	const struct orma_native_query *query = aggregation->query;
	int r = find_spans(aggregation);
	/* Without `group by` there is one group, also when there are no rows. */
	if (r == 0 && query->group_count == 0)
		r = add_group(aggregation, 0);
	if (r == 0 && is_count_of_all(query)) {
		aggregation->accumulators[0][0].count =
			(int64_t)orma_sql_relation_rows(query->relation);
		return 0;
	}
	if (r == 0)
		r = orma_sql_scan_init(&aggregation->scan, query->relation, interrupt);
	if (r < 0)
		return r;
	orma_sql_scan_begin(&aggregation->scan, query->filters, query->filter_count, false);
	while ((r = orma_sql_scan_next(&aggregation->scan)) > 0) {
		r = accumulate_block(aggregation);
		if (r < 0)
			break;
	}
	/* SQLite has a message for it. */
	return r == 0 && aggregation->overflows ? -ENOTSUP : r;
}

/* The relation that shows the groups owns this. */
struct group_table {
	struct orma_extents extents;
	struct orma_column columns[ORMA_NATIVE_GROUPS_MAX + ORMA_NATIVE_AGGREGATES_MAX];
	char names[ORMA_NATIVE_GROUPS_MAX + ORMA_NATIVE_AGGREGATES_MAX][8];
	size_t column_count;
};

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
			   const struct accumulator *a)
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
static int64_t group_cell(const struct aggregation *aggregation, size_t group, size_t column)
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
static int add_row(const struct aggregation *aggregation, struct group_table *table, size_t group)
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
static int sort_groups(const struct aggregation *aggregation, const struct orma_plan_order *orders,
		       struct orma_relation **retunsorted, struct orma_row_sort *sort)
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

static int make_relation(const struct aggregation *aggregation, const char *name,
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

int orma_sql_native_aggregate(struct orma_sql *sql, const struct orma_native_query *query,
			      const char *name, struct orma_relation **ret)
{
	struct aggregation *aggregation = orma_base_zalloc(sizeof(*aggregation));
	if (!aggregation)
		return -ENOMEM;
	aggregation->query = query;
	int r = accumulate(aggregation, &sql->interrupt);
	if (r == 0)
		r = make_relation(aggregation, name, ret);
	done(aggregation);
	if (r < 0)
		return r == -ENOTSUP ? 0 : r;
	return 1;
}

int orma_sql_native_try(struct orma_sql *sql, struct orma_str text, struct orma_buf *ret,
			char **rettable)
{
	struct orma_native_query query;
	struct orma_relation *relation = NULL;
	char name[40];
	snprintf(name, sizeof(name), "__orma_groups_%llu", (unsigned long long)sql->native_tried++);
	int r = orma_sql_native_parse(sql, text, name, &query);
	if (r > 0)
		r = orma_sql_native_aggregate(sql, &query, name, &relation);
	if (r > 0) {
		char *copy = orma_base_strdup(name);
		r = copy ? orma_sql_relation_register(sql->db, relation, &sql->interrupt) : -ENOMEM;
		if (r < 0) {
			orma_base_free(copy);
		} else {
			*rettable = copy;
			*ret = query.sql;
			query.sql = (struct orma_buf){0};
			sql->native_made++;
			r = 1;
		}
	}
	orma_sql_relation_unref(relation);
	orma_sql_native_done(&query);
	return r;
}

void orma_sql_native_drop(struct orma_sql *sql, char *table)
{
	if (table)
		(void)sqlite3_create_module_v2(sql->db, table, NULL, NULL, NULL);
	orma_base_free(table);
}
