/* SPDX-License-Identifier: Apache-2.0
 * send_queue.h - the bytes and descriptors of a connection that its socket has not taken yet.
 */
#ifndef ORMA_IPC_SEND_QUEUE_H
#define ORMA_IPC_SEND_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/list.h"

struct orma_ipc_send_queue {
	struct orma_list blocks; /* struct send_block, oldest first */
	size_t bytes;            /* unsent bytes of all blocks */
};

void orma_ipc_send_queue_init(struct orma_ipc_send_queue *queue);
/* Frees all blocks, and closes their descriptors. */
void orma_ipc_send_queue_clear(struct orma_ipc_send_queue *queue);
static inline bool orma_ipc_send_queue_is_empty(const struct orma_ipc_send_queue *queue)
{
	return orma_base_list_is_empty(&queue->blocks);
}

/* Copies the pieces, except their first `skip` bytes. `fd` (-1 = none) is duplicated, and is sent
 * with the first copied byte. 0, -ENOMEM or -EMFILE. */
int orma_ipc_send_queue_append(struct orma_ipc_send_queue *queue, const struct iovec *pieces,
			       size_t count, size_t skip, int fd);
/* Calls sendmsg() once for bytes at the front of the queue, which must not be empty. Returns like
 * orma_ipc_socket_send(). */
ssize_t orma_ipc_send_queue_send(struct orma_ipc_send_queue *queue, int socket_fd);

#endif
