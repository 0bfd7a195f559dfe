/* SPDX-License-Identifier: Apache-2.0
 * event_loop.h - loops that measure the time of one statement, for the benchmarks of events.
 *
 * One source of each program includes this, so that the code around orma's macros and LTTng's is the
 * same. A statement runs in batches. During the pauses between them, the memory is read and emptied.
 * The thread's own CPU time is measured. A result is a line "name|unit|value" on standard output.
 */
#ifndef ORMA_BENCH_EVENT_LOOP_H
#define ORMA_BENCH_EVENT_LOOP_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
static inline uint64_t event_ticks(void)
{
	return __builtin_ia32_rdtsc();
}
#else
static inline uint64_t event_ticks(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
#endif

#define EVENT_BATCH   2000
#define EVENT_BATCHES 150
#define EVENT_SINGLES 100000
#define EVENT_COLD    200
#define EVENT_THREADS 4
/* This is larger than the caches of one core. */
#define EVENT_FLUSH_BYTES (16u << 20)

/* Runs the statement `count` times. */
typedef void event_fn(unsigned count);

struct event_kind {
	const char *name;
	event_fn *run;
	unsigned per_run; /* events in one statement */
	unsigned batch;   /* 0 = EVENT_BATCH */
};

static inline void event_pause(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static inline double event_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline int event_compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

struct event_thread {
	const struct event_kind *kind;
	pthread_t thread;
	double ns;
};

/* Returns the median of the batches. */
static void *event_time(void *ctx)
{
	struct event_thread *self = ctx;
	unsigned batch = self->kind->batch ? self->kind->batch : EVENT_BATCH;
	double batches[EVENT_BATCHES];

	for (int i = 0; i < EVENT_BATCHES; i++) {
		double begin;

		event_pause();
		self->kind->run(batch / 10);
		begin = event_cpu_ns();
		self->kind->run(batch);
		batches[i] = (event_cpu_ns() - begin) / batch / self->kind->per_run;
	}
	qsort(batches, EVENT_BATCHES, sizeof(batches[0]), event_compare);
	self->ns = batches[EVENT_BATCHES / 2];
	return NULL;
}

static inline void event_report_warm(const struct event_kind *kind, unsigned threads)
{
	struct event_thread all[EVENT_THREADS];
	double sum = 0;

	for (unsigned i = 0; i < threads; i++) {
		all[i].kind = kind;
		if (pthread_create(&all[i].thread, NULL, event_time, &all[i]) != 0)
			exit(1);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(all[i].thread, NULL);
		sum += all[i].ns;
	}
	printf("%s, %u thread%s|ns|%.2f\n", kind->name, threads, threads > 1 ? "s" : "",
	       sum / threads);
	fflush(stdout);
}

static inline double event_ns_per_tick(void)
{
	struct timespec begin, end;
	uint64_t ticks;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	ticks = event_ticks();
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	ticks = event_ticks() - ticks;
	clock_gettime(CLOCK_MONOTONIC, &end);
	return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
	       (double)ticks;
}

static inline void event_flush_caches(void)
{
	static volatile uint8_t *memory;

	if (!memory)
		memory = calloc(1, EVENT_FLUSH_BYTES);
	for (uint32_t i = 0; memory && i < EVENT_FLUSH_BYTES; i += 64)
		memory[i]++;
}

static inline void event_report_cold(const struct event_kind *kind)
{
	static double singles[EVENT_COLD];
	double ns_per_tick = event_ns_per_tick();

	for (int i = 0; i < EVENT_COLD; i++) {
		uint64_t begin;

		event_flush_caches();
		begin = event_ticks();
		kind->run(1);
		singles[i] = (double)(event_ticks() - begin) * ns_per_tick;
	}
	qsort(singles, EVENT_COLD, sizeof(singles[0]), event_compare);
	printf("%s, caches flushed|ns|%.0f\n", kind->name, singles[EVENT_COLD / 2]);
	fflush(stdout);
}

/* The time includes reading the counter. */
static inline void event_report_tail(const struct event_kind *kind)
{
	static const struct {
		const char *name;
		double share;
	} marks[] = {{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}};
	static double singles[EVENT_SINGLES];
	double ns_per_tick = event_ns_per_tick();

	for (int i = 0; i < EVENT_SINGLES; i++) {
		uint64_t begin;

		if (i % EVENT_BATCH == 0)
			event_pause();
		begin = event_ticks();
		kind->run(1);
		singles[i] = (double)(event_ticks() - begin) * ns_per_tick;
	}
	qsort(singles, EVENT_SINGLES, sizeof(singles[0]), event_compare);
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		printf("%s, single ones, %s|ns|%.0f\n", kind->name, marks[i].name,
		       singles[(int)(marks[i].share * (EVENT_SINGLES - 1))]);
	fflush(stdout);
}

#endif
