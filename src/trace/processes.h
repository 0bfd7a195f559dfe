/* SPDX-License-Identifier: Apache-2.0
 * processes.h - which thread and process a number means at a time: numbers are used again, rows are not.
 *
 * Functions return a row (utid, upid) or a negative errno value. A machine is its row in the table of machines.
 */
#ifndef ORMA_TRACE_PROCESSES_H
#define ORMA_TRACE_PROCESSES_H

#include "base/map.h"
#include "trace/row_args.h"

/* A name replaces one of the same or a lower rank. */
enum orma_thread_name_rank {
	ORMA_THREAD_NAME_OTHER,
	ORMA_THREAD_NAME_FTRACE,
	ORMA_THREAD_NAME_PROCESS_TREE,
	ORMA_THREAD_NAME_DESCRIPTOR_TYPE,
	ORMA_THREAD_NAME_DESCRIPTOR,
	ORMA_THREAD_NAME_CONSTANT,
};

enum orma_process_name_rank {
	ORMA_PROCESS_NAME_OTHER,
	ORMA_PROCESS_NAME_LABEL,
	ORMA_PROCESS_NAME_DESCRIPTOR,
	ORMA_PROCESS_NAME_RENDERER,
	ORMA_PROCESS_NAME_SYSTEM,
};

struct orma_thread_info {
	int64_t tid;
	int64_t upid;  /* -1 = not known */
	int64_t name;  /* cell */
	int64_t older; /* the thread that had this tid before and is not ended; -1 = none */
	int64_t next_in_process; /* -1 = none */
	uint32_t machine_idx;
	uint32_t first_link;  /* index + 1 */
	uint32_t slice_track; /* id + 1 of the track of its slices; 0 = not asked for yet */
	uint8_t name_rank;
	bool is_ended;
};

struct orma_process_info {
	int64_t pid;
	int64_t first_thread;
	uint32_t machine_idx;
	uint8_t name_rank;
	bool is_ended;
};

/* Two threads, or a thread and the process it has started, whose process is not known yet. */
struct orma_process_link {
	int64_t utid;
	int64_t other;  /* utid or upid */
	bool is_parent; /* `other` is a process that the thread has started */
	bool is_applied;
	uint32_t next,
		next_of_other; /* index + 1 of the thread's next link, and of the other thread's; 0 = none */
};

struct orma_machine_processes {
	struct orma_map newest; /* utid + 1 by tid: threads that are not ended */
	struct orma_map live;   /* utid + 1 by tid: the one that events mean */
	struct orma_map pids;   /* upid + 1 by pid */
	int64_t idle_utid, idle_upid;
};

enum { ORMA_RECENT_THREADS = 256 };
/* A tid that was asked for, and the thread that events mean by it. */
struct orma_recent_thread {
	int64_t tid;
	uint32_t machine_idx;
	uint32_t utid_plus_1; /* 0 = none */
};

enum { ORMA_FOUND_THREADS = 256 };
/* A tid and a pid that were asked for together, and the thread that was found when there had been so many changes. */
struct orma_found_thread {
	int64_t tid, pid;
	uint64_t changes;
	uint32_t machine_idx;
	uint32_t utid_plus_1; /* 0 = none */
};

/* {.tables = ..., .process_args = ..., .thread_args = ...} is empty. */
struct orma_processes {
	struct orma_tables *tables;
	struct orma_row_args *process_args, *thread_args;
	struct orma_thread_info *threads;
	struct orma_process_info *processes;
	struct orma_machine_processes *machines;
	struct orma_process_link *links;
	uint32_t thread_count, thread_capacity, process_count, process_capacity;
	uint32_t machine_count, machine_capacity, link_count, link_capacity;
	uint64_t errors, changed_parents;
	uint64_t seed;    /* makes the maps hard to attack */
	uint64_t changes; /* counts changes of threads, of processes and of what numbers mean */
	struct orma_recent_thread recent[ORMA_RECENT_THREADS]; /* by tid; see processes.c */
	struct orma_found_thread found[ORMA_FOUND_THREADS];    /* by tid and pid */
};

#define ORMA_TIME_UNKNOWN ORMA_CELL_NULL

void orma_processes_done(struct orma_processes *processes);
/* Adds a machine, with the rows of its idle task. 0 or a negative errno value. */
int orma_processes_add_machine(struct orma_processes *processes, uint32_t machine_idx);
/* Says that tid 0 of the machine is its idle task, as in traces of kernels. 0 or a negative errno value. */
int orma_processes_set_idle(struct orma_processes *processes, uint32_t machine_idx);

int64_t orma_processes_thread_search(struct orma_processes *processes, uint32_t machine_idx,
				     int64_t tid);
/* The thread that has this tid now; a new one if there is none. */
static inline int64_t orma_processes_thread(struct orma_processes *processes, uint32_t machine_idx,
					    int64_t tid)
{
	const struct orma_recent_thread *recent =
		&processes->recent[(uint64_t)tid % ORMA_RECENT_THREADS];
	bool is_known =
		recent->tid == tid && recent->machine_idx == machine_idx && recent->utid_plus_1 > 0;
	return is_known ? (int64_t)recent->utid_plus_1 - 1
			: orma_processes_thread_search(processes, machine_idx, tid);
}
/* The same, or -1 if there is none. */
int64_t orma_processes_find_thread(const struct orma_processes *processes, uint32_t machine_idx,
				   int64_t tid);
/* The thread with this tid of the process with this pid; makes both if needed. */
int64_t orma_processes_thread_of(struct orma_processes *processes, uint32_t machine_idx,
				 int64_t tid, int64_t pid);
/* The process with this pid now; makes it and its main thread if needed. */
int64_t orma_processes_process(struct orma_processes *processes, uint32_t machine_idx, int64_t pid);

/* The same without its main thread, and a thread of it which is not the main one. */
int64_t orma_processes_process_alone(struct orma_processes *processes, uint32_t machine_idx,
				     int64_t pid);
int64_t orma_processes_thread_in(struct orma_processes *processes, uint32_t machine_idx,
				 int64_t tid, int64_t upid);

/* A tid or pid is used again from now on. */
int64_t orma_processes_start_thread(struct orma_processes *processes, uint32_t machine_idx,
				    int64_t ts, int64_t tid);
int64_t orma_processes_start_process(struct orma_processes *processes, uint32_t machine_idx,
				     int64_t ts, int64_t parent_upid, int64_t pid, int64_t name,
				     enum orma_thread_name_rank rank);
/* A thread has ended, and its process if it is the main one. 0 or a negative errno value. */
int orma_processes_end_thread(struct orma_processes *processes, uint32_t machine_idx, int64_t ts,
			      int64_t tid);
/* Two threads are of one process, whichever it is. 0 or a negative errno value. */
int orma_processes_link_threads(struct orma_processes *processes, int64_t utid, int64_t other_utid);
/* A thread has started a process, whichever the thread's is. 0 or a negative errno value. */
int orma_processes_link_child(struct orma_processes *processes, int64_t upid, int64_t parent_utid);
int orma_processes_set_parent(struct orma_processes *processes, int64_t upid, int64_t parent_upid);

/* `name` is a cell; NULL changes nothing. 0 or a negative errno value. */
int orma_processes_name_thread(struct orma_processes *processes, int64_t utid, int64_t name,
			       enum orma_thread_name_rank rank);
int orma_processes_name_process(struct orma_processes *processes, int64_t upid, int64_t name,
				enum orma_process_name_rank rank);
/* Names the thread, and its process if it is the main thread. */
int orma_processes_name_task(struct orma_processes *processes, int64_t utid, int64_t name,
			     enum orma_thread_name_rank rank);

#endif
