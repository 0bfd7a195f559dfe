/* SPDX-License-Identifier: Apache-2.0
 * view_listen.h - listening sockets for `orma view`.
 */
#ifndef ORMA_TOOL_VIEW_LISTEN_H
#define ORMA_TOOL_VIEW_LISTEN_H

#include <stddef.h>
#include <stdint.h>

enum { ORMA_VIEW_SOCKETS_MAX = 2 };

struct orma_view_sockets {
	int fds[ORMA_VIEW_SOCKETS_MAX];
	size_t count;
	uint16_t port;
};

/* Listens on the address; NULL = both addresses of loopback, as far as they are there. Port 0 is any that is free. 0 or
 * -errno. */
int orma_view_listen(const char *address, uint16_t port, struct orma_view_sockets *ret);

#endif
