/* SPDX-License-Identifier: Apache-2.0
 * perf_budget.c - records one wait in N on a CPU where threads stop often.
 *
 * A sample of a wait costs the kernel about 10 us, most of it for the copy of the stack. A program that passes messages reaches
 * 100,000 stops a second, which would take a whole CPU. Therefore the rate of each CPU is measured, and the kernel gets a period
 * N that keeps to the budget. If threads stop less often than the budget permits, N is 1, and each wait is recorded.
 *
 * A sample has the number of waits on its CPU so far. So it represents all waits since the previous sample, also when N changes.
 *
 * A recording begins with a large N for some milliseconds, until the rate is known. Otherwise the ring would overflow. Waits that
 * begin in this time are missing, as are those that began earlier.
 *
 * If single tasks are watched, each of their waits is recorded, because an event that children inherit keeps its period. Their
 * records are counted. If there are more than the budget permits, whole CPUs are watched instead, with a period of their own.
 * Then the waits of other programs use the same budget.
 *
 * N is prime. If two threads take turns, and N is even, each recorded wait would be that of the same thread. A prime number has
 * no factor in common with most patterns.
 *
 * Rejected: sampling at a frequency, which the kernel offers, because it skips the waits after any two that are close together
 * (eight of ten waits of a program that waits ten times were recorded); choosing waits by their duration, because the stack has
 * to be copied before the duration is known.
 */
#include "probes/perf/perf_budget.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/macros.h"

#define CHECK_MS       UINT64_C(100)
#define FIRST_CHECK_MS UINT64_C(10)
/* A shorter time says little about the rate. In this time the budget may be exceeded. */
#define MEASURED_NS (5 * ORMA_NS_PER_MS)
/* A program that begins stops many times in its first milliseconds, and then not again. */
#define TASKS_MEASURED_NS (100 * ORMA_NS_PER_MS)

/* Each is about 1.4 times its predecessor. */
static const uint32_t periods[] = {1,   3,   5,   7,   11,  17,  23,  31,   43,   61,  89,
				   127, 179, 251, 353, 499, 709, 997, 1409, 1999, 2803};

void orma_perf_budget_done(struct orma_perf_budget *budget)
{
	orma_base_free(budget->cpus);
	*budget = (struct orma_perf_budget){0};
}

void orma_perf_budget_reset(struct orma_perf_budget *budget)
{
	for (size_t i = 0; i < budget->cpu_count; i++)
		budget->cpus[i] = (struct orma_perf_budget_cpu){0};
}

static int prepare(struct orma_perf_budget *budget, const struct orma_perf_events *events)
{
	if (budget->cpu_count == events->cpu_count)
		return 0;
	orma_perf_budget_done(budget);
	budget->cpus = orma_base_alloc_array(events->cpu_count, sizeof(*budget->cpus));
	if (!budget->cpus)
		return -ENOMEM;
	budget->cpu_count = events->cpu_count;
	return 0;
}

static uint64_t rate_of(uint64_t waits, uint64_t duration_ns)
{
	return ORMA_MIN(waits, UINT64_C(1) << 32) * ORMA_NS_PER_SEC / duration_ns;
}

static uint64_t period_for(uint64_t rate, uint64_t budget_hz)
{
	size_t i = 0;

	while (i + 1 < ORMA_ARRAY_SIZE(periods) && rate / periods[i] > budget_hz)
		i++;
	return periods[i];
}

static void set_period(struct orma_perf_budget_cpu *state, struct orma_perf_events *events,
		       struct orma_perf_cpu *cpu, uint64_t wanted)
{
	if (events->kernel->control(events->kernel->ctx, cpu->fds[0], PERF_EVENT_IOC_PERIOD,
				    (unsigned long)(uintptr_t)&wanted) < 0)
		return;
	/* The ring may contain samples of both periods. */
	cpu->period_max = ORMA_MAX(state->one_in, wanted);
	state->one_in = wanted;
}

static void adapt_cpu(struct orma_perf_budget_cpu *state, struct orma_perf_events *events,
		      struct orma_perf_cpu *cpu, uint64_t now_ns)
{
	uint64_t count;

	if (now_ns < state->time_ns + MEASURED_NS ||
	    orma_perf_events_read(events, cpu, &count, 1) != 1)
		return;
	uint64_t waits = count - state->count, duration_ns = now_ns - state->time_ns;
	bool is_first = state->time_ns == 0;
	state->count = count;
	state->time_ns = now_ns;
	if (is_first)
		return;
	uint64_t wanted = period_for(rate_of(waits, duration_ns), events->config->hz);
	/* N only becomes smaller if the rate is clearly lower, so that it does not follow each small
	 * change. */
	if (wanted > state->one_in || wanted == 1 || wanted * 2 <= state->one_in)
		set_period(state, events, cpu, wanted);
	else
		cpu->period_max = state->one_in;
}

bool orma_perf_budget_is_exceeded(struct orma_perf_budget *budget,
				  const struct orma_perf_events *events, uint64_t now_ns)
{
	bool is_exceeded = false;

	if (!orma_perf_attr_has_budget(events->config) || !events->is_per_task ||
	    prepare(budget, events) < 0)
		return false;
	for (size_t i = 0; i < events->cpu_count; i++) {
		struct orma_perf_budget_cpu *state = &budget->cpus[i];
		uint64_t waits = events->cpus[i].wait_count - state->count;
		uint64_t duration_ns = now_ns - state->time_ns;
		if (duration_ns < TASKS_MEASURED_NS)
			continue;
		is_exceeded |=
			state->time_ns > 0 && rate_of(waits, duration_ns) > events->config->hz;
		state->count = events->cpus[i].wait_count;
		state->time_ns = now_ns;
	}
	return is_exceeded;
}

uint64_t orma_perf_budget_adapt(struct orma_perf_budget *budget, struct orma_perf_events *events,
				uint64_t now_ns)
{
	uint64_t next_ms = 0;

	if (!orma_perf_attr_has_budget(events->config) || events->is_per_task ||
	    prepare(budget, events) < 0)
		return 0;
	for (size_t i = 0; i < events->cpu_count; i++) {
		const struct orma_perf_budget_cpu *state = &budget->cpus[i];
		adapt_cpu(&budget->cpus[i], events, &events->cpus[i], now_ns);
		if (state->one_in == 0)
			next_ms = FIRST_CHECK_MS;
		else if (state->one_in > 1 && next_ms == 0)
			next_ms = CHECK_MS;
	}
	return next_ms;
}
