/* SPDX-License-Identifier: Apache-2.0
 * track_nodes.h - the tree of the page's rows while it is made, and the nodes of tracks.
 */
#ifndef ORMA_VIEW_TRACK_NODES_H
#define ORMA_VIEW_TRACK_NODES_H

#include "answers/task_names.h"
#include "view/track_list.h"
#include "view/view_tracks.h"

struct orma_track_tree {
	struct orma_view *view;
	struct orma_arena arena; /* freed when the tree is made */
	uint32_t capacity;       /* how many nodes have room */
	struct orma_track_list tracks;
};

/* The names of nodes have .data = NULL when memory is short. */
struct orma_str orma_track_task_name(struct orma_track_tree *tree, struct orma_task_name name);
struct orma_str orma_track_number_name(struct orma_track_tree *tree, const char *before,
				       uint64_t number, const char *behind);

/* Adds a node that has no lane yet. Returns its number or -ENOMEM. */
int64_t orma_track_add_node(struct orma_track_tree *tree, int64_t parent, const char *kind,
			    struct orma_str name);
void orma_track_set_lane(struct orma_track_tree *tree, int64_t idx, enum orma_view_table table,
			 uint32_t lane);
uint64_t orma_track_count_events(const struct orma_lanes *lanes, uint32_t lane);
/* Adds tracks [first, end) of the list and all below them. 0 or -ENOMEM. */
int orma_track_add_all(struct orma_track_tree *tree, uint32_t first, uint32_t end, int64_t parent);
/* Adds those of the tracks [first, end) that are counters, or that are not. 0 or -ENOMEM. */
int orma_track_add_kind(struct orma_track_tree *tree, uint32_t first, uint32_t end, bool is_counter,
			int64_t parent);

#endif
