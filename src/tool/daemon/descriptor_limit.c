/* SPDX-License-Identifier: Apache-2.0
 * descriptor_limit.c - raises the soft limit on open files.
 *
 * The usual soft limit of 1,024 is for programs that use select(). The daemons use epoll.
 */
#include "tool/daemon/descriptor_limit.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log_message.h"
#include "base/macros.h"

uint64_t orma_tool_set_descriptor_limit(uint64_t wanted)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	rlim_t old = limit.rlim_cur;
	limit.rlim_cur = ORMA_MIN(limit.rlim_max, (rlim_t)wanted);
	return setrlimit(RLIMIT_NOFILE, &limit) ? 0 : old;
}

void orma_tool_raise_descriptor_limit(uint64_t wanted)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = ORMA_MIN(limit.rlim_max, (rlim_t)wanted);
	if (setrlimit(RLIMIT_NOFILE, &limit))
		orma_base_log(ORMA_LOG_DEBUG, "no more descriptors: %s", strerror(errno));
}
