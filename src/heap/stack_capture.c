/* SPDX-License-Identifier: Apache-2.0
 * stack_capture.c - finds the end of the stack that a thread is on.
 *
 * A thread asks for its own stack once, because pthread_getattr_np() is slow and may allocate. The main thread's stack ends where the
 * kernel put the environment. If the stack pointer lies elsewhere, the thread is on the alternate stack of a signal handler, or on
 * the stack of a fiber, whose end is not known. Such a stack is copied by the kernel, which stops at the end of the mapping.
 *
 * Rejected: parsing /proc/self/maps in a sample, which is too slow; reading a fiber's stack directly up to a guessed end.
 */
#include "heap/stack_capture.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/signals.h"
#include "heap/heap_thread.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_SANITIZER true
#elif defined(__has_feature)
#define HAS_ADDRESS_SANITIZER __has_feature(address_sanitizer)
#else
#define HAS_ADDRESS_SANITIZER false
#endif

#define SCRATCH_COUNT 32u
/* The size that the main thread's stack is taken to have if it has no limit. */
#define UNLIMITED_STACK_BYTES ((uintptr_t)1 << 30)

static union orma_heap_scratch scratches[SCRATCH_COUNT];
static _Atomic uint32_t
	scratches_in_use; /* acquire and release: the content belongs to one thread */
/* Set in the constructor. */
static uintptr_t main_begin, main_end;

union orma_heap_scratch *orma_heap_scratch_get(void)
{
	uint32_t used = atomic_load_explicit(&scratches_in_use, memory_order_relaxed);
	uint32_t idx;

	do {
		if (used == UINT32_MAX)
			return NULL;
		idx = (uint32_t)__builtin_ctz(~used);
	} while (!atomic_compare_exchange_weak_explicit(
		&scratches_in_use, &used, used | UINT32_C(1) << idx, memory_order_acquire,
		memory_order_relaxed));
	return &scratches[idx];
}

void orma_heap_scratch_put(union orma_heap_scratch *scratch)
{
	if (scratch)
		atomic_fetch_and_explicit(&scratches_in_use,
					  ~(UINT32_C(1) << (scratch - scratches)),
					  memory_order_release);
}

void orma_heap_scratch_forked(void)
{
	atomic_store_explicit(&scratches_in_use, 0, memory_order_relaxed);
}

void orma_heap_stack_init(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), room = UNLIMITED_STACK_BYTES;
	uintptr_t strings = (uintptr_t)getauxval(AT_EXECFN), variables = (uintptr_t)environ;
	struct rlimit limit;

	/* The program may have made another environment, in its heap. */
	if (variables > here && variables < strings)
		strings = variables;
	if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < room)
		room = (uintptr_t)limit.rlim_cur;
	main_end = strings & ~(uintptr_t)15;
	main_begin = main_end > room ? main_end - room : 0;
}

static void learn_thread_stack(struct orma_heap_thread *self)
{
	pthread_attr_t attributes;
	void *begin;
	size_t size;

	if (pthread_getattr_np(pthread_self(), &attributes) != 0)
		return;
	/* Its allocations are not the program's. */
	self->left = ORMA_HEAP_STEP_BYTES;
	if (pthread_attr_getstack(&attributes, &begin, &size) == 0) {
		self->stack_begin = (uintptr_t)begin;
		self->stack_end = (uintptr_t)begin + size;
	}
	pthread_attr_destroy(&attributes);
}

void orma_heap_stack_learn(struct orma_heap_thread *self)
{
	sigset_t before;

	if (self->stack_end != 0)
		return;
	self->tid = (uint32_t)syscall(SYS_gettid);
	/* Such a range contains no address, so that an error is not repeated for each sample. */
	self->stack_begin = self->stack_end = 1;
	if ((pid_t)self->tid == getpid()) {
		self->stack_begin = main_begin;
		self->stack_end = main_end;
		return;
	}
	/* Signals are blocked, because the C library takes locks, and a handler that jumps out would leave them locked. */
	orma_base_signals_block(&before);
	learn_thread_stack(self);
	orma_base_signals_restore(&before);
}

static bool copy_foreign(uintptr_t sp, union orma_heap_scratch *scratch,
			 struct orma_unwind_stack *ret)
{
	struct iovec local = {scratch->bytes, sizeof(scratch->bytes)};
	struct iovec remote = {(void *)sp, sizeof(scratch->bytes)};
	ssize_t count = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	if (count <= 0) {
		/* The kernel copies page by page, and refuses when the rest of a range is not there. */
		remote.iov_len = local.iov_len = 4096 - sp % 4096;
		count = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
	}
	if (count <= 0)
		return false;
	*ret = (struct orma_unwind_stack){sp, scratch->bytes, (size_t)count};
	return true;
}

static bool is_own(const struct orma_heap_thread *self, uintptr_t address)
{
	return address >= self->stack_begin && address < self->stack_end;
}

/* True if the address is on the alternate stack of signal handlers. */
static bool is_alternate(uintptr_t address, stack_t *ret)
{
	return sigaltstack(NULL, ret) == 0 && !(ret->ss_flags & SS_DISABLE) &&
	       address - (uintptr_t)ret->ss_sp < ret->ss_size;
}

bool orma_heap_stack_is_abandoned(uintptr_t variable, uintptr_t here)
{
	const struct orma_heap_thread *self = &orma_heap_self;
	stack_t alternate;

	if (is_own(self, variable))
		return is_own(self, here) && here >= variable;
	if (!is_alternate(variable, &alternate))
		return false;
	/* A handler ends before the thread returns to the function that it has interrupted. */
	return is_own(self, here) || (here >= variable && is_alternate(here, &alternate));
}

bool orma_heap_stack_has_changed(uintptr_t address, uint64_t value)
{
	uint64_t now = value;
	struct iovec local = {&now, sizeof(now)}, remote = {(void *)address, sizeof(now)};
	int saved_errno = errno;
	/* The kernel reads it, because a stack that was left may be unmapped. */
	bool is_mapped =
		process_vm_readv(getpid(), &local, 1, &remote, 1, 0) >= 0 || errno != EFAULT;

	errno = saved_errno;
	return !is_mapped || now != value;
}

bool orma_heap_stack_find(uintptr_t sp, union orma_heap_scratch *scratch,
			  struct orma_unwind_stack *ret)
{
	struct orma_heap_thread *self = &orma_heap_self;
	stack_t alternate;

	orma_heap_stack_learn(self);
	/* AddressSanitizer reports reads between a stack's variables. The kernel reads the stack for us. */
	if (HAS_ADDRESS_SANITIZER)
		return scratch && copy_foreign(sp, scratch, ret);
	if (is_own(self, sp)) {
		*ret = (struct orma_unwind_stack){sp, (const void *)sp, self->stack_end - sp};
		return true;
	}
	if (is_alternate(sp, &alternate)) {
		*ret = (struct orma_unwind_stack){
			sp, (const void *)sp, (uintptr_t)alternate.ss_sp + alternate.ss_size - sp};
		return true;
	}
	return scratch && copy_foreign(sp, scratch, ret);
}
