/* SPDX-License-Identifier: Apache-2.0
 * view_listen.c - one port on both addresses of loopback.
 *
 * A browser may take localhost for either address, so that the port is the same on both. If the kernel's choice for one is
 * taken on the other, it chooses again.
 */
#include "tool/view/view_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fd.h"

enum { ATTEMPTS_MAX = 16, BACKLOG = 64 };

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t make_address(const char *text, uint16_t port, union address *ret)
{
	*ret = (union address){.v4 = {.sin_family = AF_INET, .sin_port = htons(port)}};
	if (inet_pton(AF_INET, text, &ret->v4.sin_addr) == 1)
		return sizeof(ret->v4);
	*ret = (union address){.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)}};
	return inet_pton(AF_INET6, text, &ret->v6.sin6_addr) == 1 ? sizeof(ret->v6) : 0;
}

/* Returns a socket, and its port, or -errno. */
static int listen_on(const char *text, uint16_t port, uint16_t *ret_port)
{
	union address address;
	socklen_t size = make_address(text, port, &address);
	int on = 1;
	int fd = orma_base_fd_avoid_standard(
		socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return -errno;
	/* A port that is named can be taken again right after the last command on it has ended. */
	if (port > 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address.any.sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, &address.any, size) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, &address.any, &size) < 0) {
		int error = errno;
		orma_base_fd_close(fd);
		return -error;
	}
	*ret_port = ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port
							    : address.v4.sin_port);
	return fd;
}

/* Adds a socket to the others. 0 or -errno. */
static int add(struct orma_view_sockets *sockets, const char *address, uint16_t port)
{
	int fd = listen_on(address, port, &sockets->port);
	if (fd >= 0)
		sockets->fds[sockets->count++] = fd;
	return fd < 0 ? fd : 0;
}

static void close_all(struct orma_view_sockets *sockets)
{
	while (sockets->count > 0)
		orma_base_fd_close(sockets->fds[--sockets->count]);
}

static int listen_on_loopback(uint16_t port, struct orma_view_sockets *ret)
{
	int r = add(ret, "127.0.0.1", port);
	int of_v6 = add(ret, "::1", ret->count > 0 ? ret->port : port);
	if (ret->count > 0 && (of_v6 == -EADDRINUSE || r == -EADDRINUSE)) {
		close_all(ret);
		return -EADDRINUSE;
	}
	return ret->count > 0 ? 0 : r;
}

int orma_view_listen(const char *address, uint16_t port, struct orma_view_sockets *ret)
{
	struct orma_view_sockets sockets = {.count = 0};
	int r = -EADDRINUSE;
	if (address)
		r = add(&sockets, address, port);
	for (int i = 0; !address && r == -EADDRINUSE && i < (port > 0 ? 1 : ATTEMPTS_MAX); i++)
		r = listen_on_loopback(port, &sockets);
	if (r == 0)
		*ret = sockets;
	return r;
}
