/* SPDX-License-Identifier: Apache-2.0
 * perf_shares.c - a program whose functions five(), three() and two() take so many tenths of its time.
 * Its argument is the number of rounds, 6,000 if there is none.
 */
#include <stdlib.h>

static volatile double sum;

/* Equal code at equal alignment takes equal time. */
#define FUNCTION(name, count)                                                                      \
	__attribute__((noinline, aligned(64))) static void name(void)                              \
	{                                                                                          \
		for (int i = 0; i < (count); i++)                                                  \
			sum = sum + i * 0.5;                                                       \
	}

FUNCTION(five, 50000)
FUNCTION(three, 30000)
FUNCTION(two, 20000)

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 6000;

	for (int i = 0; i < rounds; i++) {
		five();
		three();
		two();
	}
	return 0;
}
