/* SPDX-License-Identifier: Apache-2.0
 * perf_config_test.c - the configuration of linux.perf, its scope, and its attributes.
 */
#include "probes/perf/perf_config.h"

#include <errno.h>

#include "base/buf.h"
#include "base/log_message.h"
#include "harness.h"
#include "probes/perf/perf_attr.h"
#include "probes/perf/perf_scope.h"
#include "probes/perf/perf_targets.h"
#include "proto/codec.h"
#include "schema/gen/builtin_clock.pb.h"
#include "schema/gen/data_source_config.pb.h"

static struct orma_arena arena;

static int parse(const char *text, struct orma_perf_config *ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf bytes = {0};
	struct orma_error error;
	void *message = NULL;

	memset(ret, 0xff, sizeof(*ret));
	CHECK(orma_proto_text_parse(&orma_pb_data_source_config_desc, "test", text, strlen(text), 0,
				    &arena, &message, &error) == 0);
	CHECK(orma_proto_encode(message, &bytes) == 0);
	return orma_perf_config_parse(bytes.data, bytes.size, &arena, ret);
}

ORMA_TEST(an_empty_config_counts_the_clock_of_the_cpu_ten_times_a_second)
{
	struct orma_perf_config config;

	CHECK(parse("", &config) == 0);
	CHECK(config.timebase.counter == 1 && config.hz == 10 && config.period == 0);
	CHECK(!config.wants_stacks && config.poll_ms == 0 && config.follower_count == 0);
	CHECK(config.clock == CLOCK_MONOTONIC_RAW);
	CHECK(config.clock_id == ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_MONOTONIC_RAW);
	orma_base_arena_done(&arena);
}

ORMA_TEST(stacks_are_copies_of_16_kib_unless_the_config_says_otherwise)
{
	struct orma_perf_config config;

	CHECK(parse("perf_event_config { callstack_sampling {} }", &config) == 0);
	CHECK(config.wants_stacks && config.user_frames == ORMA_PERF_USER_DWARF);
	CHECK(config.stack_bytes == 16384 && !config.kernel_frames);
	CHECK_INT(config.stop_timeout_ms, 0);
	CHECK(parse("perf_event_config { callstack_sampling { user_frames: UNWIND_FRAME_POINTER "
		    "kernel_frames: true } stack_bytes: 70000 } stop_timeout_ms: 3000",
		    &config) == 0);
	CHECK_INT(config.stop_timeout_ms, 3000);
	CHECK(config.user_frames == ORMA_PERF_USER_FP && config.kernel_frames);
	CHECK(config.stack_bytes == 65280);
	CHECK(parse("perf_event_config { callstack_sampling { user_frames: 9 } }", &config) ==
	      -EINVAL);
	orma_base_arena_done(&arena);
}

ORMA_TEST(fields_from_before_the_timebase_are_read)
{
	struct orma_perf_config config;

	CHECK(parse("perf_event_config { all_cpus: true sampling_frequency: 99 target_pid: 5 "
		    "exclude_cmdline: 'a' additional_cmdline_count: 3 kernel_frames: true }",
		    &config) == 0);
	CHECK(config.wants_stacks && config.hz == 99 && config.kernel_frames);
	CHECK(config.scope.target_pid_count == 1 && config.scope.target_pids[0] == 5);
	CHECK(config.scope.exclude_cmdline_count == 1 && config.scope.additional_count == 3);
	orma_base_arena_done(&arena);
}

static struct orma_buf messages;

static void keep_message(void *ctx, enum orma_log_level level, const char *message)
{
	(void)ctx, (void)level;
	CHECK(orma_base_buf_printf(&messages, "%s\n", message) == 0);
}

ORMA_TEST(fields_that_are_ignored_are_named)
{
	static const char *const fields[][2] = {
		{"target_installed_by: 'a'", "target_installed_by is ignored"},
		{"remote_descriptor_timeout_ms: 5", "remote_descriptor_timeout_ms is ignored"},
		{"max_enqueued_footprint_kb: 5", "max_enqueued_footprint_kb is ignored"},
	};
	struct orma_perf_config config;
	char text[128];

	orma_log_set_sink(keep_message, NULL);
	CHECK(parse("perf_event_config { ring_buffer_pages: 4 cpuid: '41' }", &config) == 0);
	CHECK_INT(messages.size, 0);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		snprintf(text, sizeof(text), "perf_event_config { %s }", fields[i][0]);
		CHECK(parse(text, &config) == 0);
		const char *said = orma_base_buf_cstr(&messages);
		CHECK(said && strstr(said, fields[i][1]));
		messages.size = 0;
	}
	orma_log_set_sink(NULL, NULL);
	orma_base_buf_done(&messages);
	orma_base_arena_done(&arena);
}

/* A machine with two kinds of CPUs; the third is offline. */
ORMA_TEST(cpus_are_chosen_by_number_and_by_id)
{
	static const struct {
		const char *wanted;
		uint32_t cpus[3];
		size_t count;
	} cases[] = {
		{"", {0, 1, 3}, 3},
		{"target_cpu: 1 target_cpu: 2", {1}, 1},
		{"cpuid: '41d0c'", {0}, 1},
		{"cpuid: '41d0531' cpuid: '41d0c31'", {0, 1}, 2},
		{"cpuid: '41'  target_cpu: 1 target_cpu: 3", {1}, 1},
		{"cpuid: '51'", {0}, 0},
		{"cpuid: '41d0c310'", {0}, 0},
	};
	char folder[] = "/tmp/orma-perf-XXXXXX", command[512], text[128];
	struct orma_perf_config config;

	CHECK(mkdtemp(folder) != NULL);
	snprintf(command, sizeof(command),
		 "cd %s && mkdir -p devices/system/cpu && cd devices/system/cpu && "
		 "mkdir -p cpu0/regs/identification cpu1/regs/identification cpu3 && "
		 "echo 0x00000000413fd0c1 > cpu0/regs/identification/midr_el1 && "
		 "echo 0x00000000413fd051 > cpu1/regs/identification/midr_el1 && echo 0-1,3 > "
		 "online",
		 folder);
	CHECK(system(command) == 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct orma_probes_numbers cpus = {0};
		snprintf(text, sizeof(text), "perf_event_config { %s }", cases[i].wanted);
		CHECK(parse(text, &config) == 0);
		CHECK_INT(orma_perf_targets_cpus(folder, &config, &cpus),
			  cases[i].count > 0 ? 0 : -ENODATA);
		CHECK_INT(cpus.count, cases[i].count);
		for (size_t k = 0; k < cpus.count; k++)
			CHECK_INT(cpus.items[k], cases[i].cpus[k]);
		orma_probes_numbers_done(&cpus);
	}
	snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK(system(command) == 0);
	orma_base_arena_done(&arena);
}

ORMA_TEST(contradictions_are_refused)
{
	static const char *const texts[] = {
		"perf_event_config { timebase { poll_period_ms: 10 } callstack_sampling {} }",
		("perf_event_config { timebase { poll_period_ms: 10 } "
		 "ring_buffer_read_period_ms: 5 }"),
		"perf_event_config { ring_buffer_pages: 3 }",
		"perf_event_config { ring_buffer_pages: 131072 }",
		"perf_event_config { timebase { counter: UNKNOWN_COUNTER } }",
		"perf_event_config { timebase { tracepoint { name: 'sched' } } }",
		"perf_event_config { timebase { raw_event { type: 4 pmu_name: 'cpu' } } }",
		"perf_event_config { timebase { raw_event { pmu_name: '../x' } } }",
		"perf_event_config { followers {} }",
		"perf_event_config { off_cpu: true timebase { poll_period_ms: 10 } }",
	};
	struct orma_perf_config config;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		CHECK(parse(texts[i], &config) == -EINVAL);
	CHECK(orma_perf_config_parse("\xff", 1, &arena, &config) < 0);
	orma_base_arena_done(&arena);
}

ORMA_TEST(attributes_follow_the_config)
{
	struct orma_perf_config config;
	struct orma_perf_paths paths = {NULL, "/sys", "/proc"};
	struct orma_perf_attr_options options = {.config = &config,
						 .can = ORMA_PERF_CAN_ALL,
						 .stack_bytes = 16384,
						 .wakeup_bytes = 1 << 20};
	struct perf_event_attr attr;
	struct orma_perf_layout layout;

	CHECK(parse("perf_event_config { timebase { counter: SW_PAGE_FAULTS period: 5 "
		    "timestamp_clock: PERF_CLOCK_BOOTTIME modifiers: "
		    "EVENT_MODIFIER_COUNT_USERSPACE } "
		    "callstack_sampling { kernel_frames: true } "
		    "followers { counter: SW_TASK_CLOCK } }",
		    &config) == 0);
	CHECK(orma_perf_attr_find(&paths, &config.timebase, &attr) == 0);
	orma_perf_attr_sample(&options, &attr);
	CHECK(attr.type == PERF_TYPE_SOFTWARE && attr.config == PERF_COUNT_SW_PAGE_FAULTS);
	CHECK(attr.sample_period == 5 && !attr.freq && attr.clockid == CLOCK_BOOTTIME);
	CHECK(attr.exclude_kernel && attr.exclude_hv && !attr.exclude_user && !attr.inherit);
	CHECK(attr.mmap2 && !attr.build_id && attr.comm && attr.task && attr.sample_id_all);
	CHECK(attr.sample_stack_user == 16384 && attr.watermark);
	CHECK(attr.sample_type & PERF_SAMPLE_CALLCHAIN && attr.exclude_callchain_user);
	CHECK(attr.read_format == PERF_FORMAT_GROUP);
	orma_perf_attr_layout(&attr, &layout);
	CHECK(layout.is_group && layout.user_regs == attr.sample_regs_user);

	/* Events of single tasks are inherited, and the user may not see the kernel. */
	options.is_per_task = true;
	options.can = 0;
	CHECK(orma_perf_attr_find(&paths, &config.timebase, &attr) == 0);
	orma_perf_attr_sample(&options, &attr);
	CHECK(attr.inherit && !attr.inherit_thread && attr.exclude_kernel);
	CHECK(!(attr.sample_type & (PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN)));

	/* Waits of single tasks are all recorded if there is another way to limit them later. */
	CHECK(parse("perf_event_config { off_cpu: true timebase { frequency: 50 } }", &config) ==
	      0);
	attr = (struct perf_event_attr){0};
	orma_perf_attr_sample(&options, &attr);
	CHECK(attr.freq && attr.sample_freq == 50);
	options.may_watch = true;
	attr = (struct perf_event_attr){0};
	orma_perf_attr_sample(&options, &attr);
	CHECK(!attr.freq && attr.sample_period == 1 && attr.context_switch);
	options.is_per_task = false;
	attr = (struct perf_event_attr){0};
	orma_perf_attr_sample(&options, &attr);
	CHECK(!attr.freq && attr.sample_period == ORMA_PERF_WAITS_PERIOD_FIRST);
	orma_base_arena_done(&arena);
}

ORMA_TEST(each_counter_has_the_kernels_numbers)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config;
	} counters[] = {
		{"SW_CPU_CLOCK", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
		{"SW_PAGE_FAULTS", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
		{"SW_TASK_CLOCK", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
		{"SW_CONTEXT_SWITCHES", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
		{"SW_CPU_MIGRATIONS", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
		{"SW_PAGE_FAULTS_MIN", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
		{"SW_PAGE_FAULTS_MAJ", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
		{"SW_ALIGNMENT_FAULTS", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
		{"SW_EMULATION_FAULTS", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
		{"SW_DUMMY", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY},
		{"HW_CPU_CYCLES", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
		{"HW_INSTRUCTIONS", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
		{"HW_CACHE_REFERENCES", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
		{"HW_CACHE_MISSES", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
		{"HW_BRANCH_INSTRUCTIONS", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
		{"HW_BRANCH_MISSES", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
		{"HW_BUS_CYCLES", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
		{"HW_STALLED_CYCLES_FRONTEND", PERF_TYPE_HARDWARE,
		 PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
		{"HW_STALLED_CYCLES_BACKEND", PERF_TYPE_HARDWARE,
		 PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
		{"HW_REF_CPU_CYCLES", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
	};
	struct orma_perf_paths paths = {NULL, "/sys", "/proc"};
	struct orma_perf_config config;
	struct perf_event_attr attr;
	char text[128];

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		snprintf(text, sizeof(text), "perf_event_config { timebase { counter: %s } }",
			 counters[i].name);
		CHECK_INT(parse(text, &config), 0);
		CHECK_INT(orma_perf_attr_find(&paths, &config.timebase, &attr), 0);
		if (attr.type != counters[i].type || attr.config != counters[i].config)
			orma_test_fail(__FILE__, __LINE__, "%s is type %u, config %llu",
				       counters[i].name, attr.type,
				       (unsigned long long)attr.config);
	}
	orma_base_arena_done(&arena);
}

ORMA_TEST(each_clock_has_its_number_in_the_kernel_and_in_the_trace)
{
	static const struct {
		const char *name;
		clockid_t clock;
		uint32_t id;
	} clocks[] = {
		{"UNKNOWN_PERF_CLOCK", CLOCK_MONOTONIC_RAW,
		 ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_MONOTONIC_RAW},
		{"PERF_CLOCK_REALTIME", CLOCK_REALTIME,
		 ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_REALTIME},
		{"PERF_CLOCK_MONOTONIC", CLOCK_MONOTONIC,
		 ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_MONOTONIC},
		{"PERF_CLOCK_MONOTONIC_RAW", CLOCK_MONOTONIC_RAW,
		 ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_MONOTONIC_RAW},
		{"PERF_CLOCK_BOOTTIME", CLOCK_BOOTTIME,
		 ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME},
	};
	struct orma_perf_config config;
	char text[128];

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		snprintf(text, sizeof(text),
			 "perf_event_config { timebase { timestamp_clock: %s } }", clocks[i].name);
		CHECK_INT(parse(text, &config), 0);
		CHECK_INT(config.clock, clocks[i].clock);
		CHECK_INT(config.clock_id, clocks[i].id);
	}
	orma_base_arena_done(&arena);
}

ORMA_TEST(modifiers_say_what_is_counted)
{
	static const struct {
		const char *modifiers;
		bool excludes_user, excludes_kernel, excludes_hv;
	} cases[] = {
		{"", false, false, false},
		{"modifiers: EVENT_MODIFIER_COUNT_USERSPACE", false, true, true},
		{"modifiers: EVENT_MODIFIER_COUNT_KERNEL", true, false, true},
		{"modifiers: EVENT_MODIFIER_COUNT_HYPERVISOR", true, true, false},
		{"modifiers: EVENT_MODIFIER_COUNT_USERSPACE modifiers: EVENT_MODIFIER_COUNT_KERNEL",
		 false, false, true},
	};
	struct orma_perf_config config;
	char text[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text),
			 "perf_event_config { timebase { %s } followers { counter: SW_PAGE_FAULTS "
			 "%s } }",
			 cases[i].modifiers, cases[i].modifiers);
		CHECK_INT(parse(text, &config), 0);
		const struct orma_perf_event *events[] = {&config.timebase, &config.followers[0]};
		for (size_t k = 0; k < 2; k++)
			CHECK(events[k]->exclude_user == cases[i].excludes_user &&
			      events[k]->exclude_kernel == cases[i].excludes_kernel &&
			      events[k]->exclude_hv == cases[i].excludes_hv);
	}
	orma_base_arena_done(&arena);
}

ORMA_TEST(a_raw_event_has_all_its_numbers)
{
	struct orma_perf_paths paths = {NULL, "/sys", "/proc"};
	struct orma_perf_config config;
	struct perf_event_attr attr;

	CHECK_INT(parse("perf_event_config { timebase { raw_event { type: 4 config: 0x1c2 "
			"config1: 21 config2: 22 } } }",
			&config),
		  0);
	CHECK_INT(orma_perf_attr_find(&paths, &config.timebase, &attr), 0);
	CHECK(attr.type == 4 && attr.config == 0x1c2 && attr.config1 == 21 && attr.config2 == 22);
	orma_base_arena_done(&arena);
}

ORMA_TEST(each_way_to_find_callers_asks_the_kernel_for_what_it_needs)
{
	static const uint64_t copies = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	static const struct {
		const char *mode;
		uint64_t samples;
	} modes[] = {
		{"UNWIND_SKIP", 0},
		{"UNWIND_DWARF", PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER},
		{"UNWIND_FRAME_POINTER", PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER},
		{"UNWIND_KERNEL_FRAME_POINTER", PERF_SAMPLE_CALLCHAIN},
	};
	struct orma_perf_config config;
	struct orma_perf_attr_options options = {
		.config = &config, .can = ORMA_PERF_CAN_ALL, .stack_bytes = 16384};
	char text[128];

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct perf_event_attr attr = {0};
		snprintf(text, sizeof(text),
			 "perf_event_config { callstack_sampling { user_frames: %s } }",
			 modes[i].mode);
		CHECK_INT(parse(text, &config), 0);
		orma_perf_attr_sample(&options, &attr);
		CHECK(config.wants_stacks);
		CHECK_INT(attr.sample_type & (copies | PERF_SAMPLE_CALLCHAIN), modes[i].samples);
		/* The chain is the user's: kernel_frames is not set. */
		CHECK(!(modes[i].samples & PERF_SAMPLE_CALLCHAIN) ||
		      (attr.exclude_callchain_kernel && !attr.exclude_callchain_user));
	}
	orma_base_arena_done(&arena);
}

ORMA_TEST(rings_have_their_size_and_are_read_at_their_period)
{
	struct orma_perf_config config;

	CHECK_INT(parse("perf_event_config { ring_buffer_pages: 64 ring_buffer_read_period_ms: 250 "
			"max_daemon_memory_kb: 5 unwind_state_clear_period_ms: 6 }",
			&config),
		  0);
	CHECK(config.ring_pages == 64 && config.read_ms == 250 && config.memory_kb_max == 5);
	CHECK_INT(config.clear_period_ms, 6);
	CHECK_INT(parse("perf_event_config { ring_buffer_read_period_ms: 1 }", &config), 0);
	CHECK_INT(config.read_ms, ORMA_PERF_READ_MS_MIN);
	CHECK_INT(parse("perf_event_config { timebase { poll_period_ms: 500 } }", &config), 0);
	CHECK_INT(config.poll_ms, 500);
	orma_base_arena_done(&arena);
}

ORMA_TEST(a_tracepoint_is_found_below_tracefs_and_nowhere_else)
{
	char folder[] = "/tmp/orma-perf-XXXXXX", path[128], command[512];
	struct orma_perf_event event = {.kind = ORMA_PERF_EVENT_TRACEPOINT, .filter = ""};
	struct perf_event_attr attr;

	CHECK(mkdtemp(folder) != NULL);
	snprintf(command, sizeof(command),
		 "mkdir -p %s/events/sched/sched_switch && echo 314 > "
		 "%s/events/sched/sched_switch/id && mkdir -p %s/bus/event_source/devices/cpu && "
		 "echo 4 > %s/bus/event_source/devices/cpu/type && echo 7 > %s/id",
		 folder, folder, folder, folder, folder);
	CHECK(system(command) == 0);
	struct orma_perf_paths paths = {folder, folder, "/proc"};
	event.tracepoint = ORMA_STR("sched:sched_switch");
	CHECK(orma_perf_attr_find(&paths, &event, &attr) == 0);
	CHECK(attr.type == PERF_TYPE_TRACEPOINT && attr.config == 314);
	event.tracepoint = ORMA_STR("sched/sched_switch");
	CHECK(orma_perf_attr_find(&paths, &event, &attr) == 0);
	event.tracepoint = ORMA_STR("sched:nothing");
	CHECK(orma_perf_attr_find(&paths, &event, &attr) == -ENOENT);
	event.tracepoint = ORMA_STR("..:..");
	CHECK(orma_perf_attr_find(&paths, &event, &attr) == -ENOENT);
	event = (struct orma_perf_event){
		.kind = ORMA_PERF_EVENT_RAW, .raw_config = 0xc0, .pmu_name = ORMA_STR("cpu")};
	CHECK(orma_perf_attr_find(&paths, &event, &attr) == 0);
	CHECK(attr.type == 4 && attr.config == 0xc0);
	snprintf(path, sizeof(path), "rm -r %s", folder);
	CHECK(system(path) == 0);
}

/* ---- the scope ---- */

static bool includes(const struct orma_perf_scope_config *config, uint32_t pid, const char *cmdline)
{
	struct orma_perf_scope scope;

	orma_perf_scope_init(&scope, config, 1);
	bool is_in = orma_perf_scope_includes(&scope, pid, orma_base_str(cmdline));
	orma_perf_scope_done(&scope);
	return is_in;
}

ORMA_TEST(without_a_scope_every_process_is_in)
{
	struct orma_perf_scope_config config = {0};

	CHECK(includes(&config, 1, "/bin/a") && includes(&config, 2, ""));
}

ORMA_TEST(exclusions_win_over_inclusions)
{
	static const int32_t pids[] = {7};
	static const struct orma_str names[] = {{"a*", 2}, {"/usr/bin/tool", 13}};
	struct orma_perf_scope_config config = {.target_pids = pids,
						.target_pid_count = 1,
						.target_cmdlines = names,
						.target_cmdline_count = 2};

	CHECK(includes(&config, 7, "/bin/x") && includes(&config, 1, "/bin/abc"));
	CHECK(includes(&config, 1, "/usr/bin/tool") && !includes(&config, 1, "/opt/tool"));
	CHECK(includes(&config, 1, "apache@3") && !includes(&config, 1, "/abc/other"));
	config.exclude_pids = pids;
	config.exclude_pid_count = 1;
	CHECK(!includes(&config, 7, "/bin/abc"));
	config.exclude_cmdlines = names;
	config.exclude_cmdline_count = 1;
	CHECK(!includes(&config, 1, "/bin/abc"));
}

ORMA_TEST(shards_select_by_pid_and_further_command_lines_by_order)
{
	struct orma_perf_scope_config config = {.shard_count = 4};
	struct orma_perf_scope scope;

	CHECK(includes(&config, 5, "a") && !includes(&config, 6, "a"));
	config = (struct orma_perf_scope_config){.additional_count = 2};
	orma_perf_scope_init(&scope, &config, 0);
	CHECK(orma_perf_scope_includes(&scope, 1, ORMA_STR("/bin/a")));
	CHECK(orma_perf_scope_includes(&scope, 2, ORMA_STR("/bin/b")));
	CHECK(!orma_perf_scope_includes(&scope, 3, ORMA_STR("/bin/c")));
	CHECK(orma_perf_scope_includes(&scope, 4, ORMA_STR("/bin/a")));
	orma_perf_scope_done(&scope);
}

ORMA_TEST(patterns_have_stars_and_question_marks)
{
	CHECK(orma_perf_scope_matches(ORMA_STR("a*c"), ORMA_STR("abbc")));
	CHECK(orma_perf_scope_matches(ORMA_STR("*"), ORMA_STR("")));
	CHECK(orma_perf_scope_matches(ORMA_STR("a?c"), ORMA_STR("abc")));
	CHECK(!orma_perf_scope_matches(ORMA_STR("a?c"), ORMA_STR("ac")));
	CHECK(orma_perf_scope_matches(ORMA_STR("*a*b*"), ORMA_STR("xxaxxbxx")));
	CHECK(!orma_perf_scope_matches(ORMA_STR("abc"), ORMA_STR("abcd")));
}
