/* SPDX-License-Identifier: Apache-2.0
 * track_nodes.c - makes nodes of the page's tree, above all those of tracks.
 *
 * Tracks of events keep the nesting that the program gave them, which may be deep: they are walked with a stack of their own.
 */
#include "view/track_nodes.h"

#include <errno.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"

static int64_t track_cell(const struct orma_view *view, size_t column, uint64_t track)
{
	return orma_trace_database_cell(view->database, ORMA_TABLE_TRACK, column, track);
}

int64_t orma_track_add_node(struct orma_track_tree *tree, int64_t parent, const char *kind,
			    struct orma_str name)
{
	struct orma_view *view = tree->view;
	int r = orma_store_grow(&view->nodes, (uint64_t)view->node_count + 1, &tree->capacity,
				sizeof(*view->nodes));
	if (r < 0)
		return r;
	view->nodes[view->node_count] = (struct orma_view_node){.parent = parent,
								.kind = kind,
								.name = name,
								.upid = -1,
								.utid = -1,
								.ucpu = -1,
								.density = -1,
								.is_open = true};
	return view->node_count++;
}

uint64_t orma_track_count_events(const struct orma_lanes *lanes, uint32_t lane)
{
	uint32_t line, end = orma_lanes_lines(lanes, lane, &line);
	uint64_t count = 0;
	for (; line < end; line++)
		count += lanes->lines[line].count;
	return count;
}

void orma_track_set_lane(struct orma_track_tree *tree, int64_t idx, enum orma_view_table table,
			 uint32_t lane)
{
	struct orma_view *view = tree->view;
	struct orma_view_node *node = &view->nodes[idx];
	const struct orma_lanes *lanes = &view->lanes[table];
	uint32_t first, end = orma_lanes_lines(lanes, lane, &first);
	static const char *const names[] = {[ORMA_VIEW_SLICES] = "slice",
					    [ORMA_VIEW_STATES] = "state",
					    [ORMA_VIEW_SCHED] = "sched",
					    [ORMA_VIEW_THREAD_STATES] = "thread_state",
					    [ORMA_VIEW_COUNTERS] = "counter"};
	node->table = names[table];
	node->lane = orma_view_lane_of(view, table, lane);
	node->rows = end - first;
	node->events = orma_track_count_events(lanes, lane);
}

/* Adds a text to the view's, with printf's format. .data = NULL when memory is short. */
static struct orma_str make_name(struct orma_track_tree *tree, struct orma_buf *text)
{
	struct orma_str name = {(const char *)text->data, text->size};
	name.data = orma_base_arena_strdup(&tree->view->names, name);
	orma_base_buf_done(text);
	return name.data ? name : (struct orma_str){NULL, 0};
}

struct orma_str orma_track_task_name(struct orma_track_tree *tree, struct orma_task_name name)
{
	struct orma_buf text = {0};
	return orma_task_name_append(&name, &text) < 0 ? (struct orma_str){NULL, 0}
						       : make_name(tree, &text);
}

struct orma_str orma_track_number_name(struct orma_track_tree *tree, const char *before,
				       uint64_t number, const char *behind)
{
	struct orma_buf text = {0};
	return orma_base_buf_printf(&text, "%s%" PRIu64 "%s", before, number, behind) < 0
		       ? (struct orma_str){NULL, 0}
		       : make_name(tree, &text);
}

static bool ends_with(struct orma_str text, struct orma_str end)
{
	return text.size >= end.size &&
	       memcmp(text.data + text.size - end.size, end.data, end.size) == 0;
}

/* Traces do not tell the units of the counters that the system has of processes and CPUs; their names do. */
static struct orma_str unit_of(const struct orma_view *view, const struct orma_listed_track *track,
			       enum orma_view_table table)
{
	struct orma_str unit = orma_trace_database_text(
		view->database, track_cell(view, ORMA_TRACK_COUNTER_UNIT, track->id));
	struct orma_str type = orma_trace_database_text(
		view->database, track_cell(view, ORMA_TRACK_TYPE, track->id));
	if (unit.data || table != ORMA_VIEW_COUNTERS || ends_with(type, ORMA_STR("track_event")))
		return unit;
	if (orma_base_str_is(type, "process_memory"))
		return ORMA_STR("bytes");
	return ends_with(track->name, ORMA_STR("_ns")) ? ORMA_STR("ns") : unit;
}

/* Adds the node of a track. Returns its number or -ENOMEM. */
static int64_t add_track(struct orma_track_tree *tree, const struct orma_listed_track *track,
			 int64_t parent)
{
	static const char *const kinds[] = {[ORMA_VIEW_SLICES] = "slices",
					    [ORMA_VIEW_STATES] = "slices",
					    [ORMA_VIEW_COUNTERS] = "counter"};
	const struct orma_view *view = tree->view;
	enum orma_view_table table = orma_track_table(tree->view, track->id);
	struct orma_str name = track->name;
	if (track->owner == ORMA_TRACK_OF_THREAD && !name.data)
		name = orma_thread_name(view->database, track->owner_id).name;
	if (!name.data)
		name = orma_trace_database_text(view->database,
						track_cell(view, ORMA_TRACK_TYPE, track->id));
	int64_t idx = orma_track_add_node(
		tree, parent, track->first == UINT64_MAX ? "group" : kinds[table], name);
	if (idx < 0)
		return idx;
	struct orma_view_node *node = &tree->view->nodes[idx];
	if (track->first != UINT64_MAX)
		orma_track_set_lane(tree, idx, table, track->id);
	node->unit = unit_of(view, track, table);
	node->utid = ORMA_MAX(track_cell(view, ORMA_TRACK_UTID, track->id), (int64_t)-1);
	node->upid = ORMA_MAX(track_cell(view, ORMA_TRACK_UPID, track->id), (int64_t)-1);
	node->ucpu = track->owner == ORMA_TRACK_OF_CPU ? track->owner_id : -1;
	return idx;
}

int orma_track_add_all(struct orma_track_tree *tree, uint32_t first, uint32_t end, int64_t parent)
{
	struct step {
		uint32_t first, end;
		int64_t parent;
	} *steps = NULL;
	uint32_t count = 0, capacity = 0;
	int r = 0;
	for (;;) {
		while (first == end && count > 0) {
			count--;
			first = steps[count].first;
			end = steps[count].end;
			parent = steps[count].parent;
		}
		if (first == end)
			break;
		const struct orma_listed_track *track = &tree->tracks.items[first++];
		int64_t node = add_track(tree, track, parent);
		r = node < 0 ? (int)node
			     : orma_store_grow(&steps, (uint64_t)count + 1, &capacity,
					       sizeof(*steps));
		if (r < 0)
			break;
		steps[count++] = (struct step){first, end, parent};
		first = orma_track_list_find(&tree->tracks, ORMA_TRACK_OF_TRACK, track->id, &end);
		parent = node;
	}
	orma_base_free(steps);
	return r;
}

int orma_track_add_kind(struct orma_track_tree *tree, uint32_t first, uint32_t end, bool is_counter,
			int64_t parent)
{
	while (first < end && tree->tracks.items[first].is_counter != is_counter)
		first++;
	uint32_t last = first;
	while (last < end && tree->tracks.items[last].is_counter == is_counter)
		last++;
	return orma_track_add_all(tree, first, last, parent);
}
