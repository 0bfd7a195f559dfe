/* SPDX-License-Identifier: Apache-2.0
 * export_profile.h - the profile of a trace that is written, and which of its values.
 */
#ifndef ORMA_TOOL_EXPORT_PROFILE_H
#define ORMA_TOOL_EXPORT_PROFILE_H

#include "answers/cost_profiles.h"
#include "answers/stack_functions.h"
#include "tool/export/export.h"

struct orma_export_profile {
	struct orma_cost_profiles all;
	struct orma_stack_functions functions;
	const struct orma_cost_profile *chosen; /* NULL = the trace has no profile */
	size_t value;                           /* the value that is meant, of the chosen profile */
};

/*
 * Reads the profiles, and chooses the one with the value that the options name; without a name the samples come before
 * heaps, and what a heap has in use before what was allocated. 0, or the exit status after a message. The caller calls
 * orma_export_profile_done() in both cases.
 */
int orma_export_profile_read(struct orma_export_profile *profile,
			     const struct orma_trace_database *database,
			     const struct orma_export_options *options);
void orma_export_profile_done(struct orma_export_profile *profile);

#endif
