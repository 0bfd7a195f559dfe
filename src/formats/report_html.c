/* SPDX-License-Identifier: Apache-2.0
 * report_html.c - a page that `orma report` has written becomes a trace again: slices with their flows and stacks, states, counters, scheduling, losses.
 *
 * Scheduling becomes the kernel's events sched_switch, sched_waking and sched_blocked_reason, so that all tables that are derived
 * from them come back. The idle thread stands for a waker that is not known. Metadata but the machine's name are not in a report.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "formats/format.h"
#include "formats/report_events.h"
#include "formats/text_lines.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/system_info.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "trace/clocks.h"
#include "trace/task_state.h"

enum { COMM_BYTES = 64, LINE_BYTES = 512, CPU_MAX = 4095 };
enum { PRIORITY_USUAL = 120, PRIORITY_REAL_TIME = 50, STATE_SLEEPING = 1 };
/* A report says so behind the letters of a state. */
#define IO_MARK   " (IO)"
#define START_MAX (INT64_C(1) << 62)

/* Pages of systrace begin differently. */
static bool detect(int fd, struct orma_str beginning)
{
	(void)fd;
	return orma_text_starts_with(
		beginning, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			   "<meta http-equiv=\"Content-Security-Policy\"");
}

static bool is_io_wait(struct orma_str state)
{
	return state.size > strlen(IO_MARK) &&
	       memcmp(state.data + state.size - strlen(IO_MARK), IO_MARK, strlen(IO_MARK)) == 0;
}

/* --- scheduling ------------------------------------------------------------------------------ */

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
	comm.pid = orma_report_tree_pid(events->tree, thread);
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
	bool has_before =
		box > line->first && orma_report_end_of(file, ORMA_REPORT_SCHED, box - 1) == start;
	return write_switch(events, cpu, start, has_before ? utid_of(events, box - 1) : -1,
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

/* --- facts ----------------------------------------------------------------------------------- */

struct facts {
	struct orma_packet_output *output;
	struct orma_arena arena;
	int64_t start_ns, realtime_ns;
	bool has_realtime;
	struct orma_str names[4]; /* the name of the system and its parts */
};

static int take_loss_field(void *ctx, const struct orma_json_value *key,
			   const struct orma_json_value *value)
{
	struct orma_stat_value *loss = ctx;
	if (orma_base_str_is(key->text, "count") && !orma_json_value_i64(value, &loss->value))
		return -EBADMSG;
	if (orma_base_str_is(key->text, "stat") && !orma_stats_find(value->text, &loss->stat))
		loss->idx = -1;
	return 0;
}

static int take_loss(void *ctx, const struct orma_json_value *key,
		     const struct orma_json_value *value)
{
	struct facts *facts = ctx;
	struct orma_stat_value loss = {.stat = ORMA_STATS};
	(void)key;
	int r = value->kind == ORMA_JSON_OBJECT
			? orma_report_json_fields(value->text, take_loss_field, &loss)
			: -EBADMSG;
	if (r == 0 && loss.stat < ORMA_STATS && loss.idx == 0)
		orma_stats_add(&facts->output->stats, 0, loss.stat, 0, loss.value);
	return r;
}

static int take_host(void *ctx, const struct orma_json_value *key,
		     const struct orma_json_value *value)
{
	static const char *const names[] = {"system_name", "system_version", "system_release",
					    "system_machine"};
	struct facts *facts = ctx;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(names); i++) {
		if (!orma_base_str_is(key->text, names[i]) || value->kind != ORMA_JSON_STRING)
			continue;
		facts->names[i] = orma_json_unescape(value, &facts->arena);
		if (!facts->names[i].data)
			return -ENOMEM;
	}
	return 0;
}

static bool read_time(const struct orma_json_value *value, int64_t *ret)
{
	return value->kind == ORMA_JSON_STRING && orma_text_read_i64(value->text, ret);
}

static int take_fact(void *ctx, const struct orma_json_value *key,
		     const struct orma_json_value *value)
{
	struct facts *facts = ctx;
	if (orma_base_str_is(key->text, "start_ns"))
		return read_time(value, &facts->start_ns) && facts->start_ns >= 0 &&
				       facts->start_ns <= START_MAX
			       ? 0
			       : -EBADMSG;
	if (orma_base_str_is(key->text, "realtime_start_ns"))
		facts->has_realtime =
			read_time(value, &facts->realtime_ns) && facts->realtime_ns >= 0;
	if (orma_base_str_is(key->text, "losses") && value->kind == ORMA_JSON_ARRAY)
		return orma_report_json_items(value->text, take_loss, facts);
	if (orma_base_str_is(key->text, "host") && value->kind == ORMA_JSON_OBJECT)
		return orma_report_json_fields(value->text, take_host, facts);
	return 0;
}

static void write_clock(struct orma_packet_output *output, uint32_t clock, int64_t ns)
{
	struct orma_proto_writer *writer = &output->heap.writer;
	struct orma_proto_nested nested;
	orma_proto_nested_begin(writer, &nested, ORMA_PB_CLOCK_SNAPSHOT_CLOCKS);
	orma_proto_write_varint(writer, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, clock);
	orma_proto_write_int(writer, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, ns);
	orma_packet_output_nested_end(output, &nested);
}

static int write_clocks(const struct facts *facts)
{
	struct orma_proto_nested snapshot;
	if (!facts->has_realtime)
		return 0;
	struct orma_proto_writer *writer =
		orma_packet_output_begin_untimed(facts->output, ORMA_REPORT_SEQUENCE);
	orma_proto_nested_begin(writer, &snapshot, ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT);
	write_clock(facts->output, ORMA_CLOCK_BOOTTIME, facts->start_ns);
	write_clock(facts->output, ORMA_CLOCK_REALTIME, facts->realtime_ns);
	return orma_packet_output_end(facts->output);
}

static int write_host(const struct facts *facts)
{
	static const uint32_t fields[] = {ORMA_PB_UTSNAME_SYSNAME, ORMA_PB_UTSNAME_VERSION,
					  ORMA_PB_UTSNAME_RELEASE, ORMA_PB_UTSNAME_MACHINE};
	struct orma_proto_nested info, name;
	if (facts->names[0].size == 0)
		return 0;
	struct orma_proto_writer *writer =
		orma_packet_output_begin_untimed(facts->output, ORMA_REPORT_SEQUENCE);
	orma_proto_nested_begin(writer, &info, ORMA_PB_TRACE_PACKET_SYSTEM_INFO);
	orma_proto_nested_begin(writer, &name, ORMA_PB_SYSTEM_INFO_UTSNAME);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(fields); i++)
		if (facts->names[i].size > 0)
			orma_proto_write_str(writer, fields[i], facts->names[i]);
	return orma_packet_output_end(facts->output);
}

/* Finds the numbers of states in the kernel that the importer takes the trace for. */
static int number_states(struct orma_report_events *events, const struct facts *facts)
{
	const struct orma_report_tree *tree = events->tree;
	unsigned version = orma_task_kernel_version(facts->names[0], facts->names[2]);
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

/* --- all of it ------------------------------------------------------------------------------- */

/* Tells tracks what their boxes are, and finds the strips of threads' states. */
static int mark_tracks(struct orma_report_events *events)
{
	const struct orma_report_file *file = events->file;
	int r = 0;
	for (uint32_t i = 0; i < file->line_count && r == 0; i++) {
		const struct orma_report_line *line = &file->lines[i];
		uintptr_t place = (uintptr_t)orma_base_map_get(&events->tree->by_lane,
							       (uint64_t)line->lane + 1);
		if (place == 0)
			continue;
		struct orma_report_track *track = &events->tree->tracks[place - 1];
		track->is_counter = line->table == ORMA_REPORT_COUNTER;
		track->is_state = line->table == ORMA_REPORT_STATE;
		track->has_events =
			track->is_counter || line->table == ORMA_REPORT_SLICE || track->is_state;
		if (line->table == ORMA_REPORT_THREAD_STATE && track->utid >= 0)
			r = orma_base_map_put(&events->strip_lines, (uint64_t)track->utid + 1,
					      (void *)(uintptr_t)(i + 1));
	}
	return r;
}

static int write_all(struct orma_report_events *events, struct facts *facts,
		     struct orma_error *reterr)
{
	const struct orma_report_file *file = events->file;
	int r = orma_report_json_object(orma_base_buf_str(&file->meta), take_fact, facts);
	if (r == 0)
		r = orma_report_tree_read(events->tree, file->tracks);
	if (r == -EBADMSG)
		return orma_base_error_set(reterr, r,
					   "the report is damaged: its tracks cannot be read");
	if (r == 0)
		r = mark_tracks(events);
	if (r == 0)
		r = number_states(events, facts);
	events->flow_states = orma_base_alloc_array((size_t)file->flow_count + 1, 1);
	if (!events->flow_states)
		r = -ENOMEM;
	if (r == 0)
		r = write_clocks(facts);
	if (r == 0)
		r = write_host(facts);
	if (r == 0)
		r = orma_report_tree_write(events->tree, events->output);
	events->start_ns = facts->start_ns;
	return r ? r : orma_report_events_write(events);
}

static int convert(struct orma_conversion *conversion, struct orma_error *reterr)
{
	struct orma_report_file file = {.unpacked = {.fd = -1, .spool_fd = -1}};
	struct orma_report_tree tree = {0};
	struct facts facts = {.output = conversion->output};
	struct orma_report_events events = {
		.file = &file,
		.tree = &tree,
		.output = conversion->output,
		.ftrace = {.output = conversion->output, .has_trace_clock = true}};
	int r = orma_report_file_read(&file, conversion->input, reterr);
	if (r == 0)
		r = write_all(&events, &facts, reterr);
	orma_ftrace_output_done(&events.ftrace);
	orma_base_map_done(&events.strip_lines);
	orma_base_free(events.state_numbers);
	orma_base_free(events.flow_states);
	orma_base_arena_done(&events.arena);
	orma_base_arena_done(&facts.arena);
	orma_report_tree_done(&tree);
	orma_report_file_done(&file);
	return r;
}

const struct orma_format orma_format_report = {"orma_report", false, false, detect, convert};
