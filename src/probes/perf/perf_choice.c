/* SPDX-License-Identifier: Apache-2.0
 * perf_choice.c - which events an instance opens.
 *
 * Whole CPUs are watched where the kernel lets this user do so. Otherwise single tasks are: those of
 * the configuration, or else the user's own. The log says so, with the remedy.
 *
 * Processes that are named by their ids are watched on whole CPUs, too, when their children are
 * followed. An event that a child inherits begins with a whole period. A child that ends before that
 * period is over is never sampled, and most programs that `make` starts are so short. Single tasks
 * are watched only where nothing is lost: when the period is 1, which is also that of waits. If they
 * turn out to be too many, or their stacks too long, whole CPUs are watched from then on
 * (perf_instance.c).
 *
 * The copies of stacks are as large as they can be from the beginning, if the rings are large enough,
 * where they cannot become larger later: children inherit the events, and whole CPUs must not be
 * watched. So are copies of stacks that wait, because waits have a budget, for which the rings suffice. Other
 * events with the period 1 come in bursts, and a ring holds a quarter of the large records: a program
 * with 100,000 page faults a second lost 14 % of them instead of 3 %. The time for a copy depends on
 * the stack alone, because the kernel copies no more than there is.
 */
#include "probes/perf/perf_choice.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "probes/perf/perf_complain.h"
#include "probes/perf/perf_targets.h"

/* A ring that is shorter than this loses samples when the machine is busy. */
#define RING_LEAST_MS UINT64_C(40)

int orma_perf_choice_open(struct orma_perf_choice *choice, bool is_per_task, uint32_t stack_bytes,
			  struct orma_perf_events **ret)
{
	struct orma_perf_open *open = &choice->open;
	struct orma_probes_numbers tids = {0};
	struct orma_perf_events *events = orma_base_zalloc(sizeof(*events));
	int r = events ? 0 : -ENOMEM;

	if (r == 0 && is_per_task)
		r = orma_perf_targets_tasks(choice->proc_fd, choice->scope,
					    open->config->follow_children, &tids);
	open->is_per_task = is_per_task;
	open->may_watch = is_per_task && orma_perf_events_may_watch(open);
	open->stack_bytes = stack_bytes;
	open->tids = tids.items;
	open->tid_count = tids.count;
	if (r == 0)
		r = orma_perf_events_open(open, events);
	orma_probes_numbers_done(&tids);
	if (r == 0)
		*ret = events;
	else
		orma_base_free(events);
	return r;
}

void orma_perf_choice_close(struct orma_perf_events *events)
{
	if (events)
		orma_perf_events_close(events);
	orma_base_free(events);
}

bool orma_perf_choice_is_named(const struct orma_perf_config *config)
{
	return (config->follow_children || config->off_cpu) && config->poll_ms == 0 &&
	       config->cgroup_count == 0 && orma_perf_scope_is_pids(&config->scope);
}

/* Each event is a record, so the processes that are named need no events of whole CPUs. */
static bool prefers_tasks(const struct orma_perf_config *config)
{
	return orma_perf_choice_is_named(config) && (config->off_cpu || config->period == 1);
}

/* Events of whole CPUs can be opened when there is no process any more. */
static int check_named(const struct orma_perf_choice *choice)
{
	struct orma_probes_numbers tids = {0};
	int r = orma_perf_choice_is_named(choice->open.config)
			? orma_perf_targets_tasks(choice->proc_fd, choice->scope, false, &tids)
			: 0;

	orma_probes_numbers_done(&tids);
	return r == -ENODATA ? r : 0;
}

/* Does a ring have room for the time between two turns of this thread? */
static bool is_long_enough(const struct orma_perf_events *events, uint64_t hz)
{
	uint64_t records = events->ring_bytes / (events->stack_bytes + ORMA_PERF_RECORD_BYTES);

	return records * 1000 >= hz * RING_LEAST_MS;
}

static int open_tasks(struct orma_perf_choice *choice, struct orma_perf_events **ret)
{
	const struct orma_perf_config *config = choice->open.config;
	bool is_large = config->follow_children &&
			(config->off_cpu || !orma_perf_events_may_watch(&choice->open));
	uint32_t bytes = is_large ? ORMA_PERF_STACK_BYTES_MAX : config->stack_bytes;

	for (; bytes > config->stack_bytes; bytes /= 2) {
		int r = orma_perf_choice_open(choice, true, bytes & ~7u, ret);
		if (r == 0 && is_long_enough(*ret, orma_perf_config_rate(config)))
			return 0;
		if (r == 0)
			orma_perf_choice_close(ORMA_TAKE(*ret));
	}
	return orma_perf_choice_open(choice, true, config->stack_bytes, ret);
}

int orma_perf_choice_open_first(struct orma_perf_choice *choice, struct orma_perf_events **ret)
{
	const struct orma_perf_config *config = choice->open.config;
	bool is_per_task = prefers_tasks(config);
	int r = check_named(choice);

	if (r == 0)
		r = is_per_task ? open_tasks(choice, ret)
				: orma_perf_choice_open(choice, false, config->stack_bytes, ret);
	if (r == -EACCES && !is_per_task && config->poll_ms == 0 && config->cgroup_count == 0) {
		r = open_tasks(choice, ret);
		/* Processes that are named are sampled all the same; orma_perf_complain_short() says what is missing. */
		if (r == 0 && !orma_perf_choice_is_named(config))
			orma_perf_complain_tasks(&choice->open.paths, config, *ret);
	}
	if (r < 0) {
		orma_perf_complain_open(&choice->open.paths, config, r);
		return r;
	}
	orma_perf_complain_limits(&choice->open.paths, config, *ret);
	return 0;
}
