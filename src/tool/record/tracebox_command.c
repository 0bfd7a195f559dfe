/* SPDX-License-Identifier: Apache-2.0
 * tracebox_command.c - the command line of Perfetto's tracebox: all of its programs in one.
 *
 * The first argument is the name of a program, or the line is that of `perfetto`. In the second case
 * upstream starts a daemon and probes on sockets of their own, unless --system-sockets is given. Here
 * a daemon that runs is used, and without one the recorder is its own, as for `orma record`.
 */
#include <string.h>

#include "base/macros.h"
#include "tool/print.h"
#include "tool/record/perfetto_command.h"
#include "tool/tool.h"

static const struct program {
	const char *name;
	const struct orma_tool_command *command; /* NULL = orma has none like it */
} programs[] = {
	{"traced", &orma_traced_command},
	{"traced_probes", &orma_probes_command},
	{"perfetto", &orma_perfetto_command},
	{"trigger_perfetto", &orma_trigger_perfetto_command},
	{"traced_relay", NULL},
	{"traced_perf", NULL},
	{"websocket_bridge", NULL},
};

static const struct orma_tool_option option_table[] = {{0}};

static void print_help(FILE *out)
{
	fputs("Usage: tracebox PROGRAM [ARGUMENT...]\n"
	      "       tracebox [--system-sockets] [OPTIONS OF perfetto]\n\n"
	      "A PROGRAM is one of traced, traced_probes, perfetto and trigger_perfetto. The "
	      "second "
	      "form records as\n"
	      "perfetto does; without a daemon it is its own, unless --system-sockets is given.\n",
	      out);
}

/* Removes the option. Returns true when it was there. */
static bool take_system_sockets(int *argc, char **argv)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--system-sockets") != 0)
			continue;
		memmove(argv + i, argv + i + 1, (size_t)(*argc - i) * sizeof(*argv));
		--*argc;
		return true;
	}
	return false;
}

static int run(int argc, char **argv)
{
	const char *first = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(programs); i++) {
		if (strcmp(first, programs[i].name) != 0)
			continue;
		if (!programs[i].command)
			return orma_tool_fail("%s is not a part of orma; Perfetto's own works with "
					      "orma's daemon",
					      first);
		orma_tool_set_name(programs[i].name);
		return programs[i].command->run(argc - 1, argv + 1);
	}
	if (argc < 2) {
		print_help(stderr);
		return ORMA_EXIT_FAILURE;
	}
	if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) {
		print_help(stdout);
		return ORMA_EXIT_OK;
	}
	bool uses_system = take_system_sockets(&argc, argv);
	return orma_perfetto_run(argc, argv, !uses_system);
}

const struct orma_tool_command orma_tracebox_command = {
	.name = "tracebox",
	.usage = "PROGRAM [ARGUMENT...]\n[--system-sockets] [OPTION...]",
	.about = "Perfetto's programs in one.",
	.options = option_table,
	.run = run,
};
