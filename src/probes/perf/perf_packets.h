/* SPDX-License-Identifier: Apache-2.0
 * perf_packets.h - the packets of linux.perf.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_PERF_PERF_PACKETS_H
#define ORMA_PROBES_PERF_PERF_PACKETS_H

#include <orma/data_source.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "probes/perf/perf_config.h"
#include "probes/perf/perf_stack.h"

struct orma_perf_packets {
	struct orma_data_source *source;
	uint32_t idx; /* the instance's number */
	const struct orma_perf_config *config;
	uint32_t chosen_shard;
	struct orma_perf_stacks *stacks; /* borrowed; NULL = there are no call stacks */
	struct orma_buf defaults;        /* the encoded TracePacketDefaults */
	bool must_clear;      /* the next packet tells the reader to forget what it knows */
	uint32_t state_count; /* states that have begun */
};

/* A sample or a wait, without its stack. */
struct orma_perf_fact {
	uint64_t time; /* on the clock of the configuration */
	uint32_t cpu, pid, tid;
	uint32_t mode; /* enum orma_pb_profiling_cpu_mode */
	uint64_t counts[1 + ORMA_PERF_FOLLOWERS_MAX];
	size_t count_count;
	uint64_t wait_count; /* the number of waits that this one represents, with itself */
};

/* 0 or -ENOMEM. */
int orma_perf_packets_init(struct orma_perf_packets *packets, struct orma_data_source *source,
			   uint32_t idx, const struct orma_perf_config *config,
			   uint32_t chosen_shard, struct orma_perf_stacks *stacks);
void orma_perf_packets_done(struct orma_perf_packets *packets);
/* Begins a packet of the sequence, for the caller to fill and end. NULL: the instance is not started. */
struct orma_packet *orma_perf_packets_begin(struct orma_perf_packets *packets, uint64_t time,
					    uint32_t clock_id);
/* Writes a sample. `stack` may be NULL. */
void orma_perf_packets_sample(struct orma_perf_packets *packets, const struct orma_perf_fact *fact,
			      const struct orma_perf_stack *stack);
/* Writes that there was a sample of a process out of scope. */
void orma_perf_packets_skipped(struct orma_perf_packets *packets,
			       const struct orma_perf_fact *fact);
/* Writes the counts of a CPU, which were read at this time on CLOCK_BOOTTIME. */
void orma_perf_packets_counts(struct orma_perf_packets *packets, const struct orma_perf_fact *fact);
void orma_perf_packets_lost(struct orma_perf_packets *packets, uint32_t cpu, uint64_t count);
/* Writes that the instance ends because the process uses too much memory. */
void orma_perf_packets_guardrail(struct orma_perf_packets *packets);
/* Writes that a thread waited from fact->time on, for this time. The wait weighs as much as all waits that it
 * represents. */
void orma_perf_packets_wait(struct orma_perf_packets *packets, const struct orma_perf_fact *fact,
			    uint64_t duration_ns, const struct orma_perf_stack *stack);

#endif
