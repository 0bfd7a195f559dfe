/* SPDX-License-Identifier: Apache-2.0
 * generic_tasks.c - scheduling of kernels other than Linux, told by packets that say the state of one task at a time.
 *
 * When a CPU goes from one task to the next, the packet of the task that begins may come before that of the task that
 * stops. Then the row of the first ends without a state, and gets it when the packet with the same time comes.
 */
#include <errno.h>

#include "proto/reader.h"
#include "trace/cpus.h"
#include "trace/system_packets.h"

/* Packets and fields that the schema does not have. */
enum {
	PACKET_TASK_STATE = 117,
	PACKET_CPU_FREQUENCY = 118,
	PACKET_TASK_RENAME = 120,
	PACKET_PROCESS_TREE = 122,
	STATE_CPU = 1,
	STATE_COMM = 2,
	STATE_TID = 3,
	STATE_STATE = 4,
	STATE_PRIO = 5,
};

enum task_state {
	TASK_UNKNOWN,
	TASK_CREATED,
	TASK_RUNNABLE,
	TASK_RUNNING,
	TASK_SLEEPS,
	TASK_SLEEPS_DEEPLY,
	TASK_STOPPED,
	TASK_DEAD,
	TASK_DESTROYED,
	TASK_STATES,
};
static const char *const state_names[TASK_STATES] = {"Unknown", "Created", "R", "Running", "S",
						     "D",       "T",       "Z", "X"};

/* A task that runs on a CPU, or that has stopped without a state. */
struct task_slice {
	int64_t row; /* -1 = none */
	int64_t begin, end;
	int64_t tid, utid;
};

struct task_event {
	struct orma_system *system;
	uint32_t machine_idx, cpu;
	int64_t ts, tid, comm;
	int32_t prio;
	enum task_state state;
	int64_t cell; /* the cell of the state's name */
};

static struct task_slice *find_slice(struct orma_system *system, struct orma_map *map, uint64_t key)
{
	struct task_slice *slice = orma_base_map_get(map, key);
	if (slice)
		return slice;
	slice = orma_base_arena_alloc(&system->kernel.arena, sizeof(*slice));
	if (!slice || orma_base_map_put(map, key, slice) < 0)
		return NULL;
	slice->row = -1;
	return slice;
}

static int64_t refuse(const struct task_event *event)
{
	orma_stats_add(&event->system->stats, event->machine_idx,
		       ORMA_STAT_generic_task_state_invalid_order, 0, 1);
	return -ENOENT;
}

/* NULL when the event does not have the text, so that the thread keeps its name. */
static int64_t text_cell(struct orma_system *system, const struct orma_kernel_fields *fields,
			 unsigned field)
{
	return fields->texts >> field & 1 ? orma_system_text(system, fields->strings[field])
					  : ORMA_CELL_NULL;
}

static int name_thread(const struct task_event *event, int64_t utid)
{
	return orma_processes_name_thread(event->system->processes, utid, event->comm,
					  ORMA_THREAD_NAME_FTRACE);
}

/* Returns the thread of an event, -ENOENT for one that can't be, or another negative errno value. */
static int64_t find_thread(const struct task_event *event)
{
	struct orma_processes *processes = event->system->processes;
	int64_t known = orma_processes_find_thread(processes, event->machine_idx, event->tid);
	int64_t utid = known;
	int r = 0;
	if (event->state == TASK_CREATED) {
		if (known >= 0)
			return refuse(event);
		utid = orma_processes_start_thread(processes, event->machine_idx, event->ts,
						   event->tid);
		r = utid < 0 ? (int)utid : name_thread(event, utid);
	} else if (event->state == TASK_DESTROYED) {
		if (known < 0)
			utid = orma_processes_thread(processes, event->machine_idx, event->tid);
		r = utid < 0 ? (int)utid : known < 0 ? name_thread(event, utid) : 0;
		if (r == 0)
			r = orma_processes_end_thread(processes, event->machine_idx, event->ts,
						      event->tid);
	} else {
		int64_t last = known < 0 ? ORMA_CELL_NULL
					 : orma_sched_state_of(event->system->sched, known);
		int64_t dead = orma_tables_string(event->system->tables, ORMA_STR("Z"));
		/* A dead task can only be destroyed, and one that runs can't begin to run. */
		if (last != ORMA_CELL_NULL &&
		    (last == dead || (event->state == TASK_RUNNING && last == event->cell)))
			return refuse(event);
		if (known < 0)
			utid = orma_processes_thread(processes, event->machine_idx, event->tid);
		r = utid < 0 ? (int)utid : name_thread(event, utid);
	}
	return r < 0 ? r : utid;
}

static int push_state(const struct task_event *event, int64_t utid, int64_t state, int64_t cpu)
{
	bool is_repeated = false;
	int r = orma_sched_push_state(event->system->sched, event->ts, utid, state, cpu,
				      &is_repeated);
	if (is_repeated)
		refuse(event);
	return r;
}

/* A task begins to run. The task that ran before is not known to have stopped yet. */
static int begin_running(const struct task_event *event, struct task_slice *cpu, int64_t utid)
{
	struct orma_system *system = event->system;
	int r = 0;
	if (cpu->row >= 0) {
		struct task_slice *stopped =
			find_slice(system, &system->kernel.stopped_tasks, (uint64_t)cpu->utid);
		r = stopped ? orma_sched_end_slice(system->sched, cpu->row, event->ts - cpu->begin,
						   ORMA_CELL_NULL)
			    : -ENOMEM;
		if (r < 0)
			return r;
		*stopped = *cpu;
		stopped->end = event->ts;
		r = push_state(event, cpu->utid, ORMA_CELL_NULL, -1);
	}
	int64_t row = r < 0 ? r
			    : orma_sched_begin_slice(system->sched, event->ts, event->machine_idx,
						     event->cpu, utid, event->prio);
	if (row < 0)
		return row == -ERANGE ? 0 : (int)row;
	*cpu = (struct task_slice){.row = row, .begin = event->ts, .tid = event->tid, .utid = utid};
	return push_state(event, utid, event->cell, event->cpu);
}

static int stop_running(const struct task_event *event, struct task_slice *cpu, int64_t utid)
{
	struct orma_system *system = event->system;
	if (cpu->row >= 0 && cpu->tid == event->tid) {
		int r = orma_sched_end_slice(system->sched, cpu->row, event->ts - cpu->begin,
					     event->cell);
		cpu->row = -1;
		return r < 0 ? r : push_state(event, utid, event->cell, -1);
	}
	struct task_slice *stopped =
		orma_base_map_get(&system->kernel.stopped_tasks, (uint64_t)utid);
	if (stopped && stopped->row >= 0 && stopped->end == event->ts) {
		int r = orma_sched_end_slice(system->sched, stopped->row,
					     stopped->end - stopped->begin, event->cell);
		stopped->row = -1;
		return r < 0 ? r : orma_sched_replace_state(system->sched, utid, event->cell);
	}
	return push_state(event, utid, event->cell, -1);
}

static int take_state(struct orma_system *system, uint32_t machine_idx, int64_t ts,
		      struct orma_str content)
{
	struct orma_kernel_fields fields;
	orma_kernel_fields_read(&fields, content);
	struct task_event event = {
		.system = system,
		.machine_idx = machine_idx,
		.ts = ts,
		.cpu = (uint32_t)orma_kernel_field(&fields, STATE_CPU),
		.tid = (int64_t)orma_kernel_field(&fields, STATE_TID),
		.prio = (int32_t)orma_kernel_field(&fields, STATE_PRIO),
		.comm = text_cell(system, &fields, STATE_COMM),
	};
	uint64_t state = orma_kernel_field(&fields, STATE_STATE);
	if (state == TASK_UNKNOWN || state >= TASK_STATES) {
		orma_stats_add(&system->stats, machine_idx, ORMA_STAT_task_state_invalid, 0, 1);
		return 0;
	}
	event.state = (enum task_state)state;
	event.cell = orma_tables_string(system->tables, orma_base_str(state_names[state]));
	int64_t utid = find_thread(&event);
	if (utid < 0)
		return utid == -ENOENT ? 0 : (int)utid;
	struct task_slice *cpu = find_slice(system, &system->kernel.task_cpus,
					    (uint64_t)machine_idx << 32 | event.cpu);
	if (!cpu)
		return -ENOMEM;
	return event.state == TASK_RUNNING ? begin_running(&event, cpu, utid)
					   : stop_running(&event, cpu, utid);
}

static int take_process(struct orma_system *system, uint32_t machine_idx, struct orma_str content)
{
	enum { PID = 1, PARENT = 2, CMDLINE = 3 };
	struct orma_kernel_fields fields;
	orma_kernel_fields_read(&fields, content);
	if (!(fields.texts >> CMDLINE & 1))
		return 0;
	struct orma_str cmdline = fields.strings[CMDLINE], name = cmdline;
	const char *space = memchr(name.data, ' ', name.size);
	if (space)
		name.size = (size_t)(space - name.data);
	int64_t parent = orma_processes_process_alone(system->processes, machine_idx,
						      (int64_t)orma_kernel_field(&fields, PARENT));
	int64_t upid =
		parent < 0 ? parent
			   : orma_processes_process_alone(system->processes, machine_idx,
							  (int64_t)orma_kernel_field(&fields, PID));
	int r = upid < 0 ? (int)upid : orma_processes_set_parent(system->processes, upid, parent);
	if (r == 0)
		r = orma_processes_name_process(system->processes, upid,
						orma_system_text(system, name),
						ORMA_PROCESS_NAME_SYSTEM);
	return r < 0 ? r
		     : orma_store_column_set(orma_tables_column(system->tables, ORMA_TABLE_PROCESS,
								ORMA_PROCESS_CMDLINE),
					     (uint64_t)upid, orma_system_text(system, cmdline));
}

static int take_thread(struct orma_system *system, uint32_t machine_idx, struct orma_str content)
{
	enum { TID = 1, PID = 2, COMM = 3, IS_MAIN = 4, IS_IDLE = 5 };
	struct orma_kernel_fields fields;
	orma_kernel_fields_read(&fields, content);
	int64_t upid = orma_processes_process_alone(system->processes, machine_idx,
						    (int64_t)orma_kernel_field(&fields, PID));
	int64_t utid =
		upid < 0 ? upid
			 : orma_processes_thread_in(system->processes, machine_idx,
						    (int64_t)orma_kernel_field(&fields, TID), upid);
	int r = utid < 0 ? (int)utid
			 : orma_store_column_set(
				   orma_tables_column(system->tables, ORMA_TABLE_THREAD,
						      ORMA_THREAD_IS_MAIN_THREAD),
				   (uint64_t)utid, orma_kernel_field(&fields, IS_MAIN) != 0);
	if (r == 0)
		r = orma_store_column_set(
			orma_tables_column(system->tables, ORMA_TABLE_THREAD, ORMA_THREAD_IS_IDLE),
			(uint64_t)utid, orma_kernel_field(&fields, IS_IDLE) != 0);
	if (r < 0 || !(fields.texts >> COMM & 1))
		return r;
	return orma_processes_name_thread(system->processes, utid,
					  orma_system_text(system, fields.strings[COMM]),
					  ORMA_THREAD_NAME_PROCESS_TREE);
}

/* Calls a function for each message in a repeated field. */
static int
for_each(struct orma_system *system, uint32_t machine_idx, struct orma_str content, uint32_t id,
	 int (*take)(struct orma_system *system, uint32_t machine_idx, struct orma_str message))
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r = 0;
	orma_proto_reader_init(&reader, content.data, content.size);
	while (r == 0 && orma_proto_reader_next(&reader, &field) > 0)
		if (field.id == id && field.type == ORMA_PROTO_BYTES)
			r = take(system, machine_idx, field.bytes);
	return r;
}

static int take_rename(struct orma_system *system, uint32_t machine_idx, struct orma_str content)
{
	enum { TID = 1, COMM = 2 };
	struct orma_kernel_fields fields;
	orma_kernel_fields_read(&fields, content);
	int64_t utid = orma_processes_thread(system->processes, machine_idx,
					     (int64_t)orma_kernel_field(&fields, TID));
	return utid < 0 ? (int)utid
			: orma_processes_name_task(system->processes, utid,
						   text_cell(system, &fields, COMM),
						   ORMA_THREAD_NAME_FTRACE);
}

static int take_frequency(struct orma_system *system, uint32_t machine_idx, int64_t ts,
			  struct orma_str content)
{
	enum { CPU = 1, HERTZ = 2 };
	static const struct orma_track_kind kind = {.type = "cpu_frequency",
						    .name = "cpufreq",
						    .dimensions = {{"cpu", false}},
						    .is_counter = true};
	struct orma_kernel_fields fields;
	orma_kernel_fields_read(&fields, content);
	return orma_system_count(system, machine_idx, ts, &kind,
				 ORMA_DIMENSIONS((int64_t)orma_kernel_field(&fields, CPU)),
				 (double)(int64_t)orma_kernel_field(&fields, HERTZ) / 1000,
				 ORMA_CELL_NULL);
}

int orma_generic_task_packet(struct orma_system *system, const struct orma_ordered_event *event)
{
	struct orma_str content = event->packet->content;
	int r;
	switch (event->packet->kind) {
	case PACKET_TASK_STATE:
		return take_state(system, event->machine_idx, event->ns, content);
	case PACKET_TASK_RENAME:
		return take_rename(system, event->machine_idx, content);
	case PACKET_CPU_FREQUENCY:
		return take_frequency(system, event->machine_idx, event->ns, content);
	case PACKET_PROCESS_TREE:
		r = for_each(system, event->machine_idx, content, 1, take_process);
		return r < 0 ? r : for_each(system, event->machine_idx, content, 2, take_thread);
	default:
		return 0;
	}
}
