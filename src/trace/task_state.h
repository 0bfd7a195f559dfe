/* SPDX-License-Identifier: Apache-2.0
 * task_state.h - the letters for a task's state.
 */
#ifndef ORMA_TRACE_TASK_STATE_H
#define ORMA_TRACE_TASK_STATE_H

#include <stdint.h>

#define ORMA_TASK_STATE_BYTES 16

/* Writes the letters for prev_state of sched_switch in a kernel of this version (major << 8 | minor; 0 = not known): "S",
 * "R+", "DK". Returns their number, 0 for a state that this kernel does not have. */
unsigned orma_task_state_letters(int64_t prev_state, unsigned kernel_version,
				 char ret[ORMA_TASK_STATE_BYTES]);

#endif
