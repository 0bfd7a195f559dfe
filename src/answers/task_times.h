/* SPDX-License-Identifier: Apache-2.0
 * task_times.h - how long each thread ran, and how long it waited for a CPU, from the kernel's scheduling events.
 */
#ifndef ORMA_ANSWERS_TASK_TIMES_H
#define ORMA_ANSWERS_TASK_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answers/sample.h"

struct orma_trace_database;

struct orma_task_time {
	int64_t running_ns, runnable_ns, max_delay_ns;
	uint64_t runs; /* how often it got a CPU */
};

/* A time during which a thread could have run. */
struct orma_sched_delay {
	uint64_t row; /* a row of thread_state */
	int64_t ts, length_ns, utid;
	int64_t ucpu;       /* where it ran then; -1 = not known */
	int64_t other_utid; /* ran there longest meanwhile; -1 = not known */
	int64_t other_ns;
	bool is_preempted; /* it ran before, and was not woken */
};

enum { ORMA_DELAYS_MAX = 100 };

/* {0} is empty. */
struct orma_task_times {
	struct orma_task_time *threads; /* by utid */
	size_t thread_count;
	struct orma_sample delays;
	int64_t busy_ns;          /* the sum for all CPUs, without idle tasks */
	int64_t delay_ns;         /* all delays */
	uint64_t switches;        /* 0 = the trace has no scheduling */
	uint64_t cpus;            /* on which something ran */
	int64_t first_ns, end_ns; /* the time that scheduling was recorded */
	struct orma_sched_delay longest[ORMA_DELAYS_MAX]; /* the longest first */
	size_t longest_count;
};

/* Keeps at most `longest` delays. 0 or -ENOMEM; `ret` is to be given to done() in any case. */
int orma_task_times_read(struct orma_trace_database *database, size_t longest,
			 struct orma_task_times *ret);
void orma_task_times_done(struct orma_task_times *times);

#endif
