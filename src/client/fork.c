/* SPDX-License-Identifier: Apache-2.0
 * fork.c - makes the child of a fork silent, until its next event makes it a producer of its own.
 *
 *   parent: nothing is locked, nothing waits
 *   child:  in_forked_child()                            orma_client_revive()
 *           ------------------- silent ----------------> new thread, connection, memory, pid, uuid
 *
 * The child has one thread, and a copy of every half-finished change of the others: the mutex may be
 * locked for ever, lists may be half linked. It therefore keeps only those objects of its parent that
 * are complete at every moment, because a single store publishes them: the table of data sources
 * (handles stay valid), their last descriptors, and the options, which are constant. The loop, the
 * links and the threads' slots stay where they are and are never touched or freed.
 *
 * The handler of the fork makes harmless everything that must not be shared, by async-signal-safe means. It
 * closes the descriptors of connections, sessions and loops, so that the service sees the end of the
 * parent. It puts private memory in the place of the shared memory, so that an open packet goes nowhere. It
 * stops every instance. The first event afterwards finds a mark in its category, or an empty `started`,
 * and begins anew with a new thread and new connections.
 *
 * vfork() and posix_spawn() run no handlers and need none: the child is the parent's thread until
 * its exec. _Fork() and bare clone() promise only async-signal-safe functions, which these are not.
 *
 * Rejected: locking the mutex around fork() (a fork would wait for us, and in a signal handler for ever),
 * beginning anew in the handler itself (a child that calls exec at once would make threads), MADV_DONTFORK
 * for the memory (an open packet would crash the child).
 */
#include "client/fork.h"

#include <unistd.h>

#include "base/fd.h"
#include "client/engine.h"
#include "client/revival.h"
#include "client/thread.h"

/* The process that forks. Written before each fork by the forking thread, always to the same value, and
 * read in the child, which sees that thread's own write. Relaxed. */
static _Atomic pid_t forking_process;

/* Abandons objects of the parent, whose owners do not exist in the child. */
static void abandon_link(struct orma_client_link *link)
{
	struct orma_client_memory *memory =
		atomic_exchange_explicit(&link->inherited, NULL, memory_order_relaxed);

	if (memory)
		orma_client_memory_orphan(memory);
	orma_client_keep_reachable(memory);
	orma_client_keep_reachable(link->endpoint);
	orma_client_keep_reachable(link->flushes.next);
}

static void abandon_engine(void)
{
	orma_client_keep_reachable(orma_client.loop);
	orma_client_keep_reachable(orma_client.local);
	orma_client_keep_reachable(orma_client.threads.next);
	orma_client_keep_reachable(orma_client.work.next);
	orma_client_keep_reachable(orma_client.syncs.next);
	orma_client_keep_reachable(orma_client.triggers.next);
	for (size_t i = 0; i < orma_client.link_count && i < ORMA_CLIENT_LINKS_MAX; i++)
		abandon_link(&orma_client.links[i]);
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

/* For a child that never becomes a producer. Sources are not freed: that is not async-signal-safe. */
static void abandon_source(size_t idx)
{
	struct orma_data_source *source = orma_client_source_at(idx);

	atomic_store_explicit(&orma_client.sources[idx], NULL, memory_order_release);
	if (source && source->extra.freed)
		source->extra.freed(source->options.ctx);
}

static void before_fork(void)
{
	atomic_store_explicit(&forking_process, getpid(), memory_order_relaxed);
}

static void in_parent(void)
{
}

static void in_forked_child(void)
{
	/* If another thread was initialising or shutting down, it does not exist here to finish: OFF. */
	bool was_on = orma_client.phase == ORMA_CLIENT_ON || orma_client_revival_is_running();

	orma_client_fork_count++;
	pthread_mutex_init(&orma_client.mutex, NULL);
	orma_client_threads_forked();
	abandon_engine();
	orma_client.parent = atomic_load_explicit(&forking_process, memory_order_relaxed);
	orma_client.phase = was_on ? ORMA_CLIENT_ON : ORMA_CLIENT_OFF;
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++)
		if (orma_client_source_at(i))
			silence(orma_client_source_at(i));
	if (!was_on) {
		for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++)
			abandon_source(i);
		orma_client_forget_parent();
		orma_client.options = (struct orma_init_options){0};
	}
	orma_client_revival_allow(was_on);
}

static int watch_error;

static void watch_forks(void)
{
	watch_error = -pthread_atfork(before_fork, in_parent, in_forked_child);
}

int orma_client_forks_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
	return watch_error;
}
