/* SPDX-License-Identifier: Apache-2.0
 * raise_priority.h - for threads with a short task that others wait for, on a machine with more work than CPUs.
 *
 * Threads: affects the calling thread, and the threads and processes that it starts.
 */
#ifndef ORMA_BASE_RAISE_PRIORITY_H
#define ORMA_BASE_RAISE_PRIORITY_H

#include <sys/resource.h>

#define ORMA_RAISED_NICENESS (-10)

/* Does nothing if the user may not raise priorities. 0 is the calling thread, and the only one that the daemon's filter of system
 * calls permits. */
static inline void orma_base_raise_priority(void)
{
	(void)setpriority(PRIO_PROCESS, 0, ORMA_RAISED_NICENESS);
}

#endif
