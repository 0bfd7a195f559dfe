/* SPDX-License-Identifier: Apache-2.0
 * decodability.h - follows the sequences of a trace as a reader does, and counts the packets and
 * events that a reader cannot decode.
 */
#ifndef ORMA_TOOL_DECODABILITY_H
#define ORMA_TOOL_DECODABILITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "tool/trace/trace_file.h"

struct orma_doctor_sequence {
	uint64_t id;
	const char *source; /* the data source that writes it; NULL = not known */
	uint64_t pid;       /* 0 = not known */
	uint64_t gaps[ORMA_TOOL_GAP_KINDS];
	uint64_t stateless_packets; /* they need incremental state that the trace does not have */
	uint64_t nameless_events;   /* they refer to interned data that the trace does not have */
	uint64_t clockless_packets; /* their clock has no snapshot */

	/* A reader's state at this point of the sequence. */
	bool has_state;
	uint64_t default_clock, default_track;
	uint64_t own_clocks;   /* bit per clock with an id from 64 to 127 that has a snapshot */
	struct orma_map names; /* hashes of field and id of the interned data */
};

/* A track with slices or values, or with a description, by its uuid. */
struct orma_doctor_track {
	const struct orma_doctor_sequence *sequence; /* the writer of its last slice */
	uint64_t open_slices, ends_without_begin;
	uint64_t values; /* events of the type counter */
	bool is_counter; /* its description says so */
};

/* {0} is empty. */
struct orma_decodability {
	struct orma_map sequences; /* trusted_packet_sequence_id -> struct orma_doctor_sequence */
	struct orma_map tracks;    /* uuid -> struct orma_doctor_track */
	uint64_t clock_snapshots;
	/* Bits of clocks with ids below 64: those with a snapshot, and those of timestamps. */
	uint64_t snapshot_clocks, used_clocks;
	uint64_t lost_samples;      /* records of perf events that the kernel dropped */
	uint64_t first_ns, last_ns; /* timestamps in CLOCK_BOOTTIME; 0 = there is none */
};

/* Follows the next packet of the trace. 0, -EBADMSG or -ENOMEM. */
int orma_decodability_add(struct orma_decodability *decodability, const void *packet_untrusted,
			  size_t size);
void orma_decodability_done(struct orma_decodability *decodability);

#endif
