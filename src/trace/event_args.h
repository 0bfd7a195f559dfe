/* SPDX-License-Identifier: Apache-2.0
 * event_args.h - reads the arguments of a track event from the trace, when somebody asks for them.
 */
#ifndef ORMA_TRACE_EVENT_ARGS_H
#define ORMA_TRACE_EVENT_ARGS_H

#include "trace/debug_args.h"
#include "trace/incremental_state.h"

enum { ORMA_EVENT_ARGS_STATES = 64, ORMA_EVENT_ARGS_WINDOWS = 256 };

/* A state that was asked for last. Sequences of a trace have neighbouring ids. */
struct orma_recent_state {
	uint32_t machine, sequence; /* as packets give them */
	struct orma_sequence_state *state;
};

/* It remembers the sequences that were asked about last, so ask in the order of rows. */
struct orma_event_args {
	struct orma_packet_index *index;
	const struct orma_type_pool *types;
	uint64_t event_type; /* stands for TrackEvent */
	uint64_t
		typed_ids; /* a bit for each of its first fields that `types` knew when it had so many */
	size_t typed_count;
	struct orma_trace_window windows[ORMA_EVENT_ARGS_WINDOWS]; /* by the place in the trace */
	struct orma_map states; /* struct orma_sequence_state by sequence; not more than so many */
	struct orma_recent_state recent[ORMA_EVENT_ARGS_STATES]; /* by id; those of `states` only */
	struct orma_arg_path path;
	uint64_t problems;
};

/* `index` and `types` are borrowed. */
void orma_event_args_init(struct orma_event_args *args, struct orma_packet_index *index,
			  const struct orma_type_pool *types);
void orma_event_args_done(struct orma_event_args *args);
/* Returns a bit for each of the first 64 fields of a TrackEvent that are arguments because of their types. */
uint64_t orma_event_args_typed_ids(struct orma_event_args *args);
/* Adds the arguments of the track event in the entry at an address. 0, -ENOMEM or an error of reading. */
int orma_event_args_add(struct orma_event_args *args, uint64_t entry, struct orma_arg_list *list);

/* The same for an event at hand, with the state at its packet. */
int orma_event_args_read(struct orma_event_args *args, struct orma_sequence_state *state,
			 struct orma_str event, struct orma_arg_list *list);

#endif
