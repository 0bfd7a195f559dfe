/* SPDX-License-Identifier: Apache-2.0
 * group_sums.c - sums are made once, when a trace has been loaded, so that the commonest questions about slices need no scan.
 *
 * How often and how long, by name or by track: every question of this kind reads three numbers of each slice, or seven megabytes
 * for each million of them. The sums of a quarter of a million slices fit into some dozen kilobytes if they have few names, as
 * most traces do. Invariant: a run's sums, if it has any, are exactly those of its rows; a run that has too many keys, or numbers so large that a sum
 * might overflow, has none. Readers look at the rows of such a run, and at those behind the last one.
 *
 * Rejected: sums of each block. A block has most of two thousand names, so its sums take as much memory as its rows.
 */
#include "store/group_sums.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"

enum {
	RUN_BLOCKS = 64,
	ROWS_PER_SUM = 64,     /* a run has no more sums than this share of its rows */
	SPAN_MAX = UINT16_MAX, /* the largest distance of two keys of a run */
};

struct maker {
	struct orma_table *table;
	struct orma_group_sums *sums;
	size_t sums_max; /* in a run */
	struct orma_group_sum
		*groups;  /* The first one is not used; the others are those of the current run. */
	uint16_t *places; /* index in `groups` by key; behind the last key that of NULL */
	int64_t *values, *keys;
};

static void maker_done(struct maker *maker)
{
	orma_base_free(maker->groups);
	orma_base_free(maker->places);
	orma_base_free(maker->values);
	orma_base_free(maker->keys);
}

static int maker_init(struct maker *maker, struct orma_table *table)
{
	size_t sums_max = table->sums->run_blocks * ORMA_BLOCK_ROWS / ROWS_PER_SUM;
	*maker = (struct maker){.table = table, .sums = table->sums};
	maker->sums_max = ORMA_MIN(sums_max, (size_t)UINT16_MAX - 1);
	maker->groups = orma_base_alloc_array(maker->sums_max + 1, sizeof(*maker->groups));
	maker->places = orma_base_alloc_array((size_t)SPAN_MAX + 2, sizeof(*maker->places));
	maker->values = orma_base_alloc_array(ORMA_BLOCK_ROWS, sizeof(*maker->values));
	maker->keys = orma_base_alloc_array(ORMA_BLOCK_ROWS, sizeof(*maker->keys));
	return maker->groups && maker->places && maker->values && maker->keys ? 0 : -ENOMEM;
}

/* The least and the largest key of a run. False when they are too far apart, or there are only NULLs. */
static bool find_span(const struct orma_column *column, size_t first, size_t count, int64_t *retmin,
		      uint64_t *retspan)
{
	int64_t min = INT64_MAX, max = INT64_MIN, low, high;
	for (size_t block = first; block < first + count; block++) {
		if (!orma_store_column_range(column, block, &low, &high))
			return false;
		min = ORMA_MIN(min, low);
		max = ORMA_MAX(max, high);
	}
	*retmin = min;
	*retspan = (uint64_t)max - (uint64_t)min + 1;
	return min <= max && (uint64_t)max - (uint64_t)min < SPAN_MAX;
}

/* Adds a block of rows to the groups, of which there are `count`. Returns their number, or 0 when there would be too many. */
static size_t add_block(const struct maker *maker, int64_t min, uint64_t span, size_t count)
{
	/* These are copied, because the compiler cannot know that groups are not written over them. */
	const int64_t *keys = maker->keys, *values = maker->values;
	struct orma_group_sum *groups = maker->groups;
	uint16_t *places = maker->places;
	for (size_t i = 0; i < ORMA_BLOCK_ROWS; i++) {
		int64_t key = keys[i], value = values[i];
		uint64_t code = key == ORMA_CELL_NULL ? span : (uint64_t)key - (uint64_t)min;
		size_t place = places[code];
		if (ORMA_UNLIKELY(place == 0)) {
			if (count == maker->sums_max)
				return 0;
			place = ++count;
			groups[place] = (struct orma_group_sum){
				.key = key, .min = INT64_MAX, .max = INT64_MIN};
			places[code] = (uint16_t)place;
		}
		struct orma_group_sum *group = &groups[place];
		group->rows++;
		if (ORMA_UNLIKELY(value == ORMA_CELL_NULL)) {
			group->nulls++;
			continue;
		}
		group->sum += value;
		if (value < group->min)
			group->min = value;
		if (value > group->max)
			group->max = value;
	}
	return count;
}

/* True when no sum of a run's numbers can overflow. */
static bool has_small_numbers(const struct orma_column *numbers, size_t first, size_t count)
{
	int64_t low, high, limit = INT64_MAX / (int64_t)(count * ORMA_BLOCK_ROWS);
	for (size_t block = first; block < first + count; block++)
		if (!orma_store_column_range(numbers, block, &low, &high) ||
		    (low <= high && (low < -limit || high > limit)))
			return false;
	return true;
}

/* Makes the sums of one run for one of the key columns. 0 or -ENOMEM. */
static int make_run(struct maker *maker, size_t key, size_t run)
{
	struct orma_group_sums *sums = maker->sums;
	const struct orma_column *column = &maker->table->columns[sums->keys[key]];
	const struct orma_column *numbers = &maker->table->columns[sums->value];
	size_t first = run * sums->run_blocks, count = 0;
	int64_t min;
	uint64_t span;
	if (!has_small_numbers(numbers, first, sums->run_blocks) ||
	    !find_span(column, first, sums->run_blocks, &min, &span))
		return 0;
	memset(maker->places, 0, (size_t)(span + 1) * sizeof(*maker->places));
	for (size_t block = first; block < first + sums->run_blocks; block++) {
		orma_store_column_read(column, block, maker->keys);
		orma_store_column_read(numbers, block, maker->values);
		count = add_block(maker, min, span, count);
		if (count == 0)
			return 0;
	}
	size_t bytes = count * sizeof(*maker->groups);
	struct orma_memory_budget *budget = column->extents->budget;
	if (orma_memory_budget_is_over(budget, bytes))
		return 0;
	struct orma_group_run *made = &sums->runs[key][run];
	made->sums = orma_base_alloc(bytes);
	if (!made->sums)
		return -ENOMEM;
	memcpy(made->sums, maker->groups + 1, bytes);
	made->count = count;
	sums->bytes += bytes;
	orma_memory_budget_take(budget, bytes);
	return 0;
}

void orma_store_table_forget_sums(struct orma_table *table)
{
	struct orma_group_sums *sums = table->sums;
	if (!sums)
		return;
	for (size_t key = 0; key < sums->key_count; key++) {
		for (size_t run = 0; sums->runs[key] && run < sums->run_count; run++)
			orma_base_free(sums->runs[key][run].sums);
		orma_base_free(sums->runs[key]);
	}
	orma_memory_budget_give(table->columns[0].extents->budget, sums->bytes);
	orma_base_free(sums);
	table->sums = NULL;
}

static int make(struct orma_table *table, const size_t *keys, size_t key_count)
{
	struct orma_group_sums *sums = table->sums;
	struct maker maker;
	int r = maker_init(&maker, table);
	for (size_t key = 0; key < key_count && r == 0; key++) {
		sums->keys[key] = keys[key];
		sums->runs[key] = orma_base_alloc_array(sums->run_count, sizeof(**sums->runs));
		sums->key_count++;
		for (size_t run = 0; run < sums->run_count && sums->runs[key]; run++)
			sums->runs[key][run] = (struct orma_group_run){.count = 0};
		r = sums->runs[key] ? 0 : -ENOMEM;
	}
	/* Key by key within a run, while its numbers are in the caches. */
	for (size_t run = 0; run < sums->run_count && r == 0; run++)
		for (size_t key = 0; key < key_count && r == 0; key++)
			r = make_run(&maker, key, run);
	maker_done(&maker);
	return r;
}

int orma_store_table_sum(struct orma_table *table, const size_t *keys, size_t key_count,
			 size_t value, size_t run_blocks)
{
	const struct orma_column *numbers = &table->columns[value];
	ORMA_ASSERT(key_count <= ORMA_GROUP_SUMS_COLUMNS && numbers->type == ORMA_COLUMN_INT);
	orma_store_table_forget_sums(table);
	run_blocks = run_blocks > 0 ? run_blocks : RUN_BLOCKS;
	size_t run_count = numbers->packed / run_blocks;
	/* To read what lies in a file again would cost more than the sums spare. */
	if (run_count == 0 || numbers->extents->spilled > 0)
		return 0;
	table->sums = orma_base_zalloc(sizeof(*table->sums));
	if (!table->sums)
		return -ENOMEM;
	table->sums->run_blocks = run_blocks;
	table->sums->run_count = run_count;
	table->sums->value = value;
	int r = make(table, keys, key_count);
	if (r < 0)
		orma_store_table_forget_sums(table);
	return r;
}

int orma_store_group_sums_find(const struct orma_group_sums *sums, size_t key)
{
	for (size_t i = 0; i < sums->key_count; i++)
		if (sums->keys[i] == key)
			return (int)i;
	return -1;
}
