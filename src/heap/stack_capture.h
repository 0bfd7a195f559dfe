/* SPDX-License-Identifier: Apache-2.0
 * stack_capture.h - the calling thread's stack, and the registers of the caller of an allocation function.
 *
 * Threads: any, in a visit (heap/visit.h), unless a function says otherwise.
 */
#ifndef ORMA_HEAP_STACK_CAPTURE_H
#define ORMA_HEAP_STACK_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind_walk.h"

/*
 * The registers of the caller of the function that uses this, with a pc within the call instruction. Only functions that the program
 * calls use it.
 */
#if defined(__x86_64__)
#define ORMA_HEAP_CALLER                                                                           \
	((struct orma_unwind_registers){.pc = (uintptr_t)__builtin_return_address(0) - 1,          \
					.sp = (uintptr_t)__builtin_frame_address(0) +              \
					      2 * sizeof(uintptr_t),                               \
					.fp = *(const uintptr_t *)__builtin_frame_address(0)})
#else
#define ORMA_HEAP_CALLER                                                                           \
	((struct orma_unwind_registers){.pc = (uintptr_t)__builtin_return_address(0) - 1,          \
					.sp = (uintptr_t)__builtin_dwarf_cfa(),                    \
					.fp = *(const uintptr_t *)__builtin_frame_address(0)})
#endif

#define ORMA_HEAP_WALK_FRAMES_MAX 1024u
#define ORMA_HEAP_COPY_MAX        65536u
#define ORMA_HEAP_SCRATCH_MAX     16384u

/* Memory for one capture, which would not fit on the stack of a signal handler. */
union orma_heap_scratch {
	uint64_t addresses[ORMA_HEAP_WALK_FRAMES_MAX];
	uint8_t bytes[ORMA_HEAP_SCRATCH_MAX];
};

/* Returns NULL if all are in use. Async-signal-safe. */
union orma_heap_scratch *orma_heap_scratch_get(void);
void orma_heap_scratch_put(union orma_heap_scratch *scratch);
/* Frees all in the child of a fork, which does not have the threads that used them. */
void orma_heap_scratch_forked(void);

struct orma_heap_thread;

/* Finds the limits of the calling thread's own stack, unless they are known. Called in a visit. It may lock and allocate. */
void orma_heap_stack_learn(struct orma_heap_thread *self);
/*
 * Finds the calling thread's stack from `sp` to its end. For another stack, such as that of a fiber, the bytes are a copy in
 * `scratch`, which ends where the mapping ends or the scratch is full. False if there is no memory at `sp`.
 */
bool orma_heap_stack_find(uintptr_t sp, union orma_heap_scratch *scratch,
			  struct orma_unwind_stack *ret);

/*
 * True if the function that has this variable cannot run any more: a function of this thread has its frame above the variable on the
 * same stack, or the variable is on the alternate stack of signal handlers, which this thread has left.
 */
bool orma_heap_stack_is_abandoned(uintptr_t variable, uintptr_t here);
/* True if the memory is not mapped any more, or has another value. */
bool orma_heap_stack_has_changed(uintptr_t address, uint64_t value);

/* Finds the end of the main thread's stack. Called once, on that thread. */
void orma_heap_stack_init(void);

#endif
