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
#include "tool/tool.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary; /* NULL = an alias, not listed */
};

static const struct command commands[] = {
	{"record", orma_tool_record, "record a trace of this machine into a file"},
	{"dump", orma_tool_dump, "print a trace as text"},
	{"query", orma_tool_query, "show the daemon's producers, data sources and sessions"},
	{"trigger", orma_tool_trigger, "activate triggers that sessions wait for"},
	{"protogen", orma_tool_protogen, "make a C header of setters from a .proto file"},
	{"traced", orma_tool_traced, "the tracing daemon"},
	{"probes", orma_tool_probes, "the operating system's data sources, for a daemon"},
	{"traced_probes", orma_tool_probes, NULL},
	{"perfetto", orma_tool_perfetto, NULL},
	{"trigger_perfetto", orma_tool_trigger_perfetto, NULL},
};

static void print_help(FILE *out)
{
	fputs("Usage: orma COMMAND [OPTIONS]\n\n"
	      "Records what programs and the operating system do, in Perfetto's trace format.\n\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(commands); i++)
		if (commands[i].summary)
			orma_tool_print_line(out, "  %-8s  %s", commands[i].name,
					     commands[i].summary);
	fputs("\n"
	      "Options:\n"
	      "  -h, --help     print this\n"
	      "  -V, --version  print the version\n"
	      "\n"
	      "`orma COMMAND --help` and `orma help COMMAND` say more. Called through a link "
	      "named\n"
	      "traced, traced_probes, perfetto or trigger_perfetto, it takes those programs' "
	      "options.\n\n"
	      "Try:  orma record -t 2s -o trace.pftrace\n",
	      out);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static int run_command(const struct command *command, int argc, char **argv, bool is_link)
{
	static char name[64];
	snprintf(name, sizeof(name), "%s%s", is_link ? "" : "orma ", command->name);
	orma_tool_set_name(name);
	argv[0] = name;
	return command->run(argc, argv);
}

static int refuse_command(const char *wrong)
{
	const char *names[ORMA_ARRAY_SIZE(commands)];

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(commands); i++)
		names[i] = commands[i].name;
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
	const struct command *command = find_command(argv[1]);
	char *arguments[] = {argv[1], option, NULL};
	return command ? run_command(command, 2, arguments, false) : refuse_command(argv[1]);
}

static int run(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *self = slash ? slash + 1 : argc > 0 ? argv[0] : "orma";

	const struct command *link = find_command(self);
	if (link)
		return run_command(link, argc, argv, true);
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
	const struct command *command = find_command(argv[1]);
	if (!command)
		return refuse_command(argv[1]);
	return run_command(command, argc - 1, argv + 1, false);
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
