/* SPDX-License-Identifier: Apache-2.0
 * flows.h - arrows from slice to slice.
 */
#ifndef ORMA_TRACE_FLOWS_H
#define ORMA_TRACE_FLOWS_H

#include "base/arena.h"
#include "trace/args.h"

enum orma_flows_count {
	ORMA_FLOWS_DUPLICATE,
	ORMA_FLOWS_WITHOUT_SLICE,
	ORMA_FLOWS_STEP_WITHOUT_BEGIN,
	ORMA_FLOWS_END_WITHOUT_BEGIN,
	ORMA_FLOWS_COUNTS,
};

struct orma_flow_name;
struct orma_flow_ending;

/* {.tables = ..., .sets = ...} is empty. */
struct orma_flows {
	struct orma_tables *tables;
	struct orma_arg_sets *sets;
	struct orma_map active;  /* row + 1 of the last slice by id of the flow */
	struct orma_map named;   /* struct orma_flow_name by hash of what identifies the flow */
	struct orma_map names;   /* the same by id of the flow */
	struct orma_map endings; /* struct orma_flow_ending, the last, by track */
	struct orma_arena arena;
	struct orma_arg_list args;
	uint64_t counts[ORMA_FLOWS_COUNTS];
};

void orma_flows_done(struct orma_flows *flows);
/* Functions return 0 or a negative errno value; what makes no sense is counted. `slice` is a row, or ORMA_NO_SLICE. */

/* A slice takes part in a flow: begins it, or gets an arrow from the slice before. */
int orma_flows_join(struct orma_flows *flows, uint64_t id, int64_t slice);
/* A slice ends a flow. One that has not begun is left alone. */
int orma_flows_terminate(struct orma_flows *flows, uint64_t id, int64_t slice);

/* Flows whose events say whether they begin, go on or end: */
int orma_flows_begin(struct orma_flows *flows, uint64_t id, int64_t slice);
int orma_flows_step(struct orma_flows *flows, uint64_t id, int64_t slice);
int orma_flows_end(struct orma_flows *flows, uint64_t id, int64_t slice);
/* The end is at the slice that begins next on the track. */
int orma_flows_end_later(struct orma_flows *flows, uint64_t id, uint32_t track_id);
/* A slice has begun on the track. */
int orma_flows_take_endings(struct orma_flows *flows, uint32_t track_id, int64_t slice);

/* Finds the id of a flow that its number, category and name (cells) identify together. */
int orma_flows_find_named(struct orma_flows *flows, uint64_t number, int64_t category, int64_t name,
			  uint64_t *ret_id);

#endif
