/* SPDX-License-Identifier: Apache-2.0
 * host_test.c - the serving half against raw peers: binding, calls, unknown things, limits,
 * identities, listeners.
 */
#include "ipc/host.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "ipc/address.h"
#include "ipc/connection.h"
#include "raw_peer.h"

struct fixture {
	struct orma_loop *loop;
	struct orma_ipc_host *host;
	struct raw_peer raw;
	struct orma_ipc_peer *peer; /* the last one accepted */
	struct orma_ipc_call *held;
	int accepted, closed, drained, calls, taken_fd, error;
	int steps, stays; /* that a call, the end of a peer takes more than a turn */
	int refuse;       /* what `accepted` returns */
	bool replies_on_close;
	char args[64];
};

static struct fixture *fixture_of(struct orma_ipc_peer *peer)
{
	return orma_ipc_peer_host_ctx(peer);
}

static int on_echo(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
		   size_t size)
{
	CHECK(orma_ipc_call_peer(call) == peer);
	fixture_of(peer)->calls++;
	return orma_ipc_call_reply(call, args, size, false, -1);
}

static int on_hold(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
		   size_t size)
{
	struct fixture *fixture = fixture_of(peer);

	fixture->calls++;
	fixture->held = call;
	CHECK(size < sizeof(fixture->args));
	if (size > 0)
		memcpy(fixture->args, args, size);
	fixture->args[size] = '\0';
	return 0;
}

static int on_fail(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
		   size_t size)
{
	(void)call, (void)args, (void)size;
	fixture_of(peer)->calls++;
	return -EINVAL;
}

static int on_stream(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
		     size_t size)
{
	(void)peer, (void)args, (void)size;
	CHECK_INT(orma_ipc_call_reply(call, "one", 3, true, -1), 0);
	CHECK_INT(orma_ipc_call_reply(call, "two", 3, true, -1), 0);
	return orma_ipc_call_reply(call, NULL, 0, false, -1);
}

static int on_take_fd(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
		      size_t size)
{
	struct fixture *fixture = fixture_of(peer);

	(void)args, (void)size;
	fixture->taken_fd = orma_ipc_call_take_fd(call);
	CHECK_INT(orma_ipc_call_take_fd(call), -1);
	return orma_ipc_call_reply(call, NULL, 0, false, fixture->taken_fd);
}

static int on_leave(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
		    size_t size)
{
	(void)args, (void)size;
	orma_ipc_peer_close(peer, -EPROTO);
	CHECK_INT(orma_ipc_call_reply(call, NULL, 0, true, -1), -ECONNRESET);
	return 0;
}

static int on_too_much(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
		       size_t size)
{
	static uint8_t reply[ORMA_IPC_FRAME_BYTES_MAX];

	(void)peer, (void)args, (void)size;
	CHECK_INT(orma_ipc_call_reply(call, reply, sizeof(reply), false, -1), -EMSGSIZE);
	CHECK_INT(orma_ipc_call_reply(call, reply, SIZE_MAX, false, -1), -EMSGSIZE);
	CHECK_INT(orma_ipc_call_reply(call, reply, ORMA_IPC_BODY_BYTES_MAX, false, -1), 0);
	CHECK_INT(orma_ipc_call_reply(call, NULL, 0, false, -1), -EINVAL);
	return 0;
}

/* Echoes in its last step; `held` is the call of the others. */
static int on_step(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
		   size_t size)
{
	struct fixture *fixture = fixture_of(peer);

	CHECK(!fixture->held || fixture->held == call);
	fixture->held = call;
	fixture->calls++;
	if (--fixture->steps > 0)
		return ORMA_IPC_AGAIN;
	fixture->held = NULL;
	return fixture->steps < 0 ? -EINVAL : orma_ipc_call_reply(call, args, size, false, -1);
}

enum { ECHO = 1, HOLD, FAIL, STREAM, TAKE_FD, LEAVE, TOO_MUCH, NAMED_ONLY, STEP };

static const struct orma_ipc_method methods[] = {
	{"Echo", on_echo},        {"Hold", on_hold},      {"Fail", on_fail},
	{"Stream", on_stream},    {"TakeFd", on_take_fd}, {"Leave", on_leave},
	{"TooMuch", on_too_much}, {"NamedOnly", NULL},    {"Step", on_step},
};

static const struct orma_ipc_service services[] = {
	{"EmptyPort", NULL, 0},
	{"TestPort", methods, ORMA_ARRAY_SIZE(methods)},
};
#define SERVICE_ID 2

static int on_accepted(void *ctx, struct orma_ipc_peer *peer)
{
	struct fixture *fixture = ctx;

	fixture->accepted++;
	fixture->peer = peer;
	orma_ipc_peer_set_data(peer, fixture);
	return fixture->refuse;
}

static void on_closed(void *ctx, struct orma_ipc_peer *peer, int error)
{
	struct fixture *fixture = ctx;

	CHECK(orma_ipc_peer_data(peer) == fixture);
	fixture->error = error;
	if (fixture->stays > 0) {
		fixture->stays--;
		orma_ipc_peer_stay(peer);
		return;
	}
	fixture->closed++;
	if (fixture->replies_on_close && fixture->held)
		CHECK_INT(orma_ipc_call_reply(fixture->held, NULL, 0, false, -1), -ECONNRESET);
	fixture->held = NULL;
}

static void on_drained(void *ctx, struct orma_ipc_peer *peer)
{
	(void)peer;
	((struct fixture *)ctx)->drained++;
}

static void set_up_with(struct fixture *fixture, struct orma_ipc_host_options options)
{
	memset(fixture, 0, sizeof(*fixture));
	fixture->raw.fd = -1;
	CHECK_INT(orma_base_loop_new(&fixture->loop), 0);
	options.loop = fixture->loop;
	options.services = services;
	options.service_count = ORMA_ARRAY_SIZE(services);
	options.ctx = fixture;
	options.accepted = on_accepted;
	options.closed = on_closed;
	options.drained = on_drained;
	CHECK_INT(orma_ipc_host_new(&options, &fixture->host), 0);
}

static void set_up(struct fixture *fixture)
{
	set_up_with(fixture, (struct orma_ipc_host_options){0});
	CHECK_INT(orma_ipc_host_adopt(fixture->host, raw_peer_open(&fixture->raw, fixture->loop),
				      NULL),
		  0);
}

static void tear_down(struct fixture *fixture)
{
	orma_ipc_host_free(fixture->host);
	raw_peer_close(&fixture->raw);
	orma_base_loop_free(fixture->loop);
}

static void wait_closed(struct fixture *fixture)
{
	while (!fixture->closed)
		CHECK(orma_base_loop_turn(fixture->loop, 5000) > 0);
}

static void bind_service(struct raw_peer *raw, const char *name)
{
	struct orma_ipc_envelope envelope;

	CHECK_INT(orma_ipc_envelope_bind(&envelope, 1, strlen(name)), 0);
	raw_peer_send(raw, &envelope, name, strlen(name), -1);
}

static void expect_rejection(struct raw_peer *raw, uint64_t request_id)
{
	struct orma_ipc_frame frame;

	CHECK(raw_peer_next(raw, &frame));
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_INVOKE_REPLY);
	CHECK_INT(frame.request_id, request_id);
	CHECK(!frame.u.invoke_reply.success);
	CHECK(!frame.u.invoke_reply.has_more);
}

static void expect_reply(struct raw_peer *raw, uint64_t request_id, const char *text, bool has_more)
{
	struct orma_ipc_frame frame;

	CHECK(raw_peer_next(raw, &frame));
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_INVOKE_REPLY);
	CHECK_INT(frame.request_id, request_id);
	CHECK(frame.u.invoke_reply.success);
	CHECK_INT(frame.u.invoke_reply.has_more, has_more);
	CHECK(orma_base_str_is(frame.u.invoke_reply.reply, text));
}

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
	/* Nothing in it; a reply; a field of the future. */
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

ORMA_TEST(peers_beyond_the_limit_are_told_so)
{
	struct fixture fixture;
	struct raw_peer other;
	struct orma_ipc_frame frame;

	set_up_with(&fixture, (struct orma_ipc_host_options){.peers_max = 1});
	CHECK_INT(
		orma_ipc_host_adopt(fixture.host, raw_peer_open(&fixture.raw, fixture.loop), NULL),
		0);
	int fd = raw_peer_open(&other, fixture.loop);
	CHECK_INT(orma_ipc_host_adopt(fixture.host, fd, NULL), -EBUSY);
	close(fd);
	CHECK(raw_peer_next(&other, &frame));
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_ERROR);
	CHECK(orma_base_str_is(frame.u.error.text, "too many connections"));
	CHECK(!raw_peer_next(&other, &frame));
	raw_peer_close(&other);
	CHECK_INT(orma_ipc_host_peer_count(fixture.host), 1);
	tear_down(&fixture);
}

static void connect_tcp(struct fixture *fixture, struct raw_peer *raw);

ORMA_TEST(one_user_cannot_take_the_room_of_the_others)
{
	struct fixture fixture;
	struct raw_peer other;
	struct orma_ipc_frame frame;

	set_up_with(&fixture, (struct orma_ipc_host_options){.peers_per_uid_max = 1});
	CHECK_INT(
		orma_ipc_host_adopt(fixture.host, raw_peer_open(&fixture.raw, fixture.loop), NULL),
		0);
	int fd = raw_peer_open(&other, fixture.loop);
	CHECK_INT(orma_ipc_host_adopt(fixture.host, fd, NULL), -EBUSY);
	close(fd);
	CHECK(raw_peer_next(&other, &frame));
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_ERROR);
	CHECK(orma_base_str_is(frame.u.error.text, "too many connections of this user"));
	raw_peer_close(&other);
	/* Only root can be somebody else for a moment. */
	if (seteuid(ORMA_IPC_UID_UNKNOWN) == 0) {
		fd = raw_peer_open(&other, fixture.loop);
		CHECK_INT(seteuid(0), 0);
		CHECK_INT(orma_ipc_host_adopt(fixture.host, fd, NULL), 0);
		raw_peer_close(&other);
	}
	/* Connections over a network are counted apart, claims or not. */
	fixture.accepted = 0;
	connect_tcp(&fixture, &other);
	raw_peer_close(&other);
	orma_ipc_host_limit_peers_per_uid(fixture.host, 2);
	CHECK_INT(orma_ipc_host_adopt(fixture.host, raw_peer_open(&other, fixture.loop), NULL), 0);
	raw_peer_close(&other);
	tear_down(&fixture);
}

ORMA_TEST(the_owner_may_refuse_a_peer)
{
	struct fixture fixture;
	struct orma_ipc_frame frame;

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	fixture.refuse = -EACCES;
	int fd = raw_peer_open(&fixture.raw, fixture.loop);
	CHECK_INT(orma_ipc_host_adopt(fixture.host, fd, NULL), -EACCES);
	close(fd);
	CHECK(!raw_peer_next(&fixture.raw, &frame));
	CHECK_INT(fixture.closed, 0);
	CHECK_INT(orma_ipc_host_peer_count(fixture.host), 0);
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

/* pid 42, uid 1000, hint "hint", name "vm" */
#define IDENTITY "\x13\0\0\0\x10\0\x42\x0f\x08\x2a\x10\xe8\x07\x1a\x04hint\x22\x02vm"

ORMA_TEST(the_kernel_vouches_for_unix_peers_whatever_they_say)
{
	struct fixture fixture;

	set_up(&fixture);
	CHECK_INT(send(fixture.raw.fd, IDENTITY, sizeof(IDENTITY) - 1, 0), sizeof(IDENTITY) - 1);
	CHECK(raw_peer_is_silent(&fixture.raw));
	const struct orma_ipc_peer_identity *identity = orma_ipc_peer_identity(fixture.peer);
	CHECK_INT(identity->family, AF_UNIX);
	CHECK(identity->is_trusted);
	CHECK_INT(identity->uid, getuid());
	CHECK_INT(identity->pid, getpid());
	CHECK_INT(identity->machine_id, 0);
	tear_down(&fixture);
}

static void connect_tcp_with(struct fixture *fixture, struct raw_peer *raw, unsigned flags)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK_INT(bind(listener, (struct sockaddr *)&address, size), 0);
	CHECK_INT(listen(listener, 1), 0);
	CHECK_INT(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	CHECK_INT(orma_ipc_host_adopt_listener(fixture->host, listener, flags), 0);
	*raw = (struct raw_peer){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
				 .loop = fixture->loop};
	CHECK_INT(connect(raw->fd, (struct sockaddr *)&address, size), 0);
	CHECK_INT(fcntl(raw->fd, F_SETFL, O_NONBLOCK), 0);
	while (!fixture->accepted)
		CHECK(orma_base_loop_turn(fixture->loop, 5000) > 0);
}

static void connect_tcp(struct fixture *fixture, struct raw_peer *raw)
{
	connect_tcp_with(fixture, raw, 0);
}

ORMA_TEST(a_peer_over_tcp_is_nobody_until_it_says_once_who_it_is)
{
	struct fixture fixture;

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	connect_tcp(&fixture, &fixture.raw);
	const struct orma_ipc_peer_identity *identity = orma_ipc_peer_identity(fixture.peer);
	CHECK_INT(identity->family, AF_INET);
	CHECK(!identity->is_trusted);
	CHECK_INT(identity->uid, ORMA_IPC_UID_UNKNOWN);
	CHECK_INT(identity->pid, 0);
	CHECK_INT(send(fixture.raw.fd, IDENTITY, sizeof(IDENTITY) - 1, 0), sizeof(IDENTITY) - 1);
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, ECHO, false, "");
	expect_reply(&fixture.raw, 2, "", false);
	CHECK_INT(identity->uid, 1000);
	CHECK_INT(identity->pid, 42);
	CHECK_STR(identity->machine_name, "vm");
	CHECK(identity->machine_id != 0);
	CHECK_INT(send(fixture.raw.fd, "\6\0\0\0\x10\0\x42\2\x08\7", 10, 0), 10);
	raw_peer_invoke(&fixture.raw, 3, SERVICE_ID, ECHO, false, "");
	expect_reply(&fixture.raw, 3, "", false);
	CHECK_INT(identity->pid, 42);
	tear_down(&fixture);
}

ORMA_TEST(a_machine_without_a_hint_is_told_apart_by_its_address)
{
	struct fixture fixture;

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	connect_tcp(&fixture, &fixture.raw);
	CHECK_INT(send(fixture.raw.fd, "\6\0\0\0\x10\0\x42\2\x08\7", 10, 0), 10);
	raw_peer_invoke(&fixture.raw, 3, SERVICE_ID, ECHO, false, "");
	expect_reply(&fixture.raw, 3, "", false);
	CHECK(orma_ipc_peer_identity(fixture.peer)->machine_id != 0);
	CHECK_INT(orma_ipc_peer_identity(fixture.peer)->pid, 7);
	CHECK_INT(orma_ipc_peer_identity(fixture.peer)->uid, ORMA_IPC_UID_UNKNOWN);
	CHECK_STR(orma_ipc_peer_identity(fixture.peer)->machine_name, "");
	tear_down(&fixture);
}

ORMA_TEST(a_hint_makes_the_machine_id_that_upstream_makes_of_it)
{
	struct fixture fixture;

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	connect_tcp(&fixture, &fixture.raw);
	CHECK_INT(send(fixture.raw.fd, IDENTITY, sizeof(IDENTITY) - 1, 0), sizeof(IDENTITY) - 1);
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, ECHO, false, "");
	expect_reply(&fixture.raw, 2, "", false);
	/* The low half of FNV-1a of "hint". */
	CHECK_INT(orma_ipc_peer_identity(fixture.peer)->machine_id, 0x9b1d9b78u);
	tear_down(&fixture);
}

ORMA_TEST(a_machines_name_is_cut_where_it_is_too_long)
{
	struct fixture fixture;
	uint8_t frame[4 + 4 + 400] = {0x94, 1, 0, 0, 0x42, 0x91, 3, 0x22};

	/* The length of the message, then of a name of 398 bytes. */
	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	connect_tcp(&fixture, &fixture.raw);
	frame[8] = 0x8e;
	frame[9] = 3;
	memset(frame + 10, 'n', 398);
	CHECK_INT(send(fixture.raw.fd, frame, sizeof(frame), 0), sizeof(frame));
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, ECHO, false, "");
	expect_reply(&fixture.raw, 2, "", false);
	const char *name = orma_ipc_peer_identity(fixture.peer)->machine_name;
	CHECK_INT(strlen(name), ORMA_IPC_MACHINE_NAME_BYTES - 1);
	CHECK_INT(strspn(name, "n"), ORMA_IPC_MACHINE_NAME_BYTES - 1);
	tear_down(&fixture);
}

ORMA_TEST(peers_of_this_machine_have_its_name)
{
	struct fixture fixture;
	struct utsname names;

	unsetenv("PERFETTO_MACHINE_NAME");
	CHECK_INT(uname(&names), 0);
	set_up(&fixture);
	CHECK_STR(orma_ipc_peer_identity(fixture.peer)->machine_name, names.sysname);
	tear_down(&fixture);
	setenv("PERFETTO_MACHINE_NAME", "here", 1);
	set_up(&fixture);
	CHECK_STR(orma_ipc_peer_identity(fixture.peer)->machine_name, "here");
	CHECK_INT(send(fixture.raw.fd, IDENTITY, sizeof(IDENTITY) - 1, 0), sizeof(IDENTITY) - 1);
	CHECK(raw_peer_is_silent(&fixture.raw));
	CHECK_STR(orma_ipc_peer_identity(fixture.peer)->machine_name, "here");
	tear_down(&fixture);
}

static bool binds(struct fixture *fixture, const char *service)
{
	struct orma_ipc_envelope envelope;
	struct orma_ipc_frame frame;

	CHECK_INT(orma_ipc_envelope_bind(&envelope, 9, strlen(service)), 0);
	raw_peer_send(&fixture->raw, &envelope, service, strlen(service), -1);
	CHECK(raw_peer_next(&fixture->raw, &frame));
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_BIND_REPLY);
	return frame.u.bind_reply.success;
}

ORMA_TEST(reserved_services_are_there_only_on_listeners_that_ask_for_them)
{
	struct fixture fixture;
	struct orma_ipc_frame frame;

	set_up_with(&fixture, (struct orma_ipc_host_options){.reserved_count = 1});
	connect_tcp_with(&fixture, &fixture.raw, 0);
	CHECK(binds(&fixture, "EmptyPort"));
	CHECK(!binds(&fixture, "TestPort"));
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, ECHO, false, "");
	CHECK(raw_peer_next(&fixture.raw, &frame));
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_INVOKE_REPLY);
	CHECK(!frame.u.invoke_reply.success);
	CHECK_INT(fixture.calls, 0);
	raw_peer_close(&fixture.raw);
	wait_closed(&fixture);
	fixture.accepted = 0;
	connect_tcp_with(&fixture, &fixture.raw, ORMA_IPC_HOST_ALL_SERVICES);
	CHECK(binds(&fixture, "EmptyPort"));
	CHECK(binds(&fixture, "TestPort"));
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, ECHO, false, "hi");
	expect_reply(&fixture.raw, 2, "hi", false);
	tear_down(&fixture);
}

static int connect_to(const char *text)
{
	struct orma_ipc_address address;
	bool is_pending;

	CHECK_INT(orma_ipc_address_parse(text, &address), 0);
	return orma_ipc_connect(&address, &is_pending);
}

ORMA_TEST(a_host_listens_on_several_addresses_and_removes_its_files)
{
	struct fixture fixture;
	struct stat info;
	char path[128], list[256], name[64];

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	snprintf(path, sizeof(path), "%s/s", orma_test_tmpdir());
	snprintf(name, sizeof(name), "@orma-host-test-%d", (int)getpid());
	snprintf(list, sizeof(list), "%s,%s", path, name);
	CHECK_INT(orma_ipc_host_listen(fixture.host, list, 0), 0);
	int first = connect_to(path), second = connect_to(name);
	CHECK(first >= 0 && second >= 0);
	while (fixture.accepted < 2)
		CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
	CHECK_INT(lstat(path, &info), 0);
	close(first);
	close(second);
	tear_down(&fixture);
	CHECK_INT(lstat(path, &info), -1);
}

ORMA_TEST(a_socket_file_of_a_successor_is_left_alone)
{
	struct fixture fixture;
	struct orma_ipc_address address;
	struct stat info;
	char path[128];

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	snprintf(path, sizeof(path), "%s/s", orma_test_tmpdir());
	CHECK_INT(orma_ipc_host_listen(fixture.host, path, 0), 0);
	CHECK_INT(orma_ipc_address_parse(path, &address), 0);
	/* The old file stays alive under another name, so that its inode cannot be handed out
	 * again. */
	char kept[140];
	snprintf(kept, sizeof(kept), "%s.old", path);
	CHECK_INT(rename(path, kept), 0);
	int successor = orma_ipc_listen(&address, 0);
	CHECK(successor >= 0);
	tear_down(&fixture);
	CHECK_INT(lstat(path, &info), 0);
	close(successor);
}

ORMA_TEST(a_list_with_a_bad_address_opens_nothing)
{
	struct fixture fixture;
	struct stat info;
	char path[128], list[256];

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	snprintf(path, sizeof(path), "%s/s", orma_test_tmpdir());
	snprintf(list, sizeof(list), "%s,[::1:80", path);
	CHECK_INT(orma_ipc_host_listen(fixture.host, list, 0), -EINVAL);
	CHECK_INT(lstat(path, &info), -1);
	CHECK_INT(orma_ipc_host_listen(fixture.host, ",", 0), -EINVAL);
	CHECK_INT(orma_ipc_host_listen(fixture.host, "/nonexistent/folder/s", 0), -ENOENT);
	tear_down(&fixture);
}

ORMA_TEST(only_a_listening_socket_is_adopted_as_a_listener)
{
	struct fixture fixture;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	CHECK_INT(orma_ipc_host_adopt_listener(fixture.host, fd, 0), -EINVAL);
	CHECK_INT(orma_ipc_host_adopt_listener(fixture.host, file, 0), -ENOTSOCK);
	CHECK_INT(orma_ipc_host_adopt(fixture.host, file, NULL), -ENOTSOCK);
	CHECK_INT(orma_ipc_host_adopt(fixture.host, -1, NULL), -EBADF);
	close(fd);
	close(file);
	tear_down(&fixture);
}

ORMA_TEST(out_of_descriptors_a_connection_is_shed_and_later_ones_are_accepted)
{
	struct fixture fixture;
	struct rlimit limit, tight;
	char path[128], byte;
	int highest, filler[64], filler_count = 0;

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	snprintf(path, sizeof(path), "%s/s", orma_test_tmpdir());
	CHECK_INT(orma_ipc_host_listen(fixture.host, path, 0), 0);
	int shed = connect_to(path);
	CHECK(shed >= 0);
	/* Fill what is below the limit, so that nothing is left for accept(). */
	highest = dup(0);
	CHECK(highest >= 0);
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
	tight = limit;
	tight.rlim_cur = (rlim_t)highest + 1;
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &tight), 0);
	while (filler_count < 64 && (filler[filler_count] = dup(0)) >= 0)
		filler_count++;
	CHECK_INT(errno, EMFILE);
	raw_peer_settle(&(struct raw_peer){.loop = fixture.loop});
	CHECK_INT(fixture.accepted, 0);
	CHECK_INT(recv(shed, &byte, 1, 0), 0);
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
	while (filler_count > 0)
		close(filler[--filler_count]);
	close(highest);
	int second = connect_to(path);
	while (!fixture.accepted)
		CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
	close(shed);
	close(second);
	tear_down(&fixture);
}

/* One exchange with everything in it; false when an allocation failed and the peer or the host is
 * gone. */
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
		/* It may have been dropped by now. */
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
	/* One without a reply, one that is rejected in the end. */
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
	/* And given up with the host. */
	set_up(&fixture);
	fixture.steps = 100;
	raw_peer_invoke(&fixture.raw, 3, SERVICE_ID, STEP, false, "long");
	while (fixture.calls < 2)
		CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
	tear_down(&fixture);
}

/* Its owner finished it, which it is not to do; the frame comes as a call of its own then. */
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
