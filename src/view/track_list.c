/* SPDX-License-Identifier: Apache-2.0
 * track_list.c - sorts tracks by what they belong to: a thread, a process, a CPU, nothing, or another track.
 *
 * So the tracks of each owner are neighbours, in the order that the owner wants. Listed are tracks that have rows, and those that
 * have such a track below them. A track's parent has a smaller number than the track (one that has not is ignored), so there
 * is no cycle.
 */
#include "view/track_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macros.h"

static int64_t cell(const struct orma_view *view, size_t column, uint64_t track)
{
	return orma_trace_database_cell(view->database, ORMA_TABLE_TRACK, column, track);
}

/* Finds an argument of a set; NULL when it has none. The argument lives until the next call. */
static const struct orma_arg *find_arg(const struct orma_view *view, int64_t set, const char *key)
{
	const struct orma_arg_list *list;
	if (set == ORMA_CELL_NULL || orma_trace_database_args(view->database, set, &list) < 0)
		return NULL;
	for (uint32_t i = 0; i < list->count; i++)
		if (orma_base_str_is(orma_arg_list_key(list, i), key))
			return &list->args[i];
	return NULL;
}

/* The types of tracks that programs make end like this. */
static bool is_made_by_program(const struct orma_view *view, uint64_t track)
{
	static const struct orma_str end = {"track_event", 11};
	struct orma_str type =
		orma_trace_database_text(view->database, cell(view, ORMA_TRACK_TYPE, track));
	return type.size >= end.size &&
	       memcmp(type.data + type.size - end.size, end.data, end.size) == 0;
}

int64_t orma_view_int_arg(const struct orma_view *view, int64_t set, const char *key, int64_t other)
{
	const struct orma_arg *arg = find_arg(view, set, key);
	return arg && (arg->type == ORMA_ARG_INT || arg->type == ORMA_ARG_UINT) ? arg->value
										: other;
}

static enum orma_listed_order ordering_of(const struct orma_view *view, int64_t set)
{
	static const char *const names[] = {"", "lexicographic", "chronological", "explicit"};
	const struct orma_arg *arg = find_arg(view, set, "child_ordering");
	for (size_t i = 1; arg && arg->type == ORMA_ARG_STRING && i < ORMA_ARRAY_SIZE(names); i++)
		if (orma_base_str_is(orma_trace_database_text(view->database, arg->value),
				     names[i]))
			return (enum orma_listed_order)i;
	return ORMA_TRACKS_BY_NUMBER;
}

/* The table that has a track's rows. */
enum orma_view_table orma_track_table(const struct orma_view *view, uint64_t track)
{
	struct orma_str type =
		orma_trace_database_text(view->database, cell(view, ORMA_TRACK_EVENT_TYPE, track));
	return orma_base_str_is(type, "counter") ? ORMA_VIEW_COUNTERS
	       : orma_base_str_is(type, "state") ? ORMA_VIEW_STATES
						 : ORMA_VIEW_SLICES;
}

/* Returns the parent of a track, or -1. */
static int64_t parent_of(const struct orma_view *view, uint64_t track)
{
	int64_t parent = cell(view, ORMA_TRACK_PARENT_ID, track);
	return parent >= 0 && (uint64_t)parent < track ? parent : -1;
}

static void find_owner(const struct orma_view *view, struct orma_listed_track *track)
{
	int64_t parent = parent_of(view, track->id);
	int64_t utid = cell(view, ORMA_TRACK_UTID, track->id);
	int64_t upid = cell(view, ORMA_TRACK_UPID, track->id);
	int64_t cpu = orma_view_int_arg(
		view, cell(view, ORMA_TRACK_DIMENSION_ARG_SET_ID, track->id), "cpu", -1);
	track->owner = parent >= 0 ? ORMA_TRACK_OF_TRACK
		       : utid >= 0 ? ORMA_TRACK_OF_THREAD
		       : upid >= 0 ? ORMA_TRACK_OF_PROCESS
		       : cpu >= 0  ? ORMA_TRACK_OF_CPU
				   : ORMA_TRACK_OF_NOBODY;
	track->owner_id = parent >= 0 ? parent : utid >= 0 ? utid : upid >= 0 ? upid : cpu;
}

/* True when lanes of the track's table have rows of it, and when the first is. */
static bool has_rows(const struct orma_view *view, struct orma_listed_track *track)
{
	const struct orma_lanes *lanes = &view->lanes[orma_track_table(view, track->id)];
	uint32_t line;
	track->first = UINT64_MAX;
	if (orma_lanes_lines(lanes, track->id, &line) == line || lanes->lines[line].count == 0)
		return false;
	track->first = lanes->starts[lanes->lines[line].first_node];
	return true;
}

int orma_view_compare_names(struct orma_str a, struct orma_str b)
{
	size_t size = ORMA_MIN(a.size, b.size);
	int order = size > 0 ? memcmp(a.data, b.data, size) : 0;
	return order ? order : (a.size > b.size) - (a.size < b.size);
}

/* Orders by owner first. Counters of a CPU or of nobody follow its slices, by name. */
static int compare_tracks(const void *a, const void *b)
{
	const struct orma_listed_track *x = a, *y = b;
	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	int names = orma_view_compare_names(x->name, y->name);
	if (x->owner == ORMA_TRACK_OF_CPU && x->is_counter != y->is_counter)
		return x->is_counter ? 1 : -1;
	if (x->owner == ORMA_TRACK_OF_CPU && names)
		return names;
	if (x->owner_id != y->owner_id)
		return x->owner_id < y->owner_id ? -1 : 1;
	if (x->owner != ORMA_TRACK_OF_TRACK && x->is_counter != y->is_counter)
		return x->is_counter ? 1 : -1;
	if (x->is_of_system != y->is_of_system)
		return x->is_of_system ? 1 : -1;
	if (x->order == ORMA_TRACKS_BY_RANK && x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->order == ORMA_TRACKS_BY_TIME && x->first != y->first)
		return x->first < y->first ? -1 : 1;
	if ((x->order == ORMA_TRACKS_BY_NAME ||
	     (x->owner != ORMA_TRACK_OF_TRACK && x->is_counter)) &&
	    names)
		return names;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Marks the tracks that are listed: those with rows, and those above them. */
static void mark(const struct orma_view *view, uint64_t count, uint8_t *marks)
{
	for (uint64_t id = 0; id < count; id++) {
		struct orma_listed_track track = {.id = (uint32_t)id};
		int64_t above = has_rows(view, &track) ? (int64_t)id : -1;
		for (; above >= 0 && !marks[above]; above = parent_of(view, (uint64_t)above))
			marks[above] = 1;
	}
}

int orma_track_list_init(struct orma_track_list *list, const struct orma_view *view,
			 struct orma_arena *arena)
{
	uint64_t count = orma_store_table_rows(&view->database->tables.all[ORMA_TABLE_TRACK]);
	uint8_t *marks = orma_base_arena_alloc(arena, (size_t)count + 1);
	enum orma_listed_order *orders =
		orma_base_arena_alloc(arena, ((size_t)count + 1) * sizeof(*orders));
	list->view = view;
	list->items = orma_base_arena_alloc(arena, ((size_t)count + 1) * sizeof(*list->items));
	if (!marks || !orders || !list->items)
		return -ENOMEM;
	mark(view, count, marks);
	for (uint64_t id = 0; id < count; id++) {
		struct orma_listed_track *track = &list->items[list->count];
		int64_t source = cell(view, ORMA_TRACK_SOURCE_ARG_SET_ID, id);
		if (!marks[id])
			continue;
		*track = (struct orma_listed_track){.id = (uint32_t)id};
		has_rows(view, track);
		find_owner(view, track);
		orders[id] = ordering_of(view, source);
		if (track->owner == ORMA_TRACK_OF_TRACK)
			track->order = orders[track->owner_id];
		track->is_counter = orma_track_table(view, id) == ORMA_VIEW_COUNTERS;
		track->is_of_system = track->is_counter && track->owner == ORMA_TRACK_OF_PROCESS &&
				      !is_made_by_program(view, id);
		track->rank = orma_view_int_arg(view, source, "sibling_order_rank", 0);
		track->name =
			orma_trace_database_text(view->database, cell(view, ORMA_TRACK_NAME, id));
		list->count++;
	}
	if (list->count > 0)
		qsort(list->items, list->count, sizeof(*list->items), compare_tracks);
	return 0;
}

uint32_t orma_track_list_find(const struct orma_track_list *list, enum orma_listed_owner owner,
			      int64_t id, uint32_t *ret_end)
{
	uint32_t low = 0, high = list->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct orma_listed_track *track = &list->items[middle];
		if (track->owner < owner ||
		    (track->owner == owner && owner < ORMA_TRACK_OF_CPU && track->owner_id < id))
			low = middle + 1;
		else
			high = middle;
	}
	uint32_t end = low;
	while (end < list->count && list->items[end].owner == owner &&
	       (owner >= ORMA_TRACK_OF_CPU || list->items[end].owner_id == id))
		end++;
	*ret_end = end;
	return low;
}
