/* SPDX-License-Identifier: Apache-2.0
 * heap_hostile_test.c - some programs do not answer the heap profiler, or send it nonsense. Its session ends in time all the same, the
 * trace has what they had sent before, and other programs are profiled as usual.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "heap_profiler.h"

/* A flush before the end, the flush of the end and the stop wait for up to 2.3 s together. */
static struct profiler profiler;
static struct heap_trace trace;

/* --- programs --------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
	return *state;
}

static void tell_nonsense(void)
{
	uint64_t state = 88172645463325252u;

	for (size_t i = 0; i < 20000; i++) {
		uint8_t bytes[200];
		for (size_t j = 0; j < sizeof(bytes); j++)
			bytes[j] = (uint8_t)(next_random(&state) >> 11);
		struct orma_packet *packet = orma_packet_begin(heap_source, idx);
		/* A kind of record that exists, with nonsense in it. */
		bytes[0] = (uint8_t)((1 + i % 7) << 3 | 2);
		bytes[1] = 198 - 128;
		orma_packet_bytes(packet, RECORD(PACKET_FIELD_PACKET_FIELD), bytes,
				  i % sizeof(bytes));
		orma_packet_end(packet);
	}
}

/* Stops in the middle of a sample. */
static void stop_in_a_sample(void)
{
	struct orma_nested nested[2];

	tell_allocations();
	struct orma_packet *packet = begin_record(nested, RECORD(SAMPLE));
	orma_packet_varint(packet, RECORD(SAMPLE_SERIAL), SAMPLES + 1);
	if (write(told_fd, "x", 1) != 1)
		_exit(2);
	raise(SIGSTOP);
}

/* Tells how many samples there were, and that this was all. */
static void say_bye(uint64_t sample_count)
{
	struct orma_nested nested[2];
	struct orma_packet *packet = begin_record(nested, RECORD(LOST));

	orma_packet_varint(packet, RECORD(LOST_SAMPLES_WRITTEN), sample_count);
	end_record(packet, nested);
	packet = begin_record(nested, RECORD(BYE));
	orma_packet_varint(packet, RECORD(BYE_TIMESTAMP_NS), 1);
	end_record(packet, nested);
}

static void fill(uint64_t *begin, const uint64_t *end)
{
	uint64_t state = 88172645463325252u;

	for (uint64_t *at = begin; at < end; at++)
		*at = next_random(&state);
}

/* Announces its samples, and fills the shared memory that it has with the profiler before they were taken. */
static void overwrite_shared_memory(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[400], rights[8];
	uintptr_t begin, end;
	unsigned count = 0;

	tell_heap();
	tell_maps();
	say_bye(SAMPLES);
	orma_data_source_flush_thread(heap_source, idx);
	if (orma_sync(WAIT_MS))
		_exit(4);
	tell_blocks(1, SAMPLES / 4);
	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "memfd:") ||
		    sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &begin, &end, rights) != 3 ||
		    strcmp(rights, "rw-s") != 0)
			continue;
		count++;
		fill((uint64_t *)begin, (const uint64_t *)end);
	}
	if (count == 0)
		_exit(5);
}

/* Connects to the profiler by itself, and says half of a frame's size. */
static _Noreturn void run_silent(int fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int connection = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", getenv("ORMA_HEAP_SOCK"));
	while (connect(connection, (struct sockaddr *)&address, sizeof(address)) < 0)
		usleep(1000);
	if (write(connection, "\x20\0", 2) != 2 || write(fd, "x", 1) != 1)
		_exit(2);
	for (;;)
		pause();
}

static const struct behaviour nonsense = {tell_nonsense, ORMA_COMPLETE};
static const struct behaviour stopped = {stop_in_a_sample, ORMA_COMPLETE};
static const struct behaviour overwriting = {overwrite_shared_memory, ORMA_COMPLETE};
static const struct behaviour unanswering = {tell_allocations, ORMA_POSTPONE};

static void silent_start(struct program *program)
{
	int fds[2];

	CHECK_INT(pipe(fds), 0);
	program->pid = fork();
	if (program->pid == 0) {
		close(fds[0]);
		run_silent(fds[1]);
	}
	close(fds[1]);
	program->fd = fds[0];
}

/* --- tests ------------------------------------------------------------------------------------ */

ORMA_TEST(a_program_that_hangs_does_not_hold_up_the_end)
{
	struct program program;
	choose_socket();
	program_start(&program, &honest_behaviour, 1);
	profiler_start(&profiler);
	struct orma_session *session = session_start(&profiler, "");
	program_await(&program);
	CHECK_INT(kill(program.pid, SIGSTOP), 0);
	session_end(&profiler, session, &trace);
	check_totals(&trace);
	program_end(&program);
	profiler_stop(&profiler);
}

ORMA_TEST(a_sample_in_whose_middle_the_program_stops_is_left_out)
{
	struct program program;
	int status;
	choose_socket();
	program_start(&program, &stopped, 1);
	profiler_start(&profiler);
	struct orma_session *session = session_start(&profiler, "");
	program_await(&program);
	CHECK_INT(waitpid(program.pid, &status, WUNTRACED), program.pid);
	CHECK(WIFSTOPPED(status));
	session_end(&profiler, session, &trace);
	check_totals(&trace);
	program_end(&program);
	profiler_stop(&profiler);
}

ORMA_TEST(a_program_that_never_answers_does_not_hold_up_the_end)
{
	struct program program;
	choose_socket();
	program_start(&program, &unanswering, 1);
	profiler_start(&profiler);
	struct orma_session *session = session_start(&profiler, "");
	program_await(&program);
	session_end(&profiler, session, &trace);
	check_totals(&trace);
	program_end(&program);
	profiler_stop(&profiler);
}

ORMA_TEST(a_silent_connection_does_not_disturb_others)
{
	struct program honest, silent;
	choose_socket();
	program_start(&honest, &honest_behaviour, 1);
	silent_start(&silent);
	profiler_start(&profiler);
	struct orma_session *session = session_start(&profiler, "");
	program_await(&silent);
	program_await(&honest);
	session_end(&profiler, session, &trace);
	check_totals(&trace);
	program_end(&honest);
	program_end(&silent);
	profiler_stop(&profiler);
}

ORMA_TEST(malformed_records_of_one_program_do_not_disturb_another)
{
	struct program honest, hostile;
	choose_socket();
	program_start(&honest, &honest_behaviour, 1);
	program_start(&hostile, &nonsense, 1);
	profiler_start(&profiler);
	struct orma_session *session = session_start(&profiler, "");
	program_await(&hostile);
	program_await(&honest);
	session_end(&profiler, session, &trace);
	CHECK(strstr(heap_trace_heaps(), "libc.malloc"));
	CHECK(trace.is_corrupted);
	program_end(&honest);
	program_end(&hostile);
	profiler_stop(&profiler);
}

ORMA_TEST(overwritten_shared_memory_does_not_disturb_others)
{
	struct program honest, hostile;
	choose_socket();
	program_start(&honest, &honest_behaviour, 1);
	program_start(&hostile, &overwriting, 1);
	profiler_start(&profiler);
	struct orma_session *session = session_start(&profiler, "");
	program_await(&hostile);
	program_await(&honest);
	session_end(&profiler, session, &trace);
	/* The honest program's, at least, and the other one's losses. */
	CHECK(trace.count >= SAMPLES);
	CHECK(trace.is_overrun);
	program_end(&honest);
	program_end(&hostile);
	profiler_stop(&profiler);
}
