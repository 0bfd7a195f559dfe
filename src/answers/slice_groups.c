/* SPDX-License-Identifier: Apache-2.0
 * slice_groups.c - one pass over the slices for the sums, and a second one for the percentiles of the few groups that
 * somebody wants to see.
 *
 * A slice's length is subtracted from the self time of its parent's group, so self times need no memory for each slice. A
 * parent has a smaller row than its children, and mostly lies in the same block or the one before.
 */
#include "answers/slice_groups.h"

#include <errno.h>

#include "answers/column_scan.h"
#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"

static const size_t scanned[] = {ORMA_SLICE_DUR, ORMA_SLICE_CATEGORY, ORMA_SLICE_NAME,
				 ORMA_SLICE_PARENT_ID};
enum { DUR, CATEGORY, NAME, PARENT, SCANNED };

static size_t slot_of(int64_t name)
{
	return name == ORMA_CELL_NULL ? 0 : (size_t)name;
}

struct orma_slice_group *orma_slice_groups_find(const struct orma_slice_groups *groups,
						int64_t category, int64_t name)
{
	uint32_t number = groups->by_name[slot_of(name)];
	while (number > 0 && groups->items[number - 1].category != category)
		number = groups->items[number - 1].next;
	return number > 0 ? &groups->items[number - 1] : NULL;
}

/* Returns the group, which is made when there is none, or NULL when out of memory. */
static struct orma_slice_group *use_group(struct orma_slice_groups *groups, int64_t category,
					  int64_t name)
{
	struct orma_slice_group *group = orma_slice_groups_find(groups, category, name);
	if (group)
		return group;
	if (orma_store_grow(&groups->items, (uint64_t)groups->count + 1, &groups->capacity,
			    sizeof(*groups->items)) < 0)
		return NULL;
	group = &groups->items[groups->count++];
	*group = (struct orma_slice_group){
		.category = category, .name = name, .next = groups->by_name[slot_of(name)]};
	groups->by_name[slot_of(name)] = groups->count;
	return group;
}

struct reading {
	struct orma_trace_database *database;
	struct orma_slice_groups *groups;
	struct orma_column_scan scan;
};

/* Finds the group of a parent, whose row is in this block or before. */
static struct orma_slice_group *find_parent(const struct reading *reading, uint64_t row)
{
	const struct orma_column_scan *scan = &reading->scan;
	if (row >= scan->first_row) {
		size_t place = (size_t)(row - scan->first_row);
		return orma_slice_groups_find(reading->groups, scan->cells[CATEGORY][place],
					      scan->cells[NAME][place]);
	}
	const struct orma_column *columns = scan->table->columns;
	return orma_slice_groups_find(reading->groups,
				      orma_store_column_get(&columns[ORMA_SLICE_CATEGORY], row),
				      orma_store_column_get(&columns[ORMA_SLICE_NAME], row));
}

/* A thread that has ended leaves slices open, and a system call that ends it always does. */
static bool is_of_living_thread(const struct reading *reading, uint64_t row)
{
	const struct orma_trace_database *database = reading->database;
	int64_t track =
		orma_trace_database_cell(database, ORMA_TABLE_SLICE, ORMA_SLICE_TRACK_ID, row);
	int64_t utid = orma_trace_database_cell(database, ORMA_TABLE_TRACK, ORMA_TRACK_UTID,
						(uint64_t)track);
	struct orma_str name = orma_trace_database_text(
		database,
		orma_trace_database_cell(database, ORMA_TABLE_SLICE, ORMA_SLICE_NAME, row));
	if (orma_base_str_is(name, "sys_exit_group") || orma_base_str_is(name, "sys_exit"))
		return false;
	return utid < 0 || orma_trace_database_cell(database, ORMA_TABLE_THREAD, ORMA_THREAD_END_TS,
						    (uint64_t)utid) == ORMA_CELL_NULL;
}

/* Keeps the innermost of slices inside each other, in the place of the outermost. */
static void add_open(struct reading *reading, uint64_t row, int64_t parent)
{
	struct orma_slice_groups *groups = reading->groups;
	size_t place = 0;
	groups->unfinished++;
	while (place < groups->open_count && (int64_t)groups->open_rows[place] != parent)
		place++;
	if (place == ORMA_OPEN_SLICES_MAX || !is_of_living_thread(reading, row))
		return;
	groups->open_rows[place] = row;
	groups->open_count = ORMA_MAX(groups->open_count, place + 1);
}

static int add_slice(struct reading *reading, size_t place)
{
	const struct orma_column_scan *scan = &reading->scan;
	struct orma_slice_groups *groups = reading->groups;
	int64_t length = scan->cells[DUR][place];
	int64_t parent = scan->cells[PARENT][place];
	struct orma_slice_group *group =
		use_group(groups, scan->cells[CATEGORY][place], scan->cells[NAME][place]);
	if (!group)
		return -ENOMEM;
	group->count++;
	if (length < 0) {
		group->unfinished++;
		add_open(reading, scan->first_row + place, parent);
		return 0;
	}
	group->instants += length == 0;
	groups->instants += length == 0;
	orma_add_ns(&group->total_ns, length);
	orma_add_ns(&group->self_ns, length);
	group->max_ns = ORMA_MAX(group->max_ns, length);
	if (parent >= 0 && (uint64_t)parent < scan->first_row + place) {
		group = find_parent(reading, (uint64_t)parent);
		if (group)
			orma_add_ns(&group->self_ns, -length);
	}
	return 0;
}

int orma_slice_groups_read(struct orma_trace_database *database, struct orma_slice_groups *ret)
{
	struct orma_table *table = &database->tables.all[ORMA_TABLE_SLICE];
	struct reading reading = {.database = database, .groups = ret};
	*ret = (struct orma_slice_groups){.slices = orma_store_table_rows(table)};
	ret->by_name = orma_base_alloc_array((size_t)database->tables.strings.count + 1,
					     sizeof(*ret->by_name));
	int r = ret->by_name ? orma_column_scan_begin(&reading.scan, table, scanned, SCANNED, 0)
			     : -ENOMEM;
	while (r == 0 && orma_column_scan_next(&reading.scan))
		for (size_t place = 0; r == 0 && place < reading.scan.row_count; place++)
			r = add_slice(&reading, place);
	orma_column_scan_done(&reading.scan);
	return r;
}

void orma_slice_groups_done(struct orma_slice_groups *groups)
{
	for (uint32_t i = 0; i < groups->count; i++)
		orma_sample_done(&groups->items[i].lengths);
	orma_base_free(groups->items);
	orma_base_free(groups->by_name);
	*groups = (struct orma_slice_groups){0};
}

/* Keeps the slice if it is one of the longest. The earlier one of two that are equal is the longer. */
static void keep_slowest(struct orma_slice_group *group, uint64_t row, int64_t length)
{
	uint32_t place = group->slowest_count;
	if (place == ORMA_SLOWEST_MAX) {
		if (length <= group->slowest_ns[place - 1])
			return;
		place--;
	} else {
		group->slowest_count++;
	}
	for (; place > 0 && group->slowest_ns[place - 1] < length; place--) {
		group->slowest[place] = group->slowest[place - 1];
		group->slowest_ns[place] = group->slowest_ns[place - 1];
	}
	group->slowest[place] = row;
	group->slowest_ns[place] = length;
}

int orma_slice_groups_measure(struct orma_trace_database *database,
			      struct orma_slice_groups *groups)
{
	struct orma_column_scan scan;
	int r = orma_column_scan_begin(&scan, &database->tables.all[ORMA_TABLE_SLICE], scanned,
				       SCANNED - 1, 0);
	while (r == 0 && orma_column_scan_next(&scan))
		for (size_t place = 0; r == 0 && place < scan.row_count; place++) {
			struct orma_slice_group *group = orma_slice_groups_find(
				groups, scan.cells[CATEGORY][place], scan.cells[NAME][place]);
			int64_t length = scan.cells[DUR][place];
			if (!group || !group->is_chosen || length < 0)
				continue;
			r = orma_sample_add(&group->lengths, length);
			keep_slowest(group, scan.first_row + place, length);
		}
	orma_column_scan_done(&scan);
	return r;
}
