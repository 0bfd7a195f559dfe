/* SPDX-License-Identifier: Apache-2.0
 * preload.c - the beginning and the end of liborma-heap in a program: connection, fork, exit, dlclose(). It begins with the first
 * allocation or in the constructor, whichever comes first. The environment says how:
 *
 *   ORMA_HEAP_SOCK    the profiler's socket. Otherwise /run/perfetto/orma-profiler if that folder exists, else
 *                     /tmp/orma-profiler
 *   ORMA_HEAP_WAIT    1: the program only begins when a session has started, or after 3 seconds
 *   ORMA_HEAP_FOLLOW  1: children and executed programs are profiled, too. Otherwise these variables, and this library
 *                     in LD_PRELOAD, are removed from the environment
 *   ORMA_HEAP_EXEC    0: a program that replaces this one is profiled, too; exec.c then sets the variables again, and this
 *                     one to the pid
 *   ORMA_HEAP_RELEASE 1: the blocks that the C library keeps are freed at the end
 *
 * A program that runs with more rights than its user is not profiled; the library passes all calls through.
 */
#include <dlfcn.h>
#include <errno.h>
#include <orma-heap/heap_profile.h>
#include <orma/init.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "client/link.h"
#include "client/thread.h"
#include "heap/begin.h"
#include "heap/descriptors.h"
#include "heap/environment.h"
#include "heap/exec.h"
#include "heap/heap_maps.h"
#include "heap/heap_source.h"
#include "heap/next_allocator.h"
#include "heap/release.h"
#include "heap/stack_capture.h"
#include "heap/tracker.h"
#include "heap/visit.h"

#define SOCKET_IN_RUN   "/run/perfetto/orma-profiler"
#define FOLDER_IN_RUN   "/run/perfetto"
#define SOCKET_IN_TMP   "/tmp/orma-profiler"
#define WAIT_TIMEOUT_MS 3000u
#define BYE_TIMEOUT_MS  1000u
/* The bytes between two checks for a session, in programs that were started to be profiled. */
#define CHILD_STEP_BYTES 16384
#define MEMORY_BYTES     (2u << 20)
/* The library keeps 220 bytes and four patches for each page, so pages of 4 KiB would cost the program 200 KiB. */
#define PAGE_BYTES (16u << 10)
/* The time for which finished chunks are collected into one batch, because each batch wakes two processes. They are sent at once when
 * memory runs low, a flush begins or the program ends. */
#define GATHER_NS (100 * ORMA_NS_PER_MS)
/* The library's descriptors get the highest numbers below this. */
#define DESCRIPTORS     64u
#define DESCRIPTORS_END 1024u

/* Constant after the constructor. */
static bool is_active, follows_children, releases;
/* The process that has the library's thread. Changes in a child of fork(). */
static pid_t owner;

/* Shells and scripts put their own descriptors on numbers below 256, and close what has those. */
static void avoid_low_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > (rlim_t)2 * DESCRIPTORS)
		orma_base_fd_set_lowest(
			(int)(ORMA_MIN(limit.rlim_cur, (rlim_t)DESCRIPTORS_END) - DESCRIPTORS));
}

static void in_forked_child(void)
{
	owner = getpid();
	orma_heap_source_forked(follows_children);
}

static int start(const char *socket, bool waits)
{
	struct orma_init_options options = {
		.struct_size = sizeof(options),
		.shm_size_bytes = MEMORY_BYTES,
		.page_size_bytes = PAGE_BYTES,
		.producer_socket = socket,
		/* Any user can make the default socket. */
		.trusted_services = socket ? NULL : "",
	};
	int r;

	if (!socket)
		options.producer_socket =
			access(FOLDER_IN_RUN, F_OK) == 0 ? SOCKET_IN_RUN : SOCKET_IN_TMP;
	orma_client_link_gather_for(GATHER_NS);
	orma_client_threads_prepare();
	r = orma_heap_visit_init();
	if (r == 0)
		r = orma_init(&options);
	/* Registered after the client's own handlers, so that this one runs after them. */
	if (r == 0)
		r = -pthread_atfork(NULL, NULL, in_forked_child);
	return r == 0 ? orma_heap_source_register(waits) : r;
}

static void begin(void)
{
	bool waits = orma_heap_environment_is_set("ORMA_HEAP_WAIT");

	orma_heap_next_find();
	orma_heap_descriptors_init();
	orma_heap_stack_init();
	if (getauxval(AT_SECURE))
		return;
	follows_children = orma_heap_environment_is_set("ORMA_HEAP_FOLLOW");
	releases = orma_heap_environment_is_set("ORMA_HEAP_RELEASE");
	/* A program between this one and the profiled one could not load the library, and has left the variables. */
	if (!orma_heap_exec_init()) {
		orma_heap_environment_forget();
		return;
	}
	if (follows_children)
		orma_heap_tracker.idle_step = CHILD_STEP_BYTES;
	owner = getpid();
	orma_heap_tracker.program_start_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	avoid_low_descriptors();
	is_active = start(orma_heap_environment_value("ORMA_HEAP_SOCK"), waits) == 0;
	if (!follows_children)
		orma_heap_environment_forget();
	if (is_active && waits)
		orma_heap_source_wait(WAIT_TIMEOUT_MS);
}

/* Where libpthread is a library of its own (glibc before 2.34), no thread can be started until its constructor has run. The preloaded
 * library's own constructor runs after it; those of other libraries may run before. */
#if defined(__GLIBC__) && __GLIBC__ == 2 && __GLIBC_MINOR__ < 34
static bool can_start_threads;
#else
static bool can_start_threads = true;
#endif

bool orma_heap_begin(void)
{
	/* Relaxed: only one thread begins, and others go on unprofiled until then. */
	static _Atomic bool has_begun;
	int saved_errno = errno;

	if (atomic_load_explicit(&has_begun, memory_order_relaxed))
		return true;
	if (!environ || !can_start_threads)
		return false;
	if (!atomic_exchange_explicit(&has_begun, true, memory_order_relaxed))
		begin();
	errno = saved_errno;
	return true;
}

__attribute__((constructor)) static void on_load(void)
{
	can_start_threads = true;
	(void)orma_heap_begin();
}

/* Frees of later destructors are not lost, because the service reads them from shared memory when the process has ended. */
__attribute__((destructor)) static void on_unload(void)
{
	/* Not in the child of a bare clone(), which has neither the library's thread nor shared memory of its own. */
	if (!is_active || getpid() != owner)
		return;
	if (releases)
		orma_heap_release();
	orma_heap_source_end_process(BYE_TIMEOUT_MS);
}

/* Announces the change, because samples of the next library at this place must not get the names of this one. */
ORMA_HEAP_API int dlclose(void *handle)
{
	static int (*_Atomic next)(void *);
	int (*function)(void *) = atomic_load_explicit(&next, memory_order_relaxed);
	int r;

	if (!function) {
		void *address = dlsym(RTLD_NEXT, "dlclose");

		memcpy(&function, &address, sizeof(function));
		if (!function)
			return -1;
		atomic_store_explicit(&next, function, memory_order_relaxed);
	}
	r = function(handle);
	if (r == 0)
		orma_heap_maps_changed();
	return r;
}
