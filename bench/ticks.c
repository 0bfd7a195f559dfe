/* SPDX-License-Identifier: Apache-2.0
 * ticks.c - emits slices at a steady rate until it is killed: what bench/live_delay.mjs looks at in a page.
 *
 * Usage: bench_ticks [SLICES PER SECOND]. A slice lasts half of the time until the next one begins.
 */
#include <errno.h>
#include <orma/orma.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "base/clock_ns.h"
#include "base/str.h"

ORMA_CATEGORY_DEFINE(bench, "bench", "Slices at a steady rate");

enum { DEFAULT_RATE = 1000, CONNECT_MS = 10000 };

static void sleep_until(uint64_t ns)
{
	struct timespec time = {.tv_sec = (time_t)(ns / ORMA_NS_PER_SEC),
				.tv_nsec = (long)(ns % ORMA_NS_PER_SEC)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

int main(int argc, char **argv)
{
	uint64_t rate = DEFAULT_RATE, half_ns, at_ns;

	if (argc > 2 || (argc == 2 && orma_base_parse_u64(argv[1], 10, &rate)) || rate == 0 ||
	    rate > ORMA_NS_PER_SEC / 2) {
		fputs("usage: bench_ticks [SLICES PER SECOND]\n", stderr);
		return 2;
	}
	half_ns = ORMA_NS_PER_SEC / rate / 2;
	orma_init(NULL);
	orma_sync(CONNECT_MS);
	for (at_ns = orma_base_clock_ns(CLOCK_MONOTONIC);; at_ns += half_ns) {
		{
			ORMA_SCOPE(bench, "tick");
			sleep_until(at_ns += half_ns);
		}
		sleep_until(at_ns + half_ns);
	}
}
