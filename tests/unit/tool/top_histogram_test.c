/* SPDX-License-Identifier: Apache-2.0
 * top_histogram_test.c - quantiles against those of sorted values, and the limits of 64 bits.
 */
#include "tool/top/top_histogram.h"

#include <math.h>

#include "harness.h"

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* xorshift: the same values in each run. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

ORMA_TEST(quantiles_are_wrong_by_a_thirty_second_at_most)
{
	static const double shares[] = {0, 0.1, 0.5, 0.9, 0.99, 0.999};
	static uint64_t values[5000];
	enum { COUNT = sizeof(values) / sizeof(values[0]) };
	uint64_t state = 88172645463325252u;
	for (unsigned magnitude = 1; magnitude < 64; magnitude++) {
		struct orma_top_histogram histogram = {0};
		for (size_t i = 0; i < COUNT; i++) {
			values[i] = next_random(&state) >> (next_random(&state) % magnitude);
			values[i] >>= 64 - magnitude - 1;
			orma_top_histogram_add(&histogram, values[i]);
		}
		qsort(values, COUNT, sizeof(values[0]), compare);
		for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
			size_t rank = (size_t)ceil(shares[i] * COUNT);
			double exact = (double)values[rank > 0 ? rank - 1 : 0];
			double found = (double)orma_top_histogram_quantile(&histogram, shares[i]);
			double error = found > exact ? found - exact : exact - found;
			CHECK(error <= exact / 32);
		}
		CHECK(orma_top_histogram_quantile(&histogram, 1) == values[COUNT - 1]);
		CHECK(histogram.max == values[COUNT - 1]);
	}
}

ORMA_TEST(small_values_have_buckets_of_their_own)
{
	for (uint64_t value = 0; value < 32; value++) {
		struct orma_top_histogram histogram = {0};
		orma_top_histogram_add(&histogram, value);
		orma_top_histogram_add(&histogram, 100);
		CHECK_INT(orma_top_histogram_quantile(&histogram, 0.5), value);
	}
}

ORMA_TEST(the_largest_value_has_a_bucket)
{
	struct orma_top_histogram histogram = {0};
	orma_top_histogram_add(&histogram, UINT64_MAX);
	orma_top_histogram_add(&histogram, 0);
	CHECK_INT(histogram.buckets[ORMA_TOP_BUCKETS - 1], 1);
	CHECK_INT(histogram.buckets[0], 1);
	CHECK(orma_top_histogram_quantile(&histogram, 0.99) > UINT64_MAX / 32 * 31);
}

ORMA_TEST(an_empty_histogram_has_zeros)
{
	const struct orma_top_histogram empty = {0};
	CHECK_INT(orma_top_histogram_quantile(&empty, 0.99), 0);
	CHECK(orma_top_histogram_average(&empty) == 0);
}

ORMA_TEST(a_merged_histogram_is_that_of_all_values)
{
	struct orma_top_histogram all = {0}, odd = {0}, even = {0};
	for (uint64_t value = 0; value < 100000; value += 7) {
		orma_top_histogram_add(&all, value * value);
		orma_top_histogram_add(value % 2 ? &odd : &even, value * value);
	}
	orma_top_histogram_merge(&odd, &even);
	CHECK(memcmp(odd.buckets, all.buckets, sizeof(all.buckets)) == 0);
	CHECK_INT(odd.count, all.count);
	CHECK(odd.max == all.max);
	CHECK(orma_top_histogram_average(&odd) > orma_top_histogram_average(&all) * 0.999999);
}

ORMA_TEST(counts_of_a_bucket_stay_at_the_largest)
{
	struct orma_top_histogram a = {.count = UINT32_MAX, .buckets[3] = UINT32_MAX};
	orma_top_histogram_add(&a, 3);
	CHECK_INT(a.buckets[3], UINT32_MAX);
	orma_top_histogram_merge(&a, &a);
	CHECK_INT(a.buckets[3], UINT32_MAX);
}

ORMA_TEST(powers_of_two_are_counted)
{
	struct orma_top_histogram histogram = {0};
	uint64_t powers[ORMA_TOP_POWERS];
	const uint64_t values[] = {0, 1, 2, 3, 4, 1023, 1024, UINT64_MAX};
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		orma_top_histogram_add(&histogram, values[i]);
	orma_top_histogram_powers(&histogram, powers);
	CHECK_INT(powers[0], 1);
	CHECK_INT(powers[1], 1);
	CHECK_INT(powers[2], 2);
	CHECK_INT(powers[3], 1);
	CHECK_INT(powers[10], 1);
	CHECK_INT(powers[11], 1);
	CHECK_INT(powers[64], 1);
}
