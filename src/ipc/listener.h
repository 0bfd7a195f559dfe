/* SPDX-License-Identifier: Apache-2.0
 * listener.h - one listening socket on the loop.
 */
#ifndef ORMA_IPC_LISTENER_H
#define ORMA_IPC_LISTENER_H

#include <sys/types.h>

#include "base/list.h"
#include "base/loop.h"
#include "ipc/address.h"

/* Gets a new connection, CLOEXEC and non-blocking, which it then owns. */
typedef void orma_ipc_accept_fn(void *ctx, int fd);

struct orma_ipc_listener {
	struct orma_list link; /* for its owner */
	struct orma_loop *loop;
	struct orma_watch watch;
	struct orma_timer pause_timer;
	int fd, spare_fd;
	struct orma_ipc_address address; /* size 0 = the socket was made elsewhere */
	dev_t file_device;
	ino_t file_inode; /* inode of the socket file; 0 = none */
	orma_ipc_accept_fn *fn;
	void *ctx;
};

int orma_ipc_listener_new(struct orma_loop *loop, const struct orma_ipc_address *address,
			  unsigned flags, orma_ipc_accept_fn *fn, void *ctx,
			  struct orma_ipc_listener **ret);
/* Takes over the descriptor on success. -EINVAL: it does not listen. */
int orma_ipc_listener_new_from_fd(struct orma_loop *loop, int fd, orma_ipc_accept_fn *fn, void *ctx,
				  struct orma_ipc_listener **ret);
/* Also removes the listener from its list, and the socket file that it made, unless that was
 * replaced. */
void orma_ipc_listener_free(struct orma_ipc_listener *listener);

#endif
