/* SPDX-License-Identifier: Apache-2.0
 * heap_profile_test.c - the records that programs write of their allocations get into the trace, whatever happens to the programs.
 */
#include "heap_profiler.h"
#include "proto/reader.h"
#include "schema/gen/profile_packet.pb.h"
#include "schema/gen/trace_packet.pb.h"

static struct profiler profiler;
static struct heap_trace trace;
static struct program program;

/* Starts a session for a program, which has written all its records when this returns. */
static struct orma_session *begin(const char *heapprofd)
{
	choose_socket();
	program_start(&program, &honest_behaviour, 1);
	profiler_start(&profiler);
	struct orma_session *session = session_start(&profiler, heapprofd);
	program_await(&program);
	return session;
}

static void end(void)
{
	program_end(&program);
	profiler_stop(&profiler);
}

/* Dumps in one tick of the kernel's coarse clock, which takes 10 ms at most, are one row, so the last dump must come later. */
static void await_dumps(struct orma_session *session, uint64_t count)
{
	session_await_dumps(&profiler, session, count);
	usleep(20000);
}

/* --- tests ------------------------------------------------------------------------------------ */

ORMA_TEST(the_totals_of_a_program_are_in_the_trace)
{
	struct orma_session *session = begin("");
	session_end(&profiler, session, &trace);
	check_totals(&trace);
	CHECK(strstr(heap_trace_mappings(), "heap_profile_test"));
	end();
}

ORMA_TEST(dumps_at_intervals_add_up)
{
	struct orma_session *session = begin("continuous_dump_config { dump_interval_ms: 100 }");
	await_dumps(session, 3);
	session_end(&profiler, session, &trace);
	check_totals(&trace);
	CHECK(trace.dump_count > 3);
	end();
}

ORMA_TEST(the_first_dump_may_come_earlier_than_the_others)
{
	struct orma_session *session =
		begin("continuous_dump_config { dump_phase_ms: 1000 dump_interval_ms: 600000 }");
	await_dumps(session, 1);
	session_end(&profiler, session, &trace);
	check_totals(&trace);
	CHECK_INT(trace.dump_count, 2);
	end();
}

static void tell_if_waiting(void)
{
	if (waits_for_room)
		tell_allocations();
}

ORMA_TEST(programs_wait_for_room_only_if_the_session_blocks_them)
{
	static const struct behaviour behaviour = {tell_if_waiting, ORMA_COMPLETE};

	choose_socket();
	for (int i = 0; i < 2; i++) {

		program_start(&program, &behaviour, 1);
		profiler_start(&profiler);
		struct orma_session *session =
			session_start(&profiler, i == 0 ? "block_client: true" : "");
		program_await(&program);
		session_end(&profiler, session, &trace);
		CHECK_INT(trace.count, i == 0 ? SAMPLES : 0);
		program_end(&program);
		profiler_stop(&profiler);
	}
}

ORMA_TEST(a_profiler_that_takes_too_much_ends_the_profile_with_a_dump)
{
	struct orma_session *session = begin("max_heapprofd_memory_kb: 1");
	/* The profiler listens nowhere when there is no session. */
	while (access(getenv("ORMA_HEAP_SOCK"), F_OK) == 0)
		usleep(10000);
	session_end(&profiler, session, &trace);
	check_totals(&trace);
	CHECK(trace.has_hit_guardrail);
	CHECK_INT(trace.dump_count, 1);
	end();
}

ORMA_TEST(a_program_that_is_killed_leaves_what_it_has_written)
{
	struct orma_session *session = begin("");
	program_end(&program);
	session_end(&profiler, session, &trace);
	check_totals(&trace);
	CHECK(trace.is_disconnected);
	profiler_stop(&profiler);
}

/* Counts the values of a field in all packets of a kind. */
static size_t count_streamed(uint32_t kind, uint32_t id)
{
	struct orma_proto_reader packets, fields, columns;
	struct orma_proto_field packet, field, column;
	size_t count = 0;

	orma_proto_reader_init(&packets, profiler.trace.data, profiler.trace.size);
	while (orma_proto_reader_next(&packets, &packet) > 0) {
		orma_proto_reader_init(&fields, packet.bytes.data, packet.bytes.size);
		while (orma_proto_reader_next(&fields, &field) > 0) {
			if (field.id != kind)
				continue;
			orma_proto_reader_init(&columns, field.bytes.data, field.bytes.size);
			while (orma_proto_reader_next(&columns, &column) > 0)
				count += column.id == id;
		}
	}
	return count;
}

ORMA_TEST(streamed_allocations_are_in_the_trace_instead_of_dumps)
{
	struct orma_session *session = begin("stream_allocations: true");
	session_end(&profiler, session, &trace);
	CHECK_INT(count_streamed(ORMA_PB_TRACE_PACKET_STREAMING_ALLOCATION,
				 ORMA_PB_STREAMING_ALLOCATION_SEQUENCE_NUMBER),
		  SAMPLES);
	CHECK_INT(count_streamed(ORMA_PB_TRACE_PACKET_STREAMING_FREE,
				 ORMA_PB_STREAMING_FREE_SEQUENCE_NUMBER),
		  SAMPLES / 4);
	CHECK_INT(trace.count, 0);
	end();
}

ORMA_TEST(sessions_at_the_same_time_have_totals_of_their_own)
{
	choose_socket();
	program_start(&program, &honest_behaviour, 2);
	profiler_start(&profiler);
	struct orma_session *first = session_start(&profiler, "");
	struct orma_session *second = session_start(&profiler, "dump_at_max: true");
	program_await(&program);
	session_end(&profiler, second, &trace);
	CHECK(trace.count > 0);
	session_end(&profiler, first, &trace);
	check_totals(&trace);
	end();
}

ORMA_TEST(a_profile_can_follow_another)
{
	choose_socket();
	profiler_start(&profiler);
	for (int i = 0; i < 2; i++) {
		struct orma_session *session = session_start(&profiler, "");
		CHECK_INT(access(getenv("ORMA_HEAP_SOCK"), F_OK), 0);
		session_end(&profiler, session, &trace);
		/* The profiler listens nowhere when there is no session. */
		CHECK(access(getenv("ORMA_HEAP_SOCK"), F_OK) < 0);
	}
	profiler_stop(&profiler);
}
