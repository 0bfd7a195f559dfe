/* SPDX-License-Identifier: Apache-2.0
 * heap_writer.c - a writer whose window is the free end of one growing buffer.
 *
 * The message lies behind buf->size until orma_proto_heap_writer_finish() adds it, so that a
 * failure leaves the buffer as it was. Invariant: unless has_failed, every open length field lies
 * in buf->data and moves with it.
 *
 * Rejected: a chain of blocks that are joined at the end, because that is one more copy and nothing
 * here needs stable addresses; an error from each write, because writing never fails by contract.
 */
#include <errno.h>

#include "proto/writer.h"

enum { WINDOW_MIN_BYTES = 64 };

/* Makes room for `least` bytes or more. */
static bool grow(struct orma_proto_heap_writer *heap, size_t least)
{
	struct orma_buf *buf = heap->buf;
	size_t size_before = buf->size;
	uintptr_t old = (uintptr_t)buf->data;
	int r;

	heap->size = (size_t)heap->writer.written_before;
	buf->size += heap->size; /* reserve() keeps what lies before size */
	r = orma_base_buf_reserve(buf, ORMA_MAX(heap->size, least));
	buf->size = size_before;
	if (r < 0)
		return false;
	for (struct orma_proto_nested *open = heap->writer.open; open; open = open->parent)
		open->length_field = buf->data + ((uintptr_t)open->length_field - old);
	return true;
}

static void move_window(struct orma_proto_heap_writer *heap, size_t least)
{
	struct orma_proto_writer *writer = &heap->writer;

	if (!heap->has_failed && grow(heap, least)) {
		writer->cursor = heap->buf->data + heap->buf->size + heap->size;
		writer->end = heap->buf->data + heap->buf->capacity;
		return;
	}
	heap->has_failed = true;
	writer->cursor = heap->scrap;
	writer->end = heap->scrap + sizeof(heap->scrap);
}

static void next_window(struct orma_proto_writer *writer)
{
	move_window((struct orma_proto_heap_writer *)writer, WINDOW_MIN_BYTES);
}

void orma_proto_heap_writer_init(struct orma_proto_heap_writer *heap, struct orma_buf *buf)
{
	static uint8_t nothing[1];
	uint8_t *begin = buf->data ? buf->data + buf->size : nothing;
	uint8_t *end = buf->data ? buf->data + buf->capacity : nothing;

	orma_proto_writer_init(&heap->writer, begin, end, next_window);
	heap->buf = buf;
	heap->size = 0;
	heap->has_failed = false;
}

uint8_t *orma_proto_heap_writer_reserve_slow(struct orma_proto_heap_writer *heap, size_t size)
{
	struct orma_proto_writer *writer = &heap->writer;

	writer->written_before += (uint64_t)(writer->cursor - writer->begin);
	move_window(heap, ORMA_MAX(size, (size_t)WINDOW_MIN_BYTES));
	writer->begin = writer->cursor;
	return heap->has_failed ? NULL : writer->cursor;
}

int orma_proto_heap_writer_finish(struct orma_proto_heap_writer *heap)
{
	uint64_t written = orma_proto_writer_written(&heap->writer);

	orma_proto_writer_end_all(&heap->writer);
	if (heap->has_failed)
		return -ENOMEM;
	if (written > ORMA_PROTO_LENGTH_MAX)
		return -EMSGSIZE;
	heap->buf->size += (size_t)written;
	return 0;
}
