/* SPDX-License-Identifier: Apache-2.0
 * top_histogram.h - how often which values occurred, in memory of one size.
 */
#ifndef ORMA_TOOL_TOP_HISTOGRAM_H
#define ORMA_TOOL_TOP_HISTOGRAM_H

#include <stdint.h>

enum {
	ORMA_TOP_PART_BITS = 4, /* each power of two is divided into 16 parts */
	ORMA_TOP_BUCKETS = (64 - ORMA_TOP_PART_BITS + 1) << ORMA_TOP_PART_BITS,
	ORMA_TOP_POWERS = 65, /* 0, 1, 2..3, 4..7, and so on */
};

/* {0} is empty. */
struct orma_top_histogram {
	uint64_t count, max;
	double sum;
	uint32_t buckets[ORMA_TOP_BUCKETS]; /* their sum is `count` */
};

void orma_top_histogram_add(struct orma_top_histogram *histogram, uint64_t value);
void orma_top_histogram_merge(struct orma_top_histogram *histogram,
			      const struct orma_top_histogram *other);
/* The least value that `share` of all values (0.5: half of them) do not exceed, wrong by 1/32 of it at most; 0 if there is none. */
uint64_t orma_top_histogram_quantile(const struct orma_top_histogram *histogram, double share);
double orma_top_histogram_average(const struct orma_top_histogram *histogram); /* 0 if empty */

/* The number of bits of a value, which is its power: 0 for 0, 1 for 1, 2 for 2 and 3. */
static inline unsigned orma_top_power(uint64_t value)
{
	return value == 0 ? 0 : 64 - (unsigned)__builtin_clzll(value);
}
/* Counts values by their power. */
void orma_top_histogram_powers(const struct orma_top_histogram *histogram,
			       uint64_t ret[ORMA_TOP_POWERS]);

#endif
