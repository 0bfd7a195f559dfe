/* SPDX-License-Identifier: Apache-2.0
 * canary.c - makes the mistake that it is told to make. The build that is meant to catch that mistake must
 * end the program; if the program survives, the sanitizer or the assertions were not compiled in, and
 * clean test runs of that build meant nothing.
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

static int shared;

static void *increment(void *unused)
{
	(void)unused;
	for (int i = 0; i < 1000; i++)
		shared++;
	return NULL;
}

static void race(void)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, increment, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const char *mistake = argc > 1 ? argv[1] : "";
	if (strcmp(mistake, "use_after_free") == 0) {
		volatile char *memory = malloc(16);
		free((void *)memory);
		memory[3] = 1;
	} else if (strcmp(mistake, "leak") == 0) {
		volatile char *volatile memory = malloc(16);
		memory = NULL;
	} else if (strcmp(mistake, "overflow") == 0) {
		volatile int large = INT_MAX;
		large = large + argc;
	} else if (strcmp(mistake, "race") == 0) {
		race();
	} else if (strcmp(mistake, "invariant") == 0) {
		ORMA_ASSERT(argc == 0);
	} else {
		fprintf(stderr, "unknown mistake\n");
	}
	return 0;
}
