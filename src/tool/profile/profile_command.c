/* SPDX-License-Identifier: Apache-2.0
 * profile_command.c - `orma profile`: which functions take the time of the CPUs, or wait.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log_message.h"
#include "base/macros.h"
#include "base/str.h"
#include "tool/ask/ask.h"
#include "tool/profile/profile.h"
#include "tool/tool.h"

enum {
	OPTION_OFF_CPU = ORMA_OPTION_FIRST_OWN,
	OPTION_PAGE_FAULTS,
	OPTION_STACKS,
	OPTION_NO_KERNEL,
	OPTION_CGROUP,
	OPTION_PERIOD
};
enum { ROWS_DEFAULT = 15, HZ_DEFAULT = 99, HZ_MAX = 50000 };

static const struct orma_tool_option option_table[] = {
	{'o', "output", "FILE",
	 "Write a report with flame graphs when the name ends with .html, a profile for pprof with "
	 ".pb.gz, lines of stacks with .collapsed or .folded, otherwise the trace. Default: "
	 "profile.pftrace.",
	 ORMA_COMPLETE_FILE},
	{'t', "time", "DURATION",
	 "Stop after this time: 10s, 500ms, 2m or 1h. Default: when the program ends, or all "
	 "processes of -p, or Ctrl-C.",
	 NULL},
	{'p', "pid", "PID", "Profile this process, its children and theirs. May be repeated.",
	 NULL},
	{'F', "frequency", "HZ",
	 "Take so many samples a second on each CPU. Default: 99. With --off-cpu, record so many "
	 "waits at most. Default: 2000.",
	 NULL},
	{OPTION_PERIOD, "period", "N", "Take a sample each N events instead.", NULL},
	{'e', "event", "EVENT",
	 "Sample on this event: cpu-clock (the default), page-faults, context-switches, cycles, "
	 "instructions, cache-misses, a tracepoint group:name, or a raw event rHEX. "
	 "The name of a counter with :u or :k, such as cycles:u, counts in programs or in the "
	 "kernel "
	 "alone. "
	 "Further events are counted with it.",
	 NULL},
	{OPTION_OFF_CPU, "off-cpu", NULL,
	 "Measure how long threads wait, and where, instead of where they run.", NULL},
	{OPTION_PAGE_FAULTS, "page-faults", NULL, "The same as -e page-faults --period 1.", NULL},
	{OPTION_STACKS, "stacks", "WAY",
	 "Find callers with the programs' unwind tables (dwarf, the default), with frame pointers "
	 "(fp), or leave the programs' functions out (none).",
	 "dwarf fp none"},
	{OPTION_NO_KERNEL, "no-kernel", NULL, "Leave the kernel's functions out of the stacks.",
	 NULL},
	{OPTION_CGROUP, "cgroup", "PATH",
	 "Profile the processes of this control group, such as system.slice.", NULL},
	{'n', "top", "N", "Print at most N functions, up to 100. Default: 15.", NULL},
	{'q', "quiet", NULL, "Print no table.", NULL},
	{0},
};

static int take_number(const char *value, const char *what, uint64_t max, uint64_t *ret)
{
	return orma_base_parse_u64(value, 10, ret) || *ret == 0 || *ret > max
		       ? orma_tool_usage_error("\"%s\" is not %s", value, what)
		       : -1;
}

static int take_pid(struct orma_profile_options *options, const char *value)
{
	int32_t pid;
	int status = orma_tool_take_pid(value, &pid);

	if (status >= 0)
		return status;
	if (options->pid_count == ORMA_PROFILE_PIDS_MAX)
		return orma_tool_usage_error("there are more than %d processes",
					     ORMA_PROFILE_PIDS_MAX);
	options->pids[options->pid_count++] = (uint32_t)pid;
	return -1;
}

static int take_event(struct orma_profile_options *options, const char *value)
{
	if (options->event_count == ORMA_PROFILE_EVENTS_MAX)
		return orma_tool_usage_error("there are more than %d events",
					     ORMA_PROFILE_EVENTS_MAX);
	options->events[options->event_count++] = value;
	return -1;
}

static int take_stacks(struct orma_profile_options *options, const char *value)
{
	static const char *const names[] = {"dwarf", "fp", "none"};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(names); i++)
		if (strcmp(value, names[i]) == 0) {
			options->stacks = (enum orma_profile_stacks)i;
			return -1;
		}
	return orma_tool_usage_error("\"%s\" is not a way to find callers: dwarf, fp or none",
				     value);
}

static int take_frequency(struct orma_profile_options *options, const char *value)
{
	uint64_t hz = 0;
	int status = take_number(value, "a frequency from 1 to 50000", HZ_MAX, &hz);

	options->hz = (uint32_t)hz;
	return status;
}

static int take_option(void *ctx, int id, char *value)
{
	struct orma_profile_options *options = ctx;

	switch (id) {
	case 'o':
		options->path = value;
		return -1;
	case 't':
		return orma_tool_take_duration(value, &options->duration_ms);
	case 'p':
		return take_pid(options, value);
	case 'F':
		return take_frequency(options, value);
	case OPTION_PERIOD:
		return take_number(value, "a number of events", UINT64_MAX, &options->period);
	case 'e':
		return take_event(options, value);
	case OPTION_OFF_CPU:
		options->off_cpu = true;
		return -1;
	case OPTION_PAGE_FAULTS:
		options->period = 1;
		return take_event(options, "page-faults");
	case OPTION_STACKS:
		return take_stacks(options, value);
	case OPTION_NO_KERNEL:
		options->is_without_kernel = true;
		return -1;
	case OPTION_CGROUP:
		options->cgroup = value;
		return value[0] ? -1
				: orma_tool_usage_error(
					  "a control group has a path, such as system.slice");
	case 'n':
		return orma_ask_take_top(value, &options->top);
	default:
		options->is_quiet = true;
		return -1;
	}
}

/* The program follows "--". */
static int find_program(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return i + 1;
	return argc;
}

static int run(int argc, char **argv)
{
	struct orma_profile_options options = {.path = "profile.pftrace", .top = ROWS_DEFAULT};
	int program = find_program(argc, argv);
	bool has_program = program < argc;
	int own_argc = has_program ? program - 1 : argc;
	int status = orma_tool_read_options(&orma_profile_command, own_argc, argv, take_option,
					    &options);

	if (status >= 0)
		return status;
	if (optind < own_argc)
		return orma_tool_usage_error("write -- before the program: orma profile -- %s",
					     argv[optind]);
	/* The probe has a default for waits. */
	if (options.hz == 0 && !options.off_cpu)
		options.hz = HZ_DEFAULT;
	if (has_program)
		options.argv = argv + program;
	if (has_program && options.pid_count > 0)
		return orma_tool_usage_error("name processes with --pid, or a program, not both");
	if (options.off_cpu && options.event_count > 0)
		return orma_tool_usage_error("--off-cpu measures waits and no other event, so it "
					     "excludes -e and --page-faults");
	if (options.cgroup && (has_program || options.pid_count > 0))
		return orma_tool_usage_error("--cgroup excludes --pid and a program");
#if defined(ORMA_HAVE_PERF) && defined(ORMA_HAVE_SQL)
	orma_tool_log_to_stderr(ORMA_LOG_WARNING);
	return orma_profile_run(&options);
#else
	return orma_tool_fail("this binary is built without profilers; build orma with SQLite and "
			      "without ORMA_STATIC to have them");
#endif
}

const struct orma_tool_command orma_profile_command = {
	.name = "profile",
	.summary = "find out which functions take the time, or wait",
	.usage = "[OPTIONS] [-t DURATION]\n[OPTIONS] -p PID...\n[OPTIONS] -- PROGRAM [ARGS]",
	.about = "Samples the call stacks of the whole machine (as root), of a user's own "
		 "processes, of some processes, or of a program that it starts, and prints the "
		 "functions that cost most. It needs no daemon. Functions have names in the trace, "
		 "and callers are found without frame pointers.",
	.options = option_table,
	.notes = "Without root, it sees the user's own processes without the time in the kernel, "
		 "unless kernel.perf_event_paranoid is below 2; `orma doctor` says what is "
		 "permitted.",
	.run = run,
};
