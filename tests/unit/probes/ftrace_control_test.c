/* SPDX-License-Identifier: Apache-2.0
 * ftrace_control_test.c - the data source linux.ftrace over a made-up tracefs: what sessions change there, and that nothing
 * stays changed.
 */
#include <sys/file.h>

#include "fake_api.h"
#include "fake_tracefs.h"
#include "probes/ftrace/elf_symbol.h"
#include "probes/ftrace/ftrace_config.h"
#include "schema/gen/ftrace_stats.pb.h"

#define CONFIG(text) "name: 'linux.ftrace' ftrace_config { " text " }"
#define SWITCH       "ftrace_events: 'sched/sched_switch' "

static char *tree_before;

static void open_tree(void)
{
	fake_capture_log();
	fake_tracefs_make();
	fake_env.tracefs_path = fake_tracefs_path;
	fake_env.ftrace_state_path = fake_state_path;
	tree_before = fake_tracefs_state(NULL);
	fake_open(orma_probe_ftrace_new);
}

/* Ends all sessions, and checks that tracefs is as it was. */
static void close_tree(void)
{
	fake_close();
	char *after = fake_tracefs_state(NULL);
	CHECK_STR(after, tree_before);
	free(after);
	free(tree_before);
}

static const char *value(const char *file)
{
	char path[256];

	snprintf(path, sizeof(path), "tracing/%s", file);
	return fake_get(path);
}

/* FtraceStats of the first packet of a flush. */
static const struct orma_pb_ftrace_stats *stats_of_start(uint32_t idx)
{
	fake_forget_packets();
	fake_flush(idx);
	CHECK(fake_packet_count >= 1);
	const struct orma_pb_ftrace_stats *stats = fake_packet(0)->ftrace_stats;
	CHECK(stats != NULL);
	CHECK_INT(stats->phase, ORMA_PB_FTRACE_STATS_PHASE_START_OF_TRACE);
	return stats;
}

static bool has_problem(uint32_t idx, const char *text)
{
	struct orma_str errors = stats_of_start(idx)->atrace_errors;

	return errors.size > 0 && memmem(errors.data, errors.size, text, strlen(text)) != NULL;
}

/* ---- one session ---- */

ORMA_TEST(a_session_takes_the_buffer_over_and_leaves_it_as_it_was)
{
	open_tree();
	fake_start(0, CONFIG(SWITCH "buffer_size_kb: 512"));
	CHECK_STR(value("tracing_on"), "1");
	CHECK_STR(value("trace_clock"), "boot");
	CHECK_STR(value("buffer_size_kb"), "512");
	CHECK_STR(value("trace"), "");
	CHECK_STR(value("events/sched/sched_switch/enable"), "1");
	CHECK_STR(value("events/sched/sched_waking/enable"), "0");
	fake_stop(0);
	CHECK_STR(value("events/sched/sched_switch/enable"), "0");
	CHECK_STR(value("trace_clock"), "local");
	CHECK_INT(fake_log.size, 0);
	close_tree();
}

ORMA_TEST(a_buffer_that_was_off_is_off_again)
{
	fake_tracefs_make();
	fake_put("tracing/tracing_on", "0\n");
	fake_put("tracing/set_event", "sched:sched_waking\n");
	fake_put("tracing/events/sched/sched_waking/enable", "1\n");
	fake_put("tracing/set_event_pid", "42\n");
	fake_env.tracefs_path = fake_tracefs_path;
	fake_env.ftrace_state_path = fake_state_path;
	tree_before = fake_tracefs_state(NULL);
	fake_open(orma_probe_ftrace_new);
	fake_start(0, CONFIG(SWITCH));
	CHECK_STR(value("tracing_on"), "1");
	/* Left-overs do not fill the buffer, and do not hide threads. */
	CHECK_STR(value("events/sched/sched_waking/enable"), "0");
	CHECK_STR(value("set_event_pid"), "");
	close_tree();
	CHECK_STR(value("events/sched/sched_waking/enable"), "1");
}

ORMA_TEST(statistics_are_written_at_each_flush_and_at_the_stop)
{
	open_tree();
	fake_start(0, CONFIG(SWITCH "buffer_size_kb: 512"));
	CHECK_INT(fake_packet_count, 0);
	fake_flush(0);
	CHECK_INT(fake_packet_count, 2);
	const struct orma_pb_ftrace_stats *stats = fake_packet(1)->ftrace_stats;
	CHECK_INT(stats->phase, ORMA_PB_FTRACE_STATS_PHASE_END_OF_TRACE);
	CHECK_INT(stats->cpu_stats.count, 2);
	CHECK_INT(stats->cpu_stats.items[1]->entries, 4);
	CHECK_INT(stats->cached_cpu_buffer_size_pages, 512L * 1024 / sysconf(_SC_PAGESIZE));
	fake_stop(0);
	CHECK_INT(fake_packet_count, 4);
	close_tree();
}

ORMA_TEST(names_find_events_and_what_is_missing_is_reported)
{
	open_tree();
	fake_start(0, CONFIG("ftrace_events: 'rss_stat' ftrace_events: 'sched/*' "
			     "ftrace_events: 'vendor/sec*' ftrace_events: 'vendor/none' "
			     "ftrace_events: 'no_such' ftrace_events: 'none/*' "
			     "ftrace_events: '../x' ftrace_events: 'a/b/c' ftrace_events: '' "
			     "ftrace_events: 'perfetto_kprobes/f' ftrace_events: 'rss_stat'"));
	CHECK_STR(value("events/kmem/rss_stat/enable"), "1");
	CHECK_STR(value("events/sched/sched_switch/enable"), "1");
	CHECK_STR(value("events/sched/sched_waking/enable"), "1");
	CHECK_STR(value("events/vendor/secret/enable"), "1");
	const struct orma_pb_ftrace_stats *stats = stats_of_start(0);
	static const char *const unknown[] = {
		"vendor/none", "no_such", "none/*", "../x", "a/b/c", "", "perfetto_kprobes/f"};
	CHECK_INT(stats->unknown_ftrace_events.count, 7);
	for (size_t i = 0; i < 7; i++)
		CHECK(orma_base_str_is(stats->unknown_ftrace_events.items[i], unknown[i]));
	CHECK_INT(stats->failed_ftrace_events.count, 0);
	CHECK(fake_log_has("W: linux.ftrace: this kernel has no event vendor/none"));
	close_tree();
}

ORMA_TEST(a_similar_event_is_suggested_for_the_first_that_is_unknown)
{
	open_tree();
	fake_put("tracing/available_events", "sched:sched_switch\nvendor:secret\n");
	free(tree_before);
	tree_before = fake_tracefs_state(NULL);
	fake_start(0, CONFIG("ftrace_events: 'sched/sched_swich' ftrace_events: 'secre'"));
	CHECK(fake_log_has("no event sched/sched_swich; did you mean sched/sched_switch?"));
	CHECK(!fake_log_has("did you mean vendor/secret"));
	/* A group is not an event. */
	fake_start(1, CONFIG("ftrace_events: 'vendo'"));
	CHECK(fake_log_has("no event vendo"));
	CHECK(!fake_log_has("no event vendo;"));
	close_tree();
}

ORMA_TEST(a_bare_name_never_finds_the_probes_of_another_session)
{
	open_tree();
	fake_put_event("tracing", "perfetto_kprobes", "do_exit", 700, "");
	fake_put("tracing/available_events", "perfetto_kprobes:do_exit\n");
	free(tree_before);
	tree_before = fake_tracefs_state(NULL);
	fake_start(0, CONFIG("ftrace_events: 'do_exit'"));
	const struct orma_pb_ftrace_stats *stats = stats_of_start(0);
	CHECK_INT(stats->unknown_ftrace_events.count, 1);
	CHECK_STR(value("events/perfetto_kprobes/do_exit/enable"), "0");
	/* Behind it in the list is one that may be recorded. */
	fake_put_event("tracing", "vendor", "do_exit", 701, "");
	fake_put("tracing/available_events", "perfetto_kprobes:do_exit\nvendor:do_exit\n");
	fake_start(1, CONFIG("ftrace_events: 'do_exit'"));
	CHECK_STR(value("events/perfetto_kprobes/do_exit/enable"), "0");
	CHECK_STR(value("events/vendor/do_exit/enable"), "1");
	fake_stop(1);
	CHECK_STR(value("events/vendor/do_exit/enable"), "0");
	fake_stop(0);
	fake_close();
	free(tree_before);
}

ORMA_TEST(an_event_with_the_id_of_one_that_is_gone_is_switched_on)
{
	open_tree();
	fake_start(0, CONFIG("ftrace_events: 'vendor/secret'"));
	CHECK_STR(value("events/vendor/secret/enable"), "1");
	/* The module of the first event is unloaded, and another one gets its id. */
	fake_put_event("tracing", "other", "newcomer", 600, "");
	fake_start(1, CONFIG("ftrace_events: 'other/newcomer'"));
	CHECK_STR(value("events/other/newcomer/enable"), "1");
	/* The session that had wanted the id leaves it on. */
	fake_stop(0);
	CHECK_STR(value("events/other/newcomer/enable"), "1");
	fake_stop(1);
	CHECK_STR(value("events/other/newcomer/enable"), "0");
	fake_close();
	free(tree_before);
}

ORMA_TEST(generic_events_can_be_excluded)
{
	open_tree();
	fake_start(0, CONFIG(SWITCH "ftrace_events: 'vendor/secret' disable_generic_events: true"));
	CHECK_STR(value("events/vendor/secret/enable"), "0");
	const struct orma_pb_ftrace_stats *stats = stats_of_start(0);
	CHECK_INT(stats->failed_ftrace_events.count, 1);
	CHECK(orma_base_str_is(stats->failed_ftrace_events.items[0], "vendor/secret"));
	close_tree();
}

ORMA_TEST(fields_of_android_are_refused_by_name)
{
	open_tree();
	fake_start(0,
		   CONFIG(SWITCH "atrace_categories: 'gfx' atrace_apps: '*' drain_period_ms: 0"));
	CHECK_STR(value("events/sched/sched_switch/enable"), "1");
	CHECK(has_problem(0, "atrace_categories: only Android has atrace"));
	CHECK(has_problem(0, "atrace_apps: only Android has atrace"));
	CHECK(has_problem(0, "drain_period_ms: 0 is not between 1 and 60000; 100 is used"));
	CHECK(fake_log_has("E: linux.ftrace: atrace_apps"));
	close_tree();
}

/* Adds the text `count` times, each with its number in front of `end`. */
static void repeat(struct orma_buf *config, size_t count, const char *text, const char *end)
{
	for (size_t i = 0; i < count; i++)
		CHECK(orma_base_buf_printf(config, "%s%zu%s", text, i, end) >= 0);
}

ORMA_TEST(lists_that_would_take_long_to_set_up_are_cut_and_the_rest_is_reported)
{
	struct orma_buf config = {0};

	open_tree();
	CHECK(orma_base_buf_printf(&config, "name: 'linux.ftrace' ftrace_config { "
					    "enable_function_graph: true ") >= 0);
	repeat(&config, ORMA_FTRACE_FILTERS_MAX + 1, "function_filters: 'filter", "' ");
	repeat(&config, ORMA_FTRACE_FILTERS_MAX + 2, "function_graph_roots: 'root", "' ");
	repeat(&config, ORMA_FTRACE_PROBES_MAX + 3, "kprobe_events { probe: 'f",
	       "' type: KPROBE_TYPE_KPROBE } ");
	repeat(&config, ORMA_FTRACE_EVENTS_MAX + 4, "ftrace_events: 'sched/none", "' ");
	CHECK(orma_base_buf_printf(&config, "ftrace_events: 'sched/sched_switch' }") >= 0);
	CHECK_INT(orma_base_buf_append(&config, "", 1), 0);
	fake_start(0, (const char *)config.data);
	CHECK(has_problem(0, "function_filters: one config may have 100; ignored: 1"));
	CHECK(has_problem(0, "function_graph_roots: one config may have 100; ignored: 2"));
	CHECK(has_problem(0, "kprobe_events: one config may have 256; ignored: 3"));
	CHECK(has_problem(0, "ftrace_events: one config may have 4096; ignored: 5"));
	CHECK(strstr(value("kprobe_events"), "f255") != NULL);
	CHECK(strstr(value("kprobe_events"), "f256") == NULL);
	CHECK(strstr(value("set_ftrace_filter"), "filter99") != NULL);
	CHECK(strstr(value("set_ftrace_filter"), "filter100") == NULL);
	CHECK(strstr(value("set_graph_function"), "root99") != NULL);
	CHECK(strstr(value("set_graph_function"), "root100") == NULL);
	CHECK_STR(value("events/sched/sched_switch/enable"), "0");
	orma_base_buf_done(&config);
	close_tree();
}

ORMA_TEST(raw_pages_need_the_consent_of_the_user_that_starts_the_probes)
{
	struct orma_ftrace_config config;
	struct orma_ftrace_report report = {0};
	struct orma_buf bytes = fake_config(CONFIG("debug_ftrace_abi: true"));
	static const struct {
		const char *consent;
		bool is_kept;
	} cases[] = {{NULL, false}, {"", false}, {"0", false}, {"1", true}};

	fake_capture_log();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsetenv("ORMA_FTRACE_RAW_PAGES");
		if (cases[i].consent)
			setenv("ORMA_FTRACE_RAW_PAGES", cases[i].consent, 1);
		fake_log.size = 0;
		CHECK_INT(orma_ftrace_config_parse(bytes.data, bytes.size, &config, &report), 0);
		CHECK(config.keep_broken_pages == cases[i].is_kept);
		CHECK(fake_log_has("E: linux.ftrace: debug_ftrace_abi: pages have addresses") !=
		      cases[i].is_kept);
		orma_ftrace_config_done(&config);
	}
	orma_ftrace_report_done(&report);
	orma_base_buf_done(&bytes);
	orma_base_buf_done(&fake_log);
}

ORMA_TEST(the_clock_can_be_mono_raw_and_falls_back_to_what_there_is)
{
	open_tree();
	fake_start(0, CONFIG(SWITCH "use_monotonic_raw_clock: true"));
	CHECK_STR(value("trace_clock"), "mono_raw");
	fake_stop(0);
	fake_put("tracing/trace_clock", "local [global] counter\n");
	fake_start(0, CONFIG(SWITCH "use_monotonic_raw_clock: true"));
	CHECK_STR(value("trace_clock"), "local [global] counter");
	fake_stop(0);
	fake_put("tracing/trace_clock", "[local] global\n");
	close_tree();
}

ORMA_TEST(buffer_sizes_follow_the_config_and_the_memory)
{
	struct orma_pb_ftrace_config config = {0};

	CHECK_INT(orma_ftrace_config_buffer_kb(&config, UINT64_C(4) << 30), 2048);
	CHECK_INT(orma_ftrace_config_buffer_kb(&config, UINT64_C(8) << 30), 8192);
	config.buffer_size_kb = 4096;
	CHECK_INT(orma_ftrace_config_buffer_kb(&config, UINT64_C(8) << 30), 4096);
	config.buffer_size_lower_bound = true;
	CHECK_INT(orma_ftrace_config_buffer_kb(&config, UINT64_C(8) << 30), 8192);
	CHECK_INT(orma_ftrace_config_buffer_kb(&config, UINT64_C(4) << 30), 4096);
}

ORMA_TEST(different_sizes_of_the_cpus_are_restored_one_by_one)
{
	fake_tracefs_make();
	fake_put("tracing/buffer_size_kb", "X\n");
	fake_put("tracing/per_cpu/cpu0/buffer_size_kb", "100\n");
	fake_env.tracefs_path = fake_tracefs_path;
	fake_env.ftrace_state_path = fake_state_path;
	fake_open(orma_probe_ftrace_new);
	fake_start(0, CONFIG(SWITCH "buffer_size_kb: 512"));
	CHECK_STR(value("buffer_size_kb"), "512");
	/* The kernel would change these two with it. */
	fake_put("tracing/per_cpu/cpu0/buffer_size_kb", "512\n");
	fake_put("tracing/per_cpu/cpu1/buffer_size_kb", "512\n");
	fake_stop(0);
	CHECK_STR(value("per_cpu/cpu0/buffer_size_kb"), "100");
	CHECK_STR(value("per_cpu/cpu1/buffer_size_kb"), "1408");
	fake_close();
}

ORMA_TEST(a_preserved_buffer_keeps_its_content_clock_and_size)
{
	open_tree();
	fake_put("tracing/current_tracer", "function\n");
	fake_start(0, CONFIG(SWITCH "preserve_ftrace_buffer: true buffer_size_kb: 512"));
	CHECK_STR(value("trace"), "# tracer: nop");
	CHECK(strstr(value("trace_clock"), "[local]") != NULL);
	CHECK_STR(value("buffer_size_kb"), "1408");
	CHECK_STR(value("events/sched/sched_switch/enable"), "1");
	CHECK_INT(fake_packet_count, 1);
	CHECK(fake_packet(0)->ftrace_stats->preserve_ftrace_buffer);
	fake_put("tracing/current_tracer", "nop\n");
	close_tree();
}

ORMA_TEST(an_instance_has_a_buffer_of_its_own)
{
	open_tree();
	fake_start(0, CONFIG(SWITCH "instance_name: 'side'"));
	CHECK_STR(value("instances/side/events/sched/sched_switch/enable"), "1");
	CHECK_STR(value("instances/side/trace_clock"), "boot");
	CHECK_STR(value("events/sched/sched_switch/enable"), "0");
	fake_start(1, CONFIG("instance_name: '../side'"));
	CHECK(has_problem(1, "is not the name of an instance"));
	fake_start(2, CONFIG("instance_name: 'none'"));
	CHECK(has_problem(2, "make it with: mkdir"));
	close_tree();
}

/* ---- several sessions ---- */

ORMA_TEST(sessions_share_the_union_of_their_events)
{
	open_tree();
	fake_start(0, CONFIG(SWITCH "buffer_size_kb: 512"));
	fake_start(1, CONFIG(SWITCH "ftrace_events: 'sched/sched_waking' buffer_size_kb: 1024"));
	CHECK_STR(value("events/sched/sched_waking/enable"), "1");
	CHECK_STR(value("buffer_size_kb"), "512");
	fake_stop(0);
	CHECK_STR(value("events/sched/sched_switch/enable"), "1");
	CHECK_STR(value("tracing_on"), "1");
	fake_start(0, CONFIG("ftrace_events: 'kmem/rss_stat'"));
	fake_stop(1);
	CHECK_STR(value("events/sched/sched_switch/enable"), "0");
	CHECK_STR(value("events/sched/sched_waking/enable"), "0");
	CHECK_STR(value("events/kmem/rss_stat/enable"), "1");
	CHECK_STR(value("trace_clock"), "boot");
	close_tree();
}

ORMA_TEST(exclusive_features_record_alone_and_are_restored)
{
	open_tree();
	fake_start(0, CONFIG(SWITCH "tids_to_trace: 7 tids_to_trace: 8 tracing_cpumask: '1' "
				    "tracefs_options { name: 'event-fork' state: STATE_ENABLED }"));
	CHECK_STR(value("set_event_pid"), "7 8");
	CHECK_STR(value("tracing_cpumask"), "1");
	CHECK_STR(value("options/event-fork"), "1");
	fake_start(1, CONFIG(SWITCH));
	struct orma_str error = stats_of_start(1)->exclusive_feature_error;
	CHECK(error.size > 0 && memmem(error.data, error.size, "another session that uses", 25));
	fake_stop(0);
	fake_start(0, CONFIG(SWITCH));
	fake_start(2, CONFIG("tids_to_trace: 7"));
	CHECK(stats_of_start(2)->exclusive_feature_error.size > 0);
	CHECK_STR(value("set_event_pid"), "");
	close_tree();
}

ORMA_TEST(exclusive_features_that_are_refused_end_the_session)
{
	static const char *const configs[] = {
		CONFIG("tracefs_options { name: '../x' state: STATE_ENABLED }"),
		CONFIG("tracefs_options { name: 'none' state: STATE_ENABLED }"),
		CONFIG("tracing_cpumask: '1;2'"),
	};

	open_tree();
	for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
		fake_start(0, configs[i]);
		CHECK(has_problem(0, "nothing is recorded"));
		fake_stop(0);
	}
	close_tree();
}

/* ---- system calls ---- */

ORMA_TEST(the_filter_of_system_calls_is_the_union_of_the_sessions)
{
	const char *filter = "events/raw_syscalls/sys_enter/filter";

	open_tree();
	fake_start(0, CONFIG("syscall_events: 'sys_close' syscall_events: 'no_such_call'"));
	CHECK_STR(value("events/raw_syscalls/sys_exit/enable"), "1");
	char one[64];
	snprintf(one, sizeof(one), "%s", value(filter));
	CHECK(strncmp(one, "id == ", 6) == 0 && !strstr(one, "||"));
	CHECK(has_problem(0, "this machine has no system call \"no_such_call\""));
	fake_start(1, CONFIG("syscall_events: 'exit_group'"));
	CHECK(strstr(value(filter), one) != NULL && strstr(value(filter), " || ") != NULL);
	fake_start(2, CONFIG("ftrace_events: 'raw_syscalls/sys_enter'"));
	CHECK_STR(value(filter), "0");
	fake_stop(2);
	fake_stop(1);
	CHECK_STR(value(filter), one);
	close_tree();
}

ORMA_TEST(unknown_system_calls_alone_never_become_all)
{
	open_tree();
	fake_start(0, CONFIG("syscall_events: 'no_such_call' ftrace_events: 'raw_syscalls/*'"));
	CHECK_STR(value("events/raw_syscalls/sys_enter/enable"), "0");
	CHECK_STR(value("events/raw_syscalls/sys_exit/enable"), "0");
	CHECK(stats_of_start(0)->failed_ftrace_events.count > 0);
	close_tree();
}

/* ---- probes and tracers ---- */

static void put_kprobe(const char *folder, const char *group, const char *name, int id)
{
	fake_put_event(folder, group, name, id,
		       "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n");
}

ORMA_TEST(probes_are_made_before_their_events_and_removed_at_the_end)
{
	open_tree();
	fake_start(0, CONFIG("kprobe_events { probe: 'do_exit' type: KPROBE_TYPE_BOTH } "
			     "kprobe_events { probe: 'x y' type: KPROBE_TYPE_KPROBE } "
			     "kprobe_events { probe: 'f' }"));
	/* A made-up kernel makes no events, so loading them fails; the lines are what orma asks for. */
	CHECK_STR(value("kprobe_events"), "p:perfetto_kprobes/do_exit do_exit"
					  "r1024:perfetto_kretprobes/do_exit do_exit");
	const struct orma_pb_ftrace_stats *stats = stats_of_start(0);
	CHECK_INT(stats->failed_ftrace_events.count, 4);
	fake_stop(0);
	CHECK(strstr(value("kprobe_events"),
		     "-:perfetto_kretprobes/do_exit-:perfetto_kprobes/do_exit") != NULL);
	close_tree();
}

ORMA_TEST(probes_of_others_are_used_and_left)
{
	fake_tracefs_make();
	put_kprobe("tracing", "perfetto_kprobes", "do_exit", 900);
	open_tree();
	fake_put("tracing/kprobe_events", "p:perfetto_kprobes/do_exit do_exit\n");
	fake_start(0, CONFIG("kprobe_events { probe: 'do_exit' type: KPROBE_TYPE_KPROBE }"));
	CHECK_STR(value("kprobe_events"), "p:perfetto_kprobes/do_exit do_exit");
	CHECK_STR(value("events/perfetto_kprobes/do_exit/enable"), "1");
	fake_flush(0);
	CHECK_INT(fake_packet(1)->ftrace_stats->kprobe_stats->hits, 12);
	close_tree();
}

/* The kernel refuses to remove a probe whose event another buffer has enabled. */
ORMA_TEST(a_probe_of_two_buffers_is_removed_after_both)
{
	static const char *const instances[2][2] = {
		{"", "instance_name: 'side' "},
		{"instance_name: 'side' ", ""},
	};
	const char *made = "p:perfetto_kprobes/f f";

	fake_tracefs_make();
	put_kprobe("tracing", "perfetto_kprobes", "f", 900);
	put_kprobe("tracing/instances/side", "perfetto_kprobes", "f", 900);
	for (int i = 0; i < 2; i++) {
		char config[256], format[1024], hidden[1024];

		fake_put("tracing/kprobe_events", "");
		open_tree();
		/* The first session does not find the event, and makes the probe; the second one finds it. */
		snprintf(format, sizeof(format), "%s/tracing/%sevents/perfetto_kprobes/f/format",
			 fake_root, i ? "instances/side/" : "");
		snprintf(hidden, sizeof(hidden), "%s/hidden", fake_root);
		CHECK_INT(rename(format, hidden), 0);
		for (uint32_t idx = 0; idx < 2; idx++) {
			snprintf(config, sizeof(config),
				 CONFIG("%skprobe_events { probe: 'f' type: KPROBE_TYPE_KPROBE }"),
				 instances[i][idx]);
			fake_start(idx, config);
			CHECK_STR(value("kprobe_events"), made);
			if (idx == 0) {
				fake_put("tracing/kprobe_events", "p:perfetto_kprobes/f f\n");
				CHECK_INT(rename(hidden, format), 0);
			}
		}
		CHECK_STR(value(i ? "events/perfetto_kprobes/f/enable"
				  : "instances/side/events/perfetto_kprobes/f/enable"),
			  "1");
		fake_stop(0);
		CHECK_STR(value("kprobe_events"), made);
		CHECK(strstr(fake_get("state/dynamic_events"), "a kprobe_events -:perfetto_") !=
		      NULL);
		fake_stop(1);
		CHECK_STR(value("kprobe_events"), "p:perfetto_kprobes/f f\n-:perfetto_kprobes/f");
		CHECK_STR(fake_get("state/dynamic_events"), "");
		close_tree();
	}
}

ORMA_TEST(another_ormas_probes_are_not_used)
{
	char path[1024];

	open_tree();
	fake_put("state/dynamic_events", "orma-ftrace 1 " FAKE_BOOT_ID " 4711\n");
	snprintf(path, sizeof(path), "%s/state/dynamic_events", fake_root);
	CHECK_INT(chmod(path, 0600), 0);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
	fake_start(0, CONFIG("kprobe_events { probe: 'f' type: KPROBE_TYPE_KPROBE } "
			     "ftrace_events: 'kmem/rss_stat' throttle_rss_stat: true"));
	CHECK_STR(value("kprobe_events"), "");
	CHECK_STR(value("synthetic_events"), "");
	CHECK_STR(value("events/kmem/rss_stat/enable"), "1");
	CHECK(fake_log_has("another orma (process 4711) records from"));
	CHECK_INT(stats_of_start(0)->failed_ftrace_events.count, 1);
	close(fd);
	close_tree();
}

ORMA_TEST(probes_on_two_programs_of_one_name_have_two_names)
{
	fake_tracefs_make();
	put_kprobe("tracing", "perfetto_uprobes", "a_0x10", 900);
	put_kprobe("tracing", "perfetto_uprobes", "a_0x10_2", 901);
	put_kprobe("tracing", "perfetto_kprobes", "f_isra_0", 902);
	open_tree();
	fake_put("tracing/uprobe_events",
		 "p:perfetto_uprobes/a_0x10 /usr/bin/a:0x0000000000000010\n"
		 "r:perfetto_uretprobes/a_0x10_2 /opt/a:0x10\n"
		 "p:perfetto_uprobes/a_0x10_2 /opt/a:0x0000000000000010\n");
	fake_put("tracing/kprobe_events", "p:perfetto_kprobes/f_isra_0 f.isra.0\n");
	/* Places that have a probe share it. */
	fake_start(0, CONFIG("kprobe_events { probe: '/opt/a:0x10' type: KPROBE_TYPE_KPROBE } "
			     "kprobe_events { probe: 'f.isra.0' type: KPROBE_TYPE_KPROBE }"));
	CHECK_STR(value("events/perfetto_uprobes/a_0x10/enable"), "0");
	CHECK_STR(value("events/perfetto_uprobes/a_0x10_2/enable"), "1");
	CHECK_STR(value("events/perfetto_kprobes/f_isra_0/enable"), "1");
	CHECK_INT(stats_of_start(0)->failed_ftrace_events.count, 0);
	/* Others get a name of their own. */
	fake_start(1, CONFIG("kprobe_events { probe: '/home/a:0x10' type: KPROBE_TYPE_KPROBE } "
			     "kprobe_events { probe: 'f_isra_0' type: KPROBE_TYPE_KPROBE }"));
	CHECK(strstr(value("uprobe_events"), "\np:perfetto_uprobes/a_0x10_3 /home/a:0x10") != NULL);
	CHECK(strstr(value("kprobe_events"), "\np:perfetto_kprobes/f_isra_0_2 f_isra_0") != NULL);
	close_tree();
}

ORMA_TEST(probes_on_programs_name_a_file_and_a_function_or_an_offset)
{
	uint64_t offset;
	char expected[512];

	open_tree();
	uint64_t bytes_left = 64 << 20;
	CHECK_INT(orma_elf_find_function("/proc/self/exe", ORMA_STR("main"), &bytes_left, &offset),
		  0);
	fake_start(
		0,
		CONFIG("kprobe_events { probe: '/proc/self/exe:main' type: KPROBE_TYPE_BOTH } "
		       "kprobe_events { probe: '/lib/libx-1.so:0x12ab' type: KPROBE_TYPE_KPROBE } "
		       "kprobe_events { probe: '/proc/self/exe:none' type: KPROBE_TYPE_KPROBE } "
		       "kprobe_events { probe: '/a b:0x1' type: KPROBE_TYPE_KPROBE } "
		       "kprobe_events { probe: '/a' type: KPROBE_TYPE_KPROBE } "
		       "kprobe_events { probe: '/a:0xfoo' type: KPROBE_TYPE_KPROBE } "
		       "kprobe_events { probe: '/a\\n:f' type: KPROBE_TYPE_KPROBE }"));
	snprintf(expected, sizeof(expected),
		 "p:perfetto_uprobes/exe_main /proc/self/exe:0x%llx"
		 "r:perfetto_uretprobes/exe_main /proc/self/exe:0x%llx"
		 "p:perfetto_uprobes/libx_1_so_0x12ab /lib/libx-1.so:0x12ab",
		 (unsigned long long)offset, (unsigned long long)offset);
	CHECK_STR(value("uprobe_events"), expected);
	CHECK_STR(value("kprobe_events"), "");
	CHECK_INT(stats_of_start(0)->failed_ftrace_events.count, 8);
	fake_stop(0);
	CHECK(strstr(value("uprobe_events"), "-:perfetto_uretprobes/exe_main") != NULL);
	close_tree();
}

ORMA_TEST(the_function_graph_has_filters_roots_and_a_depth)
{
	open_tree();
	fake_start(0, CONFIG("enable_function_graph: true function_filters: 'sched*' "
			     "function_filters: 'do_exit:traceoff' function_graph_roots: "
			     "'__x64_sys_read' "
			     "function_graph_max_depth: 3"));
	CHECK_STR(value("current_tracer"), "function_graph");
	CHECK_STR(value("set_ftrace_filter"), "sched*");
	CHECK_STR(value("set_graph_function"), "__x64_sys_read");
	CHECK_STR(value("max_graph_depth"), "3");
	CHECK(has_problem(0, "function_filters: \"do_exit:traceoff\" selects no function"));
	fake_stop(0);
	/* Without a filter the kernel would record all functions. */
	fake_start(0, CONFIG("enable_function_graph: true function_filters: 'do_exit:traceoff'"));
	CHECK(has_problem(0, "enable_function_graph: cannot set set_ftrace_filter"));
	CHECK_STR(value("current_tracer"), "nop");
	fake_stop(0);
	CHECK_STR(value("current_tracer"), "nop");
	/* The kernel cannot change its tracer under a recording. */
	fake_start(0, CONFIG(SWITCH));
	fake_start(1, CONFIG("enable_function_graph: true"));
	CHECK(has_problem(1, "enable_function_graph: another session records without it"));
	CHECK_STR(value("current_tracer"), "nop");
	close_tree();
}

ORMA_TEST(sessions_with_a_function_graph_get_the_functions_that_any_of_them_wants)
{
	open_tree();
	fake_start(0, CONFIG("enable_function_graph: true function_filters: 'vfs_read' "
			     "function_graph_max_depth: 3"));
	fake_start(1, CONFIG("enable_function_graph: true function_filters: 'vfs_write' "
			     "function_graph_roots: 'ksys_write' function_graph_max_depth: 5"));
	CHECK_STR(value("set_ftrace_filter"), "vfs_read\nvfs_write");
	CHECK_STR(value("set_graph_function"), "");
	CHECK_STR(value("max_graph_depth"), "5");
	fake_start(2, CONFIG("enable_function_graph: true function_graph_max_depth: 4"));
	CHECK_STR(value("set_ftrace_filter"), "");
	CHECK_STR(value("max_graph_depth"), "5");
	fake_start(3, CONFIG("enable_function_graph: true function_filters: 'vfs_open'"));
	CHECK_STR(value("set_ftrace_filter"), "");
	CHECK_STR(value("max_graph_depth"), "0");
	fake_start(4, CONFIG("enable_function_graph: true function_graph_max_depth: 9"));
	CHECK_STR(value("max_graph_depth"), "0");
	close_tree();
}

ORMA_TEST(rss_stat_is_throttled_by_a_histogram_that_is_removed)
{
	open_tree();
	fake_start(0, CONFIG("ftrace_events: 'kmem/rss_stat' throttle_rss_stat: true"));
	CHECK(strncmp(value("synthetic_events"), "rss_stat_throttled unsigned int mm_id;", 38) ==
	      0);
	CHECK(strstr(value("events/kmem/rss_stat/trigger"),
		     "hist:keys=mm_id,member:bucket=size/0x80000") != NULL);
	CHECK_STR(value("events/kmem/rss_stat/enable"), "0");
	fake_stop(0);
	CHECK(strstr(value("synthetic_events"), "!rss_stat_throttled") != NULL);
	CHECK(strstr(value("events/kmem/rss_stat/trigger"), "!hist:keys") != NULL);
	fake_put("tracing/events/kmem/rss_stat/trigger", "traceoff:unlimited\n");
	fake_put("tracing/synthetic_events", "");
	fake_start(0, CONFIG("ftrace_events: 'kmem/rss_stat' throttle_rss_stat: true"));
	CHECK_STR(value("events/kmem/rss_stat/trigger"), "traceoff:unlimited");
	CHECK_STR(value("events/kmem/rss_stat/enable"), "1");
	close_tree();
}

/* ---- errors ---- */

ORMA_TEST(without_tracefs_the_session_says_how_to_mount_it)
{
	fake_capture_log();
	fake_tracefs_make();
	fake_env.tracefs_path = "/no/such/tracing";
	fake_env.ftrace_state_path = fake_state_path;
	fake_open(orma_probe_ftrace_new);
	fake_start(0, CONFIG(SWITCH));
	CHECK(has_problem(0, "mount -t tracefs nodev /sys/kernel/tracing"));
	fake_stop(0);
	fake_close();
}

/* Runs the loop until the log has the message this many times. */
static void wait_for_messages(const char *text, int count)
{
	for (int found = 0; found < count;) {
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
		found = 0;
		for (const char *at = orma_base_buf_cstr(&fake_log); (at = strstr(at, text)); at++)
			found++;
	}
}

ORMA_TEST(symbols_that_cannot_be_read_hold_no_session_up)
{
	const char *message = "symbolize_ksyms: cannot read the kernel's symbols";

	open_tree();
	/* The table is retained if it can be read; a later session tries again. */
	fake_start(0, CONFIG(SWITCH "symbolize_ksyms: true"));
	CHECK_INT(fake_start_completion, ORMA_POSTPONE);
	wait_for_messages(message, 1);
	CHECK(has_problem(0, message));
	CHECK_INT(fake_completed, fake_start_number);
	fake_start(1, CONFIG(SWITCH "symbolize_ksyms: true"));
	wait_for_messages(message, 2);
	fake_flush(1);
	fake_put("proc/kallsyms", "ffffffff81000000 T _text\nffffffff81000040 T do_exit\n");
	fake_start(2, CONFIG(SWITCH "symbolize_ksyms: true"));
	fake_completed = 0;
	struct orma_instance instance = fake_instance(2);
	instance.completion = 77;
	/* The start and the flush wait for the symbols. */
	CHECK_INT(fake_start_completion, ORMA_POSTPONE);
	CHECK_INT(fake_source.options.on_flush(fake_source.options.ctx, &instance), ORMA_POSTPONE);
	while (fake_completed == 0)
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
	CHECK(fake_completed == fake_start_number || fake_completed == 77);
	while (fake_completed != 77)
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
	CHECK_INT(fake_packet(fake_packet_count - 1)->ftrace_stats->kernel_symbols_parsed, 2);
	/* The symbols are there. */
	fake_start(3, CONFIG(SWITCH "symbolize_ksyms: true"));
	CHECK_INT(fake_start_completion, ORMA_COMPLETE);
	close_tree();
}

ORMA_TEST(a_session_that_starts_while_the_last_one_stops_is_recorded)
{
	open_tree();
	fake_put("proc/kallsyms", "ffffffff81000000 T _text\n");
	/* Its stop waits for the symbols. */
	fake_start(0, CONFIG(SWITCH "symbolize_ksyms: true"));
	struct orma_instance instance = fake_instance(0);
	instance.completion = 5;
	CHECK_INT(fake_source.options.on_stop(fake_source.options.ctx, &instance), ORMA_POSTPONE);
	CHECK_STR(value("tracing_on"), "0");
	fake_start(1, CONFIG(SWITCH));
	CHECK_STR(value("tracing_on"), "1");
	while (fake_completed != 5)
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
	fake_stop(0);
	CHECK_STR(value("tracing_on"), "1");
	CHECK_STR(value("events/sched/sched_switch/enable"), "1");
	close_tree();
}

ORMA_TEST(somebody_elses_tracing_is_left_alone)
{
	open_tree();
	fake_put("tracing/set_event", "irq:irq_handler_entry\n");
	fake_start(0, CONFIG(SWITCH));
	CHECK(has_problem(0, "somebody else is tracing"));
	fake_stop(0);
	fake_put("tracing/set_event", "");
	close_tree();
}

ORMA_TEST(another_orma_is_left_alone)
{
	open_tree();
	fake_start(0, CONFIG(SWITCH));
	struct orma_probe_env env = {.loop = fake_loop,
				     .proc_path = fake_proc_path,
				     .sys_path = fake_sys_path,
				     .tracefs_path = fake_tracefs_path,
				     .ftrace_state_path = fake_state_path};
	/* Its start must not restore what the first one has changed. */
	struct orma_probe *other;
	struct orma_data_source_options options = fake_source.options;
	CHECK_INT(orma_probe_ftrace_new(&env, &other), 0);
	CHECK_STR(value("events/sched/sched_switch/enable"), "1");
	orma_probe_free(other);
	fake_source.options = options;
	close_tree();
}

ORMA_TEST(what_a_killed_process_has_left_is_restored_at_the_next_start)
{
	char path[1024];

	fake_capture_log();
	fake_tracefs_make();
	fake_put("tracing/events/sched/sched_switch/enable", "1\n");
	fake_put("tracing/instances/side/trace_clock", "local [boot]\n");
	fake_put("state/root",
		 "orma-ftrace 1 " FAKE_BOOT_ID " 1\nw events/sched/sched_switch/enable 0\n");
	fake_put("state/instance.side", "orma-ftrace 1 " FAKE_BOOT_ID " 1\nw trace_clock local\n");
	fake_put("state/dynamic_events",
		 "orma-ftrace 1 " FAKE_BOOT_ID " 1\na kprobe_events -:perfetto_kprobes/f\n");
	fake_put("state/instance...", "orma-ftrace 1 " FAKE_BOOT_ID " 1\nw trace_clock local\n");
	snprintf(path, sizeof(path), "%s/state/root", fake_root);
	CHECK_INT(chmod(path, 0600), 0);
	fake_env.tracefs_path = fake_tracefs_path;
	fake_env.ftrace_state_path = fake_state_path;
	fake_open(orma_probe_ftrace_new);
	CHECK_STR(value("events/sched/sched_switch/enable"), "0");
	CHECK_STR(value("instances/side/trace_clock"), "local");
	CHECK_STR(value("kprobe_events"), "-:perfetto_kprobes/f");
	CHECK(fake_log_has("which an earlier recording has left changed"));
	fake_close();
}

/* Every file of the root that a session of every kind may write. */
static const char *const written_files[] = {
	"tracing_on",
	"trace",
	"trace_clock",
	"buffer_size_kb",
	"current_tracer",
	"set_event_pid",
	"set_ftrace_filter",
	"set_graph_function",
	"max_graph_depth",
	"tracing_cpumask",
	"options/event-fork",
	"kprobe_events",
	"events/sched/sched_switch/enable",
	"events/raw_syscalls/sys_enter/filter",
	"events/raw_syscalls/sys_exit/filter",
	"events/raw_syscalls/sys_exit/enable",
	"events/kmem/rss_stat/trigger",
	"synthetic_events",
};

#define EVERYTHING                                                                                 \
	CONFIG(SWITCH "ftrace_events: 'kmem/rss_stat' throttle_rss_stat: true "                    \
		      "syscall_events: 'close' enable_function_graph: true "                       \
		      "function_filters: 'a*' function_graph_roots: 'b' "                          \
		      "function_graph_max_depth: 2 tids_to_trace: 9 tracing_cpumask: '1' "         \
		      "tracefs_options { name: 'event-fork' state: STATE_ENABLED } "               \
		      "kprobe_events { probe: 'f' type: KPROBE_TYPE_KPROBE } buffer_size_kb: 64")

ORMA_TEST(a_file_that_tracefs_refuses_leaves_all_others_as_they_were)
{
	for (size_t i = 0; i < sizeof(written_files) / sizeof(written_files[0]); i++) {
		char path[256];

		open_tree();
		snprintf(path, sizeof(path), "tracing/%s", written_files[i]);
		free(tree_before);
		tree_before = fake_tracefs_state(path);
		int sealed = fake_seal(path);
		fake_start(0, EVERYTHING);
		fake_flush(0);
		CHECK(fake_packet_count >= 1);
		CHECK(fake_log.size > 0);
		fake_close();
		char *after = fake_tracefs_state(path);
		CHECK_STR(after, tree_before);
		free(after);
		free(tree_before);
		close(sealed);
		snprintf(path, sizeof(path), "%s/tracing/%s", fake_root, written_files[i]);
		CHECK_INT(unlink(path), 0);
		fake_log = (struct orma_buf){0};
	}
}

ORMA_TEST(without_memory_nothing_stays_changed)
{
	struct orma_buf config = fake_config(CONFIG(SWITCH));

	fake_capture_log();
	fake_tracefs_make();
	fake_env.tracefs_path = fake_tracefs_path;
	fake_env.ftrace_state_path = fake_state_path;
	tree_before = fake_tracefs_state(NULL);
	for (uint64_t nth = 1;; nth++) {
		fake_open(orma_probe_ftrace_new);
		CHECK_INT(orma_base_buf_append(&fake_source.config[0], config.data, config.size),
			  0);
		fake_source.started |= 1;
		struct orma_instance instance = fake_instance(0);
		orma_test_fail_allocation(nth);
		fake_source.options.on_setup(fake_source.options.ctx, &instance,
					     &fake_source.instance_ctx[0]);
		instance = fake_instance(0);
		fake_source.options.on_start_postponable(fake_source.options.ctx, &instance);
		bool failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		fake_flush(0);
		fake_close();
		fake_log = (struct orma_buf){0};
		char *after = fake_tracefs_state(NULL);
		CHECK_STR(after, tree_before);
		free(after);
		if (!failed)
			break;
	}
	orma_base_buf_done(&config);
	free(tree_before);
}
