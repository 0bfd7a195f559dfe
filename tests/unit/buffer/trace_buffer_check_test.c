/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_check_test.c - the checks of a trace buffer's invariants find what is broken.
 *
 * Most tests break one invariant by writing into the buffer's memory, and expect its number. Only
 * builds that check invariants have this test.
 */
#include "buffer/trace_buffer_check.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "trace_buffer_fixture.h"

static int check(const struct orma_trace_buffer *buffer)
{
	uint32_t visited;

	return orma_trace_buffer_check(buffer, &visited);
}

/* A ring that has wrapped: the records of sequence 1 (writer 1) and sequence 2 alternate. */
static struct orma_trace_buffer *make_whole(void)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	struct orma_trace_buffer_packet packet;

	for (uint32_t i = 0; i < 20; i++)
		put_outer(buffer, (uint16_t)(1 + i % 2), i / 2, 'a', i % 3 ? 320 : 208);
	orma_trace_buffer_read_begin(buffer);
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 1);
	CHECK(buffer->stats.write_wrap_count > 0);
	CHECK(buffer->write != buffer->oldest);
	CHECK_INT(check(buffer), 0);
	CHECK_INT(orma_trace_buffer_check_near(buffer, 1), 0);
	return buffer;
}

static struct orma_trace_buffer_record_list *list_of(struct orma_trace_buffer *buffer,
						     uint32_t sequence)
{
	return &buffer->sequences.slots[sequence - 1].records;
}

static struct orma_trace_buffer_record *record_of(struct orma_trace_buffer *buffer,
						  uint32_t sequence, uint32_t position)
{
	return orma_trace_buffer_record_at(
		buffer, orma_trace_buffer_record_list_get(list_of(buffer, sequence), position));
}

/* Also frees the buffer, which works in a broken state. */
static void check_breaks(struct orma_trace_buffer *buffer, int invariant)
{
	CHECK_INT(check(buffer), invariant);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_hole_between_records_breaks_invariant_1)
{
	struct orma_trace_buffer *buffer = make_whole();

	record_of(buffer, 1, 2)->capacity = UINT16_MAX;
	check_breaks(buffer, 1);
}

ORMA_TEST(a_position_inside_of_a_record_breaks_invariant_1)
{
	struct orma_trace_buffer *buffer = make_whole();

	buffer->oldest -= ORMA_TRACE_BUFFER_RECORD_BYTES;
	check_breaks(buffer, 1);
	buffer = make_whole();
	buffer->write = buffer->used + ORMA_TRACE_BUFFER_RECORD_BYTES;
	CHECK_INT(orma_trace_buffer_check_near(buffer, 0), 1);
	check_breaks(buffer, 1);
}

ORMA_TEST(a_live_record_before_the_oldest_breaks_invariant_2)
{
	struct orma_trace_buffer *buffer = make_whole();

	buffer->oldest += orma_trace_buffer_record_outer_bytes(
		orma_trace_buffer_record_at(buffer, buffer->oldest)->capacity);
	check_breaks(buffer, 2);
}

ORMA_TEST(a_record_that_is_not_listed_breaks_invariant_3)
{
	struct orma_trace_buffer *buffer = make_whole();

	list_of(buffer, 2)->count--;
	list_of(buffer, 2)->newest_id--;
	check_breaks(buffer, 3);
	buffer = make_whole();
	buffer->chunk_count++;
	check_breaks(buffer, 3);
	buffer = make_whole();
	record_of(buffer, 1, 1)->sequence = 2;
	CHECK_INT(orma_trace_buffer_check_near(buffer, 1), 3);
	check_breaks(buffer, 3);
}

ORMA_TEST(a_list_out_of_order_breaks_invariant_4)
{
	struct orma_trace_buffer *buffer = make_whole();
	struct orma_trace_buffer_record *first = record_of(buffer, 1, 0);

	first->chunk_id += 2;
	CHECK_INT(orma_trace_buffer_check_near(buffer, 1), 4);
	check_breaks(buffer, 4);
	buffer = make_whole();
	buffer->sequences.slots[0].last_id = record_of(buffer, 1, 0)->chunk_id + 1;
	buffer->sequences.slots[0].has_last = true;
	CHECK_INT(orma_trace_buffer_check_near(buffer, 1), 4);
	check_breaks(buffer, 4);
	buffer = make_whole();
	record_of(buffer, 1, 1)->consumed = 1;
	CHECK_INT(orma_trace_buffer_check_near(buffer, 1), 4);
	check_breaks(buffer, 4);
}

ORMA_TEST(sizes_that_do_not_nest_break_invariant_5)
{
	struct orma_trace_buffer *buffer = make_whole();
	struct orma_trace_buffer_record *record = record_of(buffer, 2, 0);

	record->consumed = (uint16_t)(record->payload + 1);
	CHECK_INT(orma_trace_buffer_check_near(buffer, 2), 5);
	check_breaks(buffer, 5);
	buffer = make_whole();
	record = record_of(buffer, 2, 0);
	record->payload = (uint16_t)(record->capacity + 1);
	check_breaks(buffer, 5);
}

ORMA_TEST(statistics_that_do_not_add_up_break_invariant_6)
{
	struct orma_trace_buffer *buffer = make_whole();

	buffer->stats.bytes_read += 16;
	check_breaks(buffer, 6);
	buffer = make_whole();
	buffer->stats.padding_bytes_written += buffer->size;
	CHECK_INT(orma_trace_buffer_check_near(buffer, 0), 6);
	check_breaks(buffer, 6);
}

/* Calls `fn` in a child process, which has to abort. */
static void check_dies(void (*fn)(struct orma_trace_buffer *buffer))
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (child == 0) {
		const struct rlimit no_core = {0};

		setrlimit(RLIMIT_CORE, &no_core);
		close(STDERR_FILENO);
		fn(make_whole());
		_exit(0);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void write_to_broken(struct orma_trace_buffer *buffer)
{
	record_of(buffer, 1, 0)->consumed = UINT16_MAX;
	put(buffer, 1, 10, 0, "a5");
}

static void read_from_broken(struct orma_trace_buffer *buffer)
{
	struct orma_trace_buffer_packet packet;

	record_of(buffer, 1, 1)->consumed = 1;
	record_of(buffer, 2, 1)->consumed = 1;
	orma_trace_buffer_read_begin(buffer);
	orma_trace_buffer_read_packet(buffer, &packet);
}

static void patch_broken(struct orma_trace_buffer *buffer)
{
	const struct orma_trace_buffer_patch patch = {.offset_untrusted = 4};

	record_of(buffer, 1, 1)->chunk_id -= 2;
	orma_trace_buffer_patch(buffer, 1, 1, record_of(buffer, 1, 0)->chunk_id, &patch, 1, false);
}

ORMA_TEST(a_write_checks_what_it_touches)
{
	check_dies(write_to_broken);
}

ORMA_TEST(a_read_checks_what_it_touches)
{
	check_dies(read_from_broken);
}

ORMA_TEST(a_patch_checks_what_it_touches)
{
	check_dies(patch_broken);
}

/* Only a full check can find a sum that is wrong. */
static void write_often(struct orma_trace_buffer *buffer)
{
	buffer->stats.bytes_read += 16;
	for (uint32_t i = 0; i < 100; i++)
		put(buffer, 3, i, 0, "a5");
}

ORMA_TEST(a_full_check_runs_every_few_calls)
{
	check_dies(write_often);
}

ORMA_TEST(a_large_buffer_is_checked_in_full_by_few_calls)
{
	struct orma_trace_buffer *buffer;
	uint32_t full_checks = 0;

	CHECK_INT(orma_trace_buffer_new(1 << 20, ORMA_TRACE_BUFFER_RING, &buffer), 0);
	for (uint32_t i = 0; i < 40000; i++) {
		put(buffer, 1, i, 0, "a5");
		full_checks += buffer->check_paid == 0;
	}
	/* A full check of all 32768 records is paid for by 2048 calls. */
	CHECK(full_checks > 10 && full_checks < 400);
	orma_trace_buffer_free(buffer);
}
