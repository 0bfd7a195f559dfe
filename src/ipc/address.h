/* SPDX-License-Identifier: Apache-2.0
 * address.h - socket addresses as text, listening, connecting, default names.
 *
 *   @name              abstract AF_UNIX
 *   vsock://cid:port   AF_VSOCK
 *   host:port          AF_INET; host is a dotted quad or "localhost" (resolving names would block)
 *   [v6]:port          AF_INET6
 *   anything else      path of an AF_UNIX socket; a text with a slash is always a path
 *
 * All descriptors made here are CLOEXEC and non-blocking.
 */
#ifndef ORMA_IPC_ADDRESS_H
#define ORMA_IPC_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct orma_ipc_address {
	struct sockaddr_storage storage;
	socklen_t size;
};

#define ORMA_IPC_ADDRESS_TEXT_BYTES 128 /* enough for every address as text */

/* 0, -EINVAL (empty text, bad number, unknown host) or -ENAMETOOLONG. */
int orma_ipc_address_parse(const char *text, struct orma_ipc_address *ret);
/* Takes the next item from a comma-separated list, and skips empty ones. Returns 1, 0 at the end,
 * or -ENAMETOOLONG. */
int orma_ipc_address_list_next(const char **list, char item[ORMA_IPC_ADDRESS_TEXT_BYTES]);
/* Writes the address as text; "unknown" for an unnamed address or another family. */
void orma_ipc_address_format(const struct orma_ipc_address *address,
			     char text[ORMA_IPC_ADDRESS_TEXT_BYTES]);
/* Returns the path of an AF_UNIX address, NULL for any other address. */
const char *orma_ipc_address_path(const struct orma_ipc_address *address);
int orma_ipc_address_family(const struct orma_ipc_address *address); /* AF_... */

enum {
	/* Fails with -EADDRINUSE when a process listens on that path, instead of taking the path
	 * over. */
	ORMA_IPC_LISTEN_KEEP_LIVE = 1,
	/* Gives the rights on a socket file to this user alone, whatever the umask is. */
	ORMA_IPC_LISTEN_PRIVATE = 2,
};

/* Returns a listening descriptor or -errno. Removes a stale socket file first, but never a file of
 * another kind. */
int orma_ipc_listen(const struct orma_ipc_address *address, unsigned flags);
/* Sets the options of our TCP sockets. Sockets that a listening one accepts inherit them. Does
 * nothing to other sockets. */
void orma_ipc_set_tcp_options(int fd);
/*
 * Returns a descriptor or -errno. When *ret_is_pending is set, the outcome follows once the
 * descriptor is writable (SO_ERROR). -EAGAIN: the listener's backlog is full; try again later.
 * orma_base_fd_set_close_on_fork() has been called for it.
 */
int orma_ipc_connect(const struct orma_ipc_address *address, bool *ret_is_pending);

/*
 * The addresses to connect to: PERFETTO_PRODUCER_SOCK_NAME (may be a comma-separated list) and
 * PERFETTO_CONSUMER_SOCK_NAME, or the defaults. Never NULL or empty.
 */
const char *orma_ipc_producer_address(void);
const char *orma_ipc_consumer_address(void);
/* The two parts of orma_ipc_producer_address(): the address in the environment (NULL = none), and
 * the current default address. Threads that must not read the environment, because another thread
 * may be in setenv(), call only the second. */
const char *orma_ipc_producer_address_wanted(void);
const char *orma_ipc_producer_address_usual(void);
/* The address in the environment for consumers; NULL = none. */
const char *orma_ipc_consumer_address_wanted(void);

#endif
