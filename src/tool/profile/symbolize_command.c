/* SPDX-License-Identifier: Apache-2.0
 * symbolize_command.c - `orma symbolize`: gives the addresses in a recorded profile the names of functions.
 */
#include <string.h>
#include <unistd.h>

#include "tool/profile/symbolize.h"
#include "tool/tool.h"

static const struct orma_tool_option option_table[] = {
	{'o', "out", "FILE", "Write the trace with names to this file; - is standard output.",
	 ORMA_COMPLETE_FILE},
	{'s', "symbols", "FOLDER",
	 "Also search this folder for programs, libraries and their debugging information: by "
	 "path, "
	 "by name, and by build id below .build-id. May be given several times.",
	 ORMA_COMPLETE_FOLDER},
	{'q', "quiet", NULL, "Do not list the files whose functions have no names.", NULL},
	{0},
};

static int take_option(void *ctx, int id, char *value)
{
	struct orma_symbolize_options *options = ctx;

	if (id == 'q') {
		options->is_quiet = true;
		return -1;
	}
	if (id == 'o') {
		options->output = value;
		return -1;
	}
	if (options->folder_count == ORMA_SYMBOLIZE_FOLDERS_MAX)
		return orma_tool_usage_error("there are more than %d folders",
					     ORMA_SYMBOLIZE_FOLDERS_MAX);
	options->folders[options->folder_count++] = value;
	return -1;
}

static int run(int argc, char **argv)
{
	struct orma_symbolize_options options = {.output = NULL};
	int status =
		orma_tool_read_options(&orma_symbolize_command, argc, argv, take_option, &options);

	if (status >= 0)
		return status;
	if (optind + 1 != argc)
		return orma_tool_usage_error("name one trace");
	if (!options.output)
		return orma_tool_usage_error("name the file for the trace with names, with -o");
	if (strcmp(argv[optind], "-") == 0)
		return orma_tool_usage_error("the trace is read twice, so it cannot be standard "
					     "input: name a file");
#ifdef ORMA_HAVE_SQL
	return orma_symbolize_run(&options, argv[optind]);
#else
	return orma_tool_fail("this binary was built without SQLite, and cannot ask traces");
#endif
}

const struct orma_tool_command orma_symbolize_command = {
	.name = "symbolize",
	.summary = "give a profile the names and lines of functions",
	.usage = "[OPTIONS] -o OUT TRACE",
	.about =
		"Copies a trace and adds functions, files, lines and inlined functions for the "
		"addresses in its call stacks. They come from the programs and libraries on this "
		"machine and from their debugging information, if their build ids are those of the "
		"trace. Nothing is fetched from a network.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
