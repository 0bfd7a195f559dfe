/* SPDX-License-Identifier: Apache-2.0
 * ftrace_kill_test.c - the data source linux.ftrace over a made-up tracefs: after SIGKILL the next start undoes each kind of
 * change.
 */
#include <signal.h>
#include <sys/wait.h>

#include "fake_api.h"
#include "fake_tracefs.h"

#define CONFIG(text) "name: 'linux.ftrace' ftrace_config { " text " }"
#define GRAPH        "enable_function_graph: true function_filters: 'do_exit' "

/* A config, and the file in which its change shows. */
static const struct kind {
	const char *name, *config;
	const char *file, *during; /* the text that the file ends with while the session runs */
	const char *after;         /* the same after the next start, for lists; NULL = as before */
} kinds[] = {
	{"event", "ftrace_events: 'sched/sched_switch'", "events/sched/sched_switch/enable", "1",
	 NULL},
	{"recording", "", "tracing_on", "1", NULL},
	{"clock", "", "trace_clock", "boot", NULL},
	{"size", "buffer_size_kb: 512", "buffer_size_kb", "512", NULL},
	{"filter of threads", "tids_to_trace: 7", "set_event_pid", "7", NULL},
	{"CPUs", "tracing_cpumask: '1'", "tracing_cpumask", "1", NULL},
	{"option", "tracefs_options { name: 'event-fork' state: STATE_ENABLED }",
	 "options/event-fork", "1", NULL},
	{"filter of system calls", "syscall_events: 'sys_close'",
	 "events/raw_syscalls/sys_exit/enable", "1", NULL},
	{"tracer", GRAPH, "current_tracer", "function_graph", NULL},
	{"functions", GRAPH, "set_ftrace_filter", "do_exit", NULL},
	{"roots", GRAPH "function_graph_roots: 'b'", "set_graph_function", "b", NULL},
	{"depth", GRAPH "function_graph_max_depth: 2", "max_graph_depth", "2", NULL},
	{"kprobe", "kprobe_events { probe: 'f' type: KPROBE_TYPE_BOTH }", "kprobe_events",
	 "r1024:perfetto_kretprobes/f f", "-:perfetto_kretprobes/f-:perfetto_kprobes/f"},
	{"uprobe", "kprobe_events { probe: '/bin/a:0x10' type: KPROBE_TYPE_KPROBE }",
	 "uprobe_events", "p:perfetto_uprobes/a_0x10 /bin/a:0x10", "-:perfetto_uprobes/a_0x10"},
	{"synthetic event", "ftrace_events: 'kmem/rss_stat' throttle_rss_stat: true",
	 "synthetic_events", "int member; long size", "!rss_stat_throttled"},
	{"trigger", "ftrace_events: 'kmem/rss_stat' throttle_rss_stat: true",
	 "events/kmem/rss_stat/trigger", ".rss_stat_throttled(mm_id,curr,member,size)",
	 "!hist:keys=mm_id,member:bucket=size/0x80000:onchange($bucket).rss_stat_throttled(mm_id,"
	 "curr,member,size)"},
	{"instance", "instance_name: 'side' ftrace_events: 'sched/sched_switch'",
	 "instances/side/events/sched/sched_switch/enable", "1", NULL},
	{"probe of an instance",
	 "instance_name: 'side' kprobe_events { probe: 'f' type: KPROBE_TYPE_KPROBE }",
	 "kprobe_events", "p:perfetto_kprobes/f f", "-:perfetto_kprobes/f"},
};

/* A tracefs in which nothing has the value that it has after a boot. */
static void make_tree(void)
{
	fake_tracefs_make();
	fake_put("tracing/tracing_on", "0\n");
	fake_put("tracing/trace_clock", "local [global] boot\n");
	fake_put("tracing/buffer_size_kb", "300\n");
	fake_put("tracing/set_event_pid", "42\n43\n");
	fake_put("tracing/tracing_cpumask", "2\n");
	fake_put("tracing/set_ftrace_filter", "schedule\nvfs_read\n");
	fake_put("tracing/set_graph_function", "schedule\n");
	fake_put("tracing/max_graph_depth", "5\n");
	fake_put("tracing/events/sched/sched_waking/enable", "1\n");
	fake_put("tracing/set_event", "sched:sched_waking\n");
	fake_put("tracing/events/raw_syscalls/sys_enter/filter", "id == 1\n");
	fake_put("tracing/instances/side/buffer_size_kb", "100\n");
	fake_env.tracefs_path = fake_tracefs_path;
	fake_env.ftrace_state_path = fake_state_path;
}

static bool ends_with(const char *file, const char *end)
{
	char path[256];

	snprintf(path, sizeof(path), "tracing/%s", file);
	const char *text = fake_get(path);
	return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* Records in a child that ends as a killed process does: without a chance to restore anything. */
static void record_and_be_killed(const struct kind *kind)
{
	char config[512];
	int status;

	fflush(NULL);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		fake_open(orma_probe_ftrace_new);
		snprintf(config, sizeof(config), CONFIG("%s"), kind->config);
		fake_start(0, config);
		raise(SIGKILL);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

ORMA_TEST(the_next_start_undoes_every_kind_of_change)
{
	fake_capture_log();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct kind *kind = &kinds[i];

		make_tree();
		char *before = fake_tracefs_state(NULL);
		record_and_be_killed(kind);
		if (!ends_with(kind->file, kind->during))
			orma_test_fail(__FILE__, __LINE__, "%s: the session changed nothing",
				       kind->name);
		fake_open(orma_probe_ftrace_new);
		char *after = fake_tracefs_state(NULL);
		CHECK_STR(after, before);
		if (kind->after && !ends_with(kind->file, kind->after))
			orma_test_fail(__FILE__, __LINE__, "%s: it is not undone", kind->name);
		free(before);
		free(after);
		fake_close();
		fake_log = (struct orma_buf){0};
	}
}
