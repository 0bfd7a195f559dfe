/* SPDX-License-Identifier: Apache-2.0
 * seccomp.h - gives up the system calls that the daemon does not need.
 */
#ifndef ORMA_TOOL_SECCOMP_H
#define ORMA_TOOL_SECCOMP_H

enum orma_seccomp_mode {
	ORMA_SECCOMP_OFF,
	ORMA_SECCOMP_ERRNO, /* a forbidden call fails with EPERM and is in the kernel's log */
	ORMA_SECCOMP_KILL,  /* a forbidden call ends the process with SIGSYS */
};

/* Parses "off", "errno" or "kill". 0 or -EINVAL. */
int orma_seccomp_parse(const char *text, enum orma_seccomp_mode *ret);
/*
 * Installs the filter for this thread and those that it starts; there should be no other thread
 * yet. 0. -ENOTSUP: the build has a sanitizer, whose run-time needs calls of its own, or the filter
 * does not know the processor. Other errors are the kernel's; -EINVAL and -ENOSYS mean that it has
 * no filters.
 */
int orma_seccomp_apply(enum orma_seccomp_mode mode);

#endif
