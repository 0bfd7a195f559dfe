/* SPDX-License-Identifier: Apache-2.0
 * offered_sources.h - the data sources that producers offer, by the state of a service.
 */
#ifndef ORMA_TOOL_OFFERED_SOURCES_H
#define ORMA_TOOL_OFFERED_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "schema/gen/service_state.pb.h"

bool orma_tool_is_offered(const struct orma_pb_tracing_service_state *state, struct orma_str name);
/* Fills `names` with the names of the data sources, each once, in the arena. Producers choose them, so
 * only printable ones are taken. Returns how many there are, at most `max`. */
size_t orma_tool_list_offered(const struct orma_pb_tracing_service_state *state,
			      struct orma_arena *arena, const char **names, size_t max);
/* Returns true for a name that may be suggested to a person: printable ASCII. */
bool orma_tool_is_printable(struct orma_str name);

#endif
