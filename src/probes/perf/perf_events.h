/* SPDX-License-Identifier: Apache-2.0
 * perf_events.h - the open events of an instance, and its records in the order of time.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_PERF_PERF_EVENTS_H
#define ORMA_PROBES_PERF_PERF_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/loop.h"
#include "probes/perf/perf_attr.h"
#include "probes/perf/perf_config.h"
#include "probes/perf/perf_kernel.h"
#include "probes/perf/perf_parse.h"
#include "probes/perf/perf_ring.h"

#define ORMA_PERF_RECORD_BYTES 1024u /* the most that a sample has beside the copy of its stack */

#define ORMA_PERF_NO_RECORD UINT64_MAX

/* The events of one CPU, and their ring. */
struct orma_perf_cpu {
	struct orma_watch watch;
	struct orma_perf_events *events;
	uint32_t cpu;
	int32_t *fds; /* the first is the leader, or owns the ring */
	size_t fd_count, fd_capacity;
	void *memory;
	size_t memory_bytes;
	struct orma_perf_ring ring;
	/* the most waits that a sample can represent; further ones were lost */
	uint64_t period_max;
	/* waits whose records were read, and an estimate of those that were lost */
	uint64_t wait_count;
	uint64_t next_time; /* time of the first record, or ORMA_PERF_NO_RECORD */
};

struct orma_perf_events {
	const struct orma_perf_kernel *kernel;
	const struct orma_perf_config *config;
	struct orma_perf_layout layout;
	struct orma_perf_cpu *cpus;
	size_t cpu_count;
	bool is_per_task;
	unsigned can; /* ORMA_PERF_CAN_... that the kernel has granted */
	uint32_t stack_bytes;
	size_t ring_bytes;  /* for each CPU */
	size_t task_count;  /* tasks that were opened one by one */
	uint64_t bad_count; /* invalid records */
	void (*on_ready)(void *ctx);
	void *ctx;
};

struct orma_perf_open {
	const struct orma_perf_kernel *kernel;
	const struct orma_perf_config *config;
	struct orma_perf_paths paths;
	const uint32_t *cpus; /* online and selected */
	size_t cpu_count;
	/* The tasks to open one by one, with is_per_task. */
	const uint32_t *tids;
	size_t tid_count;
	bool is_per_task; /* single tasks are watched, not whole CPUs */
	bool may_watch;   /* the instance may replace the tasks by whole CPUs later */
	uint32_t stack_bytes;
	struct orma_loop *loop;      /* NULL = nothing is watched */
	void (*on_ready)(void *ctx); /* called when a ring is a quarter full */
	void *ctx;
};

/* Opens the events, disabled. `events` must not move afterwards. 0, -EACCES (the kernel refuses), -ENOENT
 * (there is no such event), -ENODATA (no task is left) or another -errno. */
int orma_perf_events_open(const struct orma_perf_open *open, struct orma_perf_events *events);
/* True if this user may watch whole CPUs. */
bool orma_perf_events_may_watch(const struct orma_perf_open *open);
void orma_perf_events_close(struct orma_perf_events *events);
void orma_perf_events_enable(struct orma_perf_events *events);
void orma_perf_events_disable(struct orma_perf_events *events);

/* Reads how far the kernel has written each ring. */
void orma_perf_events_refresh(struct orma_perf_events *events);
/* Finds the oldest record of all CPUs that is not newer than the limit. False if there is none. The record is
 * valid until orma_perf_events_advance(). */
bool orma_perf_events_next(struct orma_perf_events *events, uint64_t limit_ns,
			   struct orma_perf_record *ret, struct orma_perf_cpu **ret_cpu);
void orma_perf_events_advance(struct orma_perf_events *events, struct orma_perf_cpu *cpu);
/* True if more than half of a ring was full at the last refresh, not counting what has been read since. */
bool orma_perf_events_are_filling(const struct orma_perf_events *events);
/* Gives the room of the records that were read back to the kernel. */
void orma_perf_events_release(struct orma_perf_events *events);
/* Reads the counts of the timebase and of the followers on a CPU. Returns how many, or -errno. */
int orma_perf_events_read(struct orma_perf_events *events, const struct orma_perf_cpu *cpu,
			  uint64_t *ret_counts, size_t max);

#endif
