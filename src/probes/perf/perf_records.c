/* SPDX-License-Identifier: Apache-2.0
 * perf_records.c - the records of all rings, in the order of time.
 *
 * The records of one CPU are in order. The records of several CPUs are merged by time, because a thread may map a library on one CPU
 * and be sampled on another. The caller's limit excludes records that are newer than what another CPU may still write.
 */
#include <linux/perf_event.h>

#include "base/macros.h"
#include "probes/perf/perf_events.h"

#define PREFETCH_BYTES 2048u
#define LINE_BYTES     64u

/* Reads the time of the first record of a ring, and prefetches the record. The kernel wrote it long ago, so
 * the caches do not have it. It arrives while another record is taken: its head, most frames of most stacks,
 * and its end, which has the size of the stack. The loop is not a function, because GCC 12 removes calls of
 * functions that only prefetch. */
static void peek_first(struct orma_perf_events *events, struct orma_perf_cpu *cpu)
{
	size_t size;
	const char *record = orma_perf_ring_peek(&cpu->ring, &size);

	cpu->next_time = ORMA_PERF_NO_RECORD;
	if (!record)
		return;
	for (size_t i = 0; i < size && i < PREFETCH_BYTES; i += LINE_BYTES)
		__builtin_prefetch(record + i);
	__builtin_prefetch(record + size - 1);
	/* A record without a time is taken at once. */
	if (!orma_perf_ring_record_time(&events->layout, record, size, &cpu->next_time))
		cpu->next_time = 0;
}

void orma_perf_events_refresh(struct orma_perf_events *events)
{
	for (size_t i = 0; i < events->cpu_count; i++) {
		orma_perf_ring_refresh(&events->cpus[i].ring);
		peek_first(events, &events->cpus[i]);
	}
}

bool orma_perf_events_next(struct orma_perf_events *events, uint64_t limit_ns,
			   struct orma_perf_record *ret, struct orma_perf_cpu **ret_cpu)
{
	for (;;) {
		struct orma_perf_cpu *oldest = NULL;
		size_t size;
		for (size_t i = 0; i < events->cpu_count; i++)
			if (events->cpus[i].next_time != ORMA_PERF_NO_RECORD &&
			    (!oldest || events->cpus[i].next_time < oldest->next_time))
				oldest = &events->cpus[i];
		if (!oldest || oldest->next_time > limit_ns)
			return false;
		const void *record = orma_perf_ring_peek(&oldest->ring, &size);
		if (record &&
		    orma_perf_ring_record_parse(&events->layout, record, size, ret) == 0) {
			if (ret->type != PERF_RECORD_SAMPLE ||
			    !(events->layout.sample_type & PERF_SAMPLE_CPU))
				ret->cpu = oldest->cpu;
			*ret_cpu = oldest;
			return true;
		}
		events->bad_count++;
		if (!record)
			oldest->next_time = ORMA_PERF_NO_RECORD;
		else
			orma_perf_events_advance(events, oldest);
	}
}

void orma_perf_events_advance(struct orma_perf_events *events, struct orma_perf_cpu *cpu)
{
	size_t size;

	if (!orma_perf_ring_peek(&cpu->ring, &size))
		return;
	orma_perf_ring_advance(&cpu->ring, size);
	peek_first(events, cpu);
}

bool orma_perf_events_are_filling(const struct orma_perf_events *events)
{
	bool result = false;

	for (size_t i = 0; i < events->cpu_count; i++) {
		const struct orma_perf_ring *ring = &events->cpus[i].ring;
		result |= ring->head - ring->tail > ring->size / 2;
	}
	return result;
}

void orma_perf_events_release(struct orma_perf_events *events)
{
	for (size_t i = 0; i < events->cpu_count; i++)
		orma_perf_ring_release(&events->cpus[i].ring);
}
