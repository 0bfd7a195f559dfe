/* SPDX-License-Identifier: Apache-2.0
 * trace_processor_run.c - loads a trace, and does with it what trace_processor_shell does.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "sql/sql_token.h"
#include "tool/ask/query_run.h"
#include "tool/ask/register_files.h"
#include "tool/ask/sql_shell.h"
#include "tool/ask/trace_processor.h"
#include "tool/export/export.h"
#include "tool/tool.h"

/* Returns whether there is more than spaces, comments and semicolons. */
static bool has_statement(struct orma_str text)
{
	struct orma_token token = orma_sql_token_next(text, 0);
	while (orma_sql_token_is_sign(&token, ';'))
		token = orma_sql_token_next(text, orma_sql_token_end(&token));
	return token.kind != ORMA_TOKEN_END;
}

static int run_queries(struct orma_ask *ask, const struct orma_trace_processor_options *options)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	int r = options->query ? orma_base_buf_append_str(&text, options->query)
			       : orma_tool_read_file(options->query_file, &text);
	if (r < 0)
		return orma_tool_fail(
			"unable to read the file %s: %s; queries themselves follow -Q",
			options->query_file, strerror(-r));
	struct orma_str queries = {(const char *)text.data, text.size};
	if (!has_statement(queries))
		return orma_tool_fail("No valid SQL to run");
	orma_query_take_signals(false);
	return orma_query_run(ask, queries, ORMA_ASK_CSV, orma_query_write, NULL);
}

static int write_times(const char *path, uint64_t load_ns, uint64_t query_ns)
{
	char text[64];
	int size = snprintf(text, sizeof(text), "%llu,%llu", (unsigned long long)load_ns,
			    (unsigned long long)query_ns);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	int r = fd < 0 ? -errno : orma_base_fd_write_all(fd, text, (size_t)size);
	orma_base_fd_close(fd);
	return r < 0 ? orma_tool_fail("cannot write %s: %s", path, strerror(-r)) : ORMA_EXIT_OK;
}

static int run_loaded(struct orma_ask *ask, const struct orma_trace_processor_options *options,
		      uint64_t load_ns)
{
	int status = ORMA_EXIT_OK;
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	if (options->query || options->query_file)
		status = run_queries(ask, options);
	uint64_t query_ns = orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	if (status == ORMA_EXIT_OK && options->times_file)
		status = write_times(options->times_file, load_ns, query_ns);
	if (status == ORMA_EXIT_OK && options->sqlite_file) {
		struct orma_export_options output = {.kind = ORMA_EXPORT_SQLITE,
						     .path = options->sqlite_file};
		status = orma_export_loaded(ask, &output);
	}
	if (status == ORMA_EXIT_OK && options->is_interactive)
		status = orma_sql_shell_run(ask, ORMA_ASK_TABLE);
	return status;
}

int orma_trace_processor_run(const struct orma_trace_processor_options *options)
{
	struct orma_ask_options ask_options = options->ask;
	char stdlib[4096];
	if (options->stdlib) {
		/* Its modules have no package before their names. */
		snprintf(stdlib, sizeof(stdlib), "%s@", options->stdlib);
		if (orma_ask_take_package(&ask_options, stdlib, true) >= 0)
			return ORMA_EXIT_FAILURE;
	}
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	struct orma_ask *ask = orma_ask_load(options->path, &ask_options);
	uint64_t load_ns = orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	if (!ask)
		return ORMA_EXIT_FAILURE;
	int status = options->files_folder
			     ? orma_register_files(orma_ask_database(ask), options->files_folder)
			     : ORMA_EXIT_OK;
	if (status == ORMA_EXIT_OK)
		status = run_loaded(ask, options, load_ns);
	orma_ask_free(ask);
	return status;
}
