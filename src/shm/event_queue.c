/* SPDX-License-Identifier: Apache-2.0
 * event_queue.c - the queue from the writers to the loop thread, and the wake-ups of the loop.
 *
 * Owns arbiter->queue (arbiter_state.h has the picture) and `wanted`.
 *
 * Why no wake-up is lost: a writer pushes and then reads `wanted`. The loop thread clears `wanted`
 * and then takes the queue. All four operations are sequentially consistent, so either the writer
 * sees the cleared word and wakes the loop, or the loop sees what was pushed. Between two takes,
 * `wanted` only grows, and only a change to it writes to the descriptor. So a batch costs at most
 * two system calls, however many threads push.
 *
 * Rejected: a mutex around a growing vector, because all threads would wait for one that was
 * preempted while it held the mutex; a ring per writer, because it costs memory per thread, and the
 * loop would have to visit thousands of idle ones.
 */
#include <errno.h>
#include <unistd.h>

#include "base/fd.h"
#include "shm/arbiter_state.h"

/* The queue's content after it was closed. */
static struct orma_shm_event closed;

static void raise_wanted(struct orma_shm_arbiter *arbiter, uint32_t wanted)
{
	uint32_t before = atomic_load_explicit(&arbiter->wanted, memory_order_seq_cst);

	do {
		if (before >= wanted)
			return;
	} while (!atomic_compare_exchange_weak_explicit(
		&arbiter->wanted, &before, wanted, memory_order_seq_cst, memory_order_seq_cst));
	orma_base_fd_wake(arbiter->wake_fd);
}

void orma_shm_arbiter_want(struct orma_shm_arbiter *arbiter, enum orma_shm_wanted wanted)
{
	raise_wanted(arbiter, wanted);
}

enum orma_shm_wanted orma_shm_arbiter_wanted(struct orma_shm_arbiter *arbiter)
{
	uint64_t count;

	while (read(arbiter->wake_fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	return (enum orma_shm_wanted)atomic_load_explicit(&arbiter->wanted, memory_order_seq_cst);
}

bool orma_shm_arbiter_push(struct orma_shm_arbiter *arbiter, struct orma_shm_event *event)
{
	struct orma_shm_event *head = atomic_load_explicit(&arbiter->queue, memory_order_relaxed);
	/* The event belongs to the other thread once it is in the queue. */
	enum orma_shm_wanted wanted = event->kind == ORMA_SHM_EVENT_REGISTRATION
					      ? ORMA_SHM_WANTED_SOON
					      : ORMA_SHM_WANTED_LATER;

	ORMA_ASSERT(event->kind != ORMA_SHM_EVENT_CHUNK || event->is_owned);
	do {
		if (head == &closed)
			return false;
		event->next = head;
	} while (!atomic_compare_exchange_weak_explicit(
		&arbiter->queue, &head, event, memory_order_seq_cst, memory_order_seq_cst));
	raise_wanted(arbiter, wanted);
	return true;
}

/* Moves the queued events to the end of `ready`, the oldest first, and leaves `instead` in the
 * queue. */
static void gather(struct orma_shm_arbiter *arbiter, struct orma_shm_event *instead)
{
	struct orma_shm_event *head, *first = NULL, *last;

	atomic_store_explicit(&arbiter->wanted, 0, memory_order_seq_cst);
	head = atomic_exchange_explicit(&arbiter->queue, instead, memory_order_seq_cst);
	last = head;
	while (head) {
		struct orma_shm_event *older = head->next;

		ORMA_ASSERT(head != &closed);
		head->next = first;
		first = head;
		head = older;
	}
	if (!first)
		return;
	if (arbiter->ready_last)
		arbiter->ready_last->next = first;
	else
		arbiter->ready_first = first;
	arbiter->ready_last = last;
}

void orma_shm_arbiter_gather(struct orma_shm_arbiter *arbiter)
{
	/* An abandoned arbiter's queue stays closed. */
	if (!atomic_load_explicit(&arbiter->is_abandoned, memory_order_relaxed))
		gather(arbiter, NULL);
}

void orma_shm_arbiter_close_queue(struct orma_shm_arbiter *arbiter)
{
	gather(arbiter, &closed);
}

void orma_shm_arbiter_cut_queue(struct orma_shm_arbiter *arbiter)
{
	atomic_store_explicit(&arbiter->queue, &closed, memory_order_relaxed);
}
