/* SPDX-License-Identifier: Apache-2.0
 * native_aggregate.c - each row of a block gets the number of its group, then each aggregate goes through the block.
 *
 * The group columns hold small numbers: ids of strings, tracks, threads. So a group's number is looked up in an array by
 * cell; with two columns, by both. Columns with too many values are left to SQLite. The sums of doubles carry their
 * rounding error along (Neumaier), as SQLite does since 3.43.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/native_aggregation.h"
#include "sql/relation_vtab.h"

enum { CODES_MAX = 8 << 20 };

static void done(struct orma_native_aggregation *aggregation)
{
	orma_sql_scan_done(&aggregation->scan);
	orma_base_free(aggregation->group_of_code);
	orma_base_free(aggregation->codes);
	for (size_t i = 0; i < ORMA_NATIVE_AGGREGATES_MAX; i++)
		orma_base_free(aggregation->accumulators[i]);
	orma_base_free(aggregation);
}

static int find_spans(struct orma_native_aggregation *aggregation)
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

/* Returns the filter that leaves one value of a column, or NULL. */
static const struct orma_filter *find_equality(const struct orma_native_query *query, size_t column)
{
	for (size_t i = 0; i < query->filter_count; i++) {
		const struct orma_filter *filter = &query->filters[i];
		if (filter->column_idx == column && filter->kind == ORMA_FILTER_RANGE &&
		    filter->low == filter->high)
			return filter;
	}
	return NULL;
}

/* Notes whether the filters leave one group, as those of `where thread.name = 'main'` do when one thread has that name. */
static void find_only_group(struct orma_native_aggregation *aggregation)
{
	const struct orma_native_query *query = aggregation->query;
	uint64_t code = 0;
	for (size_t i = 0; i < query->group_count; i++) {
		const struct orma_filter *filter = find_equality(query, query->groups[i]);
		uint64_t span = aggregation->spans[i];
		uint64_t distance =
			filter ? (uint64_t)filter->low - (uint64_t)aggregation->mins[i] : span;
		/* A value that the column does not have leaves no row. */
		if (distance >= span - 1)
			return;
		code = code * span + distance;
	}
	aggregation->is_one_group = true;
	aggregation->only_code = (uint32_t)code;
}

static int find_groups(struct orma_native_aggregation *aggregation)
{
	const struct orma_native_query *query = aggregation->query;
	size_t count = aggregation->scan.chosen_count;
	uint32_t *groups = aggregation->groups;
	/* They stay zero when there is only one group. */
	if (aggregation->is_one_group)
		return aggregation->group_count > 0
			       ? 0
			       : orma_sql_native_add_group(aggregation, aggregation->only_code);
	memset(groups, 0, count * sizeof(*groups));
	for (size_t i = 0; i < query->group_count; i++) {
		const int64_t *cells;
		int r = orma_sql_scan_chosen_cells(&aggregation->scan, query->groups[i],
						   aggregation->cells, &cells);
		if (r < 0)
			return r;
		uint32_t span = (uint32_t)aggregation->spans[i];
		for (size_t n = 0; n < count; n++)
			groups[n] =
				groups[n] * span + orma_sql_native_code(aggregation, i, cells[n]);
	}
	for (size_t n = 0; n < count; n++) {
		uint32_t code = groups[n];
		if (ORMA_UNLIKELY(aggregation->group_of_code[code] == 0)) {
			int r = orma_sql_native_add_group(aggregation, code);
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
			struct orma_native_accumulator single = accumulators[0], *a = &single;     \
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
			struct orma_native_accumulator *a = &accumulators[groups[n]];              \
			if (is_absent(v))                                                          \
				continue;                                                          \
			update;                                                                    \
			a->count++;                                                                \
		}                                                                                  \
	} while (0)

#define IS_NULL_CELL(cell)      ((cell) == ORMA_CELL_NULL)
#define FOR_EACH_INT(update)    FOR_EACH(int64_t, (int64_t), IS_NULL_CELL, update)
#define FOR_EACH_DOUBLE(update) FOR_EACH(double, orma_store_double_of_cell, isnan, update)

static void add_real(struct orma_native_accumulator *a, double value)
{
	double sum = a->real + value;
	a->error +=
		fabs(a->real) >= fabs(value) ? (a->real - sum) + value : (value - sum) + a->real;
	a->real = sum;
}

typedef void (*accumulate_fn)(struct orma_native_aggregation *aggregation,
			      struct orma_native_accumulator *accumulators, const int64_t *cells);

/* One function for each aggregate and type of column. */
#define ACCUMULATE(name, for_each, update)                                                         \
	static void name(struct orma_native_aggregation *aggregation,                              \
			 struct orma_native_accumulator *accumulators, const int64_t *cells)       \
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

static void count_rows(const struct orma_native_aggregation *aggregation,
		       struct orma_native_accumulator *accumulators)
{
	if (aggregation->is_one_group) {
		accumulators[0].count += (int64_t)aggregation->scan.chosen_count;
		return;
	}
	for (size_t n = 0; n < aggregation->scan.chosen_count; n++)
		accumulators[aggregation->groups[n]].count++;
}

/* True when all aggregates can be taken from packed cells, without a list of rows. */
static bool can_sum_packed(const struct orma_native_aggregation *aggregation)
{
	const struct orma_native_query *query = aggregation->query;
	for (size_t i = 0; i < query->aggregate_count; i++) {
		const struct orma_native_aggregate *wanted = &query->aggregates[i];
		if (wanted->kind == ORMA_AGGREGATE_MIN || wanted->kind == ORMA_AGGREGATE_MAX)
			return false;
		if (wanted->column < 0)
			continue;
		const struct orma_relation_column *column =
			&query->relation->columns[wanted->column];
		if (!column->stored || column->type != ORMA_COLUMN_INT)
			return false;
	}
	return aggregation->is_one_group;
}

/* Adds the chosen rows of a block as bits. 1, 0 (they have to be listed), or a negative errno value. */
static int sum_packed(struct orma_native_aggregation *aggregation)
{
	const struct orma_native_query *query = aggregation->query;
	const struct orma_scan *scan = &aggregation->scan;
	int64_t sums[ORMA_NATIVE_AGGREGATES_MAX] = {0};
	uint64_t numbers[ORMA_NATIVE_AGGREGATES_MAX];
	for (size_t i = 0; i < query->aggregate_count; i++) {
		int column = query->aggregates[i].column;
		numbers[i] = scan->chosen_count;
		if (column >= 0 && !orma_store_column_sum(query->relation->columns[column].stored,
							  (size_t)scan->block_idx, scan->mask,
							  &sums[i], &numbers[i]))
			return 0;
	}
	int r = find_groups(aggregation);
	for (size_t i = 0; r == 0 && i < query->aggregate_count; i++) {
		struct orma_native_accumulator *a = &aggregation->accumulators[i][0];
		a->count += (int64_t)numbers[i];
		aggregation->overflows |= __builtin_add_overflow(a->value, sums[i], &a->value);
	}
	return r < 0 ? r : 1;
}

static int accumulate_block(struct orma_native_aggregation *aggregation)
{
	const struct orma_native_query *query = aggregation->query;
	int r = aggregation->scan.mask ? sum_packed(aggregation) : 0;
	if (r != 0)
		return ORMA_MIN(r, 0);
	orma_sql_scan_list(&aggregation->scan);
	r = find_groups(aggregation);
	for (size_t i = 0; r == 0 && i < query->aggregate_count; i++) {
		const int64_t *cells;
		int column = query->aggregates[i].column;
		if (column < 0) {
			count_rows(aggregation, aggregation->accumulators[i]);
			continue;
		}
		r = orma_sql_scan_chosen_cells(&aggregation->scan, (size_t)column,
					       aggregation->cells, &cells);
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

static int accumulate_blocks(struct orma_native_aggregation *aggregation)
{
	int r;
	while ((r = orma_sql_scan_next(&aggregation->scan)) > 0) {
		r = accumulate_block(aggregation);
		if (r < 0)
			return r;
	}
	return r;
}

/* Takes the sums of runs where the table keeps them, and goes through the blocks in between. */
static int accumulate_rows(struct orma_native_aggregation *aggregation)
{
	const struct orma_group_sums *sums;
	struct orma_scan *scan = &aggregation->scan;
	int key = orma_sql_native_find_sums(aggregation, &sums);
	uint64_t end = scan->end;
	if (key < 0)
		return accumulate_blocks(aggregation);
	while (scan->begin < end) {
		int r = orma_sql_native_take_run(aggregation, sums, (size_t)key, end, &scan->end);
		if (r == 0)
			r = accumulate_blocks(aggregation);
		if (r < 0)
			return r;
	}
	return 0;
}

static int accumulate(struct orma_native_aggregation *aggregation, struct orma_interrupt *interrupt)
{
	const struct orma_native_query *query = aggregation->query;
	int r = find_spans(aggregation);
	if (r == 0)
		find_only_group(aggregation);
	/* Without `group by` there is one group, also when there are no rows. */
	if (r == 0 && query->group_count == 0)
		r = orma_sql_native_add_group(aggregation, 0);
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
	aggregation->scan.wants_mask = can_sum_packed(aggregation);
	r = accumulate_rows(aggregation);
	/* SQLite has a message for it. */
	return r == 0 && aggregation->overflows ? -ENOTSUP : r;
}

int orma_sql_native_compute(struct orma_sql *sql, const struct orma_native_query *query,
			    const char *name)
{
	struct orma_relation *relation = NULL;
	struct orma_native_aggregation *aggregation = orma_base_zalloc(sizeof(*aggregation));
	if (!aggregation)
		return -ENOMEM;
	aggregation->query = query;
	int r = accumulate(aggregation, &sql->interrupt);
	if (r == 0)
		r = orma_sql_native_show(aggregation, name, &relation);
	done(aggregation);
	if (r == 0)
		r = orma_sql_relation_register(sql->db, relation, &sql->interrupt);
	orma_sql_relation_unref(relation);
	if (r < 0)
		return r == -ENOTSUP ? 0 : r;
	return 1;
}
