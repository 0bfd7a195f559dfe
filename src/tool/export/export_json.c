/* SPDX-License-Identifier: Apache-2.0
 * export_json.c - the format of chrome://tracing, with what Perfetto's Trace Processor puts into it: names of threads and
 * processes, slices and flows, and of the trace itself its config and its statistics.
 */
#include <string.h>

#include "base/json_writer.h"
#include "base/macros.h"
#include "tool/export/export_tables.h"
#include "tool/export/json_events.h"
#include "tool/tool.h"

static int write_text(struct orma_json_output *output, const char *text)
{
	return orma_export_file_write(output->file, text, strlen(text));
}

/* An event that says something about a process or thread. */
static int write_fact(struct orma_json_output *output, const char *kind, const char *name,
		      struct orma_str value, struct orma_json_thread place)
{
	struct orma_buf *json = &output->event;
	int r = orma_base_buf_append_str(json, "{\"ph\":\"M\",\"cat\":\"__metadata\",\"ts\":0");
	if (r == 0)
		r = orma_json_append_text(json, "name", orma_base_str(kind));
	if (r == 0)
		r = orma_json_append_int(json, "pid", place.pid);
	if (r == 0)
		r = orma_json_append_int(json, "tid", place.tid);
	if (r == 0)
		r = orma_json_append_key(json, "args");
	if (r == 0)
		r = orma_base_buf_append(json, "{", 1);
	if (r == 0)
		r = orma_json_append_text(json, name, value);
	if (r == 0)
		r = orma_base_buf_append(json, "}", 1);
	return orma_json_end_event(output, r);
}

/* Writes a fact for each row of a query: an id, and the text. */
static int write_facts(struct orma_json_output *output, const char *kind, const char *name,
		       bool is_thread, const char *query)
{
	sqlite3_stmt *rows = orma_export_prepare(output->database, "%s", query);
	int status = 0, more = -1;
	while (rows && status == 0 && (more = orma_export_step(rows)) > 0) {
		int64_t id = sqlite3_column_int64(rows, 0);
		struct orma_str value = {(const char *)sqlite3_column_text(rows, 1),
					 (size_t)sqlite3_column_bytes(rows, 1)};
		struct orma_json_thread place =
			is_thread ? orma_json_thread(&output->ids, id)
				  : (struct orma_json_thread){orma_json_pid(&output->ids, id), 0};
		status = write_fact(output, kind, name, value, place);
	}
	sqlite3_finalize(rows);
	return more < 0 ? ORMA_EXIT_FAILURE : status;
}

static int write_names(struct orma_json_output *output)
{
	int status = write_facts(output, "thread_name", "name", true,
				 "select id, name from __intrinsic_thread where name is not null "
				 "order by id");
	if (status == 0)
		status = write_facts(
			output, "process_name", "name", false,
			"select id, name from __intrinsic_process where name is not null "
			"order by id");
	/* About, because the trace seldom says when a process ends. */
	return status ? status
		      : write_facts(output, "process_uptime_seconds", "uptime", false,
				    "with e as (select max(ts + dur) as ts from __intrinsic_slice) "
				    "select p.id, cast((e.ts - p.start_ts) / 1000000000 as text) "
				    "from __intrinsic_process p join e "
				    "where p.start_ts is not null and e.ts > 0 order by p.id");
}

/* A statistic with an index is a list; those of the buffers are objects in one list. */
#define STATISTICS                                                                                 \
	"select json_group_object(name, json(value)) from ("                                       \
	"select name, cast(sum(value) as text) as value from stats where idx is null "             \
	"group by name union all "                                                                 \
	"select name, json_group_object(cast(idx as text), value) from stats "                     \
	"where idx is not null and name not glob 'traced_buf_*' group by name union all "          \
	"select 'traced_buf', json_group_object(idx, json(value)) from ("                          \
	"select cast(idx as text) as idx, json_group_object(substr(name, 12), value) as value "    \
	"from stats where idx is not null and name glob 'traced_buf_*' group by 1) "               \
	"having count(*) > 0)"

static int write_about_trace(struct orma_json_output *output)
{
	struct orma_buf *json = &output->event;
	sqlite3_stmt *config = orma_export_prepare(
		output->database,
		"select str_value from metadata where name = 'trace_config_pbtxt'");
	sqlite3_stmt *statistics = orma_export_prepare(output->database, STATISTICS);
	int has_config = config ? orma_export_step(config) : -1;
	int has_statistics = statistics ? orma_export_step(statistics) : -1;
	int r = orma_base_buf_append_str(json, "],\n\"metadata\":{");
	if (r == 0 && has_config > 0)
		r = orma_json_append_text(
			json, "trace-config",
			orma_base_str((const char *)sqlite3_column_text(config, 0)));
	if (r == 0 && has_statistics > 0)
		r = orma_json_append_key(json, "trace_processor_stats");
	if (r == 0 && has_statistics > 0)
		r = orma_base_buf_append_str(json,
					     (const char *)sqlite3_column_text(statistics, 0));
	if (r == 0)
		r = orma_base_buf_append_str(json, "}}\n");
	sqlite3_finalize(config);
	sqlite3_finalize(statistics);
	if (has_config < 0 || has_statistics < 0)
		return ORMA_EXIT_FAILURE;
	return r < 0 ? orma_tool_fail("%s", strerror(-r))
		     : orma_export_file_write(output->file, json->data, json->size);
}

int orma_export_json(struct orma_trace_database *database,
		     const struct orma_export_options *options)
{
	struct orma_export_file file;
	struct orma_json_output output = {.database = database, .file = &file};
	int status = orma_export_file_open(&file, options->path);
	if (status)
		return status;
	status = orma_json_ids_read(database, &output.ids);
	if (status == 0)
		status = write_text(&output, "{\"traceEvents\":[\n");
	if (status == 0)
		status = write_names(&output);
	if (status == 0)
		status = orma_json_write_slices(&output);
	if (status == 0)
		status = orma_json_write_flows(&output);
	if (status == 0)
		status = write_about_trace(&output);
	if (status == 0)
		status = orma_export_file_finish(&file);
	orma_export_file_done(&file);
	orma_json_ids_done(&output.ids);
	orma_base_buf_done(&output.event);
	return status;
}
