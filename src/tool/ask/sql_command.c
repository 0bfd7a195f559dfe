/* SPDX-License-Identifier: Apache-2.0
 * sql_command.c - `orma sql`: asks a trace with SQL.
 *
 * The queries are the second argument, a file, or standard input; on a terminal they are read line by line, and one is
 * run when it ends with a semicolon. Ctrl-C stops the query that runs, and ends the command when none does.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "tool/ask/ask.h"
#include "tool/print.h"
#include "tool/tool.h"
#include "tool/trace/trace_input.h"

enum { OPTION_CSV = ORMA_OPTION_FIRST_OWN, OPTION_JSON, OPTION_MARKDOWN, OPTION_PACKAGE };

struct sql {
	enum orma_ask_format format;
	bool has_format;
	const char *query_file;
	struct orma_ask_options options;
	struct orma_ask *ask;
};

/* The trace that a signal handler may have to stop; NULL while no query runs. */
static _Atomic(struct orma_ask *) running;

static void stop_query(int signal_number)
{
	struct orma_ask *ask = atomic_load(&running);
	if (ask) {
		orma_ask_interrupt(ask);
		return;
	}
	/* The shell sees the signal, as from a program without a handler. */
	sigaction(signal_number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	raise(signal_number);
}

static int write_output(void *ctx, const void *data, size_t size)
{
	(void)ctx;
	return orma_tool_write_raw(stdout, data, size);
}

/* Runs queries, and returns the exit status. */
static int run_text(struct sql *sql, struct orma_str text)
{
	struct orma_error error = {0};
	atomic_store(&running, sql->ask);
	int r = orma_ask_run(sql->ask, text, sql->format, write_output, NULL, &error);
	atomic_store(&running, NULL);
	if (r == 0 && fflush(stdout) != 0)
		r = -errno;
	if (r == -EPIPE)
		return ORMA_EXIT_OK; /* `orma sql t.pftrace '...' | head` is not a failure */
	if (r == -ECANCELED)
		return orma_tool_fail("the query was stopped");
	if (r < 0 && error.message[0])
		return orma_tool_fail_in_text(&error);
	return r < 0 ? orma_tool_fail("%s", strerror(-r)) : ORMA_EXIT_OK;
}

static bool is_complete(const struct orma_buf *text)
{
	size_t size = text->size;
	while (size > 0 && strchr(" \t\n", text->data[size - 1]))
		size--;
	return size > 0 && text->data[size - 1] == ';';
}

/* Reads queries from a terminal until the end of the input. An error does not end it. */
static int run_lines(struct sql *sql)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	char line[4096];
	int r = 0;
	for (;;) {
		orma_tool_write_raw(stdout, text.size > 0 ? "  ... " : "sql > ", 6);
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			break;
		r = orma_base_buf_append_str(&text, line);
		if (r < 0)
			break;
		if (!is_complete(&text))
			continue;
		run_text(sql, (struct orma_str){(char *)text.data, text.size});
		text.size = 0;
	}
	orma_tool_write_raw(stdout, "\n", 1);
	return r < 0 ? orma_tool_fail("%s", strerror(-r)) : ORMA_EXIT_OK;
}

static int run_input(struct sql *sql, const char *path)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	int r = orma_tool_read_file(path, &text);
	if (r < 0)
		return orma_tool_fail("cannot read %s: %s",
				      strcmp(path, "-") == 0 ? "standard input" : path,
				      strerror(-r));
	return run_text(sql, (struct orma_str){(char *)text.data, text.size});
}

static int run_queries(struct sql *sql, const char *query)
{
	bool is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (!sql->has_format && isatty(STDOUT_FILENO))
		sql->format = ORMA_ASK_TABLE;
	if (query)
		return run_text(sql, orma_base_str(query));
	if (sql->query_file)
		return run_input(sql, sql->query_file);
	return is_terminal ? run_lines(sql) : run_input(sql, "-");
}

static const struct orma_tool_option option_table[] = {
	{'f', "file", "FILE", "Read the queries from a file; - is standard input.",
	 ORMA_COMPLETE_FILE},
	{OPTION_CSV, "csv", NULL,
	 "Print rows as Perfetto's Trace Processor does. This is the default when the output is no "
	 "terminal.",
	 NULL},
	{OPTION_JSON, "json", NULL, "Print an array of objects for each query.", NULL},
	{OPTION_MARKDOWN, "markdown", NULL, "Print tables for documents.", NULL},
	{'m', "memory", "SIZE",
	 "Keep at most this much of the tables in memory, and the rest in a file below TMPDIR or "
	 "/var/tmp.",
	 NULL},
	{OPTION_PACKAGE, "add-sql-package", "FOLDER[@NAME]",
	 "Let `include perfetto module NAME.a.b` find the file a/b.sql in the folder. Without NAME "
	 "it "
	 "is the folder's own name. May be repeated.",
	 ORMA_COMPLETE_FOLDER},
	{0},
};

static int take_option(void *ctx, int id, char *value)
{
	struct sql *sql = ctx;
	switch (id) {
	case 'f':
		sql->query_file = value;
		return -1;
	case 'm':
		return orma_ask_take_memory(&sql->options, value);
	case OPTION_PACKAGE:
		return orma_ask_take_package(&sql->options, value, false);
	case OPTION_JSON:
		sql->format = ORMA_ASK_JSON;
		break;
	case OPTION_MARKDOWN:
		sql->format = ORMA_ASK_MARKDOWN;
		break;
	default:
		sql->format = ORMA_ASK_CSV;
		break;
	}
	sql->has_format = true;
	return -1;
}

static int run(int argc, char **argv)
{
	struct sql sql = {.format = ORMA_ASK_CSV};
	struct sigaction stop = {.sa_handler = stop_query};
	int status = orma_tool_read_options(&orma_sql_command, argc, argv, take_option, &sql);
	if (status >= 0)
		return status;
	if (optind == argc || optind + 2 < argc)
		return orma_tool_usage_error("name one trace, and at most one text with queries");
	const char *query = optind + 1 < argc ? argv[optind + 1] : NULL;
	if (query && sql.query_file)
		return orma_tool_usage_error(
			"the queries are on the command line or in a file, not both");
	sql.ask = orma_ask_load(argv[optind], &sql.options);
	if (!sql.ask)
		return ORMA_EXIT_FAILURE;
	sigaction(SIGINT, &stop, NULL);
	status = run_queries(&sql, query);
	orma_ask_free(sql.ask);
	return status;
}

const struct orma_tool_command orma_sql_command = {
	.name = "sql",
	.summary = "ask a trace with SQL",
	.usage = "[OPTIONS] TRACE [QUERIES]",
	.about = "Loads a trace (- is standard input) and answers queries in SQL. The tables, for "
		 "example slice, "
		 "thread, process, counter, sched and args, are those of Perfetto's Trace "
		 "Processor.\n\n"
		 "Without QUERIES, reads them from standard input; on a terminal, a query ends "
		 "with a semicolon.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
