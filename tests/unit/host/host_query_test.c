/* SPDX-License-Identifier: Apache-2.0
 * host_query_test.c - a state that the consumer reads in several parts, with each allocation
 * failing in turn.
 */
#include <orma/service.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include "../ipc/raw_peer.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "harness.h"
#include "host/host.h"
#include "proto/writer.h"
#include "schema/gen/data_source_descriptor.pb.h"

enum {
	SERVICE_ID = 1,
	QUERY_SERVICE_STATE = 12,
	DATA_SOURCES = 35, /* together more than a socket and half a queue can hold */
	DESCRIPTOR_BYTES = 100000,
};

struct fixture {
	struct orma_loop *loop;
	struct orma_service *service;
	struct orma_host *host;
	struct orma_producer_port *port;
	struct raw_peer peer;
};

static void register_large(struct orma_producer_port *port, unsigned number)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf descriptor = {0};
	struct orma_proto_heap_writer heap;
	char name[16];
	void *padding = calloc(1, DESCRIPTOR_BYTES);

	snprintf(name, sizeof(name), "large.%u", number);
	orma_proto_heap_writer_init(&heap, &descriptor);
	orma_proto_write_string(&heap.writer, ORMA_PB_DATA_SOURCE_DESCRIPTOR_NAME, name);
	orma_proto_write_bytes(&heap.writer, 1000, padding, DESCRIPTOR_BYTES);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	CHECK_INT(orma_producer_port_register_data_source(port, descriptor.data, descriptor.size),
		  0);
	free(padding);
}

static void begin(struct fixture *fixture)
{
	const struct orma_service_options options = {.struct_size = sizeof(options)};
	const struct orma_producer_info info = {
		.struct_size = sizeof(info), .name = "large", .shm_fd = -1};
	const struct orma_producer_callbacks callbacks = {.struct_size = sizeof(callbacks)};

	*fixture = (struct fixture){0};
	CHECK_INT(orma_base_loop_new(&fixture->loop), 0);
	CHECK_INT(orma_service_new(&options, &fixture->service), 0);
	CHECK_INT(orma_host_new(fixture->loop, fixture->service, &fixture->host), 0);
	CHECK_INT(orma_producer_port_open(fixture->service, &info, &callbacks, NULL, NULL,
					  &fixture->port),
		  0);
	for (unsigned i = 0; i < DATA_SOURCES; i++)
		register_large(fixture->port, i);
	CHECK_INT(orma_host_add_consumer_fd(fixture->host,
					    raw_peer_open(&fixture->peer, fixture->loop)),
		  0);
	/* This has room for everything, so that only the host's allocations are counted. */
	fixture->peer.assembler.data = orma_base_alloc(ORMA_IPC_FRAME_BYTES_MAX);
	fixture->peer.assembler.capacity = ORMA_IPC_FRAME_BYTES_MAX;
	raw_peer_invoke(&fixture->peer, 1, SERVICE_ID, QUERY_SERVICE_STATE, false, "");
}

static void end(struct fixture *fixture)
{
	raw_peer_close(&fixture->peer);
	orma_host_free(fixture->host);
	orma_producer_port_close(fixture->port);
	orma_service_free(fixture->service);
	orma_base_loop_free(fixture->loop);
}

/* Reads what has arrived: the bytes of state, and whether the call was answered completely. */
static size_t take_all(struct fixture *fixture, bool *ret_is_whole)
{
	struct orma_ipc_frame frame;
	size_t size = 0;

	*ret_is_whole = false;
	while (!*ret_is_whole && raw_peer_next(&fixture->peer, &frame)) {
		if (frame.kind != ORMA_IPC_FRAME_INVOKE_REPLY || !frame.u.invoke_reply.success)
			break;
		size += frame.u.invoke_reply.reply.size;
		*ret_is_whole = !frame.u.invoke_reply.has_more;
	}
	return size;
}

ORMA_TEST(a_state_that_is_larger_than_the_queue_comes_whole)
{
	struct fixture fixture;
	bool is_whole;

	begin(&fixture);
	raw_peer_settle(&fixture.peer);
	CHECK(take_all(&fixture, &is_whole) > (size_t)DATA_SOURCES * DESCRIPTOR_BYTES);
	CHECK(is_whole);
	end(&fixture);
}

struct reader {
	int fd;
	_Atomic bool is_done;
};

static void *read_all(void *ctx)
{
	struct reader *reader = ctx;
	static uint8_t bytes[1 << 20];
	ssize_t size;

	for (size_t left = (size_t)DATA_SOURCES * DESCRIPTOR_BYTES; left > 0;
	     left -= ORMA_MIN(left, (size_t)size)) {
		struct pollfd poll_fd = {.fd = reader->fd, .events = POLLIN};

		CHECK(poll(&poll_fd, 1, 10000) > 0);
		size = recv(reader->fd, bytes, sizeof(bytes), 0);
		CHECK(size > 0);
	}
	reader->is_done = true;
	return NULL;
}

/* A peer that reads as fast as the host writes always has room. */
ORMA_TEST(a_large_state_takes_several_turns_however_fast_it_is_read)
{
	struct fixture fixture;
	struct reader reader = {0};
	pthread_t thread;
	int turns = 0;

	begin(&fixture);
	reader.fd = fixture.peer.fd;
	CHECK_INT(pthread_create(&thread, NULL, read_all, &reader), 0);
	for (; !reader.is_done; turns++)
		CHECK(orma_base_loop_turn(fixture.loop, 100) >= 0);
	pthread_join(thread, NULL);
	/* Four parts each, and once more after the host learned that there is room. */
	CHECK(turns >= DATA_SOURCES / 8);
	end(&fixture);
}

/* Each part but the first is sent from the loop, where no handler holds the call. If a part
 * cannot be sent, even the last, the call must not be finished twice. */
ORMA_TEST(memory_that_is_missing_for_any_later_part_ends_the_query_once)
{
	for (uint64_t n = 1;; n++) {
		struct fixture fixture;
		bool is_whole;

		begin(&fixture);
		raw_peer_settle(&fixture.peer);
		orma_base_alloc_fail_nth(n);
		(void)take_all(&fixture, &is_whole);
		bool has_failed = orma_base_alloc_has_failed();
		orma_base_alloc_fail_nth(0);
		end(&fixture);
		if (!has_failed) {
			CHECK(is_whole);
			CHECK(n > 1);
			return;
		}
	}
}
