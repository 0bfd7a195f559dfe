/* SPDX-License-Identifier: Apache-2.0
 * thread_priority_test.c - the daemon's thread gets the priority that sessions ask for, and its old
 * priority back.
 */
#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.h"
#include "tool/daemon/thread_priority.h"

static int get_policy(void)
{
	return (int)syscall(SYS_sched_getscheduler, 0) & ~SCHED_RESET_ON_FORK;
}

ORMA_TEST(priority_is_raised_and_given_back)
{
	int policy = get_policy(), nice = getpriority(PRIO_PROCESS, 0);
	int r = orma_tool_set_priority(NULL, ORMA_PRIORITY_OTHER, 20);

	if (r == -EPERM || r == -EACCES)
		orma_test_skip("no permission to raise the priority");
	CHECK_INT(r, 0);
	CHECK_INT(getpriority(PRIO_PROCESS, 0), -20);
	r = orma_tool_set_priority(NULL, ORMA_PRIORITY_FIFO, 1);
	if (r == 0)
		CHECK_INT(get_policy(), SCHED_FIFO);
	else
		CHECK_INT(r, -EPERM); /* a container without real-time share */
	CHECK_INT(orma_tool_set_priority(NULL, ORMA_PRIORITY_INITIAL, 0), 0);
	CHECK_INT(get_policy(), policy);
	CHECK_INT(getpriority(PRIO_PROCESS, 0), nice);
}
