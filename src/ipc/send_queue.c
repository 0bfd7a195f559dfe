/* SPDX-License-Identifier: Apache-2.0
 * send_queue.c - a list of blocks, each with the bytes of one or more frames.
 *
 * A descriptor must travel with the first byte of its frame. So a frame with a descriptor begins a
 * new block, which owns the descriptor until its first byte is sent. One sendmsg() never continues
 * into such a block. Small frames without a descriptor share a block.
 *
 * Invariants: frames are sent whole and in order; `bytes` is the sum of the unsent bytes; no block
 * is fully sent.
 */
#include "ipc/send_queue.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/fd.h"
#include "base/macros.h"
#include "ipc/socket_io.h"

enum {
	BLOCKS_PER_SEND = 64,
	BLOCK_BYTES = 4096, /* size of a block that small frames share */
};

struct send_block {
	struct orma_list link;
	size_t size, sent, capacity;
	int fd; /* owned; -1 = none */
	uint8_t data[];
};

/* Checks the invariants; used by assertions only. */
static bool is_consistent(const struct orma_ipc_send_queue *queue)
{
	const struct send_block *block;
	size_t bytes = 0;

	ORMA_LIST_FOR_EACH (block, &queue->blocks, link) {
		if (block->sent >= block->size || block->size > block->capacity ||
		    (block->sent > 0 && block->fd >= 0))
			return false;
		bytes += block->size - block->sent;
	}
	return bytes == queue->bytes;
}

void orma_ipc_send_queue_init(struct orma_ipc_send_queue *queue)
{
	orma_base_list_init(&queue->blocks);
	queue->bytes = 0;
}

static void free_block(struct send_block *block)
{
	orma_base_list_remove(&block->link);
	orma_base_fd_close(block->fd);
	orma_base_free(block);
}

void orma_ipc_send_queue_clear(struct orma_ipc_send_queue *queue)
{
	struct send_block *block, *next;

	ORMA_LIST_FOR_EACH_SAFE (block, next, &queue->blocks, link)
		free_block(block);
	queue->bytes = 0;
}

/* Finds or makes a block with room for `size` bytes at the end of the queue. */
static int get_block(struct orma_ipc_send_queue *queue, size_t size, int fd,
		     struct send_block **ret)
{
	struct send_block *last = ORMA_LIST_ENTRY(queue->blocks.prev, struct send_block, link);

	if (fd < 0 && !orma_ipc_send_queue_is_empty(queue) && size <= last->capacity - last->size) {
		*ret = last;
		return 0;
	}
	size_t capacity = ORMA_MAX(size, (size_t)BLOCK_BYTES - sizeof(*last));
	struct send_block *block = orma_base_alloc(sizeof(*block) + capacity);
	if (!block)
		return -ENOMEM;
	int own_fd = fd >= 0 ? orma_base_fd_duplicate(fd) : -1;
	if (fd >= 0 && own_fd < 0) {
		orma_base_free(block);
		return own_fd;
	}
	block->size = 0;
	block->sent = 0;
	block->capacity = capacity;
	block->fd = own_fd;
	orma_base_list_append(&queue->blocks, &block->link);
	*ret = block;
	return 0;
}

int orma_ipc_send_queue_append(struct orma_ipc_send_queue *queue, const struct iovec *pieces,
			       size_t count, size_t skip, int fd)
{
	struct send_block *block;
	size_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += pieces[i].iov_len;
	ORMA_ASSERT(skip < total);
	ORMA_ASSERT(skip == 0 || fd < 0); /* the descriptor has left with the first byte */
	int r = get_block(queue, total - skip, fd, &block);
	if (r < 0)
		return r;
	queue->bytes += total - skip;
	for (size_t i = 0; i < count; i++) {
		size_t skipped = ORMA_MIN(skip, pieces[i].iov_len);
		size_t part = pieces[i].iov_len - skipped;

		skip -= skipped;
		if (part > 0)
			memcpy(block->data + block->size,
			       (const uint8_t *)pieces[i].iov_base + skipped, part);
		block->size += part;
	}
	ORMA_ASSERT(is_consistent(queue));
	return 0;
}

/* Removes `sent` bytes from the front of the queue. */
static void advance(struct orma_ipc_send_queue *queue, size_t sent)
{
	ORMA_ASSERT(sent <= queue->bytes);
	queue->bytes -= sent;
	while (sent > 0) {
		struct send_block *block =
			ORMA_LIST_ENTRY(queue->blocks.next, struct send_block, link);
		size_t part = ORMA_MIN(sent, block->size - block->sent);

		block->fd = orma_base_fd_close(block->fd);
		block->sent += part;
		sent -= part;
		if (block->sent == block->size)
			free_block(block);
	}
	ORMA_ASSERT(is_consistent(queue));
}

ssize_t orma_ipc_send_queue_send(struct orma_ipc_send_queue *queue, int socket_fd)
{
	struct iovec pieces[BLOCKS_PER_SEND];
	struct send_block *block;
	size_t count = 0;
	int fd = -1;

	ORMA_ASSERT(!orma_ipc_send_queue_is_empty(queue));
	ORMA_LIST_FOR_EACH (block, &queue->blocks, link) {
		if (count == BLOCKS_PER_SEND || (count > 0 && block->fd >= 0))
			break;
		if (count == 0)
			fd = block->fd;
		pieces[count++] =
			(struct iovec){block->data + block->sent, block->size - block->sent};
	}
	ssize_t sent = orma_ipc_socket_send(socket_fd, pieces, count, fd);
	if (sent > 0)
		advance(queue, (size_t)sent);
	return sent;
}
