/* SPDX-License-Identifier: Apache-2.0
 * cgroup_stats_test.c - the data source linux.cgroup_stats over made-up trees.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "fake_api.h"
#include "probes/cgroup_stats/cgroup_stats.h"
#include "schema/gen/counter_descriptor.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "schema/gen/track_event.pb.h"

#define CONFIG(text) "name: 'linux.cgroup_stats' cgroup_stats_config { " text " }"

static void put(const char *group, const char *file, const char *text)
{
	char path[2048];
	snprintf(path, sizeof(path), "sys/fs/cgroup/%s%s%s", group, group[0] ? "/" : "", file);
	fake_put(path, text);
}

static void put_usage(const char *group, unsigned usage_us)
{
	char text[64];
	snprintf(text, sizeof(text), "usage_usec %u\n", usage_us);
	put(group, "cpu.stat", text);
}

static void put_memory(const char *group, const char *bytes)
{
	put(group, "memory.current", bytes);
}

static void begin(const char *config)
{
	fake_capture_log();
	fake_open(orma_probe_cgroup_stats_new);
	put("", "cgroup.controllers", "cpu memory\n");
	put_memory("system.slice/ssh.service", "100\n");
	put_usage("system.slice/ssh.service", 0);
	put_memory("user.slice", "7\n");
	if (config) {
		fake_start(0, config);
		fake_flush(0);
	}
}

/* Pretends that the next poll comes a second after the last one, and runs it. */
static void run_after_one_second(void)
{
	struct orma_cgroup_instance *instance = fake_source.instance_ctx[0];
	instance->now_ns = orma_base_clock_ns(CLOCK_BOOTTIME) - ORMA_NS_PER_SEC;
	fake_run();
}

/* Writes the track with this id as the names from the root on, "a/b", into `text`; "?" = not
 * described. */
static void track_name(uint64_t uuid, char text[512])
{
	text[0] = '\0';
	for (size_t i = 0; uuid && i < fake_packet_count; i++) {
		struct orma_pb_track_descriptor *track = fake_packet(i)->track_descriptor;
		if (!track || track->uuid != uuid)
			continue;
		char rest[512];
		snprintf(rest, sizeof(rest), "%s", text);
		CHECK(snprintf(text, 512, "%.*s%s%s", (int)track->name.size, track->name.data,
			       rest[0] ? "/" : "", rest) < 512);
		uuid = track->parent_uuid;
		i = (size_t)-1;
	}
	if (uuid)
		snprintf(text, 512, "?");
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The counter events from packet `from` on, "a/b=1" and sorted. */
static const char *values(size_t from)
{
	char *lines[FAKE_PACKETS_MAX];
	size_t count = 0;
	struct orma_buf buf = {0};
	for (size_t i = from; i < fake_packet_count; i++) {
		struct orma_pb_trace_packet *packet = fake_packet(i);
		struct orma_pb_track_event *event = packet->track_event;
		char name[512], line[600];
		CHECK(packet->timestamp > 0);
		if (!event)
			continue;
		CHECK_INT(event->type, 4);
		track_name(event->track_uuid, name);
		snprintf(line, sizeof(line), "%s=%g", name,
			 orma_pb_track_event_has_double_counter_value(event)
				 ? event->double_counter_value
				 : (double)event->counter_value);
		lines[count++] = orma_base_arena_strdup(&fake_arena, orma_base_str(line));
	}
	qsort(lines, count, sizeof(lines[0]), compare_lines);
	for (size_t i = 0; i < count; i++)
		CHECK_INT(orma_base_buf_printf(&buf, "%s%s", i ? "; " : "", lines[i]), 0);
	const char *text = orma_base_arena_strdup(
		&fake_arena, (struct orma_str){(const char *)buf.data, buf.size});
	orma_base_buf_done(&buf);
	return text;
}

ORMA_TEST(groups_are_a_tree_of_tracks_with_counters)
{
	begin("name: 'linux.cgroup_stats'");
	CHECK_STR(values(0), "Control groups/system.slice/ssh.service/memory=100; Control "
			     "groups/user.slice/memory=7");
	CHECK_INT(fake_packet(0)->sequence_flags, 1);
	bool has_unit = false;
	for (size_t i = 0; i < fake_packet_count; i++) {
		struct orma_pb_track_descriptor *track = fake_packet(i)->track_descriptor;
		has_unit |= track && track->counter && track->counter->unit == 3;
		if (track && orma_base_str_is(track->name, "ssh.service"))
			CHECK(orma_base_str_is(track->description, "system.slice/ssh.service"));
	}
	CHECK(has_unit);
	struct orma_probe_instance *instance = fake_source.instance_ctx[0];
	CHECK_INT(instance->period_ms, 1000);
	fake_close();
}

ORMA_TEST(totals_become_rates_over_the_time_between_two_polls)
{
	begin("name: 'linux.cgroup_stats'");
	size_t before = fake_packet_count;
	put_usage("system.slice/ssh.service", 250000);
	run_after_one_second();
	/* The clock goes on during the test, so the rate is a bit below 25 %. */
	const struct orma_pb_trace_packet *last = fake_packet(fake_packet_count - 1);
	CHECK(last->track_event != NULL);
	double percent = last->track_event->double_counter_value;
	CHECK(percent > 1 && percent <= 25);
	/* It holds since the poll before. */
	const struct orma_cgroup_instance *instance = fake_source.instance_ctx[0];
	CHECK(last->timestamp == instance->before_ns);
	CHECK(strstr(values(before), "ssh.service/cpu=") != NULL);
	/* An idle group goes back to 0 once, and an unchanged value is not written again. */
	before = fake_packet_count;
	run_after_one_second();
	CHECK_STR(values(before), "Control groups/system.slice/ssh.service/cpu=0");
	before = fake_packet_count;
	run_after_one_second();
	CHECK_INT(fake_packet_count, before);
	fake_close();
}

ORMA_TEST(a_total_that_began_again_is_not_a_negative_rate)
{
	begin(NULL);
	put_usage("system.slice/ssh.service", 4000000);
	fake_start(0, "name: 'linux.cgroup_stats'");
	fake_flush(0);
	put_usage("system.slice/ssh.service", 100000);
	run_after_one_second();
	double percent = fake_packet(fake_packet_count - 1)->track_event->double_counter_value;
	CHECK(percent > 0 && percent <= 10);
	fake_close();
}

ORMA_TEST(groups_that_come_and_go_are_followed)
{
	begin("name: 'linux.cgroup_stats'");
	size_t before = fake_packet_count;
	put_memory("user.slice/a", "1\n");
	fake_run();
	CHECK_STR(values(before), "Control groups/user.slice/a/memory=1");
	fake_remove("sys/fs/cgroup/user.slice/a/memory.current");
	char path[600];
	snprintf(path, sizeof(path), "%s/sys/fs/cgroup/user.slice/a", fake_root);
	CHECK_INT(rmdir(path), 0);
	fake_run();
	const struct orma_cgroup_instance *instance = fake_source.instance_ctx[0];
	CHECK_INT(instance->groups.count, 4);
	before = fake_packet_count;
	put_memory("user.slice/a", "1\n");
	fake_run();
	CHECK_STR(values(before), "Control groups/user.slice/a/memory=1");
	fake_close();
}

ORMA_TEST(only_the_wanted_groups_and_counters_are_read)
{
	begin(NULL);
	put_memory("system.slice/ssh.service/inner", "5\n");
	put("system.slice/ssh.service/inner", "pids.current", "3\n");
	fake_start(0, CONFIG("groups: '/system.slice/ssh.service/' groups: "
			     "'system.slice/ssh.service/inner' groups: 'missing' counters: MEMORY "
			     "counters: CPU poll_ms: 500"));
	fake_flush(0);
	CHECK_STR(values(0), "Control groups/system.slice/ssh.service/inner/memory=5; Control "
			     "groups/system.slice/ssh.service/memory=100");
	struct orma_probe_instance *instance = fake_source.instance_ctx[0];
	CHECK_INT(instance->period_ms, 500);
	fake_close();
}

ORMA_TEST(paths_that_lead_out_of_the_tree_are_refused)
{
	begin(CONFIG(
		"groups: '../../proc' groups: 'a/./b' groups: 'a//b' groups: '..' poll_ms: 5"));
	CHECK(fake_source.instance_ctx[0] == NULL);
	CHECK(fake_log_has("groups: \"../../proc\" is not the path of a control group"));
	CHECK(fake_log_has("groups: \"a/./b\" is"));
	CHECK(fake_log_has("groups: \"a//b\" is"));
	CHECK(fake_log_has("poll_ms: 5 is below the minimum; 100 is used"));
	CHECK_INT(fake_packet_count, 0);
	fake_close();
}

ORMA_TEST(more_groups_than_the_limit_are_left_out_the_deepest_first)
{
	begin(CONFIG("max_groups: 3"));
	CHECK_STR(values(0), "Control groups/user.slice/memory=7");
	fake_run();
	CHECK_STR(orma_base_buf_cstr(&fake_log),
		  "W: linux.cgroup_stats: there are more than 3 control groups; the others are "
		  "left out (max_groups)\n");
	fake_close();
}

ORMA_TEST(deep_and_hostile_names_are_taken_or_left_out)
{
	begin(NULL);
	put_memory("user.slice/a \"b\"\\x2d\n\xff=", "1\n");
	char path[1500] = "user.slice";
	for (int i = 0; i < 6; i++) {
		size_t size = strlen(path);
		memset(path + size, 'a' + i, 200);
		path[size] = '/';
		path[size + 200] = '\0';
	}
	put_memory(path, "2\n");
	fake_start(0, "name: 'linux.cgroup_stats'");
	fake_flush(0);
	CHECK(strstr(values(0), "/user.slice/a \"b\"\\x2d\n\xff=/memory=1") != NULL);
	CHECK(strstr(values(0), "memory=2") == NULL);
	fake_close();
}

ORMA_TEST(a_flush_in_the_middle_of_a_poll_waits_for_its_end)
{
	fake_env.turn_ns = 1;
	begin(NULL);
	fake_start(0, "name: 'linux.cgroup_stats'");
	struct orma_instance made = fake_instance(0);
	made.completion = 5;
	CHECK_INT(fake_source.options.on_flush(fake_source.options.ctx, &made), ORMA_POSTPONE);
	CHECK_INT(fake_packet_count, 0);
	unsigned turns = 0;
	/* A group that goes in the middle is left out of this poll. */
	fake_remove("sys/fs/cgroup/user.slice/memory.current");
	char path[600];
	snprintf(path, sizeof(path), "%s/sys/fs/cgroup/user.slice", fake_root);
	CHECK_INT(rmdir(path), 0);
	for (; fake_completed == 0; turns++)
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
	/* Four groups are read and written, one in each turn. */
	CHECK(turns >= 6);
	CHECK_INT(fake_completed, 5);
	CHECK_STR(values(0), "Control groups/system.slice/ssh.service/memory=100");
	/* The data source may be unregistered in the middle of a poll. */
	fake_probe->ops->run(fake_source.instance_ctx[0]);
	CHECK_INT(fake_source.options.on_stop(fake_source.options.ctx, &made), ORMA_POSTPONE);
	fake_source.options.on_destroy(fake_source.options.ctx, &made);
	fake_source.started = 0;
	orma_base_buf_done(&fake_source.config[0]);
	fake_close();
}

ORMA_TEST(a_kernel_without_pressure_and_controllers_gives_what_it_has)
{
	begin(NULL);
	put("", "cgroup.procs", "1\n");
	put("box", "memory.current", "12\n");
	put("box", "pids.current", "max\n");
	put("box", "io.stat", "");
	fake_start(0, CONFIG("groups: 'box'"));
	fake_flush(0);
	run_after_one_second();
	CHECK_STR(values(0), "Control groups/box/memory=12");
	CHECK(!fake_log_has("W:") && !fake_log_has("E:"));
	fake_close();
}

ORMA_TEST(trees_of_version_1_are_put_together_by_path)
{
	fake_open(orma_probe_cgroup_stats_new);
	put("memory/docker/x", "memory.usage_in_bytes", "11\n");
	put("pids/docker/x", "pids.current", "3\n");
	put("cpuacct/docker/x", "cpuacct.usage", "5\n");
	put("unified/docker", "pids.current", "9\n");
	fake_start(0, "name: 'linux.cgroup_stats'");
	fake_flush(0);
	CHECK_STR(values(0), "Control groups/docker/x/memory=11; Control groups/docker/x/tasks=3");
	put("unified", "cgroup.controllers", "\n");
	fake_run();
	CHECK(strstr(values(0), "Control groups/docker/tasks=9") != NULL);
	fake_close();
}

ORMA_TEST(a_machine_without_control_groups_says_so_once)
{
	fake_capture_log();
	fake_open(orma_probe_cgroup_stats_new);
	fake_start(0, "name: 'linux.cgroup_stats'");
	fake_flush(0);
	fake_run();
	CHECK_INT(fake_packet_count, 0);
	CHECK_STR(
		orma_base_buf_cstr(&fake_log),
		"W: linux.cgroup_stats: there are no control groups in /sys/fs/cgroup; nothing is "
		"recorded\n");
	fake_close();
}

ORMA_TEST(after_a_clearing_everything_is_described_again)
{
	begin("name: 'linux.cgroup_stats'");
	size_t before = fake_packet_count;
	const char *all = values(0);
	fake_clear(0);
	fake_run();
	CHECK_STR(values(before), all);
	CHECK_INT(fake_packet(before)->sequence_flags, 1);
	/* And after a loss that a packet in the middle reports. */
	before = fake_packet_count;
	put_memory("user.slice", "8\n");
	fake_source.needs_state |= 1;
	fake_run();
	CHECK(strstr(values(before), "ssh.service/memory=100") != NULL);
	CHECK(strstr(values(before), "user.slice/memory=8") != NULL);
	fake_close();
}

ORMA_TEST(every_allocation_may_fail)
{
	begin(NULL);
	struct orma_buf config = fake_config(CONFIG("groups: 'system.slice' groups: 'user.slice'"));
	bool has_failed = true;
	for (uint64_t nth = 1; has_failed; nth++) {
		struct orma_cgroup_probe *probe = (void *)fake_probe;
		CHECK_INT(orma_base_buf_append(&fake_source.config[0], config.data, config.size),
			  0);
		fake_source.started = 0;
		orma_test_fail_allocation(nth);
		struct orma_instance made = fake_instance(0);
		fake_source.options.on_setup(probe, &made, &fake_source.instance_ctx[0]);
		if (fake_source.instance_ctx[0])
			fake_run();
		has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		fake_stop(0);
		/* The state is as after the start. */
		orma_base_buf_done(&probe->text);
		orma_base_buf_done(&probe->names);
		probe->text = probe->names = (struct orma_buf){0};
	}
	orma_base_buf_done(&config);
	fake_close();
}
