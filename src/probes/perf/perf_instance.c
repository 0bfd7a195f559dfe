/* SPDX-License-Identifier: Apache-2.0
 * perf_instance.c - replaces the events of an instance while it runs.
 *
 * Events are replaced if the stacks of a process are longer than their copies, or if single tasks wait more often than the budget
 * permits. The new events are opened first, so a failure changes nothing. Some microseconds between the end of the old events and
 * the beginning of the new ones are not sampled. The waits of threads that wait at that time are kept.
 *
 * Events of single tasks that children inherit cannot be opened again, because a child that begins at that moment would have the
 * old events or none. Whole CPUs are watched instead, if the kernel permits it. Samples of other programs then cost time, and are
 * left out.
 */
#include "probes/perf/perf_instance.h"

#include "base/clock_ns.h"
#include "base/log_message.h"
#include "probes/perf/perf_complain.h"
#include "probes/perf/perf_targets.h"

static void on_ready(void *ctx)
{
	struct orma_perf_instance *instance = ctx;

	if (instance->is_running)
		orma_probe_run_soon(&instance->base);
}

struct orma_perf_choice orma_perf_instance_choice(struct orma_perf_instance *instance)
{
	struct orma_perf_probe *probe = orma_perf_probe_of(instance);

	return (struct orma_perf_choice){
		.scope = &instance->scope,
		.proc_fd = probe->proc_fd,
		.open =
			{
				.kernel = probe->kernel,
				.config = &instance->config,
				.paths = probe->paths,
				.cpus = instance->cpus.items,
				.cpu_count = instance->cpus.count,
				.loop = probe->base.loop,
				.on_ready = on_ready,
				.ctx = instance,
			},
	};
}

void orma_perf_instance_adopt_children(struct orma_perf_instance *instance)
{
	struct orma_probes_numbers pids = {0};

	if (orma_perf_choice_is_named(&instance->config) && !instance->events->is_per_task &&
	    orma_perf_targets_family(orma_perf_probe_of(instance)->proc_fd, &instance->config.scope,
				     &pids) == 0)
		for (size_t i = 0; i < pids.count; i++)
			orma_perf_processes_adopt(&instance->processes, pids.items[i]);
	orma_probes_numbers_done(&pids);
}

static bool replace_events(struct orma_perf_instance *instance, bool is_per_task,
			   uint32_t stack_bytes)
{
	struct orma_perf_events *old = instance->events, *events;
	struct orma_perf_choice choice = orma_perf_instance_choice(instance);

	if (orma_perf_choice_open(&choice, is_per_task, stack_bytes, &events) < 0)
		return false;
	orma_perf_events_disable(old);
	orma_perf_events_enable(events);
	(void)orma_perf_reader_run(&instance->reader, UINT64_MAX - 1, NULL, NULL);
	orma_perf_reader_set_events(&instance->reader, events);
	orma_perf_budget_reset(&instance->budget);
	instance->events = events;
	if (old->is_per_task && !is_per_task) {
		instance->processes.is_all_in = false;
		orma_perf_instance_adopt_children(instance);
	}
	orma_perf_choice_close(old);
	orma_perf_processes_reset_cuts(&instance->processes);
	return true;
}

/* ---- the budget of waits ---- */

static void on_budget_timer(struct orma_timer *timer)
{
	orma_perf_instance_keep_budget(
		ORMA_CONTAINER_OF(timer, struct orma_perf_instance, budget_timer));
}

static void watch_cpus(struct orma_perf_instance *instance)
{
	if (replace_events(instance, false, instance->config.stack_bytes)) {
		orma_base_log(ORMA_LOG_INFO,
			      "linux.perf: threads stop running more than %llu times a second on a "
			      "CPU; whole CPUs are watched now, and one stop in N is recorded",
			      (unsigned long long)instance->config.hz);
		return;
	}
	instance->cannot_watch = true;
	orma_perf_complain_waits(&orma_perf_probe_of(instance)->paths, &instance->config);
}

void orma_perf_instance_keep_budget(struct orma_perf_instance *instance)
{
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);

	if (!instance->cannot_watch &&
	    orma_perf_budget_is_exceeded(&instance->budget, instance->events, now_ns))
		watch_cpus(instance);
	uint64_t next_ms = orma_perf_budget_adapt(&instance->budget, instance->events, now_ns);
	if (next_ms > 0)
		(void)orma_base_loop_arm_in(orma_perf_probe_of(instance)->base.loop,
					    &instance->budget_timer, next_ms * ORMA_NS_PER_MS,
					    on_budget_timer);
}

/* ---- the copies of stacks ---- */

void orma_perf_instance_grow_stacks(struct orma_perf_instance *instance)
{
	const struct orma_perf_events *events = instance->events;
	bool is_per_task = events->is_per_task && !instance->config.follow_children;
	uint32_t bytes = ORMA_MIN(events->stack_bytes * 2, ORMA_PERF_STACK_BYTES_MAX);

	if (!instance->reader.wants_larger_stacks)
		return;
	instance->reader.wants_larger_stacks = false;
	if (instance->cannot_grow)
		return;
	if (bytes <= events->stack_bytes || !replace_events(instance, is_per_task, bytes)) {
		instance->cannot_grow = true;
		return;
	}
	orma_base_log(ORMA_LOG_INFO,
		      "linux.perf: more than 5 %% of a process's stacks are longer than their "
		      "copies; copies have %u bytes now",
		      bytes);
}
