/* SPDX-License-Identifier: Apache-2.0
 * engine.c - the one object of the process, and the functions that change it as a whole.
 *
 * This file knows none of the object's parts; lifecycle.c brings them together.
 */
#include "client/engine.h"

#include "base/macros.h"
#include "client/revival.h"

struct orma_client orma_client = {.mutex = PTHREAD_MUTEX_INITIALIZER};
int (*_Atomic orma_client_on_init)(void);

bool orma_client_lock(void)
{
	if (ORMA_UNLIKELY(orma_client_is_silent_child())) {
		orma_client_revive();
		if (orma_client_is_silent_child())
			return false;
	}
	pthread_mutex_lock(&orma_client.mutex);
	if (orma_client.phase == ORMA_CLIENT_ON)
		return true;
	pthread_mutex_unlock(&orma_client.mutex);
	return false;
}

uint64_t orma_client_stamp_locked(void)
{
	return ++orma_client.next_stamp;
}

bool orma_client_is_loop_thread(void)
{
	return !orma_client.options.caller_drives &&
	       pthread_equal(orma_client.thread, pthread_self());
}

void orma_client_init_lists(void)
{
	orma_base_list_init(&orma_client.threads);
	orma_base_list_init(&orma_client.work);
	orma_base_list_init(&orma_client.syncs);
	orma_base_list_init(&orma_client.triggers);
}

void orma_client_forget_parent(void)
{
	orma_client.threads.next = NULL;
	orma_client.loop = NULL;
	orma_client.local = NULL;
	orma_client.link_count = 0;
	orma_client.has_condition = orma_client.has_completions = orma_client.is_shutting_down =
		false;
	atomic_store_explicit(&orma_client.up_count, 0, memory_order_relaxed);
}
