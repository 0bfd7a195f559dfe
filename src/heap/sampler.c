/* SPDX-License-Identifier: Apache-2.0
 * sampler.c - draws the distances between sampling points, and thins them for sessions with a larger interval.
 *
 * Distances are drawn at most one step ahead, so that a thread notices a new session soon. This is exact, because the exponential
 * distribution has no memory: a distance beyond the step can be drawn again at the end of the step.
 *
 * Several sessions share one process of points, with the smallest of their intervals. A session with a larger interval keeps a
 * sample with the ratio of the two probabilities. So it gets as many samples as from a process of its own.
 *
 * Rejected: one generator for all threads, because it needs a lock; a countdown per session, because each allocation would need a
 * look-up for each session; libm, because the profiled program may not have loaded it.
 */
#include "heap/sampler.h"

#include "base/macros.h"
#include "heap/heap_thread.h"

/* For an allocation of more means or steps than this, one number decides whether it is hit, instead of one for each distance. */
#define SINGLE_MEANS 4
#define SINGLE_STEPS 64

static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* Returns 2^-53 to 1. */
static double random_unit(uint64_t *state)
{
	return (double)((next_random(state) >> 11) + 1) * 0x1p-53;
}

double orma_heap_exp_minus(double x)
{
	double sum = 1, term = 1;
	unsigned halvings = 0;

	if (x > 700)
		return 0;
	for (; x > 0.25; halvings++)
		x /= 2;
	for (unsigned i = 1; i <= 8; i++) {
		term *= -x / i;
		sum += term;
	}
	while (halvings-- > 0)
		sum *= sum;
	return sum;
}

double orma_heap_minus_ln(double x)
{
	const double ln2 = 0.69314718055994530942, sqrt2 = 1.41421356237309504880;
	union {
		double number;
		uint64_t bits;
	} value = {.number = x};
	int exponent = (int)(value.bits >> 52 & 0x7ff) - 1023;
	double t, square, sum;

	value.bits = (value.bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
	if (value.number > sqrt2) {
		value.number /= 2;
		exponent++;
	}
	/* ln(m) = 2 artanh((m - 1) / (m + 1)), where the argument is below 0.172. */
	t = (value.number - 1) / (value.number + 1);
	square = t * t;
	sum = 1.0 / 13;
	sum = sum * square + 1.0 / 11;
	sum = sum * square + 1.0 / 9;
	sum = sum * square + 1.0 / 7;
	sum = sum * square + 1.0 / 5;
	sum = sum * square + 1.0 / 3;
	sum = sum * square + 1;
	return -(exponent * ln2 + 2 * t * sum);
}

uint64_t orma_heap_draw(uint64_t *random, uint64_t mean, uint64_t fresh,
			struct orma_heap_countdown *ret)
{
	uint64_t points = 0;

	if (fresh / SINGLE_MEANS >= mean ||
	    fresh / SINGLE_STEPS >= (uint64_t)ORMA_HEAP_STEP_BYTES) {
		double missed = orma_heap_exp_minus((double)fresh / (double)mean);

		points = random_unit(random) > missed ? ORMA_MAX(fresh / mean, UINT64_C(1)) : 0;
		fresh = 0;
	}
	for (;;) {
		double distance = orma_heap_minus_ln(random_unit(random)) * (double)mean;
		bool is_point = distance < (double)ORMA_HEAP_STEP_BYTES;
		uint64_t left = is_point ? (uint64_t)distance : ORMA_HEAP_STEP_BYTES;

		if (left >= fresh) {
			*ret = (struct orma_heap_countdown){(int64_t)(left - fresh), is_point};
			return points;
		}
		/* The byte after a distance is hit. After a full step, the next distance is drawn again. */
		fresh -= left + is_point;
		points += is_point;
	}
}

static double probability(uint64_t mean, uint64_t size)
{
	return mean <= 1 ? 1 : 1 - orma_heap_exp_minus((double)size / (double)mean);
}

bool orma_heap_thin(uint64_t *random, uint64_t mean, uint64_t larger_mean, uint64_t size)
{
	return larger_mean <= mean ||
	       random_unit(random) * probability(mean, size) <= probability(larger_mean, size);
}
