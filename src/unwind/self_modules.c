/* SPDX-License-Identifier: Apache-2.0
 * self_modules.c - makes forks and visits of the dynamic loader's modules exclude each other.
 *
 * glibc does not release the lock of dl_iterate_phdr() in the child of a fork. If a thread of ours were inside at that moment, the
 * first dlopen() of the child, or the first exception that it throws, would wait for ever.
 *
 *   visit                                  fork
 *   1. visitors + 1            (seq_cst)   a. forks + 1                    (seq_cst)
 *   2. forks > 0? then undo 1. (seq_cst)   b. wait until visitors is 0     (seq_cst)
 *   3. dl_iterate_phdr()                   c. fork
 *   4. visitors - 1                        d. forks - 1; in the child both are 0
 *
 * At least one of them sees the other, because all four accesses are seq_cst. A visit does not wait for a fork: its thread may be
 * inside of dl_iterate_phdr() already, in a function of the program that the forking thread waits for. A fork waits at most
 * FORK_WAIT_MS, because a signal handler may fork during a visit.
 *
 * Rejected: a mutex, because the visitor would wait for the fork.
 */
#include "unwind/self_modules.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "base/clock_ns.h"

#define FORK_WAIT_MS 100u

/* Threads inside of a visit, and threads that are about to fork. */
static _Atomic uint32_t visitors, forks;

static void before_fork(void)
{
	uint64_t deadline = orma_base_clock_ns(CLOCK_MONOTONIC) + FORK_WAIT_MS * ORMA_NS_PER_MS;
	int saved_errno = errno;

	atomic_fetch_add(&forks, 1);
	while (atomic_load(&visitors) != 0 && orma_base_clock_ns(CLOCK_MONOTONIC) < deadline)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 50000}, NULL);
	errno = saved_errno;
}

static void in_parent(void)
{
	atomic_fetch_sub(&forks, 1);
}

static void in_forked_child(void)
{
	atomic_store(&forks, 0);
	atomic_store(&visitors, 0);
}

static void watch_forks(void)
{
	/* This only fails without memory. Then a fork may happen during a visit, as it would without this file. */
	(void)pthread_atfork(before_fork, in_parent, in_forked_child);
}

int orma_self_modules_visit(int (*fn)(struct dl_phdr_info *info, size_t size, void *ctx), void *ctx)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int r = 0;

	pthread_once(&once, watch_forks);
	atomic_fetch_add(&visitors, 1);
	if (atomic_load(&forks) == 0)
		dl_iterate_phdr(fn, ctx);
	else
		r = -EBUSY;
	atomic_fetch_sub(&visitors, 1);
	return r;
}
