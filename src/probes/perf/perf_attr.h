/* SPDX-License-Identifier: Apache-2.0
 * perf_attr.h - the attributes that linux.perf gives the kernel for its events.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_PERF_PERF_ATTR_H
#define ORMA_PROBES_PERF_PERF_ATTR_H

#include <linux/perf_event.h>

#include "base/buf.h"
#include "probes/perf/perf_config.h"
#include "probes/perf/perf_parse.h"

/* Features that an older kernel may lack, or that the user may not use. A session also runs without them. */
enum {
	ORMA_PERF_CAN_INHERIT_THREAD = 1, /* Linux 5.13 */
	ORMA_PERF_CAN_KERNEL = 2,         /* needs perf_event_paranoid below 2, or root */
	ORMA_PERF_CAN_ALL = 3,
};

struct orma_perf_attr_options {
	const struct orma_perf_config *config;
	bool is_per_task; /* the event belongs to a task and its children, not to a CPU */
	bool may_watch;   /* the instance may replace the event by events of whole CPUs later */
	unsigned can;     /* ORMA_PERF_CAN_... */
	uint32_t stack_bytes;
	uint32_t wakeup_bytes;
};

/* The folders with the kernel's numbers of tracepoints and PMUs, and with its settings. */
struct orma_perf_paths {
	const char *tracefs; /* NULL = the usual places */
	const char *sys, *proc;
};

/* Finds the numbers of an event: type, config, config1, config2. 0, -ENOENT (there is no such tracepoint or
 * PMU) or another -errno. */
int orma_perf_attr_find(const struct orma_perf_paths *paths, const struct orma_perf_event *event,
			struct perf_event_attr *ret);
/* True if the number of recorded waits has a limit (perf_budget.h): the period of whole CPUs is adapted, and
 * single tasks that wait more often are replaced by whole CPUs. */
bool orma_perf_attr_has_budget(const struct orma_perf_config *config);
/* Adds the attributes of the timebase to its numbers. */
void orma_perf_attr_sample(const struct orma_perf_attr_options *options,
			   struct perf_event_attr *attr);
/* Adds the attributes of an event that is only counted: a follower, or a counter that is polled. */
void orma_perf_attr_count(const struct orma_perf_attr_options *options,
			  const struct orma_perf_event *event, struct perf_event_attr *attr);
/* Sets the attributes of an event that never happens, but owns a ring. */
void orma_perf_attr_dummy(const struct orma_perf_attr_options *options,
			  struct perf_event_attr *ret);
void orma_perf_attr_layout(const struct perf_event_attr *attr, struct orma_perf_layout *ret);

#endif
