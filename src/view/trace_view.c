/* SPDX-License-Identifier: Apache-2.0
 * trace_view.c - a trace as the page sees it, and the table of what it can be asked.
 */
#include "view/trace_view.h"

#include <errno.h>

#include "base/alloc.h"
#include "view/counters.h"
#include "view/density.h"
#include "view/tiles.h"
#include "view/view_area.h"
#include "view/view_detail.h"
#include "view/view_find.h"
#include "view/view_meta.h"
#include "view/view_search.h"
#include "view/view_state.h"
#include "view/view_tracks.h"

int orma_view_new(struct orma_trace_database *database, const char *title, struct orma_view **ret)
{
	struct orma_view *view = orma_base_zalloc(sizeof(*view));
	if (!view)
		return -ENOMEM;
	view->database = database;
	view->title = orma_base_strdup(title);
	int r = view->title ? orma_view_state_init(view) : -ENOMEM;
	if (r < 0) {
		orma_view_free(view);
		return r;
	}
	*ret = view;
	return 0;
}

void orma_view_free(struct orma_view *view)
{
	if (!view)
		return;
	orma_view_state_done(view);
	orma_base_free(view->title);
	orma_base_free(view);
}

void orma_view_set_generation(struct orma_view *view, uint32_t generation, bool is_live)
{
	view->generation = generation;
	view->is_live = is_live;
}

void orma_view_set_stop(struct orma_view *view, const atomic_bool *is_stopped)
{
	view->is_stopped = is_stopped;
}

const struct orma_view_route orma_view_routes[] = {
	{"meta", orma_view_meta, .is_json = true},
	{"tracks", orma_view_tracks, .is_json = true},
	{"names", orma_view_names, .is_quick = true, .is_json = true},
	{"tiles", orma_view_tiles, .is_quick = true},
	{"counters", orma_view_counters, .is_quick = true},
	{"density", orma_view_density, .is_json = false},
	{"detail", orma_view_detail, .is_json = true},
	{"argument", orma_view_argument, .is_json = true},
	{"area", orma_view_area, .is_json = true},
	{"flame", orma_view_flame, .is_json = true},
	{"find", orma_view_find, .is_json = true},
	{"search", orma_view_search, .is_json = true},
	{"flows", orma_view_flows, .is_json = true},
	{"neighbour", orma_view_neighbour, .is_quick = true, .is_json = true},
	{0},
};
