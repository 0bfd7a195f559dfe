/* SPDX-License-Identifier: Apache-2.0
 * ipc_host_fixture.h - a host with a test service, and a raw peer.
 */
#ifndef ORMA_TESTS_HOST_FIXTURE_H
#define ORMA_TESTS_HOST_FIXTURE_H

#include "ipc/ipc_host.h"
#include "raw_peer.h"

struct fixture {
	struct orma_loop *loop;
	struct orma_ipc_host *host;
	struct raw_peer raw;
	struct orma_ipc_peer *peer; /* the last one accepted */
	struct orma_ipc_call *held;
	int accepted, closed, drained, calls, taken_fd, error;
	int steps, stays; /* turns that a call, or the end of a peer, takes beyond the first */
	int refuse;       /* the result of `accepted` */
	bool replies_on_close;
	char args[64];
};

static inline struct fixture *fixture_of(struct orma_ipc_peer *peer)
{
	return orma_ipc_peer_host_ctx(peer);
}

static inline int on_echo(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
			  size_t size)
{
	CHECK(orma_ipc_call_peer(call) == peer);
	fixture_of(peer)->calls++;
	return orma_ipc_call_reply(call, args, size, false, -1);
}

static inline int on_hold(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
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

static inline int on_fail(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
			  size_t size)
{
	(void)call, (void)args, (void)size;
	fixture_of(peer)->calls++;
	return -EINVAL;
}

static inline int on_stream(struct orma_ipc_peer *peer, struct orma_ipc_call *call,
			    const void *args, size_t size)
{
	(void)peer, (void)args, (void)size;
	CHECK_INT(orma_ipc_call_reply(call, "one", 3, true, -1), 0);
	CHECK_INT(orma_ipc_call_reply(call, "two", 3, true, -1), 0);
	return orma_ipc_call_reply(call, NULL, 0, false, -1);
}

static inline int on_take_fd(struct orma_ipc_peer *peer, struct orma_ipc_call *call,
			     const void *args, size_t size)
{
	struct fixture *fixture = fixture_of(peer);

	(void)args, (void)size;
	fixture->taken_fd = orma_ipc_call_take_fd(call);
	CHECK_INT(orma_ipc_call_take_fd(call), -1);
	return orma_ipc_call_reply(call, NULL, 0, false, fixture->taken_fd);
}

static inline int on_leave(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
			   size_t size)
{
	(void)args, (void)size;
	orma_ipc_peer_close(peer, -EPROTO);
	CHECK_INT(orma_ipc_call_reply(call, NULL, 0, true, -1), -ECONNRESET);
	return 0;
}

static inline int on_too_much(struct orma_ipc_peer *peer, struct orma_ipc_call *call,
			      const void *args, size_t size)
{
	static uint8_t reply[ORMA_IPC_FRAME_BYTES_MAX];

	(void)peer, (void)args, (void)size;
	CHECK_INT(orma_ipc_call_reply(call, reply, sizeof(reply), false, -1), -EMSGSIZE);
	CHECK_INT(orma_ipc_call_reply(call, reply, SIZE_MAX, false, -1), -EMSGSIZE);
	CHECK_INT(orma_ipc_call_reply(call, reply, ORMA_IPC_BODY_BYTES_MAX, false, -1), 0);
	CHECK_INT(orma_ipc_call_reply(call, NULL, 0, false, -1), -EINVAL);
	return 0;
}

/* Echoes in its last step; `held` is the call during the others. */
static inline int on_step(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
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

static inline int on_accepted(void *ctx, struct orma_ipc_peer *peer)
{
	struct fixture *fixture = ctx;

	fixture->accepted++;
	fixture->peer = peer;
	orma_ipc_peer_set_data(peer, fixture);
	return fixture->refuse;
}

static inline void on_closed(void *ctx, struct orma_ipc_peer *peer, int error)
{
	struct fixture *fixture = ctx;

	CHECK(orma_ipc_peer_data(peer) == fixture);
	fixture->error = error;
	if (fixture->stays > 0) {
		fixture->stays--;
		orma_ipc_peer_call_closed_again(peer);
		return;
	}
	fixture->closed++;
	if (fixture->replies_on_close && fixture->held)
		CHECK_INT(orma_ipc_call_reply(fixture->held, NULL, 0, false, -1), -ECONNRESET);
	fixture->held = NULL;
}

static inline void on_drained(void *ctx, struct orma_ipc_peer *peer)
{
	(void)peer;
	((struct fixture *)ctx)->drained++;
}

static inline void set_up_with(struct fixture *fixture, struct orma_ipc_host_options options)
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

static inline void set_up(struct fixture *fixture)
{
	set_up_with(fixture, (struct orma_ipc_host_options){0});
	CHECK_INT(orma_ipc_host_adopt(fixture->host, raw_peer_open(&fixture->raw, fixture->loop),
				      NULL),
		  0);
}

static inline void tear_down(struct fixture *fixture)
{
	orma_ipc_host_free(fixture->host);
	raw_peer_close(&fixture->raw);
	orma_base_loop_free(fixture->loop);
}

static inline void wait_closed(struct fixture *fixture)
{
	while (!fixture->closed)
		CHECK(orma_base_loop_turn(fixture->loop, 5000) > 0);
}

static inline void bind_service(struct raw_peer *raw, const char *name)
{
	struct orma_ipc_envelope envelope;

	CHECK_INT(orma_ipc_envelope_bind(&envelope, 1, strlen(name)), 0);
	raw_peer_send(raw, &envelope, name, strlen(name), -1);
}

static inline void expect_rejection(struct raw_peer *raw, uint64_t request_id)
{
	struct orma_ipc_frame frame;

	CHECK(raw_peer_next(raw, &frame));
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_INVOKE_REPLY);
	CHECK_INT(frame.request_id, request_id);
	CHECK(!frame.u.invoke_reply.success);
	CHECK(!frame.u.invoke_reply.has_more);
}

static inline void expect_reply(struct raw_peer *raw, uint64_t request_id, const char *text,
				bool has_more)
{
	struct orma_ipc_frame frame;

	CHECK(raw_peer_next(raw, &frame));
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_INVOKE_REPLY);
	CHECK_INT(frame.request_id, request_id);
	CHECK(frame.u.invoke_reply.success);
	CHECK_INT(frame.u.invoke_reply.has_more, has_more);
	CHECK(orma_base_str_is(frame.u.invoke_reply.reply, text));
}

#endif
