/* SPDX-License-Identifier: Apache-2.0
 * ask.c - binds the engine to the binary: files, codecs for compressed packets, messages, and rows as text.
 */
#include "tool/ask/ask.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/str.h"
#include "tool/tool.h"

int orma_ask_take_top(const char *value, uint64_t *ret)
{
	if (orma_base_parse_u64(value, 10, ret) || *ret < 1 || *ret > ORMA_ASK_ROWS_MAX)
		return orma_tool_usage_error("\"%s\" is not a number from 1 to %d", value,
					     ORMA_ASK_ROWS_MAX);
	return -1;
}

int orma_ask_take_memory(struct orma_ask_options *options, const char *value)
{
	return orma_tool_parse_size_kb(value, &options->memory_kb)
		       ? orma_tool_usage_error("\"%s\" is not a size; try 512m", value)
		       : -1;
}

int orma_ask_take_package(struct orma_ask_options *options, const char *value, bool is_overriding)
{
	if (options->package_count == ORMA_ASK_PACKAGES_MAX)
		return orma_tool_usage_error("there are more than %d packages",
					     ORMA_ASK_PACKAGES_MAX);
	options->packages[options->package_count] = value;
	options->are_overriding[options->package_count++] = is_overriding;
	return -1;
}

struct orma_ask *orma_ask_load(const char *path, const struct orma_ask_options *options)
{
	return orma_ask_load_all(&path, 1, options);
}

#ifdef ORMA_HAVE_SQL

#include <sqlite3.h>

#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/error_message.h"
#include "codec/unpack.h"
#include "sql/result_writer.h"
#include "tool/ask/ask_index.h"
#include "tool/ask/load_progress.h"
#include "tool/ask/sql_package.h"
#include "tool/ask/sql_zstd.h"
#include "tool/trace/trace_input.h"

enum {
	WAITING_BYTES = 64 << 10, /* so much text waits before it is passed on */
	SQLITE_HEAP_MIN_MB = 256,
};

struct orma_ask {
	struct orma_trace_database *database;
	struct orma_formats_source *sources; /* open, `count` of them */
	size_t count;
};

struct ask_output {
	struct orma_result_writer writer;
	struct orma_buf text;
	int (*write)(void *ctx, const void *data, size_t size);
	void *ctx;
};

/* Says where the trace ends early. `r` is the error that it was opened with. */
static void warn_of_damage(const struct orma_ask *ask, const char *name, int r,
			   struct orma_error *error)
{
	const struct orma_packet_index *index = &ask->database->importer.index;
	uint64_t cut_bytes = index->counts[ORMA_COUNT_CUT_BYTES];
	if (r == 0 && cut_bytes > 0)
		r = orma_base_error_set(error, -EBADMSG, "the trace is cut at byte %llu",
					(unsigned long long)(index->bytes - cut_bytes));
	if (r < 0)
		orma_tool_warn("%s%s%s; the answers are about what comes before",
			       ask->count > 1 ? "" : name, ask->count > 1 ? "" : ": ",
			       error->message);
}

/* Long values and groups that a query builds in SQLite have a limit of their own: beyond it the query fails, and not the
 * machine. */
static void limit_sqlite(const struct orma_trace_database *database)
{
	uint64_t bytes = (uint64_t)database->tables.budget.limit_bytes * 2,
		 least = (uint64_t)SQLITE_HEAP_MIN_MB << 20;
	sqlite3_hard_heap_limit64((sqlite3_int64)ORMA_MAX(bytes, least));
}

/* Returns 0, or ORMA_EXIT_FAILURE when a message has said what is wrong. */
static int open_files(struct orma_ask *ask, const char *const *paths, size_t count)
{
	bool has_input = false;
	ask->sources = orma_base_zalloc(count * sizeof(*ask->sources));
	if (!ask->sources)
		return orma_tool_fail("%s", strerror(ENOMEM));
	for (size_t i = 0; i < count; i++) {
		int fd = orma_trace_input_open(paths[i]);
		if (fd < 0)
			return orma_trace_input_fail(paths[i], fd);
		if (fd == STDIN_FILENO && has_input)
			return orma_tool_fail("standard input is one trace and cannot be two");
		has_input = has_input || fd == STDIN_FILENO;
		/* The trace processor knows no name of a trace that comes alone. */
		ask->sources[ask->count++] = (struct orma_formats_source){
			.fd = fd, .name = count > 1 ? orma_trace_input_name(paths[i]) : NULL};
	}
	return 0;
}

/* Traces were opened before, so a path that cannot be used is that of temporary files. */
static bool is_of_folder(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -EACCES || error == -EROFS ||
	       error == -EOPNOTSUPP || error == -ENOSPC || error == -EFBIG;
}

/* Says what is wrong. The message names the trace if there are several. */
static int fail(const struct orma_ask *ask, const char *name, int error,
		const struct orma_error *detail)
{
	const char *words = error == -EPROTONOSUPPORT && ask->count == 1
				    ? orma_trace_input_words(ask->sources[0].fd)
				    : NULL;
	const char *message = detail->message[0] ? detail->message : strerror(-error);
	if (error == -ECANCELED)
		return ORMA_EXIT_FAILURE;
	if (!detail->message[0] && is_of_folder(error))
		return orma_tool_fail("cannot write a temporary file below TMPDIR or /var/tmp: %s",
				      message);
	if (ask->count > 1)
		return orma_tool_fail("%s", message);
	return words ? orma_tool_fail("%s: %s: %s", name, message, words)
		     : orma_tool_fail("%s: %s", name, message);
}

/* Returns 0, or ORMA_EXIT_FAILURE when a message has said what is wrong. */
static int open_database(struct orma_ask *ask, const char *name,
			 const struct orma_ask_options *options, struct orma_module_list *modules)
{
	struct orma_error error = {0};
	struct orma_load_progress progress = {.also = options->progress,
					      .also_ctx = options->progress_ctx};
	struct orma_trace_options trace = {
		.memory_bytes = (size_t)ORMA_MIN(options->memory_kb, SIZE_MAX / 1024) * 1024,
		.unpack = orma_codec_unpack,
		.has_no_raw_events = options->has_no_raw_events,
		.crops_events = options->crops_events,
		.analyzes_content = options->analyzes_content,
		.checks_views = options->checks_views,
		.progress = orma_load_progress_step,
		.progress_ctx = &progress,
		.modules = modules};
	(void)!getrandom(&trace.seed, sizeof(trace.seed), GRND_NONBLOCK);
	bool may_have_index = ask->count == 1 && ask->sources[0].fd != STDIN_FILENO &&
			      !options->crops_events && !options->analyzes_content;
	if (may_have_index && orma_ask_index_open(name, ask->sources[0].fd, &trace,
						  options->has_index, &ask->database)) {
		warn_of_damage(ask, name, 0, &error);
		return 0;
	}
	orma_load_progress_begin(&progress);
	int r = orma_trace_database_open_all(ask->sources, ask->count, &trace, &ask->database,
					     &error);
	orma_load_progress_end(&progress);
	if (!ask->database)
		return fail(ask, name, r, &error);
	if (r == 0 && options->has_index)
		orma_ask_index_write(name, ask->sources[0].fd, ask->database);
	warn_of_damage(ask, name, r, &error);
	return 0;
}

struct orma_ask *orma_ask_load_all(const char *const *paths, size_t count,
				   const struct orma_ask_options *options)
{
	struct orma_module_list modules = {0};
	struct orma_ask *ask = orma_base_zalloc(sizeof(*ask));
	if (!ask) {
		orma_tool_fail("%s", strerror(ENOMEM));
		return NULL;
	}
	int r = 0;
	for (size_t i = 0; r == 0 && i < options->package_count; i++)
		r = orma_sql_package_read(options->packages[i], options->are_overriding[i],
					  &modules);
	if (r == 0)
		r = open_files(ask, paths, count);
	if (r == 0)
		r = open_database(ask, orma_trace_input_name(paths[0]), options, &modules);
	if (r == 0 && orma_sql_zstd_add(ask->database->sql) < 0)
		r = orma_tool_fail("%s", strerror(ENOMEM));
	if (r == 0)
		limit_sqlite(ask->database);
	orma_modules_done(&modules);
	if (r == 0)
		return ask;
	orma_ask_free(ask);
	return NULL;
}

void orma_ask_free(struct orma_ask *ask)
{
	if (!ask)
		return;
	orma_trace_database_free(ask->database);
	for (size_t i = 0; i < ask->count; i++)
		orma_trace_input_close(ask->sources[i].fd);
	orma_base_free(ask->sources);
	orma_base_free(ask);
}

struct orma_trace_database *orma_ask_database(struct orma_ask *ask)
{
	return ask->database;
}

void orma_ask_interrupt(struct orma_ask *ask)
{
	orma_sql_interrupt(ask->database->sql);
}

static int pass_on(struct ask_output *output, size_t at_least)
{
	if (output->text.size < at_least)
		return 0;
	int r = output->text.size > 0
			? output->write(output->ctx, output->text.data, output->text.size)
			: 0;
	output->text.size = 0;
	return r;
}

static int begin_rows(void *ctx, const char *const *names, size_t column_count)
{
	struct ask_output *output = ctx;
	return orma_sql_writer_begin(&output->writer, names, column_count);
}

static int add_row(void *ctx, const struct orma_value *values, size_t column_count)
{
	struct ask_output *output = ctx;
	int r = orma_sql_writer_row(&output->writer, values, column_count);
	return r < 0 ? r : pass_on(output, WAITING_BYTES);
}

static int end_rows(void *ctx)
{
	struct ask_output *output = ctx;
	int r = orma_sql_writer_end(&output->writer);
	return r < 0 ? r : pass_on(output, 0);
}

int orma_ask_run(struct orma_ask *ask, struct orma_str queries, enum orma_ask_format format,
		 int (*write)(void *ctx, const void *data, size_t size), void *ctx,
		 struct orma_error *reterr)
{
	static const enum orma_result_format formats[] = {[ORMA_ASK_CSV] = ORMA_RESULT_CSV,
							  [ORMA_ASK_TABLE] = ORMA_RESULT_TABLE,
							  [ORMA_ASK_JSON] = ORMA_RESULT_JSON,
							  [ORMA_ASK_MARKDOWN] =
								  ORMA_RESULT_MARKDOWN};
	struct ask_output output = {.write = write, .ctx = ctx};
	struct orma_result_sink sink = {&output, begin_rows, add_row, end_rows};
	output.writer = (struct orma_result_writer){.format = formats[format], .out = &output.text};
	int r = orma_sql_run(ask->database->sql, queries, &sink, reterr);
	/* Rows that were found before an error are an answer too. */
	int last = pass_on(&output, 0);
	orma_sql_writer_done(&output.writer);
	orma_base_buf_done(&output.text);
	return r < 0 ? r : last;
}

#else

struct orma_ask *orma_ask_load_all(const char *const *paths, size_t count,
				   const struct orma_ask_options *options)
{
	(void)paths;
	(void)count;
	(void)options;
	orma_tool_fail("this binary was built without SQLite, and cannot ask traces");
	return NULL;
}

void orma_ask_free(struct orma_ask *ask)
{
	(void)ask;
}

void orma_ask_interrupt(struct orma_ask *ask)
{
	(void)ask;
}

int orma_ask_run(struct orma_ask *ask, struct orma_str queries, enum orma_ask_format format,
		 int (*write)(void *ctx, const void *data, size_t size), void *ctx,
		 struct orma_error *reterr)
{
	(void)ask;
	(void)queries;
	(void)format;
	(void)write;
	(void)ctx;
	(void)reterr;
	return -ENOTSUP;
}

#endif
