/* SPDX-License-Identifier: Apache-2.0
 * perf_shares.c - a program whose functions five(), three() and two() take so many tenths of its time.
 */
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

int main(void)
{
	for (int i = 0; i < 6000; i++) {
		five();
		three();
		two();
	}
	return 0;
}
