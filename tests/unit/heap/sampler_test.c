/* SPDX-License-Identifier: Apache-2.0
 * sampler_test.c - sampled allocations estimate what was allocated, at every size and interval, and for each session.
 */
#include <math.h>

#include "harness.h"
#include "heap/heap_thread.h"
#include "heap/sampler.h"

ORMA_TEST(the_functions_agree_with_libm)
{
	for (double x = 1e-12; x < 1e6; x *= 1.037) {
		CHECK(fabs(orma_heap_exp_minus(x) - exp(-x)) <= 1e-9);
		CHECK(fabs(orma_heap_minus_ln(x) + log(x)) <= 1e-9 * (1 + fabs(log(x))));
	}
	CHECK(orma_heap_exp_minus(0) == 1);
	CHECK(orma_heap_exp_minus(1e9) == 0);
}

struct thread {
	uint64_t random;
	struct orma_heap_countdown countdown;
};

/* Does what the hooks do with one allocation. Returns how many points hit it. */
static uint64_t allocate(struct thread *thread, uint64_t mean, uint64_t size)
{
	uint64_t points = thread->countdown.ends_at_point, fresh;

	thread->countdown.left -= (int64_t)size;
	if (thread->countdown.left >= 0)
		return 0;
	fresh = (uint64_t) - (thread->countdown.left + (int64_t)points);
	return points + orma_heap_draw(&thread->random, mean, fresh, &thread->countdown);
}

static double weight(uint64_t mean, uint64_t size)
{
	return (double)size / (1 - exp(-(double)size / (double)mean));
}

/* Returns by how many standard deviations the estimate of `count` blocks is wrong. */
static double error_of(uint64_t seed, uint64_t mean, uint64_t size, unsigned count)
{
	struct thread thread = {.random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1};
	double p = 1 - exp(-(double)size / (double)mean), sampled = 0;

	orma_heap_draw(&thread.random, mean, 0, &thread.countdown);
	for (unsigned i = 0; i < count; i++)
		sampled += allocate(&thread, mean, size) > 0;
	return (sampled * weight(mean, size) - (double)size * count) /
	       (weight(mean, size) * sqrt(count * p * (1 - p)));
}

ORMA_TEST(estimates_are_within_three_sigma_for_997_of_1000_seeds)
{
	static const uint64_t means[] = {2, 64, 4096, 524288, UINT64_C(8) << 20};
	static const uint64_t sizes[] = {1, 16, 100, 5000, 300000, UINT64_C(3) << 20};

	for (size_t i = 0; i < sizeof(means) / sizeof(means[0]); i++) {
		for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
			double p = 1 - exp(-(double)sizes[j] / (double)means[i]), sum = 0;
			/* Enough for a normal distribution, if that takes no minutes. */
			double count = 40 / (p < 0.5 ? p : 1 - p);
			unsigned far = 0;

			if (count > 3000)
				continue;
			for (uint64_t seed = 1; seed <= 100; seed++) {
				double error =
					error_of(seed, means[i], sizes[j], (unsigned)count + 1);

				far += fabs(error) > 3;
				sum += error;
			}
			if (far > 3 || fabs(sum) > 40)
				orma_test_fail(__FILE__, __LINE__,
					       "mean %llu, size %llu: %u far, sum %f",
					       (unsigned long long)means[i],
					       (unsigned long long)sizes[j], far, sum);
		}
	}
}

ORMA_TEST(a_block_of_many_intervals_is_sampled_for_certain)
{
	struct thread thread = {.random = 7};

	orma_heap_draw(&thread.random, 4096, 0, &thread.countdown);
	for (unsigned i = 0; i < 1000; i++)
		CHECK(allocate(&thread, 4096, UINT64_C(1) << 40) > 0);
	CHECK(thread.countdown.left >= 0);
}

ORMA_TEST(no_countdown_is_longer_than_a_step)
{
	struct thread thread = {.random = 7};

	for (unsigned i = 0; i < 1000; i++) {
		orma_heap_draw(&thread.random, UINT64_C(1) << 40, 0, &thread.countdown);
		CHECK(thread.countdown.left >= 0 && thread.countdown.left <= ORMA_HEAP_STEP_BYTES);
	}
}

/* Two sessions share the points of the smaller interval. */
ORMA_TEST(a_session_with_a_larger_interval_keeps_its_share)
{
	static const uint64_t cases[][3] = {
		/* mean, larger mean, size */
		{1, 64, 16},          {2, 2000, 50},           {4096, 524288, 16},
		{4096, 16384, 20000}, {4096, 1 << 20, 300000}, {100, 150, 70},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t mean = cases[i][0], larger = cases[i][1], size = cases[i][2];
		struct thread thread = {.random = 99 + i};
		double p = 1 - exp(-(double)size / (double)larger), kept = 0;
		unsigned count = (unsigned)(1000 / p);

		if (mean > 1)
			orma_heap_draw(&thread.random, mean, 0, &thread.countdown);
		for (unsigned j = 0; j < count; j++) {
			uint64_t points = mean == 1 ? size : allocate(&thread, mean, size);

			kept += points > 0 && orma_heap_thin(&thread.random, mean, larger, size);
		}
		if (fabs(kept - p * count) > 4 * sqrt(count * p * (1 - p)) + 1)
			orma_test_fail(__FILE__, __LINE__, "case %zu: kept %f of %f", i, kept,
				       p * count);
	}
}
