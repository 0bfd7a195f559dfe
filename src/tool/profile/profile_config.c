/* SPDX-License-Identifier: Apache-2.0
 * profile_config.c - the TraceConfig of `orma profile`. Owns nothing.
 *
 * A program that is started is a child of this process, and inherits the events. So the scope is this process and its children, and
 * the probe leaves this process itself out.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/str.h"
#include "profile/stop_time.h"
#include "proto/text_lexer.h"
#include "tool/profile/profile.h"

#define BUFFER_KB 65536

static const struct {
	const char *name, *counter;
} events[] = {
	{"cpu-clock", "SW_CPU_CLOCK"},
	{"task-clock", "SW_TASK_CLOCK"},
	{"page-faults", "SW_PAGE_FAULTS"},
	{"faults", "SW_PAGE_FAULTS"},
	{"minor-faults", "SW_PAGE_FAULTS_MIN"},
	{"major-faults", "SW_PAGE_FAULTS_MAJ"},
	{"context-switches", "SW_CONTEXT_SWITCHES"},
	{"cpu-migrations", "SW_CPU_MIGRATIONS"},
	{"cycles", "HW_CPU_CYCLES"},
	{"instructions", "HW_INSTRUCTIONS"},
	{"cache-references", "HW_CACHE_REFERENCES"},
	{"cache-misses", "HW_CACHE_MISSES"},
	{"branches", "HW_BRANCH_INSTRUCTIONS"},
	{"branch-misses", "HW_BRANCH_MISSES"},
	{"bus-cycles", "HW_BUS_CYCLES"},
	{"stalled-cycles-frontend", "HW_STALLED_CYCLES_FRONTEND"},
	{"stalled-cycles-backend", "HW_STALLED_CYCLES_BACKEND"},
	{"ref-cycles", "HW_REF_CPU_CYCLES"},
};

/* Names of events have no quotes, so they need no escapes. */
static bool is_plain(const char *name)
{
	return name[0] &&
	       strspn(name,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-:/.") ==
		       strlen(name);
}

/* The counter of a name, or NULL. */
static const char *find_counter(const char *name, size_t size)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(events); i++)
		if (strlen(events[i].name) == size && memcmp(name, events[i].name, size) == 0)
			return events[i].counter;
	return NULL;
}

/* The modifier behind the name of a counter, as perf writes them: "cycles:u"; "" = none, NULL = another one. */
static const char *find_modifier(const char *colon)
{
	if (!*colon)
		return "";
	if (strcmp(colon, ":u") == 0)
		return "modifiers: EVENT_MODIFIER_COUNT_USERSPACE ";
	return strcmp(colon, ":k") == 0 ? "modifiers: EVENT_MODIFIER_COUNT_KERNEL " : NULL;
}

static int append_event(const char *name, struct orma_buf *text)
{
	const char *colon = strchrnul(name, ':');
	const char *counter = find_counter(name, (size_t)(colon - name));
	const char *modifier = counter ? find_modifier(colon) : NULL;
	uint64_t raw;

	if (counter)
		return modifier ? orma_base_buf_printf(text, "counter: %s %s", counter, modifier)
				: -EINVAL;
	if (!is_plain(name))
		return -EINVAL;
	if (*colon)
		return orma_base_buf_printf(text, "tracepoint { name: \"%s\" } ", name);
	if (name[0] != 'r' || orma_base_parse_u64(name + 1, 16, &raw) < 0)
		return -EINVAL;
	return orma_base_buf_printf(text, "raw_event { type: 4 config: %llu } ",
				    (unsigned long long)raw);
}

static int append_events(const struct orma_profile_options *options, struct orma_buf *text,
			 const char **ret_wrong)
{
	int r = orma_base_buf_append_str(text, "timebase { ");

	if (r == 0 && options->period > 0)
		r = orma_base_buf_printf(text, "period: %llu ",
					 (unsigned long long)options->period);
	else if (r == 0 && options->hz > 0)
		r = orma_base_buf_printf(text, "frequency: %u ", options->hz);
	for (size_t i = 0; i < options->event_count && r == 0; i++) {
		if (i > 0)
			r = orma_base_buf_append_str(text, "followers { ");
		if (r == 0)
			r = append_event(options->events[i], text);
		if (r == -EINVAL)
			*ret_wrong = options->events[i];
		if (r == 0)
			r = orma_base_buf_append_str(text, "} ");
	}
	return r == 0 && options->event_count == 0 ? orma_base_buf_append_str(text, "} ") : r;
}

static int append_scope(const struct orma_profile_options *options, struct orma_buf *text)
{
	static const char *const modes[] = {"UNWIND_DWARF", "UNWIND_FRAME_POINTER", "UNWIND_SKIP"};
	int r = orma_base_buf_printf(
		text, "callstack_sampling { kernel_frames: %s user_frames: %s ",
		options->is_without_kernel ? "false" : "true", modes[options->stacks]);

	if (r == 0)
		r = orma_base_buf_append_str(text, "scope { ");
	if (r == 0 && options->argv)
		r = orma_base_buf_printf(text, "target_pid: %d ", (int)getpid());
	for (size_t i = 0; i < options->pid_count && r == 0; i++)
		r = orma_base_buf_printf(text, "target_pid: %u ", options->pids[i]);
	if (r == 0)
		r = orma_base_buf_append_str(text, "} } ");
	if (r == 0 && (options->argv || options->pid_count > 0))
		r = orma_base_buf_append_str(text, "follow_children: true ");
	if (r == 0 && options->off_cpu)
		r = orma_base_buf_append_str(text, "off_cpu: true ");
	/* Names of systemd's groups have @ and backslashes. */
	if (r == 0 && options->cgroup)
		r = orma_base_buf_append_str(text, "cgroup: ");
	if (r == 0 && options->cgroup)
		r = orma_proto_text_put_string(text, orma_base_str(options->cgroup), false);
	return r;
}

int orma_profile_append_config(const struct orma_profile_options *options, struct orma_buf *text,
			       const char **ret_wrong)
{
	int r = orma_base_buf_printf(
		text,
		"buffers { size_kb: %d }\nwrite_into_file: true\n"
		/* The service would flush as often without it, but readers of the trace need the number. */
		"file_write_period_ms: 1000\nflush_period_ms: 5000\n"
		"data_source_stop_timeout_ms: %u\n"
		"data_sources { config { name: \"linux.perf\" "
		"perf_event_config { ",
		BUFFER_KB, ORMA_PROFILE_STOP_MS);

	if (r == 0)
		r = append_events(options, text, ret_wrong);
	if (r == 0)
		r = append_scope(options, text);
	if (r == 0)
		/* It comes last, so that it ends last: the last samples may be of processes without a name. */
		r = orma_base_buf_append_str(
			text, "} } }\ndata_sources { config { name: \"linux.process_stats\" "
			      "process_stats_config { scan_all_processes_on_start: true "
			      "record_thread_names: true } } }\n");
	if (r == 0 && options->duration_ms > 0)
		r = orma_base_buf_printf(text, "duration_ms: %u\n", options->duration_ms);
	return r;
}
