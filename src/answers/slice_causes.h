/* SPDX-License-Identifier: Apache-2.0
 * slice_causes.h - what a slice spent its time with: running, waiting for a CPU, or blocked, on what and until which thread
 * woke it.
 */
#ifndef ORMA_ANSWERS_SLICE_CAUSES_H
#define ORMA_ANSWERS_SLICE_CAUSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct orma_trace_database;

enum { ORMA_CAUSE_WAKERS_MAX = 32 };

/* Times are parts of the slice's length. The kernel tells the states of threads only when it records scheduling. */
struct orma_slice_cause {
	uint64_t row; /* the slice's; set by the caller, all else is 0 */
	int64_t ts, length_ns;
	int64_t utid; /* -1 = the slice is on no thread's track */
	int64_t upid; /* the thread's, else the track's; -1 = none */
	bool has_states;
	int64_t running_ns, runnable_ns, asleep_ns;
	int64_t uninterruptible_ns, io_ns; /* io is a part of uninterruptible */
	int64_t blocked_function; /* a cell: where it blocked longest, as the kernel says */
	int64_t blocked_function_ns;
	int64_t waker_utid; /* the thread that ended most of what it was blocked; -1 = not known */
	int64_t woken_ns;   /* that much */
	int64_t child_name; /* a cell: the name below it that took longest in all; NULL = none */
	int64_t child_ns;
	uint64_t child_count; /* slices of that name, right below it */
	/* The rest is used while states are read. */
	int64_t last_blocked_ns;
	struct orma_cause_part {
		int64_t key, ns;
	} wakers[ORMA_CAUSE_WAKERS_MAX], functions[ORMA_CAUSE_WAKERS_MAX];
};

/* Fills the causes of some slices. 0 or -ENOMEM. */
int orma_slice_causes_find(struct orma_trace_database *database, struct orma_slice_cause *causes,
			   size_t count);

#endif
