/* SPDX-License-Identifier: Apache-2.0
 * native_sums.c - a query about whole runs of rows takes the sums that the table keeps of them; see store/group_sums.h.
 *
 * The sums of a run are those of its values of one column. So the query may group by this column and choose among its values,
 * and its other conditions may only say where the rows begin and end; each aggregate is of the column that was summed, or counts
 * rows. A sum that might overflow at some row, although it does not in the end, is left to SQLite, which refuses it.
 */
#include <errno.h>

#include "sql/native_aggregation.h"

/* Returns the number of a relation's column in its table, or SIZE_MAX. */
static size_t place_in_table(const struct orma_relation *relation, size_t column_idx)
{
	const struct orma_column *stored = relation->columns[column_idx].stored;
	for (size_t i = 0; stored && i < relation->table->column_count; i++)
		if (stored == &relation->table->columns[i])
			return i;
	return SIZE_MAX;
}

/* True when no row has to be looked at to know whether the filter has it. */
static bool is_decided(const struct orma_scan *scan, size_t filter_idx)
{
	return scan->implied >> filter_idx & 1 || scan->filters[filter_idx].kind == ORMA_FILTER_ALL;
}

/* Finds the only column that groups and filters concern. False when there are several; SIZE_MAX = there is none. */
static bool find_key(const struct orma_native_aggregation *aggregation, size_t *ret)
{
	const struct orma_native_query *query = aggregation->query;
	const struct orma_scan *scan = &aggregation->scan;
	*ret = SIZE_MAX;
	if (query->group_count > 1)
		return false;
	if (query->group_count == 1)
		*ret = query->groups[0];
	for (size_t i = 0; i < scan->filter_count; i++) {
		size_t column = scan->filters[i].column_idx;
		if (is_decided(scan, i))
			continue;
		if (*ret != SIZE_MAX && *ret != column)
			return false;
		*ret = column;
	}
	return true;
}

int orma_sql_native_find_sums(const struct orma_native_aggregation *aggregation,
			      const struct orma_group_sums **ret)
{
	const struct orma_native_query *query = aggregation->query;
	const struct orma_relation *relation = query->relation;
	const struct orma_group_sums *sums = relation->table ? relation->table->sums : NULL;
	size_t key;
	if (!sums || !find_key(aggregation, &key))
		return -1;
	for (size_t i = 0; i < query->aggregate_count; i++) {
		int column = query->aggregates[i].column;
		if (column >= 0 && place_in_table(relation, (size_t)column) != sums->value)
			return -1;
	}
	*ret = sums;
	/* The sums of all rows are those of any of the columns together. */
	return key == SIZE_MAX ? 0
			       : orma_store_group_sums_find(sums, place_in_table(relation, key));
}

static int fits(const struct orma_scan *scan, int64_t key)
{
	for (size_t i = 0; i < scan->filter_count; i++) {
		int r = is_decided(scan, i) ? 1 : orma_sql_filter_cell(&scan->filters[i], key);
		if (r <= 0)
			return r;
	}
	return 1;
}

/* True when adding so many numbers to `value`, which are in the sum's range, overflows in no order. */
static bool is_small(int64_t value, const struct orma_group_sum *sum, int64_t count)
{
	int64_t low, high;
	return !__builtin_mul_overflow(sum->min < 0 ? sum->min : 0, count, &low) &&
	       !__builtin_mul_overflow(sum->max > 0 ? sum->max : 0, count, &high) &&
	       !__builtin_add_overflow(value, low, &low) &&
	       !__builtin_add_overflow(value, high, &high);
}

static void add_sum(struct orma_native_aggregation *aggregation, size_t group,
		    const struct orma_group_sum *sum)
{
	const struct orma_native_query *query = aggregation->query;
	int64_t values = (int64_t)sum->rows - (int64_t)sum->nulls;
	for (size_t i = 0; i < query->aggregate_count; i++) {
		struct orma_native_accumulator *a = &aggregation->accumulators[i][group];
		enum orma_aggregate_kind kind = query->aggregates[i].kind;
		bool is_first = a->count == 0;
		a->count += query->aggregates[i].column < 0 ? (int64_t)sum->rows : values;
		if (kind == ORMA_AGGREGATE_COUNT || values == 0)
			continue;
		if (kind == ORMA_AGGREGATE_MIN)
			a->value = is_first || sum->min < a->value ? sum->min : a->value;
		else if (kind == ORMA_AGGREGATE_MAX)
			a->value = is_first || sum->max > a->value ? sum->max : a->value;
		else if (is_small(a->value, sum, values))
			a->value += sum->sum;
		else
			aggregation->overflows = true;
	}
}

int orma_sql_native_take_run(struct orma_native_aggregation *aggregation,
			     const struct orma_group_sums *sums, size_t key, uint64_t end,
			     uint64_t *retend)
{
	struct orma_scan *scan = &aggregation->scan;
	uint64_t rows = (uint64_t)sums->run_blocks * ORMA_BLOCK_ROWS, idx = scan->begin / rows;
	uint64_t run_end = (idx + 1) * rows;
	if (idx >= sums->run_count) {
		*retend = end;
		return 0;
	}
	const struct orma_group_run *run = &sums->runs[key][idx];
	if (scan->begin % rows != 0 || run_end > end || run->count == 0) {
		*retend = run_end < end ? run_end : end;
		return 0;
	}
	for (size_t i = 0; i < run->count; i++) {
		const struct orma_group_sum *sum = &run->sums[i];
		uint32_t code = 0;
		int r = fits(scan, sum->key);
		if (r == 0)
			continue;
		if (r > 0 && aggregation->query->group_count > 0)
			code = orma_sql_native_code(aggregation, 0, sum->key);
		if (r > 0 && aggregation->group_of_code[code] == 0)
			r = orma_sql_native_add_group(aggregation, code);
		if (r < 0)
			return r;
		add_sum(aggregation, aggregation->group_of_code[code] - 1, sum);
	}
	scan->begin = run_end;
	return 1;
}
