/* SPDX-License-Identifier: Apache-2.0
 * processes.c - threads and processes as rows, and maps from the numbers that are in use to rows.
 *
 * The cells that lookups need are repeated in arrays by utid and upid, so that the tables are only written. The threads of
 * a tid that have not ended are a list, newest first: `newest` has its head, `older` its links. Usually it has one entry;
 * more when a tid was used again and nobody said that its thread had ended. Invariants: `live` has the first thread of that list whose
 * process is the one that its pid means now; a pid is in `pids` until its process ends or the pid is used again; an entry of `recent`
 * says what `live` says. Each switch asks for a thread, and few threads are asked for most. An entry of `found` says what a search
 * finds as long as `changes` is the same, because all that a search reads changes with it.
 */
#include "trace/processes.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"
#include "store/grow.h"

enum { SAME_TID_MAX = 256 }; /* threads of one number that are searched */

void orma_processes_done(struct orma_processes *processes)
{
	for (uint32_t i = 0; i < processes->machine_count; i++) {
		orma_base_map_done(&processes->machines[i].newest);
		orma_base_map_done(&processes->machines[i].live);
		orma_base_map_done(&processes->machines[i].pids);
	}
	orma_base_free(processes->machines);
	orma_base_free(processes->threads);
	orma_base_free(processes->processes);
	orma_base_free(processes->links);
	*processes = (struct orma_processes){.tables = processes->tables};
}

static int64_t row_in(const struct orma_map *map, int64_t number)
{
	return (int64_t)(uintptr_t)orma_base_map_get(map, (uint64_t)number) - 1;
}

/* Row -1 removes the number. */
static int set_row(struct orma_processes *processes, struct orma_map *map, int64_t number,
		   int64_t row)
{
	processes->changes++;
	if (row >= 0)
		return orma_base_map_put(map, (uint64_t)number, (void *)((uintptr_t)row + 1));
	orma_base_map_remove(map, (uint64_t)number);
	return 0;
}

/* Sets which thread a tid means. */
static int set_live(struct orma_processes *processes, uint32_t machine_idx, int64_t tid,
		    int64_t utid)
{
	/* Entries of other numbers go too, which does no harm. */
	processes->recent[(uint64_t)tid % ORMA_RECENT_THREADS].utid_plus_1 = 0;
	return set_row(processes, &processes->machines[machine_idx].live, tid, utid);
}

static int set_thread_cell(struct orma_processes *processes, int64_t utid, size_t column,
			   int64_t cell)
{
	return orma_store_column_set(
		orma_tables_column(processes->tables, ORMA_TABLE_THREAD, column), (uint64_t)utid,
		cell);
}

static int set_process_cell(struct orma_processes *processes, int64_t upid, size_t column,
			    int64_t cell)
{
	return orma_store_column_set(
		orma_tables_column(processes->tables, ORMA_TABLE_PROCESS, column), (uint64_t)upid,
		cell);
}

static int64_t get_cell(struct orma_processes *processes, enum orma_table_id table, int64_t row,
			size_t column)
{
	return orma_store_column_get(orma_tables_column(processes->tables, table, column),
				     (uint64_t)row);
}

static int64_t add_thread_row(struct orma_processes *processes, uint32_t machine_idx, int64_t ts,
			      int64_t tid)
{
	int r = orma_store_grow(&processes->threads, (uint64_t)processes->thread_count + 1,
				&processes->thread_capacity, sizeof(*processes->threads));
	int64_t cells[ORMA_THREAD_COLUMNS] = {[ORMA_THREAD_TID] = tid,
					      [ORMA_THREAD_NAME] = ORMA_CELL_NULL,
					      [ORMA_THREAD_START_TS] = ts,
					      [ORMA_THREAD_END_TS] = ORMA_CELL_NULL,
					      [ORMA_THREAD_UPID] = ORMA_CELL_NULL,
					      [ORMA_THREAD_IS_MAIN_THREAD] = ORMA_CELL_NULL,
					      [ORMA_THREAD_IS_IDLE] = 0,
					      [ORMA_THREAD_MACHINE_ID] = machine_idx,
					      [ORMA_THREAD_ARG_SET_ID] = ORMA_CELL_NULL};
	if (r == 0)
		r = orma_store_table_append(&processes->tables->all[ORMA_TABLE_THREAD], cells);
	if (r < 0)
		return r;
	processes->threads[processes->thread_count] =
		(struct orma_thread_info){.tid = tid,
					  .upid = -1,
					  .name = ORMA_CELL_NULL,
					  .older = -1,
					  .next_in_process = -1,
					  .machine_idx = machine_idx};
	return processes->thread_count++;
}

static int64_t add_process_row(struct orma_processes *processes, uint32_t machine_idx, int64_t pid)
{
	int r = orma_store_grow(&processes->processes, (uint64_t)processes->process_count + 1,
				&processes->process_capacity, sizeof(*processes->processes));
	int64_t cells[ORMA_PROCESS_COLUMNS];
	for (size_t i = 0; i < ORMA_PROCESS_COLUMNS; i++)
		cells[i] = ORMA_CELL_NULL;
	cells[ORMA_PROCESS_PID] = pid;
	cells[ORMA_PROCESS_MACHINE_ID] = machine_idx;
	if (r == 0)
		r = orma_store_table_append(&processes->tables->all[ORMA_TABLE_PROCESS], cells);
	if (r < 0)
		return r;
	processes->processes[processes->process_count] = (struct orma_process_info){
		.pid = pid, .first_thread = -1, .machine_idx = machine_idx};
	return processes->process_count++;
}

static bool is_alive(const struct orma_processes *processes, int64_t utid)
{
	const struct orma_thread_info *thread = &processes->threads[utid];
	if (thread->is_ended || thread->upid < 0)
		return !thread->is_ended;
	const struct orma_process_info *process = &processes->processes[thread->upid];
	int64_t current = row_in(&processes->machines[thread->machine_idx].pids, process->pid);
	return !process->is_ended && (current < 0 || current == thread->upid);
}

/* Finds again which thread a tid means. */
static int refresh_live(struct orma_processes *processes, uint32_t machine_idx, int64_t tid)
{
	struct orma_machine_processes *machine = &processes->machines[machine_idx];
	int64_t utid = row_in(&machine->newest, tid);
	while (utid >= 0 && !is_alive(processes, utid))
		utid = processes->threads[utid].older;
	return set_live(processes, machine_idx, tid, utid);
}

static int refresh_process(struct orma_processes *processes, int64_t upid)
{
	int r = 0;
	for (int64_t utid = processes->processes[upid].first_thread; utid >= 0 && r == 0;
	     utid = processes->threads[utid].next_in_process)
		r = refresh_live(processes, processes->threads[utid].machine_idx,
				 processes->threads[utid].tid);
	return r;
}

static int remove_from_list(struct orma_processes *processes, int64_t utid)
{
	struct orma_thread_info *thread = &processes->threads[utid];
	struct orma_map *newest = &processes->machines[thread->machine_idx].newest;
	int64_t at = row_in(newest, thread->tid);
	if (at == utid)
		return set_row(processes, newest, thread->tid, thread->older);
	for (; at >= 0; at = processes->threads[at].older)
		if (processes->threads[at].older == utid)
			processes->threads[at].older = thread->older;
	return 0;
}

static int put_first(struct orma_processes *processes, int64_t utid)
{
	struct orma_thread_info *thread = &processes->threads[utid];
	struct orma_machine_processes *machine = &processes->machines[thread->machine_idx];
	thread->older = row_in(&machine->newest, thread->tid);
	int r = set_row(processes, &machine->newest, thread->tid, utid);
	return r < 0 ? r : set_live(processes, thread->machine_idx, thread->tid, utid);
}

int64_t orma_processes_start_thread(struct orma_processes *processes, uint32_t machine_idx,
				    int64_t ts, int64_t tid)
{
	int64_t utid = add_thread_row(processes, machine_idx, ts, tid);
	int r = utid < 0 ? 0 : put_first(processes, utid);
	return r < 0 ? r : utid;
}

int64_t orma_processes_find_thread(const struct orma_processes *processes, uint32_t machine_idx,
				   int64_t tid)
{
	return row_in(&processes->machines[machine_idx].live, tid);
}

int64_t orma_processes_thread_search(struct orma_processes *processes, uint32_t machine_idx,
				     int64_t tid)
{
	int64_t utid = orma_processes_find_thread(processes, machine_idx, tid);
	if (utid < 0)
		utid = orma_processes_start_thread(processes, machine_idx, ORMA_TIME_UNKNOWN, tid);
	if (utid >= 0)
		processes->recent[(uint64_t)tid % ORMA_RECENT_THREADS] =
			(struct orma_recent_thread){tid, machine_idx, (uint32_t)utid + 1};
	return utid;
}

/* Returns the newest live thread with the tid that is of the process, or may be. */
static int64_t find_thread_of(const struct orma_processes *processes, uint32_t machine_idx,
			      int64_t tid, int64_t pid)
{
	int64_t utid = row_in(&processes->machines[machine_idx].newest, tid);
	for (int i = 0; utid >= 0 && i < SAME_TID_MAX; utid = processes->threads[utid].older, i++) {
		int64_t upid = processes->threads[utid].upid;
		if (is_alive(processes, utid) &&
		    (upid < 0 || processes->processes[upid].pid == pid))
			return utid;
	}
	return -1;
}

static int assign(struct orma_processes *processes, int64_t utid, int64_t upid, bool is_main)
{
	struct orma_thread_info *thread = &processes->threads[utid];
	processes->changes++;
	thread->upid = upid;
	thread->next_in_process = processes->processes[upid].first_thread;
	processes->processes[upid].first_thread = utid;
	int r = set_thread_cell(processes, utid, ORMA_THREAD_UPID, upid);
	return r < 0 ? r : set_thread_cell(processes, utid, ORMA_THREAD_IS_MAIN_THREAD, is_main);
}

/* Applies a link of a thread whose process is known now. Returns the other thread, when it got its process by this; -1 =
 * none; or a smaller errno value. */
static int64_t apply_link(struct orma_processes *processes, const struct orma_process_link *link,
			  int64_t utid)
{
	int64_t upid = processes->threads[utid].upid;
	if (link->is_parent) {
		int r = set_process_cell(processes, link->other, ORMA_PROCESS_PARENT_UPID, upid);
		return r < 0 ? r - 1 : -1;
	}
	int64_t other = link->utid == utid ? link->other : link->utid;
	if (processes->threads[other].upid >= 0)
		return -1;
	int r = assign(processes, other, upid,
		       processes->threads[other].tid == processes->processes[upid].pid);
	return r < 0 ? r - 1 : other;
}

/* Applies the links of a thread whose process is known now, and of the threads that get theirs by it. */
static int resolve_links(struct orma_processes *processes, int64_t utid)
{
	int64_t *found = NULL;
	uint32_t found_count = 0, found_capacity = 0;
	int r = 0;
	for (; r == 0 && utid >= 0; utid = r == 0 && found_count > 0 ? found[--found_count] : -1) {
		uint32_t next = processes->threads[utid].first_link;
		processes->threads[utid].first_link = 0;
		while (next > 0 && r == 0) {
			struct orma_process_link *link = &processes->links[next - 1];
			next = link->utid == utid ? link->next : link->next_of_other;
			if (link->is_applied)
				continue;
			link->is_applied = true;
			int64_t other = apply_link(processes, link, utid);
			if (other < -1)
				r = (int)other + 1;
			else if (other >= 0)
				r = orma_store_grow(&found, (uint64_t)found_count + 1,
						    &found_capacity, sizeof(*found));
			if (r == 0 && other >= 0)
				found[found_count++] = other;
		}
	}
	orma_base_free(found);
	return r;
}

static int64_t get_thread_of(struct orma_processes *processes, uint32_t machine_idx, int64_t tid,
			     int64_t upid, bool is_main)
{
	int64_t utid = find_thread_of(processes, machine_idx, tid, processes->processes[upid].pid);
	int r = 0;
	if (utid < 0) {
		utid = orma_processes_start_thread(processes, machine_idx, ORMA_TIME_UNKNOWN, tid);
		if (utid < 0)
			return utid;
	} else if (row_in(&processes->machines[machine_idx].newest, tid) != utid ||
		   row_in(&processes->machines[machine_idx].live, tid) != utid) {
		/* The trace names this thread, so events with its tid mean it from now on. */
		r = remove_from_list(processes, utid);
		if (r == 0)
			r = put_first(processes, utid);
	}
	if (r == 0 && processes->threads[utid].upid < 0)
		r = assign(processes, utid, upid, is_main);
	if (r == 0 && processes->threads[utid].first_link > 0)
		r = resolve_links(processes, utid);
	return r < 0 ? r : utid;
}

int64_t orma_processes_process_alone(struct orma_processes *processes, uint32_t machine_idx,
				     int64_t pid)
{
	struct orma_map *pids = &processes->machines[machine_idx].pids;
	int64_t upid = row_in(pids, pid);
	if (upid >= 0)
		return upid;
	upid = add_process_row(processes, machine_idx, pid);
	int r = upid < 0 ? 0 : set_row(processes, pids, pid, upid);
	return r < 0 ? r : upid;
}

int64_t orma_processes_thread_in(struct orma_processes *processes, uint32_t machine_idx,
				 int64_t tid, int64_t upid)
{
	return get_thread_of(processes, machine_idx, tid, upid, false);
}

int64_t orma_processes_process(struct orma_processes *processes, uint32_t machine_idx, int64_t pid)
{
	uint32_t before = processes->process_count;
	int64_t upid = orma_processes_process_alone(processes, machine_idx, pid);
	if (upid < 0 || processes->process_count == before)
		return upid;
	int64_t utid = get_thread_of(processes, machine_idx, pid, upid, true);
	return utid < 0 ? utid : upid;
}

int64_t orma_processes_thread_of(struct orma_processes *processes, uint32_t machine_idx,
				 int64_t tid, int64_t pid)
{
	struct orma_found_thread *found =
		&processes->found[((uint64_t)tid ^ (uint64_t)pid << 4) % ORMA_FOUND_THREADS];
	if (found->tid == tid && found->pid == pid && found->machine_idx == machine_idx &&
	    found->changes == processes->changes && found->utid_plus_1 > 0)
		return (int64_t)found->utid_plus_1 - 1;
	int64_t upid = orma_processes_process(processes, machine_idx, pid);
	int64_t utid =
		upid < 0 ? upid : get_thread_of(processes, machine_idx, tid, upid, tid == pid);
	if (utid >= 0)
		*found = (struct orma_found_thread){tid, pid, processes->changes, machine_idx,
						    (uint32_t)utid + 1};
	return utid;
}

int64_t orma_processes_start_process(struct orma_processes *processes, uint32_t machine_idx,
				     int64_t ts, int64_t parent_upid, int64_t pid, int64_t name,
				     enum orma_thread_name_rank rank)
{
	struct orma_machine_processes *machine = &processes->machines[machine_idx];
	int64_t previous = row_in(&machine->pids, pid);
	set_row(processes, &machine->pids, pid, -1);
	set_row(processes, &machine->newest, pid, -1);
	set_live(processes, machine_idx, pid, -1);
	int64_t utid = orma_processes_start_thread(processes, machine_idx, ts, pid);
	int r = utid < 0 ? (int)utid : orma_processes_name_thread(processes, utid, name, rank);
	int64_t upid = r < 0 ? r : orma_processes_process(processes, machine_idx, pid);
	if (upid < 0)
		return upid;
	if (ts != ORMA_TIME_UNKNOWN)
		r = set_process_cell(processes, upid, ORMA_PROCESS_START_TS, ts);
	if (r == 0)
		r = orma_processes_name_process(processes, upid, name, ORMA_PROCESS_NAME_SYSTEM);
	if (r == 0 && parent_upid >= 0)
		r = set_process_cell(processes, upid, ORMA_PROCESS_PARENT_UPID, parent_upid);
	if (r == 0 && previous >= 0)
		r = refresh_process(processes, previous);
	return r < 0 ? r : upid;
}

int orma_processes_end_thread(struct orma_processes *processes, uint32_t machine_idx, int64_t ts,
			      int64_t tid)
{
	/* A thread that ends after its main thread has ended with its process. */
	int64_t utid = orma_processes_find_thread(processes, machine_idx, tid);
	if (utid < 0)
		return 0;
	struct orma_thread_info *thread = &processes->threads[utid];
	int r = set_thread_cell(processes, utid, ORMA_THREAD_END_TS, ts);
	if (r == 0)
		r = remove_from_list(processes, utid);
	thread->is_ended = true;
	if (r == 0)
		r = refresh_live(processes, machine_idx, tid);
	if (r < 0 || thread->upid < 0 || processes->processes[thread->upid].pid != tid)
		return r;
	processes->processes[thread->upid].is_ended = true;
	set_row(processes, &processes->machines[machine_idx].pids, tid, -1);
	r = set_process_cell(processes, thread->upid, ORMA_PROCESS_END_TS, ts);
	return r < 0 ? r : refresh_process(processes, thread->upid);
}

/* A link is in the lists of its threads. */
static int add_link(struct orma_processes *processes, struct orma_process_link link)
{
	int r = orma_store_grow(&processes->links, (uint64_t)processes->link_count + 1,
				&processes->link_capacity, sizeof(link));
	if (r < 0)
		return r;
	processes->changes++;
	uint32_t *first = &processes->threads[link.utid].first_link;
	link.next = *first;
	*first = processes->link_count + 1;
	if (!link.is_parent) {
		first = &processes->threads[link.other].first_link;
		link.next_of_other = *first;
		*first = processes->link_count + 1;
	}
	processes->links[processes->link_count++] = link;
	return 0;
}

int orma_processes_link_threads(struct orma_processes *processes, int64_t utid, int64_t other_utid)
{
	int64_t upid = processes->threads[utid].upid,
		other_upid = processes->threads[other_utid].upid;
	if (upid < 0 && other_upid < 0)
		return utid == other_utid
			       ? 0
			       : add_link(processes, (struct orma_process_link){
							     .utid = utid, .other = other_utid});
	if (upid >= 0 && other_upid >= 0) {
		processes->errors += upid != other_upid;
		return 0;
	}
	int64_t known = upid >= 0 ? upid : other_upid, open = upid >= 0 ? other_utid : utid;
	bool is_main = processes->threads[open].tid == processes->processes[known].pid;
	int r = assign(processes, open, known, is_main);
	return r < 0 ? r : resolve_links(processes, open);
}

int orma_processes_link_child(struct orma_processes *processes, int64_t upid, int64_t parent_utid)
{
	int64_t parent = processes->threads[parent_utid].upid;
	if (parent >= 0)
		return set_process_cell(processes, upid, ORMA_PROCESS_PARENT_UPID, parent);
	return add_link(processes, (struct orma_process_link){
					   .utid = parent_utid, .other = upid, .is_parent = true});
}

int orma_processes_set_parent(struct orma_processes *processes, int64_t upid, int64_t parent_upid)
{
	int64_t known = get_cell(processes, ORMA_TABLE_PROCESS, upid, ORMA_PROCESS_PARENT_UPID);
	if (known == ORMA_CELL_NULL)
		return set_process_cell(processes, upid, ORMA_PROCESS_PARENT_UPID, parent_upid);
	/* An orphan has got another parent; the one that started it says more. */
	processes->changed_parents += known != parent_upid;
	return 0;
}

int orma_processes_name_thread(struct orma_processes *processes, int64_t utid, int64_t name,
			       enum orma_thread_name_rank rank)
{
	struct orma_thread_info *thread = &processes->threads[utid];
	if (name == ORMA_CELL_NULL || rank < thread->name_rank)
		return 0;
	thread->name_rank = (uint8_t)rank;
	/* Each switch names a thread, and nearly always as before. */
	if (name == thread->name)
		return 0;
	thread->name = name;
	return set_thread_cell(processes, utid, ORMA_THREAD_NAME, name);
}

int orma_processes_name_process(struct orma_processes *processes, int64_t upid, int64_t name,
				enum orma_process_name_rank rank)
{
	struct orma_process_info *process = &processes->processes[upid];
	if (name == ORMA_CELL_NULL || rank < process->name_rank)
		return 0;
	process->name_rank = (uint8_t)rank;
	return set_process_cell(processes, upid, ORMA_PROCESS_NAME, name);
}

int orma_processes_name_task(struct orma_processes *processes, int64_t utid, int64_t name,
			     enum orma_thread_name_rank rank)
{
	int64_t upid = processes->threads[utid].upid;
	int r = orma_processes_name_thread(processes, utid, name, rank);
	if (r < 0 || upid < 0 || processes->processes[upid].pid != processes->threads[utid].tid)
		return r;
	return orma_processes_name_process(processes, upid, name, ORMA_PROCESS_NAME_SYSTEM);
}

int orma_processes_add_machine(struct orma_processes *processes, uint32_t machine_idx)
{
	ORMA_ASSERT(machine_idx == processes->machine_count);
	int r = orma_store_grow(&processes->machines, (uint64_t)machine_idx + 1,
				&processes->machine_capacity, sizeof(*processes->machines));
	if (r < 0)
		return r;
	struct orma_machine_processes *machine = &processes->machines[processes->machine_count++];
	*machine = (struct orma_machine_processes){.newest.seed = processes->seed,
						   .live.seed = processes->seed,
						   .pids.seed = processes->seed};
	machine->idle_upid = add_process_row(processes, machine_idx, 0);
	if (machine->idle_upid < 0)
		return (int)machine->idle_upid;
	machine->idle_utid = add_thread_row(processes, machine_idx, ORMA_TIME_UNKNOWN, 0);
	if (machine->idle_utid < 0)
		return (int)machine->idle_utid;
	r = assign(processes, machine->idle_utid, machine->idle_upid, true);
	return r < 0 ? r : set_thread_cell(processes, machine->idle_utid, ORMA_THREAD_IS_IDLE, 1);
}

int orma_processes_set_idle(struct orma_processes *processes, uint32_t machine_idx)
{
	struct orma_machine_processes *machine = &processes->machines[machine_idx];
	if (row_in(&machine->pids, 0) == machine->idle_upid)
		return 0;
	int r = set_row(processes, &machine->pids, 0, machine->idle_upid);
	if (r == 0)
		r = put_first(processes, machine->idle_utid);
	if (r < 0)
		return r;
	int64_t name = orma_tables_string(processes->tables, ORMA_STR("swapper"));
	return orma_processes_name_thread(processes, machine->idle_utid, name,
					  ORMA_THREAD_NAME_CONSTANT);
}
