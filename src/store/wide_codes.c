/* SPDX-License-Identifier: Apache-2.0
 * wide_codes.c - AVX2: the bytes of each code are brought to a lane of 32 bits, shifted by what the code is off its byte, and
 * masked.
 *
 * Eight codes take as many bytes as a code has bits, so the same shuffle and shifts serve all groups of eight. A group is
 * read as two halves of four codes and 16 bytes each; groups at the end, behind which there are fewer bytes, are left
 * to the caller. A code of up to 25 bits lies in four bytes wherever it begins.
 */
#include "store/wide_codes.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <stdbool.h>

enum {
	LANES = 8,
	WIDTH_MAX = 25,
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

__attribute__((target("avx2"))) static size_t unpack(const struct orma_block *block, size_t count,
						     int64_t *ret)
{
	const struct pattern pattern = pattern_of(block, count);
	const __m256i min = _mm256_set1_epi64x(block->min);
	const uint8_t *data = block->data;
	for (size_t i = 0; i < pattern.groups; i++, data += pattern.width, ret += LANES) {
		__m256i codes = read_group(&pattern, data);
		__m256i low = _mm256_cvtepu32_epi64(_mm256_castsi256_si128(codes));
		__m256i high = _mm256_cvtepu32_epi64(_mm256_extracti128_si256(codes, 1));
		_mm256_storeu_si256((__m256i *)(void *)ret, _mm256_add_epi64(low, min));
		_mm256_storeu_si256((__m256i *)(void *)(ret + LANES / 2),
				    _mm256_add_epi64(high, min));
	}
	return pattern.groups * LANES;
}

__attribute__((target("avx2"))) static size_t match(const struct orma_block *block, size_t count,
						    uint32_t low, uint32_t span, uint8_t *mask)
{
	const struct pattern pattern = pattern_of(block, count);
	const __m256i lows = _mm256_set1_epi32((int)low), spans = _mm256_set1_epi32((int)span);
	const uint8_t *data = block->data;
	for (size_t i = 0; i < pattern.groups; i++, data += pattern.width) {
		__m256i distance = _mm256_sub_epi32(read_group(&pattern, data), lows);
		__m256i fits = _mm256_cmpeq_epi32(_mm256_min_epu32(distance, spans), distance);
		mask[i] = (uint8_t)_mm256_movemask_ps(_mm256_castsi256_ps(fits));
	}
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

#endif
