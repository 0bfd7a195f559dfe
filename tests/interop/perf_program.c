/* SPDX-License-Identifier: Apache-2.0
 * perf_program.c - what perf records: two threads that compute in functions of their own.
 */
#include <pthread.h>

static volatile double sum;

__attribute__((noinline)) static void add(int count)
{
	for (int i = 0; i < count; i++)
		sum = sum + i * 0.5;
}

__attribute__((noinline)) static void *run(void *unused)
{
	(void)unused;
	for (int i = 0; i < 100; i++)
		add(500000);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, run, NULL) != 0)
		return 1;
	run(NULL);
	return pthread_join(thread, NULL) != 0;
}
