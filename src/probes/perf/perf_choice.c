/* SPDX-License-Identifier: Apache-2.0
 * perf_choice.c - which events an instance opens.
 *
 * Whole CPUs are watched if the kernel permits it to this user. Otherwise single tasks are watched: those that the config names,
 * or else the user's own. A log line says so, and names the remedy.
 *
 * Whole CPUs are also watched if the config names processes by their ids and their children are followed. An event that a child
 * inherits begins with a whole period, so a child that ends before that period is over is never sampled. Most programs that
 * `make` starts are that short. Single tasks are only watched if nothing is lost, which is so if the period is 1, as for waits.
 * If the tasks are too many or their stacks too long, the instance replaces them by whole CPUs later (perf_instance.c).
 *
 * If the copies of stacks cannot become larger later, they have the maximum size from the beginning, as far as the rings have
 * room. They cannot become larger if children inherit the events and whole CPUs must not be watched. The copies of stacks that
 * wait have the maximum size, too, because the budget of waits suffices for the rings. Other events with the period 1 come in
 * bursts, and a ring has room for a quarter as many large records. With them, 14 % of the page faults were lost instead
 * of 3 %, when a program had 100,000 page faults a second. A larger maximum does not make a copy slower, because the kernel
 * copies only the part of the stack that is used.
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

/* True if single tasks lose nothing, because each event is a record. */
static bool prefers_tasks(const struct orma_perf_config *config)
{
	return orma_perf_choice_is_named(config) && (config->off_cpu || config->period == 1);
}

/* Returns -ENODATA if none of the named processes is left. The events of whole CPUs could be opened all the
 * same. */
static int check_named(const struct orma_perf_choice *choice)
{
	struct orma_probes_numbers tids = {0};
	int r = orma_perf_choice_is_named(choice->open.config)
			? orma_perf_targets_tasks(choice->proc_fd, choice->scope, false, &tids)
			: 0;

	orma_probes_numbers_done(&tids);
	return r == -ENODATA ? r : 0;
}

/* True if a ring has room for the records of RING_LEAST_MS. */
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
		/* Named processes are sampled in any case. orma_perf_complain_short() says what is
		 * missing. */
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
