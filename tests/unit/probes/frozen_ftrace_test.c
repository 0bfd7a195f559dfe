/* SPDX-License-Identifier: Apache-2.0
 * frozen_ftrace_test.c - the data source linux.frozen_ftrace over a made-up instance that has survived a reboot.
 */
#include "ftrace_fixture.h"

#include "fake_tracefs.h"
#include "schema/gen/ftrace_event.pb.h"
#include "schema/gen/ftrace_stats.pb.h"

#define CONFIG(text) "name: 'linux.frozen_ftrace' frozen_ftrace_config { " text " }"

/* Makes the instance "old", whose third CPU holds these pages. */
static void open_old_instance(const struct test_pages *pages)
{
	char path[1024];

	fake_capture_log();
	fake_tracefs_make();
	put_tracefs();
	fake_put("t/buffer_size_kb", "64\n");
	fake_put("t/trace", "old events\n");
	fake_put("t/tracing_on", "0\n");
	fake_put_bytes("t/per_cpu/cpu2/trace_pipe_raw", pages->bytes.data, pages->bytes.size);
	snprintf(path, sizeof(path), "%s/tracing/instances/old", fake_root);
	CHECK_INT(symlink("../../t", path), 0);
	fake_env.tracefs_path = fake_tracefs_path;
	fake_env.ftrace_state_path = fake_state_path;
	fake_open(orma_probe_frozen_ftrace_new);
}

static size_t count_switches(void)
{
	size_t count = 0;

	for (size_t i = 0; i < fake_packet_count; i++) {
		const struct orma_pb_trace_packet *packet = fake_packet(i);

		for (size_t at = 0;
		     packet->ftrace_events && at < packet->ftrace_events->event.count; at++)
			count += packet->ftrace_events->event.items[at]->sched_switch != NULL;
	}
	return count;
}

static void make_pages(struct test_pages *pages, int count)
{
	for (int i = 0; i < count; i++) {
		new_page(pages, 1000000000 + (uint64_t)i * 1000);
		put_switch(pages, 500, 7, "bash", 1234, "next");
	}
}

ORMA_TEST(old_events_are_read_once_and_erased)
{
	struct test_pages pages = {0};

	make_pages(&pages, 3);
	open_old_instance(&pages);
	fake_start(0, CONFIG("instance_name: 'old'"));
	CHECK_INT(fake_packet_count, 1);
	CHECK(fake_packet(0)->ftrace_stats->preserve_ftrace_buffer);
	CHECK_STR(fake_get("t/trace"), "old events");
	fake_flush(0);
	CHECK_INT(count_switches(), 3);
	const struct orma_pb_trace_packet *last = fake_packet(fake_packet_count - 1);
	CHECK_INT(last->ftrace_stats->phase, ORMA_PB_FTRACE_STATS_PHASE_END_OF_TRACE);
	fake_stop(0);
	CHECK_STR(fake_get("t/trace"), "");
	fake_close();
	orma_base_buf_done(&pages.bytes);
}

ORMA_TEST(a_long_buffer_is_read_over_several_turns)
{
	struct test_pages pages = {0};

	make_pages(&pages, 60);
	open_old_instance(&pages);
	fake_put("t/buffer_size_kb", "400\n");
	fake_start(0, CONFIG("instance_name: 'old'"));
	unsigned turns = 0;
	while (!fake_packet(fake_packet_count - 1)->ftrace_stats || fake_packet_count == 1) {
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
		turns++;
	}
	CHECK(turns >= 2);
	CHECK_INT(count_switches(), 60);
	fake_close();
	orma_base_buf_done(&pages.bytes);
}

static enum orma_completion flush_later(uint64_t completion)
{
	struct orma_instance instance = fake_instance(0);

	instance.completion = completion;
	return fake_source.options.on_flush(fake_source.options.ctx, &instance);
}

ORMA_TEST(a_flush_of_a_long_buffer_leaves_the_loop_to_others)
{
	struct test_pages pages = {0};

	make_pages(&pages, 60);
	open_old_instance(&pages);
	fake_put("t/buffer_size_kb", "400\n");
	fake_start(0, CONFIG("instance_name: 'old'"));
	CHECK_INT(flush_later(5), ORMA_POSTPONE);
	CHECK(count_switches() < 60);
	while (fake_completed != 5)
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
	CHECK_INT(count_switches(), 60);
	fake_close();
	orma_base_buf_done(&pages.bytes);
}

ORMA_TEST(a_stop_without_a_flush_erases_nothing)
{
	struct test_pages pages = {0};

	make_pages(&pages, 60);
	open_old_instance(&pages);
	fake_put("t/buffer_size_kb", "400\n");
	fake_start(0, CONFIG("instance_name: 'old'"));
	CHECK_INT(flush_later(5), ORMA_POSTPONE);
	struct orma_instance instance = fake_instance(0);
	instance.completion = 6;
	CHECK_INT(fake_source.options.on_stop(fake_source.options.ctx, &instance), ORMA_POSTPONE);
	while (fake_completed != 6)
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
	CHECK(count_switches() < 60);
	fake_source.started = 0;
	fake_source.options.on_destroy(fake_source.options.ctx, &instance);
	orma_base_buf_done(&fake_source.config[0]);
	CHECK_STR(fake_get("t/trace"), "old events");
	fake_close();
	orma_base_buf_done(&pages.bytes);
}

ORMA_TEST(an_instance_into_which_somebody_records_is_left_alone)
{
	struct test_pages pages = {0};

	make_pages(&pages, 1);
	open_old_instance(&pages);
	fake_put("t/tracing_on", "1\n");
	fake_put("t/set_event", "ras:mc_event\n");
	fake_start(0, CONFIG("instance_name: 'old'"));
	fake_flush(0);
	struct orma_str errors = fake_packet(0)->ftrace_stats->atrace_errors;
	CHECK(memmem(errors.data, errors.size, "is recording ras:mc_event", 25));
	CHECK_INT(count_switches(), 0);
	fake_stop(0);
	CHECK_STR(fake_get("t/trace"), "old events");
	fake_close();
	orma_base_buf_done(&pages.bytes);
}

ORMA_TEST(without_its_instance_the_trace_says_why)
{
	static const struct {
		const char *config, *text;
	} cases[] = {
		{CONFIG(""), "the name of an instance is missing"},
		{CONFIG("instance_name: '..'"), "not the name of an instance"},
		{CONFIG("instance_name: 'none'"), "make it with: mkdir"},
	};
	struct test_pages pages = {0};

	make_pages(&pages, 1);
	open_old_instance(&pages);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake_forget_packets();
		fake_start(0, cases[i].config);
		fake_flush(0);
		CHECK_INT(fake_packet_count, 1);
		struct orma_str errors = fake_packet(0)->ftrace_stats->atrace_errors;
		CHECK(memmem(errors.data, errors.size, cases[i].text, strlen(cases[i].text)));
		fake_stop(0);
	}
	CHECK_STR(fake_get("t/trace"), "old events");
	fake_close();
	orma_base_buf_done(&pages.bytes);
}
