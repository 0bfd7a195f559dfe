/* SPDX-License-Identifier: Apache-2.0
 * orma-heap/heap_profile.h - tells the heap profiler about allocators of the program's own: pools, arenas, slabs, memory of
 * a graphics processor.
 *
 * liborma-heap finds malloc(), free() and their relatives by itself. A program that hands out memory in another way names
 * that memory a *heap*, and reports each allocation and each free of it:
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
 * A recording with `heaps: "my.pool"` or `all_heaps: true` in its heapprofd_config then shows which functions took how much of
 * it. Report a free before the block can be handed out again. A report costs one or two nanoseconds while nobody records.
 *
 * The functions whose names begin with AHeap are the same, with the names that Perfetto gives them, so that a program that
 * was written for Perfetto's heapprofd needs no change. Link with liborma-heap (`pkg-config --libs orma-heap`). A program that is
 * linked with it need not be started with LD_PRELOAD.
 *
 * The library connects to the profiler's socket: the one that ORMA_HEAP_SOCK names, else /run/perfetto/orma-profiler if
 * that folder exists, else /tmp/orma-profiler. With ORMA_HEAP_WAIT=1 the program begins when a recording that selects it has
 * started, or after 3 seconds. With ORMA_HEAP_FOLLOW=1 the programs and children that it starts are profiled, too, except
 * children of _Fork() and of a bare clone() until they call exec; otherwise
 * these variables, and the library in LD_PRELOAD, are removed from the environment. Programs that are setuid or setgid, or
 * get capabilities from their file, are not profiled. A program that is linked statically cannot contain this library: it
 * says so and ends.
 *
 * Threads: all functions are MT-safe, except that the two functions that set a callback must not be called for one heap at
 *          the same time. Reports may come from signal handlers. They preserve errno and never block beyond the
 *          recording's `block_client`.
 */
#ifndef ORMA_HEAP_HEAP_PROFILE_H
#define ORMA_HEAP_HEAP_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#define ORMA_HEAP_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* A heap, which is registered or will be. It is never freed. */
struct orma_heap_info;
/* The callbacks get these; they are valid during the call. */
struct orma_heap_enabled;
struct orma_heap_disabled;

typedef void orma_heap_enabled_fn(void *data, const struct orma_heap_enabled *enabled);
typedef void orma_heap_disabled_fn(void *data, const struct orma_heap_disabled *disabled);

/**
 * orma_heap_new() - make a heap, which is yet to be registered.
 * @name: copied; 1 to 63 bytes. By convention it begins with the name of the program or library: "my.pool".
 *
 * Returns NULL if the name is NULL, empty or too long, and if there are 254 heaps already.
 */
ORMA_HEAP_API struct orma_heap_info *orma_heap_new(const char *name);

/**
 * orma_heap_set_enabled_callback(), orma_heap_set_disabled_callback() - hear when a recording begins to sample the heap, and
 * when none samples it any more.
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
 * Constructors may call this. Recordings that run already take the heap into account at once. Returns the heap's number for
 * the functions below, or 0 for NULL: reports to the heap 0 are ignored.
 */
ORMA_HEAP_API uint32_t orma_heap_register(struct orma_heap_info *info);

/**
 * orma_heap_report_allocation() - the program has allocated a block.
 * @heap: see orma_heap_register(). Unknown numbers are ignored.
 * @id:   names the block: its address, or any other number that no living block of the heap has.
 * @size: in bytes.
 *
 * Returns true if the allocation was sampled.
 */
ORMA_HEAP_API bool orma_heap_report_allocation(uint32_t heap, uint64_t id, uint64_t size);
/**
 * orma_heap_report_sample() - the same, for an allocator that has a sampler of its own: nothing is left out.
 *
 * Returns true if it was recorded, which means that a recording samples the heap.
 */
ORMA_HEAP_API bool orma_heap_report_sample(uint32_t heap, uint64_t id, uint64_t size);
/** orma_heap_report_free() - the program frees a block. Blocks that were not sampled, or not reported at all, are fine. */
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
