/* SPDX-License-Identifier: Apache-2.0
 * record_targets.c - waits for the end of processes that are not our children.
 *
 * Owns a pidfd for each. They are waited for one after the other, because the recording ends with
 * the last one, whatever the order of their ends. A kernel without pidfds (before Linux 5.3) and
 * ids of threads are not watched: such a recording goes on until Ctrl-C, as without them.
 */
#include "tool/record/record_targets.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error_message.h"
#include "base/fd.h"
#include "base/macros.h"
#include "tool/tool.h"

/* Returns a descriptor that is CLOEXEC, or -errno. Its number is the same on all machines. */
static int open_pidfd(uint32_t pid)
{
	enum { PIDFD_OPEN = 434 };
	long fd = syscall(PIDFD_OPEN, (pid_t)pid, 0);

	return fd < 0 ? -errno : orma_base_fd_avoid_standard((int)fd);
}

int orma_record_targets_open(struct orma_record_targets *targets, const uint32_t *pids,
			     size_t count)
{
	*targets = (struct orma_record_targets){.pids = pids};
	for (size_t i = 0; i < count && i < ORMA_RECORD_TARGETS_MAX; i++) {
		int fd = open_pidfd(pids[i]);
		if (fd == -ESRCH) {
			orma_record_targets_done(targets);
			return orma_tool_fail("there is no process %u; `ps -e` lists those that "
					      "run",
					      pids[i]);
		}
		if (fd < 0) {
			orma_record_targets_done(targets);
			return ORMA_EXIT_OK;
		}
		targets->fds[targets->count++] = fd;
	}
	return ORMA_EXIT_OK;
}

int orma_record_targets_fd(const struct orma_record_targets *targets)
{
	for (size_t i = 0; i < targets->count; i++)
		if (targets->fds[i] >= 0)
			return targets->fds[i];
	return -1;
}

bool orma_record_targets_step(struct orma_record_targets *targets)
{
	bool has_changed = false;

	for (size_t i = 0; i < targets->count; i++) {
		struct pollfd fd = {.fd = targets->fds[i], .events = POLLIN};
		if (fd.fd < 0 || poll(&fd, 1, 0) <= 0)
			continue;
		targets->fds[i] = orma_base_fd_close(fd.fd);
		has_changed = true;
	}
	if (!has_changed || orma_record_targets_fd(targets) >= 0)
		return false;
	if (targets->count == 1)
		orma_tool_warn("process %u has ended", targets->pids[0]);
	else
		orma_tool_warn("all %zu processes have ended", targets->count);
	return true;
}

void orma_record_targets_done(struct orma_record_targets *targets)
{
	for (size_t i = 0; i < targets->count; i++)
		orma_base_fd_close(targets->fds[i]);
	targets->count = 0;
}
