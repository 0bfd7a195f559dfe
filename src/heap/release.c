/* SPDX-License-Identifier: Apache-2.0
 * release.c - frees, at the end of a program, the blocks that its C library keeps.
 *
 * Until the process ends, glibc keeps the buffers of streams, the tables of locales and time zones, the records of threads that
 * have ended, and more. So even a program that only prints a line would have leaks. glibc has a function that frees all of this, for
 * leak checkers; libstdc++ has one for its reserve for exceptions. musl keeps no such blocks.
 *
 * glibc's function does not stop other threads, which may still print. So nothing is freed while there are other threads.
 *
 * Rejected: leaving out call stacks by the names of functions, because half of glibc's own functions have no names without its
 * debugging information, and because fopen() without fclose() is a leak of the program.
 */
#include "heap/release.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock_ns.h"

/* This thread, and the library's. */
#define OWN_THREADS 2u
/* The links of a folder that do not come from folders in it: one from its parent, and one from itself. */
#define LINKS_BESIDE_THREADS 2u
/* The longest wait is a tenth of a second. */
#define MOMENT_NS (2 * ORMA_NS_PER_MS)
#define MOMENTS   50u

static bool has_other_threads(void)
{
	struct stat info;

	return stat("/proc/self/task", &info) < 0 ||
	       info.st_nlink > LINKS_BESIDE_THREADS + OWN_THREADS;
}

/* A thread stays in /proc for a moment after pthread_join() has returned. */
static bool are_threads_gone(void)
{
	const struct timespec moment = {0, (long)MOMENT_NS};
	unsigned attempts = MOMENTS;

	while (has_other_threads())
		if (--attempts == 0 || nanosleep(&moment, NULL) < 0)
			return false;
	return true;
}

static void call(const char *name)
{
	void *address = dlsym(RTLD_DEFAULT, name);
	void (*function)(void);

	if (!address)
		return;
	memcpy(&function, &address, sizeof(function));
	function();
}

void orma_heap_release(void)
{
	if (!are_threads_gone())
		return;
	call("_ZN9__gnu_cxx9__freeresEv");
	call("__libc_freeres");
}
