/* SPDX-License-Identifier: Apache-2.0
 * image.c - writes and reads the two parts of an image.
 */
#include "store/image.h"

#include <errno.h>
#include <unistd.h>

#include "base/macros.h"

enum { BATCH_BYTES = 1 << 20, WORD_BYTES = 8 };

void orma_image_writer_done(struct orma_image_writer *image)
{
	orma_base_buf_done(&image->batch);
	orma_base_buf_done(&image->notes);
}

static void set_error(struct orma_image_writer *image, int r)
{
	if (image->error == 0 && r < 0)
		image->error = r;
}

void orma_image_put(struct orma_image_writer *image, uint64_t word)
{
	orma_image_put_bytes(image, &word, sizeof(word));
}

void orma_image_put_bytes(struct orma_image_writer *image, const void *bytes, size_t size)
{
	static const uint8_t zeros[WORD_BYTES];
	if (image->error == 0)
		set_error(image, orma_base_buf_append(&image->notes, bytes, size));
	if (image->error == 0)
		set_error(image, orma_base_buf_append(&image->notes, zeros, -size % WORD_BYTES));
}

/* Writes whole blocks, and adds them to the sum. */
static void write_blocks(struct orma_image_writer *image, const struct orma_buf *blocks)
{
	const uint8_t *at = blocks->data;
	size_t left = image->error == 0 ? blocks->size : 0;
	orma_keyed_sum_blocks(&image->sum, at, left / ORMA_SUM_BLOCK_BYTES);
	while (left > 0) {
		ssize_t written =
			pwrite(image->fd, at, left, (off_t)(image->start + image->written_bytes));
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			set_error(image, written < 0 ? -errno : -ENOSPC);
			return;
		}
		at += written;
		left -= (size_t)written;
		image->written_bytes += (uint64_t)written;
	}
}

static void fill_block(struct orma_image_writer *image, struct orma_buf *blocks)
{
	static const uint8_t zeros[ORMA_SUM_BLOCK_BYTES];
	if (image->error == 0)
		set_error(image, orma_base_buf_append(blocks, zeros,
						      -blocks->size % ORMA_SUM_BLOCK_BYTES));
}

uint64_t orma_image_add(struct orma_image_writer *image, const void *data, size_t size)
{
	uint64_t place = image->data_bytes;
	const uint8_t *at = data;
	image->data_bytes += size;
	while (size > 0 && image->error == 0) {
		size_t part = ORMA_MIN(size, BATCH_BYTES - image->batch.size);
		set_error(image, orma_base_buf_append(&image->batch, at, part));
		at += part;
		size -= part;
		if (image->batch.size == BATCH_BYTES) {
			write_blocks(image, &image->batch);
			image->batch.size = 0;
		}
	}
	return place;
}

void orma_image_finish(struct orma_image_writer *image)
{
	fill_block(image, &image->batch);
	write_blocks(image, &image->batch);
	image->batch.size = 0;
	fill_block(image, &image->notes);
	write_blocks(image, &image->notes);
}

const uint8_t *orma_image_get_bytes(struct orma_image_reader *image, uint64_t size)
{
	const uint8_t *bytes = image->notes;
	uint64_t left = (uint64_t)(image->end - bytes), padded = size + -size % WORD_BYTES;
	if (image->error < 0 || size > left || padded > left) {
		image->error = -EBADMSG;
		return NULL;
	}
	image->notes += padded;
	return bytes;
}

uint64_t orma_image_get(struct orma_image_reader *image)
{
	uint64_t word = 0;
	const uint8_t *bytes = orma_image_get_bytes(image, sizeof(word));
	if (bytes)
		memcpy(&word, bytes, sizeof(word));
	return word;
}

uint32_t orma_image_get_count(struct orma_image_reader *image, size_t item_bytes)
{
	uint64_t count = orma_image_get(image);
	if (count <= (uint64_t)(image->end - image->notes) / item_bytes && count < UINT32_MAX)
		return (uint32_t)count;
	image->error = -EBADMSG;
	return 0;
}
