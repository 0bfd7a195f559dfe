/* SPDX-License-Identifier: Apache-2.0
 * heap_selection_test.c - which processes and heaps a HeapprofdConfig selects.
 */
#include "base/arena.h"
#include "harness.h"
#include "heap/heap_selection.h"

static bool matches(const char *pattern, const char *command)
{
	return orma_heap_command_matches((struct orma_str){pattern, strlen(pattern)}, command);
}

ORMA_TEST(a_command_matches_by_its_name)
{
	CHECK(matches("app", "/usr/bin/app"));
	CHECK(matches("/opt/app", "/usr/bin/app"));
	CHECK(matches("app@1.2", "/usr/bin/app@3"));
	CHECK(!matches("app", "/usr/bin/apps"));
	CHECK(!matches("app", "app/other"));
	CHECK(!matches("", "app"));
}

ORMA_TEST(one_star_matches_anything)
{
	CHECK(matches("com.example.*", "com.example.one"));
	CHECK(matches("*", "/bin/anything"));
	CHECK(matches("a*z", "az"));
	CHECK(!matches("a*a", "a"));
	CHECK(!matches("*.one", "com.example.two"));
	CHECK(!matches("x*", ""));
}

static struct orma_pb_heapprofd_config *config_of(struct orma_arena *arena)
{
	return orma_pb_heapprofd_config_new(arena);
}

ORMA_TEST(processes_are_selected_by_pid_name_and_time)
{
	struct orma_heap_process_facts process = {.pid = 7, .command = "app", .anonymous_kb = 100};
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_pb_heapprofd_config *config = config_of(&arena);
	uint64_t pid = 7;
	struct orma_str name = ORMA_STR("a*");

	CHECK(!orma_heap_is_selected(config, &process));
	config->pid.items = &pid;
	config->pid.count = 1;
	CHECK(orma_heap_is_selected(config, &process));
	process.pid = 8;
	CHECK(!orma_heap_is_selected(config, &process));
	config->process_cmdline.items = &name;
	config->process_cmdline.count = 1;
	CHECK(orma_heap_is_selected(config, &process));
	config->min_anonymous_memory_kb = 101;
	CHECK(!orma_heap_is_selected(config, &process));
	process.is_starting = true;
	CHECK(orma_heap_is_selected(config, &process));
	config->no_startup = true;
	CHECK(!orma_heap_is_selected(config, &process));
	process.is_starting = false;
	config->min_anonymous_memory_kb = 0;
	CHECK(orma_heap_is_selected(config, &process));
	config->no_running = true;
	CHECK(!orma_heap_is_selected(config, &process));
}

ORMA_TEST(heaps_have_their_own_intervals)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_pb_heapprofd_config *config = config_of(&arena);
	struct orma_str heaps[] = {ORMA_STR("my.pool"), ORMA_STR("other")};
	struct orma_str excluded = ORMA_STR("other");
	uint64_t intervals[] = {10, 20};

	config->sampling_interval_bytes = 512;
	CHECK_INT(orma_heap_selected_interval(config, "libc.malloc"), 512);
	CHECK_INT(orma_heap_selected_interval(config, "my.pool"), 0);
	config->heaps.items = heaps;
	config->heaps.count = 2;
	CHECK_INT(orma_heap_selected_interval(config, "libc.malloc"), 0);
	CHECK_INT(orma_heap_selected_interval(config, "my.pool"), 512);
	config->heap_sampling_intervals.items = intervals;
	config->heap_sampling_intervals.count = 2;
	CHECK_INT(orma_heap_selected_interval(config, "other"), 20);
	config->all_heaps = true;
	CHECK_INT(orma_heap_selected_interval(config, "libc.malloc"), 512);
	config->exclude_heaps.items = &excluded;
	config->exclude_heaps.count = 1;
	CHECK_INT(orma_heap_selected_interval(config, "other"), 0);
	config->sampling_interval_bytes = 0;
	CHECK_INT(orma_heap_selected_interval(config, "libc.malloc"), 4096);
}
