/* SPDX-License-Identifier: Apache-2.0
 * thread_states.h - a row for each state of a thread, made when somebody asks for the first one.
 */
#ifndef ORMA_TRACE_THREAD_STATES_H
#define ORMA_TRACE_THREAD_STATES_H

#include "trace/processes.h"

/* A thread's last state. */
struct orma_thread_run {
	int64_t row;         /* -1 = none */
	int64_t ts;          /* that row's */
	int64_t state;       /* cell */
	int64_t blocked_row; /* where it blocked last; -1 = not known */
};

/* {.tables = ..., .processes = ...} is empty. */
struct orma_thread_states {
	struct orma_tables *tables;
	struct orma_processes *processes;
	int64_t running, runnable;       /* cells */
	struct orma_thread_run *threads; /* by utid */
	uint32_t thread_count;
	struct orma_table
		notes; /* all that rows of sched do not say; without columns until there is some */
	struct orma_extents extents; /* the notes' */
	bool is_direct; /* all that was noted has its rows, and what comes gets its own at once */
	int error;      /* made the rows useless */
};

void orma_thread_states_done(struct orma_thread_states *states);

/* The switch that began the last row of sched. */
struct orma_thread_switch {
	int64_t ts, ucpu, prev_utid, prev_state, next_utid;
	bool is_told; /* the row of sched before it on that CPU has the same thread and state */
};

/* All return 0 or a negative errno value. `flags` are the interrupt's, or -1. */
int orma_thread_states_switch(struct orma_thread_states *states,
			      const struct orma_thread_switch *event);
int orma_thread_states_waking(struct orma_thread_states *states, int64_t ts, int64_t utid,
			      int64_t waker_utid, int32_t flags);
int orma_thread_states_new_task(struct orma_thread_states *states, int64_t ts, int64_t utid,
				int64_t parent_utid);
int orma_thread_states_blocked(struct orma_thread_states *states, int64_t utid, int64_t io_wait,
			       int64_t function);

/* Makes the rows of all notes. It is called before rows are added to sched or thread_state by other ways. */
int orma_thread_states_apply(struct orma_thread_states *states);
/* The same when the trace is read, and the tables can be read then. */
int orma_thread_states_finish(struct orma_thread_states *states);
/* True when there are states that no row of sched has the time of. */
static inline bool orma_thread_states_has_notes(const struct orma_thread_states *states)
{
	return states->notes.columns != NULL;
}
/* The following need that call, too. `ucpu` is -1 unless the thread runs. */
int orma_thread_states_push(struct orma_thread_states *states, int64_t ts, int64_t utid,
			    int64_t state, int64_t ucpu, bool *ret_is_repeated);
int orma_thread_states_replace(struct orma_thread_states *states, int64_t utid, int64_t state);
/* Returns the state that a thread is in, or NULL. */
int64_t orma_thread_states_of(const struct orma_thread_states *states, int64_t utid);

#endif
