/* SPDX-License-Identifier: Apache-2.0
 * frames_test.c - the daemon against broken streams: frames of every wrong length, cut, dripped,
 * undecodable, and peers that send without reading.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "bystander.h"
#include "harness.h"
#include "schema/gen/service_state.pb.h"

/* --- lengths ---------------------------------------------------------------------------------- */

static void put_header(uint8_t *at, uint32_t size)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(size >> 8 * i);
}

static void check_length_ends_connection(const struct orma_stage *stage, uint32_t size)
{
	const char *const paths[] = {stage->daemon.producers, stage->daemon.consumers};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(paths); i++) {
		struct orma_raw_client client;
		uint8_t header[4];

		orma_raw_connect(&client, paths[i]);
		put_header(header, size);
		orma_raw_send(&client, header, sizeof(header));
		orma_raw_await_end(&client);
		orma_raw_close(&client);
	}
}

ORMA_TEST(a_frame_over_the_limit_ends_the_connection)
{
	struct orma_stage stage;

	orma_stage_open(&stage);
	check_length_ends_connection(&stage, 128 * 1024 - 3);
	check_length_ends_connection(&stage, 128 * 1024);
	check_length_ends_connection(&stage, 128 * 1024 + 1);
	check_length_ends_connection(&stage, UINT32_MAX / 2);
	check_length_ends_connection(&stage, UINT32_MAX);
	orma_stage_close(&stage);
}

ORMA_TEST(empty_frames_are_skipped)
{
	struct orma_stage stage;
	struct orma_raw_client client;
	static const uint8_t zeros[40000];

	orma_stage_open(&stage);
	orma_raw_connect(&client, stage.daemon.consumers);
	CHECK(orma_raw_send(&client, zeros, sizeof(zeros)));
	orma_raw_bind(&client, "ConsumerPort");
	CHECK(orma_raw_call(&client, "QueryCapabilities", ORMA_STR(""))->success);
	orma_raw_close(&client);
	orma_stage_close(&stage);
}

ORMA_TEST(the_largest_frame_is_taken)
{
	struct orma_stage stage;
	struct orma_raw_client client;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf padding = {0};

	orma_stage_open(&stage);
	orma_raw_connect(&client, stage.daemon.consumers);
	/* Field 1 is padding that the daemon ignores; field 3 binds. */
	size_t payload = ORMA_IPC_FRAME_BYTES_MAX - ORMA_IPC_HEADER_BYTES;
	CHECK_INT(orma_base_buf_append(&padding, "\x1a\x0e\x0a\x0c", 4), 0);
	CHECK_INT(orma_base_buf_append_str(&padding, "ConsumerPort"), 0);
	size_t left = payload - padding.size - 4; /* a tag and a length of three bytes */
	uint8_t head[4] = {0x0a, (uint8_t)(left | 0x80), (uint8_t)(left >> 7 | 0x80),
			   (uint8_t)(left >> 14)};
	CHECK_INT(orma_base_buf_append(&padding, head, sizeof(head)), 0);
	CHECK_INT(orma_base_buf_reserve(&padding, left), 0);
	memset(padding.data + padding.size, 'x', left);
	CHECK(orma_raw_send_frame(&client, padding.data, payload, -1));
	struct orma_raw_frame *frame = orma_raw_await(&client, 0);
	CHECK_INT(frame->kind, ORMA_IPC_FRAME_BIND_REPLY);
	CHECK(frame->success);
	orma_raw_close(&client);
	orma_stage_close(&stage);
}

/* --- content ---------------------------------------------------------------------------------- */

ORMA_TEST(frames_that_do_not_decode_are_dropped_and_the_stream_goes_on)
{
	struct orma_stage stage;
	struct orma_raw_client client;
	static const struct orma_str garbage[] = {
		{"\xff", 1},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12},
		{"\x1a\x7f"
		 "x",
		 3},                                 /* length past the end */
		{"\x13\x14", 2},                     /* a group */
		{"\x00\x00", 2},                     /* field 0 */
		{"\x10", 1},                         /* a varint without a value */
		{"\x2a\x03\x08\xff\xff", 5},         /* the same, nested */
		{"\x2a\x05\x1a\xff\xff\xff\x7f", 7}, /* arguments of 256 MiB */
	};

	orma_stage_open(&stage);
	orma_raw_connect(&client, stage.daemon.producers);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(garbage); i++)
		CHECK(orma_raw_send_frame(&client, garbage[i].data, garbage[i].size, -1));
	orma_raw_bind(&client, "ProducerPort");
	CHECK_INT(client.set_aside.next == &client.set_aside, true); /* nothing was answered */
	orma_raw_close(&client);
	orma_stage_close(&stage);
}

ORMA_TEST(random_frames_are_survived)
{
	struct orma_stage stage;
	struct orma_raw_client client;
	uint8_t bytes[256];
	uint64_t random = 12345;

	orma_stage_open(&stage);
	orma_raw_connect(&client, stage.daemon.consumers);
	for (int i = 0; i < 2000; i++) {
		for (size_t k = 0; k < sizeof(bytes); k++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
			bytes[k] = (uint8_t)(random >> 56) & (i % 2 ? 0x2a : 0xff);
		}
		/* Some decode by chance and are answered, so drain from time to time. */
		CHECK(orma_raw_send_frame(&client, bytes, 1 + random % sizeof(bytes), -1));
		if (i % 100 == 0)
			orma_raw_bind(&client, "ConsumerPort");
	}
	orma_raw_bind(&client, "ConsumerPort");
	CHECK(orma_raw_call(&client, "QueryCapabilities", ORMA_STR(""))->success);
	orma_raw_close(&client);
	orma_stage_close(&stage);
}

ORMA_TEST(a_frame_without_a_known_message_is_refused_in_words)
{
	struct orma_stage stage;
	struct orma_raw_client client;
	/* request_id 9 with nothing, with an unknown field 60, and with a reply in place of a
	 * request. */
	static const struct orma_str frames[] = {
		{"\x10\x09", 2},
		{"\x10\x09\xe2\x03\x00", 5},
		{"\x10\x09\x32\x02\x08\x01", 6},
		{"\x10\x09\x22\x02\x08\x01", 6},
		{"\x10\x09\x3a\x03\x0a\x01x", 7},
	};

	orma_stage_open(&stage);
	orma_raw_connect(&client, stage.daemon.consumers);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(frames); i++) {
		CHECK(orma_raw_send_frame(&client, frames[i].data, frames[i].size, -1));
		struct orma_raw_frame *frame = orma_raw_await(&client, 9);
		CHECK_INT(frame->kind, ORMA_IPC_FRAME_ERROR);
		CHECK(orma_base_str_is(frame->body, "unknown request"));
	}
	orma_raw_close(&client);
	orma_stage_close(&stage);
}

ORMA_TEST(an_identity_on_a_unix_socket_changes_nothing)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;
	/* SetPeerIdentity: pid 1, uid 0, a hint and a name. */
	static const char identity[] = "\x42\x0d\x08\x01\x10\x00\x1a\x02hi\x22\x03you";

	orma_stage_open(&stage);
	orma_raw_producer_connect(&producer, stage.daemon.producers);
	for (int i = 0; i < 3; i++)
		CHECK(orma_raw_send_frame(&producer.client, identity, sizeof(identity) - 1, -1));
	CHECK(orma_raw_producer_initialize(&producer, "producer_name: \"liar\"", -1)->success);
	struct orma_pb_tracing_service_state *state =
		orma_raw_consumer_query(&stage.bystander.consumer);
	CHECK_INT(state->producers.count, 2);
	for (size_t i = 0; i < state->producers.count; i++) {
		CHECK_INT(state->producers.items[i]->uid, getuid());
		CHECK_INT(state->producers.items[i]->pid, getpid());
		CHECK_INT(state->producers.items[i]->machine_name.size, 0);
	}
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}

/* --- pace ------------------------------------------------------------------------------------- */

/* A bind frame. */
static const uint8_t bind_frame[] = {0x12, 0,   0,   0,   0x10, 0x07, 0x1a, 0x0e, 0x0a, 0x0c, 'C',
				     'o',  'n', 's', 'u', 'm',  'e',  'r',  'P',  'o',  'r',  't'};

ORMA_TEST(a_frame_dripped_byte_by_byte_is_answered)
{
	struct orma_stage stage;
	struct orma_raw_client client;

	orma_stage_open(&stage);
	orma_raw_connect(&client, stage.daemon.consumers);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < sizeof(bind_frame); i++) {
			CHECK(orma_raw_send(&client, &bind_frame[i], 1));
			if (i % 4 == 0)
				orma_bystander_check(&stage.bystander);
		}
		CHECK(orma_raw_await(&client, 7)->success);
	}
	orma_raw_close(&client);
	orma_stage_close(&stage);
}

ORMA_TEST(a_connection_cut_at_every_byte_of_a_frame_leaves_nothing_behind)
{
	struct orma_stage stage;
	struct orma_raw_client client;

	orma_stage_open(&stage);
	for (size_t cut = 0; cut <= sizeof(bind_frame); cut++) {
		orma_raw_connect(&client, stage.daemon.consumers);
		CHECK(orma_raw_send(&client, bind_frame, cut));
		if (cut % 2)
			CHECK_INT(shutdown(client.fd, SHUT_WR), 0);
		orma_raw_close(&client);
	}
	orma_stage_close(&stage);
}

/* Sends as long as the socket takes something or the daemon still reads; true = the daemon has cut
 * the connection. */
static bool flood(struct orma_raw_client *client, const void *frame, size_t size, int idle_polls)
{
	size_t at = 0;

	CHECK_INT(orma_base_fd_set_nonblock(client->fd), 0);
	for (int idle = 0; idle < idle_polls;) {
		ssize_t sent =
			send(client->fd, (const uint8_t *)frame + at, size - at, MSG_NOSIGNAL);
		if (sent < 0 && errno == EAGAIN) {
			struct pollfd poll_fd = {client->fd, POLLOUT, 0};
			idle += poll(&poll_fd, 1, 20) == 0;
			continue;
		}
		if (sent < 0)
			return true;
		at = (at + (size_t)sent) % size;
		idle = 0;
	}
	return false;
}

ORMA_TEST(a_peer_that_sends_at_full_speed_and_never_reads_is_dropped)
{
	struct orma_stage stage;
	struct orma_raw_client client;

	orma_stage_open(&stage);
	orma_raw_connect(&client, stage.daemon.consumers);
	/* Each bind is answered with a list of all methods: the replies fill the queue, whose limit
	 * ends the peer. */
	CHECK(flood(&client, bind_frame, sizeof(bind_frame), 500));
	orma_raw_close(&client);
	orma_stage_close(&stage);
}

ORMA_TEST(a_peer_that_reads_nothing_does_not_slow_the_bystander)
{
	struct orma_stage stage;
	struct orma_raw_client clients[20];

	orma_stage_open(&stage);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(clients); i++) {
		orma_raw_connect(&clients[i], stage.daemon.consumers);
		orma_raw_bind(&clients[i], "ConsumerPort");
		for (int k = 0; k < 200; k++)
			orma_raw_invoke(&clients[i], "QueryServiceState", ORMA_STR(""), -1, 0);
	}
	orma_bystander_check(&stage.bystander);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(clients); i++)
		orma_raw_close(&clients[i]);
	orma_stage_close(&stage);
}

ORMA_TEST(descriptors_that_nobody_asked_for_are_closed)
{
	struct orma_stage stage;
	struct orma_raw_client client;
	static const uint8_t request[] = {0x10, 0x07}; /* refused, so the answer is a fence */

	orma_stage_open(&stage);
	orma_raw_connect(&client, stage.daemon.producers);
	for (int i = 0; i < 200; i++) {
		ORMA_AUTO(orma_base_fd_closep) int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		CHECK(orma_raw_send_frame(&client, request, sizeof(request), fd));
		orma_raw_await(&client, 7);
	}
	orma_raw_close(&client);
	orma_stage_close(&stage);
}

ORMA_TEST(many_descriptors_in_one_message_are_closed)
{
	struct orma_stage stage;
	struct orma_raw_client client;
	enum { FDS = 100 };
	union {
		char bytes[CMSG_SPACE(FDS * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	int fds[FDS];
	uint8_t frame[] = {2, 0, 0, 0, 0x10, 0x07};
	struct iovec piece = {frame, sizeof(frame)};
	struct msghdr message = {.msg_iov = &piece,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};

	orma_stage_open(&stage);
	orma_raw_connect(&client, stage.daemon.producers);
	for (size_t i = 0; i < FDS; i++)
		CHECK((fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0);
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(head), fds, sizeof(fds));
	CHECK_INT(sendmsg(client.fd, &message, MSG_NOSIGNAL), sizeof(frame));
	for (size_t i = 0; i < FDS; i++)
		close(fds[i]);
	/* The call may be answered or dropped; in both cases the descriptors must be closed. */
	CHECK_INT(shutdown(client.fd, SHUT_WR), 0);
	orma_raw_await_end(&client);
	orma_raw_close(&client);
	orma_stage_close(&stage);
}
