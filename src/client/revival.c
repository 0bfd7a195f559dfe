/* SPDX-License-Identifier: Apache-2.0
 * revival.c - the state of a forked child, and the call that makes it a producer.
 *
 * The lowest files of the client read the state (engine.c, thread.c), and the highest one begins the client
 * anew (lifecycle.c). Therefore this file calls lifecycle.c through a pointer.
 */
#include "client/revival.h"

#include <errno.h>
#include <stddef.h>

#include "base/assert.h"
#include "base/cancel.h"
#include "base/log_message.h"

#define REACHABLE_MAX 64

enum revival { REVIVAL_NONE = 0, REVIVAL_POSSIBLE, REVIVAL_RUNNING };

_Atomic bool orma_client_is_forked;
uint32_t orma_client_fork_count;
static _Atomic uint32_t revival; /* enum revival; acq_rel: one thread wins */
/* Set by every orma_init(), always to the same value; relaxed. */
static orma_client_restart_fn *_Atomic restart_client;
/* Written by any thread; read by leak checkers alone. Relaxed. */
static void *_Atomic reachable[REACHABLE_MAX];
static _Atomic uint32_t reachable_count;

void orma_client_keep_reachable(void *object)
{
	uint32_t idx;

	if (!object)
		return;
	idx = atomic_fetch_add_explicit(&reachable_count, 1, memory_order_relaxed);
	atomic_store_explicit(&reachable[idx % REACHABLE_MAX], object, memory_order_relaxed);
}

void orma_client_revival_init(orma_client_restart_fn *restart)
{
	atomic_store_explicit(&restart_client, restart, memory_order_relaxed);
}

void orma_client_revival_allow(bool is_possible)
{
	atomic_store_explicit(&orma_client_is_forked, is_possible, memory_order_relaxed);
	atomic_store_explicit(&revival, is_possible ? REVIVAL_POSSIBLE : REVIVAL_NONE,
			      memory_order_relaxed);
}

bool orma_client_revival_is_running(void)
{
	return atomic_load_explicit(&revival, memory_order_relaxed) == REVIVAL_RUNNING;
}

bool orma_client_revival_begin(void)
{
	uint32_t possible = REVIVAL_POSSIBLE;

	return orma_client_is_silent_child() &&
	       atomic_compare_exchange_strong_explicit(&revival, &possible, REVIVAL_RUNNING,
						       memory_order_acq_rel, memory_order_relaxed);
}

void orma_client_revival_end(int error)
{
	ORMA_ASSERT(orma_client_revival_is_running());
	atomic_store_explicit(&orma_client_is_forked, error < 0, memory_order_relaxed);
	atomic_store_explicit(&revival, REVIVAL_NONE, memory_order_release);
}

void orma_client_revive(void)
{
	ORMA_NO_CANCEL();
	int saved_errno = errno;

	/* The caller is emitting an event, so log lines must not reach stderr now. */
	orma_base_log_mute_stderr(true);
	if (orma_client_revival_begin())
		orma_client_revival_end(
			atomic_load_explicit(&restart_client, memory_order_relaxed)(NULL));
	orma_base_log_mute_stderr(false);
	errno = saved_errno;
}
