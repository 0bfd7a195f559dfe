/* SPDX-License-Identifier: Apache-2.0
 * import_command.c - `orma import`: makes a trace of a report or of another tool's recording.
 *
 * All commands read those files as they are, so the trace is for other programs. The default name never replaces a file: the
 * report of a trace is named like it, and has less in it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/macros.h"
#include "tool/print.h"
#include "tool/tool.h"
#include "tool/trace/trace_copy.h"
#include "tool/trace/trace_input.h"

static const struct orma_tool_option option_table[] = {
	{'o', "output", "FILE",
	 "Write the trace there; - is standard output. Default: the file's name without the ending "
	 "that it had, with .pftrace, in this folder.",
	 ORMA_COMPLETE_FILE},
	{0},
};

static int take_option(void *ctx, int id, char *value)
{
	const char **output = ctx;
	(void)id;
	*output = value;
	return -1;
}

/* The ending that stays is .pftrace, as in the name of the report of trace.pftrace. */
static int append_name(struct orma_buf *name, const char *path)
{
	static const char ending[] = ".pftrace";
	const char *slash = strrchr(path, '/');
	const char *base = slash && slash[1] ? slash + 1 : path;
	const char *dot = strrchr(base, '.');
	size_t size = dot && dot > base ? (size_t)(dot - base) : strlen(base);
	bool has_ending = size > strlen(ending) &&
			  memcmp(base + size - strlen(ending), ending, strlen(ending)) == 0;
	int r = orma_base_buf_append(name, base, size);
	return r == 0 && !has_ending ? orma_base_buf_append_str(name, ending) : r;
}

static int import(const char *output, char *path)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf name = {0};
	int r = strcmp(path, "-") == 0 ? orma_base_buf_append_str(&name, "import.pftrace")
				       : append_name(&name, path);
	if (r < 0)
		return orma_tool_fail("%s: %s", path, strerror(-r));
	const char *chosen = output ? output : orma_base_buf_cstr(&name);
	if (!output && access(chosen, F_OK) == 0)
		return orma_tool_fail("%s is there already; name another file with -o", chosen);
	int status = orma_trace_copy(chosen, &path, 1);
	if (status == ORMA_EXIT_OK && strcmp(chosen, "-") != 0)
		orma_tool_print_line(stdout, "%s", chosen);
	return status;
}

static int run(int argc, char **argv)
{
	const char *output = NULL;
	int status = orma_tool_read_options(&orma_import_command, argc, argv, take_option, &output);
	if (status >= 0)
		return status;
	if (argc - optind != 1)
		return orma_tool_usage_error("name one file");
	return import(output, argv[optind]);
}

const struct orma_tool_command orma_import_command = {
	.name = "import",
	.summary = "make a trace of a report or of another tool's recording",
	.usage = "[OPTIONS] FILE",
	.about = "Makes a trace of a file that another tool has recorded (perf, LTTng, Chrome, "
		 "strace, ...), or that `orma report` has written (- is standard input). All "
		 "commands of orma read these files as they are; the trace is for other programs.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
