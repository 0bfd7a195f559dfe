/* SPDX-License-Identifier: Apache-2.0
 * descriptors.c - keeps the library's descriptors open in programs that close all descriptors, as daemons do.
 *
 * close(), close_range() and closefrom() replace those of the C library. They treat the library's descriptors as numbers that are
 * not open. base/fd.h knows these descriptors, because a child has to close them after fork(). A program that calls the kernel
 * without the C library, or puts another file on such a number with dup2(), still closes them. The client then leaves the
 * numbers alone, and connects anew within a second (src/client/lifecycle.c); samples of that second are lost.
 *
 * Rejected: only connecting anew, because samples would be lost.
 *
 * Threads: any, at any time, also in signal handlers. Nothing locks or allocates.
 */
#include "heap/descriptors.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <orma-heap/heap_profile.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "heap/visit.h"

/* Older headers define neither the number nor the flag. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define UNSHARE_FIRST   2
#define DESCRIPTORS_MAX (1u << 20)

/* Declared here, because older C libraries lack these functions. */
ORMA_HEAP_API int close_range(unsigned int first, unsigned int last, int flags);
ORMA_HEAP_API void closefrom(int first);

/* The C library's close(), which is a cancellation point. Constant after the constructor. */
static int (*next_close)(int fd);

void orma_heap_descriptors_init(void)
{
	void *address = dlsym(RTLD_NEXT, "close");

	memcpy(&next_close, &address, sizeof(next_close));
}

/* Returns the first descriptor of the library from `fd` on; INT_MAX = none. The child of a bare clone() needs none. */
static int next_own(int fd)
{
	return orma_heap_is_own_process() ? orma_base_fd_next_kept(fd) : INT_MAX;
}

ORMA_HEAP_API int close(int fd)
{
	if (fd >= 0 && next_own(fd) == fd) {
		errno = EBADF;
		return -1;
	}
	return next_close ? next_close(fd) : (int)syscall(SYS_close, fd);
}

ORMA_HEAP_API int close_range(unsigned int first, unsigned int last, int flags)
{
	while (first <= last && first <= INT_MAX) {
		unsigned int own = (unsigned int)next_own((int)first);

		if (own > last || own == INT_MAX)
			break;
		if (own > first) {
			int r = (int)syscall(SYS_close_range, first, own - 1, flags);

			if (r < 0)
				return r;
			flags &= ~UNSHARE_FIRST;
		}
		first = own + 1;
		if (first > last)
			return 0;
	}
	return (int)syscall(SYS_close_range, first, last, flags);
}

/* Does what the C library's function does. If the kernel lacks close_range(), numbers beyond the limit are not closed. */
ORMA_HEAP_API void closefrom(int first)
{
	struct rlimit limit = {.rlim_cur = 0};
	int saved_errno = errno;

	first = first < 0 ? 0 : first;
	if (close_range((unsigned int)first, ~0u, 0) < 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0)
		for (rlim_t i = (rlim_t)first; i < limit.rlim_cur && i < DESCRIPTORS_MAX; i++)
			(void)close((int)i);
	errno = saved_errno;
}
