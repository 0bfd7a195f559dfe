/* SPDX-License-Identifier: Apache-2.0
 * view_tracks.h - the rows of the page: groups, processes, threads and lanes, in the order in which they are drawn.
 */
#ifndef ORMA_VIEW_VIEW_TRACKS_H
#define ORMA_VIEW_VIEW_TRACKS_H

#include "view/view_state.h"

/* The density of all CPUs, or without scheduling that of all slices. */
#define ORMA_VIEW_DENSITY_OF_ALL UINT32_MAX

struct orma_view_node {
	int64_t parent; /* a node before it; -1 = none */
	const char *kind;
	struct orma_str name, unit; /* .data = NULL: none */
	const char *table;          /* the lane's; NULL = it has no lane */
	uint32_t lane;              /* on the wire */
	uint32_t rows;              /* the depth of its boxes */
	uint64_t events;
	int64_t upid, utid, ucpu, density; /* -1 = none */
	bool is_open;
};

/* Makes `view->nodes`, for orma_view_state_init(). 0 or a negative errno value. */
int orma_view_tracks_init(struct orma_view *view);
void orma_view_tracks_done(struct orma_view *view);
/* Returns the node of a lane, or -1. */
int64_t orma_view_node_of_lane(const struct orma_view *view, uint32_t lane);

/* Appends the tree with at most so many nodes, threads and processes each, as JSON. 0 or -ENOMEM. */
int orma_view_tracks_append(const struct orma_view *view, uint32_t limit, struct orma_buf *ret);
/* Answers /api/tracks. Errors as of orma_view_fn. */
int orma_view_tracks(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		     struct orma_error *reterr);

#endif
