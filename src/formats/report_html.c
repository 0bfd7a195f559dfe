/* SPDX-License-Identifier: Apache-2.0
 * report_html.c - a page that `orma report` has written becomes a trace again: slices with their flows and stacks, states, counters, scheduling, losses.
 *
 * Metadata but the machine's name are not in a report.
 */
#include <errno.h>
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

#define START_MAX (INT64_C(1) << 62)

/* Pages of systrace begin differently. */
static bool detect(int fd, struct orma_str beginning)
{
	(void)fd;
	return orma_text_starts_with(
		beginning, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			   "<meta http-equiv=\"Content-Security-Policy\"");
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

/* Names the threads of no process, of which the tree writes nothing. */
static int name_lone_threads(struct orma_report_events *events)
{
	const struct orma_report_tree *tree = events->tree;
	int r = 0;
	for (uint32_t i = 0; i < tree->thread_count && r == 0; i++) {
		const struct orma_report_thread *thread = &tree->threads[i];
		if (thread->tid > 0 && thread->upid < 0 && !thread->has_tracks &&
		    thread->name.size > 0)
			r = orma_ftrace_output_name(&events->ftrace, events->start_ns, thread->tid,
						    0, thread->name);
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
		r = orma_report_sched_begin(
			events, orma_task_kernel_version(facts->names[0], facts->names[2]));
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
	if (r == 0)
		r = name_lone_threads(events);
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
	orma_report_sched_done(&events);
	orma_base_free(events.flow_states);
	orma_base_arena_done(&events.arena);
	orma_base_arena_done(&facts.arena);
	orma_report_tree_done(&tree);
	orma_report_file_done(&file);
	return r;
}

const struct orma_format orma_format_report = {"orma_report", false, false, detect, convert};
