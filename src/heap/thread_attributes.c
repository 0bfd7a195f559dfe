/* SPDX-License-Identifier: Apache-2.0
 * thread_attributes.c - pthread_getattr_np() in programs that call it themselves, as Rust's standard library does in each thread.
 *
 * glibc's function holds the thread's lock while it allocates. A sample of such a block would ask for the stack of its thread, and
 * thus wait for that lock forever. Therefore this function finds the stack first, while the lock is free.
 *
 * Rejected: recognizing glibc's function by the caller's address, because other functions allocate for it; reading the stack's end
 * from /proc/self/maps, because adjacent mappings look like one.
 */
#include <dlfcn.h>
#include <errno.h>
#include <orma-heap/heap_profile.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "heap/heap_thread.h"
#include "heap/stack_capture.h"
#include "heap/visit.h"

typedef int getattr_fn(pthread_t thread, pthread_attr_t *ret);

ORMA_HEAP_API int pthread_getattr_np(pthread_t thread, pthread_attr_t *ret);

static getattr_fn *find_next(void)
{
	static getattr_fn *_Atomic next; /* relaxed: each thread finds the same */
	getattr_fn *function = atomic_load_explicit(&next, memory_order_relaxed);
	void *address;

	if (function)
		return function;
	address = dlsym(RTLD_NEXT, "pthread_getattr_np");
	memcpy(&function, &address, sizeof(function));
	atomic_store_explicit(&next, function, memory_order_relaxed);
	return function;
}

int pthread_getattr_np(pthread_t thread, pthread_attr_t *ret)
{
	struct orma_heap_thread *self = &orma_heap_self;
	getattr_fn *next = find_next();
	struct orma_heap_visit visit;

	if (!next)
		return ENOSYS;
	if (self->stack_end == 0 &&
	    orma_heap_visit_enter(self, (uintptr_t)__builtin_frame_address(0), &visit)) {
		orma_heap_stack_learn(self);
		orma_heap_visit_leave(self, &visit);
	}
	return next(thread, ret);
}
