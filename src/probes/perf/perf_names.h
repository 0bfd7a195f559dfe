/* SPDX-License-Identifier: Apache-2.0
 * perf_names.h - names of sampled processes and threads.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_PERF_PERF_NAMES_H
#define ORMA_PROBES_PERF_PERF_NAMES_H

#include "base/buf.h"
#include "base/map.h"
#include "probes/perf/perf_packets.h"
#include "probes/sightings.h"

struct orma_perf_names {
	struct orma_sightings *seen; /* borrowed; NULL = nothing is written */
	struct orma_sightings_listener listener;
	struct orma_perf_packets *packets; /* borrowed */
	int proc_fd;                       /* borrowed */
	struct orma_buf text;
	struct orma_map parents;    /* by pid, as in the written records */
	struct orma_packet *packet; /* the open one; NULL = none */
	struct orma_nested tree;
	size_t packet_bytes;  /* estimated */
	uint32_t state_count; /* the number of states of the sequence at the last delivery */
	bool has_written;
};

/* Begins to collect what the session sees. */
void orma_perf_names_init(struct orma_perf_names *names, struct orma_sightings *seen,
			  struct orma_perf_packets *packets, int proc_fd);
void orma_perf_names_done(struct orma_perf_names *names);
/* Passes what the session has seen to linux.process_stats, or writes it. Called while no packet is open. */
void orma_perf_names_deliver(struct orma_perf_names *names);

#endif
