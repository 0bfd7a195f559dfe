/* SPDX-License-Identifier: Apache-2.0
 * wide_codes.c - AVX2: the bytes of each code are brought to a lane of 32 bits, shifted by what the code is off its byte, and
 * masked.
 *
 * Eight codes take as many bytes as a code has bits, so the same shuffle and shifts serve all groups of eight. A group is
 * read as two halves of four codes and 16 bytes each; groups at the end, behind which there are fewer bytes, are left
 * to the caller. A code of up to 25 bits lies in four bytes wherever it begins.
 *
 * Codes that are compared with a single one need no shifts: that one is shifted instead, once for all groups. Codes of up
 * to 9 bits lie in two bytes, so each comparison looks at sixteen of them. Up to 14 bits, a word of 64 bits has four of
 * them, which are compared without being separated: the exclusive or with four times the wanted code leaves a field of
 * zeros where it is. This is fast as long as few groups have the code, which is so for most names of slices. If many groups
 * have it, the rest of the block is compared by the code for ranges, which takes eight codes at a time.
 */
#include "store/wide_codes.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <stdbool.h>
#include <string.h>

enum {
	LANES = 8,
	WIDTH_MAX = 25,
	SHORT_WIDTH_MAX = 9,  /* such a code lies in two bytes wherever it begins */
	FIELD_WIDTH_MAX = 14, /* a group of such codes lies in 16 bytes */
	FIELDS = 4,           /* in a word; they begin at its first or its fifth bit */
	FOUND_PAIRS_MAX = 32, /* a block has 256 pairs of groups */
	LOAD_BYTES = 16,
	PADDING = 8, /* bytes behind the codes of each block */
};

struct pattern {
	__m256i shuffle, shifts, mask;
	size_t width, second; /* bytes of a group; where its second half begins */
	size_t groups;        /* that can be read */
};

static bool is_wide(void)
{
	return __builtin_cpu_supports("avx2");
}

__attribute__((target("avx2"))) static struct pattern pattern_of(const struct orma_block *block,
								 size_t count)
{
	size_t width = block->width, bytes = (count * width + 7) / 8 + PADDING;
	struct pattern ret = {.width = width, .second = 4 * width / 8};
	uint8_t shuffle[2 * LOAD_BYTES];
	uint32_t shifts[LANES];
	for (size_t i = 0; i < LANES; i++) {
		size_t bit = i * width - (i < LANES / 2 ? 0 : ret.second * 8);
		shifts[i] = (uint32_t)(bit % 8);
		for (size_t n = 0; n < 4; n++)
			shuffle[i * 4 + n] = (uint8_t)(bit / 8 + n);
	}
	ret.shuffle = _mm256_loadu_si256((const __m256i *)(const void *)shuffle);
	ret.shifts = _mm256_loadu_si256((const __m256i *)(const void *)shifts);
	ret.mask = _mm256_set1_epi32((int)((1u << width) - 1));
	if (bytes >= ret.second + LOAD_BYTES)
		ret.groups = (bytes - ret.second - LOAD_BYTES) / width + 1;
	if (ret.groups > count / LANES)
		ret.groups = count / LANES;
	return ret;
}

__attribute__((target("avx2"))) static inline __m256i read_group(const struct pattern *pattern,
								 const uint8_t *data)
{
	__m128i first = _mm_loadu_si128((const __m128i *)(const void *)data);
	__m128i second = _mm_loadu_si128((const __m128i *)(const void *)(data + pattern->second));
	__m256i bytes = _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
	bytes = _mm256_shuffle_epi8(bytes, pattern->shuffle);
	return _mm256_and_si256(_mm256_srlv_epi32(bytes, pattern->shifts), pattern->mask);
}

/* Four cells; those that are `null` become NULL. */
__attribute__((target("avx2"))) static inline void
put_cells(__m128i codes, __m256i min, bool has_escapes, __m256i null, int64_t *ret)
{
	const __m256i null_cell = _mm256_set1_epi64x(ORMA_CELL_NULL);
	__m256i cells = _mm256_add_epi64(_mm256_cvtepu32_epi64(codes), min);
	if (has_escapes)
		cells = _mm256_blendv_epi8(cells, null_cell, _mm256_cmpeq_epi64(cells, null));
	_mm256_storeu_si256((__m256i *)(void *)ret, cells);
}

__attribute__((target("avx2"))) static inline size_t
unpack_groups(const struct orma_block *block, size_t count, bool has_escapes, int64_t *ret)
{
	const struct pattern pattern = pattern_of(block, count);
	const __m256i min = _mm256_set1_epi64x(block->min);
	/* The last code but one. */
	const int64_t null_code = (int64_t)((UINT64_C(1) << block->width) - 2);
	const __m256i null = _mm256_add_epi64(min, _mm256_set1_epi64x(null_code));
	const uint8_t *data = block->data;
	for (size_t i = 0; i < pattern.groups; i++, data += pattern.width, ret += LANES) {
		__m256i codes = read_group(&pattern, data);
		put_cells(_mm256_castsi256_si128(codes), min, has_escapes, null, ret);
		put_cells(_mm256_extracti128_si256(codes, 1), min, has_escapes, null,
			  ret + LANES / 2);
	}
	return pattern.groups * LANES;
}

__attribute__((target("avx2"))) static size_t unpack(const struct orma_block *block, size_t count,
						     int64_t *ret)
{
	return block->flags & ORMA_BLOCK_HAS_ESCAPES ? unpack_groups(block, count, true, ret)
						     : unpack_groups(block, count, false, ret);
}

/* The number of times that `step` bytes can be passed, when each time the 16 bytes at `last` are read. */
static size_t count_steps(const struct orma_block *block, size_t count, size_t step, size_t last)
{
	size_t bytes = (count * block->width + 7) / 8 + PADDING;
	return bytes < last + LOAD_BYTES ? 0 : (bytes - last - LOAD_BYTES) / step + 1;
}

__attribute__((target("avx2"))) static inline __m256i
read_pair(const uint8_t *first, const uint8_t *second, __m256i shuffle)
{
	__m128i low = _mm_loadu_si128((const __m128i *)(const void *)first);
	__m128i high = _mm_loadu_si128((const __m128i *)(const void *)second);
	return _mm256_shuffle_epi8(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1),
				   shuffle);
}

/* The same 16 bytes in both halves. */
__attribute__((target("avx2"))) static inline __m256i twice(const void *bytes)
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128(bytes));
}

/* Finds a code of up to 9 bits, 32 codes at a time. Returns how many were looked at. */
__attribute__((target("avx2"))) static size_t find_short(const struct orma_block *block,
							 size_t count, uint32_t code, uint8_t *mask)
{
	size_t width = block->width, steps = count_steps(block, count, 4 * width, 3 * width);
	uint8_t bytes[LOAD_BYTES];
	uint16_t fields[LANES], wanted[LANES];
	for (size_t i = 0; i < LANES; i++) {
		size_t bit = i * width;
		bytes[2 * i] = (uint8_t)(bit / 8);
		bytes[2 * i + 1] = (uint8_t)(bit / 8 + 1);
		fields[i] = (uint16_t)(((1u << width) - 1) << bit % 8);
		wanted[i] = (uint16_t)(code << bit % 8);
	}
	const __m256i shuffle = twice(bytes), field = twice(fields), want = twice(wanted);
	const uint8_t *data = block->data;
	steps = steps < count / 32 ? steps : count / 32;
	for (size_t i = 0; i < steps; i++, data += 4 * width) {
		/* Packing takes eight lanes of each in turn, so the groups are read in the order 0, 2, 1, 3. */
		__m256i a = read_pair(data, data + 2 * width, shuffle);
		__m256i b = read_pair(data + width, data + 3 * width, shuffle);
		a = _mm256_cmpeq_epi16(_mm256_and_si256(a, field), want);
		b = _mm256_cmpeq_epi16(_mm256_and_si256(b, field), want);
		uint32_t bits = (uint32_t)_mm256_movemask_epi8(_mm256_packs_epi16(a, b));
		memcpy(mask + i * 4, &bits, sizeof(bits));
	}
	return steps * 32;
}

__attribute__((target("avx2"))) static inline uint8_t
match_group(const struct pattern *pattern, const uint8_t *data, __m256i lows, __m256i spans)
{
	__m256i distance = _mm256_sub_epi32(read_group(pattern, data), lows);
	__m256i fits = _mm256_cmpeq_epi32(_mm256_min_epu32(distance, spans), distance);
	return (uint8_t)_mm256_movemask_ps(_mm256_castsi256_ps(fits));
}

/* Finds a code of up to 14 bits, two groups at a time, while few pairs have it. Returns how many codes were looked at. */
__attribute__((target("avx2"))) static size_t find_rare(const struct orma_block *block,
							size_t count, uint32_t code, uint8_t *mask)
{
	const struct pattern pattern = pattern_of(block, count);
	const __m256i wanted = _mm256_set1_epi32((int)code), none = _mm256_setzero_si256();
	size_t width = block->width, steps = count_steps(block, count, 2 * width, width), found = 0;
	size_t i = 0;
	uint8_t bytes[LOAD_BYTES];
	uint64_t codes[2] = {0, 0}, tops[2] = {0, 0}, rests[2] = {0, 0};
	for (size_t n = 0; n < LOAD_BYTES; n++)
		bytes[n] = (uint8_t)(n / 8 * (FIELDS * width / 8) + n % 8);
	for (size_t n = 0; n < LANES; n++) {
		size_t bit = n * width - n / FIELDS * (FIELDS * width / 8 * 8);
		codes[n / FIELDS] |= (uint64_t)code << bit;
		tops[n / FIELDS] |= UINT64_C(1) << (bit + width - 1);
		rests[n / FIELDS] |= ((UINT64_C(1) << (width - 1)) - 1) << bit;
	}
	const __m256i shuffle = twice(bytes), want = twice(codes);
	const __m256i top = twice(tops), rest = twice(rests);
	const uint8_t *data = block->data;
	steps = steps < pattern.groups / 2 ? steps : pattern.groups / 2;
	for (; i < steps && found < FOUND_PAIRS_MAX; i++, data += 2 * width) {
		__m256i other = _mm256_xor_si256(read_pair(data, data + width, shuffle), want);
		/* Adding ones to the rest of a field carries into its top unless the rest is zero. */
		__m256i sums = _mm256_add_epi64(_mm256_and_si256(other, rest), rest);
		if (__builtin_expect(_mm256_testc_si256(_mm256_or_si256(sums, other), top), 1))
			continue;
		mask[2 * i] = match_group(&pattern, data, wanted, none);
		mask[2 * i + 1] = match_group(&pattern, data + width, wanted, none);
		found++;
	}
	return i * 2 * LANES;
}

__attribute__((target("avx2"))) static size_t match(const struct orma_block *block, size_t count,
						    uint32_t low, uint32_t span, uint8_t *mask)
{
	const struct pattern pattern = pattern_of(block, count);
	const __m256i lows = _mm256_set1_epi32((int)low), spans = _mm256_set1_epi32((int)span);
	size_t done = 0;
	if (span == 0 && block->width <= SHORT_WIDTH_MAX)
		done = find_short(block, count, low, mask);
	else if (span == 0 && block->width <= FIELD_WIDTH_MAX)
		done = find_rare(block, count, low, mask);
	for (size_t i = done / LANES; i < pattern.groups; i++)
		mask[i] = match_group(&pattern, block->data + i * pattern.width, lows, spans);
	return pattern.groups * LANES > done ? pattern.groups * LANES : done;
}

/* All bits of a lane are those of its bit in `bits`. */
__attribute__((target("avx2"))) static inline __m256i spread_bits(uint8_t bits)
{
	const __m256i lane_bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
	return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(bits), lane_bits), lane_bits);
}

__attribute__((target("avx2"))) static size_t sum(const struct orma_block *block, size_t count,
						  uint32_t limit, const uint8_t *mask,
						  uint64_t *ret_sum, uint64_t *ret_number)
{
	const struct pattern pattern = pattern_of(block, count);
	const __m256i limits = _mm256_set1_epi32((int)limit);
	const __m256i low_half = _mm256_set1_epi64x(UINT32_MAX);
	__m256i sums = _mm256_setzero_si256(), numbers = _mm256_setzero_si256();
	uint64_t parts[4];
	uint32_t counts[LANES];
	for (size_t i = 0; i < pattern.groups; i++) {
		__m256i codes = read_group(&pattern, block->data + i * pattern.width);
		/* A code has at most 25 bits, so signed comparison is right. */
		__m256i wanted =
			_mm256_and_si256(spread_bits(mask[i]), _mm256_cmpgt_epi32(limits, codes));
		codes = _mm256_and_si256(codes, wanted);
		numbers = _mm256_sub_epi32(numbers, wanted);
		sums = _mm256_add_epi64(sums, _mm256_and_si256(codes, low_half));
		sums = _mm256_add_epi64(sums, _mm256_srli_epi64(codes, 32));
	}
	_mm256_storeu_si256((__m256i *)(void *)parts, sums);
	_mm256_storeu_si256((__m256i *)(void *)counts, numbers);
	*ret_sum = parts[0] + parts[1] + parts[2] + parts[3];
	*ret_number = 0;
	for (size_t i = 0; i < LANES; i++)
		*ret_number += counts[i];
	return pattern.groups * LANES;
}

size_t orma_store_wide_unpack(const struct orma_block *block, size_t count, int64_t *ret)
{
	return block->width <= WIDTH_MAX && is_wide() ? unpack(block, count, ret) : 0;
}

size_t orma_store_wide_match(const struct orma_block *block, size_t count, uint32_t low,
			     uint32_t span, uint8_t *mask)
{
	return block->width <= WIDTH_MAX && is_wide() ? match(block, count, low, span, mask) : 0;
}

size_t orma_store_wide_sum(const struct orma_block *block, size_t count, uint32_t limit,
			   const uint8_t *mask, uint64_t *ret_sum, uint64_t *ret_number)
{
	return block->width <= WIDTH_MAX && is_wide()
		       ? sum(block, count, limit, mask, ret_sum, ret_number)
		       : 0;
}

#else

size_t orma_store_wide_unpack(const struct orma_block *block, size_t count, int64_t *ret)
{
	(void)block, (void)count, (void)ret;
	return 0;
}

size_t orma_store_wide_match(const struct orma_block *block, size_t count, uint32_t low,
			     uint32_t span, uint8_t *mask)
{
	(void)block, (void)count, (void)low, (void)span, (void)mask;
	return 0;
}

size_t orma_store_wide_sum(const struct orma_block *block, size_t count, uint32_t limit,
			   const uint8_t *mask, uint64_t *ret_sum, uint64_t *ret_number)
{
	(void)block, (void)count, (void)limit, (void)mask, (void)ret_sum, (void)ret_number;
	return 0;
}

#endif
