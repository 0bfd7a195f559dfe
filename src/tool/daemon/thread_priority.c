/* SPDX-License-Identifier: Apache-2.0
 * thread_priority.c - the scheduling of the daemon's thread while a session asks for more.
 *
 * The first change saves the previous scheduling. Threads for files that the daemon's thread
 * creates meanwhile do not inherit the change. The system calls are made directly, because musl's
 * functions of these names act on processes and return ENOSYS. Rejected: changing the whole
 * process, because the thread of a hanging disk would be real-time too.
 */
#include "tool/daemon/thread_priority.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	bool is_known;
	int policy, real_time, nice;
} initial;

static int remember(void)
{
	struct sched_param param;
	if (initial.is_known)
		return 0;
	int policy = (int)syscall(SYS_sched_getscheduler, 0);
	if (policy < 0 || syscall(SYS_sched_getparam, 0, &param))
		return -errno;
	initial.policy = policy & ~SCHED_RESET_ON_FORK;
	initial.real_time = param.sched_priority;
	errno = 0;
	initial.nice = getpriority(PRIO_PROCESS, 0);
	if (errno)
		return -errno;
	initial.is_known = true;
	return 0;
}

static int apply(int policy, int real_time, int nice)
{
	const struct sched_param param = {.sched_priority = real_time};
	if (syscall(SYS_sched_setscheduler, 0, policy | SCHED_RESET_ON_FORK, &param))
		return -errno;
	return real_time == 0 && setpriority(PRIO_PROCESS, 0, nice) ? -errno : 0;
}

int orma_tool_set_priority(void *ctx, enum orma_priority_policy policy, uint32_t priority)
{
	(void)ctx;
	int r = remember();
	if (r)
		return r;
	switch (policy) {
	case ORMA_PRIORITY_OTHER:
		r = apply(SCHED_OTHER, 0, -(int)priority);
		break;
	case ORMA_PRIORITY_FIFO:
		r = apply(SCHED_FIFO, (int)priority, 0);
		break;
	default:
		return apply(initial.policy, initial.real_time, initial.nice);
	}
	/* When the second part fails, the first part is undone. */
	if (r)
		(void)apply(initial.policy, initial.real_time, initial.nice);
	return r;
}
