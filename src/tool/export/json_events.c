/* SPDX-License-Identifier: Apache-2.0
 * json_events.c - slices of threads are complete events (X) in the order of the trace. Slices of other tracks are pairs
 * (b and e), which viewers want in the order of their times: an end before a begin at the same time, and an inner end
 * before an outer one. SQLite sorts them, in a file when they are many.
 *
 * As in Perfetto, a slice without a category is left out, and so is one on the track of a process as a whole or on the
 * global one, unless it is an instant: the format has no such events.
 */
#include "tool/export/json_events.h"

#include <errno.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/macros.h"
#include "tool/export/export_tables.h"
#include "tool/tool.h"

/* How an event of another track than a thread's is ordered at its time. */
enum async_kind { ASYNC_INSTANT, ASYNC_END, ASYNC_BEGIN };

/* The columns of `slice_query`. */
enum {
	SLICE_ID,
	SLICE_TS,
	SLICE_DUR,
	SLICE_CATEGORY,
	SLICE_NAME,
	SLICE_THREAD_TS,
	SLICE_THREAD_DUR,
	SLICE_INSTRUCTIONS,
	SLICE_INSTRUCTION_DELTA,
	SLICE_TRACK,
	SLICE_UTID,
	SLICE_UPID,
	SLICE_IS_CHILD,
	SLICE_IS_CHROME,
	SLICE_SCOPE,
	SLICE_IS_SCOPED,
	SLICE_CHROME_UPID,
	SLICE_PHASE,
	SLICE_LEGACY_UTID,
	SLICE_SOURCE_ID,
	SLICE_ARGS,
};

/* The names of debug annotations move up, and the names that Chrome's own fields had in JSON come back. */
#define ARGS_OF(set)                                                                               \
	"(with a as (select __intrinsic_arg_set_to_json(" set ") as j), "                          \
	"b as (select json_remove(case when json_type(j, '$.debug') = 'object' "                   \
	"then json_patch(json_remove(j, '$.debug'), json_remove(j, '$.debug.legacy_event') -> "    \
	"'$.debug') else j end, '$.legacy_event', '$.legacy_trace_source_id') as j from a), "      \
	"c as (select case "                                                                       \
	"when j -> '$.task.posted_from.function_name' is not null "                                \
	"then json_set(json_remove(j, '$.task.posted_from'), "                                     \
	"'$.src_func', j ->> '$.task.posted_from.function_name', "                                 \
	"'$.src_file', j ->> '$.task.posted_from.file_name', "                                     \
	"'$.src_line', j ->> '$.task.posted_from.line_number') "                                   \
	"when j -> '$.task.posted_from' is not null "                                              \
	"then json_set(json_remove(j, '$.task.posted_from'), "                                     \
	"'$.src', j ->> '$.task.posted_from.file_name') else j end as j from b), "                 \
	"d as (select case when j -> '$.task' = '{}' then json_remove(j, '$.task') else j end "    \
	"as j from c) "                                                                            \
	"select case when json_type(j, '$.source') = 'object' and "                                \
	"j -> '$.source.function_name' is not null "                                               \
	"then json_set(json_remove(j, '$.source'), '$.function_name', "                            \
	"j ->> '$.source.function_name', '$.file_name', j ->> '$.source.file_name', "              \
	"'$.line_number', j ->> '$.source.line_number') else j end from d)"

static const char slice_query[] =
	"select s.id, s.ts, s.dur, s.category, s.name, s.thread_ts, s.thread_dur, "
	"s.thread_instruction_count, s.thread_instruction_delta, s.track_id, t.utid, t.upid, "
	"extract_arg(t.source_arg_set_id, 'is_root_in_scope') = 0, "
	"extract_arg(t.source_arg_set_id, 'source') = 'chrome', "
	"extract_arg(t.source_arg_set_id, 'source_scope'), "
	"extract_arg(t.source_arg_set_id, 'trace_id_is_process_scoped'), "
	"coalesce(extract_arg(t.dimension_arg_set_id, 'upid'), t.upid), "
	"extract_arg(s.arg_set_id, 'legacy_event.phase'), "
	"extract_arg(s.arg_set_id, 'legacy_event.passthrough_utid'), "
	"extract_arg(s.arg_set_id, 'legacy_trace_source_id'), " ARGS_OF(
		"s.arg_set_id") " "
				"from __intrinsic_slice s join __intrinsic_track t on t.id = "
				"s.track_id where ";

static struct orma_str text_at(sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);
	return (struct orma_str){text ? text : "", (size_t)sqlite3_column_bytes(row, column)};
}

static bool has(sqlite3_stmt *row, int column)
{
	return sqlite3_column_type(row, column) != SQLITE_NULL;
}

static int64_t int_at(sqlite3_stmt *row, int column)
{
	return sqlite3_column_int64(row, column);
}

int orma_json_append_int(struct orma_buf *json, const char *name, int64_t value)
{
	int r = orma_json_append_key(json, name);
	return r == 0 ? orma_base_buf_printf(json, "%lld", (long long)value) : r;
}

int orma_json_end_event(struct orma_json_output *output, int error)
{
	int r = error == 0 ? orma_base_buf_append(&output->event, "}", 1) : error;
	if (r < 0)
		return orma_tool_fail("%s", strerror(-r));
	int status = output->has_events ? orma_export_file_write(output->file, ",\n", 2) : 0;
	output->has_events = true;
	if (status == 0)
		status = orma_export_file_write(output->file, output->event.data,
						output->event.size);
	output->event.size = 0;
	return status;
}

static int append_id(struct orma_buf *json, const char *name, uint64_t id)
{
	char text[24];
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)id);
	return orma_json_append_text(json, name, orma_base_str(text));
}

static int append_local_id(struct orma_buf *json, uint64_t id)
{
	int r = orma_json_append_key(json, "id2");
	if (r == 0)
		r = orma_base_buf_append(json, "{", 1);
	if (r == 0)
		r = append_id(json, "local", id);
	return r == 0 ? orma_base_buf_append(json, "}", 1) : r;
}

static int append_begin(struct orma_buf *json, sqlite3_stmt *slice, int64_t ts)
{
	int r = orma_base_buf_append(json, "{", 1);
	if (r == 0)
		r = orma_json_append_text(json, "name", text_at(slice, SLICE_NAME));
	if (r == 0)
		r = orma_json_append_text(json, "cat", text_at(slice, SLICE_CATEGORY));
	return r == 0 ? orma_json_append_int(json, "ts", ts / 1000) : r;
}

static int append_args(struct orma_buf *json, struct orma_str args)
{
	int r = orma_json_append_key(json, "args");
	if (args.size == 0)
		args = ORMA_STR("{}");
	return r == 0 ? orma_base_buf_append(json, args.data, args.size) : r;
}

static int append_place(struct orma_buf *json, int64_t pid, int64_t tid)
{
	int r = orma_json_append_int(json, "pid", pid);
	return r == 0 ? orma_json_append_int(json, "tid", tid) : r;
}

/* Appends the thread's time and count of instructions; `is_end` asks for the end of a pair. */
static int append_thread_time(struct orma_buf *json, sqlite3_stmt *slice, bool is_end)
{
	int64_t ts = int_at(slice, SLICE_THREAD_TS), count = int_at(slice, SLICE_INSTRUCTIONS);
	int64_t dur = int_at(slice, SLICE_THREAD_DUR),
		delta = int_at(slice, SLICE_INSTRUCTION_DELTA);
	int r = ts > 0 ? orma_json_append_int(json, "tts", (is_end ? ts + dur : ts) / 1000) : 0;
	if (r == 0 && count > 0)
		r = orma_json_append_int(json, "ticount", is_end ? count + delta : count);
	return r;
}

static const char *phase_of(sqlite3_stmt *slice, const char *usual)
{
	const char *phase = (const char *)sqlite3_column_text(slice, SLICE_PHASE);
	return phase && *phase ? phase : usual;
}

/* A slice or an instant of a thread. */
static int write_of_thread(struct orma_json_output *output, sqlite3_stmt *slice)
{
	struct orma_buf *json = &output->event;
	struct orma_json_thread thread = orma_json_thread(&output->ids, int_at(slice, SLICE_UTID));
	int64_t dur = int_at(slice, SLICE_DUR);
	const char *phase = dur == 0 ? phase_of(slice, "I") : dur > 0 ? "X" : "B";
	int r = append_begin(json, slice, int_at(slice, SLICE_TS));
	if (r == 0)
		r = append_place(json, thread.pid, thread.tid);
	if (r == 0)
		r = orma_json_append_text(json, "ph", orma_base_str(phase));
	if (r == 0 && dur == 0)
		r = orma_json_append_text(json, "s", ORMA_STR("t"));
	if (r == 0 && dur > 0)
		r = orma_json_append_int(json, "dur", dur / 1000);
	if (r == 0)
		r = append_thread_time(json, slice, false);
	if (r == 0 && dur > 0 && int_at(slice, SLICE_THREAD_TS) > 0 && has(slice, SLICE_THREAD_DUR))
		r = orma_json_append_int(json, "tdur", int_at(slice, SLICE_THREAD_DUR) / 1000);
	if (r == 0 && dur > 0 && int_at(slice, SLICE_INSTRUCTIONS) > 0 &&
	    has(slice, SLICE_INSTRUCTION_DELTA))
		r = orma_json_append_int(json, "tidelta", int_at(slice, SLICE_INSTRUCTION_DELTA));
	if (r == 0)
		r = append_args(json, text_at(slice, SLICE_ARGS));
	return orma_json_end_event(output, r);
}

/* The thread that the event names, or the process's main thread. */
static int64_t legacy_tid(struct orma_json_output *output, sqlite3_stmt *slice, int64_t pid)
{
	return has(slice, SLICE_LEGACY_UTID)
		       ? orma_json_thread(&output->ids, int_at(slice, SLICE_LEGACY_UTID)).tid
		       : pid;
}

/* An instant of a process, or of everything. */
static int write_global(struct orma_json_output *output, sqlite3_stmt *slice)
{
	struct orma_buf *json = &output->event;
	bool has_process = has(slice, SLICE_UPID);
	int64_t pid = has_process ? orma_json_pid(&output->ids, int_at(slice, SLICE_UPID)) : 0;
	if (int_at(slice, SLICE_DUR) != 0)
		return 0;
	int r = append_begin(json, slice, int_at(slice, SLICE_TS));
	if (r == 0)
		r = append_place(json, pid, has_process ? legacy_tid(output, slice, pid) : 0);
	if (r == 0)
		r = orma_json_append_text(json, "ph", orma_base_str(phase_of(slice, "I")));
	if (r == 0)
		r = orma_json_append_text(json, "s", orma_base_str(has_process ? "p" : "g"));
	if (r == 0)
		r = append_args(json, text_at(slice, SLICE_ARGS));
	return orma_json_end_event(output, r);
}

/* The id by which a viewer finds the events that belong together. */
static int append_chrome_place(struct orma_json_output *output, sqlite3_stmt *slice)
{
	struct orma_buf *json = &output->event;
	int64_t pid = orma_json_pid(&output->ids, int_at(slice, SLICE_CHROME_UPID));
	uint64_t id = (uint64_t)int_at(slice, SLICE_SOURCE_ID);
	struct orma_str scope = text_at(slice, SLICE_SCOPE);
	int r = append_place(json, pid, legacy_tid(output, slice, pid));
	if (r == 0 && scope.size > 0)
		r = orma_json_append_text(json, "scope", scope);
	if (r < 0)
		return r;
	return int_at(slice, SLICE_IS_SCOPED) ? append_local_id(json, id)
					      : append_id(json, "id", id);
}

static int append_async_place(struct orma_json_output *output, sqlite3_stmt *slice)
{
	struct orma_buf *json = &output->event;
	struct orma_json_thread thread = {0, 0};
	uint64_t track = (uint64_t)int_at(slice, SLICE_TRACK);
	bool is_local = has(slice, SLICE_UTID) || has(slice, SLICE_UPID);
	if (int_at(slice, SLICE_IS_CHROME))
		return append_chrome_place(output, slice);
	if (has(slice, SLICE_UTID)) {
		thread = orma_json_thread(&output->ids, int_at(slice, SLICE_UTID));
	} else if (has(slice, SLICE_UPID)) {
		thread.pid = orma_json_pid(&output->ids, int_at(slice, SLICE_UPID));
		thread.tid = legacy_tid(output, slice, thread.pid);
	} else if (has(slice, SLICE_LEGACY_UTID)) {
		thread = orma_json_thread(&output->ids, int_at(slice, SLICE_LEGACY_UTID));
	}
	int r = append_place(json, thread.pid, thread.tid);
	if (r < 0)
		return r;
	return is_local ? append_local_id(json, track) : append_id(json, "id", track);
}

static int write_async(struct orma_json_output *output, sqlite3_stmt *slice, enum async_kind kind)
{
	struct orma_buf *json = &output->event;
	bool is_end = kind == ASYNC_END, has_phase = phase_of(slice, NULL) != NULL;
	int64_t ts = int_at(slice, SLICE_TS), dur = int_at(slice, SLICE_DUR);
	const char *phase = kind == ASYNC_INSTANT ? "n"
			    : is_end              ? (has_phase ? "F" : "e")
						  : phase_of(slice, "b");
	bool has_time = int_at(slice, SLICE_THREAD_TS) > 0 || int_at(slice, SLICE_INSTRUCTIONS) > 0;
	int r = append_begin(json, slice, is_end ? ts + dur : ts);
	if (r == 0)
		r = append_async_place(output, slice);
	if (r == 0)
		r = orma_json_append_text(json, "ph", orma_base_str(phase));
	if (r == 0)
		r = append_thread_time(json, slice, is_end);
	if (r == 0 && has_time)
		r = orma_json_append_int(json, "use_async_tts", 1);
	if (r == 0)
		r = append_args(json, is_end ? ORMA_STR("{}") : text_at(slice, SLICE_ARGS));
	return orma_json_end_event(output, r);
}

static int keep_async(sqlite3_stmt *insert, int64_t ts, enum async_kind kind, int64_t id)
{
	sqlite3_bind_int64(insert, 1, ts / 1000);
	sqlite3_bind_int(insert, 2, (int)kind);
	sqlite3_bind_int64(insert, 3, id);
	int more = orma_export_step(insert);
	sqlite3_reset(insert);
	return more < 0 ? ORMA_EXIT_FAILURE : 0;
}

/* Leaves the slice for later, when all are in the order of time. */
static int keep_slice(sqlite3_stmt *insert, sqlite3_stmt *slice)
{
	int64_t ts = int_at(slice, SLICE_TS), dur = int_at(slice, SLICE_DUR),
		id = int_at(slice, SLICE_ID);
	bool is_instant = dur == 0 && !phase_of(slice, NULL);
	int status = keep_async(insert, ts, is_instant ? ASYNC_INSTANT : ASYNC_BEGIN, id);
	return status == 0 && dur > 0 ? keep_async(insert, ts + dur, ASYNC_END, id) : status;
}

static int write_slice(struct orma_json_output *output, sqlite3_stmt *slice, sqlite3_stmt *insert)
{
	bool is_child = int_at(slice, SLICE_IS_CHILD);
	if (strcmp((const char *)sqlite3_column_text(slice, SLICE_CATEGORY), "binder") == 0)
		return 0;
	if (has(slice, SLICE_UTID) && !is_child)
		return write_of_thread(output, slice);
	if (is_child || (int_at(slice, SLICE_IS_CHROME) && has(slice, SLICE_SOURCE_ID)))
		return keep_slice(insert, slice);
	return write_global(output, slice);
}

static int write_kept(struct orma_json_output *output)
{
	sqlite3_stmt *order =
		orma_export_prepare(output->database,
				    "select id, kind from __orma_export_async order by ts, kind, "
				    "iif(kind = %d, -id, id)",
				    ASYNC_END);
	sqlite3_stmt *slice = orma_export_prepare(output->database, "%ss.id = ?", slice_query);
	int status = order && slice ? 0 : ORMA_EXIT_FAILURE, more = 0;
	while (status == 0 && (more = orma_export_step(order)) > 0) {
		sqlite3_bind_int64(slice, 1, int_at(order, 0));
		int found = orma_export_step(slice);
		if (found > 0)
			status = write_async(output, slice,
					     (enum async_kind)sqlite3_column_int(order, 1));
		sqlite3_reset(slice);
		status = found < 0 ? ORMA_EXIT_FAILURE : status;
	}
	sqlite3_finalize(order);
	sqlite3_finalize(slice);
	return more < 0 ? ORMA_EXIT_FAILURE : status;
}

static int execute(struct orma_json_output *output, const char *text)
{
	sqlite3_stmt *statement = orma_export_prepare(output->database, "%s", text);
	int more = statement ? orma_export_step(statement) : -1;
	sqlite3_finalize(statement);
	return more < 0 ? ORMA_EXIT_FAILURE : 0;
}

int orma_json_write_slices(struct orma_json_output *output)
{
	int status = execute(output, "create table __orma_export_async(ts, kind, id)"), more = 0;
	if (status)
		return status;
	sqlite3_stmt *slices = orma_export_prepare(
		output->database, "%ss.category is not null order by s.id", slice_query);
	sqlite3_stmt *insert = orma_export_prepare(
		output->database, "insert into __orma_export_async values(?, ?, ?)");
	status = slices && insert ? execute(output, "begin") : ORMA_EXIT_FAILURE;
	while (status == 0 && (more = orma_export_step(slices)) > 0)
		status = write_slice(output, slices, insert);
	sqlite3_finalize(slices);
	sqlite3_finalize(insert);
	if (status == 0)
		status = execute(output, "commit");
	if (status == 0 && more == 0)
		status = write_kept(output);
	int dropped = execute(output, "drop table __orma_export_async");
	return more < 0 ? ORMA_EXIT_FAILURE : status ? status : dropped;
}

/* --- flows --------------------------------------------------------------------------------- */

/* The columns of the query of flows. */
enum {
	FLOW_ID,
	FLOW_NAME,
	FLOW_CATEGORY,
	FLOW_OUT_UTID,
	FLOW_OUT_TS,
	FLOW_IN_UTID,
	FLOW_IN_TS,
	FLOW_ARGS
};

static int write_flow_end(struct orma_json_output *output, sqlite3_stmt *flow, bool is_begin)
{
	struct orma_buf *json = &output->event;
	struct orma_json_thread thread = orma_json_thread(
		&output->ids, int_at(flow, is_begin ? FLOW_OUT_UTID : FLOW_IN_UTID));
	int r = orma_base_buf_append(json, "{", 1);
	if (r == 0)
		r = orma_json_append_int(json, "id", int_at(flow, FLOW_ID));
	if (r == 0)
		r = orma_json_append_text(json, "name", text_at(flow, FLOW_NAME));
	if (r == 0)
		r = orma_json_append_text(json, "cat", text_at(flow, FLOW_CATEGORY));
	if (r == 0)
		r = orma_json_append_text(json, "ph", orma_base_str(is_begin ? "s" : "f"));
	if (r == 0 && !is_begin)
		r = orma_json_append_text(json, "bp", ORMA_STR("e"));
	if (r == 0)
		r = append_place(json, thread.pid, thread.tid);
	if (r == 0)
		r = orma_json_append_int(json, "ts",
					 int_at(flow, is_begin ? FLOW_OUT_TS : FLOW_IN_TS) / 1000);
	if (r == 0)
		r = append_args(json, text_at(flow, FLOW_ARGS));
	return orma_json_end_event(output, r);
}

int orma_json_write_flows(struct orma_json_output *output)
{
	int status = 0, more = -1;
	/* The format has flows between slices of threads only. */
	sqlite3_stmt *flow = orma_export_prepare(
		output->database,
		"select f.id, iif(f.arg_set_id is null, o.name, extract_arg(f.arg_set_id, "
		"'name')), "
		"iif(f.arg_set_id is null, o.category, extract_arg(f.arg_set_id, 'cat')), "
		"ot.utid, o.ts, it.utid, i.ts, "
		"json_remove(" ARGS_OF(
			"f.arg_set_id") ", '$.name', '$.cat') "
					"from __intrinsic_flow f join __intrinsic_slice o on o.id "
					"= f.slice_out "
					"join __intrinsic_track ot on ot.id = o.track_id "
					"join __intrinsic_slice i on i.id = f.slice_in "
					"join __intrinsic_track it on it.id = i.track_id "
					"where ot.utid is not null and it.utid is not null order "
					"by f.id");
	while (flow && status == 0 && (more = orma_export_step(flow)) > 0) {
		status = write_flow_end(output, flow, true);
		if (status == 0)
			status = write_flow_end(output, flow, false);
	}
	sqlite3_finalize(flow);
	return more < 0 ? ORMA_EXIT_FAILURE : status;
}
