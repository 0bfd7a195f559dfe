/* SPDX-License-Identifier: Apache-2.0
 * sample.h - percentiles of any number of values in bounded memory.
 */
#ifndef ORMA_ANSWERS_SAMPLE_H
#define ORMA_ANSWERS_SAMPLE_H

#include <stdint.h>

/* So many values are kept: up to here percentiles are exact, and beyond they are those of a random choice. */
enum { ORMA_SAMPLE_MAX = 1 << 16 };

/* {0} is empty. */
struct orma_sample {
	int64_t *values; /* in any order */
	uint32_t kept, capacity;
	uint64_t count;
	uint64_t random;
};

void orma_sample_done(struct orma_sample *sample);
/* 0 or -ENOMEM. */
int orma_sample_add(struct orma_sample *sample, int64_t value);
/* Returns the smallest value that at least `per_mille` of 1,000 values do not exceed; 0 when there are none. */
int64_t orma_sample_quantile(struct orma_sample *sample, unsigned per_mille);

#endif
