/* SPDX-License-Identifier: Apache-2.0
 * orma-heap/heap_profile.h - reports the program's own allocators to the heap profiler: pools, arenas, slabs, memory of a graphics
 * processor.
 *
 * liborma-heap intercepts malloc(), free() and the other allocation functions. A program with an allocator of its own registers a
 * *heap* for it, and reports each allocation and each free:
 *
 *	static uint32_t pool;
 *
 *	void pool_init(void)
 *	{
 *		pool = orma_heap_register(orma_heap_new("my.pool"));
 *	}
 *	void *pool_get(size_t size)
 *	{
 *		void *block = take_from_pool(size);
 *
 *		orma_heap_report_allocation(pool, (uintptr_t)block, size);
 *		return block;
 *	}
 *	void pool_put(void *block)
 *	{
 *		orma_heap_report_free(pool, (uintptr_t)block);
 *		give_to_pool(block);
 *	}
 *
 * A recording with `heaps: "my.pool"` or `all_heaps: true` in its heapprofd_config then shows which functions allocated how much.
 * Report a free before the block can be allocated again. A report costs one or two nanoseconds while nothing is recorded.
 *
 * The functions whose names begin with AHeap do the same under the names that Perfetto uses. So a program that was written for
 * Perfetto's heapprofd needs no change. Link with liborma-heap (`pkg-config --libs orma-heap`). A program that is linked with it
 * need not be started with LD_PRELOAD.
 *
 * The library connects to the profiler's socket. That is $ORMA_HEAP_SOCK, else /run/perfetto/orma-profiler if that folder exists,
 * else /tmp/orma-profiler. With ORMA_HEAP_WAIT=1 the program begins when a recording that selects it has started, or after 3
 * seconds. With ORMA_HEAP_FOLLOW=1 its children and the programs that they execute are profiled, too. (A child of _Fork() or of a
 * bare clone() is only profiled after it has called exec.) Otherwise these variables, and the library in LD_PRELOAD, are removed
 * from the environment.
 *
 * Programs that are setuid or setgid, or get capabilities from their file, are not profiled. A statically linked program cannot
 * contain this library: it prints a message and ends.
 *
 * Threads: all functions are MT-safe, but the two functions that set a callback must not run for the same heap at the same time.
 *          Signal handlers may report. Reports preserve errno and never block longer than the recording's `block_client` allows.
 */
#ifndef ORMA_HEAP_HEAP_PROFILE_H
#define ORMA_HEAP_HEAP_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#define ORMA_HEAP_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* A heap. It is never freed. */
struct orma_heap_info;
/* The callbacks get these; they are valid during the call. */
struct orma_heap_enabled;
struct orma_heap_disabled;

typedef void orma_heap_enabled_fn(void *data, const struct orma_heap_enabled *enabled);
typedef void orma_heap_disabled_fn(void *data, const struct orma_heap_disabled *disabled);

/**
 * orma_heap_new() - make a heap. orma_heap_register() makes it known to recordings.
 * @name: copied; 1 to 63 bytes. By convention it begins with the name of the program or library: "my.pool".
 *
 * Returns NULL if the name is NULL, empty or too long, and if there are 254 heaps already.
 */
ORMA_HEAP_API struct orma_heap_info *orma_heap_new(const char *name);

/**
 * orma_heap_set_enabled_callback(), orma_heap_set_disabled_callback() - set the functions that are called when a recording begins to
 * sample the heap, and when the last one stops.
 * @info:     NULL is fine.
 * @callback: called on the profiler's thread, without locks held. NULL = none.
 * @data:     its first argument; must stay valid for ever.
 *
 * Call them before orma_heap_register(); later calls have no effect. Both return `info`.
 */
ORMA_HEAP_API struct orma_heap_info *orma_heap_set_enabled_callback(struct orma_heap_info *info,
								    orma_heap_enabled_fn *callback,
								    void *data);
ORMA_HEAP_API struct orma_heap_info *
orma_heap_set_disabled_callback(struct orma_heap_info *info, orma_heap_disabled_fn *callback,
				void *data);

/** orma_heap_enabled_interval() - mean number of bytes between two samples; 1 = each allocation is recorded.
 * The enabled callback calls it. Returns 0 for NULL. */
ORMA_HEAP_API uint64_t orma_heap_enabled_interval(const struct orma_heap_enabled *enabled);

/**
 * orma_heap_register() - let recordings sample the heap from now on.
 * @info: NULL is fine.
 *
 * Constructors may call this. Running recordings begin to sample the heap at once, if they select it. Returns the heap's number for
 * the functions below, or 0 for NULL. Reports to heap 0 are ignored.
 */
ORMA_HEAP_API uint32_t orma_heap_register(struct orma_heap_info *info);

/**
 * orma_heap_report_allocation() - the program has allocated a block.
 * @heap: see orma_heap_register(). Unknown numbers are ignored.
 * @id:   the block's address, or any other number that no other live block of the heap has.
 * @size: in bytes.
 *
 * Returns true if the allocation was sampled.
 */
ORMA_HEAP_API bool orma_heap_report_allocation(uint32_t heap, uint64_t id, uint64_t size);
/**
 * orma_heap_report_sample() - the same for an allocator that samples its allocations itself. Every report is recorded.
 *
 * Returns true if a recording samples the heap.
 */
ORMA_HEAP_API bool orma_heap_report_sample(uint32_t heap, uint64_t id, uint64_t size);
/** orma_heap_report_free() - the program frees a block. Blocks that were not sampled or not reported are ignored. */
ORMA_HEAP_API void orma_heap_report_free(uint32_t heap, uint64_t id);

/* The same functions with the names that Perfetto's library has. */
typedef struct orma_heap_info AHeapInfo;
typedef struct orma_heap_enabled AHeapProfileEnableCallbackInfo;
typedef struct orma_heap_disabled AHeapProfileDisableCallbackInfo;

/** Does what orma_heap_new() does. */
ORMA_HEAP_API AHeapInfo *AHeapInfo_create(const char *name);
/** Does what orma_heap_set_enabled_callback() does. */
ORMA_HEAP_API AHeapInfo *
AHeapInfo_setEnabledCallback(AHeapInfo *info,
			     void (*callback)(void *, const AHeapProfileEnableCallbackInfo *),
			     void *data);
/** Does what orma_heap_set_disabled_callback() does. */
ORMA_HEAP_API AHeapInfo *
AHeapInfo_setDisabledCallback(AHeapInfo *info,
			      void (*callback)(void *, const AHeapProfileDisableCallbackInfo *),
			      void *data);
/** Does what orma_heap_enabled_interval() does. */
ORMA_HEAP_API uint64_t
AHeapProfileEnableCallbackInfo_getSamplingInterval(const AHeapProfileEnableCallbackInfo *enabled);
/** Does what orma_heap_register() does. */
ORMA_HEAP_API uint32_t AHeapProfile_registerHeap(AHeapInfo *info);
/** Does what orma_heap_report_allocation() does. */
ORMA_HEAP_API bool AHeapProfile_reportAllocation(uint32_t heap, uint64_t id, uint64_t size);
/** Does what orma_heap_report_sample() does. */
ORMA_HEAP_API bool AHeapProfile_reportSample(uint32_t heap, uint64_t id, uint64_t size);
/** Does what orma_heap_report_free() does. */
ORMA_HEAP_API void AHeapProfile_reportFree(uint32_t heap, uint64_t id);

#ifdef __cplusplus
}
#endif
#endif
