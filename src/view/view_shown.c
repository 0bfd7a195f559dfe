/* SPDX-License-Identifier: Apache-2.0
 * view_shown.c - the traces that were loaded: the one that is shown, the last ones before it, and those that are still asked about.
 *
 * A live trace is loaded again and again, and a page shows the one before for a moment. So a question says of which
 * generation it is, and the last ones are kept: rows and lanes of another one would be other rows and lanes.
 */
#include <string.h>

#include "base/alloc.h"
#include "view/view_server_state.h"

enum { GENERATION_MAX_DIGITS = 10 };

void orma_view_shown_release(struct orma_view_server *server, struct orma_view_shown *shown)
{
	if (!shown || --shown->use_count > 0)
		return;
	if (shown->is_listed)
		orma_base_list_remove(&shown->link);
	orma_view_free(shown->view);
	if (server->options.unload && shown->trace.owner)
		server->options.unload(server->options.ctx, shown->trace.owner);
	orma_base_free(shown);
}

void orma_view_shown_add(struct orma_view_server *server, struct orma_view_shown *shown)
{
	struct orma_view_shown *before = server->shown;
	server->generation += before != NULL;
	orma_view_set_generation(shown->view, server->generation, server->options.is_live);
	shown->generation = server->generation;
	orma_base_list_append(&server->all, &shown->link);
	shown->is_listed = true;
	server->shown = shown;
	for (size_t i = 0; i < ORMA_VIEW_KEPT_BEFORE; i++) {
		struct orma_view_shown *older = server->before[i];
		server->before[i] = before;
		before = older;
	}
	orma_view_shown_release(server, before);
}

struct orma_view_shown *orma_view_shown_find(const struct orma_view_server *server,
					     struct orma_str generation)
{
	char text[GENERATION_MAX_DIGITS + 1];
	uint64_t number;
	if (!generation.data)
		return server->shown;
	if (generation.size >= sizeof(text))
		return NULL;
	memcpy(text, generation.data, generation.size);
	text[generation.size] = 0;
	if (orma_base_parse_u64(text, 10, &number) < 0)
		return NULL;
	if (server->shown->generation == number)
		return server->shown;
	for (size_t i = 0; i < ORMA_VIEW_KEPT_BEFORE; i++)
		if (server->before[i] && server->before[i]->generation == number)
			return server->before[i];
	return NULL;
}
