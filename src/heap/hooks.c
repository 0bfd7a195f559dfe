/* SPDX-License-Identifier: Apache-2.0
 * hooks.c - the allocation functions that take the place of the C library's, and the reports of allocators of the program.
 *
 * malloc() and free() are the fast paths: malloc() does one subtraction, free() reads one byte, and both jump to the next
 * allocator. The other functions suspend the countdown while the next allocator runs. Otherwise bytes would count twice where a C
 * library implements one of these functions with another, as musl's calloc() calls malloc(). Functions such as
 * malloc_usable_size() and mallopt() are left to the next allocator.
 *
 * A block is reported after it was allocated, and its free before it is freed, so no other thread can have its address in between.
 * Failed allocations are not reported. operator new calls malloc(), or belongs to an allocator that frees its blocks itself.
 */
#include <errno.h>
#include <malloc.h>
#include <orma-heap/heap_profile.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/macros.h"
#include "heap/begin.h"
#include "heap/heap_list.h"
#include "heap/heap_thread.h"
#include "heap/live_set.h"
#include "heap/next_allocator.h"
#include "heap/stack_capture.h"
#include "heap/tracker.h"

#define SLOW static __attribute__((noinline))

/* Functions of newer C libraries have no prototype in older ones. */
ORMA_HEAP_API void free_sized(void *block, size_t size);
ORMA_HEAP_API void free_aligned_sized(void *block, size_t alignment, size_t size);
ORMA_HEAP_API void *pvalloc(size_t size);

/*
 * Calls orma_heap_look() for a block of malloc(). The first call begins the profile, because constructors of other libraries may run
 * before this library's own. Before the C library can be used, each allocation comes here.
 */
static void look(const void *block, size_t size, const struct orma_unwind_registers *caller)
{
	bool has_begun = orma_heap_begin();

	orma_heap_look(ORMA_HEAP_MALLOC, (uintptr_t)block, size, caller);
	if (!has_begun)
		orma_heap_self.left = 0;
}

/* --- malloc and free -------------------------------------------------------------------------- */

/* The hook ends with a jump to this function, so the caller is the program. */
SLOW void *malloc_and_look(size_t size)
{
	const struct orma_unwind_registers caller = ORMA_HEAP_CALLER;
	void *block = orma_heap_next.malloc(size);

	if (block)
		look(block, size, &caller);
	else
		orma_heap_self.left = (int64_t)((uint64_t)orma_heap_self.left + size);
	return block;
}

ORMA_HEAP_API void *malloc(size_t size) /* calls: allow malloc, because this is its definition */
{
	if (orma_heap_count(size))
		return malloc_and_look(size);
	return orma_heap_next.malloc(size);
}

SLOW void free_and_look(void *block)
{
	if (orma_heap_is_early(block))
		return;
	orma_heap_freed(ORMA_HEAP_MALLOC, (uintptr_t)block);
	orma_heap_next.free(block);
}

ORMA_HEAP_API void free(void *block) /* calls: allow free, because this is its definition */
{
	if (orma_heap_may_be_live((uintptr_t)block))
		free_and_look(block);
	else
		orma_heap_next.free(block);
}

ORMA_HEAP_API void free_sized(void *block, size_t size)
{
	(void)size;
	if (orma_heap_may_be_live((uintptr_t)block))
		free_and_look(block);
	else
		orma_heap_next.free(block);
}

ORMA_HEAP_API void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment;
	free_sized(block, size);
}

/* --- other functions -------------------------------------------------------------------------- */

/*
 * Sets the countdown to more bytes than the next allocator asks itself for, if the program asks it for `size` bytes. The value is
 * finite, because a signal handler may jump out of the allocator, and then nothing restores the countdown.
 */
static inline int64_t suspend(size_t size)
{
	int64_t left = orma_heap_self.left;

	/* Larger allocations fail in any case. */
	orma_heap_self.left =
		ORMA_HEAP_STEP_BYTES + (int64_t)((uint64_t)size & (uint64_t)ORMA_HEAP_NEVER);
	atomic_signal_fence(memory_order_seq_cst);
	return left;
}

/* Restores the countdown and counts the block. True if orma_heap_look() has to be called. */
static inline bool resume(int64_t left, const void *block, size_t size)
{
	atomic_signal_fence(memory_order_seq_cst);
	orma_heap_self.left = left;
	return block && orma_heap_count(size);
}

/* The functions below end with a jump to this function, so the caller is the program. */
SLOW void *look_and_return(void *block, size_t size)
{
	const struct orma_unwind_registers caller = ORMA_HEAP_CALLER;

	look(block, size, &caller);
	return block;
}

/* The end of every function below that has allocated. */
static inline __attribute__((always_inline)) void *resume_and_return(int64_t left, void *block,
								     size_t size)
{
	if (resume(left, block, size))
		return look_and_return(block, size);
	return block;
}

ORMA_HEAP_API void *calloc(size_t count, size_t size) /* calls: allow calloc, because this is it */
{
	int64_t left = suspend(count * size);
	void *block = orma_heap_next.calloc(count, size);

	/* If the product overflows, there is no block. */
	return resume_and_return(left, block, count * size);
}

/* The block that realloc() replaces. */
struct replaced {
	struct orma_heap_block block;
	bool was_sampled;
};

static void replace_begin(void *block, struct replaced *ret)
{
	ret->was_sampled = orma_heap_free_begin(ORMA_HEAP_MALLOC, (uintptr_t)block, &ret->block);
}

static void replace_end(void *old, const void *block, size_t size, const struct replaced *replaced)
{
	int saved_errno = errno;

	/* For a size of 0, NULL means that the block was freed. */
	if (block || size == 0)
		orma_heap_free_commit(&replaced->block);
	else
		orma_heap_free_cancel((uintptr_t)old, &replaced->block);
	errno = saved_errno;
}

/* For an old block that may be sampled, as the filter says. The hooks end with a jump to this function. */
SLOW void *reallocate_and_look(void *old, size_t size)
{
	const struct orma_unwind_registers caller = ORMA_HEAP_CALLER;
	struct replaced replaced;
	int64_t left;
	void *block;

	if (orma_heap_is_early(old))
		return orma_heap_early_realloc(old, size);
	replace_begin(old, &replaced);
	left = suspend(size);
	block = orma_heap_next.realloc(old, size);
	if (replaced.was_sampled)
		replace_end(old, block, size, &replaced);
	if (resume(left, block, size))
		look(block, size, &caller);
	return block;
}

/* Inlined, so that the hooks end with the jump. */
static inline __attribute__((always_inline)) void *reallocate(void *old, size_t size)
{
	int64_t left;
	void *block;

	/* NULL needs no check, because the slow path handles it, too. */
	if (orma_heap_may_be_live((uintptr_t)old))
		return reallocate_and_look(old, size);
	left = suspend(size);
	block = orma_heap_next.realloc(old, size);
	return resume_and_return(left, block, size);
}

ORMA_HEAP_API void *realloc(void *old, size_t size) /* calls: allow realloc, because this is it */
{
	return reallocate(old, size);
}

/* clang-format off */
ORMA_HEAP_API void *reallocarray(void *old, size_t count, size_t size) /* calls: allow reallocarray, because this is it */
/* clang-format on */
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return reallocate(old, bytes);
}

ORMA_HEAP_API int
posix_memalign(void **ret, size_t alignment, /* calls: allow posix_memalign, because this is it */
	       size_t size)
{
	int64_t left = suspend(size + alignment);
	int r = orma_heap_next.posix_memalign(ret, alignment, size);

	if (resume(left, r == 0 ? *ret : NULL, size)) {
		const struct orma_unwind_registers caller = ORMA_HEAP_CALLER;

		look(*ret, size, &caller);
	}
	return r;
}

ORMA_HEAP_API void *
aligned_alloc(size_t alignment, /* calls: allow aligned_alloc, because of that */
	      size_t size)
{
	int64_t left = suspend(size + alignment);
	void *block = orma_heap_next.aligned_alloc(alignment, size);

	return resume_and_return(left, block, size);
}

ORMA_HEAP_API void *memalign(size_t alignment, size_t size)
{
	int64_t left = suspend(size + alignment);
	void *block = orma_heap_next.memalign(alignment, size);

	return resume_and_return(left, block, size);
}

ORMA_HEAP_API void *valloc(size_t size)
{
	int64_t left = suspend(size);
	void *block = orma_heap_next.valloc(size);

	return resume_and_return(left, block, size);
}

/* Implemented with memalign(), because musl has no pvalloc(). */
ORMA_HEAP_API void *pvalloc(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), whole;
	int64_t left;
	void *block;

	if (__builtin_add_overflow(size, page - 1, &whole)) {
		errno = ENOMEM;
		return NULL;
	}
	whole &= ~(page - 1);
	left = suspend(whole);
	block = orma_heap_next.memalign(page, whole);
	return resume_and_return(left, block, whole);
}

/* --- allocators of the program ---------------------------------------------------------------- */

static inline bool is_custom(uint32_t heap)
{
	return heap > ORMA_HEAP_MALLOC && heap < ORMA_HEAPS_MAX;
}

/* A heap that is not registered has no interval. */
static inline bool is_sampled(uint32_t heap)
{
	return is_custom(heap) &&
	       atomic_load_explicit(&orma_heap_infos[heap].interval, memory_order_relaxed) != 0;
}

static inline __attribute__((always_inline)) bool report_allocation(uint32_t heap, uint64_t id,
								    uint64_t size)
{
	struct orma_unwind_registers caller;

	if (!is_sampled(heap) || !orma_heap_count_own(heap, size))
		return false;
	caller = ORMA_HEAP_CALLER;
	return orma_heap_look(heap, id, size, &caller);
}

static inline __attribute__((always_inline)) bool report_sample(uint32_t heap, uint64_t id,
								uint64_t size)
{
	struct orma_unwind_registers caller;

	if (!is_sampled(heap))
		return false;
	caller = ORMA_HEAP_CALLER;
	return orma_heap_record(heap, id, size, &caller);
}

bool orma_heap_report_allocation(uint32_t heap, uint64_t id, uint64_t size)
{
	return report_allocation(heap, id, size);
}

bool orma_heap_report_sample(uint32_t heap, uint64_t id, uint64_t size)
{
	return report_sample(heap, id, size);
}

void orma_heap_report_free(uint32_t heap, uint64_t id)
{
	if (is_custom(heap))
		orma_heap_freed(heap, id);
}

bool AHeapProfile_reportAllocation(uint32_t heap, uint64_t id, uint64_t size)
{
	return report_allocation(heap, id, size);
}

bool AHeapProfile_reportSample(uint32_t heap, uint64_t id, uint64_t size)
{
	return report_sample(heap, id, size);
}

void AHeapProfile_reportFree(uint32_t heap, uint64_t id)
{
	if (is_custom(heap))
		orma_heap_freed(heap, id);
}

/* --- the other names of heap_list.c ----------------------------------------------------------- */

AHeapInfo *AHeapInfo_create(const char *name)
{
	return orma_heap_new(name);
}

AHeapInfo *AHeapInfo_setEnabledCallback(AHeapInfo *info,
					void (*callback)(void *,
							 const AHeapProfileEnableCallbackInfo *),
					void *data)
{
	return orma_heap_set_enabled_callback(info, callback, data);
}

AHeapInfo *AHeapInfo_setDisabledCallback(AHeapInfo *info,
					 void (*callback)(void *,
							  const AHeapProfileDisableCallbackInfo *),
					 void *data)
{
	return orma_heap_set_disabled_callback(info, callback, data);
}

uint64_t
AHeapProfileEnableCallbackInfo_getSamplingInterval(const AHeapProfileEnableCallbackInfo *enabled)
{
	return orma_heap_enabled_interval(enabled);
}

uint32_t AHeapProfile_registerHeap(AHeapInfo *info)
{
	return orma_heap_register(info);
}
