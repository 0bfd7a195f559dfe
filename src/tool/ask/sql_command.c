/* SPDX-License-Identifier: Apache-2.0
 * sql_command.c - `orma sql`: asks a trace with SQL.
 *
 * The queries are the last argument, a file, or standard input, which on a terminal is a shell.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/ask/ask.h"
#include "tool/ask/query_run.h"
#include "tool/ask/sql_shell.h"
#include "tool/tool.h"

enum {
	OPTION_CSV = ORMA_OPTION_FIRST_OWN,
	OPTION_JSON,
	OPTION_MARKDOWN,
	OPTION_PACKAGE,
	OPTION_INDEX
};

struct sql {
	enum orma_ask_format format;
	bool has_format;
	const char *query_file;
	struct orma_ask_options options;
	struct orma_ask *ask;
};

static int run_queries(struct sql *sql, const char *query)
{
	if (!sql->has_format && isatty(STDOUT_FILENO))
		sql->format = ORMA_ASK_TABLE;
#ifdef ORMA_HAVE_SQL
	if (!query && !sql->query_file && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		return orma_sql_shell_run(sql->ask, sql->format);
#endif
	orma_query_take_signals(false);
	if (query)
		return orma_query_run(sql->ask, orma_base_str(query), sql->format, orma_query_write,
				      NULL);
	return orma_query_run_file(sql->ask, sql->query_file ? sql->query_file : "-", sql->format,
				   orma_query_write, NULL);
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
	 "Keep at most this much of tables and rows in memory, and the rest in files below TMPDIR "
	 "or /var/tmp. The default is a quarter of what the machine or the container has. A query "
	 "whose values and "
	 "groups need more than twice as much, and more than 256 MB, fails.",
	 NULL},
	{OPTION_INDEX, "index", NULL,
	 "Write the tables into TRACE.orma-index, so that this and other commands need not fill "
	 "them again.",
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
	case OPTION_INDEX:
		sql->options.has_index = true;
		return -1;
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

/* A trace may have any name, so the last word is a query only if no such file is there and if it has what every query has. A
 * wrong name is then a file that cannot be opened. */
static bool is_query(const char *word)
{
	struct stat info;
	return (!*word || strpbrk(word, " \t\n(;")) && stat(word, &info) != 0;
}

static int run(int argc, char **argv)
{
	struct sql sql = {.format = ORMA_ASK_CSV};
	int status = orma_tool_read_options(&orma_sql_command, argc, argv, take_option, &sql);
	if (status >= 0)
		return status;
	if (optind == argc)
		return orma_tool_usage_error("name a trace");
	int trace_count = argc - optind;
	const char *query = trace_count > 1 && is_query(argv[argc - 1]) ? argv[argc - 1] : NULL;
	if (query && sql.query_file)
		return orma_tool_usage_error(
			"the queries are on the command line or in a file, not both");
	trace_count -= query != NULL;
	if (sql.options.has_index && (trace_count > 1 || strcmp(argv[optind], "-") == 0))
		return orma_tool_usage_error("--index is for one trace that is a file");
	sql.ask = orma_ask_load_all((const char *const *)argv + optind, (size_t)trace_count,
				    &sql.options);
	if (!sql.ask)
		return ORMA_EXIT_FAILURE;
	status = run_queries(&sql, query);
	orma_ask_free(sql.ask);
	return status;
}

const struct orma_tool_command orma_sql_command = {
	.name = "sql",
	.summary = "ask a trace with SQL",
	.usage = "[OPTIONS] TRACE... [QUERIES]",
	.about = "Loads a trace (- is standard input) and answers queries in SQL. The tables, for "
		 "example slice, "
		 "thread, process, counter, sched and args, are those of Perfetto's Trace "
		 "Processor.\n\n"
		 "Several traces share the tables, as those in an archive do: they are recordings "
		 "of one machine unless their packets say otherwise, and their clocks are related "
		 "by the snapshots in them. The table trace_file lists them; metadata and stats "
		 "say in the column trace_id which of them they are of. The last word is a query "
		 "if there is no file of that name.\n\n"
		 "Without QUERIES, reads them from standard input. On a terminal that is a shell, "
		 "with completion and history; its command .help lists the others.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
