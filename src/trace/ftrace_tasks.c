/* SPDX-License-Identifier: Apache-2.0
 * ftrace_tasks.c - switches and wakings, whole or compact, and the lives of tasks.
 */
#include "schema/gen/ftrace_event.pb.h"
#include "schema/gen/ftrace_sched.pb.h"
#include "schema/gen/ftrace_task.pb.h"
#include "trace/kernel_import.h"

enum { CLONE_THREAD_FLAG = 0x10000 };

#define NUMBER(field) orma_kernel_number(call, field)
#define TEXT(field)   orma_tables_string(call->system->tables, orma_kernel_text(call, field))

int orma_ftrace_sched_switch(const struct orma_kernel_call *call)
{
	struct orma_sched_switch row = {
		.ts = call->ts,
		.machine_idx = call->machine_idx,
		.cpu = call->cpu,
		.prev_tid = (int32_t)NUMBER(ORMA_PB_SCHED_SWITCH_FTRACE_EVENT_PREV_PID),
		.prev_comm = TEXT(ORMA_PB_SCHED_SWITCH_FTRACE_EVENT_PREV_COMM),
		.prev_state = (int64_t)NUMBER(ORMA_PB_SCHED_SWITCH_FTRACE_EVENT_PREV_STATE),
		.next_tid = (int32_t)NUMBER(ORMA_PB_SCHED_SWITCH_FTRACE_EVENT_NEXT_PID),
		.next_comm = TEXT(ORMA_PB_SCHED_SWITCH_FTRACE_EVENT_NEXT_COMM),
		.next_prio = (int32_t)NUMBER(ORMA_PB_SCHED_SWITCH_FTRACE_EVENT_NEXT_PRIO),
	};
	int r = orma_sched_switch(call->system->sched, &row);
	return r < 0 ? r : 0;
}

int orma_ftrace_sched_waking(const struct orma_kernel_call *call)
{
	struct orma_system *system = call->system;
	int64_t tid = (int32_t)NUMBER(ORMA_PB_SCHED_WAKING_FTRACE_EVENT_PID);
	int64_t utid = orma_kernel_thread(call, tid);
	if (utid < 0)
		return (int)utid;
	int r = orma_processes_name_thread(system->processes, utid,
					   TEXT(ORMA_PB_SCHED_WAKING_FTRACE_EVENT_COMM),
					   ORMA_THREAD_NAME_FTRACE);
	int64_t waker = r < 0 ? r : orma_kernel_thread(call, call->tid);
	return waker < 0 ? (int)waker
			 : orma_sched_waking(system->sched, call->ts, call->machine_idx, tid, waker,
					     -1);
}

int orma_ftrace_blocked_reason(const struct orma_kernel_call *call)
{
	struct orma_system *system = call->system;
	int64_t utid = orma_kernel_thread(
		call, (int32_t)NUMBER(ORMA_PB_SCHED_BLOCKED_REASON_FTRACE_EVENT_PID));
	struct orma_str symbol;
	if (utid < 0)
		return (int)utid;
	int r = orma_kernel_symbol(&system->kernel, system->index->input, call->bundle,
				   NUMBER(ORMA_PB_SCHED_BLOCKED_REASON_FTRACE_EVENT_CALLER),
				   &symbol);
	return r < 0 ? r
		     : orma_sched_blocked_reason(
			       system->sched, utid,
			       NUMBER(ORMA_PB_SCHED_BLOCKED_REASON_FTRACE_EVENT_IO_WAIT) != 0,
			       orma_tables_string(system->tables, symbol));
}

/* A fork. The process that forked may only be known later. */
static int start_process(const struct orma_kernel_call *call, int64_t tid, int64_t comm)
{
	struct orma_processes *processes = call->system->processes;
	int64_t upid = orma_processes_start_process(processes, call->machine_idx, call->ts, -1, tid,
						    comm, ORMA_THREAD_NAME_FTRACE);
	int64_t parent = upid < 0 ? upid : orma_kernel_thread(call, call->tid);
	int64_t utid = parent < 0 ? parent : orma_kernel_thread(call, tid);
	int r = utid < 0 ? (int)utid : orma_processes_link_child(processes, upid, parent);
	return r < 0 ? r : orma_sched_new_task(call->system->sched, call->ts, utid, parent);
}

static int start_thread(const struct orma_kernel_call *call, int64_t tid, int64_t comm)
{
	struct orma_processes *processes = call->system->processes;
	int64_t parent = orma_kernel_thread(call, call->tid);
	int64_t utid = parent < 0 ? parent
				  : orma_processes_start_thread(processes, call->machine_idx,
								call->ts, tid);
	int r = utid < 0 ? (int)utid
			 : orma_processes_name_thread(processes, utid, comm,
						      ORMA_THREAD_NAME_FTRACE);
	if (r == 0)
		r = orma_processes_link_threads(processes, parent, utid);
	return r < 0 ? r : orma_sched_new_task(call->system->sched, call->ts, utid, parent);
}

int orma_ftrace_new_task(const struct orma_kernel_call *call)
{
	int64_t tid = (int32_t)NUMBER(ORMA_PB_TASK_NEWTASK_FTRACE_EVENT_PID);
	int64_t comm = TEXT(ORMA_PB_TASK_NEWTASK_FTRACE_EVENT_COMM);
	/* While it boots, the kernel makes an idle task for each CPU. */
	if (tid == 0)
		return 0;
	if (NUMBER(ORMA_PB_TASK_NEWTASK_FTRACE_EVENT_CLONE_FLAGS) & CLONE_THREAD_FLAG)
		return start_thread(call, tid, comm);
	return start_process(call, tid, comm);
}

int orma_ftrace_rename(const struct orma_kernel_call *call)
{
	int64_t utid =
		orma_kernel_thread(call, (int32_t)NUMBER(ORMA_PB_TASK_RENAME_FTRACE_EVENT_PID));
	return utid < 0 ? (int)utid
			: orma_processes_name_task(call->system->processes, utid,
						   TEXT(ORMA_PB_TASK_RENAME_FTRACE_EVENT_NEWCOMM),
						   ORMA_THREAD_NAME_FTRACE);
}

int orma_ftrace_process_free(const struct orma_kernel_call *call)
{
	return orma_processes_end_thread(
		call->system->processes, call->machine_idx, call->ts,
		(int32_t)NUMBER(ORMA_PB_SCHED_PROCESS_FREE_FTRACE_EVENT_PID));
}

/* A compact event's row: `utid` is the thread that ran. */
static int add_compact_row(struct orma_system *system, const struct orma_ordered_event *event,
			   uint32_t id, int64_t utid, int64_t flags)
{
	struct orma_kernel_row row = {
		.ts = event->ns,
		.machine_idx = event->machine_idx,
		.cpu = event->cpu,
		.id = id,
		.utid = utid,
		.common_flags = flags,
		.packet = ORMA_CELL_NULL,
		.offset = ORMA_CELL_NULL,
	};
	return system->has_no_raw_events ? 0 : orma_kernel_add_row(system, &row);
}

/* Each bundle has its names once, and most of its events have one that an event before had. */
static int64_t cell_of(struct orma_tables *tables, struct orma_compact_name *name)
{
	if (!name)
		return ORMA_CELL_NULL;
	if (name->cell == 0)
		name->cell = orma_tables_string(tables, name->text);
	return name->cell;
}

int orma_kernel_switch_take(struct orma_system *system, const struct orma_ordered_event *event)
{
	const struct orma_compact_switch *compact = event->compact_switch;
	int64_t prev = orma_sched_running(system->sched, event->machine_idx, event->cpu);
	int window = orma_kernel_window(system, event->machine_idx, event->ns);
	if (window <= ORMA_KERNEL_DROPPED)
		return window;
	struct orma_sched_switch row = {
		.ts = event->ns,
		.machine_idx = event->machine_idx,
		.cpu = event->cpu,
		.prev_state = compact->prev_state,
		.next_tid = compact->next_pid,
		.next_comm = cell_of(system->tables, compact->next_comm),
		.next_prio = compact->next_prio,
		.is_compact = true,
		.is_early = window == ORMA_KERNEL_EARLY,
	};
	int r = orma_sched_switch(system->sched, &row);
	/* The first switch of a CPU does not say who stopped. */
	if (r < 0 || prev < 0)
		return r < 0 ? r : 0;
	if (r > 0 && !system->has_no_raw_events)
		return orma_kernel_tell_switch(system);
	return add_compact_row(system, event, ORMA_PB_FTRACE_EVENT_SCHED_SWITCH, prev, 0);
}

int orma_kernel_waking_take(struct orma_system *system, const struct orma_ordered_event *event)
{
	const struct orma_compact_waking *compact = event->compact_waking;
	/* The thread that runs on the CPU wakes the other, and the switches say which it is. */
	int64_t waker = orma_sched_running(system->sched, event->machine_idx, event->cpu);
	int window = orma_kernel_window(system, event->machine_idx, event->ns);
	if (window <= ORMA_KERNEL_DROPPED)
		return window;
	if (waker < 0) {
		system->sched->counts[ORMA_SCHED_WAKINGS_SKIPPED]++;
		return 0;
	}
	int r = add_compact_row(system, event, ORMA_PB_FTRACE_EVENT_SCHED_WAKING, waker,
				compact->common_flags);
	if (r < 0 || window == ORMA_KERNEL_EARLY)
		return r;
	return orma_sched_waking(system->sched, event->ns, event->machine_idx, compact->pid, waker,
				 compact->has_flags ? (int32_t)compact->common_flags : -1);
}
