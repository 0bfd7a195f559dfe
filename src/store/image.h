/* SPDX-License-Identifier: Apache-2.0
 * image.h - columns and what belongs to them as parts of a file, which is mapped to be read.
 *
 * An image has two parts: the data of blocks, which is read where it lies, and the notes, words of 64 bits in this machine's
 * order, which are read one after the other.
 */
#ifndef ORMA_STORE_IMAGE_H
#define ORMA_STORE_IMAGE_H

#include "base/buf.h"
#include "store/column.h"
#include "store/keyed_sum.h"
#include "store/string_pool.h"
#include "store/table.h"

/* {.fd = ..., .start = ...} with `sum` begun is empty. The data is written to the file from `start` on, and added to the sum. */
struct orma_image_writer {
	int fd;
	uint64_t start;
	uint64_t data_bytes, written_bytes;
	struct orma_buf batch, notes;
	struct orma_keyed_sum sum;
	int error; /* the first failure; the functions do nothing then */
};

void orma_image_writer_done(struct orma_image_writer *image);
void orma_image_put(struct orma_image_writer *image, uint64_t word);
void orma_image_put_bytes(struct orma_image_writer *image, const void *bytes, size_t size);
/* Adds data, and returns its place in the part. */
uint64_t orma_image_add(struct orma_image_writer *image, const void *data, size_t size);
/* Writes the data that waits, and then the notes; both parts are filled with zeros to whole blocks of the sum. */
void orma_image_finish(struct orma_image_writer *image);
/* Returns the size of a part in the file. */
static inline uint64_t orma_image_part_bytes(uint64_t size)
{
	return (size + ORMA_SUM_BLOCK_BYTES - 1) & ~(uint64_t)(ORMA_SUM_BLOCK_BYTES - 1);
}

/* Nothing of it is trusted. */
struct orma_image_reader {
	const uint8_t *data;
	uint64_t data_bytes;
	const uint8_t *notes, *end;
	int error; /* -EBADMSG when a note was missing; what is read then is 0 */
};

uint64_t orma_image_get(struct orma_image_reader *image);
/* Returns NULL when there are not so many bytes. */
const uint8_t *orma_image_get_bytes(struct orma_image_reader *image, uint64_t size);
/* Reads a number of things of which each takes at least so many bytes of notes, so that there may be so many. */
uint32_t orma_image_get_count(struct orma_image_reader *image, size_t item_bytes);

/* The table or pool is sealed when it is saved, and new when it is restored; then it refers to the data. 0, -EBADMSG or
 * -ENOMEM. */
void orma_store_table_save(const struct orma_table *table, struct orma_image_writer *image);
int orma_store_table_restore(struct orma_table *table, struct orma_image_reader *image);
void orma_store_pool_save(const struct orma_string_pool *pool, struct orma_image_writer *image);
int orma_store_pool_restore(struct orma_string_pool *pool, struct orma_image_reader *image);

#endif
