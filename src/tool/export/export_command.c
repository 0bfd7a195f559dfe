/* SPDX-License-Identifier: Apache-2.0
 * export_command.c - `orma export`: writes what a trace says in formats of other programs.
 */
#include <unistd.h>

#include "tool/export/export.h"
#include "tool/tool.h"
#include "tool/trace/trace_input.h"

enum {
	OPTION_SQLITE = ORMA_OPTION_FIRST_OWN,
	OPTION_CSV,
	OPTION_PARQUET,
	OPTION_JSON,
	OPTION_COLLAPSED,
	OPTION_PPROF,
	OPTION_VALUE,
	OPTION_SLICES,
	OPTION_PLAIN,
	OPTION_PACKAGE,
};

static const struct orma_tool_option option_table[] = {
	{OPTION_SQLITE, "sqlite", "FILE", "Write all tables and views into a file of SQLite.",
	 ORMA_COMPLETE_FILE},
	{OPTION_CSV, "csv", "FOLDER", "Write each table and view as FOLDER/NAME.csv.",
	 ORMA_COMPLETE_FOLDER},
	{OPTION_PARQUET, "parquet", "FOLDER", "Write each table and view as FOLDER/NAME.parquet.",
	 ORMA_COMPLETE_FOLDER},
	{OPTION_JSON, "json", "FILE",
	 "Write slices and flows in the format of chrome://tracing; - is standard output.",
	 ORMA_COMPLETE_FILE},
	{OPTION_COLLAPSED, "collapsed", "FILE",
	 "Write the stacks of samples or heaps, or else of slices, a line for each, for flame "
	 "graphs; - is standard output.",
	 ORMA_COMPLETE_FILE},
	{OPTION_PPROF, "pprof", "FILE",
	 "Write a profile for pprof, compressed with gzip; - is standard output.",
	 ORMA_COMPLETE_FILE},
	{OPTION_VALUE, "value", "NAME",
	 "With --collapsed and --pprof: take the profile that has this value, for example samples, "
	 "inuse_space or alloc_objects.",
	 NULL},
	{'t', "table", "NAME", "With tables: write this one only. May be repeated.", NULL},
	{OPTION_SLICES, "slices", NULL,
	 "With --collapsed: write slices even when there are samples.", NULL},
	{OPTION_PLAIN, "uncompressed", NULL, "With --parquet: do not compress with zstd.", NULL},
	{'m', "memory", "SIZE",
	 "Keep at most this much of the tables in memory, and the rest in a file below TMPDIR or "
	 "/var/tmp.",
	 NULL},
	{0},
};

static int take_kind(struct orma_export_options *options, enum orma_export_kind kind, char *path)
{
	if (options->kind != ORMA_EXPORT_NOTHING)
		return orma_tool_usage_error("name one kind of output");
	options->kind = kind;
	options->path = path;
	return -1;
}

static int take_option(void *ctx, int id, char *value)
{
	struct orma_export_options *options = ctx;
	switch (id) {
	case 'm':
		return orma_ask_take_memory(&options->ask, value);
	case 't':
		if (options->table_count == ORMA_EXPORT_TABLES_MAX)
			return orma_tool_usage_error("there are more than %d tables",
						     ORMA_EXPORT_TABLES_MAX);
		options->tables[options->table_count++] = value;
		return -1;
	case OPTION_VALUE:
		options->value = value;
		return -1;
	case OPTION_SLICES:
		options->has_slices = true;
		return -1;
	case OPTION_PLAIN:
		options->is_plain = true;
		return -1;
	default:
		return take_kind(options,
				 (enum orma_export_kind)(ORMA_EXPORT_SQLITE + id - OPTION_SQLITE),
				 value);
	}
}

static int run(int argc, char **argv)
{
	struct orma_export_options options = {.kind = ORMA_EXPORT_NOTHING};
	int status =
		orma_tool_read_options(&orma_export_command, argc, argv, take_option, &options);
	if (status >= 0)
		return status;
	if (optind == argc)
		return orma_tool_usage_error("name a trace");
	if (options.kind == ORMA_EXPORT_NOTHING)
		return orma_tool_usage_error("say what to write: --sqlite, --csv, --parquet, "
					     "--json, --collapsed or --pprof");
	if (options.table_count > 0 && options.kind > ORMA_EXPORT_PARQUET)
		return orma_tool_usage_error("--table is for --sqlite, --csv and --parquet");
	if (options.value && options.kind < ORMA_EXPORT_COLLAPSED)
		return orma_tool_usage_error("--value is for --collapsed and --pprof");
	if (orma_trace_input_spare(options.path, argv + optind, argc - optind))
		return ORMA_EXIT_FAILURE;
	return orma_export_run(&options, (const char *const *)argv + optind,
			       (size_t)(argc - optind));
}

const struct orma_tool_command orma_export_command = {
	.name = "export",
	.summary = "write a trace as SQLite, CSV, Parquet, JSON, stacks or pprof",
	.usage = "[OPTIONS] --sqlite FILE TRACE...\n"
		 "[OPTIONS] --csv FOLDER TRACE...\n"
		 "[OPTIONS] --parquet FOLDER TRACE...\n"
		 "[OPTIONS] --json FILE TRACE...\n"
		 "[OPTIONS] --collapsed FILE TRACE...\n"
		 "[OPTIONS] --pprof FILE TRACE...",
	.about = "Loads a trace (- is standard input) and writes what it says for other programs. "
		 "Several traces are written as one. A file that exists is replaced when the new "
		 "one is whole.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
