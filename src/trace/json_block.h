/* SPDX-License-Identifier: Apache-2.0
 * json_block.h - looks for characters a block of bytes at a time: a vector of sixteen where each machine has those, or a word of
 * eight.
 *
 * A mask has ORMA_JSON_MASK_BITS bits for each byte of a block, the first byte lowest, which are set or clear together, or of which
 * only the highest may be set. Rejected: an index of all quotes and brackets, made before the text is read. Half of its entries
 * would be quotes, which the reader finds by itself, because most strings end in their first block.
 */
#ifndef ORMA_TRACE_JSON_BLOCK_H
#define ORMA_TRACE_JSON_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "trace/json_number.h"

#if defined(__SSE2__)
enum { ORMA_JSON_BLOCK_BYTES = 16, ORMA_JSON_MASK_BITS = 1 };
typedef __m128i orma_json_block;
static inline orma_json_block orma_json_block_load(const char *at)
{
	return _mm_loadu_si128((const __m128i *)(const void *)at);
}
static inline uint64_t orma_json_block_find(orma_json_block bytes, char a)
{
	return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(a)));
}
static inline uint64_t orma_json_block_find_both(orma_json_block bytes, char a, char b)
{
	__m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(a)),
				     _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b)));
	return (unsigned)_mm_movemask_epi8(found);
}
#elif defined(__aarch64__)
enum { ORMA_JSON_BLOCK_BYTES = 16, ORMA_JSON_MASK_BITS = 4 };
typedef uint8x16_t orma_json_block;
static inline orma_json_block orma_json_block_load(const char *at)
{
	return vld1q_u8((const uint8_t *)at);
}
static inline uint64_t orma_json_mask_of(uint8x16_t found)
{
	return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(found), 4)), 0) &
	       UINT64_C(0x8888888888888888);
}
static inline uint64_t orma_json_block_find(orma_json_block bytes, char a)
{
	return orma_json_mask_of(vceqq_u8(bytes, vdupq_n_u8((uint8_t)a)));
}
static inline uint64_t orma_json_block_find_both(orma_json_block bytes, char a, char b)
{
	return orma_json_mask_of(vorrq_u8(vceqq_u8(bytes, vdupq_n_u8((uint8_t)a)),
					  vceqq_u8(bytes, vdupq_n_u8((uint8_t)b))));
}
#else
enum { ORMA_JSON_BLOCK_BYTES = 8, ORMA_JSON_MASK_BITS = 8 };
typedef uint64_t orma_json_block;
static inline orma_json_block orma_json_block_load(const char *at)
{
	return orma_json_load(at);
}
/* The high bit of a byte of `x` is added to from below unless all lower bits are 0. */
static inline uint64_t orma_json_block_find(orma_json_block bytes, char a)
{
	const uint64_t low = ORMA_JSON_EACH_BYTE(0x7f);
	uint64_t x = bytes ^ ORMA_JSON_EACH_BYTE(a);
	return ~(((x & low) + low) | x | low);
}
static inline uint64_t orma_json_block_find_both(orma_json_block bytes, char a, char b)
{
	return orma_json_block_find(bytes, a) | orma_json_block_find(bytes, b);
}
#endif

/* Returns how many bytes are before the first that a mask has, which is not 0. */
static inline unsigned orma_json_mask_first(uint64_t mask)
{
	return (unsigned)__builtin_ctzll(mask) / ORMA_JSON_MASK_BITS;
}

/* Makes each byte of a mask tell whether the number of marked bytes up to it is odd. */
static inline uint64_t orma_json_mask_parity(uint64_t mask)
{
	mask ^= mask << ORMA_JSON_MASK_BITS;
	mask ^= mask << 2 * ORMA_JSON_MASK_BITS;
	mask ^= mask << 4 * ORMA_JSON_MASK_BITS;
	return ORMA_JSON_BLOCK_BYTES == 8 ? mask : mask ^ mask << (8 * ORMA_JSON_MASK_BITS & 63);
}

/* Says whether a mask has the last byte of the block. */
static inline bool orma_json_mask_has_last(uint64_t mask)
{
	return mask >> (ORMA_JSON_BLOCK_BYTES * ORMA_JSON_MASK_BITS - 1) & 1;
}

/* Finds the quote that ends a string, from behind the one that begins it; NULL when the text ends before. */
static inline const char *orma_json_find_quote(const char *at, const char *end,
					       bool *ret_has_escapes)
{
	*ret_has_escapes = false;
	while (at < end) {
		if (end - at >= ORMA_JSON_BLOCK_BYTES) {
			uint64_t found =
				orma_json_block_find_both(orma_json_block_load(at), '"', '\\');
			at += found ? orma_json_mask_first(found) : ORMA_JSON_BLOCK_BYTES;
			if (!found)
				continue;
		}
		if (*at == '"')
			return at;
		if (*at == '\\') {
			/* The character behind a backslash is not looked at. */
			if (end - at < 2)
				return NULL;
			*ret_has_escapes = true;
			at++;
		}
		at++;
	}
	return NULL;
}

#endif
