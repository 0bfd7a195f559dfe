/* SPDX-License-Identifier: Apache-2.0
 * importer.h - what fills the tables from a trace, together.
 */
#ifndef ORMA_TRACE_IMPORTER_H
#define ORMA_TRACE_IMPORTER_H

#include "trace/descriptor_tracks.h"
#include "trace/event_args.h"
#include "trace/flows.h"
#include "trace/ordered_read.h"
#include "trace/profiles.h"
#include "trace/proto_content.h"
#include "trace/row_args.h"
#include "trace/sched.h"
#include "trace/slices.h"
#include "trace/states.h"
#include "trace/system.h"
#include "trace/type_pool.h"

enum orma_import_count {
	ORMA_IMPORT_EVENT_ERRORS,
	ORMA_IMPORT_COUNTER_WITHOUT_TRACK,
	ORMA_IMPORT_COUNTER_WITHOUT_VALUE,
	ORMA_IMPORT_COUNTER_OF_NO_TRACK,
	ORMA_IMPORT_STATE_WITHOUT_TRACK,
	ORMA_IMPORT_EXTRA_WITHOUT_TRACKS, /* counters that an event brings with it */
	ORMA_IMPORT_EXTRA_TOO_FEW_TRACKS,
	ORMA_IMPORT_EXTRA_TOO_MANY,
	ORMA_IMPORT_EXTRA_OF_NO_TRACK,
	ORMA_IMPORT_TIME_WITHOUT_REFERENCE,
	ORMA_IMPORT_INSTRUCTIONS_WITHOUT_REFERENCE,
	ORMA_IMPORT_UNKNOWN_EXTENSIONS,
	ORMA_IMPORT_FLOW_BAD_ID,
	ORMA_IMPORT_FLOW_WITHOUT_DIRECTION,
	ORMA_IMPORT_SPILLED_SLICES,
	ORMA_IMPORT_COUNTS,
};

/* The sum of an incremental counter in one generation of its sequence. */
struct orma_counter_sum {
	uint32_t generation;
	double value;
};

struct orma_importer {
	uint64_t seed; /* an option: see packet_index.h */
	struct orma_tables *tables;
	struct orma_packet_index index;
	struct orma_arg_sets sets;
	struct orma_processes processes;
	struct orma_tracks tracks;
	struct orma_slices slices;
	struct orma_row_args slice_args, state_args, process_args, thread_args;
	struct orma_states states;
	struct orma_type_pool types;
	struct orma_event_args event_args;
	struct orma_kept_args kept_args;
	struct orma_flows flows;
	struct orma_sched sched;
	struct orma_descriptor_tracks descriptors;
	struct orma_track_groups async_groups;
	struct orma_map async_names; /* the first name (a cell) of events with an id */
	struct orma_system system;
	struct orma_profiles profiles;
	struct orma_proto_content content;
	struct orma_map counter_sums; /* struct orma_counter_sum by sequence and uuid */
	/* Where the packets with descriptions of types are. */
	struct orma_note *type_packets;
	uint32_t type_packet_count, type_packet_capacity;
	struct orma_arena arena;
	uint64_t counts[ORMA_IMPORT_COUNTS];
};

/* Begins to read a trace into empty tables. `importer` is {0}, but for the options `system.has_no_raw_events`, `system.files`,
 * `system.crops_events`, `content.is_wanted` and `index.threads`. `input` may get its content later, and `unpack` may be NULL. 0 or a
 * negative errno value. */
int orma_importer_begin(struct orma_importer *importer, struct orma_tables *tables,
			struct orma_trace_bytes *input, orma_unpack_fn *unpack);
/* Takes packets when they are converted, before `input` has them; the context is the importer. See orma_packet_index_take(). */
orma_converted_fn orma_importer_take_converted;
/* Reads the rest of the trace. 0 or a negative errno value; -EBADMSG with `reterr` when it is damaged, and then the tables hold what
 * came before. */
int orma_importer_end(struct orma_importer *importer, struct orma_error *reterr);
/* The parts of it, for live_import.c. All return 0 or a negative errno value. */
int orma_importer_init(struct orma_importer *importer, struct orma_tables *tables,
		       struct orma_trace_bytes *input, orma_unpack_fn *unpack);
orma_file_order_fn orma_importer_file_order;
orma_ordered_fn orma_importer_time_order;
int orma_importer_add_machine(struct orma_importer *importer, uint32_t machine_idx);
void orma_importer_done(struct orma_importer *importer);

/* Takes a packet with descriptions of types, when `importer->types` are filled anew. 0 or a negative errno value. */
int orma_importer_take_types(struct orma_importer *importer, struct orma_str content);

/* Takes one track event. 0 or a negative errno value; events that make no sense are counted. */
int orma_importer_plain_event(struct orma_importer *importer,
			      const struct orma_ordered_event *event);
int orma_importer_track_event(struct orma_importer *importer,
			      const struct orma_ordered_event *event);

/* Takes a state of another tracing session. 0 or a negative errno value. */
int orma_importer_concurrent_session(struct orma_importer *importer,
				     const struct orma_ordered_event *event);

/* Makes statistics of what was counted. */
void orma_importer_count(struct orma_importer *importer);

#endif
