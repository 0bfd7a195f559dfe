/* SPDX-License-Identifier: Apache-2.0
 * stack_capture.h - where the calling thread's stack is, and who called the allocator.
 */
#ifndef ORMA_HEAP_STACK_CAPTURE_H
#define ORMA_HEAP_STACK_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind_walk.h"

/*
 * The registers of the function that has called this one, in the call: pc lies within the call instruction. Only functions that the program calls
 * use it.
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

#define ORMA_HEAP_FRAMES_MAX  1024u
#define ORMA_HEAP_COPY_MAX    65536u
#define ORMA_HEAP_SCRATCH_MAX 16384u

/* Memory for one capture. Nothing that large fits on the stack of a signal handler. */
union orma_heap_scratch {
	uint64_t addresses[ORMA_HEAP_FRAMES_MAX];
	uint8_t bytes[ORMA_HEAP_SCRATCH_MAX];
};

/* NULL: all are in use. Async-signal-safe. */
union orma_heap_scratch *orma_heap_scratch_get(void);
void orma_heap_scratch_put(union orma_heap_scratch *scratch);
/* In the child of a fork: threads that used some do not exist here. */
void orma_heap_scratch_forked(void);

/*
 * The calling thread's stack from `sp` to its end. For a stack that is not the thread's (of a fiber, for example), the bytes are
 * a copy in `scratch`, and end where the mapping ends or the scratch is full. False: no stack is there.
 */
bool orma_heap_stack_find(uintptr_t sp, union orma_heap_scratch *scratch,
			  struct orma_unwind_stack *ret);

/*
 * True: the function that has this variable runs no longer, because another function of this thread has its frame above it on
 * the same stack, or because it ran on the alternate stack of signal handlers, which this thread has left.
 */
bool orma_heap_stack_is_gone(uintptr_t variable, uintptr_t here);
/* True: the memory is gone, or has another value. */
bool orma_heap_stack_has_changed(uintptr_t address, uint64_t value);

/* Notes where the main thread's stack ends. Called once, on that thread. */
void orma_heap_stack_init(void);

#endif
