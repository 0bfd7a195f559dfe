/* SPDX-License-Identifier: Apache-2.0
 * main.c - one binary, several programs: picks the command by the name that the binary was called
 * with, or by the first argument. tool.h says where the code of a command is.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "tool/print.h"
#include "tool/record/record.h"
#include "tool/tool.h"

/* `orma --help` lists them in this order. */
static const struct orma_tool_command *const commands[] = {
	&orma_record_command,
	&orma_heap_command,
	&orma_profile_command,
	&orma_status_command,
	&orma_top_command,
	&orma_summary_command,
	&orma_report_command,
	&orma_view_command,
	&orma_events_command,
	&orma_diff_command,
	&orma_assert_command,
	&orma_sql_command,
	&orma_export_command,
	&orma_import_command,
	&orma_dump_command,
	&orma_cat_command,
	&orma_symbolize_command,
	&orma_doctor_command,
	&orma_trigger_command,
	&orma_protogen_command,
	&orma_traced_command,
	&orma_probes_command,
	&orma_profd_command,
	&orma_perfetto_command,
	&orma_trigger_perfetto_command,
	&orma_tracebox_command,
	&orma_trace_processor_command,
};

/* Earlier names, and those of Perfetto's programs that take the same options. */
static const struct alias {
	const char *name;
	const struct orma_tool_command *command;
} aliases[] = {
	{"query", &orma_status_command},
	{"traced_probes", &orma_probes_command},
};

static void print_help(FILE *out)
{
	fputs("Usage: orma COMMAND [OPTIONS]\n\n"
	      "Records what programs and the operating system do, in Perfetto's trace format.\n\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(commands); i++)
		if (commands[i]->summary)
			orma_tool_print_line(out, "  %-9s  %s", commands[i]->name,
					     commands[i]->summary);
	fputs("\n"
	      "Options:\n"
	      "  -h, --help     print this\n"
	      "  -V, --version  print the version\n"
	      "\n"
	      "`orma COMMAND --help` and `orma help COMMAND` say more. Called through a link "
	      "named\n"
	      "traced, traced_probes, perfetto, trigger_perfetto, tracebox or "
	      "trace_processor_shell,\n"
	      "it takes those programs' options.\n\n"
	      "Try:  orma record -t 2s -o trace.pftrace\n",
	      out);
}

static const struct orma_tool_command *find_command(const char *name)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(aliases); i++)
		if (strcmp(aliases[i].name, name) == 0)
			return aliases[i].command;
	return NULL;
}

/* `name` is how the command was called. */
static int run_command(const struct orma_tool_command *command, const char *name, bool is_link,
		       int argc, char **argv)
{
	static char title[64];

	snprintf(title, sizeof(title), "%s%s", is_link ? "" : "orma ", name);
	orma_tool_set_name(title);
	orma_tool_set_drop_in(is_link);
	argv[0] = title;
	return command->run(argc, argv);
}

static int print_tables(void)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(commands); i++)
		orma_tool_print_table(commands[i]);
	orma_record_print_sources();
	return ORMA_EXIT_OK;
}

static int refuse_command(const char *wrong)
{
	const char *names[ORMA_ARRAY_SIZE(commands)];

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(commands); i++)
		names[i] = commands[i]->name;
	const char *closest = orma_tool_closest(wrong, names, ORMA_ARRAY_SIZE(names));
	return closest ? orma_tool_usage_error("no command named \"%s\"; did you mean \"%s\"?",
					       wrong, closest)
		       : orma_tool_usage_error("no command named \"%s\"", wrong);
}

/* `orma help`, and `orma help COMMAND`, which is `orma COMMAND --help`. */
static int help(int argc, char **argv)
{
	static char option[] = "--help";

	if (argc < 2) {
		print_help(stdout);
		return ORMA_EXIT_OK;
	}
	const struct orma_tool_command *command = find_command(argv[1]);
	char *arguments[] = {argv[1], option, NULL};
	return command ? run_command(command, argv[1], false, 2, arguments)
		       : refuse_command(argv[1]);
}

static int run(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *self = slash ? slash + 1 : argc > 0 ? argv[0] : "orma";

	const struct orma_tool_command *link = find_command(self);
	if (link)
		return run_command(link, self, true, argc, argv);
	if (argc < 2) {
		print_help(stderr);
		return ORMA_EXIT_USAGE;
	}
	if (slash)
		orma_tool_set_path(argv[0]);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return help(argc - 1, argv + 1);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		orma_tool_print_version("orma");
		return ORMA_EXIT_OK;
	}
	if (strcmp(argv[1], "--print-options") == 0)
		return print_tables();
	const struct orma_tool_command *command = find_command(argv[1]);
	if (!command)
		return refuse_command(argv[1]);
	return run_command(command, argv[1], false, argc - 1, argv + 1);
}

/* Returns true when the reader of standard output has gone. `orma dump | head` closes the pipe
 * early, which is not an error. */
static bool has_no_reader(void)
{
	struct pollfd output = {.fd = STDOUT_FILENO};

	return poll(&output, 1, 0) > 0 && output.revents & POLLERR;
}

/* Flushes printed text that may still be in a buffer. */
static int finish_output(int status)
{
	errno = 0;
	if ((fflush(stdout) == 0 && !ferror(stdout)) || has_no_reader() || status != ORMA_EXIT_OK)
		return status;
	return orma_tool_fail("cannot write to standard output: %s", strerror(errno ? errno : EIO));
}

int main(int argc, char **argv)
{
	/* Do this before anything is opened, so that no file becomes standard error. */
	if (orma_base_fds_hold_standard())
		return ORMA_EXIT_FAILURE;
	/* With both signals ignored, write() fails when the reader has gone or the file is at its
	 * limit. Otherwise the signals would end the process. */
	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	orma_tool_set_name("orma");
	return finish_output(run(argc, argv));
}
