/* SPDX-License-Identifier: Apache-2.0
 * top_histogram.c - a log-linear histogram: each power of two has 16 buckets of equal width, and each value below 32 has
 * a bucket of its own.
 *
 *   bits of a value   1 s s s s x x x x      s: its part of the power; x: not kept
 *
 * A quantile is the middle of its bucket, whose half width is 1/32 of its values at most. Counts are exact, as is the
 * largest value.
 *
 * Rejected: keeping samples (their number is not bounded, or their tail is a matter of luck), t-digests and other sketches
 * (smaller, but adding costs more than the whole decoding of an event, and two of them do not merge exactly), and fixed
 * decimal digits (a division per value).
 */
#include "tool/top/top_histogram.h"

#include <math.h>

#include "base/macros.h"

enum { PARTS = 1 << ORMA_TOP_PART_BITS };

static unsigned bucket_of(uint64_t value)
{
	if (value < PARTS)
		return (unsigned)value;
	unsigned shift = 63 - (unsigned)__builtin_clzll(value) - ORMA_TOP_PART_BITS;
	return (shift + 1) * PARTS + (unsigned)(value >> shift & (PARTS - 1));
}

static uint64_t first_of(unsigned bucket)
{
	unsigned shift = bucket / PARTS;
	if (shift == 0)
		return bucket;
	return (uint64_t)(PARTS + bucket % PARTS) << (shift - 1);
}

static uint64_t middle_of(unsigned bucket)
{
	unsigned shift = bucket / PARTS;
	return first_of(bucket) + (shift > 1 ? UINT64_C(1) << (shift - 2) : 0);
}

static uint32_t add_saturated(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

void orma_top_histogram_add(struct orma_top_histogram *histogram, uint64_t value)
{
	uint32_t *bucket = &histogram->buckets[bucket_of(value)];
	*bucket = add_saturated(*bucket, 1);
	histogram->count++;
	histogram->sum += (double)value;
	histogram->max = ORMA_MAX(histogram->max, value);
}

void orma_top_histogram_merge(struct orma_top_histogram *histogram,
			      const struct orma_top_histogram *other)
{
	for (unsigned i = 0; i < ORMA_TOP_BUCKETS; i++)
		histogram->buckets[i] = add_saturated(histogram->buckets[i], other->buckets[i]);
	histogram->count += other->count;
	histogram->sum += other->sum;
	histogram->max = ORMA_MAX(histogram->max, other->max);
}

uint64_t orma_top_histogram_quantile(const struct orma_top_histogram *histogram, double share)
{
	/* The rank counts from 1. */
	uint64_t rank = (uint64_t)ceil(share * (double)histogram->count), seen = 0;
	if (rank >= histogram->count)
		return histogram->max;
	for (unsigned i = 0; i < ORMA_TOP_BUCKETS; i++) {
		seen += histogram->buckets[i];
		if (seen > 0 && seen >= rank)
			return ORMA_MIN(middle_of(i), histogram->max);
	}
	return histogram->max;
}

double orma_top_histogram_average(const struct orma_top_histogram *histogram)
{
	return histogram->count > 0 ? histogram->sum / (double)histogram->count : 0;
}

void orma_top_histogram_powers(const struct orma_top_histogram *histogram,
			       uint64_t ret[ORMA_TOP_POWERS])
{
	for (unsigned i = 0; i < ORMA_TOP_POWERS; i++)
		ret[i] = 0;
	for (unsigned i = 0; i < ORMA_TOP_BUCKETS; i++)
		ret[orma_top_power(first_of(i))] += histogram->buckets[i];
}
