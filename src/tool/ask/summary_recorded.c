/* SPDX-License-Identifier: Apache-2.0
 * summary_recorded.c - what a trace holds: when and where it was recorded, how, of which programs, and what is missing in it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "answers/column_scan.h"
#include "answers/losses.h"
#include "answers/task_names.h"
#include "answers/trace_metadata.h"
#include "base/json_writer.h"
#include "base/macros.h"
#include "tool/ask/summary_facts.h"
#include "tool/ask/units.h"

/* The size of what the user names, and not that of packets which it became. */
static int64_t size_of(const struct orma_trace_database *database)
{
	const struct orma_trace_files *files = &database->files;
	uint64_t size_bytes = 0;
	for (uint32_t i = 0; i < files->count; i++)
		if (files->items[i].parent == ORMA_TRACE_FILE_NONE)
			size_bytes += files->items[i].size_bytes;
	return (int64_t)size_bytes;
}

/* --- losses ----------------------------------------------------------------------------------- */

static const struct orma_fact_column loss_columns[] = {
	{"name", "name", ORMA_FACT_TEXT},
	{"severity", NULL, ORMA_FACT_TEXT},
	{"count", "count", ORMA_FACT_COUNT},
	{"meaning", "meaning", ORMA_FACT_TEXT},
};

static int find_losses(struct orma_summary *summary)
{
	struct orma_losses losses;
	int r = orma_losses_find(summary->database, &losses);
	for (uint32_t i = 0; i < losses.count && r == 0; i++) {
		const struct orma_loss *loss = &losses.items[i];
		struct orma_fact *cells = orma_fact_table_add(&summary->losses);
		if (!cells) {
			r = -ENOMEM;
			break;
		}
		cells[0] = orma_fact_text(loss->name);
		cells[1] = orma_fact_text(loss->severity);
		cells[2] = orma_fact_integer(loss->count);
		cells[3] = orma_fact_text(orma_base_str(loss->meaning));
	}
	orma_losses_done(&losses);
	return r;
}

/* Without statistics of the service, its losses are not known. Traces of LTTng count their own. */
static bool has_service_stats(const struct orma_trace_database *database)
{
	if (orma_base_str_is(orma_trace_metadata_text(database, "trace_type"), "ctf"))
		return true;
	const struct orma_table *table = &database->tables.all[ORMA_TABLE_STATS];
	uint32_t id =
		orma_store_pool_find(&database->tables.strings, ORMA_STR("traced_total_buffers"));
	for (uint64_t row = 0; id > 0 && row < orma_store_table_rows(table); row++)
		if (orma_store_column_get(&table->columns[ORMA_STATS_NAME], row) == id)
			return orma_store_column_get(&table->columns[ORMA_STATS_VALUE], row) > 0;
	return false;
}

/* --- programs --------------------------------------------------------------------------------- */

static const struct orma_fact_column program_columns[] = {
	{"process", NULL, ORMA_FACT_TEXT},
	{"pid", NULL, ORMA_FACT_ID},
	{"slices", NULL, ORMA_FACT_COUNT},
	{"counter_values", NULL, ORMA_FACT_COUNT},
};

struct program {
	int64_t upid;
	uint64_t slices, values;
};

/* Returns the process that a track belongs to, or -1. */
static int64_t process_of_track(const struct orma_trace_database *database, uint64_t track)
{
	int64_t utid = orma_trace_database_cell(database, ORMA_TABLE_TRACK, ORMA_TRACK_UTID, track);
	int64_t upid = orma_trace_database_cell(database, ORMA_TABLE_TRACK, ORMA_TRACK_UPID, track);
	return utid >= 0 ? orma_thread_process(database, utid) : upid;
}

static int count_slices(struct orma_summary *summary, struct program *programs, size_t count)
{
	static const size_t column = ORMA_SLICE_TRACK_ID;
	struct orma_trace_database *database = summary->database;
	size_t tracks = (size_t)orma_store_table_rows(&database->tables.all[ORMA_TABLE_TRACK]);
	uint64_t *slices = orma_base_arena_alloc(&summary->arena, (tracks + 1) * sizeof(*slices));
	struct orma_column_scan scan = {0};
	int r = slices ? orma_column_scan_begin(&scan, &database->tables.all[ORMA_TABLE_SLICE],
						&column, 1, 0)
		       : -ENOMEM;
	while (r == 0 && orma_column_scan_next(&scan))
		for (size_t i = 0; i < scan.row_count; i++)
			slices[ORMA_MIN((uint64_t)scan.cells[0][i], (uint64_t)tracks)]++;
	orma_column_scan_done(&scan);
	for (size_t i = 0; i < tracks && r == 0; i++) {
		int64_t upid = process_of_track(database, i);
		if (upid >= 0 && (uint64_t)upid < count) {
			programs[upid].slices += slices[i];
			programs[upid].values += summary->counters.tracks[i].count;
		}
	}
	return r;
}

/* Slices count first: all processes of a machine have counters. */
static int compare_programs(const void *a, const void *b)
{
	const struct program *x = a, *y = b;
	if (x->slices != y->slices)
		return x->slices > y->slices ? -1 : 1;
	if (x->values != y->values)
		return x->values > y->values ? -1 : 1;
	return x->upid < y->upid ? -1 : 1;
}

static int find_programs(struct orma_summary *summary)
{
	struct orma_trace_database *database = summary->database;
	size_t count = (size_t)orma_store_table_rows(&database->tables.all[ORMA_TABLE_PROCESS]);
	struct program *programs =
		orma_base_arena_alloc(&summary->arena, (count + 1) * sizeof(*programs));
	int r = programs ? count_slices(summary, programs, count) : -ENOMEM;
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		programs[i].upid = (int64_t)i;
	qsort(programs, count, sizeof(*programs), compare_programs);
	for (size_t i = 0; i < ORMA_MIN(count, summary->top) && programs[i].slices > 0; i++) {
		struct orma_task_name name = orma_process_name(database, programs[i].upid);
		struct orma_fact *cells = orma_fact_table_add(&summary->programs);
		if (!cells)
			return -ENOMEM;
		cells[0] = orma_fact_text(name.name);
		cells[1] = (struct orma_fact){.is_known = name.id >= 0, .integer = name.id};
		cells[2] = orma_fact_integer((int64_t)programs[i].slices);
		cells[3] = orma_fact_integer((int64_t)programs[i].values);
	}
	return 0;
}

int orma_summary_find_recorded(struct orma_summary *summary)
{
	summary->losses = (struct orma_fact_table){.key = "losses",
						   .title = "Losses",
						   .columns = loss_columns,
						   .column_count = ORMA_ARRAY_SIZE(loss_columns),
						   .arena = &summary->arena};
	summary->programs =
		(struct orma_fact_table){.key = "programs",
					 .columns = program_columns,
					 .column_count = ORMA_ARRAY_SIZE(program_columns),
					 .arena = &summary->arena};
	int r = find_losses(summary);
	return r == 0 ? find_programs(summary) : r;
}

/* --- for people ------------------------------------------------------------------------------- */

static void write_fact(const struct orma_summary_sink *sink, const char *name,
		       const struct orma_buf *line)
{
	if (line->size > 0)
		sink->fact(sink->ctx, name, orma_base_buf_str(line));
}

/* Copies the name from a line like `    name: "linux.ftrace"` of a config. */
static void add_quoted(struct orma_buf *out, struct orma_str line)
{
	const char *begin = memchr(line.data, '"', line.size);
	if (!begin)
		return;
	size_t left = line.size - (size_t)(begin + 1 - line.data);
	const char *end = memchr(begin + 1, '"', left);
	(void)orma_base_buf_append_str(out, out->size > 0 ? ", " : "");
	(void)orma_base_buf_append(out, begin + 1, end ? (size_t)(end - begin - 1) : left);
}

static bool starts_with(struct orma_str line, const char *start)
{
	size_t size = strlen(start);
	return line.size >= size && memcmp(line.data, start, size) == 0;
}

struct config_words {
	struct orma_buf sources, buffers;
	uint64_t duration_ms;
	bool is_streamed, is_ring;
};

/* Takes one line of the config. The import prints it, so that its indentation tells what a line belongs to. */
static void take_config_line(struct config_words *words, struct orma_str line, bool is_buffer)
{
	char text[ORMA_UNIT_BYTES];
	if (starts_with(line, "    name: "))
		add_quoted(&words->sources, line);
	else if (is_buffer && starts_with(line, "  size_kb: "))
		(void)orma_base_buf_printf(
			&words->buffers, "%s%s", words->buffers.size > 0 ? ", " : "",
			orma_units_size((double)strtoull(line.data + 11, NULL, 10) * 1024, text));
	else if (starts_with(line, "duration_ms: "))
		words->duration_ms = strtoull(line.data + 13, NULL, 10);
	else if (starts_with(line, "write_into_file: true"))
		words->is_streamed = true;
}

static void describe_config(struct orma_str config, struct orma_buf *out)
{
	struct config_words words = {.duration_ms = 0};
	char time[ORMA_UNIT_BYTES];
	bool is_buffer = false;
	while (config.size > 0) {
		const char *end = memchr(config.data, '\n', config.size);
		size_t size = end ? (size_t)(end - config.data) : config.size;
		struct orma_str line = {config.data, size};
		if (size > 0 && line.data[0] != ' ')
			is_buffer = starts_with(line, "buffers {");
		take_config_line(&words, line, is_buffer);
		size += end != NULL;
		config = (struct orma_str){config.data + size, config.size - size};
	}
	if (words.sources.size > 0)
		(void)orma_base_buf_append(out, words.sources.data, words.sources.size);
	if (words.buffers.size > 0)
		(void)orma_base_buf_printf(out, "; buffers of %.*s", (int)words.buffers.size,
					   (const char *)words.buffers.data);
	if (words.duration_ms > 0)
		(void)orma_base_buf_printf(
			out, "; for %s",
			orma_units_duration((int64_t)ORMA_MIN(words.duration_ms,
							      (uint64_t)INT64_MAX / 1000000) *
						    1000000,
					    time));
	if (words.is_streamed)
		(void)orma_base_buf_append_str(out, "; streamed");
	orma_base_buf_done(&words.sources);
	orma_base_buf_done(&words.buffers);
}

static void describe_machine(const struct orma_summary *summary, struct orma_buf *out)
{
	const struct orma_trace_database *database = summary->database;
	static const char *const names[] = {"system_name", "system_release", "system_machine"};
	const struct orma_table *machines = &database->tables.all[ORMA_TABLE_MACHINE];
	int64_t ram = orma_trace_metadata_number(database, "system_ram_bytes");
	int64_t cpus = orma_store_table_rows(machines) > 0
			       ? orma_store_column_get(&machines->columns[ORMA_MACHINE_NUM_CPUS], 0)
			       : 0;
	char text[ORMA_UNIT_BYTES];
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(names); i++) {
		struct orma_str word = orma_trace_metadata_text(database, names[i]);
		if (word.size > 0)
			(void)orma_base_buf_printf(out, "%s%.*s", out->size > 0 ? " " : "",
						   (int)ORMA_MIN(word.size, (size_t)100),
						   word.data);
	}
	if (cpus > 0)
		(void)orma_base_buf_printf(out, "%s%" PRId64 " %s", out->size > 0 ? ", " : "", cpus,
					   orma_base_noun((uint64_t)cpus, "CPU", "CPUs"));
	if (ram > 0)
		(void)orma_base_buf_printf(out, "%s%s of memory", out->size > 0 ? ", " : "",
					   orma_units_size((double)ram, text));
	if (orma_store_table_rows(machines) > 1)
		(void)orma_base_buf_printf(out, "; and %" PRIu64 " more machines",
					   orma_store_table_rows(machines) - 1);
}

static void add_count(struct orma_buf *out, uint64_t count, const char *one, const char *many)
{
	char text[ORMA_UNIT_BYTES];
	if (count > 0)
		(void)orma_base_buf_printf(out, "%s%s %s", out->size > 0 ? ", " : "",
					   orma_units_count(count, text),
					   orma_base_noun(count, one, many));
}

static uint64_t rows_of(const struct orma_summary *summary, enum orma_table_id table)
{
	return orma_store_table_rows(&summary->database->tables.all[table]);
}

static uint64_t kernel_events_of(const struct orma_summary *summary)
{
	return orma_raw_events_count(&summary->database->importer.system.raw_events);
}

static void describe_events(const struct orma_summary *summary, struct orma_buf *out)
{
	const struct orma_slice_groups *slices = &summary->slices;
	add_count(out, slices->slices - slices->instants, "slice", "slices");
	add_count(out, slices->instants, "instant", "instants");
	add_count(out, rows_of(summary, ORMA_TABLE_COUNTER), "counter value", "counter values");
	add_count(out, rows_of(summary, ORMA_TABLE_STATE), "state", "states");
	add_count(out, kernel_events_of(summary), "kernel event", "kernel events");
	add_count(out, rows_of(summary, ORMA_TABLE_LOG), "log entry", "log entries");
	add_count(out, rows_of(summary, ORMA_TABLE_PROFILER_SAMPLE), "sample", "samples");
	add_count(out, rows_of(summary, ORMA_TABLE_HEAP_ALLOCATION), "sum of allocations",
		  "sums of allocations");
	if (out->size == 0)
		(void)orma_base_buf_append_str(out, "none; `orma doctor` says why");
	if (slices->unfinished > 0)
		add_count(out, slices->unfinished, "of the slices is unfinished",
			  "of the slices are unfinished");
}

static void describe_programs(const struct orma_summary *summary, struct orma_buf *out)
{
	const struct orma_fact_table *programs = &summary->programs;
	for (size_t i = 0; i < programs->row_count; i++) {
		const struct orma_fact *row = programs->cells + i * programs->column_count;
		struct orma_task_name name = {.name = row[0].text,
					      .id = row[1].is_known ? row[1].integer : -1};
		char text[ORMA_UNIT_BYTES];
		(void)orma_base_buf_append_str(out, i > 0 ? "; " : "");
		(void)orma_task_name_append(&name, out);
		(void)orma_base_buf_printf(out, " %s",
					   orma_units_count((uint64_t)row[2].integer, text));
		if (i == 0)
			(void)orma_base_buf_append_str(
				out, orma_base_noun((uint64_t)row[2].integer, " slice", " slices"));
	}
}

static void write_heading(const struct orma_summary *summary, const struct orma_summary_sink *sink)
{
	const struct orma_trace_database *database = summary->database;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf line = {0};
	char time[ORMA_UNIT_BYTES], date[ORMA_UNIT_BYTES], size[ORMA_UNIT_BYTES];
	int64_t unix_ns, start_ns, end_ns;
	orma_trace_recorded_time(database, &start_ns, &end_ns);
	bool has_date = orma_trace_database_realtime(database, start_ns, &unix_ns);
	int64_t offset = orma_trace_metadata_number(database, "timezone_off_mins");
	struct orma_str type = orma_trace_metadata_text(database, "trace_type");
	if (has_date)
		orma_units_date(unix_ns, offset > -1440 && offset < 1440 ? (int)offset : 0, 0,
				date);
	(void)orma_base_buf_printf(&line, "%s: %s%s%s, %s", summary->name,
				   orma_units_duration(end_ns - start_ns, time),
				   has_date ? " from " : "", has_date ? date : "",
				   orma_units_size((double)size_of(database), size));
	if (type.size > 0 && !orma_base_str_is(type, "proto"))
		(void)orma_base_buf_printf(&line, " (%.*s)", (int)type.size, type.data);
	sink->heading(sink->ctx, orma_base_buf_str(&line));
}

static void write_losses(const struct orma_summary *summary, const struct orma_summary_sink *sink)
{
	const struct orma_fact_table *losses = &summary->losses;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf line = {0};
	char count[ORMA_UNIT_BYTES];
	for (size_t i = 0; i < losses->row_count; i++) {
		const struct orma_fact *row = losses->cells + i * losses->column_count;
		line.size = 0;
		(void)orma_base_buf_printf(&line, "%s: %s. ", row[0].text.data,
					   orma_units_count((uint64_t)row[2].integer, count));
		(void)orma_base_buf_append(&line, row[3].text.data, row[3].text.size);
		write_fact(sink, i == 0 ? "losses" : "", &line);
	}
	line.size = 0;
	(void)orma_base_buf_append_str(
		&line, losses->row_count > 0 ? "`orma doctor` says what to do about losses."
		       : has_service_stats(summary->database)
			       ? "none"
			       : "not known, as the trace has no statistics of a service");
	write_fact(sink, losses->row_count > 0 ? "" : "losses", &line);
}

void orma_summary_write_recorded(const struct orma_summary *summary,
				 const struct orma_summary_sink *sink)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf line = {0};
	struct orma_str version =
		orma_trace_metadata_text(summary->database, "tracing_service_version");
	write_heading(summary, sink);
	describe_machine(summary, &line);
	write_fact(sink, "machine", &line);
	line.size = 0;
	(void)orma_base_buf_append(&line, version.data, version.size);
	write_fact(sink, "service", &line);
	line.size = 0;
	describe_config(orma_trace_metadata_text(summary->database, "trace_config_pbtxt"), &line);
	write_fact(sink, "config", &line);
	line.size = 0;
	describe_events(summary, &line);
	write_fact(sink, "events", &line);
	line.size = 0;
	describe_programs(summary, &line);
	write_fact(sink, "programs", &line);
	write_losses(summary, sink);
}

/* --- for programs ----------------------------------------------------------------------------- */

static const struct orma_fact_column recorded_columns[] = {
	{"start_ns", NULL, ORMA_FACT_NS},         {"duration_ns", NULL, ORMA_FACT_NS},
	{"start_unix_ns", NULL, ORMA_FACT_NS},    {"size_bytes", NULL, ORMA_FACT_COUNT},
	{"system", NULL, ORMA_FACT_TEXT},         {"release", NULL, ORMA_FACT_TEXT},
	{"architecture", NULL, ORMA_FACT_TEXT},   {"memory_bytes", NULL, ORMA_FACT_COUNT},
	{"service", NULL, ORMA_FACT_TEXT},        {"config", NULL, ORMA_FACT_TEXT},
	{"slices", NULL, ORMA_FACT_COUNT},        {"instants", NULL, ORMA_FACT_COUNT},
	{"unfinished", NULL, ORMA_FACT_COUNT},    {"counter_values", NULL, ORMA_FACT_COUNT},
	{"kernel_events", NULL, ORMA_FACT_COUNT}, {"sched_slices", NULL, ORMA_FACT_COUNT},
};

int orma_summary_append_recorded(const struct orma_summary *summary, struct orma_buf *json)
{
	const struct orma_trace_database *database = summary->database;
	int64_t ram = orma_trace_metadata_number(database, "system_ram_bytes"), unix_ns = 0;
	int64_t start_ns, end_ns;
	orma_trace_recorded_time(database, &start_ns, &end_ns);
	bool has_date = orma_trace_database_realtime(database, start_ns, &unix_ns);
	const struct orma_fact cells[] = {
		orma_fact_integer(start_ns),
		orma_fact_integer(end_ns - start_ns),
		{.is_known = has_date, .integer = unix_ns},
		orma_fact_integer(size_of(database)),
		orma_fact_text(orma_trace_metadata_text(database, "system_name")),
		orma_fact_text(orma_trace_metadata_text(database, "system_release")),
		orma_fact_text(orma_trace_metadata_text(database, "system_machine")),
		{.is_known = ram > 0, .integer = ram},
		orma_fact_text(orma_trace_metadata_text(database, "tracing_service_version")),
		orma_fact_text(orma_trace_metadata_text(database, "trace_config_pbtxt")),
		orma_fact_integer((int64_t)summary->slices.slices),
		orma_fact_integer((int64_t)summary->slices.instants),
		orma_fact_integer((int64_t)summary->slices.unfinished),
		orma_fact_integer((int64_t)rows_of(summary, ORMA_TABLE_COUNTER)),
		orma_fact_integer((int64_t)kernel_events_of(summary)),
		orma_fact_integer((int64_t)rows_of(summary, ORMA_TABLE_SCHED)),
	};
	int r = orma_json_append_text(json, "trace", orma_base_str(summary->name));
	if (r == 0)
		r = orma_json_append_key(json, "recorded");
	if (r == 0)
		r = orma_fact_row_append_json(recorded_columns, ORMA_ARRAY_SIZE(recorded_columns),
					      cells, json);
	if (r == 0)
		r = orma_fact_table_append_json(&summary->programs, json);
	return r ? r : orma_fact_table_append_json(&summary->losses, json);
}
