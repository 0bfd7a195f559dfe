/* SPDX-License-Identifier: Apache-2.0
 * task_state.h - the letters for a task's state.
 */
#ifndef ORMA_TRACE_TASK_STATE_H
#define ORMA_TRACE_TASK_STATE_H

#include <stdint.h>

#include "base/str.h"

#define ORMA_TASK_STATE_BYTES 16

/* Writes the letters for prev_state of sched_switch in a kernel of this version (major << 8 | minor; 0 = not known): "S",
 * "R+", "DK". Returns their number, 0 for a state that this kernel does not have. */
unsigned orma_task_state_letters(int64_t prev_state, unsigned kernel_version,
				 char ret[ORMA_TASK_STATE_BYTES]);
/* Returns a number that has these letters; that of "S" when there is none. It takes microseconds. */
int64_t orma_task_state_number(struct orma_str letters, unsigned kernel_version);
/* Returns the version of "6.1.0-13-amd64" as 6 << 8 | 1, or 0. */
unsigned orma_task_kernel_version(struct orma_str sysname, struct orma_str release);

#endif
