/* SPDX-License-Identifier: Apache-2.0
 * live_input_test.c - a stream of packets as a trace of its newest part.
 */
#include "tool/view/live_input.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "unit/answers/trace_fixture.h"

#define NS_PER_S UINT64_C(1000000000)

struct fixture {
	struct orma_live_input *input;
	int write_fd, read_fd;
	atomic_int news;
};

static void on_news(void *ctx)
{
	struct fixture *f = ctx;
	atomic_fetch_add(&f->news, 1);
}

static void set_up(struct fixture *f, uint64_t keep_ns, size_t max_bytes)
{
	int fds[2];
	*f = (struct fixture){0};
	CHECK_INT(pipe(fds), 0);
	f->read_fd = fds[0];
	f->write_fd = fds[1];
	struct orma_live_input_options options = {.fd = f->read_fd,
						  .keep_ns = keep_ns,
						  .max_bytes = max_bytes,
						  .news = on_news,
						  .ctx = f};
	CHECK_INT(orma_live_input_new(&options, &f->input), 0);
}

static void tear_down(struct fixture *f)
{
	orma_live_input_free(f->input);
	close(f->read_fd);
	if (f->write_fd >= 0)
		close(f->write_fd);
}

static struct orma_live_state wait_for(struct fixture *f, uint64_t bytes, bool is_end)
{
	struct orma_live_state state;
	do {
		usleep(1000);
		state = orma_live_input_state(f->input);
	} while (is_end ? !state.has_ended : state.received_bytes < bytes && !state.has_ended);
	return state;
}

static void put(struct orma_buf *buf, const void *data, size_t size)
{
	CHECK_INT(orma_base_buf_append(buf, data, size), 0);
}

static void put_varint(struct orma_buf *buf, uint64_t value)
{
	for (; value > 127; value >>= 7)
		put(buf, (uint8_t[]){(uint8_t)(value | 128)}, 1);
	put(buf, (uint8_t[]){(uint8_t)value}, 1);
}

/* Appends the field `packet` of a trace. */
static void put_packet(struct orma_buf *trace, struct orma_buf *packet)
{
	put(trace, "\x0a", 1);
	put_varint(trace, packet->size);
	put(trace, packet->data, packet->size);
	orma_base_buf_done(packet);
}

/* An instant of the sequence 1 whose name was declared by the first packet. */
static void put_instant(struct orma_buf *trace, uint64_t ns, bool is_first)
{
	struct orma_buf packet = {0};
	put(&packet, "\x40", 1); /* timestamp */
	put_varint(&packet, ns);
	put(&packet, "\x50\x01", 2); /* trusted_packet_sequence_id */
	if (is_first)
		/* interned_data { event_names { iid: 3 name: "tick" } }, and a new state */
		put(&packet, "\x62\x0a\x12\x08\x08\x03\x12\x04tick\x68\x01", 14);
	else
		put(&packet, "\x68\x02", 2);
	/* track_event { name_iid: 3 type: TYPE_INSTANT track_uuid: 9 } */
	put(&packet, "\x5a\x06\x50\x03\x48\x03\x58\x09", 8);
	put_packet(trace, &packet);
}

/* Opens what there is as a trace. */
static struct orma_trace_database *open_snapshot(struct fixture *f)
{
	struct stat status;
	int fd = orma_live_input_snapshot(f->input);
	CHECK(fd >= 0);
	CHECK_INT(fstat(fd, &status), 0);
	char *bytes = malloc((size_t)status.st_size + 1);
	CHECK_INT(pread(fd, bytes, (size_t)status.st_size, 0), status.st_size);
	close(fd);
	struct orma_trace_database *database = fixture_open_bytes(bytes, (size_t)status.st_size, 0);
	free(bytes);
	return database;
}

ORMA_TEST(packets_that_come_in_pieces_are_a_trace)
{
	struct fixture f;
	struct orma_buf trace = {0};
	set_up(&f, 60 * NS_PER_S, 1 << 20);
	for (uint64_t i = 0; i < 100; i++)
		put_instant(&trace, 1000 + i, i == 0);
	struct orma_trace_database *database = open_snapshot(&f);
	fixture_check(database, "select count(*) from slice", "0\n");
	fixture_close(database);
	for (size_t at = 0; at < trace.size; at += 7)
		CHECK_INT(orma_base_fd_write_all(f.write_fd, trace.data + at,
						 trace.size - at < 7 ? trace.size - at : 7),
			  0);
	struct orma_live_state state = wait_for(&f, trace.size, false);
	CHECK_INT(state.received_bytes, trace.size);
	CHECK(!state.has_ended && !state.has_cut);
	CHECK(atomic_load(&f.news) > 0);
	database = open_snapshot(&f);
	fixture_check(database, "select name, count(*), min(ts), max(ts) from slice",
		      "\"tick\",100,1000,1099\n");
	fixture_close(database);
	close(f.write_fd);
	f.write_fd = -1;
	state = wait_for(&f, 0, true);
	CHECK_INT(state.result, 0);
	orma_base_buf_done(&trace);
	tear_down(&f);
}

ORMA_TEST(old_events_are_left_out_and_what_they_declared_stays)
{
	struct fixture f;
	struct orma_buf trace = {0};
	set_up(&f, NS_PER_S, 1 << 20);
	for (uint64_t i = 0; i < 10000; i++)
		put_instant(&trace, 1000 + i * (NS_PER_S / 1000), i == 0);
	CHECK_INT(orma_base_fd_write_all(f.write_fd, trace.data, trace.size), 0);
	CHECK(wait_for(&f, trace.size, false).has_cut);
	struct orma_trace_database *database = open_snapshot(&f);
	/* A second, and at most a quarter and what came in one read. */
	fixture_check(database, "select name, max(ts), count(*) between 1000 and 9000 from slice",
		      "\"tick\",9999001000,1\n");
	fixture_check(database, "select count(*) from slice where name is null or name = ''",
		      "0\n");
	fixture_close(database);
	orma_base_buf_done(&trace);
	tear_down(&f);
}

ORMA_TEST(a_stream_has_a_limit_of_bytes)
{
	struct fixture f;
	struct orma_buf trace = {0};
	set_up(&f, 1000 * NS_PER_S, 4096);
	for (uint64_t i = 0; i < 5000; i++)
		put_instant(&trace, 1000 + i * 1000, i == 0);
	CHECK_INT(orma_base_fd_write_all(f.write_fd, trace.data, trace.size), 0);
	CHECK(wait_for(&f, trace.size, false).has_cut);
	int fd = orma_live_input_snapshot(f.input);
	CHECK(lseek(fd, 0, SEEK_END) <= 4096);
	close(fd);
	struct orma_trace_database *database = open_snapshot(&f);
	fixture_check(database, "select max(ts), min(ts) > 1000 from slice", "5000000,1\n");
	fixture_close(database);
	orma_base_buf_done(&trace);
	tear_down(&f);
}

ORMA_TEST(what_is_not_a_trace_ends_the_stream)
{
	struct fixture f;
	set_up(&f, NS_PER_S, 1 << 20);
	CHECK_INT(orma_base_fd_write_all(f.write_fd, "hello, world", 12), 0);
	struct orma_live_state state = wait_for(&f, 1, true);
	CHECK_INT(state.result, -EBADMSG);
	CHECK_INT(state.received_bytes, 0);
	tear_down(&f);
}
