/* SPDX-License-Identifier: Apache-2.0
 * visit.c - threads of the profiled program inside the profiler.
 *
 * A visit is the time that a thread spends inside the profiler. Allocations during a visit are not sampled: the first packet of a
 * thread allocates, pthread_getattr_np() may allocate, and so may a signal handler that interrupts the thread.
 *
 * A signal handler may also abandon a visit with siglongjmp(). The next visit of the thread then finds that the functions of the
 * earlier one do not run any more. It gives back what the earlier visit held, and counts its packets as lost. A packet that was open
 * stays open, with its chunk, until the connection ends. Signals are blocked where the profiler waits for a lock. Rejected: blocking
 * them in each visit, because the two system calls take longer than a sample.
 *
 * A visit may wait and write to descriptors, where POSIX lets a thread be canceled. malloc() must not be such a place: the thread would
 * keep the locks of its caller. Therefore a visit disables cancellation, which takes 11 ns.
 *
 * _Fork() and a bare clone() run no handlers of pthread_atfork(), and the child would write into the shared memory of its parent.
 * Therefore a page has a byte that the kernel sets to 0 in any child with memory of its own (MADV_WIPEONFORK, Linux 4.14). No visit
 * begins while the byte is 0; the handler of fork() sets it again. Rejected: getpid(), which is a system call for each sample.
 */
#include "heap/visit.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/signals.h"
#include "client/thread.h"
#include "heap/countdown.h"
#include "heap/stack_capture.h"

/* With more threads than this, a thread returns its chunk after each packet, because their chunks would fill shared memory. */
#define THREADS_MAX_WITH_CHUNK 64
/* The least number of rounds of destructors in any C library (PTHREAD_DESTRUCTOR_ITERATIONS). */
#define DESTRUCTOR_ROUNDS 4

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

__thread struct orma_heap_thread orma_heap_self __attribute__((tls_model("initial-exec")));

/* 0 in the child of a fork whose handlers have not run. Constant after the constructor. */
static uint8_t always = 1, *is_own_process = &always;
static pthread_key_t thread_key;
static _Atomic bool has_key;          /* relaxed: set in the constructor */
static _Atomic uint32_t thread_count; /* threads with a sequence; relaxed: an estimate */

/* --- threads ---------------------------------------------------------------------------------- */

/* The destructor acts in the last round, so that destructors of the program are profiled. */
static void on_thread_exit(void *ctx)
{
	uintptr_t round = (uintptr_t)ctx;

	if (round < DESTRUCTOR_ROUNDS && pthread_setspecific(thread_key, (void *)(round + 1)) == 0)
		return;
	orma_heap_self.has_ended = true;
	orma_heap_countdowns_free(&orma_heap_self);
	atomic_fetch_sub_explicit(&thread_count, 1, memory_order_relaxed);
}

/* Sets up the byte that the kernel clears in children. An older kernel does not, and then children are not recognized. */
static void mark_process(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *page =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	if (madvise(page, size, MADV_WIPEONFORK) < 0) {
		munmap(page, size);
		return;
	}
	*page = 1;
	is_own_process = page;
}

bool orma_heap_is_own_process(void)
{
	return *is_own_process != 0;
}

int orma_heap_visit_init(void)
{
	int r = -pthread_key_create(&thread_key, on_thread_exit);

	mark_process();
	atomic_store_explicit(&has_key, r == 0, memory_order_relaxed);
	return r;
}

bool orma_heap_thread_register(struct orma_heap_thread *self)
{
	if (self->is_registered)
		return !self->has_ended;
	if (!atomic_load_explicit(&has_key, memory_order_relaxed) ||
	    pthread_setspecific(thread_key, (void *)1) != 0)
		return false;
	self->is_registered = true;
	atomic_fetch_add_explicit(&thread_count, 1, memory_order_relaxed);
	return true;
}

bool orma_heap_threads_are_many(void)
{
	return atomic_load_explicit(&thread_count, memory_order_relaxed) > THREADS_MAX_WITH_CHUNK;
}

/* --- visits ----------------------------------------------------------------------------------- */

bool orma_heap_visit_is_abandoned(const struct orma_heap_thread *self, uint64_t caller_sp)
{
	return orma_heap_stack_is_abandoned(self->visit, (uintptr_t)caller_sp) ||
	       orma_heap_stack_has_changed(self->visit, self->visit_mark);
}

/* Called while self->visit is set, so that no signal handler begins a visit between the two steps. */
static void disable_cancellation(struct orma_heap_thread *self)
{
	int before;

	self->was_cancelable = pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before) == 0 &&
			       before == PTHREAD_CANCEL_ENABLE;
}

static void restore_cancellation(struct orma_heap_thread *self)
{
	if (self->was_cancelable)
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	self->was_cancelable = false;
}

/* Gives back what an abandoned visit held. Its packets count as lost, although they may have been written. */
static void clean_up(struct orma_heap_thread *self)
{
	struct orma_data_source *source =
		atomic_load_explicit(&orma_heap_tracker.source, memory_order_acquire);

	if (self->held.place)
		orma_heap_live_give_up(self->held.place);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(self->held.scratches); i++)
		orma_heap_scratch_put(self->held.scratches[i]);
	for (uint32_t i = 0; i < ORMA_INSTANCES_MAX; i++) {
		struct orma_heap_instance_counts *counts = &orma_heap_tracker.counts[i];

		if (self->held.samples >> i & 1)
			orma_heap_add(&counts->lost_samples);
		if (self->held.frees >> i & 1)
			orma_heap_add(&counts->lost_frees);
	}
	self->held = (struct orma_heap_held){0};
	if (source)
		orma_client_self_abandon(source);
	restore_cancellation(self);
}

bool orma_heap_visit_enter(struct orma_heap_thread *self, uint64_t caller_sp,
			   struct orma_heap_visit *ret)
{
	if (ORMA_UNLIKELY(*is_own_process == 0))
		return false;
	if (ORMA_UNLIKELY(self->visit != 0)) {
		if (!orma_heap_visit_is_abandoned(self, caller_sp)) {
			orma_heap_add(&orma_heap_tracker.nested_calls);
			return false;
		}
		clean_up(self);
	}
	ret->saved_errno = errno;
	/* A new value each time, because an earlier visit at the same place of the stack has left its own there. */
	ret->mark = self->visit_mark + UINT64_C(0x9e3779b97f4a7c15);
	self->visit_mark = ret->mark;
	atomic_signal_fence(memory_order_seq_cst);
	self->visit = (uintptr_t)ret;
	atomic_signal_fence(memory_order_seq_cst);
	ret->malloc_left = self->left;
	self->left = ORMA_HEAP_STEP_BYTES;
	disable_cancellation(self);
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

void orma_heap_visit_leave(struct orma_heap_thread *self, const struct orma_heap_visit *visit)
{
	atomic_signal_fence(memory_order_seq_cst);
	/* The visit may be abandoned already, if a fiber was suspended in it and goes on now. */
	if (self->visit == (uintptr_t)visit && self->visit_mark == visit->mark) {
		if (self->left != ORMA_HEAP_STEP_BYTES)
			orma_heap_add(&orma_heap_tracker.nested_calls);
		self->left = visit->malloc_left;
		restore_cancellation(self);
		atomic_signal_fence(memory_order_seq_cst);
		self->visit = 0;
	}
	errno = visit->saved_errno;
}

void orma_heap_call_without_signals(void (*fn)(void))
{
	sigset_t before;

	orma_base_signals_block(&before);
	fn();
	orma_base_signals_restore(&before);
}

void orma_heap_visit_forked(void)
{
	*is_own_process = 1;
	atomic_store_explicit(&thread_count, 0, memory_order_relaxed);
	orma_heap_self.is_registered = orma_heap_self.has_ended = false;
	restore_cancellation(&orma_heap_self);
	orma_heap_self.visit = 0;
	orma_heap_self.held = (struct orma_heap_held){0};
}
