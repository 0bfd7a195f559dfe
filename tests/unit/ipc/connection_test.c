/* SPDX-License-Identifier: Apache-2.0
 * connection_test.c - a connection over a socket pair, against a raw peer that sends slowly,
 * floods, stalls, passes descriptors, and disconnects.
 */
#include "ipc/connection.h"
#include "ipc/socket_io.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "harness.h"

struct fixture {
	struct orma_loop *loop;
	struct orma_ipc_connection connection;
	int peer;
	int frames, closed, error, drained;
	size_t last_size;
	char text[64];
	bool closes_itself, ends_itself, pauses_itself;
	int again, closed_again; /* how many more times a frame, or the end, is delivered */
	uint64_t busy_ns;        /* CPU time that handling a frame takes */
};

static struct fixture *fixture_of(struct orma_ipc_connection *connection)
{
	return ORMA_CONTAINER_OF(connection, struct fixture, connection);
}

static void on_frame(struct orma_ipc_connection *connection, const uint8_t *data, size_t size)
{
	struct fixture *fixture = fixture_of(connection);
	uint64_t end_ns = orma_base_clock_ns(CLOCK_THREAD_CPUTIME_ID) + fixture->busy_ns;

	while (fixture->busy_ns && orma_base_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		;
	fixture->frames++;
	fixture->last_size = size;
	if (size < sizeof(fixture->text)) {
		memcpy(fixture->text, data, size);
		fixture->text[size] = '\0';
	}
	if (fixture->again > 0) {
		fixture->again--;
		orma_ipc_connection_call_again(connection);
	}
	if (fixture->closes_itself)
		orma_ipc_connection_close(connection, -ECANCELED);
	if (fixture->ends_itself)
		orma_ipc_connection_done(connection);
	if (fixture->pauses_itself)
		orma_ipc_connection_pause(connection, true);
}

static void on_drained(struct orma_ipc_connection *connection)
{
	fixture_of(connection)->drained++;
}

static void on_closed(struct orma_ipc_connection *connection, int error)
{
	struct fixture *fixture = fixture_of(connection);

	fixture->closed++;
	fixture->error = error;
	if (fixture->closed_again > 0) {
		fixture->closed_again--;
		orma_ipc_connection_call_again(connection);
	}
}

static const struct orma_ipc_connection_ops ops = {on_frame, on_drained, on_closed};

/* True if one turn of the loop delivers this frame and no other. */
static bool next_is(struct fixture *fixture, const char *text)
{
	int frames = fixture->frames;

	CHECK(orma_base_loop_turn(fixture->loop, 0) >= 0);
	return fixture->frames == frames + 1 && strcmp(fixture->text, text) == 0;
}

static void set_up(struct fixture *fixture, struct orma_ipc_connection_limits limits)
{
	int ends[2];
	int small = 8192;

	memset(fixture, 0, sizeof(*fixture));
	CHECK_INT(orma_base_loop_new(&fixture->loop), 0);
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	fixture->peer = ends[1];
	CHECK_INT(orma_ipc_connection_init(&fixture->connection, fixture->loop, ends[0], &ops,
					   &limits),
		  0);
}

static void tear_down(struct fixture *fixture)
{
	orma_ipc_connection_done(&fixture->connection);
	orma_base_loop_free(fixture->loop);
	if (fixture->peer >= 0)
		close(fixture->peer);
}

static void turn(struct fixture *fixture)
{
	for (int i = 0; i < 8; i++)
		CHECK(orma_base_loop_turn(fixture->loop, 0) >= 0);
}

static void wait_closed(struct fixture *fixture)
{
	while (!fixture->closed)
		CHECK(orma_base_loop_turn(fixture->loop, 5000) > 0);
}

static void send_bytes(struct fixture *fixture, const void *bytes, size_t size)
{
	CHECK_INT(send(fixture->peer, bytes, size, MSG_NOSIGNAL), size);
}

static void send_with_fds(struct fixture *fixture, const void *bytes, size_t size, const int *fds,
			  size_t count)
{
	union {
		struct cmsghdr header;
		uint8_t bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = {0};
	struct iovec piece = {(void *)bytes, size};
	struct msghdr message = {.msg_iov = &piece,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = (socklen_t)CMSG_SPACE(count * sizeof(int))};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = (socklen_t)CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	CHECK_INT(sendmsg(fixture->peer, &message, 0), size);
}

/* Receives what is there; a descriptor goes to *ret_fd. */
static ssize_t receive(struct fixture *fixture, void *bytes, size_t size, int *ret_fd)
{
	union {
		struct cmsghdr header;
		uint8_t bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec piece = {bytes, size};
	struct msghdr message = {.msg_iov = &piece,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t received = recvmsg(fixture->peer, &message, MSG_CMSG_CLOEXEC);

	*ret_fd = -1;
	if (received > 0 && message.msg_controllen > 0)
		memcpy(ret_fd, CMSG_DATA(&control.header), sizeof(*ret_fd));
	return received;
}

static int open_null(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Sends a frame of this many bytes with its header. */
static int send_frame(struct fixture *fixture, size_t size, int fd)
{
	static uint8_t bytes[ORMA_IPC_FRAME_BYTES_MAX];
	struct iovec pieces[2] = {{bytes, 4}, {bytes + 4, size - 4}};

	bytes[0] = (uint8_t)(size - 4);
	bytes[1] = (uint8_t)((size - 4) >> 8);
	bytes[2] = (uint8_t)((size - 4) >> 16);
	return orma_ipc_connection_send(&fixture->connection, pieces, 2, fd);
}

ORMA_TEST(a_frame_dripping_in_byte_by_byte_arrives)
{
	struct fixture fixture;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	for (int i = 0; i < 9; i++) {
		CHECK_INT(fixture.frames, 0);
		send_bytes(&fixture, &"\5\0\0\0hello"[i], 1);
		turn(&fixture);
	}
	CHECK_INT(fixture.frames, 1);
	CHECK_STR(fixture.text, "hello");
	CHECK(fixture.connection.assembler.data == NULL);
	tear_down(&fixture);
}

ORMA_TEST(an_oversize_frame_ends_the_connection)
{
	struct fixture fixture;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	send_bytes(&fixture, "\1\0\0\0x\xff\xff\xff\x7f", 9);
	wait_closed(&fixture);
	CHECK_INT(fixture.frames, 1);
	CHECK_INT(fixture.error, -EMSGSIZE);
	CHECK_INT(recv(fixture.peer, fixture.text, 1, 0), 0);
	tear_down(&fixture);
}

ORMA_TEST(frames_sent_before_the_end_of_the_stream_are_still_handled)
{
	struct fixture fixture;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	send_bytes(&fixture, "\1\0\0\0a\1\0\0\0b", 10);
	close(fixture.peer);
	fixture.peer = -1;
	wait_closed(&fixture);
	CHECK_INT(fixture.frames, 2);
	CHECK_STR(fixture.text, "b");
	CHECK_INT(fixture.error, 0);
	CHECK_INT(send_frame(&fixture, 10, -1), -ECONNRESET);
	tear_down(&fixture);
}

ORMA_TEST(a_flood_is_handled_in_bounded_portions)
{
	struct fixture fixture;
	static uint8_t flood[150000];
	size_t sent = 0;
	int room = 1 << 20;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	setsockopt(fixture.peer, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	for (size_t i = 0; i < sizeof(flood); i += 5)
		flood[i] = 1;
	while (sent < sizeof(flood)) {
		ssize_t part = send(fixture.peer, flood + sent, sizeof(flood) - sent, 0);
		if (part <= 0)
			break;
		sent += (size_t)part;
	}
	CHECK(sent >= 100000);
	CHECK(orma_base_loop_turn(fixture.loop, 0) > 0);
	CHECK(fixture.frames > 0);
	CHECK(fixture.frames < (int)(sent / 5));
	while (fixture.frames < (int)(sent / 5))
		CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
	tear_down(&fixture);
}

/* Twenty frames at once, each of which takes longer to handle than a connection's turn lasts. */
static void set_up_costly(struct fixture *fixture)
{
	static const uint8_t frames[20 * 5] = {
		1, 0, 0, 0, 'a', 1, 0, 0, 0, 'b', 1, 0, 0, 0, 'c', 1, 0, 0, 0, 'd',
		1, 0, 0, 0, 'e', 1, 0, 0, 0, 'f', 1, 0, 0, 0, 'g', 1, 0, 0, 0, 'h',
		1, 0, 0, 0, 'i', 1, 0, 0, 0, 'j', 1, 0, 0, 0, 'k', 1, 0, 0, 0, 'l',
		1, 0, 0, 0, 'm', 1, 0, 0, 0, 'n', 1, 0, 0, 0, 'o', 1, 0, 0, 0, 'p',
		1, 0, 0, 0, 'q', 1, 0, 0, 0, 'r', 1, 0, 0, 0, 's', 1, 0, 0, 0, 't'};

	set_up(fixture, (struct orma_ipc_connection_limits){0});
	fixture->busy_ns = 5 * ORMA_NS_PER_MS;
	send_bytes(fixture, frames, sizeof(frames));
}

ORMA_TEST(costly_frames_are_handled_over_turns_in_order_and_before_the_end_of_the_stream)
{
	struct fixture fixture;

	set_up_costly(&fixture);
	CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
	/* The first one makes the connection check the time. */
	CHECK_INT(fixture.frames, 2);
	CHECK_STR(fixture.text, "b");
	close(fixture.peer);
	fixture.peer = -1;
	while (fixture.frames < 20) {
		int before = fixture.frames;

		CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
		CHECK(fixture.frames <= before + 2);
		CHECK_INT(fixture.text[0], 'a' + fixture.frames - 1);
		CHECK(!fixture.closed || fixture.frames == 20);
	}
	wait_closed(&fixture);
	CHECK_INT(fixture.error, 0);
	tear_down(&fixture);
}

ORMA_TEST(a_callback_may_close_or_end_its_connection_in_a_later_turn)
{
	struct fixture fixture;

	set_up_costly(&fixture);
	CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
	fixture.closes_itself = true;
	wait_closed(&fixture);
	CHECK_INT(fixture.frames, 3);
	tear_down(&fixture);

	set_up_costly(&fixture);
	CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
	fixture.ends_itself = true;
	turn(&fixture);
	CHECK_INT(fixture.frames, 3);
	CHECK_INT(fixture.closed, 0);
	tear_down(&fixture);
}

ORMA_TEST(a_callback_may_close_its_connection_and_sees_no_further_frame)
{
	struct fixture fixture;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	fixture.closes_itself = true;
	send_bytes(&fixture, "\1\0\0\0a\1\0\0\0b", 10);
	wait_closed(&fixture);
	turn(&fixture);
	CHECK_INT(fixture.frames, 1);
	CHECK_INT(fixture.closed, 1);
	CHECK_INT(fixture.error, -ECANCELED);
	tear_down(&fixture);
}

ORMA_TEST(a_callback_may_end_its_connection_and_nothing_follows)
{
	struct fixture fixture;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	fixture.ends_itself = true;
	send_bytes(&fixture, "\1\0\0\0a\1\0\0\0b", 10);
	turn(&fixture);
	CHECK_INT(fixture.frames, 1);
	CHECK_INT(fixture.closed, 0);
	tear_down(&fixture);
}

ORMA_TEST(a_paused_connection_receives_nothing_until_it_goes_on)
{
	static const char frames[] = "\1\0\0\0a\1\0\0\0b\1\0\0\0c";
	struct fixture fixture;
	char byte;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	fixture.pauses_itself = true;
	send_bytes(&fixture, frames, sizeof(frames) - 1);
	turn(&fixture);
	CHECK_INT(fixture.frames, 1);
	CHECK_STR(fixture.text, "a");
	/* Data is sent even while the connection is paused. */
	CHECK_INT(send_frame(&fixture, 10, -1), 0);
	CHECK(recv(fixture.peer, &byte, 1, 0) == 1);
	/* The rest has been received already. */
	orma_ipc_connection_pause(&fixture.connection, false);
	CHECK_INT(fixture.frames, 1);
	turn(&fixture);
	CHECK_INT(fixture.frames, 2);
	orma_ipc_connection_pause(&fixture.connection, false);
	orma_ipc_connection_pause(&fixture.connection, true);
	turn(&fixture);
	CHECK_INT(fixture.frames, 2);
	/* Data that arrives meanwhile does not wake the loop. */
	send_bytes(&fixture, frames, 5);
	CHECK_INT(orma_base_loop_turn(fixture.loop, 0), 0);
	fixture.pauses_itself = false;
	orma_ipc_connection_pause(&fixture.connection, false);
	turn(&fixture);
	CHECK_INT(fixture.frames, 4);
	tear_down(&fixture);
}

ORMA_TEST(a_paused_connection_whose_peer_has_left_rests_and_ends_when_it_goes_on)
{
	struct fixture fixture;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	send_bytes(&fixture, "\1\0\0\0a", 5);
	orma_ipc_connection_pause(&fixture.connection, true);
	close(fixture.peer);
	fixture.peer = -1;
	turn(&fixture);
	/* Nothing is ready any more, so polling the loop reports nothing. */
	CHECK_INT(orma_base_loop_turn(fixture.loop, 0), 0);
	CHECK_INT(fixture.frames + fixture.closed, 0);
	orma_ipc_connection_pause(&fixture.connection, false);
	wait_closed(&fixture);
	CHECK_INT(fixture.frames, 1);
	CHECK_INT(fixture.error, 0);
	tear_down(&fixture);
}

ORMA_TEST(a_frame_that_is_too_much_for_a_turn_comes_again_before_what_follows)
{
	struct fixture fixture;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	fixture.again = 2;
	send_bytes(&fixture, "\1\0\0\0a\1\0\0\0b\1\0\0\0", 14);
	CHECK(next_is(&fixture, "a"));
	/* Data that arrives meanwhile does not disturb it. */
	send_bytes(&fixture, "c", 1);
	CHECK(next_is(&fixture, "a"));
	while (fixture.frames < 5)
		CHECK(orma_base_loop_turn(fixture.loop, 0) >= 0);
	CHECK_STR(fixture.text, "c");
	turn(&fixture);
	CHECK_INT(fixture.frames, 5);
	/* No work is left. */
	CHECK_INT(orma_base_loop_turn(fixture.loop, 0), 0);
	tear_down(&fixture);
}

ORMA_TEST(a_frame_that_was_begun_is_completed_before_its_connection_ends)
{
	struct fixture fixture;

	for (int is_peer = 0; is_peer < 2; is_peer++) {
		set_up(&fixture, (struct orma_ipc_connection_limits){0});
		fixture.again = 3;
		send_bytes(&fixture, "\1\0\0\0a\1\0\0\0b", 10);
		CHECK(next_is(&fixture, "a"));
		if (is_peer) {
			close(fixture.peer);
			fixture.peer = -1;
		} else {
			orma_ipc_connection_close(&fixture.connection, -ECANCELED);
		}
		for (int i = 0; i < 2; i++) {
			CHECK(next_is(&fixture, "a"));
			CHECK_INT(fixture.closed, 0);
		}
		wait_closed(&fixture);
		/* Frames that the peer had sent before it disconnected are still delivered. */
		CHECK_INT(fixture.frames, is_peer ? 5 : 4);
		CHECK_INT(fixture.error, is_peer ? 0 : -ECANCELED);
		turn(&fixture);
		CHECK_INT(fixture.closed, 1);
		tear_down(&fixture);
	}
}

ORMA_TEST(a_connection_may_end_itself_while_a_frame_is_unfinished)
{
	struct fixture fixture;

	for (int after_close = 0; after_close < 2; after_close++) {
		set_up(&fixture, (struct orma_ipc_connection_limits){0});
		fixture.again = 5;
		send_bytes(&fixture, "\1\0\0\0a\1\0\0\0b", 10);
		CHECK(next_is(&fixture, "a"));
		if (after_close)
			orma_ipc_connection_close(&fixture.connection, -ECANCELED);
		fixture.ends_itself = true;
		CHECK(next_is(&fixture, "a"));
		turn(&fixture);
		CHECK_INT(fixture.frames, 2);
		CHECK_INT(fixture.closed, 0);
		tear_down(&fixture);
	}
}

ORMA_TEST(a_pause_in_an_unfinished_frame_holds_it_back)
{
	struct fixture fixture;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	fixture.again = 1;
	fixture.pauses_itself = true;
	send_bytes(&fixture, "\1\0\0\0a\1\0\0\0b", 10);
	turn(&fixture);
	CHECK_INT(fixture.frames, 1);
	orma_ipc_connection_pause(&fixture.connection, false);
	turn(&fixture);
	CHECK_INT(fixture.frames, 2);
	CHECK_STR(fixture.text, "a");
	fixture.pauses_itself = false;
	orma_ipc_connection_pause(&fixture.connection, false);
	turn(&fixture);
	CHECK_INT(fixture.frames, 3);
	CHECK_STR(fixture.text, "b");
	tear_down(&fixture);
}

ORMA_TEST(an_end_that_is_too_much_for_a_turn_comes_again)
{
	struct fixture fixture;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	fixture.closed_again = 2;
	orma_ipc_connection_close(&fixture.connection, -ECANCELED);
	for (int i = 1; i <= 3; i++) {
		CHECK_INT(orma_base_loop_turn(fixture.loop, 0), 1);
		CHECK_INT(fixture.closed, i);
		CHECK_INT(fixture.error, -ECANCELED);
	}
	CHECK_INT(orma_base_loop_turn(fixture.loop, 0), 0);
	tear_down(&fixture);
}

ORMA_TEST(frames_wait_for_a_slow_reader_and_leave_whole_and_in_order)
{
	struct fixture fixture;
	static uint8_t received[ORMA_IPC_FRAME_BYTES_MAX];
	size_t total = 0, expected = 0;
	struct orma_ipc_assembler assembler = {0};
	int frames = 0;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	for (int i = 0; i < 100; i++) {
		size_t size = 5 + (size_t)i * 97 % 9000;
		CHECK_INT(send_frame(&fixture, size, -1), 0);
		expected += size;
	}
	CHECK(fixture.connection.queue.bytes > 0);
	while (total < expected) {
		const uint8_t *data;
		uint8_t *window;
		size_t size;
		/* Odd sizes, so that sends end in the middle of frames and headers. */
		ssize_t part = recv(fixture.peer, received, 1 + total % 1237, 0);

		if (part > 0) {
			total += (size_t)part;
			for (ssize_t i = 0; i < part; i++) {
				CHECK_INT(orma_ipc_assembler_window(&assembler, &window, &size), 0);
				window[0] = received[i];
				orma_ipc_assembler_fill(&assembler, 1);
				while (orma_ipc_assembler_next(&assembler, &data, &size) > 0) {
					CHECK_INT(size, 1 + (size_t)frames * 97 % 9000);
					frames++;
				}
			}
		}
		CHECK(orma_base_loop_turn(fixture.loop, 0) >= 0);
	}
	CHECK_INT(frames, 100);
	CHECK_INT(fixture.connection.queue.bytes, 0);
	orma_ipc_assembler_done(&assembler);
	tear_down(&fixture);
}

ORMA_TEST(the_queue_has_a_limit_and_says_when_it_has_drained)
{
	struct fixture fixture;
	static uint8_t received[65536];
	int result = 0, count = 0;

	set_up(&fixture, (struct orma_ipc_connection_limits){.queue_bytes = 100000});
	CHECK(orma_ipc_connection_has_room(&fixture.connection));
	while ((result = send_frame(&fixture, 10000, -1)) == 0)
		count++;
	CHECK_INT(result, -ENOBUFS);
	CHECK(count >= 10);
	CHECK(fixture.connection.queue.bytes <= 100000);
	CHECK(!orma_ipc_connection_has_room(&fixture.connection));
	CHECK_INT(fixture.drained, 0);
	while (fixture.drained == 0) {
		while (recv(fixture.peer, received, sizeof(received), 0) > 0)
			;
		CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
	}
	CHECK(orma_ipc_connection_has_room(&fixture.connection));
	CHECK_INT(fixture.closed, 0);
	turn(&fixture);
	CHECK_INT(fixture.drained, 1);
	tear_down(&fixture);
}

ORMA_TEST(a_thread_that_keeps_the_loop_from_running_pushes_what_the_socket_takes)
{
	struct fixture fixture;
	static uint8_t received[65536];

	set_up(&fixture, (struct orma_ipc_connection_limits){.queue_bytes = 100000});
	while (send_frame(&fixture, 10000, -1) == 0)
		;
	CHECK(fixture.connection.queue.bytes > 0);
	while (fixture.connection.queue.bytes > 0) {
		CHECK(recv(fixture.peer, received, sizeof(received), 0) > 0);
		orma_ipc_connection_push(&fixture.connection);
	}
	/* The loop finds nothing to send, and no peer that takes nothing. */
	turn(&fixture);
	CHECK_INT(fixture.closed, 0);
	CHECK(!fixture.connection.stall_timer.is_armed);
	tear_down(&fixture);
}

ORMA_TEST(a_frame_larger_than_the_queue_limit_goes_through_an_empty_queue)
{
	struct fixture fixture;

	set_up(&fixture, (struct orma_ipc_connection_limits){.queue_bytes = 100});
	CHECK_INT(send_frame(&fixture, ORMA_IPC_FRAME_BYTES_MAX, -1), 0);
	CHECK_INT(send_frame(&fixture, 5, -1), -ENOBUFS);
	tear_down(&fixture);
}

ORMA_TEST(a_peer_that_takes_nothing_is_dropped_after_the_stall_timeout)
{
	struct fixture fixture;

	set_up(&fixture, (struct orma_ipc_connection_limits){.stall_timeout_ns = ORMA_NS_PER_MS});
	while (fixture.connection.queue.bytes == 0)
		CHECK_INT(send_frame(&fixture, 10000, -1), 0);
	wait_closed(&fixture);
	CHECK_INT(fixture.error, -ETIMEDOUT);
	tear_down(&fixture);
}

ORMA_TEST(a_send_to_a_peer_that_is_gone_closes_from_the_loop)
{
	struct fixture fixture;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	close(fixture.peer);
	fixture.peer = -1;
	CHECK_INT(send_frame(&fixture, 10, -1), -ECONNRESET);
	CHECK_INT(fixture.closed, 0);
	wait_closed(&fixture);
	CHECK_INT(fixture.error, -EPIPE);
	turn(&fixture);
	CHECK_INT(fixture.closed, 1);
	tear_down(&fixture);
}

ORMA_TEST(a_descriptor_arrives_with_its_frame_and_is_close_on_exec)
{
	struct fixture fixture;
	int fd = open_null();

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	send_with_fds(&fixture, "\1\0\0\0a", 5, &fd, 1);
	close(fd);
	CHECK_INT(orma_ipc_connection_take_fd(&fixture.connection), -1);
	turn(&fixture);
	CHECK_INT(fixture.frames, 1);
	int taken = orma_ipc_connection_take_fd(&fixture.connection);
	CHECK(taken >= 0);
	CHECK(fcntl(taken, F_GETFD) & FD_CLOEXEC);
	CHECK_INT(orma_ipc_connection_take_fd(&fixture.connection), -1);
	close(taken);
	tear_down(&fixture);
}

ORMA_TEST(one_descriptor_is_kept_and_all_others_are_closed)
{
	struct fixture fixture;
	int fds[3] = {open_null(), open_null(), open_null()};

	/* The harness checks that nothing is left open. */
	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	send_with_fds(&fixture, "\1\0\0\0a", 5, fds, 3);
	turn(&fixture);
	int first_kept = fixture.connection.kept_fd;
	CHECK(first_kept >= 0);
	send_with_fds(&fixture, "\1\0\0\0b", 5, fds, 1);
	turn(&fixture);
	CHECK_INT(fixture.frames, 2);
	CHECK(fixture.connection.kept_fd >= 0);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	tear_down(&fixture);
}

struct fake_closer {
	struct orma_fd_closer base;
	int handed;
	bool is_full;
};

static void count_and_close(struct orma_fd_closer *base, int fd, uid_t owner)
{
	struct fake_closer *closer = ORMA_CONTAINER_OF(base, struct fake_closer, base);

	CHECK_INT(owner, 7);
	closer->handed++;
	close(fd);
}

static bool say_full(struct orma_fd_closer *base, uid_t owner)
{
	CHECK_INT(owner, 7);
	return ORMA_CONTAINER_OF(base, struct fake_closer, base)->is_full;
}

ORMA_TEST(descriptors_of_a_peer_go_to_the_closer_and_one_who_sends_too_many_is_dropped)
{
	struct fake_closer closer = {.base = {count_and_close, say_full}};
	struct fixture fixture;
	int fds[3] = {open_null(), open_null(), open_null()};

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	orma_base_loop_set_closer(fixture.loop, &closer.base);
	fixture.connection.owner = 7;
	send_with_fds(&fixture, "\1\0\0\0a", 5, fds, 3);
	turn(&fixture);
	CHECK_INT(closer.handed, 2);
	send_with_fds(&fixture, "\1\0\0\0b", 5, fds, 1);
	turn(&fixture);
	CHECK_INT(closer.handed, 3);
	CHECK_INT(fixture.frames, 2);
	closer.is_full = true;
	send_with_fds(&fixture, "\1\0\0\0c", 5, fds, 3);
	turn(&fixture);
	/* Nothing of the frame was received: the kept descriptor is closed, and the socket with
	 * its content. */
	CHECK_INT(fixture.frames, 2);
	CHECK_INT(closer.handed, 5);
	CHECK(fixture.connection.is_closed);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	tear_down(&fixture);
}

ORMA_TEST(a_descriptor_leaves_with_the_first_byte_of_its_frame)
{
	struct fixture fixture;
	uint8_t bytes[64];
	int fd = open_null(), received;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	CHECK_INT(send_frame(&fixture, 10, fd), 0);
	CHECK_INT(receive(&fixture, bytes, sizeof(bytes), &received), 10);
	CHECK(received >= 0);
	close(received);
	close(fd);
	tear_down(&fixture);
}

ORMA_TEST(a_descriptor_that_has_to_wait_still_leaves_with_its_own_frame)
{
	struct fixture fixture;
	static uint8_t bytes[65536];
	size_t total = 0, filler = 0;
	int fd = open_null(), received, found = 0;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	while (fixture.connection.queue.bytes == 0) {
		CHECK_INT(send_frame(&fixture, 1000, -1), 0);
		filler += 1000;
	}
	CHECK_INT(send_frame(&fixture, 500, -1), 0);
	filler += 500;
	CHECK_INT(send_frame(&fixture, 700, fd), 0);
	CHECK_INT(send_frame(&fixture, 300, -1), 0);
	close(fd);
	while (total < filler + 1000) {
		ssize_t part = receive(&fixture, bytes, sizeof(bytes), &received);
		if (part > 0) {
			total += (size_t)part;
			if (received >= 0) {
				found++;
				close(received);
				/* A receive stops after the message that carried a descriptor. */
				CHECK(total > filler && total <= filler + 1000);
			}
		}
		CHECK(orma_base_loop_turn(fixture.loop, 0) >= 0);
	}
	CHECK_INT(found, 1);
	tear_down(&fixture);
}

ORMA_TEST(descriptors_in_the_queue_are_closed_with_the_connection)
{
	struct fixture fixture;
	int fd = open_null();

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	while (fixture.connection.queue.bytes == 0)
		CHECK_INT(send_frame(&fixture, 10000, -1), 0);
	CHECK_INT(send_frame(&fixture, 700, fd), 0);
	close(fd);
	tear_down(&fixture);
}

ORMA_TEST(a_frame_that_cannot_be_queued_for_lack_of_memory_is_not_sent_in_part)
{
	struct fixture fixture;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	while (fixture.connection.queue.bytes == 0)
		CHECK_INT(send_frame(&fixture, 10000, -1), 0);
	size_t before = fixture.connection.queue.bytes;
	orma_test_fail_allocation(1);
	CHECK_INT(send_frame(&fixture, 10000, -1), -ENOMEM);
	CHECK_INT(fixture.connection.queue.bytes, before);
	CHECK(!fixture.connection.is_closed);
	tear_down(&fixture);
}

ORMA_TEST(half_a_frame_without_memory_for_the_other_half_ends_the_connection)
{
	struct fixture fixture;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	orma_test_fail_allocation(1);
	CHECK_INT(send_frame(&fixture, ORMA_IPC_FRAME_BYTES_MAX, -1), -ECONNRESET);
	wait_closed(&fixture);
	CHECK_INT(fixture.error, -ENOMEM);
	tear_down(&fixture);
}

ORMA_TEST(receiving_without_memory_ends_the_connection)
{
	struct fixture fixture;

	set_up(&fixture, (struct orma_ipc_connection_limits){0});
	send_bytes(&fixture, "\1\0\0\0a", 5);
	orma_test_fail_allocation(1);
	wait_closed(&fixture);
	CHECK_INT(fixture.error, -ENOMEM);
	tear_down(&fixture);
}

ORMA_TEST(credentials_are_known_on_unix_sockets_only)
{
	struct orma_ipc_credentials credentials;
	int ends[2], pipe_fds[2];

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	CHECK_INT(orma_ipc_peer_credentials(ends[0], &credentials), 0);
	CHECK(credentials.is_known);
	CHECK_INT(credentials.family, AF_UNIX);
	CHECK_INT(credentials.uid, getuid());
	CHECK_INT(credentials.pid, getpid());
	close(ends[0]);
	close(ends[1]);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(orma_ipc_peer_credentials(fd, &credentials), 0);
	CHECK(!credentials.is_known);
	CHECK_INT(credentials.family, AF_INET);
	close(fd);
	CHECK_INT(pipe2(pipe_fds, O_CLOEXEC), 0);
	CHECK_INT(orma_ipc_peer_credentials(pipe_fds[0], &credentials), -ENOTSOCK);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}
