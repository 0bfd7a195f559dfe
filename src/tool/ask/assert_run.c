/* SPDX-License-Identifier: Apache-2.0
 * assert_run.c - runs the checks on one trace after the other, and says which rows make one fail.
 */
#include <errno.h>
#include <string.h>

#include "answers/trace_database.h"
#include "base/clock_ns.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/result_writer.h"
#include "tool/ask/answer.h"
#include "tool/ask/check_file.h"
#include "tool/ask/junit.h"
#include "tool/print.h"
#include "tool/tool.h"
#include "tool/trace/trace_input.h"

struct session {
	const struct orma_assert_options *options;
	struct orma_check_file files[ORMA_ASSERT_FILES_MAX];
	struct orma_junit junit;
	unsigned counts[3]; /* by result */
	struct orma_ask *ask;
};

/* The first rows that a check returns, as a table, and how many there are. */
struct outcome {
	struct orma_result_writer writer;
	struct orma_buf table;
	uint64_t rows, rows_max;
	uint64_t before; /* rows before the current statement */
	size_t start;    /* where its table begins */
	bool has_table;
};

static int begin_rows(void *ctx, const char *const *names, size_t column_count)
{
	struct outcome *outcome = ctx;
	outcome->has_table = outcome->rows < outcome->rows_max;
	outcome->before = outcome->rows;
	outcome->start = outcome->table.size;
	return outcome->has_table ? orma_sql_writer_begin(&outcome->writer, names, column_count)
				  : 0;
}

static int add_row(void *ctx, const struct orma_value *values, size_t column_count)
{
	struct outcome *outcome = ctx;
	bool is_shown = outcome->has_table && outcome->rows < outcome->rows_max;
	outcome->rows++;
	return is_shown ? orma_sql_writer_row(&outcome->writer, values, column_count) : 0;
}

static int end_rows(void *ctx)
{
	struct outcome *outcome = ctx;
	int r = outcome->has_table ? orma_sql_writer_end(&outcome->writer) : 0;
	/* A table without rows is only a heading. */
	if (outcome->rows == outcome->before)
		outcome->table.size = outcome->start;
	return r;
}

static struct orma_str text_of(const struct orma_buf *buf)
{
	return (struct orma_str){(const char *)buf->data, buf->size};
}

/* The rows of a check, without the empty line that keeps tables apart. */
static struct orma_str rows_of(const struct outcome *outcome)
{
	struct orma_str text = text_of(&outcome->table);
	while (text.size > 0 && *text.data == '\n')
		text = (struct orma_str){text.data + 1, text.size - 1};
	return text;
}

static void print_lines(struct orma_str text)
{
	while (text.size > 0) {
		const char *end = memchr(text.data, '\n', text.size);
		size_t size = end ? (size_t)(end - text.data) : text.size;
		orma_tool_print_line(stdout, "%s%.*s", size > 0 ? "        " : "",
				     (int)ORMA_MIN(size, (size_t)1000), text.data);
		size += end != NULL;
		text = (struct orma_str){text.data + size, text.size - size};
	}
}

/* The report goes to standard error when the XML goes to standard output, and then it is not needed. */
static bool is_quiet(const struct session *session)
{
	const char *path = session->options->junit_path;
	return path && strcmp(path, "-") == 0;
}

static void report(struct session *session, const char *file, const struct orma_check *check,
		   enum orma_check_result result, double seconds, const struct outcome *outcome,
		   const char *problem)
{
	static const char *const words[] = {"ok", "FAIL", "ERROR"};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf message = {0};
	if (result == ORMA_CHECK_FAILED)
		(void)orma_base_buf_printf(&message, "%llu %s", (unsigned long long)outcome->rows,
					   orma_base_noun(outcome->rows, "row", "rows"));
	else if (result == ORMA_CHECK_BROKEN)
		(void)orma_base_buf_append(&message, problem, strcspn(problem, "\n"));
	session->counts[result]++;
	orma_junit_add(&session->junit, orma_base_str(file), check->name, result, seconds,
		       text_of(&message),
		       result == ORMA_CHECK_BROKEN ? orma_base_str(problem) : rows_of(outcome));
	if (is_quiet(session))
		return;
	orma_tool_print_line(stdout, "  %-5s %.*s%s%.*s", words[result],
			     (int)ORMA_MIN(check->name.size, (size_t)300), check->name.data,
			     message.size > 0 ? ": " : "", (int)message.size,
			     message.data ? (const char *)message.data : "");
	if (result == ORMA_CHECK_FAILED)
		print_lines(rows_of(outcome));
	if (result == ORMA_CHECK_FAILED && outcome->rows > outcome->rows_max)
		orma_tool_print_line(stdout, "        ...");
}

/* Messages count the lines of the check; people count those of the file. */
static void add_place(const char *file, const struct orma_check *check, struct orma_error *error)
{
	if (check->line > 0)
		orma_base_error_prefix(error, "%s from line %u", file, check->line);
}

static int run_check(struct session *session, const char *file, const struct orma_check *check)
{
	struct orma_error error = {0};
	struct outcome outcome = {.rows_max = session->options->rows};
	struct orma_result_sink sink = {&outcome, begin_rows, add_row, end_rows};
	uint64_t start_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	outcome.writer =
		(struct orma_result_writer){.format = ORMA_RESULT_TABLE, .out = &outcome.table};
	int r = orma_sql_run(orma_ask_database(session->ask)->sql, check->sql, &sink, &error);
	if (r < 0 && !error.message[0])
		orma_base_error_set(&error, r, "%s", strerror(-r));
	if (r < 0)
		add_place(file, check, &error);
	double seconds =
		(double)(orma_base_clock_ns(CLOCK_MONOTONIC) - start_ns) / (double)ORMA_NS_PER_SEC;
	report(session, file, check,
	       r < 0              ? ORMA_CHECK_BROKEN
	       : outcome.rows > 0 ? ORMA_CHECK_FAILED
				  : ORMA_CHECK_PASSED,
	       seconds, &outcome, error.message);
	orma_sql_writer_done(&outcome.writer);
	orma_base_buf_done(&outcome.table);
	return r == -ENOMEM ? r : 0;
}

/* A check that cannot be prepared cannot be run, so its name is that of the file. */
static int run_file(struct session *session, const char *name, const struct orma_check_file *file)
{
	struct orma_error error = {0};
	struct outcome none = {.rows = 0};
	struct orma_check preamble = {orma_base_str(name), file->preamble, 1};
	int r = orma_sql_execute(orma_ask_database(session->ask)->sql, file->preamble, &error);
	if (r < 0) {
		report(session, name, &preamble, ORMA_CHECK_BROKEN, 0, &none,
		       error.message[0] ? error.message : strerror(-r));
		return 0;
	}
	for (size_t i = 0; i < file->check_count && r == 0; i++)
		r = run_check(session, name, &file->checks[i]);
	return r;
}

static void report_broken_trace(struct session *session, const char *path, const char *words)
{
	struct outcome none = {.rows = 0};
	struct orma_check check = {ORMA_STR("the trace can be read"), {NULL, 0}, 0};
	report(session, path, &check, ORMA_CHECK_BROKEN, 0, &none, words);
}

static int run_trace(struct session *session, const char *path)
{
	const struct orma_assert_options *options = session->options;
	const char *name = orma_trace_input_name(path);
	int r = 0;
	if (!is_quiet(session))
		orma_tool_print_line(stdout, "%s", name);
	session->ask = orma_ask_load(path, &options->ask);
	/* Nothing is wrong in an empty file; but something was with the recording. */
	bool is_empty = session->ask && orma_ask_database(session->ask)->importer.index.bytes == 0;
	bool is_checked = session->ask && !is_empty;
	if (!is_checked)
		report_broken_trace(session, name, is_empty ? "it is empty" : "it cannot be read");
	for (size_t i = 0; i < options->file_count && r == 0 && is_checked; i++)
		r = run_file(session, options->files[i], &session->files[i]);
	for (size_t i = 0; i < options->query_count && r == 0 && is_checked; i++) {
		struct orma_str query = orma_base_str(options->queries[i]);
		struct orma_check check = {query, query, 0};
		r = run_check(session, "query", &check);
	}
	orma_ask_free(session->ask);
	orma_junit_end_suite(&session->junit, orma_base_str(name));
	return r;
}

/* Returns ORMA_EXIT_OK, or the exit status after a message. */
static int read_checks(struct session *session)
{
	const struct orma_assert_options *options = session->options;
	for (size_t i = 0; i < options->file_count; i++) {
		struct orma_check_file *file = &session->files[i];
		int r = orma_tool_read_file(options->files[i], &file->text);
		if (r == 0)
			r = orma_check_file_parse(file);
		if (r < 0)
			return orma_tool_fail("cannot read %s: %s", options->files[i],
					      strerror(-r));
		if (file->check_count == 0)
			return orma_tool_fail("there is no check in %s; a line \"-- check: NAME\" "
					      "begins one",
					      options->files[i]);
	}
	return ORMA_EXIT_OK;
}

static int write_junit(struct session *session)
{
	const char *path = session->options->junit_path;
	int r = orma_junit_finish(&session->junit);
	if (r < 0)
		return r;
	if (is_quiet(session))
		return orma_tool_write_raw(stdout, session->junit.xml.data,
					   session->junit.xml.size);
	FILE *file = fopen(path, "we");
	if (!file)
		return -errno;
	r = orma_tool_write_raw(file, session->junit.xml.data, session->junit.xml.size);
	return fclose(file) != 0 && r == 0 ? -errno : r;
}

static void print_sum(const struct session *session)
{
	const unsigned *counts = session->counts;
	unsigned all = counts[0] + counts[1] + counts[2];
	if (is_quiet(session))
		return;
	orma_tool_print_line(stdout, "%u %s: %u passed, %u failed%s", all,
			     orma_base_noun(all, "check", "checks"), counts[ORMA_CHECK_PASSED],
			     counts[ORMA_CHECK_FAILED],
			     counts[ORMA_CHECK_BROKEN] > 0 ? ", and the others could not be run"
							   : "");
}

int orma_assert_run(const struct orma_assert_options *options)
{
	struct session session = {.options = options};
	int status = read_checks(&session), r = 0;
	for (int i = 0; i < options->path_count && status == ORMA_EXIT_OK && r == 0; i++)
		r = run_trace(&session, options->paths[i]);
	if (status == ORMA_EXIT_OK && r == 0) {
		print_sum(&session);
		if (options->junit_path)
			r = write_junit(&session);
	}
	if (r < 0)
		status = orma_tool_fail("%s: %s",
					options->junit_path ? options->junit_path
							    : "the checks were not finished",
					strerror(-r));
	if (session.counts[ORMA_CHECK_FAILED] + session.counts[ORMA_CHECK_BROKEN] > 0)
		status = ORMA_EXIT_FAILURE;
	for (size_t i = 0; i < ORMA_ASSERT_FILES_MAX; i++)
		orma_check_file_done(&session.files[i]);
	orma_junit_done(&session.junit);
	return status;
}
