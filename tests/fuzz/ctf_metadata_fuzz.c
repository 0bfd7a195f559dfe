/* SPDX-License-Identifier: Apache-2.0
 * ctf_metadata_fuzz.c - any bytes as the metadata of a trace in the Common Trace Format: packets, text, types and their
 * plans.
 */
#include <stdint.h>

#include "formats/ctf_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each step of a plan leads to another one of it. */
static void check_plan(const struct orma_ctf_plan *plan)
{
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct orma_ctf_step *step = &plan->steps[i];
		if (step->jump > plan->count)
			__builtin_trap();
		for (uint32_t k = 0; k < step->choice_count; k++)
			if (step->choices[k].target >= plan->count)
				__builtin_trap();
		if (step->type && step->type->kind == ORMA_CTF_ENUM)
			(void)orma_ctf_label_of(step->type, i);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_ctf_trace trace = {0};
	struct orma_error error = {0};
	struct orma_str file = {(const char *)data, size};
	(void)orma_ctf_metadata_is(file);
	if (orma_ctf_trace_open(&trace, "metadata", file, &error) == 0) {
		check_plan(&trace.packet_header);
		for (uint32_t i = 0; i < trace.metadata.streams.count; i++) {
			check_plan(&trace.streams[i].packet_context);
			check_plan(&trace.streams[i].event_header);
			(void)orma_ctf_clock_offset_ns(&trace.streams[i].clock);
		}
		for (uint32_t i = 0; i < trace.metadata.events.count; i++)
			check_plan(&trace.events[i].plan);
	} else if (!error.message[0]) {
		__builtin_trap();
	}
	orma_ctf_trace_done(&trace);
	return 0;
}
