/* SPDX-License-Identifier: Apache-2.0
 * visit.c - threads of the profiled program inside the profiler.
 *
 * A thread that is inside the profiler is not sampled again. A signal handler may interrupt the thread there and allocate.
 * The first packet of a thread allocates, and pthread_getattr_np() may allocate.
 *
 * A signal handler may also leave the profiler with siglongjmp(). The next entry of the thread then finds a visit of which
 * the stack has no function any more, gives back what that had, and counts its packets as lost. A packet that was open stays
 * so, with its chunk, until the connection ends. Where the profiler waits for a lock, signals are blocked. Rejected: blocking
 * them in each visit (two system calls, which take longer than a sample).
 *
 * _Fork() and a bare clone() run no handlers of pthread_atfork(), and the child would write into the shared memory of its
 * parent. Therefore a page has a byte that the kernel sets to 0 in any child with memory of its own (MADV_WIPEONFORK, Linux
 * 4.14). Nobody enters while it is 0; the handler of fork() sets it again. Rejected: getpid(), a system call for each sample.
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

/* With more threads than this, each hands its chunk over after each packet: chunks in hand would take the memory. */
#define THREADS_MAX_WITH_CHUNK 64
/* Rounds of destructors that every C library runs at least. */
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

/* The destructor stays until the last round, so that destructors of the program can be profiled. */
static void on_thread_exit(void *ctx)
{
	uintptr_t round = (uintptr_t)ctx;

	if (round < DESTRUCTOR_ROUNDS && pthread_setspecific(thread_key, (void *)(round + 1)) == 0)
		return;
	orma_heap_self.has_ended = true;
	orma_heap_countdowns_free(&orma_heap_self);
	atomic_fetch_sub_explicit(&thread_count, 1, memory_order_relaxed);
}

/* If the kernel is too old, children are not recognised. */
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

bool orma_heap_visit_is_left(const struct orma_heap_thread *self, uint64_t caller_sp)
{
	return orma_heap_stack_is_gone(self->visit, (uintptr_t)caller_sp) ||
	       orma_heap_stack_has_changed(self->visit, self->visit_mark);
}

/* Gives back what the visit that was left by a jump had. A packet may have been written, but nobody knows. */
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
}

bool orma_heap_visit_enter(struct orma_heap_thread *self, uint64_t caller_sp,
			   struct orma_heap_visit *ret)
{
	if (ORMA_UNLIKELY(*is_own_process == 0))
		return false;
	if (ORMA_UNLIKELY(self->visit != 0)) {
		if (!orma_heap_visit_is_left(self, caller_sp)) {
			orma_heap_add(&orma_heap_tracker.nested_calls);
			return false;
		}
		clean_up(self);
	}
	ret->saved_errno = errno;
	/* No other visit at this place of the stack has left the same value there. */
	ret->mark = self->visit_mark + UINT64_C(0x9e3779b97f4a7c15);
	self->visit_mark = ret->mark;
	atomic_signal_fence(memory_order_seq_cst);
	self->visit = (uintptr_t)ret;
	atomic_signal_fence(memory_order_seq_cst);
	ret->malloc_left = self->left;
	self->left = ORMA_HEAP_STEP_BYTES;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

void orma_heap_visit_leave(struct orma_heap_thread *self, const struct orma_heap_visit *visit)
{
	atomic_signal_fence(memory_order_seq_cst);
	/* A fiber that was left while it was here, and goes on after all, is not the thread's visit any more. */
	if (self->visit == (uintptr_t)visit && self->visit_mark == visit->mark) {
		if (self->left != ORMA_HEAP_STEP_BYTES)
			orma_heap_add(&orma_heap_tracker.nested_calls);
		self->left = visit->malloc_left;
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
	orma_heap_self.visit = 0;
	orma_heap_self.held = (struct orma_heap_held){0};
}
