/* SPDX-License-Identifier: Apache-2.0
 * report_sched.c - the scheduling of a report as the kernel's events sched_switch, sched_waking and sched_blocked_reason, so that all
 * tables that are derived from them come back.
 *
 * The idle thread stands for a waker that is not known. A box of a CPU says who ran, but not who ran before the first of them.
 * A thread whose first state begins with such a box, and that nobody woke, is the one that stopped then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "formats/report_events.h"
#include "store/grow.h"
#include "trace/task_state.h"

enum { COMM_BYTES = 64, LINE_BYTES = 512, CPU_MAX = 4095 };
enum { PRIORITY_USUAL = 120, PRIORITY_REAL_TIME = 50, STATE_SLEEPING = 1 };
/* A report says so behind the letters of a state. */
#define IO_MARK " (IO)"

static bool is_io_wait(struct orma_str state)
{
	return state.size > strlen(IO_MARK) &&
	       memcmp(state.data + state.size - strlen(IO_MARK), IO_MARK, strlen(IO_MARK)) == 0;
}

/* A thread as the arguments of kernel events name it: an equals sign would begin the next one. */
struct comm {
	char text[COMM_BYTES];
	uint32_t tid, pid;
};

static struct comm comm_of(const struct orma_report_events *events, int64_t utid)
{
	const struct orma_report_thread *thread = orma_report_tree_thread(events->tree, utid);
	struct comm comm = {.text = "swapper"};
	if (!thread || thread->tid == 0)
		return comm;
	snprintf(comm.text, sizeof(comm.text), "%.*s", (int)ORMA_MIN(thread->name.size, (size_t)60),
		 thread->name.data);
	for (char *at = comm.text; *at; at++)
		if (*at == '=' || (unsigned char)*at < ' ')
			*at = '-';
	comm.tid = thread->tid;
	/* 0 = the trace does not know whose thread it is. */
	comm.pid = thread->upid < 0 ? 0 : orma_report_tree_pid(events->tree, thread);
	return comm;
}

/* Finds the strip of a thread's states; NULL when the report has none. */
static const struct orma_report_line *strip_of(const struct orma_report_events *events,
					       int64_t utid)
{
	uintptr_t place = (uintptr_t)orma_base_map_get(&events->strip_lines, (uint64_t)utid + 1);
	return place > 0 ? &events->file->lines[place - 1] : NULL;
}

/* Finds the state that a thread has from a time on, as prev_state; it sleeps when that is not known. */
static int64_t state_at(const struct orma_report_events *events, int64_t utid, uint64_t time)
{
	const struct orma_report_line *line = strip_of(events, utid);
	const uint64_t *starts = events->file->starts[ORMA_REPORT_THREAD_STATE];
	if (!line)
		return STATE_SLEEPING;
	uint32_t low = line->first, high = line->end;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (starts[middle] < time)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == line->end || starts[low] != time)
		return STATE_SLEEPING;
	uint64_t state =
		orma_report_file_get(events->file, ORMA_REPORT_THREAD_STATE, ORMA_REPORT_NAME, low);
	return state < events->tree->state_count ? events->state_numbers[state] : STATE_SLEEPING;
}

static int64_t utid_of(const struct orma_report_events *events, uint32_t box)
{
	return (int64_t)(orma_report_file_get(events->file, ORMA_REPORT_SCHED, ORMA_REPORT_NAME,
					      box) &
			 INT64_MAX);
}

static unsigned priority_of(const struct orma_report_events *events, uint32_t box)
{
	uint64_t flags =
		orma_report_file_get(events->file, ORMA_REPORT_SCHED, ORMA_REPORT_FLAGS, box);
	return flags & ORMA_REPORT_IS_REAL_TIME ? PRIORITY_REAL_TIME : PRIORITY_USUAL;
}

static int add_line(struct orma_report_events *events, const char *event, uint32_t cpu,
		    uint64_t time, const struct comm *comm, const char *args)
{
	const struct orma_ftrace_line line = {.task = orma_base_str(comm->text),
					      .event = orma_base_str(event),
					      .args = orma_base_str(args),
					      .ns = events->start_ns + (int64_t)time,
					      .tid = comm->tid,
					      .tgid = comm->pid,
					      .cpu = cpu};
	return orma_ftrace_output_add(&events->ftrace, &line);
}

/* A switch from one thread to another; -1 is the idle thread. */
static int write_switch(struct orma_report_events *events, uint32_t cpu, uint64_t time,
			int64_t from, unsigned from_priority, int64_t to, unsigned to_priority)
{
	char args[LINE_BYTES];
	struct comm prev = comm_of(events, from), next = comm_of(events, to);
	int64_t state = prev.tid == 0 ? 0 : state_at(events, from, time);
	if (prev.tid == 0 && next.tid == 0 && from >= 0)
		return 0;
	snprintf(args, sizeof(args),
		 "prev_comm=%s prev_pid=%u prev_prio=%u prev_state=%lld ==> next_comm=%s "
		 "next_pid=%u next_prio=%u",
		 prev.text, prev.tid, from_priority, (long long)state, next.text, next.tid,
		 to_priority);
	return add_line(events, "sched_switch", cpu, time, &prev, args);
}

/* True when another thread ran on the CPU until a box begins. */
static bool has_box_before(const struct orma_report_file *file, const struct orma_report_line *line,
			   uint32_t box)
{
	return box > line->first && orma_report_end_of(file, ORMA_REPORT_SCHED, box - 1) ==
					    file->starts[ORMA_REPORT_SCHED][box];
}

/* Returns the thread whose switch begins a box without one before it, or -1. */
static int64_t stopped_at(const struct orma_report_events *events, uint32_t box)
{
	uintptr_t line = (uintptr_t)orma_base_map_get(&events->stopped_by_box, (uint64_t)box + 1);
	return line > 0 ? orma_report_tree_track(events->tree, events->file->lines[line - 1].lane)
				  ->utid
			: -1;
}

int orma_report_write_switch(struct orma_report_events *events, const struct orma_report_line *line,
			     uint32_t box, enum orma_report_moment moment)
{
	const struct orma_report_file *file = events->file;
	const struct orma_report_track *track = orma_report_tree_track(events->tree, line->lane);
	const uint64_t *starts = file->starts[ORMA_REPORT_SCHED];
	uint64_t start = starts[box], end = orma_report_end_of(file, ORMA_REPORT_SCHED, box);
	if (track->cpu < 0 || track->cpu > CPU_MAX)
		return 0;
	uint32_t cpu = (uint32_t)track->cpu;
	if (moment == ORMA_REPORT_END) {
		/* The next box writes the switch to itself. */
		if (box + 1 < line->end && starts[box + 1] == end)
			return 0;
		return write_switch(events, cpu, end, utid_of(events, box),
				    priority_of(events, box), -1, PRIORITY_USUAL);
	}
	bool has_before = has_box_before(file, line, box);
	int64_t before = has_before ? utid_of(events, box - 1) : stopped_at(events, box);
	return write_switch(events, cpu, start, before,
			    has_before ? priority_of(events, box - 1) : PRIORITY_USUAL,
			    utid_of(events, box), priority_of(events, box));
}

static bool is_state(const struct orma_report_events *events, uint32_t box, const char *text)
{
	uint64_t state =
		orma_report_file_get(events->file, ORMA_REPORT_THREAD_STATE, ORMA_REPORT_NAME, box);
	return state < events->tree->state_count &&
	       orma_base_str_is(events->tree->states[state], text);
}

/* Why a thread was blocked is told when that is over. */
static int write_blocked(struct orma_report_events *events, uint32_t tid, uint64_t time,
			 uint32_t box)
{
	const struct orma_report_file *file = events->file;
	char args[LINE_BYTES];
	uint64_t state =
		orma_report_file_get(file, ORMA_REPORT_THREAD_STATE, ORMA_REPORT_NAME, box);
	bool is_io = state < events->tree->state_count && is_io_wait(events->tree->states[state]);
	struct orma_str function = orma_report_file_text(
		file, &file->names, ORMA_REPORT_THREAD_STATE, ORMA_REPORT_BLOCKED, box);
	struct comm idle = comm_of(events, -1);
	if (!is_io && function.size == 0)
		return 0;
	snprintf(args, sizeof(args), "pid=%u iowait=%d%s%.*s", tid, is_io,
		 function.size > 0 ? " caller=" : "",
		 (int)ORMA_MIN(function.size, (size_t)(LINE_BYTES - COMM_BYTES)), function.data);
	return add_line(events, "sched_blocked_reason", 0, time, &idle, args);
}

/* A thread that becomes runnable without having run was woken. */
int orma_report_write_waking(struct orma_report_events *events, const struct orma_report_line *line,
			     uint32_t box)
{
	const struct orma_report_track *track = orma_report_tree_track(events->tree, line->lane);
	uint64_t time = events->file->starts[ORMA_REPORT_THREAD_STATE][box];
	char args[LINE_BYTES];
	struct comm comm = comm_of(events, track->utid);
	if (comm.tid == 0)
		return 0;
	int r = box > line->first ? write_blocked(events, comm.tid, time, box - 1) : 0;
	if (r < 0 || !is_state(events, box, "R") ||
	    orma_base_map_get(&events->stopped_states, (uint64_t)box + 1) ||
	    (box > line->first && is_state(events, box - 1, "Running")))
		return r;
	/* 0 is none. */
	struct comm waker = comm_of(
		events, (int64_t)(orma_report_file_get(events->file, ORMA_REPORT_THREAD_STATE,
						       ORMA_REPORT_WAKER, box) &
				  INT64_MAX) -
				1);
	snprintf(args, sizeof(args), "comm=%s pid=%u prio=%d target_cpu=000", comm.text, comm.tid,
		 PRIORITY_USUAL);
	return add_line(events, "sched_waking", 0, time, &waker, args);
}

/* --- threads that ran before the first switch of their CPU ------------------------------------- */

/* A state that begins though its thread did not run before, as the report has it: the thread was woken, or a switch ended what it did
 * before the trace knew of it. */
struct first_state {
	uint64_t time;
	uint32_t line, box;
	uint32_t taken; /* by switches; it counts in the first of those with one time */
};

static int compare_first_states(const void *a, const void *b)
{
	const struct first_state *one = a, *other = b;
	if (one->time != other->time)
		return one->time < other->time ? -1 : 1;
	return one->box < other->box ? -1 : one->box > other->box;
}

/* True unless the thread ran, runs, or was woken by one that is known. */
static bool is_first_state(const struct orma_report_events *events,
			   const struct orma_report_line *line, uint32_t box)
{
	if (is_state(events, box, "Running") ||
	    (box > line->first && is_state(events, box - 1, "Running")))
		return false;
	return !is_state(events, box, "R") ||
	       orma_report_file_get(events->file, ORMA_REPORT_THREAD_STATE, ORMA_REPORT_WAKER,
				    box) == 0;
}

/* Lists such states in the order of time; the caller frees them. The number, or -ENOMEM. */
static int64_t list_first_states(const struct orma_report_events *events, struct first_state **ret)
{
	const struct orma_report_file *file = events->file;
	uint32_t count = 0, capacity = 0;
	for (uint32_t i = 0; i < file->line_count; i++) {
		const struct orma_report_line *line = &file->lines[i];
		const struct orma_report_track *track =
			line->table == ORMA_REPORT_THREAD_STATE
				? orma_report_tree_track(events->tree, line->lane)
				: NULL;
		for (uint32_t box = line->first; track && track->utid >= 0 && box < line->end;
		     box++) {
			if (!is_first_state(events, line, box))
				continue;
			if (orma_store_grow(ret, (uint64_t)count + 1, &capacity, sizeof(**ret)) < 0)
				return -ENOMEM;
			(*ret)[count++] = (struct first_state){
				.time = file->starts[ORMA_REPORT_THREAD_STATE][box],
				.line = i,
				.box = box};
		}
	}
	if (count > 0)
		qsort(*ret, count, sizeof(**ret), compare_first_states);
	return count;
}

/* Gives the switch that begins a box to the next state that begins with it. 0 or -ENOMEM. */
static int match_box(struct orma_report_events *events, struct first_state *states, size_t count,
		     uint32_t box)
{
	uint64_t start = events->file->starts[ORMA_REPORT_SCHED][box];
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (states[middle].time < start)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == count || states[low].time != start)
		return 0;
	size_t place = low + states[low].taken;
	if (place >= count || states[place].time != start)
		return 0;
	states[low].taken++;
	int r = orma_base_map_put(&events->stopped_by_box, (uint64_t)box + 1,
				  (void *)((uintptr_t)states[place].line + 1));
	return r < 0 ? r
		     : orma_base_map_put(&events->stopped_states, (uint64_t)states[place].box + 1,
					 events);
}

static int match_boxes(struct orma_report_events *events, struct first_state *states, size_t count)
{
	const struct orma_report_file *file = events->file;
	int r = 0;
	for (uint32_t i = 0; i < file->line_count && r == 0; i++) {
		const struct orma_report_line *line = &file->lines[i];
		if (line->table != ORMA_REPORT_SCHED)
			continue;
		for (uint32_t box = line->first; box < line->end && r == 0; box++)
			if (!has_box_before(file, line, box))
				r = match_box(events, states, count, box);
	}
	return r;
}

/* Finds the numbers of states in the kernel that the importer takes the trace for. */
static int number_states(struct orma_report_events *events, unsigned version)
{
	const struct orma_report_tree *tree = events->tree;
	events->state_numbers = orma_base_alloc_array((size_t)tree->state_count + 1,
						      sizeof(*events->state_numbers));
	if (!events->state_numbers)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->state_count; i++) {
		struct orma_str letters = tree->states[i];
		letters.size -= is_io_wait(letters) ? strlen(IO_MARK) : 0;
		events->state_numbers[i] = orma_task_state_number(letters, version);
	}
	return 0;
}

int orma_report_sched_begin(struct orma_report_events *events, unsigned kernel_version)
{
	struct first_state *states = NULL;
	int r = number_states(events, kernel_version);
	int64_t count = r < 0 ? r : list_first_states(events, &states);
	r = count < 0 ? (int)count : match_boxes(events, states, (size_t)count);
	orma_base_free(states);
	return r;
}

void orma_report_sched_done(struct orma_report_events *events)
{
	orma_base_map_done(&events->strip_lines);
	orma_base_map_done(&events->stopped_by_box);
	orma_base_map_done(&events->stopped_states);
	orma_base_free(events->state_numbers);
}
