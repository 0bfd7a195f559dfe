/* SPDX-License-Identifier: Apache-2.0
 * record_categories.c - warns of categories that a config enables and no connected program has.
 *
 * A misspelt category records nothing, silently: to the service, categories are part of a config
 * that it does not read. So when the recording is over, each name and pattern of enabled_categories
 * is compared with the categories that programs have declared. Programs may end before the
 * recording does, in particular the one that the recorder started, so the recorder asks the service
 * whenever a program begins to record track events. The result is a hint, not a proof: a program may
 * come and go faster than that, and names that events bring along at run time are not declared. So
 * while there are events, the recorder does not warn of a name that resembles no other.
 *
 * Programs choose the names that they declare, so names that are not printable ASCII are never
 * suggested.
 */
#include "tool/record/record_categories.h"

#include <orma/session.h>
#include <string.h>

#include "proto/codec.h"
#include "schema/gen/data_source_descriptor.pb.h"
#include "schema/gen/service_state.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/track_event_config.pb.h"
#include "schema/gen/track_event_descriptor.pb.h"
#include "tool/control/offered_sources.h"
#include "tool/tool.h"

#define TRACK_EVENT "track_event"

static bool has_name(const struct orma_record_categories *names, struct orma_str name)
{
	for (size_t i = 0; i < names->count; i++)
		if (orma_base_str_is(name, names->items[i]))
			return true;
	return false;
}

static void add_categories(struct orma_record_categories *names,
			   const struct orma_pb_track_event_descriptor *descriptor)
{
	for (size_t i = 0; i < descriptor->available_categories.count; i++) {
		struct orma_str name = descriptor->available_categories.items[i]->name;
		if (has_name(names, name))
			continue;
		char *copy =
			names->count < ORMA_RECORD_CATEGORIES_MAX && orma_tool_is_printable(name)
				? orma_base_arena_strdup(&names->arena, name)
				: NULL;
		if (copy)
			names->items[names->count++] = copy;
		else
			names->lacks_some = true;
	}
}

void orma_record_categories_add(struct orma_record_categories *names,
				const struct orma_pb_tracing_service_state *state)
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
static bool is_declared(const struct orma_record_categories *names, const char *wanted)
{
	size_t size = strlen(wanted);
	bool is_pattern = size > 0 && wanted[size - 1] == '*';

	for (size_t i = 0; i < names->count; i++)
		if (is_pattern ? strncmp(names->items[i], wanted, size - 1) == 0
			       : strcmp(names->items[i], wanted) == 0)
			return true;
	return false;
}

void orma_record_find_unknown_categories(struct orma_record_categories *names,
					 const struct orma_pb_track_event_config *config,
					 orma_record_category_fn *fn, void *ctx)
{
	for (size_t i = 0; names->count > 0 && !names->lacks_some && config &&
			   i < config->enabled_categories.count;
	     i++) {
		char *wanted =
			orma_base_arena_strdup(&names->arena, config->enabled_categories.items[i]);
		if (wanted && !is_declared(names, wanted))
			fn(ctx, wanted, orma_tool_closest(wanted, names->items, names->count));
	}
}

static void on_state(void *ctx, const struct orma_error *error, const void *data, size_t size)
{
	struct orma_record_categories *names = ctx;
	struct orma_pb_tracing_service_state *state;
	struct orma_arena arena = {0};

	names->is_asked = false;
	if (!error &&
	    orma_proto_decode(&orma_pb_tracing_service_state_desc, data, size, &arena, &state) == 0)
		orma_record_categories_add(names, state);
	orma_base_arena_done(&arena);
}

void orma_record_categories_step(struct orma_record_categories *names, struct orma_session *session)
{
	if (!names->must_ask || names->is_asked)
		return;
	names->must_ask = false;
	names->is_asked =
		orma_session_query_async(session, ORMA_SESSION_QUERY_STATE, on_state, names) == 0;
}

void orma_record_categories_done(struct orma_record_categories *names)
{
	orma_base_arena_done(&names->arena);
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

bool orma_record_warn_of_categories(struct orma_record_categories *names,
				    const struct orma_pb_track_event_config *config,
				    bool has_events)
{
	struct warning warning = {.has_events = has_events};

	orma_record_find_unknown_categories(names, config, warn_of_unknown, &warning);
	return warning.has_warned;
}
