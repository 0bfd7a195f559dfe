/* SPDX-License-Identifier: Apache-2.0
 * fork.c - the child of a fork: silent at once, a producer of its own from its next event on.
 *
 *   parent: nothing is locked, nothing waits
 *   child:  in_forked_child()                            orma_client_revive()
 *           ------------------- silent ----------------> new thread, connection, memory, pid, uuid
 *
 * The child has one thread, and a copy of whatever the others were in the middle of: the mutex may
 * be locked for ever, lists may be half linked. It therefore keeps of its parent only what is whole
 * at every moment, because it is published by a single store: the table of data sources (handles
 * stay valid), their last descriptors, and the options, which are constant. All the rest, loop,
 * links, threads' slots, is left where it is and never touched or freed.
 *
 * What it must not share is made harmless in the handler, by async-signal-safe means: descriptors
 * of connections, sessions and loops are closed, so that the service sees the parent end when it
 * ends; the shared memory is exchanged for private memory in the same place, so that a packet that
 * was open goes nowhere; every instance is stopped. The first event afterwards finds no instance,
 * but a mark in its category or an empty `started`, and begins anew with new threads and
 * connections.
 *
 * vfork() and posix_spawn() run no handlers and need none: the child is the parent's thread until
 * its exec. _Fork() and bare clone() promise only async-signal-safe functions, which these are not.
 *
 * Rejected: locking the mutex around fork() (forks wait for us, and those of signal handlers for
 * ever), beginning anew in the handler itself (children that exec at once would make threads),
 * MADV_DONTFORK for the memory (an open packet would be a crash).
 */
#include <errno.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "client/client.h"

/* What is left of the parent stays reachable, so that leak checkers of children have no questions.
 */
#define LEFT_BEHIND_MAX 64

enum revival { REVIVAL_NONE = 0, REVIVAL_POSSIBLE, REVIVAL_RUNNING };

_Atomic bool orma_client_is_forked;
uint32_t orma_client_fork_count;
static _Atomic uint32_t revival; /* enum revival; acq_rel: one thread wins */
/* Written in children of forks, by any of their threads; read by leak checkers alone. Relaxed. */
static void *_Atomic left_behind[LEFT_BEHIND_MAX];
static _Atomic uint32_t left_behind_count;
/* The process that forks: written before each fork, always to the same value but by any thread; read
 * in the child, where the forking thread's own value is seen. Relaxed. */
static _Atomic pid_t forking;

void orma_client_fork_leave(void *object)
{
	uint32_t place;

	if (!object)
		return;
	place = atomic_fetch_add_explicit(&left_behind_count, 1, memory_order_relaxed);
	atomic_store_explicit(&left_behind[place % LEFT_BEHIND_MAX], object, memory_order_relaxed);
}

static void leave_everything(void)
{
	orma_client_fork_leave(orma_client.loop);
	orma_client_fork_leave(orma_client.local);
	orma_client_fork_leave(orma_client.threads.next);
	orma_client_fork_leave(orma_client.work.next);
	orma_client_fork_leave(orma_client.syncs.next);
	orma_client_fork_leave(orma_client.triggers.next);
	for (size_t i = 0; i < orma_client.link_count && i < ORMA_CLIENT_LINKS_MAX; i++) {
		struct orma_client_link *link = &orma_client.links[i];
		struct orma_client_memory *memory =
			atomic_exchange_explicit(&link->inherited, NULL, memory_order_relaxed);

		if (memory)
			orma_client_memory_orphan(memory);
		orma_client_fork_leave(memory);
		orma_client_fork_leave(link->endpoint);
		orma_client_fork_leave(link->flushes.next);
	}
	orma_base_fds_close_in_child();
}

static void silence(struct orma_data_source *source)
{
	atomic_store_explicit(&source->started, 0, memory_order_relaxed);
	for (size_t i = 0; i < ORMA_INSTANCES_MAX; i++)
		atomic_store_explicit(&source->stamps[i], 0, memory_order_relaxed);
	if (source->extra.forked)
		source->extra.forked(source->options.ctx);
}

static void before_fork(void)
{
	atomic_store_explicit(&forking, getpid(), memory_order_relaxed);
}

static void in_parent(void)
{
}

static void in_forked_child(void)
{
	bool was_reviving = atomic_load_explicit(&revival, memory_order_relaxed) == REVIVAL_RUNNING;
	bool was_on = orma_client.phase == ORMA_CLIENT_ON || was_reviving;

	orma_client_fork_count++;
	pthread_mutex_init(&orma_client.mutex, NULL);
	orma_client_threads_forked();
	leave_everything();
	orma_client.parent = atomic_load_explicit(&forking, memory_order_relaxed);
	orma_client.phase = was_on ? ORMA_CLIENT_ON : ORMA_CLIENT_OFF;
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++)
		if (orma_client_source_at(i))
			silence(orma_client_source_at(i));
	if (!was_on) {
		/* Also when another thread was initialising or shutting down: neither ends here. */
		orma_client_forget_sources(true);
		orma_client_forget_parent();
		orma_client.options = (struct orma_init_options){0};
	}
	atomic_store_explicit(&orma_client_is_forked, was_on, memory_order_relaxed);
	atomic_store_explicit(&revival, was_on ? REVIVAL_POSSIBLE : REVIVAL_NONE,
			      memory_order_relaxed);
}

static int fork_error;

static void watch_forks(void)
{
	fork_error = -pthread_atfork(before_fork, in_parent, in_forked_child);
}

int orma_client_forks_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
	return fork_error;
}

bool orma_client_revival_begin(void)
{
	uint32_t possible = REVIVAL_POSSIBLE;

	return atomic_load_explicit(&orma_client_is_forked, memory_order_relaxed) &&
	       atomic_compare_exchange_strong_explicit(&revival, &possible, REVIVAL_RUNNING,
						       memory_order_acq_rel, memory_order_relaxed);
}

void orma_client_revival_end(int error)
{
	/* After an error the process stays silent. */
	atomic_store_explicit(&orma_client_is_forked, error < 0, memory_order_relaxed);
	atomic_store_explicit(&revival, REVIVAL_NONE, memory_order_release);
}

void orma_client_revive(void)
{
	ORMA_NO_CANCEL();
	int saved_errno = errno;

	/* The caller emits. */
	orma_base_log_mute_stderr(true);
	if (orma_client_revival_begin())
		orma_client_revival_end(orma_client_restart(NULL));
	orma_base_log_mute_stderr(false);
	errno = saved_errno;
}
