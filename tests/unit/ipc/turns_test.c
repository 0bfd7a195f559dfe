/* SPDX-License-Identifier: Apache-2.0
 * turns_test.c - connections of several users that share a loop, with peers that request more
 * work than a turn allows.
 */
#include "ipc/turns.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "harness.h"
#include "ipc/connection.h"

enum { CROWD = 40, BUSY_UID = 1, QUIET_UID = 2 };

struct end {
	struct orma_ipc_connection connection;
	int peer;
	unsigned frames, closed;
	uint64_t busy_ns; /* CPU time that handling a frame takes */
	unsigned steps;   /* in which its next frame, or its end, is handled */
};

struct fixture {
	struct orma_loop *loop;
	struct orma_ipc_turns *turns;
	struct end crowd[CROWD], quiet;
};

static struct end *end_of(struct orma_ipc_connection *connection)
{
	return ORMA_CONTAINER_OF(connection, struct end, connection);
}

static void be_busy(const struct end *end)
{
	uint64_t end_ns = orma_base_clock_ns(CLOCK_THREAD_CPUTIME_ID) + end->busy_ns;

	while (end->busy_ns && orma_base_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		;
}

static void on_frame(struct orma_ipc_connection *connection, const uint8_t *data, size_t size)
{
	struct end *end = end_of(connection);

	(void)data;
	(void)size;
	if (end->steps > 1) {
		end->steps--;
		orma_ipc_connection_call_again(connection);
	} else {
		end->frames++;
	}
	be_busy(end);
}

static void on_closed(struct orma_ipc_connection *connection, int error)
{
	struct end *end = end_of(connection);

	(void)error;
	if (end->steps > 1) {
		end->steps--;
		be_busy(end);
		orma_ipc_connection_call_again(connection);
		return;
	}
	end->closed++;
	orma_ipc_connection_done(connection);
}

static const struct orma_ipc_connection_ops ops = {.frame = on_frame, .closed = on_closed};

static void open_end(struct fixture *fixture, struct end *end, uid_t uid, uint64_t busy_ns)
{
	struct orma_ipc_connection_limits limits = {
		.turns = fixture->turns, .uid = uid, .is_uid_known = true};
	int ends[2];

	memset(end, 0, sizeof(*end));
	end->busy_ns = busy_ns;
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	end->peer = ends[1];
	CHECK_INT(orma_ipc_connection_init(&end->connection, fixture->loop, ends[0], &ops, &limits),
		  0);
}

static void open_all(struct fixture *fixture, uid_t quiet_uid)
{
	CHECK_INT(orma_base_loop_new(&fixture->loop), 0);
	CHECK_INT(orma_ipc_turns_new(fixture->loop, &fixture->turns), 0);
	for (unsigned i = 0; i < CROWD; i++)
		open_end(fixture, &fixture->crowd[i], BUSY_UID, 3 * ORMA_NS_PER_MS);
	open_end(fixture, &fixture->quiet, quiet_uid, 0);
}

static void close_end(struct end *end)
{
	if (!end->closed)
		orma_ipc_connection_done(&end->connection);
	close(end->peer);
}

static void close_all(struct fixture *fixture)
{
	for (unsigned i = 0; i < CROWD; i++)
		close_end(&fixture->crowd[i]);
	close_end(&fixture->quiet);
	orma_ipc_turns_free(fixture->turns);
	orma_base_loop_free(fixture->loop);
}

static void send_frames(struct end *end, unsigned count)
{
	static const uint8_t frame[] = {1, 0, 0, 0, 'x'};

	for (; count > 0; count--)
		CHECK_INT(send(end->peer, frame, sizeof(frame), MSG_NOSIGNAL), sizeof(frame));
}

static unsigned crowd_frames(const struct fixture *fixture)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < CROWD; i++)
		sum += fixture->crowd[i].frames;
	return sum;
}

static void turn(struct fixture *fixture)
{
	CHECK(orma_base_loop_turn(fixture->loop, 0) >= 0);
}

static void check_quiet_is_served_soon(uid_t quiet_uid)
{
	struct fixture fixture;
	unsigned before, late = 0;

	open_all(&fixture, quiet_uid);
	send_frames(&fixture.quiet, 1);
	turn(&fixture);
	CHECK_INT(fixture.quiet.frames, 1);
	for (unsigned i = 0; i < CROWD; i++)
		send_frames(&fixture.crowd[i], 5);
	for (unsigned i = 0; i < 4; i++)
		turn(&fixture);
	/* Each of them has had its share: one or two of these frames in a turn, or a few on a
	 * busy machine, but not forty. */
	CHECK(crowd_frames(&fixture) <= 4 * CROWD / 4);
	for (unsigned i = 2; i <= 20; i++) {
		before = crowd_frames(&fixture);
		send_frames(&fixture.quiet, 1);
		while (fixture.quiet.frames < i)
			turn(&fixture);
		late += crowd_frames(&fixture) - before > 6;
	}
	/* A delay by a busy machine may once or twice look like the frame's own cost. */
	CHECK(late <= 5);
	while (crowd_frames(&fixture) < CROWD * 5)
		turn(&fixture);
	for (unsigned i = 0; i < CROWD; i++)
		CHECK_INT(fixture.crowd[i].frames, 5);
	close_all(&fixture);
}

ORMA_TEST(who_asks_for_little_is_served_before_a_crowd_of_another_user)
{
	check_quiet_is_served_soon(QUIET_UID);
}

ORMA_TEST(who_asks_for_little_is_served_before_a_crowd_of_the_same_user)
{
	check_quiet_is_served_soon(BUSY_UID);
}

ORMA_TEST(two_busy_users_get_as_much_however_many_connections_they_have)
{
	struct fixture fixture;

	open_all(&fixture, QUIET_UID);
	fixture.quiet.busy_ns = 3 * ORMA_NS_PER_MS;
	for (unsigned i = 0; i < CROWD; i++)
		send_frames(&fixture.crowd[i], 20);
	send_frames(&fixture.quiet, 20);
	while (fixture.quiet.frames < 20)
		turn(&fixture);
	CHECK(crowd_frames(&fixture) >= 5 && crowd_frames(&fixture) <= 80);
	close_all(&fixture);
}

ORMA_TEST(a_crowd_that_leaves_is_let_go_in_turns_and_nobody_is_forgotten)
{
	struct fixture fixture;
	unsigned closed = 0;

	open_all(&fixture, QUIET_UID);
	for (unsigned i = 0; i < CROWD; i++) {
		send_frames(&fixture.crowd[i], 1);
		CHECK_INT(shutdown(fixture.crowd[i].peer, SHUT_RDWR), 0);
	}
	send_frames(&fixture.quiet, 1);
	while (closed < CROWD) {
		turn(&fixture);
		closed = 0;
		for (unsigned i = 0; i < CROWD; i++)
			closed += fixture.crowd[i].closed;
	}
	CHECK_INT(crowd_frames(&fixture), CROWD);
	CHECK_INT(fixture.quiet.frames, 1);
	CHECK_INT(fixture.quiet.closed, 0);
	close_all(&fixture);
}

ORMA_TEST(connections_that_wait_can_end_at_any_time)
{
	struct fixture fixture;

	open_all(&fixture, QUIET_UID);
	for (unsigned i = 0; i < CROWD; i++)
		send_frames(&fixture.crowd[i], 2);
	turn(&fixture);
	turn(&fixture);
	close_all(&fixture);
}

/* One peer requests work of many turns; peers that request little are served in between. */
ORMA_TEST(a_frame_in_steps_lets_others_pass)
{
	struct fixture fixture;
	struct end *busy = &fixture.crowd[0];

	open_all(&fixture, BUSY_UID);
	busy->steps = 20;
	send_frames(busy, 2);
	turn(&fixture);
	for (unsigned i = 1; i <= 5; i++) {
		send_frames(&fixture.quiet, 1);
		while (fixture.quiet.frames < i)
			turn(&fixture);
		CHECK_INT(busy->frames, 0);
	}
	while (busy->frames < 2)
		turn(&fixture);
	CHECK_INT(busy->steps, 1);
	close_all(&fixture);
}

ORMA_TEST(an_end_in_steps_lets_others_pass)
{
	struct fixture fixture;
	struct end *busy = &fixture.crowd[0];

	open_all(&fixture, QUIET_UID);
	turn(&fixture);
	busy->steps = 20;
	orma_ipc_connection_close(&busy->connection, 0);
	turn(&fixture);
	send_frames(&fixture.quiet, 1);
	while (!busy->closed)
		turn(&fixture);
	CHECK_INT(fixture.quiet.frames, 1);
	CHECK_INT(busy->steps, 1);
	close_all(&fixture);
}
