/* SPDX-License-Identifier: Apache-2.0
 * plan_tasks.h - the fields of an event that name tasks, for its plan (event_plan.h).
 */
#ifndef ORMA_PROBES_PLAN_TASKS_H
#define ORMA_PROBES_PLAN_TASKS_H

#include "probes/ftrace/event_plan.h"

/* `pid_offset` is where common_pid is; 0 = the format has none. *ret has room for one more than the format has fields. Returns the
 * number of tasks. */
uint16_t orma_plan_tasks_find(const struct orma_ftrace_format *format, uint16_t pid_offset,
			      struct orma_plan_task *ret);

#endif
