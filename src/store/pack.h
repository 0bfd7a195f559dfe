/* SPDX-License-Identifier: Apache-2.0
 * pack.h - up to 4,096 integers in as few bits as their range needs; each can be read in constant time.
 */
#ifndef ORMA_STORE_PACK_H
#define ORMA_STORE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORMA_BLOCK_SHIFT 12
#define ORMA_BLOCK_ROWS  (1 << ORMA_BLOCK_SHIFT)
/* More than any block needs: a cell takes at most 65 bits with its share of exceptions. */
#define ORMA_PACK_MAX_BYTES (ORMA_BLOCK_ROWS * 9)
/* The cell of an SQL NULL among integers and string ids. It is an integer that no trace has by accident. */
#define ORMA_CELL_NULL (INT64_MIN + 0x6e756c6c)

enum {
	ORMA_BLOCK_HAS_ESCAPES = 1, /* the two largest codes stand for NULL and for an exception */
	ORMA_BLOCK_IS_NULL = 2,     /* all values are NULL */
	ORMA_BLOCK_IS_RAW = 4,      /* not packed: `data` is an array of int64_t */
	ORMA_BLOCK_IS_INTEGRAL = 8, /* the values are doubles, packed as integers */
};

struct orma_block {
	int64_t min, max; /* NULLs do not count; min > max when there is nothing else */
	const uint8_t *data;
	uint16_t exceptions;
	uint8_t width; /* bits of a code; 0 = all values are `min`, or all are NULL */
	uint8_t flags;
};

/*
 * Packs `count` <= ORMA_BLOCK_ROWS cells into `out`, which has ORMA_PACK_MAX_BYTES, and describes them in
 * `ret` but for `ret->data`. Returns the number of bytes used, 0 when the description says all.
 */
size_t orma_store_pack(const int64_t *cells, size_t count, struct orma_block *ret, uint8_t *out);
/* How many bytes of `data` reading a block touches, and whether packing makes blocks of its width. */
size_t orma_store_packed_bytes(const struct orma_block *block, size_t count);
bool orma_store_pack_width_is_valid(const struct orma_block *block);
/* `count` is what the block was packed with. */
void orma_store_unpack(const struct orma_block *block, size_t count, int64_t *ret);
/*
 * Sets a bit for each cell that is in [low, high] and not NULL, and clears those of others; bits behind the last cell mean nothing.
 * False when the block has to be unpacked for that.
 */
bool orma_store_pack_match(const struct orma_block *block, size_t count, int64_t low, int64_t high,
			   uint8_t mask[ORMA_BLOCK_ROWS / 8]);
/*
 * Adds the cells whose bits are set, but for NULLs, and counts them. False when the block has to be unpacked for that, or the sum
 * does not fit.
 */
bool orma_store_pack_sum(const struct orma_block *block, size_t count,
			 const uint8_t mask[ORMA_BLOCK_ROWS / 8], int64_t *ret_sum,
			 uint64_t *ret_number);
/* The cell at `idx` of a block with `count` cells. */
int64_t orma_store_unpack_one(const struct orma_block *block, size_t count, size_t idx);
/* The cells at some places of such a block, which are below `count`. */
void orma_store_unpack_some(const struct orma_block *block, size_t count, const uint16_t *places,
			    size_t place_count, int64_t *ret);

#endif
