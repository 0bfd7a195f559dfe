/* SPDX-License-Identifier: Apache-2.0
 * tracker.h - decides which allocations are sampled, and writes these and their frees to the sessions.
 *
 * Threads: everything here may be called on any thread and in signal handlers, unless it says otherwise. errno is preserved.
 */
#ifndef ORMA_HEAP_TRACKER_H
#define ORMA_HEAP_TRACKER_H

#include <orma/data_source.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "heap/heap_thread.h"
#include "heap/live_set.h"
#include "unwind/unwind_walk.h"

/* Packets that were written and lost for an instance since it started. Relaxed: statistics. */
struct orma_heap_instance_counts {
	_Atomic uint64_t samples, frees, lost_samples, lost_frees;
};

struct orma_heap_tracker {
	struct orma_data_source *_Atomic source; /* NULL before the library has started; release */
	/* The first serial number of a sample that the instance may have. Written before it starts; relaxed. */
	_Atomic uint64_t first_serial[ORMA_INSTANCES_MAX];
	/* 0, or the interval up to which losses double an instance's interval. Relaxed. */
	_Atomic uint64_t adaptive_max[ORMA_INSTANCES_MAX];
	_Atomic uint64_t next_serial;
	_Atomic uint32_t maps_generation; /* the newest that was sent; relaxed */
	struct orma_heap_instance_counts counts[ORMA_INSTANCES_MAX];
	/* Totals of the process. Relaxed: statistics. */
	_Atomic uint64_t nested_calls, failed_stacks, samples_beyond_live_set;
	/* In the child of a fork: what was allocated before the first session. */
	_Atomic uint64_t unseen_bytes;
	/* In the child of a fork that is followed: countdowns with this epoch were drawn before the first session. 0 = elsewhere. */
	uint32_t unseen_epoch;
	uint64_t program_start_ns; /* constant after the constructor */
	/* Called after an instance's interval of a heap was doubled. Constant. */
	void (*on_interval)(uint32_t instance, uint32_t heap);
	/* Called by threads that find no session; NULL = nothing to do. Written in the child of a fork. */
	void (*_Atomic on_idle)(void);
	/* Called when a walk meets a module that has no table yet; the library's thread makes one. Constant. */
	void (*on_stale)(void);
	/* Bytes that a thread allocates between two checks for a session. Constant after the constructor. */
	int64_t idle_step;
};

extern struct orma_heap_tracker orma_heap_tracker __attribute__((visibility("hidden")));

/*
 * Handles an allocation that made the countdown of the heap negative. Draws the next countdown. Returns true if the block was
 * sampled. `caller` has the registers of the allocator's caller.
 */
bool orma_heap_look(uint32_t heap, uint64_t id, uint64_t size,
		    const struct orma_unwind_registers *caller);
/* Records a block that an allocator of the program has sampled itself. True if a session has it. */
bool orma_heap_record(uint32_t heap, uint64_t id, uint64_t size,
		      const struct orma_unwind_registers *caller);
/* Handles the free of a block that may be sampled, as the filter says. */
void orma_heap_freed(uint32_t heap, uint64_t id);

/* orma_heap_freed() in two steps, for realloc(), which frees the block only if it succeeds. */
bool orma_heap_free_begin(uint32_t heap, uint64_t id, struct orma_heap_block *ret);
void orma_heap_free_commit(const struct orma_heap_block *block);
void orma_heap_free_cancel(uint64_t id, const struct orma_heap_block *block);

/* Writes the deferred frees. Runs on the library's thread. False if there were none. */
bool orma_heap_write_deferred_frees(void);
uint64_t orma_heap_now_ns(void);

/* Runs a function that writes packets on a thread of the program. Its allocations are not sampled. Does nothing on a thread that must
 * not write packets. */
void orma_heap_run_inside(void (*fn)(void));
/* Ends sampling on this thread for good. The library's thread calls it. */
void orma_heap_never_sample_thread(void);
/* Adds what the thread has allocated since its last look for the first session. Called at the end of a child of a fork. */
void orma_heap_count_unseen(void);

/* Stops sampling in the child of a fork, and forgets the parent's blocks. Async-signal-safe. `follows`: the child connects soon,
 * and counts what it allocates until then. */
void orma_heap_tracker_forked(bool follows);

static inline struct orma_data_source *orma_heap_tracker_source(void)
{
	return atomic_load_explicit(&orma_heap_tracker.source, memory_order_acquire);
}

#endif
