/* SPDX-License-Identifier: Apache-2.0
 * address.h - socket addresses as text, listening, connecting, default names.
 *
 *   @name              abstract AF_UNIX
 *   vsock://cid:port   AF_VSOCK
 *   host:port          AF_INET; host is a dotted quad or "localhost" (resolving names would block)
 *   [v6]:port          AF_INET6
 *   anything else      path of an AF_UNIX socket; whatever holds a slash is a path
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

/* 0, -EINVAL (empty, bad number, unknown host), -ENAMETOOLONG. */
int orma_ipc_address_parse(const char *text, struct orma_ipc_address *ret);
/* Cuts the next item off a comma-separated list: 1, 0 at its end, -ENAMETOOLONG. Empty items are
 * skipped. */
int orma_ipc_address_list_next(const char **list, char item[ORMA_IPC_ADDRESS_TEXT_BYTES]);
/* As text again, "unknown" for an unnamed or foreign address. */
void orma_ipc_address_format(const struct orma_ipc_address *address,
			     char text[ORMA_IPC_ADDRESS_TEXT_BYTES]);
/* The file of an AF_UNIX path address, NULL for any other. */
const char *orma_ipc_address_path(const struct orma_ipc_address *address);
int orma_ipc_address_family(const struct orma_ipc_address *address); /* AF_... */

enum {
	/* -EADDRINUSE when somebody listens on that path, instead of taking the path over. */
	ORMA_IPC_LISTEN_KEEP_LIVE = 1,
};

/* A listening descriptor or -errno. A stale socket file is removed first; any other kind of file
 * never is. */
int orma_ipc_listen(const struct orma_ipc_address *address, unsigned flags);
/* What TCP sockets of ours have, and those that a listening one accepts; harmless on others. */
void orma_ipc_set_tcp_options(int fd);
/*
 * A descriptor or -errno; *ret_is_pending says that the outcome follows when it is writable
 * (SO_ERROR). -EAGAIN: the listener's backlog is full, try again later.
 */
int orma_ipc_connect(const struct orma_ipc_address *address, bool *ret_is_pending);

/*
 * Where producers and consumers connect: PERFETTO_PRODUCER_SOCK_NAME (may be a comma-separated
 * list), PERFETTO_CONSUMER_SOCK_NAME, else the defaults. Never NULL or empty.
 */
const char *orma_ipc_producer_address(void);
const char *orma_ipc_consumer_address(void);
/* The two halves of the former, for threads that must not look at the environment, where another one
 * may be in setenv(): what it says (NULL = nothing), and what holds else, at this moment. */
const char *orma_ipc_producer_address_wanted(void);
const char *orma_ipc_producer_address_usual(void);
/* The same of the latter; NULL = nothing. */
const char *orma_ipc_consumer_address_wanted(void);

#endif
