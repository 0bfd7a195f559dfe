/* SPDX-License-Identifier: Apache-2.0
 * seccomp.h - the daemon gives up the system calls that it does not need.
 */
#ifndef ORMA_TOOL_SECCOMP_H
#define ORMA_TOOL_SECCOMP_H

enum orma_seccomp_mode {
	ORMA_SECCOMP_OFF,
	ORMA_SECCOMP_ERRNO, /* a forbidden call fails with EPERM and is in the kernel's log */
	ORMA_SECCOMP_KILL,  /* it ends the process with SIGSYS */
};

/* "off", "errno" or "kill"; -EINVAL. */
int orma_seccomp_parse(const char *text, enum orma_seccomp_mode *ret);
/*
 * For this thread and those that it starts; there should be no other yet. 0; -ENOTSUP in builds
 * with a sanitizer, whose run-time needs calls of its own, and on processors that the filter was
 * not written for; or what the kernel said: -EINVAL and -ENOSYS mean that it has no filters.
 */
int orma_seccomp_apply(enum orma_seccomp_mode mode);

#endif
