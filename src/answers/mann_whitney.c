/* SPDX-License-Identifier: Apache-2.0
 * mann_whitney.c - ranks of all values, the sum of one group's ranks, and how often chance makes such a sum.
 */
#include "answers/mann_whitney.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { EXACT_MAX = 10, SUMS = 2 * EXACT_MAX * (2 * EXACT_MAX + 1) + 1 };

struct ranked {
	double value;
	bool is_first; /* it belongs to the first group */
	size_t doubled_rank;
};

static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* Returns the sum of the first group's ranks; equal values share the mean of theirs. `*ret_ties` is the sum of t^3 - t of
 * the sizes of such sets. */
static double rank(struct ranked *all, size_t count, double *ret_ties)
{
	double sum = 0;
	*ret_ties = 0;
	qsort(all, count, sizeof(*all), compare);
	for (size_t i = 0; i < count;) {
		size_t end = i + 1;
		while (end < count && !(all[end].value > all[i].value))
			end++;
		double size = (double)(end - i), mean = ((double)i + 1 + (double)end) / 2;
		*ret_ties += size * size * size - size;
		for (; i < end; i++) {
			all[i].doubled_rank = (size_t)(2 * mean + 0.5);
			sum += all[i].is_first ? mean : 0;
		}
	}
	return sum;
}

/*
 * How often the ranks of `chosen` values, which chance picks from all, have a sum of at most `limit`, and of at least that.
 * Ranks are doubled, so that the means of ties are integers. ways[k][s] counts the choices of k values with the sum s; each
 * value in turn is added to the choices that lack it.
 */
static void count_sums(const struct ranked *all, size_t count, size_t chosen, size_t limit,
		       double *ret_low, double *ret_high)
{
	double ways[EXACT_MAX + 1][SUMS] = {{0}};
	size_t sums = count * (count + 1) + 1;
	double total = 0, low = 0, high = 0;
	ways[0][0] = 1;
	for (size_t i = 0; i < count; i++)
		for (size_t k = i < chosen ? i + 1 : chosen; k > 0; k--)
			for (size_t sum = sums - 1; sum >= all[i].doubled_rank; sum--)
				ways[k][sum] += ways[k - 1][sum - all[i].doubled_rank];
	for (size_t sum = 0; sum < sums; sum++) {
		total += ways[chosen][sum];
		low += sum <= limit ? ways[chosen][sum] : 0;
		high += sum >= limit ? ways[chosen][sum] : 0;
	}
	*ret_low = low / total;
	*ret_high = high / total;
}

static double exact(const struct ranked *all, double rank_sum, size_t a_count, size_t b_count)
{
	double low, high;
	count_sums(all, a_count + b_count, a_count, (size_t)(2 * rank_sum + 0.5), &low, &high);
	double p = 2 * (low < high ? low : high);
	return p < 1 ? p : 1;
}

static double approximate(double rank_sum, double ties, double a_count, double b_count)
{
	double count = a_count + b_count;
	double u = rank_sum - a_count * (a_count + 1) / 2;
	double variance = a_count * b_count / 12 * (count + 1 - ties / (count * (count - 1)));
	double distance = fabs(u - a_count * b_count / 2) - 0.5;
	if (!(variance > 0) || distance <= 0)
		return 1; /* all values are equal, or the groups could not be more alike */
	return erfc(distance / sqrt(variance) / sqrt(2));
}

double orma_mann_whitney(const double *a, size_t a_count, const double *b, size_t b_count)
{
	struct ranked all[2 * ORMA_RUNS_MAX];
	double ties;
	if (a_count < 2 || b_count < 2 || a_count > ORMA_RUNS_MAX || b_count > ORMA_RUNS_MAX)
		return NAN;
	for (size_t i = 0; i < a_count; i++)
		all[i] = (struct ranked){a[i], true, 0};
	for (size_t i = 0; i < b_count; i++)
		all[a_count + i] = (struct ranked){b[i], false, 0};
	double sum = rank(all, a_count + b_count, &ties);
	bool is_small = a_count <= EXACT_MAX && b_count <= EXACT_MAX;
	return is_small ? exact(all, sum, a_count, b_count)
			: approximate(sum, ties, (double)a_count, (double)b_count);
}

double orma_mann_whitney_least(size_t a_count, size_t b_count)
{
	double ways = 1;
	for (size_t i = 1; i <= a_count; i++)
		ways *= (double)(b_count + i) / (double)i;
	return ways > 2 ? 2 / ways : 1;
}
