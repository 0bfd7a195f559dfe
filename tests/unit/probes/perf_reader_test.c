/* SPDX-License-Identifier: Apache-2.0
 * perf_reader_test.c - what becomes of the records of two made-up CPUs: samples, waits, losses, ends.
 */
#include "perf_fixture.h"
#include "schema/gen/profile_packet.pb.h"
#include "schema/gen/stack_sample.pb.h"

enum { PARENT = 4000000, CHILD = 4000001, OTHER = 4000002 };
static const int32_t parent_pid = PARENT;
static const uint64_t S = 1000000000;

static struct perf_fixture fixture;

/* One kernel frame, so that stacks need no process that exists. */
static const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000000};

static void start(bool off_cpu)
{
	fixture.config.hz = 1000;
	fixture.config.kernel_frames = true;
	fixture.config.user_frames = ORMA_PERF_USER_DWARF;
	fixture.config.off_cpu = off_cpu;
	fixture.config.stack_bytes = 1024;
	if (fixture.config.ring_pages == 0)
		fixture.config.ring_pages = 2;
	perf_fixture_start(&fixture);
}

static void sample_at(uint32_t pid, uint32_t tid, uint64_t time, uint32_t cpu)
{
	static const uint8_t stack[1024];
	struct made_sample sample = {.pid = pid,
				     .tid = tid,
				     .cpu = cpu,
				     .time = time,
				     .misc = PERF_RECORD_MISC_KERNEL,
				     .chain = chain,
				     .chain_count = ORMA_ARRAY_SIZE(chain),
				     .stack = stack,
				     .stack_size = sizeof(stack)};

	perf_fixture_sample(&fixture, &sample);
}

/* The sum over all packets of a value that `read` takes from one. */
static uint64_t sum_of(uint64_t (*read)(const struct orma_pb_trace_packet *packet))
{
	uint64_t sum = 0;

	for (size_t i = 0; i < fake_packet_count; i++)
		sum += read(fake_packet(i));
	return sum;
}

static uint64_t is_sample(const struct orma_pb_trace_packet *packet)
{
	return packet->perf_sample && packet->perf_sample->callstack_iid > 0;
}

static uint64_t is_skipped(const struct orma_pb_trace_packet *packet)
{
	return packet->perf_sample && packet->perf_sample->sample_skipped_reason > 0;
}

static uint64_t lost_in(const struct orma_pb_trace_packet *packet)
{
	return packet->perf_sample ? packet->perf_sample->kernel_records_lost : 0;
}

static uint64_t weight_of(const struct orma_pb_trace_packet *packet)
{
	return packet->stack_sample ? packet->stack_sample->primary_weight : 0;
}

static uint64_t is_wait(const struct orma_pb_trace_packet *packet)
{
	return packet->stack_sample != NULL;
}

ORMA_TEST(records_that_wrap_around_the_rings_end_become_samples)
{
	start(false);
	/* A ring has 8 KiB and a record about 1,150 bytes, so most rounds end within a record. */
	for (uint64_t i = 0; i < 500; i++) {
		sample_at(PARENT, PARENT, 10 + i, i % 2);
		if (i % 7 == 6)
			perf_fixture_run(&fixture);
	}
	perf_fixture_run(&fixture);
	CHECK_INT(sum_of(is_sample), 500);
	CHECK(fixture.reader.sample_count == 500 && fixture.events.bad_count == 0);
	CHECK(fixture.events.cpus[0].ring.damaged_count == 0);
	CHECK(fixture.pages[0]->data_tail == fixture.pages[0]->data_head);
	CHECK(fixture.pages[0]->data_head > 20 * fixture.ring_bytes);
	perf_fixture_end(&fixture);
}

ORMA_TEST(lost_records_are_counted_and_reported)
{
	uint64_t lost[] = {1, 40}, lost_samples[] = {2};

	start(false);
	perf_fixture_other(&fixture, PERF_RECORD_LOST, 0, lost, 2, PARENT, 5, 0);
	perf_fixture_other(&fixture, 13 /* PERF_RECORD_LOST_SAMPLES */, 0, lost_samples, 1, PARENT,
			   6, 1);
	sample_at(PARENT, PARENT, 10, 0);
	perf_fixture_run(&fixture);
	CHECK_INT(fixture.reader.lost_count, 42);
	CHECK_INT(sum_of(lost_in), 42);
	CHECK_INT(sum_of(is_sample), 1);
	perf_fixture_end(&fixture);
}

ORMA_TEST(records_that_make_no_sense_are_left_out_and_their_neighbours_are_not)
{
	struct orma_buf record;

	start(false);
	sample_at(PARENT, PARENT, 10, 0);
	/* A sample that ends behind its time. */
	record = perf_record_begin(PERF_RECORD_SAMPLE, 2);
	perf_put_u64(&record, 0);
	perf_put_u32s(&record, PARENT, PARENT);
	perf_put_u64(&record, 11);
	perf_record_finish(&record);
	perf_fixture_write(&fixture, 0, &record);
	/* A chain that claims more words than there are bytes in the world. */
	record = perf_record_begin(PERF_RECORD_SAMPLE, 2);
	perf_put_u64(&record, 0);
	perf_put_u32s(&record, PARENT, PARENT);
	perf_put_u64(&record, 12);
	perf_put_u32s(&record, 0, 0);
	perf_put_u64(&record, 1);
	perf_put_u64(&record, 1);
	perf_put_u64(&record, UINT64_C(1) << 61);
	perf_put_u64(&record, 1);
	perf_record_finish(&record);
	perf_fixture_write(&fixture, 0, &record);
	/* A type that no kernel has, and one without its content. */
	perf_fixture_other(&fixture, 77, 0, NULL, 0, PARENT, 13, 0);
	perf_fixture_other(&fixture, PERF_RECORD_LOST, 0, NULL, 0, PARENT, 14, 0);
	sample_at(PARENT, PARENT, 15, 0);
	perf_fixture_run(&fixture);
	CHECK_INT(sum_of(is_sample), 2);
	CHECK_INT(fixture.events.bad_count, 3);
	CHECK_INT(fixture.events.cpus[0].ring.damaged_count, 0);
	perf_fixture_end(&fixture);
}

ORMA_TEST(a_size_of_nothing_drops_what_follows_and_the_next_round_is_read)
{
	struct orma_buf record = perf_record_begin(PERF_RECORD_SAMPLE, 2);

	start(false);
	perf_put_u64(&record, 0);
	perf_fixture_write(&fixture, 0, &record); /* its header has size 0 */
	sample_at(PARENT, PARENT, 10, 0);
	sample_at(PARENT, PARENT, 11, 1);
	perf_fixture_run(&fixture);
	CHECK_INT(sum_of(is_sample), 1);
	CHECK_INT(fixture.events.cpus[0].ring.damaged_count, 1);
	sample_at(PARENT, PARENT, 12, 0);
	perf_fixture_run(&fixture);
	CHECK_INT(sum_of(is_sample), 2);
	perf_fixture_end(&fixture);
}

ORMA_TEST(a_sample_of_a_task_that_ends_or_of_ourselves_is_no_sample)
{
	start(false);
	fixture.reader.own_pid = PARENT;
	sample_at(UINT32_MAX, UINT32_MAX, 10, 0);
	sample_at(PARENT, PARENT, 11, 0);
	sample_at(CHILD, CHILD, 12, 0);
	perf_fixture_run(&fixture);
	CHECK_INT(fixture.reader.sample_count, 1);
	CHECK_INT(fake_packet_count, 1);
	perf_fixture_end(&fixture);
}

ORMA_TEST(a_cpu_beyond_the_last_one_is_the_rings)
{
	start(false);
	struct orma_buf record = perf_record_begin(PERF_RECORD_SAMPLE, 2);

	perf_put_u64(&record, 0);
	perf_put_u32s(&record, PARENT, PARENT);
	perf_put_u64(&record, 12);
	perf_put_u32s(&record, 1000000, 0);
	perf_put_u64(&record, 1);
	perf_put_u64(&record, 1); /* count */
	perf_put_u64(&record, 0); /* chain */
	perf_put_u64(&record, 0); /* abi */
	perf_put_u64(&record, 0); /* stack */
	perf_record_finish(&record);
	perf_fixture_write(&fixture, 1, &record);
	perf_fixture_run(&fixture);
	CHECK_INT(fixture.events.bad_count, 0);
	CHECK_INT(fake_packet(0)->perf_sample->cpu, 1);
	perf_fixture_end(&fixture);
}

ORMA_TEST(samples_out_of_scope_are_mentioned_once_a_second)
{
	fixture.config.scope.target_pids = &parent_pid;
	fixture.config.scope.target_pid_count = 1;
	start(false);
	for (uint64_t i = 1; i <= 6; i++) {
		sample_at(OTHER, OTHER, i * S / 2, 0);
		sample_at(PARENT, PARENT, i * S / 2, 1);
	}
	perf_fixture_run(&fixture);
	CHECK_INT(fixture.reader.skipped_count, 6);
	CHECK_INT(sum_of(is_skipped), 3);
	CHECK_INT(sum_of(is_sample), 6);
	fixture.reader.hides_others = true;
	sample_at(OTHER, OTHER, 9 * S, 0);
	perf_fixture_run(&fixture);
	CHECK_INT(sum_of(is_skipped), 3);
	perf_fixture_end(&fixture);
}

ORMA_TEST(a_pid_that_is_used_again_is_another_process)
{
	fixture.config.scope.target_pids = &parent_pid;
	fixture.config.scope.target_pid_count = 1;
	fixture.processes.follows_children = true;
	start(false);
	perf_fixture_fork(&fixture, CHILD, PARENT, 10);
	sample_at(CHILD, CHILD, 11, 1);
	perf_fixture_exit(&fixture, CHILD, CHILD, 20);
	/* The last sample of the first process comes late, from the other CPU. */
	sample_at(CHILD, CHILD, 21, 1);
	perf_fixture_fork(&fixture, CHILD, OTHER, 30);
	sample_at(CHILD, CHILD, 31, 1);
	perf_fixture_run(&fixture);
	CHECK_INT(sum_of(is_sample), 2);
	CHECK_INT(fixture.reader.skipped_count, 1);
	perf_fixture_end(&fixture);
}

ORMA_TEST(a_wait_is_as_long_as_the_thread_stood_still_on_any_cpu)
{
	start(true);
	sample_at(PARENT, 1, 100, 0);
	sample_at(PARENT, 2, 150, 1);
	perf_fixture_runs(&fixture, 1, 400, 1);
	perf_fixture_run(&fixture);
	CHECK_INT(fake_packet_count, 1);
	struct orma_pb_trace_packet *packet = fake_packet(0);
	CHECK_INT(packet->timestamp, 100);
	CHECK_INT(packet->stack_sample->primary_weight, 300);
	CHECK_INT(packet->stack_sample->task_context->tid, 1);
	CHECK(packet->stack_sample->callstack_iid > 0);
	/* The second one goes on until the end of the recording. */
	orma_perf_waits_end_all(&fixture.reader.waits, 1150, &fixture.stacks, &fixture.packets);
	CHECK_INT(sum_of(weight_of), 300 + 1000);
	perf_fixture_end(&fixture);
}

ORMA_TEST(waits_that_began_before_the_recording_or_end_before_they_begin_are_left_out)
{
	start(true);
	perf_fixture_runs(&fixture, 1, 100, 0);
	sample_at(PARENT, 2, 200, 0);
	perf_fixture_run(&fixture);
	/* This record came late, and is older than the beginning. */
	perf_fixture_runs(&fixture, 2, 150, 1);
	perf_fixture_run(&fixture);
	sample_at(PARENT, 3, 300, 0);
	perf_fixture_runs(&fixture, 3, 300, 1);
	perf_fixture_run(&fixture);
	CHECK_INT(fake_packet_count, 0);
	CHECK_INT(fixture.reader.waits.by_tid.count, 0);
	perf_fixture_end(&fixture);
}

ORMA_TEST(a_thread_that_stops_twice_waits_since_the_second_time)
{
	start(true);
	/* The record between the two was lost. */
	sample_at(PARENT, 1, 100, 0);
	sample_at(PARENT, 1, 500, 0);
	perf_fixture_runs(&fixture, 1, 700, 0);
	perf_fixture_runs(&fixture, 1, 900, 0);
	perf_fixture_run(&fixture);
	CHECK_INT(sum_of(is_wait), 1);
	CHECK_INT(sum_of(weight_of), 200);
	perf_fixture_end(&fixture);
}

ORMA_TEST(a_wait_stands_for_those_of_its_cpu_since_the_last_sample)
{
	start(true);
	/* The fixture's count of waits is ten times the time. */
	fixture.events.cpus[0].period_max = 1000;
	sample_at(PARENT, 1, 100, 0);
	sample_at(PARENT, 2, 103, 0);
	/* More were lost than a period, and they say nothing about this one. */
	sample_at(PARENT, 3, 1000, 0);
	/* This CPU has a period of 1. */
	sample_at(PARENT, 4, 1001, 1);
	for (uint32_t tid = 1; tid <= 4; tid++)
		perf_fixture_runs(&fixture, tid, 2000 + tid, 0);
	perf_fixture_run(&fixture);
	static const uint64_t counts[] = {1000, 30, 1000, 1};
	CHECK_INT(fake_packet_count, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct orma_pb_trace_packet *packet = fake_packet(i);
		CHECK_INT(packet->stack_sample->follower_weights.items[0], counts[i]);
		CHECK_INT(packet->stack_sample->primary_weight,
			  counts[i] * (2001 + i - packet->timestamp));
	}
	perf_fixture_end(&fixture);
}

/* A thread stops. */
static void stop_at(uint32_t pid, uint32_t tid, uint64_t time)
{
	struct orma_buf record = perf_record_begin(PERF_RECORD_SWITCH, 1 << 13);

	perf_put_u32s(&record, pid, tid);
	perf_put_u64(&record, time);
	perf_put_u32s(&record, 0, 0);
	perf_record_finish(&record);
	perf_fixture_write(&fixture, 0, &record);
}

ORMA_TEST(without_the_right_to_see_the_kernel_waits_have_no_place)
{
	fixture.config.scope.target_pids = &parent_pid;
	fixture.config.scope.target_pid_count = 1;
	start(true);
	fixture.events.can &= ~(unsigned)ORMA_PERF_CAN_KERNEL;
	stop_at(PARENT, 1, 100);
	stop_at(OTHER, 2, 110);
	stop_at(0, 0, 120);
	perf_fixture_runs(&fixture, 1, 300, 1);
	perf_fixture_runs(&fixture, 2, 310, 1);
	perf_fixture_run(&fixture);
	CHECK_INT(fake_packet_count, 1);
	CHECK_INT(sum_of(weight_of), 200);
	CHECK(strstr(fake_text(fake_packet(0)->interned_data), "where is not permitted"));
	/* With that right, the sample of the same stop is the wait. */
	fixture.events.can |= ORMA_PERF_CAN_KERNEL;
	stop_at(PARENT, 3, 400);
	perf_fixture_runs(&fixture, 3, 500, 1);
	perf_fixture_run(&fixture);
	CHECK_INT(fake_packet_count, 1);
	perf_fixture_end(&fixture);
}

ORMA_TEST(a_thread_that_has_ended_does_not_wait)
{
	start(true);
	sample_at(PARENT, 1, 100, 0);
	perf_fixture_exit(&fixture, PARENT, 1, 200);
	/* The last stop of a main thread comes after its end, and nothing ends it. */
	sample_at(CHILD, 7, 250, 1);
	perf_fixture_exit(&fixture, CHILD, CHILD, 300);
	sample_at(CHILD, CHILD, 301, 1);
	/* The idle task. */
	sample_at(0, 0, 400, 0);
	perf_fixture_run(&fixture);
	CHECK_INT(fixture.reader.waits.by_tid.count, 1);
	perf_fixture_runs(&fixture, 7, 450, 0);
	perf_fixture_run(&fixture);
	CHECK_INT(sum_of(weight_of), 200);
	perf_fixture_end(&fixture);
}

ORMA_TEST(waits_survive_a_lack_of_memory)
{
	start(true);
	for (uint64_t nth = 1; nth < 12; nth++) {
		sample_at(PARENT, (uint32_t)nth, 100 * nth, 0);
		orma_base_alloc_fail_nth(nth);
		perf_fixture_run(&fixture);
		orma_base_alloc_fail_nth(0);
		perf_fixture_runs(&fixture, (uint32_t)nth, 100 * nth + 50, 0);
		perf_fixture_run(&fixture);
	}
	/* A process that cannot be remembered is out of scope. */
	CHECK_INT(sum_of(is_wait) + fixture.reader.waits.dropped_count +
			  fixture.reader.skipped_count,
		  11);
	CHECK(fixture.reader.waits.dropped_count > 0);
	CHECK_INT(fixture.reader.waits.by_tid.count, 0);
	perf_fixture_end(&fixture);
}

static bool is_over_at_once(void *ctx)
{
	(void)ctx;
	return true;
}

ORMA_TEST(a_run_in_turns_ends_even_if_records_come_as_fast_as_they_are_read)
{
	uint64_t time = 1;
	unsigned turns = 1;

	fixture.config.ring_pages = 16;
	start(false);
	while (time <= 40)
		sample_at(PARENT, 1, time++, 0);
	while (orma_perf_reader_run(&fixture.reader, time - 1, is_over_at_once, NULL)) {
		CHECK_INT(fixture.reader.sample_count, 16 * turns++);
		for (uint64_t end = time + 16; time < end;)
			sample_at(PARENT, 1, time++, 0);
	}
	CHECK_INT(turns, 3);
	CHECK_INT(fixture.reader.sample_count, 40);
	perf_fixture_run(&fixture);
	CHECK_INT(fixture.reader.sample_count, time - 1);
	perf_fixture_end(&fixture);
}
