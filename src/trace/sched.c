/* SPDX-License-Identifier: Apache-2.0
 * sched.c - a row for each time a task runs on a CPU; thread_states.c makes the states of threads.
 *
 * Rows are added when something begins and get their duration when it ends, which for scheduling is soon. The end
 * needs cells of the last row of each CPU, so these are also kept beside the table.
 */
#include "trace/sched.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"
#include "trace/task_state.h"

void orma_sched_done(struct orma_sched *sched)
{
	orma_base_free(sched->cpus);
	orma_thread_states_done(&sched->states);
	sched->cpus = NULL;
	sched->cpu_count = 0;
}

static int64_t read_state(struct orma_sched *sched, int64_t prev_state)
{
	char letters[ORMA_TASK_STATE_BYTES];
	unsigned size = orma_task_state_letters(prev_state, sched->kernel_version, letters);
	return size > 0 ? orma_tables_string(sched->tables, (struct orma_str){letters, size})
			: ORMA_CELL_NULL;
}

/* Makes the cells of states, or of another version of the kernel; or finds a state that is not among them. */
static int64_t find_state(struct orma_sched *sched, int64_t prev_state)
{
	struct orma_thread_states *states = &sched->states;
	if (!states->running) {
		states->running = orma_tables_string(sched->tables, ORMA_STR("Running"));
		states->runnable = orma_tables_string(sched->tables, ORMA_STR("R"));
	}
	if (sched->states_version != sched->kernel_version) {
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

static inline int64_t state_cell(struct orma_sched *sched, int64_t prev_state)
{
	bool is_known = sched->states_version == sched->kernel_version && sched->states.running &&
			(uint64_t)prev_state < ORMA_SCHED_RAW_STATES &&
			sched->state_cells[prev_state] > 0;
	return ORMA_LIKELY(is_known) ? sched->state_cells[prev_state]
				     : find_state(sched, prev_state);
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
	struct orma_column *columns = table->columns;
	cpu->row = (int64_t)orma_store_table_rows(table);
	cpu->ts = ts;
	cpu->row_utid = utid;
	/* Column by column, without a loop over all: this is a good part of the work for a switch. */
	int r = orma_store_column_append(&columns[ORMA_SCHED_TS], ts);
	if (r == 0)
		r = orma_store_column_append(&columns[ORMA_SCHED_DUR], -1);
	if (r == 0)
		r = orma_store_column_append(&columns[ORMA_SCHED_UTID], utid);
	if (r == 0)
		r = orma_store_column_append(&columns[ORMA_SCHED_END_STATE], ORMA_CELL_NULL);
	if (r == 0)
		r = orma_store_column_append(&columns[ORMA_SCHED_PRIORITY], prio);
	if (r == 0)
		r = orma_store_column_append(&columns[ORMA_SCHED_UCPU], cpu->ucpu);
	_Static_assert(ORMA_SCHED_COLUMNS == 6, "each column gets a cell");
	return r;
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
	bool is_told = is_match && cpu->row >= 0 && cpu->row_utid == prev;
	cpu->tid = event->next_tid;
	cpu->utid = next;
	cpu->prio = event->next_prio;
	/* The first compact switch of a CPU does not say which thread stopped, only which one runs. */
	sched->counts[ORMA_SCHED_SWITCHES_SKIPPED] += is_first;
	if (r < 0 || is_first || event->is_early)
		return r;
	r = open_slice(sched, cpu, event->ts, next, event->next_prio);
	if (r == 0)
		r = orma_thread_states_switch(
			&sched->states, &(struct orma_thread_switch){event->ts, cpu->ucpu, prev,
								     state, next, is_told});
	return r < 0 ? r : is_told && !sched->states.is_direct;
}

int64_t orma_sched_running(const struct orma_sched *sched, uint32_t machine_idx, uint32_t cpu)
{
	uint64_t key = (uint64_t)machine_idx * ORMA_CPUS_PER_MACHINE + cpu;
	return key < sched->cpu_count ? sched->cpus[key].utid : -1;
}

int orma_sched_waking(struct orma_sched *sched, int64_t ts, uint32_t machine_idx, int64_t tid,
		      int64_t waker_utid, int32_t flags)
{
	int64_t utid = orma_processes_thread(sched->processes, machine_idx, tid);
	state_cell(sched, 0);
	return utid < 0 ? (int)utid
			: orma_thread_states_waking(&sched->states, ts, utid, waker_utid, flags);
}

int orma_sched_new_task(struct orma_sched *sched, int64_t ts, int64_t utid, int64_t parent_utid)
{
	state_cell(sched, 0);
	return orma_thread_states_new_task(&sched->states, ts, utid, parent_utid);
}

int orma_sched_blocked_reason(struct orma_sched *sched, int64_t utid, int64_t io_wait,
			      int64_t function)
{
	return utid < 0 ? 0 : orma_thread_states_blocked(&sched->states, utid, io_wait, function);
}

int64_t orma_sched_begin_slice(struct orma_sched *sched, int64_t ts, uint32_t machine_idx,
			       uint32_t cpu, int64_t utid, int32_t prio)
{
	struct orma_cpu_state state = {.ucpu = orma_cpus_get(sched->tables, machine_idx, cpu)};
	int r = orma_sched_apply_states(sched);
	if (r == 0)
		r = state.ucpu < 0 ? (int)state.ucpu : open_slice(sched, &state, ts, utid, prio);
	return r < 0 ? r : state.row;
}

int orma_sched_end_slice(struct orma_sched *sched, int64_t row, int64_t dur, int64_t state)
{
	return close_slice(sched, &(struct orma_cpu_state){.row = row}, dur, state);
}

int orma_sched_push_state(struct orma_sched *sched, int64_t ts, int64_t utid, int64_t state,
			  int64_t cpu, bool *ret_is_repeated)
{
	uint32_t machine_idx = sched->processes->threads[utid].machine_idx;
	int64_t ucpu = cpu < 0 ? -1 : orma_cpus_get(sched->tables, machine_idx, (uint32_t)cpu);
	state_cell(sched, 0);
	int r = orma_sched_apply_states(sched);
	return r < 0 ? r
		     : orma_thread_states_push(&sched->states, ts, utid, state, ucpu,
					       ret_is_repeated);
}

int orma_sched_replace_state(struct orma_sched *sched, int64_t utid, int64_t state)
{
	int r = orma_sched_apply_states(sched);
	return r < 0 ? r : orma_thread_states_replace(&sched->states, utid, state);
}

int64_t orma_sched_state_of(struct orma_sched *sched, int64_t utid)
{
	return orma_sched_apply_states(sched) < 0 ? ORMA_CELL_NULL
						  : orma_thread_states_of(&sched->states, utid);
}
