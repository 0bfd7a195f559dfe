/* SPDX-License-Identifier: Apache-2.0
 * sched.c - a row for each time a task runs on a CPU, and a row for each state of a thread.
 *
 * Rows are added when something begins and get their duration when it ends, which for scheduling is soon. The end
 * needs cells of the last row of each CPU and thread, so these are also kept beside the tables. The idle task runs on CPUs
 * but is not a thread with states.
 */
#include "trace/sched.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"
#include "trace/task_state.h"

enum { FLAG_HARDIRQ = 0x08, FLAG_SOFTIRQ = 0x10, NO_FLAGS = -1 };

void orma_sched_done(struct orma_sched *sched)
{
	orma_base_free(sched->cpus);
	orma_base_free(sched->threads);
	sched->cpus = NULL;
	sched->threads = NULL;
	sched->cpu_count = sched->thread_count = 0;
}

static int64_t read_state(struct orma_sched *sched, int64_t prev_state)
{
	char letters[ORMA_TASK_STATE_BYTES];
	unsigned size = orma_task_state_letters(prev_state, sched->kernel_version, letters);
	return size > 0 ? orma_tables_string(sched->tables, (struct orma_str){letters, size})
			: ORMA_CELL_NULL;
}

static int64_t state_cell(struct orma_sched *sched, int64_t prev_state)
{
	if (ORMA_UNLIKELY(!sched->running)) {
		sched->running = orma_tables_string(sched->tables, ORMA_STR("Running"));
		sched->runnable = orma_tables_string(sched->tables, ORMA_STR("R"));
	}
	if (ORMA_UNLIKELY(sched->states_version != sched->kernel_version)) {
		memset(sched->state_cells, 0, sizeof(sched->state_cells));
		sched->states_version = sched->kernel_version;
	}
	int64_t cell;
	if (prev_state >= 0 && prev_state < ORMA_SCHED_RAW_STATES) {
		int64_t *known = &sched->state_cells[prev_state];
		if (*known == 0)
			*known = read_state(sched, prev_state);
		cell = *known;
	} else {
		cell = read_state(sched, prev_state);
	}
	sched->counts[ORMA_SCHED_BAD_STATES] += cell == ORMA_CELL_NULL;
	return cell;
}

/* 0, or a negative errno value: -ERANGE for a CPU that can't be. */
static int find_cpu(struct orma_sched *sched, uint32_t machine_idx, uint32_t cpu,
		    struct orma_cpu_state **ret)
{
	uint64_t key = (uint64_t)machine_idx * ORMA_CPUS_PER_MACHINE + cpu;
	if (key < sched->cpu_count && cpu < ORMA_CPUS_PER_MACHINE && sched->cpus[key].ucpu >= 0) {
		*ret = &sched->cpus[key];
		return 0;
	}
	int64_t ucpu = orma_cpus_get(sched->tables, machine_idx, cpu);
	if (ucpu < 0)
		return (int)ucpu;
	uint32_t count = sched->cpu_count;
	int r = orma_store_grow(&sched->cpus, (uint64_t)ucpu + 1, &count, sizeof(*sched->cpus));
	if (r < 0)
		return r;
	for (; sched->cpu_count < count; sched->cpu_count++)
		sched->cpus[sched->cpu_count] =
			(struct orma_cpu_state){.row = -1, .ucpu = -1, .utid = -1};
	*ret = &sched->cpus[ucpu];
	(*ret)->ucpu = ucpu;
	return 0;
}

static int find_thread(struct orma_sched *sched, int64_t utid, struct orma_thread_run **ret)
{
	if (utid >= sched->thread_count) {
		uint32_t count = sched->thread_count;
		int r = orma_store_grow(&sched->threads, (uint64_t)utid + 1, &count,
					sizeof(*sched->threads));
		if (r < 0)
			return r;
		for (; sched->thread_count < count; sched->thread_count++)
			sched->threads[sched->thread_count] =
				(struct orma_thread_run){.row = -1, .blocked_row = -1};
	}
	*ret = &sched->threads[utid];
	return 0;
}

static int close_state(struct orma_sched *sched, const struct orma_thread_run *thread, int64_t ts)
{
	if (thread->row < 0)
		return 0;
	return orma_store_column_set(
		orma_tables_column(sched->tables, ORMA_TABLE_THREAD_STATE, ORMA_THREAD_STATE_DUR),
		(uint64_t)thread->row, ts - thread->ts);
}

struct new_state {
	int64_t ts, utid, state, ucpu, waker_utid;
	int32_t flags;
};

static int open_state(struct orma_sched *sched, const struct new_state *new)
{
	struct orma_table *table = &sched->tables->all[ORMA_TABLE_THREAD_STATE];
	uint32_t machine_idx = sched->processes->threads[new->utid].machine_idx;
	struct orma_thread_run *thread, *waker = NULL;
	bool has_waker = new->waker_utid >= 0;
	if (new->utid == sched->processes->machines[machine_idx].idle_utid)
		return 0;
	int r = has_waker ? find_thread(sched, new->waker_utid, &waker) : 0;
	bool is_waker_running =
		r == 0 && has_waker && waker->row >= 0 && waker->state == sched->running;
	int64_t cells[ORMA_THREAD_STATE_COLUMNS] = {
		[ORMA_THREAD_STATE_TS] = new->ts,
		[ORMA_THREAD_STATE_DUR] = -1,
		[ORMA_THREAD_STATE_UTID] = new->utid,
		[ORMA_THREAD_STATE_STATE] = new->state,
		[ORMA_THREAD_STATE_IO_WAIT] = ORMA_CELL_NULL,
		[ORMA_THREAD_STATE_BLOCKED_FUNCTION] = ORMA_CELL_NULL,
		[ORMA_THREAD_STATE_WAKER_UTID] = has_waker ? new->waker_utid : ORMA_CELL_NULL,
		[ORMA_THREAD_STATE_WAKER_ID] = is_waker_running ? waker->row : ORMA_CELL_NULL,
		[ORMA_THREAD_STATE_IRQ_CONTEXT] =
			new->flags == NO_FLAGS ? ORMA_CELL_NULL
					       : (new->flags &(FLAG_HARDIRQ | FLAG_SOFTIRQ)) != 0,
		[ORMA_THREAD_STATE_UCPU] = new->ucpu >= 0 ? new->ucpu : ORMA_CELL_NULL,
	};
	/* The waker's entry is read above, because this may move it. */
	if (r == 0)
		r = find_thread(sched, new->utid, &thread);
	int64_t row = (int64_t)orma_store_table_rows(table);
	if (r == 0)
		r = orma_store_table_append(table, cells);
	if (r != 0)
		return r;
	bool is_blocked = new->state != sched->running &&new->state != sched->runnable;
	if (is_blocked)
		thread->blocked_row = row;
	else if (new->state == sched->running)
		thread->blocked_row = -1;
	thread->row = row;
	thread->ts = new->ts;
	thread->state = new->state;
	return 0;
}

/* One thread stops and another begins. */
static int switch_states(struct orma_sched *sched, int64_t ts, int64_t ucpu, int64_t prev_utid,
			 int64_t prev_state, int64_t next_utid)
{
	struct orma_thread_run *prev, *next;
	int r = find_thread(sched, prev_utid, &prev);
	/* If the thread did not run, its switch was lost, and when its last state ended is not known. */
	if (r == 0 && (prev->row < 0 || prev->state == sched->running))
		r = close_state(sched, prev, ts);
	if (r == 0)
		r = open_state(sched,
			       &(struct new_state){ts, prev_utid, prev_state, -1, -1, NO_FLAGS});
	if (r == 0)
		r = find_thread(sched, next_utid, &next);
	if (r == 0)
		r = close_state(sched, next, ts);
	if (r == 0)
		r = open_state(sched, &(struct new_state){ts, next_utid, sched->running, ucpu, -1,
							  NO_FLAGS});
	return r;
}

static int close_slice(struct orma_sched *sched, const struct orma_cpu_state *cpu, int64_t ts,
		       int64_t end_state)
{
	int r = orma_store_column_set(
		orma_tables_column(sched->tables, ORMA_TABLE_SCHED, ORMA_SCHED_DUR),
		(uint64_t)cpu->row, ts - cpu->ts);
	if (r < 0)
		return r;
	return orma_store_column_set(
		orma_tables_column(sched->tables, ORMA_TABLE_SCHED, ORMA_SCHED_END_STATE),
		(uint64_t)cpu->row, end_state);
}

static int open_slice(struct orma_sched *sched, struct orma_cpu_state *cpu, int64_t ts,
		      int64_t utid, int32_t prio)
{
	struct orma_table *table = &sched->tables->all[ORMA_TABLE_SCHED];
	int64_t cells[ORMA_SCHED_COLUMNS] = {
		[ORMA_SCHED_TS] = ts,         [ORMA_SCHED_DUR] = -1,
		[ORMA_SCHED_UTID] = utid,     [ORMA_SCHED_END_STATE] = ORMA_CELL_NULL,
		[ORMA_SCHED_PRIORITY] = prio, [ORMA_SCHED_UCPU] = cpu->ucpu};
	cpu->row = (int64_t)orma_store_table_rows(table);
	cpu->ts = ts;
	return orma_store_table_append(table, cells);
}

int orma_sched_switch(struct orma_sched *sched, const struct orma_sched_switch *event)
{
	struct orma_cpu_state *cpu = NULL;
	int r = find_cpu(sched, event->machine_idx, event->cpu, &cpu);
	if (r < 0) {
		sched->counts[ORMA_SCHED_BAD_CPUS] += r == -ERANGE;
		return r == -ERANGE ? 0 : r;
	}
	int64_t next = orma_processes_thread(sched->processes, event->machine_idx, event->next_tid);
	if (next < 0)
		return (int)next;
	r = orma_processes_name_thread(sched->processes, next, event->next_comm,
				       ORMA_THREAD_NAME_FTRACE);
	int64_t state = state_cell(sched, event->prev_state);
	int64_t prev = cpu->utid;
	bool is_first = event->is_compact && prev < 0;
	bool is_match = event->is_compact || event->prev_tid == cpu->tid;
	if (r == 0 && !is_first && cpu->row >= 0) {
		sched->counts[ORMA_SCHED_MISMATCHED_TIDS] += !is_match;
		r = is_match ? close_slice(sched, cpu, event->ts, state) : 0;
	}
	if (r == 0 && !event->is_compact) {
		prev = orma_processes_thread(sched->processes, event->machine_idx, event->prev_tid);
		r = prev < 0 ? (int)prev
			     : orma_processes_name_thread(sched->processes, prev, event->prev_comm,
							  ORMA_THREAD_NAME_FTRACE);
	}
	cpu->tid = event->next_tid;
	cpu->utid = next;
	cpu->prio = event->next_prio;
	/* The first compact switch of a CPU does not say which thread stopped, only which one runs. */
	sched->counts[ORMA_SCHED_SWITCHES_SKIPPED] += is_first;
	if (r < 0 || is_first || event->is_early)
		return r;
	r = open_slice(sched, cpu, event->ts, next, event->next_prio);
	return r < 0 ? r : switch_states(sched, event->ts, cpu->ucpu, prev, state, next);
}

int64_t orma_sched_running(const struct orma_sched *sched, uint32_t machine_idx, uint32_t cpu)
{
	uint64_t key = (uint64_t)machine_idx * ORMA_CPUS_PER_MACHINE + cpu;
	return key < sched->cpu_count ? sched->cpus[key].utid : -1;
}

static int add_spurious(struct orma_sched *sched, int64_t ts, const struct orma_thread_run *thread,
			int64_t utid, int64_t waker_utid, int32_t flags)
{
	int64_t cells[ORMA_SPURIOUS_WAKEUP_COLUMNS] = {
		[ORMA_SPURIOUS_WAKEUP_TS] = ts,
		[ORMA_SPURIOUS_WAKEUP_THREAD_STATE_ID] = thread->row,
		[ORMA_SPURIOUS_WAKEUP_IRQ_CONTEXT] =
			flags == NO_FLAGS ? ORMA_CELL_NULL
					  : (flags & (FLAG_HARDIRQ | FLAG_SOFTIRQ)) != 0,
		[ORMA_SPURIOUS_WAKEUP_UTID] = utid,
		[ORMA_SPURIOUS_WAKEUP_WAKER_UTID] = waker_utid};
	return orma_store_table_append(&sched->tables->all[ORMA_TABLE_SPURIOUS_WAKEUP], cells);
}

int orma_sched_waking(struct orma_sched *sched, int64_t ts, uint32_t machine_idx, int64_t tid,
		      int64_t waker_utid, int32_t flags)
{
	struct orma_thread_run *thread;
	int64_t utid = orma_processes_thread(sched->processes, machine_idx, tid);
	state_cell(sched, 0);
	int r = utid < 0 ? (int)utid : find_thread(sched, utid, &thread);
	if (r < 0)
		return r;
	if (thread->row >= 0 &&
	    (thread->state == sched->running || thread->state == sched->runnable))
		return add_spurious(sched, ts, thread, utid, waker_utid, flags);
	r = close_state(sched, thread, ts);
	if (r < 0)
		return r;
	return open_state(sched,
			  &(struct new_state){ts, utid, sched->runnable, -1, waker_utid, flags});
}

int orma_sched_new_task(struct orma_sched *sched, int64_t ts, int64_t utid, int64_t parent_utid)
{
	state_cell(sched, 0);
	return open_state(sched,
			  &(struct new_state){ts, utid, sched->runnable, -1, parent_utid, 0});
}

int orma_sched_blocked_reason(struct orma_sched *sched, int64_t utid, int64_t io_wait,
			      int64_t function)
{
	if (utid < 0 || utid >= sched->thread_count || sched->threads[utid].blocked_row < 0)
		return 0;
	uint64_t row = (uint64_t)sched->threads[utid].blocked_row;
	int r = 0;
	if (io_wait != ORMA_CELL_NULL)
		r = orma_store_column_set(orma_tables_column(sched->tables, ORMA_TABLE_THREAD_STATE,
							     ORMA_THREAD_STATE_IO_WAIT),
					  row, io_wait);
	if (r == 0 && function != ORMA_CELL_NULL)
		r = orma_store_column_set(orma_tables_column(sched->tables, ORMA_TABLE_THREAD_STATE,
							     ORMA_THREAD_STATE_BLOCKED_FUNCTION),
					  row, function);
	return r;
}

int64_t orma_sched_begin_slice(struct orma_sched *sched, int64_t ts, uint32_t machine_idx,
			       uint32_t cpu, int64_t utid, int32_t prio)
{
	struct orma_cpu_state state = {.ucpu = orma_cpus_get(sched->tables, machine_idx, cpu)};
	int r = state.ucpu < 0 ? (int)state.ucpu : open_slice(sched, &state, ts, utid, prio);
	return r < 0 ? r : state.row;
}

int orma_sched_end_slice(struct orma_sched *sched, int64_t row, int64_t dur, int64_t state)
{
	return close_slice(sched, &(struct orma_cpu_state){.row = row}, dur, state);
}

int orma_sched_push_state(struct orma_sched *sched, int64_t ts, int64_t utid, int64_t state,
			  int64_t cpu, bool *ret_is_repeated)
{
	struct orma_thread_run *thread;
	uint32_t machine_idx = sched->processes->threads[utid].machine_idx;
	int64_t ucpu = cpu < 0 ? -1 : orma_cpus_get(sched->tables, machine_idx, (uint32_t)cpu);
	state_cell(sched, 0);
	int r = find_thread(sched, utid, &thread);
	if (r < 0)
		return r;
	*ret_is_repeated = thread->row >= 0 && thread->ts == ts;
	r = close_state(sched, thread, ts);
	return r < 0 ? r
		     : open_state(sched, &(struct new_state){ts, utid, state, ucpu, -1, NO_FLAGS});
}

int orma_sched_replace_state(struct orma_sched *sched, int64_t utid, int64_t state)
{
	if (utid >= sched->thread_count || sched->threads[utid].row < 0)
		return 0;
	sched->threads[utid].state = state;
	return orma_store_column_set(
		orma_tables_column(sched->tables, ORMA_TABLE_THREAD_STATE, ORMA_THREAD_STATE_STATE),
		(uint64_t)sched->threads[utid].row, state);
}

int64_t orma_sched_state_of(const struct orma_sched *sched, int64_t utid)
{
	return utid < sched->thread_count && sched->threads[utid].row >= 0
		       ? sched->threads[utid].state
		       : ORMA_CELL_NULL;
}
