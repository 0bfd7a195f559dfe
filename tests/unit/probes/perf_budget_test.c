/* SPDX-License-Identifier: Apache-2.0
 * perf_budget_test.c - how the period of waits follows their rate, on a made-up kernel.
 */
#include "probes/perf/perf_budget.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "harness.h"

/* Descriptors are the numbers of CPUs. */
struct made_kernel {
	struct orma_perf_kernel base;
	uint64_t counts[2], periods[2];
	bool refuses;
};

static ssize_t read_count(void *ctx, int fd, void *buf, size_t size)
{
	const struct made_kernel *kernel = ctx;

	CHECK(size >= sizeof(uint64_t));
	memcpy(buf, &kernel->counts[fd], sizeof(uint64_t));
	return sizeof(uint64_t);
}

static int set_period(void *ctx, int fd, unsigned long request, unsigned long argument)
{
	struct made_kernel *kernel = ctx;

	CHECK(request == PERF_EVENT_IOC_PERIOD);
	if (kernel->refuses)
		return -EINVAL;
	memcpy(&kernel->periods[fd], (const void *)(uintptr_t)argument, sizeof(uint64_t));
	return 0;
}

static struct made_kernel kernel;
static int32_t fds[] = {0, 1};
static struct orma_perf_cpu cpus[2];
static struct orma_perf_config config;
static struct orma_perf_events events;
static struct orma_perf_budget budget;
static uint64_t now_ns;

static void start(void)
{
	kernel.base = (struct orma_perf_kernel){
		.ctx = &kernel, .read = read_count, .control = set_period};
	config = (struct orma_perf_config){.off_cpu = true, .hz = 2000};
	for (size_t i = 0; i < 2; i++)
		cpus[i] = (struct orma_perf_cpu){.fds = &fds[i], .fd_count = 1, .period_max = 1};
	events = (struct orma_perf_events){
		.kernel = &kernel.base, .config = &config, .cpus = cpus, .cpu_count = 2};
	now_ns = 5 * ORMA_NS_PER_SEC;
}

/* A tenth of a second passes, with these waits on the two CPUs. */
static uint64_t pass(uint64_t first, uint64_t second)
{
	now_ns += ORMA_NS_PER_SEC / 10;
	kernel.counts[0] += first;
	kernel.counts[1] += second;
	return orma_perf_budget_adapt(&budget, &events, now_ns);
}

ORMA_TEST(rare_waits_are_all_recorded_once_the_rate_is_known)
{
	start();
	/* Until then, somebody has to look again soon. */
	uint64_t next_ms = orma_perf_budget_adapt(&budget, &events, now_ns);
	CHECK(next_ms > 0 && next_ms < 50);
	CHECK_INT(kernel.periods[0], 0);
	CHECK_INT(pass(100, 200), 0);
	CHECK(kernel.periods[0] == 1 && kernel.periods[1] == 1 && cpus[0].period_max == 1);
	CHECK_INT(pass(0, 0), 0);
	orma_perf_budget_done(&budget);
}

ORMA_TEST(each_cpu_has_a_prime_period_that_keeps_to_the_budget)
{
	start();
	pass(0, 0);
	for (uint64_t rate = 100; rate < 10000000; rate = rate * 3 / 2) {
		pass(rate / 10, 10);
		uint64_t period = kernel.periods[0];
		CHECK(rate / period <= config.hz || period == 2803);
		for (uint64_t factor = 2; factor * factor <= period; factor++)
			CHECK(period % factor != 0);
		CHECK_INT(kernel.periods[1], 1);
	}
	orma_perf_budget_done(&budget);
}

ORMA_TEST(a_period_falls_with_the_rate_and_rests_while_it_changes_little)
{
	start();
	pass(0, 0);
	CHECK(pass(10000, 0) > 0); /* 100,000 a second */
	CHECK_INT(kernel.periods[0], 61);
	CHECK_INT(cpus[0].period_max, 61);
	/* Records of the old period may still be in the ring. */
	pass(20000, 0);
	CHECK_INT(kernel.periods[0], 127);
	pass(15000, 0);
	CHECK_INT(kernel.periods[0], 127);
	pass(8000, 0);
	CHECK_INT(kernel.periods[0], 43);
	CHECK_INT(cpus[0].period_max, 127);
	pass(8000, 0);
	CHECK_INT(cpus[0].period_max, 43);
	CHECK_INT(pass(10, 0), 0);
	CHECK_INT(kernel.periods[0], 1);
	orma_perf_budget_done(&budget);
}

ORMA_TEST(two_readings_of_the_rate_within_a_moment_count_as_one)
{
	start();
	pass(0, 0);
	kernel.counts[0] += 10;
	now_ns += 1000;
	(void)orma_perf_budget_adapt(&budget, &events, now_ns);
	CHECK_INT(kernel.periods[0], 0);
	orma_perf_budget_done(&budget);
}

ORMA_TEST(single_tasks_exceed_the_budget_when_one_cpu_has_too_many_waits)
{
	start();
	events.is_per_task = true;
	CHECK(!orma_perf_budget_is_exceeded(&budget, &events, now_ns));
	/* A program that begins stops often for a moment. */
	cpus[0].wait_count = 150;
	now_ns += 10 * ORMA_NS_PER_MS;
	CHECK(!orma_perf_budget_is_exceeded(&budget, &events, now_ns));
	now_ns += 90 * ORMA_NS_PER_MS;
	CHECK(!orma_perf_budget_is_exceeded(&budget, &events, now_ns));
	/* 1,900 and then 2,100 a second. */
	cpus[1].wait_count = 190;
	now_ns += ORMA_NS_PER_SEC / 10;
	CHECK(!orma_perf_budget_is_exceeded(&budget, &events, now_ns));
	cpus[1].wait_count += 210;
	now_ns += ORMA_NS_PER_SEC / 10;
	CHECK(orma_perf_budget_is_exceeded(&budget, &events, now_ns));
	CHECK(!kernel.periods[0] && !kernel.periods[1]);
	/* Whole CPUs have a period instead, and a fixed one is what the user wants. */
	cpus[1].wait_count += 1000;
	now_ns += ORMA_NS_PER_SEC / 10;
	events.is_per_task = false;
	CHECK(!orma_perf_budget_is_exceeded(&budget, &events, now_ns));
	events.is_per_task = true;
	config.period = 1;
	CHECK(!orma_perf_budget_is_exceeded(&budget, &events, now_ns));
	orma_perf_budget_done(&budget);
}

ORMA_TEST(a_kernel_that_refuses_and_a_lack_of_memory_change_nothing)
{
	start();
	kernel.refuses = true;
	pass(0, 0);
	CHECK(pass(10000, 0) > 0);
	CHECK_INT(cpus[0].period_max, 1);
	orma_perf_budget_done(&budget);
	orma_base_alloc_fail_nth(1);
	CHECK_INT(pass(10, 10), 0);
	orma_base_alloc_fail_nth(0);
	/* Fixed periods, single tasks and control groups have no budget. */
	config.period = 1;
	CHECK_INT(pass(10, 10), 0);
	config.period = 0;
	events.is_per_task = true;
	CHECK_INT(pass(10, 10), 0);
	CHECK(!budget.cpus);
	orma_base_alloc_fail_nth(1);
	CHECK(!orma_perf_budget_is_exceeded(&budget, &events, now_ns));
	orma_base_alloc_fail_nth(0);
}
