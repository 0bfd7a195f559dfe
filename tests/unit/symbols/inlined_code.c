/* SPDX-License-Identifier: Apache-2.0
 * inlined_code.c - functions that are inlined into each other, compiled with optimisation and debugging information.
 */
#include "inlined_code.h"

__attribute__((noinline)) static int not_inlined(int value)
{
	__asm__ volatile("" ::: "memory");
	return value * 3 + 1;
}

static inline __attribute__((always_inline)) int inner(int value)
{
	int sum = not_inlined(value);

	for (int i = 0; i < value; i++)
		sum += not_inlined(i);
	return sum;
}

static inline __attribute__((always_inline)) int outer(int value)
{
	if (value > 2)
		return inner(value) + inner(value - 1);
	return inner(2);
}

int orma_test_inlined_code(int value)
{
	int sum = outer(value);

	return sum + outer(value + not_inlined(sum));
}

int orma_test_inlined_code_end(void)
{
	return 0;
}
