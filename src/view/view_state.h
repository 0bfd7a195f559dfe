/* SPDX-License-Identifier: Apache-2.0
 * view_state.h - what the answers of src/view share: the trace, its lanes and its strings.
 *
 * A lane's number on the wire counts the lanes of all tables, one table after the other.
 */
#ifndef ORMA_VIEW_VIEW_STATE_H
#define ORMA_VIEW_VIEW_STATE_H

#include <errno.h>

#include "answers/trace_database.h"
#include "base/arena.h"
#include "view/lanes.h"
#include "view/trace_view.h"

enum orma_view_table {
	ORMA_VIEW_SLICES,
	ORMA_VIEW_STATES, /* tracks that have one value at a time */
	ORMA_VIEW_SCHED,
	ORMA_VIEW_THREAD_STATES,
	ORMA_VIEW_COUNTERS,
	ORMA_VIEW_TABLES,
};

/* A state of threads as pages know it: the kernel's letters, and whether it waits for I/O. */
struct orma_view_thread_state {
	int64_t state; /* a cell */
	bool is_io_wait;
};

enum { ORMA_VIEW_THREAD_STATES_MAX = 256 };

struct orma_view {
	struct orma_trace_database *database; /* borrowed */
	char *title;
	uint32_t generation;
	bool is_live;
	const atomic_bool *is_stopped; /* the worker's thread's; see orma_view_set_stop() */
	struct orma_lanes lanes[ORMA_VIEW_TABLES];
	uint32_t first_lanes[ORMA_VIEW_TABLES + 1]; /* on the wire */
	/* The strings that there were when the trace was loaded, which every thread may read. It borrows their texts. */
	struct orma_string_pool strings;
	struct orma_view_thread_state thread_states[ORMA_VIEW_THREAD_STATES_MAX];
	uint32_t thread_state_count;
	/* The rows of the page; see view_tracks.h. */
	struct orma_view_node *nodes;
	uint32_t node_count;
	uint32_t *lane_nodes;    /* by the lane's number on the wire: its node + 1, or 0 */
	struct orma_arena names; /* texts of nodes that are not strings of the trace */
};

/* Finds a lane by its number on the wire, and *ret_lane, its number among its table's. NULL when there is none. */
const struct orma_lanes *orma_view_find_lane(const struct orma_view *view, uint32_t lane,
					     enum orma_view_table *ret_table, uint32_t *ret_lane);
static inline uint32_t orma_view_lane_of(const struct orma_view *view, enum orma_view_table table,
					 uint32_t lane)
{
	return view->first_lanes[table] + lane;
}

/* The text of a cell of a table; .data = NULL for NULL. */
static inline struct orma_str orma_view_text(const struct orma_view *view, int64_t cell)
{
	return cell > 0 && cell <= view->strings.count
		       ? orma_store_pool_get(&view->strings, (uint32_t)cell)
		       : (struct orma_str){NULL, 0};
}

/*
 * Returns 0, or -ECANCELED when nobody needs the answer any more. Loops over the rows of a trace call it, except for those of
 * quick questions, which are answered on another thread.
 */
static inline int orma_view_check_stop(const struct orma_view *view)
{
	bool is_stopped =
		view->is_stopped && atomic_load_explicit(view->is_stopped, memory_order_relaxed);
	return is_stopped ? -ECANCELED : 0;
}

/* Makes the lanes of all tables of `view->database`, and what else its answers share. 0 or a negative errno value. */
int orma_view_state_init(struct orma_view *view);
void orma_view_state_done(struct orma_view *view);

/* Returns the state's place in `thread_states`. */
uint32_t orma_view_thread_state_of(const struct orma_view *view, uint64_t row);

#endif
