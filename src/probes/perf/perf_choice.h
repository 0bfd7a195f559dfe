/* SPDX-License-Identifier: Apache-2.0
 * perf_choice.h - which events an instance opens: of whole CPUs or of single tasks; see perf_choice.c.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_PERF_CHOICE_H
#define ORMA_PROBES_PERF_CHOICE_H

#include "probes/perf/perf_events.h"
#include "probes/perf/perf_scope.h"

struct orma_perf_choice {
	struct orma_perf_scope *scope;
	int proc_fd;
	struct orma_perf_open open; /* without its tasks, is_per_task, may_watch and stack_bytes */
};

/* True if the config names processes by their ids, and their own events can be opened. */
bool orma_perf_choice_is_named(const struct orma_perf_config *config);
/* Opens events, disabled. The caller closes them. 0, -EACCES (the kernel refuses them), -ENODATA (no task is
 * left) or another -errno. */
int orma_perf_choice_open(struct orma_perf_choice *choice, bool is_per_task, uint32_t stack_bytes,
			  struct orma_perf_events **ret);
/* Opens the events that fit the config and the user's rights. Results are as above. The log says what is
 * missing, and how to get it. */
int orma_perf_choice_open_first(struct orma_perf_choice *choice, struct orma_perf_events **ret);
/* NULL does nothing. */
void orma_perf_choice_close(struct orma_perf_events *events);

#endif
