/* SPDX-License-Identifier: Apache-2.0
 * view_area_groups.c - adds up the rows of lanes in a range of time: slices by name, what ran by thread, states by thread and state.
 *
 * The rows of a line that overlap the range are neighbours, so that the cost is that of the rows in it, 0.2 us each. The
 * self time of a group is the time of its slices without the time of their children. So each slice adds its time to its own group,
 * and takes it away from the self time of its parent's group, which it finds by the parent's name.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"
#include "view/view_area.h"

/* Returns the group, which is new unless it is there, or NULL when memory is short. */
static struct orma_area_group *get(struct orma_area_groups *groups, int64_t name, int64_t utid)
{
	/* Names are numbers of strings, and threads rows: both have 32 bits. */
	uint64_t key = (uint64_t)(uint32_t)name << 32 | (uint32_t)utid;
	uintptr_t place = (uintptr_t)orma_base_map_get(&groups->places, key);
	if (place > 0)
		return &groups->items[place - 1];
	if (orma_store_grow(&groups->items, (uint64_t)groups->count + 1, &groups->capacity,
			    sizeof(*groups->items)) < 0 ||
	    orma_base_map_put(&groups->places, key, (void *)(uintptr_t)(groups->count + 1)) < 0)
		return NULL;
	groups->items[groups->count] = (struct orma_area_group){.name = name, .utid = utid};
	return &groups->items[groups->count++];
}

void orma_area_groups_done(struct orma_area_groups *groups)
{
	for (uint32_t i = 0; i < groups->count; i++)
		orma_sample_done(&groups->items[i].durations);
	orma_base_free(groups->items);
	orma_base_map_done(&groups->places);
	*groups = (struct orma_area_groups){0};
}

struct line_walk {
	const struct orma_area *area;
	enum orma_view_table table;
	const struct orma_lanes *lanes;
	const struct orma_column *columns;
	struct orma_area_groups *groups;
	int64_t utid; /* the lane's thread, when groups are by thread; else -1 */
	uint32_t depth;
};

/* The group's name and thread of a row. NULL names are one group. */
static struct orma_area_group *group_of(const struct line_walk *walk, uint64_t row)
{
	int64_t name = -1, utid = walk->utid;
	if (walk->table == ORMA_VIEW_SLICES)
		name = orma_store_column_get(&walk->columns[ORMA_SLICE_NAME], row);
	else if (walk->table == ORMA_VIEW_THREAD_STATES)
		name = orma_view_thread_state_of(walk->area->view, row);
	else
		utid = orma_store_column_get(&walk->columns[ORMA_SCHED_UTID], row);
	return get(walk->groups, name == ORMA_CELL_NULL ? -1 : name, utid);
}

static int add_duration(struct orma_area_group *group, int64_t dur)
{
	if (dur < 0)
		return 0;
	group->min = group->known == 0 ? (double)dur : ORMA_MIN(group->min, (double)dur);
	group->max = ORMA_MAX(group->max, (double)dur);
	group->sum += (double)dur;
	group->known++;
	return orma_sample_add(&group->durations, dur);
}

static int add_row(const struct line_walk *walk, uint64_t row, uint64_t start, uint64_t end,
		   int64_t dur)
{
	uint64_t from = ORMA_MAX(start, walk->area->start), to = ORMA_MIN(end, walk->area->end);
	double time = to > from ? (double)(to - from) : 0;
	struct orma_area_group *group = group_of(walk, row);
	if (!group)
		return -ENOMEM;
	group->count++;
	group->total += time;
	group->self += time;
	if (walk->table != ORMA_VIEW_SLICES)
		return 0;
	int r = add_duration(group, dur);
	if (r < 0 || walk->depth == 0 || time == 0)
		return r;
	int64_t parent = orma_store_column_get(&walk->columns[ORMA_SLICE_PARENT_ID], row);
	if (parent < 0 || (uint64_t)parent >= orma_store_table_rows(walk->lanes->table))
		return 0;
	group = group_of(walk, (uint64_t)parent);
	if (!group)
		return -ENOMEM;
	group->self -= time;
	return 0;
}

static int add_line(const struct line_walk *walk, const struct orma_lane_line *line)
{
	const struct orma_lanes *lanes = walk->lanes;
	uint32_t place = orma_lanes_find_start(lanes, line, line->first, walk->area->start);
	uint32_t last = orma_lanes_find_start(lanes, line, place, walk->area->end);
	int r = 0;
	/* Rows of a line do not overlap, so only the one before can reach into the range. */
	if (place > line->first && orma_lanes_end(lanes, line, place - 1) > walk->area->start)
		place--;
	/* Each begin is read once, although the row before ends there at the latest. */
	uint64_t start = place < last ? orma_lanes_start(lanes, place) : 0, next;
	for (; place < last && r == 0; place++, start = next) {
		int64_t dur =
			orma_store_column_get(&walk->columns[lanes->spec.dur], lanes->rows[place]);
		uint64_t end = orma_lanes_end_of(lanes, start, dur);
		next = place + 1 < line->first + line->count ? orma_lanes_start(lanes, place + 1)
							     : UINT64_MAX;
		r = orma_view_check_stop(walk->area->view);
		if (r == 0)
			r = add_row(walk, lanes->rows[place], start,
				    orma_lanes_cut_end(start, end, next), dur);
	}
	return r;
}

int orma_area_group_rows(const struct orma_area *area, enum orma_view_table table,
			 struct orma_area_groups *groups)
{
	const struct orma_view *view = area->view;
	const struct orma_lanes *lanes = &view->lanes[table];
	int r = 0;
	for (uint32_t i = 0; i < view->node_count && r == 0; i++) {
		const struct orma_view_node *node = &view->nodes[i];
		enum orma_view_table found;
		uint32_t lane, line;
		if (!area->is_chosen[i] || !node->table ||
		    !orma_view_find_lane(view, node->lane, &found, &lane) || found != table)
			continue;
		struct line_walk walk = {.area = area,
					 .table = table,
					 .lanes = lanes,
					 .columns = lanes->table->columns,
					 .groups = groups,
					 .utid = -1};
		if (area->is_by_thread || table == ORMA_VIEW_THREAD_STATES)
			walk.utid = node->utid;
		uint32_t first, end = orma_lanes_lines(lanes, lane, &first);
		for (line = first; line < end && r == 0; line++) {
			walk.depth = line - first;
			r = add_line(&walk, &lanes->lines[line]);
		}
	}
	return r;
}
