/* SPDX-License-Identifier: Apache-2.0
 * trace_database.c - a trace is read into tables, the tables become relations, and the prelude makes the views that people know.
 */
#include "answers/trace_database.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "answers/modules.h"
#include "answers/operators.h"
#include "base/alloc.h"
#include "base/macros.h"
#include <prelude_text.h> /* CMakeLists.txt writes it */

/* Widens the times by those of a block, unless its headers say that they cover it. */
static void add_block(const struct orma_column *times, const struct orma_column *durations,
		      size_t block, int64_t *start, int64_t *end)
{
	int64_t begins[ORMA_BLOCK_ROWS], lengths[ORMA_BLOCK_ROWS];
	int64_t min, max, least, longest = 0, last;
	if (orma_store_column_range(times, block, &min, &max) &&
	    (!durations || orma_store_column_range(durations, block, &least, &longest)) &&
	    !__builtin_add_overflow(max, ORMA_MAX(longest, (int64_t)0), &last) && min >= *start &&
	    last <= *end)
		return;
	size_t count = orma_store_column_read(times, block, begins);
	if (durations)
		orma_store_column_read(durations, block, lengths);
	for (size_t row = 0; row < count; row++) {
		int64_t length = durations ? ORMA_MAX(lengths[row], (int64_t)0) : 0;
		*start = ORMA_MIN(*start, begins[row]);
		*end = ORMA_MAX(*end, begins[row] + length);
	}
}

/* The first and the last blocks mostly have the extremes, and the others are covered by them. */
static void add_times(const struct orma_table *table, size_t column, int64_t *start, int64_t *end)
{
	const struct orma_column *times = &table->columns[column];
	bool has_dur = column + 1 < table->column_count &&
		       strcmp(table->specs[column + 1].name, "dur") == 0;
	const struct orma_column *durations = has_dur ? times + 1 : NULL;
	size_t blocks = orma_store_column_blocks(times);
	if (blocks > 0)
		add_block(times, durations, 0, start, end);
	for (size_t block = blocks; block-- > 1;)
		add_block(times, durations, block, start, end);
}

/* The times that the trace covers, as a view of constants. */
static int add_bounds(struct orma_trace_database *database, struct orma_error *reterr)
{
	static const struct {
		enum orma_table_id table;
		size_t column; /* has the times */
	} timed[] = {{ORMA_TABLE_SLICE, ORMA_SLICE_TS},
		     {ORMA_TABLE_COUNTER, ORMA_COUNTER_TS},
		     {ORMA_TABLE_STATE, ORMA_STATE_TS},
		     {ORMA_TABLE_SCHED, ORMA_SCHED_TS},
		     {ORMA_TABLE_THREAD_STATE, ORMA_THREAD_STATE_TS},
		     {ORMA_TABLE_FTRACE_EVENT, ORMA_FTRACE_EVENT_TS},
		     {ORMA_TABLE_LOG, ORMA_LOG_TS},
		     {ORMA_TABLE_PROFILER_SAMPLE, ORMA_PROFILER_SAMPLE_TS},
		     {ORMA_TABLE_HEAP_ALLOCATION, ORMA_HEAP_ALLOCATION_TS},
		     {ORMA_TABLE_SMAPS, ORMA_SMAPS_TS},
		     {ORMA_TABLE_HEAP_GRAPH, ORMA_HEAP_GRAPH_TS},
		     {ORMA_TABLE_HEAP_OBJECT, ORMA_HEAP_OBJECT_GRAPH_SAMPLE_TS}};
	int64_t start = INT64_MAX, end = INT64_MIN;
	struct orma_thread_states *states = &database->importer.sched.states;
	/* Without raw events a state may be at a time that no other table has. */
	int r = database->options.has_no_raw_events && orma_thread_states_has_notes(states)
			? orma_thread_states_finish(states)
			: 0;
	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(timed) / sizeof(*timed); i++)
		add_times(&database->tables.all[timed[i].table], timed[i].column, &start, &end);
	if (start > end)
		start = end = 0;
	else if (start == end)
		end++;
	database->start_ns = start;
	database->end_ns = end;
	char text[160];
	int size = snprintf(text, sizeof(text),
			    "create view trace_bounds as select %lld as start_ts, %lld as end_ts;",
			    (long long)start, (long long)end);
	return orma_sql_execute(database->sql, (struct orma_str){text, (size_t)size}, reterr);
}

static int open_sql(struct orma_trace_database *database, struct orma_error *reterr)
{
	struct orma_sql_options options = {.pool = &database->tables.strings,
					   .budget = &database->tables.budget,
					   .ctx = database,
					   .module_text = orma_module_text,
					   .module_name = orma_module_name,
					   .define = orma_empty_table_define,
					   .own_modules = "prelude.",
					   .checks_views = database->options.checks_views};
	int r = orma_sql_new(&options, &database->sql, reterr);
	if (r == 0)
		r = orma_trace_relations_add(database);
	if (r == 0)
		r = orma_args_table_add(database);
	if (r == 0)
		r = orma_trace_functions_add(database);
	if (r == 0)
		r = orma_time_functions_add(database);
	if (r == 0)
		r = orma_args_json_add(database);
	if (r == 0)
		r = orma_ftrace_text_add(database);
	if (r == 0)
		r = orma_lane_function_add(database);
	if (r == 0)
		r = orma_operators_add(database);
	if (r == 0)
		r = orma_flame_table_add(database);
	if (r == 0)
		r = orma_derived_columns_add(database);
	if (r == 0)
		r = add_bounds(database, reterr);
	if (r == 0)
		r = orma_sql_execute(database->sql,
				     (struct orma_str){prelude_text, sizeof(prelude_text) - 1},
				     reterr);
	if (r == 0)
		r = orma_sql_protect_all(database->sql, reterr);
	if (r == 0)
		r = orma_empty_tables_protect(database->sql);
	return r;
}

static int count_read_bytes(void *ctx, uint64_t bytes)
{
	struct orma_trace_database *database = ctx;
	/* Both passes read everything. */
	uint64_t all = 2 * orma_trace_bytes_end(&database->input);
	database->read_bytes = ORMA_MIN(database->read_bytes + bytes, all);
	return database->options.progress(database->options.progress_ctx, database->read_bytes,
					  all);
}

static int load(struct orma_trace_database *database, const struct orma_formats_source *sources,
		size_t count, struct orma_error *reterr)
{
	const struct orma_trace_options *options = &database->options;
	/* Content is analyzed as that of packets with fields. */
	const struct orma_formats_options formats = {.has_records = !options->analyzes_content,
						     .converted = orma_importer_take_converted,
						     .converted_ctx = &database->importer};
	int r = orma_importer_begin(&database->importer, &database->tables, &database->input,
				    options->unpack);
	if (r == 0)
		r = orma_formats_open_all(sources, count, &formats, &database->files,
					  &database->input, reterr);
	int damage = r == -EBADMSG ? r : 0;
	if (r < 0 && !damage)
		return r;
	database->input.progress = options->progress ? count_read_bytes : NULL;
	database->input.progress_ctx = database;
	r = orma_importer_end(&database->importer, damage ? NULL : reterr);
	/* Queries read arguments from the packets. */
	database->input.progress = NULL;
	return r == 0 ? damage : r;
}

static int new_database(const struct orma_trace_options *options, struct orma_trace_database **ret)
{
	struct orma_trace_database *database = *ret = orma_base_zalloc(sizeof(*database));
	if (!database)
		return -ENOMEM;
	if (options)
		database->options = *options;
	size_t memory = database->options.memory_bytes;
	database->input.fd = database->input.spool_fd = -1;
	database->args_set = ORMA_CELL_NULL;
	int r = orma_tables_init(&database->tables, memory ? memory : orma_memory_budget_default(),
				 NULL);
	database->importer.seed = database->tables.strings.seed = database->options.seed;
	database->importer.system.has_no_raw_events = database->options.has_no_raw_events;
	database->importer.system.files = &database->files;
	database->importer.system.crops_events = database->options.crops_events;
	database->importer.content.is_wanted = database->options.analyzes_content;
	return r;
}

/* Lets the tables be asked, or frees all if they could not be filled. Returns `r`, or the error of its own. */
static int complete(struct orma_trace_database *database, int r, struct orma_error *reterr)
{
	if (!database)
		return r;
	orma_event_args_init(&database->event_args, &database->importer.index,
			     &database->importer.types);
	database->kernel_args.system = &database->importer.system;
	database->args.tables = &database->tables;
	if (r == 0)
		r = orma_main_threads_find(database);
	if (r == 0)
		r = open_sql(database, reterr);
	if (r < 0) {
		orma_trace_database_free(database);
		return r;
	}
	if (database->options.modules) {
		database->modules = *database->options.modules;
		*database->options.modules = (struct orma_module_list){0};
	}
	return 0;
}

int orma_trace_database_open(int fd, const struct orma_trace_options *options,
			     struct orma_trace_database **ret, struct orma_error *reterr)
{
	struct orma_formats_source source = {.fd = fd};
	return orma_trace_database_open_all(&source, 1, options, ret, reterr);
}

int orma_trace_database_open_all(const struct orma_formats_source *sources, size_t count,
				 const struct orma_trace_options *options,
				 struct orma_trace_database **ret, struct orma_error *reterr)
{
	struct orma_trace_database *database;
	int r = new_database(options, &database);
	*ret = NULL;
	if (r == 0 && count == 1)
		r = orma_trace_index_note_file(database, sources[0].fd);
	if (r == 0)
		r = load(database, sources, count, reterr);
	int damage = r == -EBADMSG ? r : 0;
	r = complete(database, damage ? 0 : r, damage ? NULL : reterr);
	*ret = r == 0 ? database : NULL;
	return r < 0 ? r : damage;
}

int orma_trace_database_open_index(int fd, const struct orma_trace_index *index,
				   const struct orma_trace_options *options,
				   struct orma_trace_database **ret, struct orma_error *reterr)
{
	struct orma_trace_database *database;
	int r = new_database(options, &database);
	if (r == 0)
		r = orma_trace_index_note_file(database, fd);
	if (r == 0)
		r = orma_trace_index_restore(database, fd, index);
	r = complete(database, r, reterr);
	*ret = r == 0 ? database : NULL;
	return r;
}

bool orma_trace_database_realtime(const struct orma_trace_database *database, int64_t ns,
				  int64_t *ret)
{
	const struct orma_clocks *clocks = &database->importer.index.clocks;
	struct orma_clock_cache cache = {.is_valid = false};
	return orma_trace_clocks_convert(clocks, clocks->trace_time, ns, ORMA_CLOCK_REALTIME,
					 ORMA_CLOCK_ALL_SNAPSHOTS, &cache,
					 ret) == ORMA_CLOCK_CONVERTED;
}

void orma_trace_database_free(struct orma_trace_database *database)
{
	if (!database)
		return;
	orma_sql_free(database->sql);
	orma_arg_columns_free(database->arg_columns);
	orma_derived_columns_free(database->derived);
	orma_event_args_done(&database->event_args);
	orma_kernel_args_done(&database->kernel_args);
	orma_arg_list_done(&database->args);
	orma_importer_done(&database->importer);
	orma_trace_bytes_done(&database->input);
	orma_trace_files_done(&database->files);
	orma_tables_done(&database->tables);
	if (database->mapped)
		munmap(database->mapped, database->mapped_bytes);
	orma_modules_done(&database->modules);
	orma_base_free(database->main_threads);
	orma_base_free(database);
}
