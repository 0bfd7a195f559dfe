/* SPDX-License-Identifier: Apache-2.0
 * column_image.c - columns, tables and string pools in an image.
 *
 * A block's header is four words: the least and the largest value, the place of its data, and the rest. Invariant: all that
 * reading a restored column touches lies in the data, whatever the headers and the data say; see check_block().
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "store/image.h"

enum { BLOCK_WORDS = 4, TAIL_IS_EQUAL, TAIL_IS_ARRAY };

static void save_tail(const struct orma_column *column, struct orma_image_writer *image)
{
	size_t count = orma_store_column_tail(column);
	orma_image_put(image, count);
	orma_image_put(image, column->tail ? TAIL_IS_ARRAY : TAIL_IS_EQUAL);
	if (column->tail)
		orma_image_put_bytes(image, column->tail, count * sizeof(*column->tail));
	else
		orma_image_put(image, (uint64_t)column->tail_cell);
}

static void save_column(const struct orma_column *column, struct orma_image_writer *image)
{
	orma_image_put(image, column->block_count);
	for (size_t i = 0; i < column->block_count; i++) {
		const struct orma_block *block = &column->blocks[i];
		size_t size = block->data ? orma_store_packed_bytes(block, ORMA_BLOCK_ROWS) : 0;
		orma_image_put(image, (uint64_t)block->min);
		orma_image_put(image, (uint64_t)block->max);
		orma_image_put(image, orma_image_add(image, block->data, size));
		orma_image_put(image, block->exceptions | (uint64_t)block->width << 16 |
					      (uint64_t)block->flags << 24);
	}
	save_tail(column, image);
}

static bool check_block(const struct orma_column *column, const struct orma_block *block,
			uint64_t place, uint64_t data_bytes)
{
	unsigned known = ORMA_BLOCK_HAS_ESCAPES | ORMA_BLOCK_IS_NULL;
	if (column->type == ORMA_COLUMN_DOUBLE)
		known |= ORMA_BLOCK_IS_INTEGRAL;
	bool has_escapes = (block->flags & ORMA_BLOCK_HAS_ESCAPES) != 0;
	uint64_t size = orma_store_packed_bytes(block, ORMA_BLOCK_ROWS);
	return !(block->flags & ~known) && block->exceptions <= ORMA_BLOCK_ROWS &&
	       (has_escapes || block->exceptions == 0) && orma_store_pack_width_is_valid(block) &&
	       size <= data_bytes && place <= data_bytes - size;
}

static int restore_block(const struct orma_column *column, struct orma_image_reader *image,
			 struct orma_block *ret)
{
	ret->min = (int64_t)orma_image_get(image);
	ret->max = (int64_t)orma_image_get(image);
	uint64_t place = orma_image_get(image), rest = orma_image_get(image);
	ret->exceptions = (uint16_t)rest;
	ret->width = (uint8_t)(rest >> 16);
	ret->flags = (uint8_t)(rest >> 24);
	if (rest >> 32 || !check_block(column, ret, place, image->data_bytes))
		return -EBADMSG;
	ret->data = ret->width > 0 ? image->data + place : NULL;
	return 0;
}

static int restore_tail(struct orma_column *column, struct orma_image_reader *image)
{
	uint64_t count = orma_image_get(image), kind = orma_image_get(image);
	if (count > ORMA_BLOCK_ROWS || (kind != TAIL_IS_EQUAL && kind != TAIL_IS_ARRAY))
		return -EBADMSG;
	if (kind == TAIL_IS_EQUAL) {
		column->tail_cell = (int64_t)orma_image_get(image);
		column->equal_count = (size_t)count;
		return 0;
	}
	const uint8_t *cells = orma_image_get_bytes(image, count * sizeof(*column->tail));
	if (!cells)
		return -EBADMSG;
	column->tail = orma_base_alloc(ORMA_BLOCK_ROWS * sizeof(*column->tail));
	if (!column->tail)
		return -ENOMEM;
	memcpy(column->tail, cells, (size_t)count * sizeof(*column->tail));
	column->next = column->tail + count;
	column->end = column->tail + ORMA_BLOCK_ROWS;
	return 0;
}

static int restore_column(struct orma_column *column, struct orma_image_reader *image)
{
	size_t count = orma_image_get_count(image, BLOCK_WORDS * sizeof(uint64_t));
	if (count > 0) {
		column->blocks = orma_base_alloc_array(count, sizeof(*column->blocks));
		if (!column->blocks)
			return -ENOMEM;
		column->block_capacity = count;
	}
	for (size_t i = 0; i < count; i++) {
		int r = restore_block(column, image, &column->blocks[i]);
		if (r < 0)
			return r;
		column->block_count = column->packed = i + 1;
	}
	int r = restore_tail(column, image);
	return r < 0 ? r : image->error;
}

void orma_store_table_save(const struct orma_table *table, struct orma_image_writer *image)
{
	for (size_t i = 0; i < table->column_count; i++)
		save_column(&table->columns[i], image);
}

int orma_store_table_restore(struct orma_table *table, struct orma_image_reader *image)
{
	int r = 0;
	for (size_t i = 0; i < table->column_count && r == 0; i++) {
		r = restore_column(&table->columns[i], image);
		if (r == 0 && orma_store_column_rows(&table->columns[i]) !=
				      orma_store_column_rows(&table->columns[0]))
			r = -EBADMSG;
	}
	return r;
}

void orma_store_pool_save(const struct orma_string_pool *pool, struct orma_image_writer *image)
{
	orma_image_put(image, pool->count);
	for (uint32_t id = 1; id <= pool->count; id++) {
		struct orma_str text = orma_store_pool_get(pool, id);
		orma_image_put(image, text.size);
		orma_image_put_bytes(image, text.data, text.size);
	}
}

int orma_store_pool_restore(struct orma_string_pool *pool, struct orma_image_reader *image)
{
	uint32_t count = orma_image_get_count(image, sizeof(uint64_t));
	for (uint32_t id = 1; id <= count; id++) {
		uint32_t found;
		uint64_t size = orma_image_get(image);
		const uint8_t *text = orma_image_get_bytes(image, size);
		int r = text ? orma_store_pool_add(
				       pool, (struct orma_str){(const char *)text, (size_t)size},
				       &found)
			     : -EBADMSG;
		if (r < 0 || found != id)
			return r < 0 ? r : -EBADMSG;
	}
	return image->error;
}
