/* SPDX-License-Identifier: Apache-2.0
 * profile_config_test.c - the options of `orma profile`, as linux.perf reads them.
 */
#include "tool/profile/profile.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "harness.h"
#include "probes/perf/perf_config.h"
#include "proto/codec.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/perf_events.pb.h"
#include "schema/gen/trace_config.pb.h"

static struct orma_arena arena;
static struct orma_pb_trace_config *trace_config;

/* The text is read as the recorder does, and the part of linux.perf as the probe does. */
static void read_config(const struct orma_profile_options *options, struct orma_perf_config *ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0}, bytes = {0};
	struct orma_error error;
	const char *wrong = "";
	void *message = NULL;

	CHECK_INT(orma_profile_append_config(options, &text, &wrong), 0);
	CHECK_INT(orma_proto_text_parse(&orma_pb_trace_config_desc, "test", (const char *)text.data,
					text.size, 0, &arena, &message, &error),
		  0);
	trace_config = message;
	CHECK_INT(trace_config->data_sources.count, 2);
	struct orma_pb_data_source_config *source = trace_config->data_sources.items[0]->config;
	CHECK(orma_base_str_is(source->name, "linux.perf"));
	CHECK_INT(orma_proto_encode(&source->base, &bytes), 0);
	CHECK_INT(orma_perf_config_parse(bytes.data, bytes.size, &arena, ret), 0);
}

static void check_wrong(const char *event)
{
	struct orma_profile_options options = {.events = {"cycles", event}, .event_count = 2};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	const char *wrong = "";

	CHECK_INT(orma_profile_append_config(&options, &text, &wrong), -EINVAL);
	CHECK_STR(wrong, event);
}

ORMA_TEST(each_name_of_an_event_is_its_counter)
{
	static const struct {
		const char *name;
		int32_t counter;
	} events[] = {
		{"cpu-clock", ORMA_PB_PERF_EVENTS_COUNTER_SW_CPU_CLOCK},
		{"task-clock", ORMA_PB_PERF_EVENTS_COUNTER_SW_TASK_CLOCK},
		{"page-faults", ORMA_PB_PERF_EVENTS_COUNTER_SW_PAGE_FAULTS},
		{"faults", ORMA_PB_PERF_EVENTS_COUNTER_SW_PAGE_FAULTS},
		{"minor-faults", ORMA_PB_PERF_EVENTS_COUNTER_SW_PAGE_FAULTS_MIN},
		{"major-faults", ORMA_PB_PERF_EVENTS_COUNTER_SW_PAGE_FAULTS_MAJ},
		{"context-switches", ORMA_PB_PERF_EVENTS_COUNTER_SW_CONTEXT_SWITCHES},
		{"cpu-migrations", ORMA_PB_PERF_EVENTS_COUNTER_SW_CPU_MIGRATIONS},
		{"cycles", ORMA_PB_PERF_EVENTS_COUNTER_HW_CPU_CYCLES},
		{"instructions", ORMA_PB_PERF_EVENTS_COUNTER_HW_INSTRUCTIONS},
		{"cache-references", ORMA_PB_PERF_EVENTS_COUNTER_HW_CACHE_REFERENCES},
		{"cache-misses", ORMA_PB_PERF_EVENTS_COUNTER_HW_CACHE_MISSES},
		{"branches", ORMA_PB_PERF_EVENTS_COUNTER_HW_BRANCH_INSTRUCTIONS},
		{"branch-misses", ORMA_PB_PERF_EVENTS_COUNTER_HW_BRANCH_MISSES},
		{"bus-cycles", ORMA_PB_PERF_EVENTS_COUNTER_HW_BUS_CYCLES},
		{"stalled-cycles-frontend", ORMA_PB_PERF_EVENTS_COUNTER_HW_STALLED_CYCLES_FRONTEND},
		{"stalled-cycles-backend", ORMA_PB_PERF_EVENTS_COUNTER_HW_STALLED_CYCLES_BACKEND},
		{"ref-cycles", ORMA_PB_PERF_EVENTS_COUNTER_HW_REF_CPU_CYCLES},
	};
	struct orma_perf_config config;

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(events); i++) {
		struct orma_profile_options options = {
			.hz = 99, .events = {events[i].name}, .event_count = 1};
		read_config(&options, &config);
		CHECK(config.timebase.kind == ORMA_PERF_EVENT_COUNTER);
		CHECK_INT(config.timebase.counter, events[i].counter);
		CHECK_INT(config.follower_count, 0);
	}
	orma_base_arena_done(&arena);
}

ORMA_TEST(events_count_users_or_the_kernel_alone_if_their_names_say_so)
{
	struct orma_profile_options options = {
		.hz = 99, .events = {"cycles:u", "page-faults:k"}, .event_count = 2};
	struct orma_perf_config config;

	read_config(&options, &config);
	CHECK_INT(config.timebase.counter, ORMA_PB_PERF_EVENTS_COUNTER_HW_CPU_CYCLES);
	CHECK(config.timebase.exclude_kernel && !config.timebase.exclude_user);
	CHECK_INT(config.followers[0].counter, ORMA_PB_PERF_EVENTS_COUNTER_SW_PAGE_FAULTS);
	CHECK(config.followers[0].exclude_user && !config.followers[0].exclude_kernel);
	check_wrong("cycles:pp");
	orma_base_arena_done(&arena);
}

ORMA_TEST(the_first_event_is_sampled_and_the_others_are_counted)
{
	struct orma_profile_options options = {
		.period = 1000,
		.hz = 99,
		.events = {"sched:sched_switch", "r1a2", "rFFFFFFFFFFFFFFFF", "page-faults"},
		.event_count = 4,
	};
	struct orma_perf_config config;

	read_config(&options, &config);
	CHECK(config.timebase.kind == ORMA_PERF_EVENT_TRACEPOINT);
	CHECK(orma_base_str_is(config.timebase.tracepoint, "sched:sched_switch"));
	CHECK_INT(config.period, 1000);
	CHECK_INT(config.follower_count, 3);
	/* 4 is PERF_TYPE_RAW. */
	CHECK(config.followers[0].kind == ORMA_PERF_EVENT_RAW);
	CHECK_INT(config.followers[0].raw_type, 4);
	CHECK_INT(config.followers[0].raw_config, 0x1a2);
	CHECK(config.followers[1].raw_config == UINT64_MAX);
	CHECK_INT(config.followers[2].counter, ORMA_PB_PERF_EVENTS_COUNTER_SW_PAGE_FAULTS);
	orma_base_arena_done(&arena);
}

/* --page-faults has the frequency that is the default of others. */
ORMA_TEST(each_page_fault_is_a_sample_if_the_period_is_1)
{
	struct orma_profile_options options = {.period = 1,
					       .hz = 99,
					       .events = {"page-faults"},
					       .event_count = 1,
					       .pids = {7, 7},
					       .pid_count = 2};
	struct orma_perf_config config;

	read_config(&options, &config);
	CHECK(config.timebase.kind == ORMA_PERF_EVENT_COUNTER);
	CHECK_INT(config.timebase.counter, ORMA_PB_PERF_EVENTS_COUNTER_SW_PAGE_FAULTS);
	CHECK_INT(config.period, 1);
	CHECK_INT(config.hz, 0);
	CHECK_INT(config.scope.target_pid_count, 2);
	orma_base_arena_done(&arena);
}

ORMA_TEST(an_event_that_is_not_known_is_named)
{
	static const char *const wrong[] = {"",    "r",     "r-1",   "r1g",   "r1FFFFFFFFFFFFFFFF",
					    "cpu", "a:b\"", "a b:c", "CYCLES"};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(wrong); i++)
		check_wrong(wrong[i]);
}

ORMA_TEST(a_profile_without_options_samples_the_clock_with_all_stacks)
{
	struct orma_profile_options options = {.hz = 99};
	struct orma_perf_config config;

	read_config(&options, &config);
	CHECK_INT(config.timebase.counter, ORMA_PB_PERF_EVENTS_COUNTER_SW_CPU_CLOCK);
	CHECK(config.hz == 99 && config.period == 0);
	CHECK(config.wants_stacks && config.kernel_frames);
	CHECK(config.user_frames == ORMA_PERF_USER_DWARF);
	CHECK(!config.off_cpu && !config.follow_children);
	CHECK(config.scope.target_pid_count == 0 && config.cgroup_count == 0);
	CHECK(!orma_pb_trace_config_has_duration_ms(trace_config));
	/* Names have six seconds on a busy machine. */
	CHECK_INT(trace_config->data_source_stop_timeout_ms, 15000);
	orma_base_arena_done(&arena);
}

ORMA_TEST(stacks_are_found_as_the_options_say)
{
	struct orma_profile_options options = {.hz = 99,
					       .stacks = ORMA_PROFILE_STACKS_FP,
					       .is_without_kernel = true,
					       .duration_ms = 2500};
	struct orma_perf_config config;

	read_config(&options, &config);
	CHECK(config.user_frames == ORMA_PERF_USER_FP && !config.kernel_frames);
	CHECK_INT(trace_config->duration_ms, 2500);
	options.stacks = ORMA_PROFILE_STACKS_NONE;
	read_config(&options, &config);
	CHECK(config.wants_stacks && config.user_frames == ORMA_PERF_USER_SKIP);
	orma_base_arena_done(&arena);
}

ORMA_TEST(waits_are_limited_only_if_the_options_say_so)
{
	struct orma_profile_options options = {.off_cpu = true};
	struct orma_perf_config config;

	read_config(&options, &config);
	CHECK(config.off_cpu && !config.is_hz_chosen);
	CHECK_INT(config.hz, ORMA_PERF_WAITS_HZ_DEFAULT);
	options.hz = 50;
	read_config(&options, &config);
	CHECK(config.off_cpu && config.is_hz_chosen && config.hz == 50);
	orma_base_arena_done(&arena);
}

ORMA_TEST(a_program_and_processes_are_the_scope_with_their_children)
{
	static char *const argv[] = {(char *)"true", NULL};
	struct orma_profile_options options = {.hz = 99, .pids = {17, 18}, .pid_count = 2};
	struct orma_perf_config config;

	read_config(&options, &config);
	CHECK(config.follow_children && config.scope.target_pid_count == 2);
	CHECK(config.scope.target_pids[0] == 17 && config.scope.target_pids[1] == 18);
	options.pid_count = 0;
	options.argv = argv;
	read_config(&options, &config);
	CHECK(config.follow_children && config.scope.target_pid_count == 1);
	CHECK_INT(config.scope.target_pids[0], getpid());
	orma_base_arena_done(&arena);
}

ORMA_TEST(a_control_group_may_have_any_name)
{
	static const char *const groups[] = {"user.slice/user@1000.service",
					     "system-serial\\x2dgetty.slice", "a \"b\" }"};
	struct orma_profile_options options = {.hz = 99};
	struct orma_perf_config config;

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(groups); i++) {
		options.cgroup = groups[i];
		read_config(&options, &config);
		CHECK_INT(config.cgroup_count, 1);
		CHECK(orma_base_str_is(config.cgroups[0], groups[i]));
	}
	orma_base_arena_done(&arena);
}
