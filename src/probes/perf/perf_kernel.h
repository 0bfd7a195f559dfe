/* SPDX-License-Identifier: Apache-2.0
 * perf_kernel.h - the system calls for perf events, as a table, so that a test can provide recorded bytes.
 */
#ifndef ORMA_PROBES_PERF_PERF_KERNEL_H
#define ORMA_PROBES_PERF_PERF_KERNEL_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct orma_perf_kernel {
	void *ctx;
	/* Returns a descriptor that is CLOEXEC, or -errno. `pid` -1 = all tasks; with
	 * PERF_FLAG_PID_CGROUP it is the descriptor of a control group. */
	int (*open)(void *ctx, const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		    unsigned long flags);
	void (*close)(void *ctx, int fd);
	/* ioctl(): 0 or -errno. */
	int (*control)(void *ctx, int fd, unsigned long request, unsigned long argument);
	/* Maps the kernel's page and the ring after it. 0 or -errno. */
	int (*map)(void *ctx, int fd, size_t size, void **ret);
	void (*unmap)(void *ctx, void *memory, size_t size);
	ssize_t (*read)(void *ctx, int fd, void *buf, size_t size);
	uint64_t (*clock_ns)(void *ctx, clockid_t clock);
};

/* The system calls of the running kernel. */
extern const struct orma_perf_kernel orma_perf_kernel_real;

#endif
