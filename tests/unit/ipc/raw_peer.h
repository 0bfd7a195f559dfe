/* SPDX-License-Identifier: Apache-2.0
 * raw_peer.h - the other end of a socket as plain bytes, for tests of one half of the protocol.
 */
#ifndef ORMA_TESTS_RAW_PEER_H
#define ORMA_TESTS_RAW_PEER_H

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/loop.h"
#include "harness.h"
#include "ipc/frame.h"

struct raw_peer {
	int fd;
	struct orma_loop *loop; /* the loop of the half under test */
	struct orma_ipc_assembler assembler;
};

/* Returns the end for the half under test. */
static inline int raw_peer_open(struct raw_peer *peer, struct orma_loop *loop)
{
	int ends[2];

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	*peer = (struct raw_peer){.fd = ends[0], .loop = loop};
	return ends[1];
}

static inline void raw_peer_close(struct raw_peer *peer)
{
	if (peer->fd >= 0)
		close(peer->fd);
	peer->fd = -1;
	orma_ipc_assembler_done(&peer->assembler);
}

static inline void raw_peer_send(struct raw_peer *peer, const struct orma_ipc_envelope *envelope,
				 const void *body, size_t body_size, int fd)
{
	union {
		struct cmsghdr header;
		uint8_t bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec pieces[] = {{(void *)envelope->prefix, envelope->prefix_size},
				 {(void *)body, body_size},
				 {(void *)envelope->suffix, envelope->suffix_size}};
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 3};

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	CHECK_INT(sendmsg(peer->fd, &message, MSG_NOSIGNAL),
		  envelope->prefix_size + body_size + envelope->suffix_size);
}

static inline void raw_peer_invoke(struct raw_peer *peer, uint64_t request_id, uint32_t service_id,
				   uint32_t method_id, bool drop_reply, const char *args)
{
	struct orma_ipc_envelope envelope;

	CHECK_INT(orma_ipc_envelope_invoke(&envelope, request_id, service_id, method_id, drop_reply,
					   strlen(args)),
		  0);
	raw_peer_send(peer, &envelope, args, strlen(args), -1);
}

/* Runs the loop until the next frame has arrived, and returns it; valid until the next call.
 * False at the end of the stream. */
static inline bool raw_peer_next(struct raw_peer *peer, struct orma_ipc_frame *frame)
{
	const uint8_t *data;
	size_t size;

	while (orma_ipc_assembler_next(&peer->assembler, &data, &size) == 0) {
		uint8_t *window;
		ssize_t received;

		CHECK_INT(orma_ipc_assembler_window(&peer->assembler, &window, &size), 0);
		received = recv(peer->fd, window, size, 0);
		if (received == 0 || (received < 0 && errno == ECONNRESET))
			return false;
		if (received > 0)
			orma_ipc_assembler_fill(&peer->assembler, (size_t)received);
		else
			CHECK(orma_base_loop_turn(peer->loop, 5000) >= 0);
	}
	CHECK_INT(orma_ipc_frame_decode(data, size, frame), 0);
	return true;
}

/* Runs the loop until nothing is ready. */
static inline void raw_peer_settle(struct raw_peer *peer)
{
	for (int i = 0; i < 16; i++)
		CHECK(orma_base_loop_turn(peer->loop, 0) >= 0);
}

/* Checks that nothing was sent to the test. */
static inline bool raw_peer_is_silent(struct raw_peer *peer)
{
	uint8_t byte;

	raw_peer_settle(peer);
	return recv(peer->fd, &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN &&
	       peer->assembler.begin == peer->assembler.end;
}

#endif
