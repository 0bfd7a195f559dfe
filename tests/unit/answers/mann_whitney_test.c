/* SPDX-License-Identifier: Apache-2.0
 * mann_whitney_test.c - the test of significance gives the results of statistics programs.
 */
#include "answers/mann_whitney.h"

#include <math.h>

#include "harness.h"

#define NEAR(value, expected) CHECK(fabs((value) - (expected)) < 1e-9)

/* The example of SciPy's documentation of mannwhitneyu(): U = 17, exactly p = 1/9. */
ORMA_TEST(small_groups_are_exact)
{
	static const double males[] = {19, 22, 16, 29, 24}, females[] = {20, 11, 17, 12};
	NEAR(orma_mann_whitney(males, 5, females, 4), 1.0 / 9);
	NEAR(orma_mann_whitney(females, 4, males, 5), 1.0 / 9);
}

ORMA_TEST(groups_that_do_not_overlap_have_the_least_p)
{
	static const double low[] = {1, 2, 3, 4, 5}, high[] = {6, 7, 8, 9, 10};
	NEAR(orma_mann_whitney(low, 5, high, 5), 2.0 / 252);
	NEAR(orma_mann_whitney(high, 5, low, 5), 2.0 / 252);
	NEAR(orma_mann_whitney(low, 3, high, 3), 0.1);
	NEAR(orma_mann_whitney_least(5, 5), 2.0 / 252);
	NEAR(orma_mann_whitney_least(3, 3), 0.1);
	NEAR(orma_mann_whitney_least(2, 1), 2.0 / 3);
}

/* The ranks are 1, 3, 3, 3, 5, 6, 7.5, 7.5, and 4 of the 70 ways to choose four of them have a sum of at most 12. */
ORMA_TEST(ties_in_small_groups_are_exact)
{
	static const double a[] = {1, 2, 2, 3}, b[] = {2, 4, 5, 5};
	NEAR(orma_mann_whitney(a, 4, b, 4), 2 * 4.0 / 70);
}

/* U = 33.5, and the sum of t^3 - t of the ties is 138. */
ORMA_TEST(ties_in_large_groups_are_corrected_for)
{
	static const double a[] = {1, 2, 2, 3, 3, 3, 4, 5, 6, 7, 8, 9},
			    b[] = {3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 11, 12};
	NEAR(orma_mann_whitney(a, 12, b, 12), 0.0274552424219238);
}

/* U is counted by comparing all pairs, which ranks must agree with. */
ORMA_TEST(large_groups_use_the_normal_distribution)
{
	double a[25], b[25];
	for (int i = 0; i < 25; i++) {
		a[i] = i + 1;
		b[i] = i + 6.5;
	}
	double variance = 25.0 * 25 / 12 * 51, u = 0;
	for (int i = 0; i < 25; i++)
		for (int k = 0; k < 25; k++)
			u += a[i] > b[k];
	NEAR(orma_mann_whitney(a, 25, b, 25),
	     erfc((fabs(u - 312.5) - 0.5) / sqrt(variance) / sqrt(2)));
}

ORMA_TEST(equal_values_do_not_differ)
{
	static const double a[] = {4, 4, 4}, b[] = {4, 4, 4, 4};
	NEAR(orma_mann_whitney(a, 3, b, 4), 1);
	NEAR(orma_mann_whitney(a, 3, a, 3), 1);
}

ORMA_TEST(groups_that_are_too_small_have_no_result)
{
	static const double a[] = {1, 2}, b[] = {3};
	CHECK(isnan(orma_mann_whitney(a, 2, b, 1)));
	CHECK(isnan(orma_mann_whitney(b, 0, a, 2)));
	CHECK(!isnan(orma_mann_whitney(a, 2, a, 2)));
}
