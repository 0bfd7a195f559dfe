/* SPDX-License-Identifier: Apache-2.0
 * sample_test.c - percentiles are exact for few values, and close for many.
 */
#include "answers/sample.h"
#include "harness.h"

static struct orma_sample sample_of(int64_t count, int64_t factor)
{
	struct orma_sample sample = {0};
	/* In an order that is neither ascending nor descending. */
	for (int64_t i = 0; i < count; i++)
		CHECK_INT(orma_sample_add(&sample, i * 7919 % count * factor), 0);
	return sample;
}

ORMA_TEST(percentiles_of_few_values_are_values)
{
	struct orma_sample sample = sample_of(1000, 3);
	CHECK_INT(orma_sample_quantile(&sample, 500), 499 * 3);
	CHECK_INT(orma_sample_quantile(&sample, 990), 989 * 3);
	CHECK_INT(orma_sample_quantile(&sample, 1000), 999 * 3);
	CHECK_INT(orma_sample_quantile(&sample, 0), 0);
	CHECK_INT(orma_sample_quantile(&sample, 1), 0);
	orma_sample_done(&sample);
}

ORMA_TEST(a_sample_of_one_or_no_value_has_percentiles)
{
	struct orma_sample sample = {0};
	CHECK_INT(orma_sample_quantile(&sample, 990), 0);
	CHECK_INT(orma_sample_add(&sample, -5), 0);
	CHECK_INT(orma_sample_quantile(&sample, 500), -5);
	CHECK_INT(orma_sample_quantile(&sample, 1000), -5);
	orma_sample_done(&sample);
}

ORMA_TEST(equal_values_are_their_own_percentiles)
{
	struct orma_sample sample = {0};
	for (int i = 0; i < 500; i++)
		CHECK_INT(orma_sample_add(&sample, 4), 0);
	CHECK_INT(orma_sample_quantile(&sample, 10), 4);
	CHECK_INT(orma_sample_quantile(&sample, 990), 4);
	orma_sample_done(&sample);
}

/* Half of the values are small and half are large, by turns: a sample of each n-th value would miss one half. */
ORMA_TEST(percentiles_of_many_values_are_close_and_memory_is_bounded)
{
	struct orma_sample sample = {0};
	for (int64_t i = 0; i < 1000000; i++)
		CHECK_INT(orma_sample_add(&sample, i % 2 ? i : -i), 0);
	CHECK_INT(sample.count, 1000000);
	CHECK_INT(sample.kept, ORMA_SAMPLE_MAX);
	CHECK_INT(sample.capacity, ORMA_SAMPLE_MAX);
	int64_t quarter = orma_sample_quantile(&sample, 250);
	CHECK(quarter > -510000 && quarter < -490000);
	int64_t most = orma_sample_quantile(&sample, 990);
	CHECK(most > 978000 && most < 982000);
	orma_sample_done(&sample);
}

ORMA_TEST(a_sample_reports_that_memory_is_short)
{
	struct orma_sample sample = {0};
	orma_test_fail_allocation(1);
	CHECK_INT(orma_sample_add(&sample, 1), -ENOMEM);
	CHECK_INT(sample.count, 0);
	CHECK_INT(orma_sample_add(&sample, 1), 0);
	CHECK_INT(orma_sample_quantile(&sample, 500), 1);
	orma_sample_done(&sample);
}
