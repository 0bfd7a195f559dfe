/* SPDX-License-Identifier: Apache-2.0
 * socket_io.h - one sendmsg() or recvmsg() of a non-blocking stream socket, with descriptors, and
 * the credentials of its peer.
 */
#ifndef ORMA_IPC_SOCKET_IO_H
#define ORMA_IPC_SOCKET_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Sends the pieces, with `fd` (-1 = none) on the first byte. Returns the bytes that the socket
 * took, 0 when it is full, or -errno. */
ssize_t orma_ipc_socket_send(int socket_fd, struct iovec *pieces, size_t count, int fd);

/* The kernel's SCM_MAX_FD. Receives have room for this many, so a truncated message means that the
 * process ran out of descriptors. */
#define ORMA_IPC_RECEIVED_FDS_MAX 253

struct orma_ipc_received_fds {
	size_t count;
	int items[ORMA_IPC_RECEIVED_FDS_MAX];
};

/*
 * Receives once. Returns the number of bytes, -ENOTCONN at the end of the stream, -EPROTO when
 * descriptors were lost, or -errno (-EAGAIN when nothing is there). *ret_fds is always set; the
 * caller owns the descriptors, also when an error is returned.
 */
ssize_t orma_ipc_socket_receive(int socket_fd, void *data, size_t size,
				struct orma_ipc_received_fds *ret_fds);

struct orma_ipc_credentials {
	int family; /* AF_... */
	uid_t uid;
	gid_t gid;
	pid_t pid;
	bool is_known; /* the kernel knows the credentials */
};

/* The credentials of the process at the other end. On sockets that have none, is_known is false,
 * and uid, gid and pid are 0. Returns 0 or -errno. */
int orma_ipc_peer_credentials(int fd, struct orma_ipc_credentials *ret);

#endif
