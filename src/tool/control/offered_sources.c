/* SPDX-License-Identifier: Apache-2.0
 * offered_sources.c - lists the data sources that producers offer.
 */
#include "tool/control/offered_sources.h"

#include <string.h>

#include "schema/gen/data_source_descriptor.pb.h"

bool orma_tool_is_printable(struct orma_str name)
{
	for (size_t i = 0; i < name.size; i++)
		if (name.data[i] < ' ' || name.data[i] > '~')
			return false;
	return true;
}

static struct orma_str name_of(const struct orma_pb_tracing_service_state *state, size_t i)
{
	const struct orma_pb_data_source_descriptor *descriptor =
		state->data_sources.items[i]->ds_descriptor;

	return descriptor ? descriptor->name : (struct orma_str){0};
}

bool orma_tool_is_offered(const struct orma_pb_tracing_service_state *state, struct orma_str name)
{
	for (size_t i = 0; i < state->data_sources.count; i++)
		if (orma_base_str_is_equal(name_of(state, i), name))
			return true;
	return false;
}

static bool has(const char *const *names, size_t count, struct orma_str name)
{
	for (size_t i = 0; i < count; i++)
		if (orma_base_str_is(name, names[i]))
			return true;
	return false;
}

size_t orma_tool_list_offered(const struct orma_pb_tracing_service_state *state,
			      struct orma_arena *arena, const char **names, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < state->data_sources.count && count < max; i++) {
		struct orma_str name = name_of(state, i);

		if (name.size == 0 || !orma_tool_is_printable(name) || has(names, count, name))
			continue;
		names[count] = orma_base_arena_strdup(arena, name);
		count += names[count] != NULL;
	}
	return count;
}
