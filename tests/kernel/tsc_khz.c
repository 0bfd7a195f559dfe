/* SPDX-License-Identifier: Apache-2.0
 * tsc_khz.c - prints the frequency of this machine's time stamp counter in kHz, and nothing where there is none.
 *
 * A guest under QEMU without acceleration has the same counter. Its kernel would measure the frequency while it boots, and be
 * wrong by a factor of up to thirty on a busy machine. Here, of many pairs of the two clocks, those count between whose reads the
 * least time has passed.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>

struct pair {
	uint64_t ticks;
	int64_t ns;
};

static struct pair read_clocks(void)
{
	uint64_t shortest = UINT64_MAX;
	struct pair best = {0};

	for (int i = 0; i < 1000; i++) {
		struct timespec now;
		uint64_t before = __rdtsc();

		clock_gettime(CLOCK_MONOTONIC_RAW, &now);
		uint64_t after = __rdtsc();
		if (after - before >= shortest)
			continue;
		shortest = after - before;
		best.ticks = before + shortest / 2;
		best.ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	}
	return best;
}

int main(void)
{
	struct pair begin = read_clocks(), end;

	nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	end = read_clocks();
	printf("%.0f\n", (double)(end.ticks - begin.ticks) * 1e6 / (double)(end.ns - begin.ns));
	return 0;
}
#else
int main(void)
{
	return 0;
}
#endif
