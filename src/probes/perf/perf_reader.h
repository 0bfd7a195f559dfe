/* SPDX-License-Identifier: Apache-2.0
 * perf_reader.h - from the kernel's records to packets.
 */
#ifndef ORMA_PROBES_PERF_PERF_READER_H
#define ORMA_PROBES_PERF_PERF_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "probes/perf/perf_events.h"
#include "probes/perf/perf_packets.h"
#include "probes/perf/perf_processes.h"
#include "probes/perf/perf_stack.h"
#include "probes/perf/perf_waits.h"

/* The counts of a CPU so far. */
struct orma_perf_cpu_state {
	uint64_t total;      /* sum of the periods of samples, when the counter is not read */
	uint64_t skipped_ns; /* time of the last packet about a sample out of scope */
	/* The counts of the last sample, and those of events that were replaced. */
	uint64_t last[1 + ORMA_PERF_FOLLOWERS_MAX], base[1 + ORMA_PERF_FOLLOWERS_MAX];
};

struct orma_perf_reader {
	const struct orma_perf_config *config; /* all borrowed */
	struct orma_perf_events *events;
	struct orma_perf_processes *processes;
	struct orma_perf_stacks *stacks;
	struct orma_perf_packets *packets;
	struct orma_perf_waits waits;
	struct orma_perf_cpu_state *cpus; /* by number of the CPU */
	uint32_t cpu_limit;
	uint32_t own_pid; /* its samples are left out; 0 = they are not */
	/* Samples out of scope are not mentioned: the user has named processes, and their CPUs are
	 * watched only to see their children. */
	bool hides_others;
	/* Files that are being read are not waited for. Then is_stalled says after a run that the oldest
	 * record needs one; run again when orma_unwind_files_event_fd() is readable. */
	bool never_waits, is_stalled;
	uint64_t sample_count, skipped_count, lost_count, cut_count;
	uint64_t late_count;      /* stacks that end early because a file was not read in time */
	bool wants_larger_stacks; /* too many stacks of a process were cut */
};

/* `cpu_limit` is above all numbers of CPUs. 0 or -ENOMEM. */
int orma_perf_reader_init(struct orma_perf_reader *reader, uint32_t cpu_limit);
void orma_perf_reader_done(struct orma_perf_reader *reader);
/* Writes what the rings have up to `limit_ns` on the session's clock. Stops early, and returns true,
 * when `is_over` says so. */
bool orma_perf_reader_run(struct orma_perf_reader *reader, uint64_t limit_ns,
			  bool (*is_over)(void *ctx), void *ctx);
/* The events were replaced by others, which count from 0. */
void orma_perf_reader_set_events(struct orma_perf_reader *reader, struct orma_perf_events *events);
/* Writes the counts of all CPUs. */
void orma_perf_reader_poll(struct orma_perf_reader *reader, uint64_t now_ns);

#endif
