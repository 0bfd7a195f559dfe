/* SPDX-License-Identifier: Apache-2.0
 * example.c - a program that can be traced: slices, instants and counters from a few threads.
 *
 *	orma_example [seconds] [threads]
 *
 * It needs no daemon to run; while nobody records, its events cost next to nothing.
 */
#include <orma/orma.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

ORMA_CATEGORY_DEFINE(work, "example.work", "What the threads are busy with");
ORMA_CATEGORY_DEFINE(stats, "example.stats", "Numbers over time");

static double seconds = 2;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static unsigned think(unsigned seed)
{
	ORMA_SCOPE(work, "think"); /* a slice until the end of the block */
	for (int i = 0; i < 10000; i++)
		seed = seed * 1664525 + 1013904223;
	return seed;
}

static void *run(void *ctx)
{
	double end = now() + seconds;
	long rounds = 0;
	unsigned seed = 1;

	for (; now() < end; rounds++) {
		ORMA_BEGIN(work, "round");
		seed = think(seed);
		if (rounds % 100 == 0)
			ORMA_INSTANT(work, "another hundred");
		ORMA_COUNTER(stats, "rounds", rounds);
		ORMA_COUNTER(stats, "dice", seed % 6 + 1.0);
		ORMA_END(work);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	*(long *)ctx = rounds;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	long rounds[64], total = 0;
	int count = argc > 2 ? atoi(argv[2]) : 2;

	seconds = argc > 1 ? atof(argv[1]) : seconds;
	if (count < 1 || count > 64)
		count = 2;
	if (orma_init(NULL) < 0)
		return 1;
	if (orma_sync(1000) == 0)
		puts("connected to the tracing service");
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run, &rounds[i]) != 0)
			return 1;
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		total += rounds[i];
	}
	printf("%ld events from %d threads\n", total * 6, count);
	orma_shutdown();
	return 0;
}
