/* SPDX-License-Identifier: Apache-2.0
 * socket_io.c - sendmsg() and recvmsg() with SCM_RIGHTS, and SO_PEERCRED.
 */
#include "ipc/socket_io.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/assert.h"

ssize_t orma_ipc_socket_send(int socket_fd, struct iovec *pieces, size_t count, int fd)
{
	union {
		struct cmsghdr header;
		uint8_t bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = {.msg_iov = pieces};
	ssize_t sent;

	/* msg_iovlen is an int in some C libraries; there are only a few pieces. */
	message.msg_iovlen = (__typeof__(message.msg_iovlen))count;
	if (fd >= 0) {
		memset(&control, 0, sizeof(control));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	do
		sent = sendmsg(socket_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
	return sent;
}

static void collect_fds(struct msghdr *message, struct orma_ipc_received_fds *ret)
{
	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
	     header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		ORMA_ASSERT(count <= ORMA_IPC_RECEIVED_FDS_MAX - ret->count);
		memcpy(&ret->items[ret->count], CMSG_DATA(header), count * sizeof(int));
		ret->count += count;
	}
}

ssize_t orma_ipc_socket_receive(int socket_fd, void *data, size_t size,
				struct orma_ipc_received_fds *ret_fds)
{
	union {
		struct cmsghdr header;
		uint8_t bytes[CMSG_SPACE(ORMA_IPC_RECEIVED_FDS_MAX * sizeof(int))];
	} control;
	struct iovec piece = {data, size};
	struct msghdr message = {.msg_iov = &piece,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t received;

	ret_fds->count = 0;
	do
		received = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (received < 0 && errno == EINTR);
	if (received < 0)
		return -errno;
	if (message.msg_controllen > 0)
		collect_fds(&message, ret_fds);
	if (message.msg_flags & MSG_CTRUNC)
		return -EPROTO;
	return received > 0 ? received : -ENOTCONN;
}

int orma_ipc_peer_credentials(int fd, struct orma_ipc_credentials *ret)
{
	struct orma_ipc_credentials credentials = {0};
	socklen_t size = sizeof(credentials.family);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &credentials.family, &size) < 0)
		return -errno;
	if (credentials.family == AF_UNIX) {
		struct ucred peer;

		size = sizeof(peer);
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
			return -errno;
		credentials.uid = peer.uid;
		credentials.gid = peer.gid;
		credentials.pid = peer.pid;
		credentials.is_known = true;
	}
	*ret = credentials;
	return 0;
}
