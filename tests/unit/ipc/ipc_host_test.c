/* SPDX-License-Identifier: Apache-2.0
 * ipc_host_test.c - the serving half against raw peers: binding, calls and their steps, unknown
 * methods, replies that the peer does not read.
 */
#include "ipc/ipc_host.h"

#include <fcntl.h>

#include "base/clock_ns.h"
#include "ipc_host_fixture.h"

ORMA_TEST(binding_tells_the_id_of_the_service_and_of_each_method)
{
	struct fixture fixture;
	struct orma_ipc_frame frame;
	struct orma_ipc_method_info info;
	struct orma_proto_reader reader;
	uint32_t count = 0;

	set_up(&fixture);
	bind_service(&fixture.raw, "TestPort");
	CHECK(raw_peer_next(&fixture.raw, &frame));
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_BIND_REPLY);
	CHECK_INT(frame.request_id, 1);
	CHECK(frame.u.bind_reply.success);
	CHECK_INT(frame.u.bind_reply.service_id, SERVICE_ID);
	orma_proto_reader_init(&reader, frame.u.bind_reply.message.data,
			       frame.u.bind_reply.message.size);
	while (orma_ipc_bind_reply_next(&reader, &info) > 0) {
		CHECK_INT(info.id, count + 1);
		CHECK(orma_base_str_is(info.name, methods[count].name));
		count++;
	}
	CHECK_INT(count, ORMA_ARRAY_SIZE(methods));
	bind_service(&fixture.raw, "EmptyPort");
	CHECK(raw_peer_next(&fixture.raw, &frame));
	CHECK(frame.u.bind_reply.success);
	CHECK_INT(frame.u.bind_reply.service_id, 1);
	tear_down(&fixture);
}

ORMA_TEST(binding_an_unknown_service_fails_and_the_connection_goes_on)
{
	struct fixture fixture;
	struct orma_ipc_frame frame;

	set_up(&fixture);
	bind_service(&fixture.raw, "producer_port");
	CHECK(raw_peer_next(&fixture.raw, &frame));
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_BIND_REPLY);
	CHECK(!frame.u.bind_reply.success);
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, ECHO, false, "x");
	expect_reply(&fixture.raw, 2, "x", false);
	tear_down(&fixture);
}

ORMA_TEST(calls_are_answered_at_once_or_later_in_any_order)
{
	struct fixture fixture;

	set_up(&fixture);
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, HOLD, false, "first");
	raw_peer_invoke(&fixture.raw, 3, SERVICE_ID, ECHO, false, "second");
	expect_reply(&fixture.raw, 3, "second", false);
	CHECK_STR(fixture.args, "first");
	CHECK(orma_ipc_call_wants_reply(fixture.held));
	CHECK_INT(orma_ipc_call_take_fd(fixture.held), -1);
	CHECK_INT(orma_ipc_call_reply(fixture.held, "a", 1, true, -1), 0);
	CHECK_INT(orma_ipc_call_reply(fixture.held, "b", 1, false, -1), 0);
	expect_reply(&fixture.raw, 2, "a", true);
	expect_reply(&fixture.raw, 2, "b", false);
	raw_peer_invoke(&fixture.raw, 4, SERVICE_ID, HOLD, false, "");
	raw_peer_settle(&fixture.raw);
	orma_ipc_call_reject(fixture.held);
	expect_rejection(&fixture.raw, 4);
	tear_down(&fixture);
}

ORMA_TEST(a_handler_may_stream_inside_its_call)
{
	struct fixture fixture;

	set_up(&fixture);
	raw_peer_invoke(&fixture.raw, 9, SERVICE_ID, STREAM, false, "");
	expect_reply(&fixture.raw, 9, "one", true);
	expect_reply(&fixture.raw, 9, "two", true);
	expect_reply(&fixture.raw, 9, "", false);
	tear_down(&fixture);
}

ORMA_TEST(a_handler_that_fails_rejects_its_call)
{
	struct fixture fixture;

	set_up(&fixture);
	raw_peer_invoke(&fixture.raw, 9, SERVICE_ID, FAIL, false, "");
	expect_rejection(&fixture.raw, 9);
	raw_peer_invoke(&fixture.raw, 10, SERVICE_ID, FAIL, true, "");
	CHECK(raw_peer_is_silent(&fixture.raw));
	CHECK_INT(fixture.calls, 2);
	tear_down(&fixture);
}

ORMA_TEST(a_caller_that_wants_no_reply_gets_none)
{
	struct fixture fixture;

	set_up(&fixture);
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, ECHO, true, "x");
	raw_peer_invoke(&fixture.raw, 3, SERVICE_ID, STREAM, true, "x");
	CHECK(raw_peer_is_silent(&fixture.raw));
	CHECK_INT(fixture.calls, 1);
	tear_down(&fixture);
}

ORMA_TEST(unknown_services_and_methods_are_rejected_even_when_no_reply_is_wanted)
{
	static const struct {
		uint32_t service, method;
	} cases[] = {{0, 1}, {3, 1}, {UINT32_MAX, 1}, {1, 1}, {2, 0}, {2, 99}, {2, NAMED_ONLY}};
	struct fixture fixture;

	set_up(&fixture);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		raw_peer_invoke(&fixture.raw, 2 * i, cases[i].service, cases[i].method, false, "");
		expect_rejection(&fixture.raw, 2 * i);
		raw_peer_invoke(&fixture.raw, 2 * i + 1, cases[i].service, cases[i].method, true,
				"");
		expect_rejection(&fixture.raw, 2 * i + 1);
	}
	tear_down(&fixture);
}

ORMA_TEST(a_frame_without_a_known_request_is_answered_with_an_error)
{
	/* An empty frame; a reply; an unknown field. */
	static const char *const frames[] = {"\2\0\0\0\x10\7", "\6\0\0\0\x10\7\x32\2\x08\1",
					     "\5\0\0\0\x10\7\x4a\1x"};
	static const size_t sizes[] = {6, 10, 9};
	struct fixture fixture;
	struct orma_ipc_frame frame;

	set_up(&fixture);
	for (int i = 0; i < 3; i++) {
		CHECK_INT(send(fixture.raw.fd, frames[i], sizes[i], 0), sizes[i]);
		CHECK(raw_peer_next(&fixture.raw, &frame));
		CHECK_INT(frame.kind, ORMA_IPC_FRAME_ERROR);
		CHECK_INT(frame.request_id, 7);
		CHECK(orma_base_str_is(frame.u.error.text, "unknown request"));
	}
	tear_down(&fixture);
}

ORMA_TEST(empty_and_undecodable_frames_are_dropped_and_the_stream_goes_on)
{
	struct fixture fixture;

	set_up(&fixture);
	CHECK_INT(send(fixture.raw.fd, "\0\0\0\0\3\0\0\0\xff\xff\xff\2\0\0\0\x2a\x09", 17, 0), 17);
	CHECK(raw_peer_is_silent(&fixture.raw));
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, ECHO, false, "x");
	expect_reply(&fixture.raw, 2, "x", false);
	tear_down(&fixture);
}

ORMA_TEST(an_oversize_frame_drops_the_peer_but_not_the_others)
{
	struct fixture fixture;
	struct raw_peer other;
	struct orma_ipc_frame frame;

	set_up(&fixture);
	CHECK_INT(orma_ipc_host_adopt(fixture.host, raw_peer_open(&other, fixture.loop), NULL), 0);
	CHECK_INT(send(fixture.raw.fd, "\xfd\xff\1\0", 4, 0), 4);
	CHECK(!raw_peer_next(&fixture.raw, &frame));
	wait_closed(&fixture);
	CHECK_INT(fixture.error, -EMSGSIZE);
	CHECK_INT(orma_ipc_host_peer_count(fixture.host), 1);
	raw_peer_invoke(&other, 2, SERVICE_ID, ECHO, false, "x");
	expect_reply(&other, 2, "x", false);
	raw_peer_close(&other);
	tear_down(&fixture);
}

ORMA_TEST(a_call_that_arrives_in_single_bytes_is_run)
{
	struct fixture fixture;
	static const uint8_t bytes[] = {0x0d, 0,    0,    0,    0x10, 0x02, 0x2a, 0x09, 0x08,
					0x02, 0x10, 0x01, 0x1a, 0x03, 'a',  'b',  'c'};

	set_up(&fixture);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		CHECK_INT(fixture.calls, 0);
		CHECK_INT(send(fixture.raw.fd, bytes + i, 1, 0), 1);
		raw_peer_settle(&fixture.raw);
	}
	expect_reply(&fixture.raw, 2, "abc", false);
	tear_down(&fixture);
}

ORMA_TEST(a_descriptor_reaches_the_handler_and_rides_on_a_reply)
{
	struct fixture fixture;
	struct orma_ipc_envelope envelope;
	struct orma_ipc_frame frame;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	set_up(&fixture);
	CHECK_INT(orma_ipc_envelope_invoke(&envelope, 2, SERVICE_ID, TAKE_FD, false, 0), 0);
	raw_peer_send(&fixture.raw, &envelope, NULL, 0, fd);
	close(fd);
	CHECK(raw_peer_next(&fixture.raw, &frame));
	CHECK(fixture.taken_fd >= 0);
	close(fixture.taken_fd);
	tear_down(&fixture);
}

ORMA_TEST(a_handler_may_drop_its_own_peer)
{
	struct fixture fixture;
	struct orma_ipc_frame frame;

	set_up(&fixture);
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, LEAVE, false, "");
	raw_peer_invoke(&fixture.raw, 3, SERVICE_ID, ECHO, false, "");
	CHECK(!raw_peer_next(&fixture.raw, &frame));
	wait_closed(&fixture);
	CHECK_INT(fixture.calls, 0);
	CHECK_INT(fixture.error, -EPROTO);
	CHECK_INT(orma_ipc_host_peer_count(fixture.host), 0);
	tear_down(&fixture);
}

ORMA_TEST(a_reply_that_is_too_large_is_refused_and_the_call_goes_on)
{
	struct fixture fixture;
	struct orma_ipc_frame frame;

	set_up(&fixture);
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, TOO_MUCH, false, "");
	CHECK(raw_peer_next(&fixture.raw, &frame));
	CHECK_INT(frame.u.invoke_reply.reply.size, ORMA_IPC_BODY_BYTES_MAX);
	CHECK(raw_peer_is_silent(&fixture.raw));
	tear_down(&fixture);
}

ORMA_TEST(calls_die_with_their_peer_and_may_be_answered_until_then)
{
	for (int replies = 0; replies < 2; replies++) {
		struct fixture fixture;

		set_up(&fixture);
		fixture.replies_on_close = replies;
		raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, HOLD, false, "");
		raw_peer_invoke(&fixture.raw, 3, SERVICE_ID, HOLD, false, "");
		raw_peer_close(&fixture.raw);
		wait_closed(&fixture);
		CHECK_INT(fixture.calls, 2);
		CHECK_INT(fixture.error, 0);
		tear_down(&fixture);
	}
}

ORMA_TEST(calls_beyond_the_limit_are_rejected)
{
	struct fixture fixture;

	set_up_with(&fixture, (struct orma_ipc_host_options){.calls_max = 2});
	CHECK_INT(
		orma_ipc_host_adopt(fixture.host, raw_peer_open(&fixture.raw, fixture.loop), NULL),
		0);
	for (uint64_t id = 2; id < 5; id++)
		raw_peer_invoke(&fixture.raw, id, SERVICE_ID, HOLD, false, "");
	expect_rejection(&fixture.raw, 4);
	CHECK_INT(orma_ipc_call_reply(fixture.held, NULL, 0, false, -1), 0);
	expect_reply(&fixture.raw, 3, "", false);
	raw_peer_invoke(&fixture.raw, 5, SERVICE_ID, ECHO, false, "x");
	expect_reply(&fixture.raw, 5, "x", false);
	tear_down(&fixture);
}

ORMA_TEST(a_peer_that_never_reads_its_replies_is_dropped_at_the_queue_limit)
{
	struct fixture fixture;

	set_up_with(&fixture, (struct orma_ipc_host_options){.queue_bytes = 20000});
	CHECK_INT(
		orma_ipc_host_adopt(fixture.host, raw_peer_open(&fixture.raw, fixture.loop), NULL),
		0);
	while (!fixture.closed) {
		struct orma_ipc_envelope envelope;
		CHECK_INT(orma_ipc_envelope_invoke(&envelope, 2, 99, 1, false, 0), 0);
		if (send(fixture.raw.fd, envelope.prefix, envelope.prefix_size, MSG_NOSIGNAL) > 0)
			raw_peer_settle(&fixture.raw);
		else
			CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
	}
	CHECK_INT(fixture.error, -ENOBUFS);
	tear_down(&fixture);
}

ORMA_TEST(a_stream_is_pulled_as_its_reader_drains_it)
{
	struct fixture fixture;
	static uint8_t reply[50000];
	size_t sent = 0, received = 0;

	set_up_with(&fixture, (struct orma_ipc_host_options){.queue_bytes = 200000});
	CHECK_INT(
		orma_ipc_host_adopt(fixture.host, raw_peer_open(&fixture.raw, fixture.loop), NULL),
		0);
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, HOLD, false, "");
	raw_peer_settle(&fixture.raw);
	for (int round = 1; round <= 3; round++) {
		while (orma_ipc_peer_has_room(fixture.peer)) {
			CHECK_INT(orma_ipc_call_reply(fixture.held, reply, sizeof(reply), true, -1),
				  0);
			sent++;
		}
		while (fixture.drained < round) {
			struct orma_ipc_frame frame;
			CHECK(raw_peer_next(&fixture.raw, &frame));
			received++;
			CHECK(orma_base_loop_turn(fixture.loop, 0) >= 0);
		}
	}
	CHECK(sent > received);
	CHECK_INT(orma_ipc_call_reply(fixture.held, NULL, 0, false, -1), 0);
	for (; received < sent; received++) {
		struct orma_ipc_frame frame;
		CHECK(raw_peer_next(&fixture.raw, &frame));
	}
	expect_reply(&fixture.raw, 2, "", false);
	tear_down(&fixture);
}

ORMA_TEST(a_peer_that_takes_nothing_is_dropped_without_anybody_waiting)
{
	struct fixture fixture;
	static uint8_t reply[100000];

	set_up_with(&fixture,
		    (struct orma_ipc_host_options){.stall_timeout_ns = 10 * ORMA_NS_PER_MS});
	CHECK_INT(
		orma_ipc_host_adopt(fixture.host, raw_peer_open(&fixture.raw, fixture.loop), NULL),
		0);
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, HOLD, false, "");
	raw_peer_settle(&fixture.raw);
	while (orma_ipc_peer_has_room(fixture.peer))
		CHECK_INT(orma_ipc_call_reply(fixture.held, reply, sizeof(reply), true, -1), 0);
	wait_closed(&fixture);
	CHECK_INT(fixture.error, -ETIMEDOUT);
	tear_down(&fixture);
}

/* A complete exchange; false if an allocation failed and the peer or the host is gone. */
static void exchange_with_failing_allocation(uint64_t nth, bool *ret_has_failed)
{
	struct orma_ipc_host_options options = {.services = services,
						.service_count = ORMA_ARRAY_SIZE(services)};
	struct fixture fixture = {.raw.fd = -1};
	struct orma_ipc_host *host = NULL;
	char path[128];

	CHECK_INT(orma_base_loop_new(&options.loop), 0);
	fixture.loop = options.loop;
	options.ctx = &fixture;
	snprintf(path, sizeof(path), "%s/s", orma_test_tmpdir());
	int fd = raw_peer_open(&fixture.raw, options.loop);
	orma_test_fail_allocation(nth);
	int result = orma_ipc_host_new(&options, &host);
	if (result == 0)
		result = orma_ipc_host_listen(host, path, 0);
	if (result == 0)
		result = orma_ipc_host_adopt(host, fd, NULL);
	if (result < 0) {
		CHECK_INT(result, -ENOMEM);
		close(fd);
	} else {
		bind_service(&fixture.raw, "TestPort");
		raw_peer_settle(&fixture.raw);
		/* The peer may have been dropped by now. */
		(void)!send(fixture.raw.fd, "\x0a\0\0\0\x10\2\x2a\6\x08\2\x10\1\x1a\0", 14,
			    MSG_NOSIGNAL);
		raw_peer_settle(&fixture.raw);
	}
	*ret_has_failed = orma_test_allocation_failed();
	orma_test_fail_allocation(0);
	CHECK(*ret_has_failed || fixture.calls == 1);
	orma_ipc_host_free(host);
	raw_peer_close(&fixture.raw);
	orma_base_loop_free(options.loop);
}

ORMA_TEST(every_failing_allocation_is_survived)
{
	bool has_failed = true;

	for (uint64_t nth = 1; has_failed; nth++)
		exchange_with_failing_allocation(nth, &has_failed);
}

ORMA_TEST(a_call_in_steps_is_one_call_and_what_follows_waits)
{
	struct fixture fixture;

	set_up(&fixture);
	fixture.steps = 4;
	raw_peer_invoke(&fixture.raw, 3, SERVICE_ID, STEP, false, "long");
	raw_peer_invoke(&fixture.raw, 4, SERVICE_ID, ECHO, false, "next");
	expect_reply(&fixture.raw, 3, "long", false);
	CHECK_INT(fixture.steps, 0);
	expect_reply(&fixture.raw, 4, "next", false);
	CHECK_INT(fixture.calls, 5);
	/* A call without a reply, and one that is finally rejected. */
	fixture.steps = 3;
	raw_peer_invoke(&fixture.raw, 5, SERVICE_ID, STEP, true, "");
	raw_peer_invoke(&fixture.raw, 6, SERVICE_ID, ECHO, false, "silent");
	expect_reply(&fixture.raw, 6, "silent", false);
	CHECK_INT(fixture.steps, 0);
	raw_peer_invoke(&fixture.raw, 7, SERVICE_ID, STEP, false, "");
	expect_rejection(&fixture.raw, 7);
	tear_down(&fixture);
}

ORMA_TEST(a_call_in_steps_is_completed_when_its_peer_is_dropped)
{
	struct fixture fixture;

	set_up(&fixture);
	fixture.steps = 100;
	raw_peer_invoke(&fixture.raw, 3, SERVICE_ID, STEP, false, "long");
	while (fixture.calls < 2)
		CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
	orma_ipc_peer_close(fixture.peer, -ECANCELED);
	wait_closed(&fixture);
	CHECK_INT(fixture.steps, 0);
	CHECK_INT(fixture.calls, 100);
	tear_down(&fixture);
	/* The call is cancelled with the host. */
	set_up(&fixture);
	fixture.steps = 100;
	raw_peer_invoke(&fixture.raw, 3, SERVICE_ID, STEP, false, "long");
	while (fixture.calls < 2)
		CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
	tear_down(&fixture);
}

/* Its owner finished it, which is a mistake; the frame then arrives as a new call. */
ORMA_TEST(a_call_in_steps_that_was_finished_meanwhile_is_begun_anew)
{
	struct fixture fixture;

	set_up(&fixture);
	fixture.steps = 3;
	raw_peer_invoke(&fixture.raw, 3, SERVICE_ID, STEP, false, "x");
	while (fixture.calls < 1)
		CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
	if (fixture.held)
		CHECK_INT(orma_ipc_call_reply(fixture.held, "early", 5, false, -1), 0);
	fixture.held = NULL;
	expect_reply(&fixture.raw, 3, "early", false);
	expect_reply(&fixture.raw, 3, "x", false);
	tear_down(&fixture);
}

ORMA_TEST(a_peer_whose_end_takes_several_turns_counts_until_then)
{
	struct fixture fixture;

	set_up_with(&fixture, (struct orma_ipc_host_options){.peers_max = 1});
	CHECK_INT(
		orma_ipc_host_adopt(fixture.host, raw_peer_open(&fixture.raw, fixture.loop), NULL),
		0);
	fixture.stays = 3;
	raw_peer_close(&fixture.raw);
	while (fixture.stays == 3)
		CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
	while (fixture.stays > 0) {
		CHECK_INT(orma_ipc_host_peer_count(fixture.host), 1);
		CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
	}
	wait_closed(&fixture);
	CHECK_INT(orma_ipc_host_peer_count(fixture.host), 0);
	tear_down(&fixture);
}
