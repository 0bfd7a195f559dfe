/* SPDX-License-Identifier: Apache-2.0
 * record_categories.c - warns of categories that a config enables and no connected program has.
 *
 * A misspelt category records nothing, silently: to the service, categories are part of a config
 * that it does not read. So when the recording is over, each name and pattern of enabled_categories
 * is compared with the categories that connected programs have declared. The result is a hint, not
 * a proof: programs may have left, and names that events bring along at run time are not declared.
 * So while there are events, the recorder does not warn of a name that resembles no other.
 *
 * Programs choose the names that they declare, so names that are not printable ASCII are never
 * suggested.
 */
#include <string.h>

#include "base/arena.h"
#include "schema/gen/service_state.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "tool/control/offered_sources.h"
#include "tool/record/record.h"
#include "tool/tool.h"

#define TRACK_EVENT "track_event"
/* Enough for suggestions; a program may declare thousands. */
#define NAMES_MAX 1024

struct names {
	struct orma_arena *arena;
	const char *items[NAMES_MAX];
	size_t count;
	bool is_whole;
};

static void add_categories(struct names *names,
			   const struct orma_pb_track_event_descriptor *descriptor)
{
	for (size_t i = 0; i < descriptor->available_categories.count; i++) {
		struct orma_str name = descriptor->available_categories.items[i]->name;
		char *copy = names->count < NAMES_MAX && orma_tool_is_printable(name)
				     ? orma_base_arena_strdup(names->arena, name)
				     : NULL;
		if (copy)
			names->items[names->count++] = copy;
		else
			names->is_whole = false;
	}
}

static void collect(struct names *names, const struct orma_pb_tracing_service_state *state)
{
	for (size_t i = 0; i < state->data_sources.count; i++) {
		const struct orma_pb_data_source_descriptor *descriptor =
			state->data_sources.items[i]->ds_descriptor;
		if (descriptor && orma_base_str_is(descriptor->name, TRACK_EVENT) &&
		    descriptor->track_event_descriptor)
			add_categories(names, descriptor->track_event_descriptor);
	}
}

/* Matches like the library: a whole name, or its beginning followed by one '*'. */
static bool is_declared(const struct names *names, const char *wanted)
{
	size_t size = strlen(wanted);
	bool is_pattern = size > 0 && wanted[size - 1] == '*';

	for (size_t i = 0; i < names->count; i++)
		if (is_pattern ? strncmp(names->items[i], wanted, size - 1) == 0
			       : strcmp(names->items[i], wanted) == 0)
			return true;
	return false;
}

void orma_record_find_unknown_categories(const struct orma_pb_track_event_config *config,
					 const struct orma_pb_tracing_service_state *state,
					 orma_record_category_fn *fn, void *ctx)
{
	struct orma_arena arena = {0};
	struct names names = {.arena = &arena, .is_whole = true};

	collect(&names, state);
	for (size_t i = 0;
	     names.count > 0 && names.is_whole && config && i < config->enabled_categories.count;
	     i++) {
		char *wanted = orma_base_arena_strdup(&arena, config->enabled_categories.items[i]);
		if (wanted && !is_declared(&names, wanted))
			fn(ctx, wanted, orma_tool_closest(wanted, names.items, names.count));
	}
	orma_base_arena_done(&arena);
}

struct warning {
	bool has_events, has_warned;
};

static void warn_of_unknown(void *ctx, const char *wanted, const char *closest)
{
	struct warning *warning = ctx;

	if (closest)
		orma_tool_warn("no program has declared the category \"%s\"; did you mean \"%s\"?",
			       wanted, closest);
	else if (!warning->has_events)
		orma_tool_warn("no program has declared the category \"%s\"", wanted);
	warning->has_warned |= closest || !warning->has_events;
}

bool orma_record_warn_of_categories(const struct orma_pb_track_event_config *config,
				    const struct orma_pb_tracing_service_state *state,
				    bool has_events)
{
	struct warning warning = {.has_events = has_events};

	orma_record_find_unknown_categories(config, state, warn_of_unknown, &warning);
	return warning.has_warned;
}
