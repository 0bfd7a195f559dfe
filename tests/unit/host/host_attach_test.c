/* SPDX-License-Identifier: Apache-2.0
 * host_attach_test.c - a consumer that attaches to a session learns when it ends.
 */
#include <orma/service.h>

#include "../ipc/raw_peer.h"
#include "harness.h"
#include "host/host.h"

enum {
	SERVICE_ID = 1,
	ENABLE_TRACING = 1,
	DISABLE_TRACING = 2,
	DETACH = 8,
	ATTACH = 9,
};

#define CONFIG      "\x0a\x04\x0a\x02\x08\x40" /* trace_config { buffers { size_kb: 64 } } */
#define KEY         "\x0a\x01k"
#define NOTIFY_ONLY "\x10\x01"

struct fixture {
	struct orma_loop *loop;
	struct orma_service *service;
	struct orma_host *host;
	struct raw_peer first, second;
};

static void connect_peer(struct fixture *fixture, struct raw_peer *peer)
{
	CHECK_INT(orma_host_add_consumer_fd(fixture->host, raw_peer_open(peer, fixture->loop)), 0);
}

static void call(struct raw_peer *peer, uint64_t request_id, uint32_t method_id, const char *args,
		 struct orma_ipc_frame *ret)
{
	raw_peer_invoke(peer, request_id, SERVICE_ID, method_id, false, args);
	CHECK(raw_peer_next(peer, ret));
	CHECK_INT(ret->request_id, request_id);
	CHECK(ret->u.invoke_reply.success);
}

/* A session of the first peer to which the second has attached. */
static void begin(struct fixture *fixture)
{
	const struct orma_service_options options = {.struct_size = sizeof(options)};
	struct orma_ipc_frame frame;

	*fixture = (struct fixture){0};
	CHECK_INT(orma_base_loop_new(&fixture->loop), 0);
	CHECK_INT(orma_service_new(&options, &fixture->service), 0);
	CHECK_INT(orma_host_new(fixture->loop, fixture->service, &fixture->host), 0);
	connect_peer(fixture, &fixture->first);
	connect_peer(fixture, &fixture->second);
	raw_peer_invoke(&fixture->first, 1, SERVICE_ID, ENABLE_TRACING, false, CONFIG);
	call(&fixture->first, 2, DETACH, KEY, &frame);
	call(&fixture->second, 1, ATTACH, KEY, &frame);
}

static void end(struct fixture *fixture)
{
	raw_peer_close(&fixture->first);
	raw_peer_close(&fixture->second);
	orma_host_free(fixture->host);
	orma_service_free(fixture->service);
	orma_base_loop_free(fixture->loop);
}

ORMA_TEST(an_end_after_the_call_for_it_is_told)
{
	struct fixture fixture;
	struct orma_ipc_frame frame;

	begin(&fixture);
	raw_peer_invoke(&fixture.second, 2, SERVICE_ID, ENABLE_TRACING, false, NOTIFY_ONLY);
	CHECK(raw_peer_is_silent(&fixture.second));
	raw_peer_invoke(&fixture.second, 3, SERVICE_ID, DISABLE_TRACING, true, "");
	CHECK(raw_peer_next(&fixture.second, &frame));
	CHECK_INT(frame.request_id, 2);
	CHECK(frame.u.invoke_reply.success);
	end(&fixture);
}

ORMA_TEST(an_end_before_the_call_for_it_is_told_then)
{
	struct fixture fixture;
	struct orma_ipc_frame frame;

	begin(&fixture);
	call(&fixture.second, 2, DISABLE_TRACING, "", &frame);
	call(&fixture.second, 3, ENABLE_TRACING, NOTIFY_ONLY, &frame);
	/* disabled: true */
	CHECK_INT(frame.u.invoke_reply.reply.size, 2);
	CHECK(memcmp(frame.u.invoke_reply.reply.data, "\x08\x01", 2) == 0);
	/* The consumer learns it once. */
	raw_peer_invoke(&fixture.second, 4, SERVICE_ID, ENABLE_TRACING, false, NOTIFY_ONLY);
	CHECK(raw_peer_is_silent(&fixture.second));
	end(&fixture);
}
