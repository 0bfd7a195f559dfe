/* SPDX-License-Identifier: Apache-2.0
 * perf_packets_test.c - the packets of linux.perf, field by field.
 */
#include "perf_fixture.h"
#include "schema/gen/perf_events.pb.h"
#include "schema/gen/stack_sample.pb.h"

static struct perf_fixture fixture;

static const struct orma_perf_fact fact = {.time = 1000,
					   .cpu = 1,
					   .pid = 10,
					   .tid = 11,
					   .mode = 2,
					   .counts = {70, 80, 90},
					   .count_count = 3};

static void start(bool off_cpu)
{
	fixture.config.hz = 99;
	fixture.config.kernel_frames = true;
	fixture.config.off_cpu = off_cpu;
	fixture.config.stack_bytes = 1024;
	perf_fixture_start(&fixture);
}

/* A stack of two kernel functions, without names. */
static struct orma_perf_stack kernel_stack(void)
{
	fixture.stacks.kernel[0] = 0xffffffff81000000;
	fixture.stacks.kernel[1] = 0xffffffff82000000;
	return (struct orma_perf_stack){.kernel_count = 2, .error = 1};
}

/* Packet `at` as text, without the lists of what is new. */
static const char *text_of(size_t at)
{
	struct orma_pb_trace_packet *packet = fake_packet(at);

	packet->interned_data = NULL;
	return fake_text(packet);
}

ORMA_TEST(the_first_packet_has_the_defaults_and_what_it_refers_to)
{
	start(false);
	struct orma_perf_stack stack = kernel_stack();

	orma_perf_packets_sample(&fixture.packets, &fact, &stack);
	orma_perf_packets_sample(&fixture.packets, &fact, &stack);
	CHECK(fake_packet(0)->interned_data && !fake_packet(1)->interned_data);
	CHECK_STR(text_of(0),
		  "timestamp: 1000 sequence_flags: 3 timestamp_clock_id: 5 "
		  "trace_packet_defaults { perf_sample_defaults { timebase { frequency: 99 "
		  "counter: SW_CPU_CLOCK } } timestamp_clock_id: 5 } "
		  "perf_sample { cpu: 1 pid: 10 tid: 11 callstack_iid: 1 cpu_mode: MODE_USER "
		  "timebase_count: 70 follower_counts: 80 follower_counts: 90 }");
	CHECK_STR(text_of(1),
		  "timestamp: 1000 sequence_flags: 2 timestamp_clock_id: 5 "
		  "perf_sample { cpu: 1 pid: 10 tid: 11 callstack_iid: 1 cpu_mode: MODE_USER "
		  "timebase_count: 70 follower_counts: 80 follower_counts: 90 }");
	perf_fixture_end(&fixture);
}

/* Readers show the counter under this name. */
ORMA_TEST(a_timebase_without_an_event_names_the_clock_of_the_cpu)
{
	struct orma_perf_packets packets;

	start(false);
	struct orma_pb_perf_events_timebase *timebase =
		orma_pb_perf_event_config_set_new_timebase(fixture.source, &fake_arena);
	orma_pb_perf_events_timebase_set_period(timebase, 7);
	CHECK_INT(orma_perf_packets_init(&packets, &fake_source, 0, &fixture.config, 0,
					 &fixture.stacks),
		  0);
	orma_perf_packets_sample(&packets, &fact, NULL);
	CHECK(strstr(text_of(0), "timebase { period: 7 counter: SW_CPU_CLOCK }"));
	CHECK(!orma_pb_perf_events_timebase_has_counter(timebase));
	orma_perf_packets_done(&packets);
	perf_fixture_end(&fixture);
}

ORMA_TEST(after_a_loss_or_a_request_everything_is_said_again)
{
	start(false);
	struct orma_perf_stack stack = kernel_stack();

	orma_perf_packets_sample(&fixture.packets, &fact, &stack);
	fixture.packets.must_clear = true;
	orma_perf_packets_sample(&fixture.packets, &fact, &stack);
	fake_source.needs_state = 1;
	orma_perf_packets_sample(&fixture.packets, &fact, &stack);
	fixture.stacks.is_full = true;
	orma_perf_packets_sample(&fixture.packets, &fact, &stack);
	orma_perf_packets_sample(&fixture.packets, &fact, &stack);
	for (size_t i = 0; i < 4; i++) {
		CHECK_INT(fake_packet(i)->sequence_flags, 3);
		CHECK(fake_packet(i)->trace_packet_defaults && fake_packet(i)->interned_data);
	}
	CHECK_INT(fake_packet(4)->sequence_flags, 2);
	CHECK(!fake_packet(4)->interned_data);
	perf_fixture_end(&fixture);
}

ORMA_TEST(a_stack_with_an_error_says_which)
{
	start(false);
	struct orma_perf_stack stack = kernel_stack();

	stack.error = 2;
	orma_perf_packets_sample(&fixture.packets, &fact, &stack);
	CHECK(strstr(text_of(0), "unwind_error: UNWIND_ERROR_MEMORY_INVALID"));
	CHECK(strstr(fake_text(fake_packet(0)->interned_data), "ERROR MEMORY_INVALID"));
	/* Counters without stacks. */
	orma_perf_packets_sample(&fixture.packets, &fact, NULL);
	CHECK(!strstr(text_of(1), "unwind_error") && !strstr(text_of(1), "callstack"));
	perf_fixture_end(&fixture);
}

ORMA_TEST(notices_say_what_happened)
{
	start(false);
	orma_perf_packets_skipped(&fixture.packets, &fact);
	CHECK(strstr(text_of(0), "sample_skipped_reason: PROFILER_SKIP_NOT_IN_SCOPE"));
	orma_perf_packets_lost(&fixture.packets, 1, 42);
	CHECK(strstr(text_of(1), "perf_sample { cpu: 1 kernel_records_lost: 42 }"));
	orma_perf_packets_guardrail(&fixture.packets);
	CHECK(strstr(text_of(2), "source_stop_reason: PROFILER_STOP_GUARDRAIL"));
	orma_perf_packets_counts(&fixture.packets, &fact);
	CHECK_STR(text_of(3), "timestamp: 1000 sequence_flags: 2 timestamp_clock_id: 6 "
			      "perf_sample { cpu: 1 timebase_count: 70 follower_counts: 80 "
			      "follower_counts: 90 }");
	perf_fixture_end(&fixture);
}

ORMA_TEST(a_wait_weighs_its_nanoseconds)
{
	start(true);
	struct orma_perf_stack stack = kernel_stack();
	struct orma_perf_fact wait = fact;

	wait.mode = 1;
	wait.wait_count = 1;
	orma_perf_packets_wait(&fixture.packets, &wait, 12345, &stack);
	CHECK_STR(text_of(0),
		  "timestamp: 1000 sequence_flags: 3 timestamp_clock_id: 5 "
		  "trace_packet_defaults { timestamp_clock_id: 5 stack_sample_defaults { "
		  "source: \"orma.off_cpu\" primary_descriptor { name: \"off-cpu\" "
		  "unit: UNIT_NANOSECONDS } follower_descriptors { name: \"waits\" "
		  "unit: UNIT_COUNT } } } stack_sample { task_context { pid: 10 tid: 11 } "
		  "execution_context { cpu: 1 mode: MODE_KERNEL } callstack_iid: 1 "
		  "primary_weight: 12345 follower_weights: 1 }");
	/* It stands for 23 waits. */
	wait.wait_count = 23;
	orma_perf_packets_wait(&fixture.packets, &wait, 1000, &stack);
	CHECK(strstr(text_of(1), "primary_weight: 23000 follower_weights: 23 }"));
	wait.wait_count = UINT64_MAX;
	orma_perf_packets_wait(&fixture.packets, &wait, 1000, &stack);
	CHECK_INT(fake_packet(2)->stack_sample->primary_weight, UINT64_MAX);
	perf_fixture_end(&fixture);
}

ORMA_TEST(without_a_session_nothing_is_written)
{
	start(false);
	struct orma_perf_stack stack = kernel_stack();

	fake_source.started = 0;
	orma_perf_packets_sample(&fixture.packets, &fact, &stack);
	orma_perf_packets_skipped(&fixture.packets, &fact);
	orma_perf_packets_lost(&fixture.packets, 0, 1);
	orma_perf_packets_counts(&fixture.packets, &fact);
	orma_perf_packets_guardrail(&fixture.packets);
	orma_perf_packets_wait(&fixture.packets, &fact, 1, &stack);
	CHECK_INT(fake_packet_count, 0);
	/* The next packet is the first of its sequence all the same. */
	fake_source.started = 1;
	orma_perf_packets_sample(&fixture.packets, &fact, &stack);
	CHECK_INT(fake_packet(0)->sequence_flags, 3);
	perf_fixture_end(&fixture);
}
