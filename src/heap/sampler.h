/* SPDX-License-Identifier: Apache-2.0
 * sampler.h - which allocations are sampled: a Poisson process over the bytes that a thread allocates.
 *
 * Each byte is hit by a point with a probability of 1 - exp(-1 / mean), independently. An allocation is sampled if at
 * least one of its bytes is hit. The probability of that is 1 - exp(-size / mean). The size of a sampled allocation divided
 * by this probability is an unbiased estimate of all bytes allocated. With a mean of 1 every allocation is sampled, and
 * counts with its size.
 *
 * Threads: any, also in signal handlers. The caller owns the state of the generator.
 */
#ifndef ORMA_HEAP_SAMPLER_H
#define ORMA_HEAP_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

/* exp(-x) and -ln(x): within 1e-9 of the true value, without libm. x is at least 0, and above 0. */
double orma_heap_exp_minus(double x);
double orma_heap_minus_ln(double x);

struct orma_heap_countdown {
	int64_t left;       /* bytes before the next look */
	bool ends_at_point; /* the byte after them is hit */
};

/*
 * Draws the sampling points in the last `fresh` bytes of an allocation, and then the next countdown. Returns the number of points. The
 * mean distance of two points is `mean` bytes, at least 2. `random` is the state of the generator, and never 0.
 */
uint64_t orma_heap_draw(uint64_t *random, uint64_t mean, uint64_t fresh,
			struct orma_heap_countdown *ret);

/* Decides if an allocation that was sampled with `mean` is also sampled with a larger mean. */
bool orma_heap_thin(uint64_t *random, uint64_t mean, uint64_t larger_mean, uint64_t size);

#endif
