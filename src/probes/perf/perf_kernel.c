/* SPDX-License-Identifier: Apache-2.0
 * perf_kernel.c - perf events of the kernel that this process runs on. Owns nothing.
 */
#include "probes/perf/perf_kernel.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"

static int open_event(void *ctx, const struct perf_event_attr *attr, pid_t pid, int cpu,
		      int group_fd, unsigned long flags)
{
	(void)ctx;
	int fd = orma_base_fd_avoid_standard((int)syscall(SYS_perf_event_open, attr, pid, cpu,
							  group_fd, flags | PERF_FLAG_FD_CLOEXEC));
	return fd < 0 ? -errno : fd;
}

static void close_event(void *ctx, int fd)
{
	(void)ctx;
	orma_base_fd_close(fd);
}

static int control_event(void *ctx, int fd, unsigned long request, unsigned long argument)
{
	(void)ctx;
	return ioctl(fd, request, argument) < 0 ? -errno : 0;
}

static int map_ring(void *ctx, int fd, size_t size, void **ret)
{
	(void)ctx;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	*ret = memory;
	return 0;
}

static void unmap_ring(void *ctx, void *memory, size_t size)
{
	(void)ctx;
	munmap(memory, size);
}

static ssize_t read_event(void *ctx, int fd, void *buf, size_t size)
{
	(void)ctx;
	ssize_t r = read(fd, buf, size);
	return r < 0 ? -errno : r;
}

static uint64_t read_clock(void *ctx, clockid_t clock)
{
	(void)ctx;
	return orma_base_clock_ns(clock);
}

const struct orma_perf_kernel orma_perf_kernel_real = {
	.open = open_event,
	.close = close_event,
	.control = control_event,
	.map = map_ring,
	.unmap = unmap_ring,
	.read = read_event,
	.clock_ns = read_clock,
};
