/* SPDX-License-Identifier: Apache-2.0
 * perf_reader.h - from the kernel's records to packets.
 *
 * Threads: the loop's thread calls all functions.
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

/* The state of a CPU. */
struct orma_perf_cpu_state {
	uint64_t total; /* sum of the periods of its samples; used if the counter is not read */
	uint64_t skipped_ns; /* time of the last packet about samples out of scope */
	/* The counts at the last sample, and the sums of events that were replaced. */
	uint64_t last[1 + ORMA_PERF_FOLLOWERS_MAX], base[1 + ORMA_PERF_FOLLOWERS_MAX];
};

struct orma_perf_reader {
	const struct orma_perf_config *config; /* all borrowed */
	struct orma_perf_events *events;
	struct orma_perf_processes *processes;
	struct orma_perf_stacks *stacks;
	struct orma_perf_packets *packets;
	struct orma_perf_waits waits;
	struct orma_perf_cpu_state *cpus; /* by the number of the CPU */
	uint32_t cpu_limit;
	uint32_t own_pid; /* its samples are left out; 0 = no process */
	/* Samples out of scope are not mentioned, because the user has named processes, and other processes
	 * are only watched to see new children. */
	bool hides_others;
	/* With never_waits, a run stops at a record that needs a file that is being read, and sets
	 * is_stalled. Run again when orma_unwind_files_event_fd() is readable. */
	bool never_waits, is_stalled;
	/* The limit of a run that was stopped by is_over(); 0 = there is none. */
	uint64_t turns_limit_ns;
	uint64_t sample_count, skipped_count, lost_count, cut_count;
	uint64_t late_count;      /* stacks that end early because a file was not read in time */
	bool wants_larger_stacks; /* too many stacks of a process were cut */
};

/* `cpu_limit` is larger than the number of each CPU. 0 or -ENOMEM. */
int orma_perf_reader_init(struct orma_perf_reader *reader, uint32_t cpu_limit);
void orma_perf_reader_done(struct orma_perf_reader *reader);
/* Writes what the rings have up to `limit_ns` on the session's clock. Stops when `is_over` returns true, and
 * then returns true. The next call with `is_over` continues that run with the same limit. So a run ends even
 * if records come faster than they are read. */
bool orma_perf_reader_run(struct orma_perf_reader *reader, uint64_t limit_ns,
			  bool (*is_over)(void *ctx), void *ctx);
/* Reads other events from now on, which count from 0. */
void orma_perf_reader_set_events(struct orma_perf_reader *reader, struct orma_perf_events *events);
/* Writes the counts of all CPUs. */
void orma_perf_reader_poll(struct orma_perf_reader *reader, uint64_t now_ns);

#endif
