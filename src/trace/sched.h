/* SPDX-License-Identifier: Apache-2.0
 * sched.h - who ran on each CPU, and what each thread did, from switches and wakings in the order of time.
 */
#ifndef ORMA_TRACE_SCHED_H
#define ORMA_TRACE_SCHED_H

#include "trace/cpus.h"
#include "trace/thread_states.h"

enum orma_sched_count {
	ORMA_SCHED_SWITCHES_SKIPPED,
	ORMA_SCHED_WAKINGS_SKIPPED,
	ORMA_SCHED_MISMATCHED_TIDS,
	ORMA_SCHED_BAD_STATES,
	ORMA_SCHED_BAD_CPUS,
	ORMA_SCHED_COUNTS,
};

/* The task that runs on a CPU. */
struct orma_cpu_state {
	int64_t row;          /* its slice; -1 = none */
	int64_t ts, row_utid; /* that row's */
	int64_t ucpu;         /* -1 = not known */
	int64_t tid;
	int64_t utid; /* -1 = nothing known */
	int32_t prio;
};

enum { ORMA_SCHED_RAW_STATES = 1024 };

/* {.tables = ..., .processes = ..., .states = {...}} is empty. */
struct orma_sched {
	struct orma_tables *tables;
	struct orma_processes *processes;
	unsigned kernel_version;     /* major << 8 | minor; 0 = not known */
	struct orma_cpu_state *cpus; /* by ucpu */
	uint32_t cpu_count;
	struct orma_thread_states states;
	int64_t state_cells[ORMA_SCHED_RAW_STATES]; /* by prev_state; 0 = not asked for */
	unsigned states_version;                    /* the kernel's version that they are for */
	uint64_t counts[ORMA_SCHED_COUNTS];
};

void orma_sched_done(struct orma_sched *sched);

/* All return 0 or a negative errno value. Names are cells. A switch says what stopped; `is_compact` ones do not, and it is
 * what the switch before began. */
struct orma_sched_switch {
	int64_t ts;
	uint32_t machine_idx, cpu;
	int64_t prev_tid, prev_comm, prev_state;
	int64_t next_tid, next_comm;
	int32_t next_prio;
	bool is_compact;
	bool is_early; /* not all CPUs have data yet: it only says who runs */
};
/* Also returns 1: it began a row, and the row before on the CPU, which says so too, is of the thread that stopped. */
int orma_sched_switch(struct orma_sched *sched, const struct orma_sched_switch *event);
/* `flags` of the interrupt context, or -1 = not known. The waker is what runs on the CPU; -1 = not known. */
int orma_sched_waking(struct orma_sched *sched, int64_t ts, uint32_t machine_idx, int64_t tid,
		      int64_t waker_utid, int32_t flags);
int orma_sched_new_task(struct orma_sched *sched, int64_t ts, int64_t utid, int64_t parent_utid);
int orma_sched_blocked_reason(struct orma_sched *sched, int64_t utid, int64_t io_wait,
			      int64_t function);
/* The following are for kernels that say the state of one task at a time. A state is a cell. */
/* Makes the rows of states that were noted so far; what comes gets its own at once. */
static inline int orma_sched_apply_states(struct orma_sched *sched)
{
	return orma_thread_states_apply(&sched->states);
}
/* Begins the row of what runs on a CPU. Returns the row or a negative errno value: -ERANGE for a CPU that can't be. */
int64_t orma_sched_begin_slice(struct orma_sched *sched, int64_t ts, uint32_t machine_idx,
			       uint32_t cpu, int64_t utid, int32_t prio);
int orma_sched_end_slice(struct orma_sched *sched, int64_t row, int64_t dur, int64_t state);
/* Ends the thread's state and begins another; `cpu` is -1 unless it runs. `*ret_is_repeated`: both began at one time. */
int orma_sched_push_state(struct orma_sched *sched, int64_t ts, int64_t utid, int64_t state,
			  int64_t cpu, bool *ret_is_repeated);
/* Changes the state that the thread is in. */
int orma_sched_replace_state(struct orma_sched *sched, int64_t utid, int64_t state);
/* Returns the state that a thread is in, or NULL. */
int64_t orma_sched_state_of(struct orma_sched *sched, int64_t utid);
/* Returns the thread that runs on a CPU, or -1. */
int64_t orma_sched_running(const struct orma_sched *sched, uint32_t machine_idx, uint32_t cpu);

#endif
