/* SPDX-License-Identifier: Apache-2.0
 * lttng_program.c - emits LTTng's events from two threads: lttng_program COUNT.
 */
#define _GNU_SOURCE /* pthread_setname_np() */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"

#include <pthread.h>
#include <stdlib.h>

void lttng_program_log(int number);

static int count;

/* No text is empty: babeltrace2 2.0 prints the text before it for an empty one. */
static void *emit(void *name)
{
	if (name)
		pthread_setname_np(pthread_self(), name);
	static const int list[] = {1, -2, 3, 2147483647, 5};
	for (int i = 0; i < count; i++) {
		lttng_ust_tracepoint(orma_test, numbers, i,
				     i % 2 ? "a \"quoted\", { x = 1 } \\" : "even");
		if (i % 3 == 0)
			lttng_ust_tracepoint(orma_test, lists, (size_t)(i % 5), list, "abcdef");
		if (i % 50 == 0) {
			lttng_ust_tracepoint(orma_test, nothing);
			lttng_program_log(i);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	count = argc > 1 ? atoi(argv[1]) : 100;
	static char name[] = "second";
	if (pthread_create(&thread, NULL, emit, name))
		return 1;
	emit(NULL);
	return pthread_join(thread, NULL) != 0;
}
