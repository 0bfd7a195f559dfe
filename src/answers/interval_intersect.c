/* SPDX-License-Identifier: Apache-2.0
 * interval_intersect.c - where intervals of several tables overlap in time.
 *
 * The rows of each table are put in the order of their partitions, and of time within one. A partition's overlaps begin
 * as the intervals of its smallest table; with each other table they become the overlaps with its intervals. They are
 * found through a tree of the largest ends, so that intervals of one table may overlap each other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/operators.h"
#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "base/map.h"

enum {
	TABLES_MAX = 15,
	PARTITION_COLUMNS_MAX = 8,
	ID,
	TS,
	DUR,
	PARTITION,    /* columns of an argument, less ID */
	FIRST_ID = 2, /* columns of the result */
	FIRST_PARTITION = FIRST_ID + TABLES_MAX,
};

struct interval {
	int64_t start, end, id;
	size_t partition, row;
};

/* The intervals of one table. */
struct side {
	struct interval *intervals; /* by partition, then by start */
	size_t *offsets;            /* where each partition begins, and where the last ends */
};

struct partition {
	size_t row; /* the first table's row that has its values */
	size_t number;
	struct partition *next; /* another one with the same hash */
};

struct intersection {
	struct orma_row_call *call;
	size_t table_count, partition_columns;
	struct side sides[TABLES_MAX];
	struct partition *partitions; /* one at most for each row of the first table */
	size_t partition_count;
	struct orma_map by_values;
	/* The largest end below each node: node i has the nodes 2i and 2i + 1, the leaves begin at leaf_count. */
	int64_t *ends;
	size_t leaf_count;
	/* Start, end and an id for each table. */
	struct orma_row_set overlaps, found;
};

static void done(struct intersection *all)
{
	for (size_t i = 0; i < all->table_count; i++) {
		orma_base_free(all->sides[i].intervals);
		orma_base_free(all->sides[i].offsets);
	}
	orma_base_free(all->partitions);
	orma_base_map_done(&all->by_values);
	orma_base_free(all->ends);
	orma_row_set_done(&all->overlaps);
	orma_row_set_done(&all->found);
}

static size_t column(size_t named)
{
	return named - ID;
}

static uint64_t hash_values(const struct intersection *all, const struct orma_row_set *rows,
			    size_t row)
{
	uint64_t hash = ORMA_FNV1A_INIT;
	for (size_t i = 0; i < all->partition_columns; i++) {
		size_t at = orma_row_set_at(rows, row, column(PARTITION) + i);
		hash = orma_base_fnv1a(hash, &rows->types[at], 1);
		if (rows->types[at] != SQLITE_NULL)
			hash = orma_base_fnv1a(hash, &rows->cells[at], sizeof(rows->cells[at]));
	}
	return hash;
}

/* Returns the partition of a row, SIZE_MAX when the first table has none with these values; makes it for the first table. */
static int find_partition(struct intersection *all, const struct orma_row_set *rows, size_t row,
			  bool may_make, size_t *ret)
{
	const struct orma_row_set *first = orma_row_call_rows(all->call, 0);
	uint64_t hash = hash_values(all, rows, row);
	struct partition *same = orma_base_map_get(&all->by_values, hash), *found = same;
	while (found && orma_row_set_compare(first, found->row, rows, row, column(PARTITION),
					     all->partition_columns) != 0)
		found = found->next;
	*ret = found ? found->number : SIZE_MAX;
	if (found || !may_make)
		return 0;
	struct partition *made = &all->partitions[all->partition_count];
	*made = (struct partition){.row = row, .number = all->partition_count++, .next = same};
	*ret = made->number;
	return orma_base_map_put(&all->by_values, hash, made);
}

static int compare_starts(const void *a, const void *b)
{
	const struct interval *left = a, *right = b;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->row < right->row ? -1 : left->row > right->row;
}

static int read_interval(struct intersection *all, const struct orma_row_set *rows, size_t row,
			 struct interval *ret)
{
	int64_t dur = orma_row_set_int(rows, row, column(DUR));
	*ret = (struct interval){.start = orma_row_set_int(rows, row, column(TS)),
				 .id = orma_row_set_int(rows, row, column(ID)),
				 .row = row};
	if (ret->start < 0)
		return orma_base_error_set(all->call->reterr, -EINVAL,
					   "interval intersect: ts must not be negative");
	if (dur < 0)
		return orma_base_error_set(all->call->reterr, -EINVAL,
					   "interval intersect: dur must not be negative");
	if (__builtin_add_overflow(ret->start, dur, &ret->end))
		ret->end = INT64_MAX;
	return 0;
}

/* Moves the intervals, which are in the order of time, to their partitions. Intervals without one are dropped. */
static int partition_side(struct intersection *all, struct side *side, size_t count)
{
	size_t *offsets = orma_base_alloc_array(all->partition_count + 2, sizeof(*offsets));
	struct interval *sorted =
		orma_base_alloc_array(ORMA_MAX(count, (size_t)1), sizeof(*sorted));
	struct interval *old = side->intervals;
	if (!offsets || !sorted) {
		orma_base_free(offsets);
		orma_base_free(sorted);
		return -ENOMEM;
	}
	/* Places are counted one further on, so that placing the intervals moves them to the right offsets. */
	for (size_t i = 0; i < count; i++)
		if (old[i].partition != SIZE_MAX)
			offsets[old[i].partition + 2]++;
	for (size_t i = 2; i < all->partition_count + 2; i++)
		offsets[i] += offsets[i - 1];
	for (size_t i = 0; i < count; i++)
		if (old[i].partition != SIZE_MAX)
			sorted[offsets[old[i].partition + 1]++] = old[i];
	orma_base_free(old);
	side->intervals = sorted;
	side->offsets = offsets;
	return 0;
}

static int read_side(struct intersection *all, size_t table)
{
	const struct orma_row_set *rows = orma_row_call_rows(all->call, table);
	struct side *side = &all->sides[table];
	bool is_sorted = true;
	side->intervals = orma_base_alloc_array(ORMA_MAX(rows->row_count, (size_t)1),
						sizeof(*side->intervals));
	if (!side->intervals)
		return -ENOMEM;
	for (size_t row = 0; row < rows->row_count; row++) {
		struct interval *interval = &side->intervals[row];
		int r = read_interval(all, rows, row, interval);
		if (r == 0)
			r = find_partition(all, rows, row, table == 0, &interval->partition);
		if (r < 0)
			return r;
		is_sorted = is_sorted && (row == 0 || interval[-1].start <= interval->start);
	}
	if (!is_sorted)
		qsort(side->intervals, rows->row_count, sizeof(*side->intervals), compare_starts);
	return partition_side(all, side, rows->row_count);
}

static size_t size_of(const struct intersection *all, size_t table, size_t partition)
{
	const size_t *offsets = all->sides[table].offsets;
	return offsets[partition + 1] - offsets[partition];
}

static const struct interval *intervals_of(const struct intersection *all, size_t table,
					   size_t partition)
{
	const struct side *side = &all->sides[table];
	return side->intervals + side->offsets[partition];
}

static int build_ends(struct intersection *all, const struct interval *intervals, size_t count)
{
	size_t leaves = 1;
	while (leaves < count)
		leaves *= 2;
	if (leaves > all->leaf_count) {
		orma_base_free(all->ends);
		all->leaf_count = 0;
		all->ends = orma_base_alloc_array(leaves * 2, sizeof(*all->ends));
		if (!all->ends)
			return -ENOMEM;
	}
	all->leaf_count = leaves;
	for (size_t i = 0; i < leaves; i++)
		all->ends[leaves + i] = i < count ? intervals[i].end : INT64_MIN;
	for (size_t i = leaves - 1; i > 0; i--)
		all->ends[i] = ORMA_MAX(all->ends[2 * i], all->ends[2 * i + 1]);
	return 0;
}

/* Returns the first interval from this one on that does not end before `time`; `leaf_count` or more = none. */
static size_t find_end(const struct intersection *all, size_t from, int64_t time)
{
	size_t node = all->leaf_count + from;
	if (from >= all->leaf_count)
		return from;
	while (all->ends[node] < time) {
		while (node & 1)
			node /= 2;
		if (node == 0)
			return all->leaf_count;
		node++;
	}
	while (node < all->leaf_count) {
		node *= 2;
		node += all->ends[node] < time;
	}
	return node - all->leaf_count;
}

/* Intervals without a duration overlap those that they lie in, the start included. */
static bool is_overlap(int64_t start, int64_t end, const struct interval *other)
{
	if (start == end && other->start == other->end)
		return start == other->start;
	if (start == end)
		return other->start <= start && start < other->end;
	if (other->start == other->end)
		return start <= other->start && other->start < end;
	return start < other->end && other->start < end;
}

/* Adds what is left of the overlap in each of the intervals. */
static int add_found(struct intersection *all, size_t row, size_t table,
		     const struct interval *intervals, size_t count)
{
	const struct orma_row_set *overlaps = &all->overlaps;
	int64_t cells[FIRST_PARTITION];
	memcpy(cells, &overlaps->cells[orma_row_set_at(overlaps, row, 0)],
	       overlaps->column_count * sizeof(*cells));
	int64_t start = cells[0], end = cells[1];
	for (size_t i = find_end(all, 0, start); i < count; i = find_end(all, i + 1, start)) {
		if (intervals[i].start > end || (intervals[i].start == end && start != end))
			break;
		if (!is_overlap(start, end, &intervals[i]))
			continue;
		cells[0] = ORMA_MAX(start, intervals[i].start);
		cells[1] = ORMA_MIN(end, intervals[i].end);
		cells[FIRST_ID + table] = intervals[i].id;
		int r = orma_row_set_add_ints(&all->found, cells);
		if (r < 0)
			return r;
	}
	return 0;
}

static int narrow(struct intersection *all, size_t table, size_t partition)
{
	const struct interval *intervals = intervals_of(all, table, partition);
	size_t count = size_of(all, table, partition);
	int r = build_ends(all, intervals, count);
	all->found.row_count = 0;
	for (size_t row = 0; row < all->overlaps.row_count && r == 0; row++)
		r = add_found(all, row, table, intervals, count);
	struct orma_row_set narrower = all->found;
	all->found = all->overlaps;
	all->overlaps = narrower;
	return r;
}

/* The overlaps are the intervals of one table, to begin with. */
static int begin_with(struct intersection *all, size_t table, size_t partition)
{
	const struct interval *intervals = intervals_of(all, table, partition);
	int64_t cells[FIRST_PARTITION] = {0};
	int r = 0;
	all->overlaps.row_count = 0;
	for (size_t i = 0; i < size_of(all, table, partition) && r == 0; i++) {
		cells[0] = intervals[i].start;
		cells[1] = intervals[i].end;
		cells[FIRST_ID + table] = intervals[i].id;
		r = orma_row_set_add_ints(&all->overlaps, cells);
	}
	return r;
}

static int return_overlaps(struct intersection *all, size_t partition)
{
	const struct orma_row_set *first = orma_row_call_rows(all->call, 0);
	struct orma_row_set *ret = all->call->ret;
	size_t values = orma_row_set_at(first, all->partitions[partition].row, column(PARTITION));
	int r = 0;
	for (size_t row = 0; row < all->overlaps.row_count && r == 0; row++) {
		const int64_t *cells =
			&all->overlaps.cells[orma_row_set_at(&all->overlaps, row, 0)];
		r = orma_row_set_add(ret);
		if (r < 0)
			break;
		orma_row_set_put_int(ret, 0, cells[0]);
		orma_row_set_put_int(ret, 1, cells[1] - cells[0]);
		for (size_t i = 0; i < all->table_count; i++)
			orma_row_set_put_int(ret, FIRST_ID + i, cells[FIRST_ID + i]);
		for (size_t i = 0; i < all->partition_columns; i++)
			orma_row_set_put(ret, FIRST_PARTITION + i, first->types[values + i],
					 first->cells[values + i]);
	}
	return r;
}

/* The fewer overlaps there are early, the less there is to do; so small tables come first. */
static int intersect_partition(struct intersection *all, size_t partition)
{
	size_t order[TABLES_MAX] = {0};
	for (size_t i = 0; i < all->table_count; i++) {
		size_t at = i;
		for (;
		     at > 0 && size_of(all, order[at - 1], partition) > size_of(all, i, partition);
		     at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	int r = begin_with(all, order[0], partition);
	for (size_t i = 1; i < all->table_count && r == 0 && all->overlaps.row_count > 0; i++)
		r = narrow(all, order[i], partition);
	return r == 0 ? return_overlaps(all, partition) : r;
}

static int check_arguments(struct intersection *all)
{
	for (size_t i = 0; i < all->table_count; i++) {
		size_t columns = orma_row_call_rows(all->call, i)->column_count;
		if (columns < column(PARTITION) ||
		    columns != column(PARTITION) + all->partition_columns ||
		    all->partition_columns > PARTITION_COLUMNS_MAX)
			return orma_base_error_set(all->call->reterr, -EINVAL,
						   "interval intersect: takes up to %d columns of "
						   "partitions, the same of each table",
						   PARTITION_COLUMNS_MAX);
	}
	return 0;
}

static int intersect(struct intersection *all)
{
	const struct orma_row_set *first = orma_row_call_rows(all->call, 0);
	for (size_t i = 0; i < all->table_count; i++)
		if (orma_row_call_rows(all->call, i)->row_count == 0)
			return 0;
	all->partition_columns = first->column_count - column(PARTITION);
	all->overlaps.column_count = all->found.column_count = FIRST_ID + all->table_count;
	all->overlaps.interrupt = all->found.interrupt = all->call->ret->interrupt;
	int r = check_arguments(all);
	if (r < 0)
		return r;
	all->partitions = orma_base_alloc_array(first->row_count, sizeof(*all->partitions));
	r = all->partitions ? 0 : -ENOMEM;
	for (size_t i = 0; i < all->table_count && r == 0; i++)
		r = read_side(all, i);
	for (size_t i = 0; i < all->partition_count && r == 0; i++)
		r = intersect_partition(all, i);
	return r;
}

static int run(struct orma_row_call *call)
{
	struct intersection all = {.call = call, .table_count = call->argc};
	int r = call->argc > 0 ? intersect(&all) : 0;
	done(&all);
	return r;
}

const struct orma_row_operator orma_interval_intersect = {
	.name = "__intrinsic_interval_intersect",
	.columns = "ts, dur, id_0, id_1, id_2, id_3, id_4, id_5, id_6, id_7, id_8, id_9, id_10, "
		   "id_11, id_12, id_13, id_14, p0, p1, p2, p3, p4, p5, p6, p7",
	.column_count = FIRST_PARTITION + PARTITION_COLUMNS_MAX,
	.arg_count = TABLES_MAX,
	.rows = 100000,
	.run = run,
};
