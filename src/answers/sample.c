/* SPDX-License-Identifier: Apache-2.0
 * sample.c - a reservoir: each value that is added has the same chance to be kept.
 *
 * The random numbers begin with a constant, so that the same trace gives the same answer. The percentile of 65,536 values
 * that were chosen at random is that of all values give or take 0.1 percent of the ranks. Rejected: every n-th value, which
 * is wrong for values that alternate; a histogram, which is inexact for few values too.
 */
#include "answers/sample.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"

enum { CAPACITY_MIN = 16 };

void orma_sample_done(struct orma_sample *sample)
{
	orma_base_free(sample->values);
	*sample = (struct orma_sample){0};
}

static uint64_t next_random(struct orma_sample *sample)
{
	sample->random = sample->random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return sample->random >> 16;
}

int orma_sample_add(struct orma_sample *sample, int64_t value)
{
	uint64_t place = sample->count;
	if (sample->count >= ORMA_SAMPLE_MAX) {
		place = next_random(sample) % (sample->count + 1);
	} else if (sample->count == sample->capacity) {
		uint32_t capacity = ORMA_MAX(sample->capacity * 2, (uint32_t)CAPACITY_MIN);
		int64_t *values =
			orma_base_realloc_array(sample->values, capacity, sizeof(*values));
		if (!values)
			return -ENOMEM;
		sample->values = values;
		sample->capacity = capacity;
	}
	sample->count++;
	if (place < ORMA_SAMPLE_MAX)
		sample->values[place] = value;
	sample->kept += sample->kept < ORMA_SAMPLE_MAX;
	return 0;
}

/* Moves the value that has this place in ascending order there. Each round of Hoare's selection narrows [low, high]. */
static int64_t select_place(int64_t *values, int64_t low, int64_t high, int64_t place)
{
	while (low < high) {
		int64_t pivot = values[low + (high - low) / 2], left = low, right = high;
		while (left <= right) {
			while (values[left] < pivot)
				left++;
			while (values[right] > pivot)
				right--;
			if (left > right)
				break;
			int64_t value = values[left];
			values[left++] = values[right];
			values[right--] = value;
		}
		if (place <= right)
			high = right;
		else if (place >= left)
			low = left;
		else
			break;
	}
	return values[place];
}

int64_t orma_sample_quantile(struct orma_sample *sample, unsigned per_mille)
{
	if (sample->kept == 0)
		return 0;
	uint64_t rank = ((uint64_t)sample->kept * per_mille + 999) / 1000;
	int64_t place = (int64_t)(rank > 0 ? rank - 1 : 0);
	return select_place(sample->values, 0, (int64_t)sample->kept - 1, place);
}
