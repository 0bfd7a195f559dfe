/* SPDX-License-Identifier: Apache-2.0
 * tracker.c - the slow path of the hooks.
 *
 * An allocation gets here when the countdown of its thread has ended. Without a session this happens once in 1 MiB, and with one at
 * each sampling point. A sample gets a serial number, is written to each session that keeps it, and becomes a live block. A free
 * gets here when the filter does not exclude it, and is written if the live set has the block. The serial makes the order of
 * packets irrelevant, so threads need no lock between them.
 *
 *   allocation:  call the allocator, reserve a place, write the sample, publish the place
 *   free:        take the place, write the free, call the allocator (only then another thread can get the address)
 *
 * A thread that is inside the profiler (visit.c) is not sampled again. Frees in there are deferred to the library's thread. Two other
 * kinds of frees are deferred, too: those of a thread whose destructors have run, because its new writer would never be freed; and
 * the first few frees of a thread that has not sampled anything, because it may be about to end.
 *
 * A child of vfork() or clone(CLONE_VM) has its parent's memory, with the thread-local memory, and its parent waits. Its allocations
 * are recorded as those of the parent.
 */
#include "heap/tracker.h"

#include <errno.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macros.h"
#include "heap/countdown.h"
#include "heap/heap_list.h"
#include "heap/heap_packet.h"
#include "heap/sampler.h"
#include "heap/stack_capture.h"
#include "heap/visit.h"
#include "unwind/self_space.h"

/* Frees of sampled blocks that a thread defers before it gets a sequence of its own. */
#define EARLY_FREES_MAX 4
/*
 * A walk in this process needs tables, which take 0.6 us for each function of the program and its libraries: 25 ms for a compiler.
 * While samples are rare, it is cheaper to send copies of stacks, which the profiler walks. After a time with a sample every 2 ms,
 * or after many samples in all, stacks are walked here for good.
 */
#define NS_PER_COPY      (2 * ORMA_NS_PER_MS)
#define COPIES_AT_A_TIME 64u
#define COPIES_MAX       2048u

struct orma_heap_tracker orma_heap_tracker = {.idle_step = ORMA_HEAP_STEP_BYTES};

static _Atomic uint64_t
	copied_until_ns; /* UINT64_MAX = stacks are walked; relaxed: an estimate, as the next */
static _Atomic uint32_t copies;

/* The coarse clock is precise enough. Other clocks may read a device. */
uint64_t orma_heap_now_ns(void)
{
	return orma_base_clock_ns(CLOCK_MONOTONIC_COARSE);
}

/* --- samples ---------------------------------------------------------------------------------- */

/* The key of a block in the live set. Custom heaps may use any number as an id, also an address from malloc(). */
static uint64_t key_of(uint32_t heap, uint64_t id)
{
	return heap == ORMA_HEAP_MALLOC
		       ? id
		       : (id + heap * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
}

/* Decides whether a stack is copied. Each copy moves `copied_until_ns` on by 2 ms. Copies end for good when that time is too far ahead, or
 * when there were too many. */
static bool is_to_be_copied(uint64_t now_ns)
{
	uint64_t until_ns = atomic_load_explicit(&copied_until_ns, memory_order_relaxed);

	if (until_ns == UINT64_MAX)
		return false;
	until_ns = ORMA_MAX(until_ns, now_ns) + NS_PER_COPY;
	if (until_ns - now_ns > COPIES_AT_A_TIME * NS_PER_COPY ||
	    atomic_fetch_add_explicit(&copies, 1, memory_order_relaxed) >= COPIES_MAX)
		until_ns = UINT64_MAX;
	atomic_store_explicit(&copied_until_ns, until_ns, memory_order_relaxed);
	return until_ns != UINT64_MAX;
}

/* Walks the stack in place. False if it has to be copied, because a table is missing or the stack of a fiber ends elsewhere. */
static bool walk(const struct orma_unwind_stack *stack, union orma_heap_scratch *scratch,
		 struct orma_heap_sample *sample)
{
	const struct orma_self_stack bounds = {(uintptr_t)stack->address,
					       (uintptr_t)stack->address + stack->size};
	struct orma_self_frames frames;
	int r;

	if (!scratch || is_to_be_copied(sample->timestamp_ns))
		return false;
	r = orma_self_walk(&sample->registers, &bounds, scratch->addresses,
			   ORMA_HEAP_WALK_FRAMES_MAX, &frames);
	if (r == -ESTALE && orma_heap_tracker.on_stale)
		orma_heap_tracker.on_stale();
	/* Where the code has no rules, the walk of a copy would end at the same frame. */
	if ((r != 0 && r != -ENODATA) || frames.count == 0)
		return false;
	sample->pcs = scratch->addresses;
	sample->pc_count = frames.count;
	sample->is_cut = r != 0 || frames.end == ORMA_UNWIND_END_FRAMES_MAX;
	return true;
}

/* The two pieces of memory serve a walk and a fiber's stack. */
static void capture(const struct orma_unwind_registers *caller,
		    union orma_heap_scratch *const scratch[2], struct orma_heap_sample *sample)
{
	struct orma_unwind_stack stack;

	sample->registers = *caller;
	if (!orma_heap_stack_find((uintptr_t)caller->sp, scratch[1], &stack)) {
		orma_heap_add(&orma_heap_tracker.failed_stacks);
		return;
	}
	if (walk(&stack, scratch[0], sample))
		return;
	sample->stack = stack.bytes;
	sample->stack_size = ORMA_MIN(stack.size, (size_t)ORMA_HEAP_COPY_MAX);
	sample->is_cut = sample->stack_size < stack.size;
}

/* Losses of an instance with adaptive sampling double its interval. */
static void note_loss(uint32_t instance, uint32_t heap)
{
	struct orma_heap_tracker *tracker = &orma_heap_tracker;
	uint64_t max = atomic_load_explicit(&tracker->adaptive_max[instance], memory_order_relaxed);

	orma_heap_add(&tracker->counts[instance].lost_samples);
	if (max > 0 && orma_heap_double_interval(&orma_heap_infos[heap], instance, max) &&
	    tracker->on_interval)
		tracker->on_interval(instance, heap);
}

struct chosen {
	uint32_t instances; /* bit i: instance i keeps the sample */
	uint64_t intervals[ORMA_INSTANCES_MAX];
};

/* `points` is 0 if the program has sampled the block itself. */
static struct chosen choose(struct orma_heap_thread *self, const struct orma_heap_info *info,
			    uint64_t mean, uint64_t size, uint64_t points)
{
	struct chosen chosen = {0};

	for (uint32_t i = 0; i < ORMA_INSTANCES_MAX; i++) {
		uint64_t interval =
			atomic_load_explicit(&info->instance_interval[i], memory_order_relaxed);

		chosen.intervals[i] = interval;
		if (interval != 0 &&
		    (points == 0 || orma_heap_thin(&self->random, mean, interval, size)))
			chosen.instances |= UINT32_C(1) << i;
	}
	return chosen;
}

/* Returns which of the chosen instances have the sample. */
static uint32_t write_samples(struct orma_data_source *source, const struct chosen *chosen,
			      struct orma_heap_sample *sample)
{
	uint32_t written = 0;
	bool hands_over = orma_heap_threads_are_many();

	for (uint32_t bits = chosen->instances; bits != 0; bits &= bits - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(bits);

		sample->interval_bytes = chosen->intervals[i];
		if (!orma_heap_write_sample(source, i, sample)) {
			note_loss(i, sample->heap);
			continue;
		}
		orma_heap_add(&orma_heap_tracker.counts[i].samples);
		written |= UINT32_C(1) << i;
		if (hands_over)
			orma_data_source_flush_thread(source, i);
	}
	return written;
}

static bool sample_block(struct orma_heap_thread *self, struct orma_heap_sample *sample,
			 const struct chosen *chosen, const struct orma_unwind_registers *caller)
{
	struct orma_heap_tracker *tracker = &orma_heap_tracker;
	struct orma_data_source *source =
		atomic_load_explicit(&tracker->source, memory_order_acquire);
	uint64_t key = key_of(sample->heap, sample->address);
	struct orma_heap_place *place;
	struct orma_heap_held *held = &self->held;
	uint32_t written = 0;

	if (!source || chosen->instances == 0)
		return false;
	held->samples = chosen->instances;
	place = orma_heap_live_reserve(key);
	if (!place) {
		held->samples = 0;
		orma_heap_add(&tracker->samples_beyond_live_set);
		return false;
	}
	held->place = place;
	sample->serial =
		1 + atomic_fetch_add_explicit(&tracker->next_serial, 1, memory_order_relaxed);
	sample->timestamp_ns = orma_heap_now_ns();
	sample->maps_generation =
		atomic_load_explicit(&tracker->maps_generation, memory_order_relaxed);
	held->scratches[0] = orma_heap_scratch_get();
	held->scratches[1] = orma_heap_scratch_get();
	capture(caller, held->scratches, sample);
	sample->tid = self->tid;
	if (orma_heap_thread_register(self))
		written = write_samples(source, chosen, sample);
	else
		for (uint32_t bits = chosen->instances; bits != 0; bits &= bits - 1)
			orma_heap_add(&tracker->counts[__builtin_ctz(bits)].lost_samples);
	orma_heap_scratch_put(ORMA_TAKE(held->scratches[0]));
	orma_heap_scratch_put(ORMA_TAKE(held->scratches[1]));
	held->samples = 0;
	held->place = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	if (written == 0) {
		orma_heap_live_give_up(place);
		return false;
	}
	orma_heap_live_publish(
		place, key,
		&(struct orma_heap_block){sample->serial, (uint8_t)sample->heap, (uint8_t)written});
	return true;
}

/*
 * Counts the bytes that the child of a fork has allocated before it had a session. Called before the thread's countdown is drawn again,
 * because the old countdown has counted them. `seen` of these bytes are sampled after all.
 */
static void count_unseen(const struct orma_heap_thread *self, int64_t left, uint64_t seen)
{
	struct orma_heap_tracker *tracker = &orma_heap_tracker;
	int64_t bytes = tracker->idle_step - left - (int64_t)seen;

	if (tracker->unseen_epoch != 0 && self->epoch == tracker->unseen_epoch && bytes > 0)
		atomic_fetch_add_explicit(&tracker->unseen_bytes, (uint64_t)bytes,
					  memory_order_relaxed);
}

void orma_heap_count_unseen(void)
{
	count_unseen(&orma_heap_self, orma_heap_self.left, 0);
}

bool orma_heap_look(uint32_t heap, uint64_t id, uint64_t size,
		    const struct orma_unwind_registers *caller)
{
	struct orma_heap_thread *self = &orma_heap_self;
	struct orma_heap_info *info = &orma_heap_infos[heap];
	uint32_t epoch = atomic_load_explicit(&orma_heap_epoch, memory_order_acquire);
	uint64_t mean = atomic_load_explicit(&info->interval, memory_order_relaxed), points;
	struct orma_heap_sample sample = {.heap = heap, .address = id, .size = size};
	bool is_sampled = false;
	struct orma_heap_visit visit;
	struct orma_heap_current countdown;

	if (!orma_heap_visit_enter(self, caller->sp, &visit)) {
		if (heap == ORMA_HEAP_MALLOC)
			self->left = ORMA_HEAP_STEP_BYTES;
		else if (self->own)
			self->own->left[heap] = 0;
		return false;
	}
	if (heap == ORMA_HEAP_MALLOC)
		count_unseen(self, visit.malloc_left, mean != 0 ? size : 0);
	if (epoch != self->epoch) {
		orma_heap_countdowns_forget(self, epoch);
		visit.malloc_left = 0;
	}
	orma_heap_countdown_find(self, &visit, heap, &countdown);
	if (mean == 0 && orma_heap_tracker.on_idle)
		orma_heap_call_without_signals(orma_heap_tracker.on_idle);
	points = orma_heap_countdown_draw(self, &countdown, mean, size);
	if (points > 0) {
		struct chosen chosen;

		orma_heap_seed(self);
		chosen = choose(self, info, mean, size, points);
		sample.points = points;
		is_sampled = sample_block(self, &sample, &chosen, caller);
	}
	orma_heap_visit_leave(self, &visit);
	return is_sampled;
}

bool orma_heap_record(uint32_t heap, uint64_t id, uint64_t size,
		      const struct orma_unwind_registers *caller)
{
	struct orma_heap_thread *self = &orma_heap_self;
	struct orma_heap_sample sample = {.heap = heap, .address = id, .size = size};
	struct chosen chosen;
	struct orma_heap_visit visit;
	bool is_recorded;

	if (!orma_heap_visit_enter(self, caller->sp, &visit))
		return false;
	chosen = choose(self, &orma_heap_infos[heap], 0, size, 0);
	is_recorded = sample_block(self, &sample, &chosen, caller);
	orma_heap_visit_leave(self, &visit);
	return is_recorded;
}

/* --- frees ------------------------------------------------------------------------------------ */

/* Returns the instances that have the sample of the block and still run. */
static uint32_t instances_that_know(struct orma_data_source *source,
				    const struct orma_heap_block *block)
{
	uint32_t known = source ? orma_data_source_started(source) & block->instances : 0;

	for (uint32_t bits = known; bits != 0; bits &= bits - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(bits);

		if (block->serial <
		    atomic_load_explicit(&orma_heap_tracker.first_serial[i], memory_order_relaxed))
			known &= ~(UINT32_C(1) << i);
	}
	return known;
}

static void count_frees(uint32_t instances, bool is_written)
{
	for (; instances != 0; instances &= instances - 1) {
		struct orma_heap_instance_counts *counts =
			&orma_heap_tracker.counts[__builtin_ctz(instances)];

		orma_heap_add(is_written ? &counts->frees : &counts->lost_frees);
	}
}

static void write_frees(struct orma_data_source *source, const struct orma_heap_block *block,
			uint32_t known)
{
	uint64_t now_ns = orma_heap_now_ns();
	bool hands_over = orma_heap_threads_are_many();

	for (uint32_t bits = known; bits != 0; bits &= bits - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(bits);

		count_frees(UINT32_C(1) << i,
			    orma_heap_write_free(source, i, block->serial, now_ns));
		if (hands_over)
			orma_data_source_flush_thread(source, i);
	}
}

bool orma_heap_write_deferred_frees(void)
{
	bool has_written = false;
	struct orma_data_source *source =
		atomic_load_explicit(&orma_heap_tracker.source, memory_order_acquire);
	struct orma_heap_block block;

	for (; orma_heap_deferred_pop(&block); has_written = true)
		write_frees(source, &block, instances_that_know(source, &block));
	return has_written;
}

bool orma_heap_free_begin(uint32_t heap, uint64_t id, struct orma_heap_block *ret)
{
	uint64_t key = key_of(heap, id);

	return orma_heap_may_be_live(key) && orma_heap_live_take(key, (uint8_t)heap, ret);
}

/* True if this thread must not write the packet of a free. */
static bool must_defer(struct orma_heap_thread *self)
{
	if (self->is_registered)
		return self->has_ended;
	return self->early_frees++ < EARLY_FREES_MAX;
}

void orma_heap_free_commit(const struct orma_heap_block *block)
{
	struct orma_heap_thread *self = &orma_heap_self;
	struct orma_data_source *source =
		atomic_load_explicit(&orma_heap_tracker.source, memory_order_acquire);
	uint32_t known = instances_that_know(source, block);
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	struct orma_heap_visit visit;

	if (known == 0)
		return;
	if ((self->visit && !orma_heap_visit_is_abandoned(self, here)) || must_defer(self)) {
		if (!orma_heap_deferred_push(block))
			count_frees(known, false);
		return;
	}
	if (!orma_heap_visit_enter(self, here, &visit))
		return;
	self->held.frees = known;
	if (orma_heap_thread_register(self))
		write_frees(source, block, known);
	else if (!orma_heap_deferred_push(block))
		count_frees(known, false);
	self->held.frees = 0;
	orma_heap_visit_leave(self, &visit);
}

void orma_heap_free_cancel(uint64_t id, const struct orma_heap_block *block)
{
	uint64_t key = key_of(block->heap, id);
	struct orma_heap_place *place = orma_heap_live_reserve(key);

	if (place)
		orma_heap_live_publish(place, key, block);
	else
		orma_heap_add(&orma_heap_tracker.samples_beyond_live_set);
}

void orma_heap_freed(uint32_t heap, uint64_t id)
{
	int saved_errno = errno;
	struct orma_heap_block block;

	if (orma_heap_free_begin(heap, id, &block))
		orma_heap_free_commit(&block);
	errno = saved_errno;
}

/* --- other packets ---------------------------------------------------------------------------- */

void orma_heap_run_inside(void (*fn)(void))
{
	struct orma_heap_thread *self = &orma_heap_self;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	struct orma_heap_visit visit;

	if (!orma_heap_visit_enter(self, here, &visit))
		return;
	if (orma_heap_thread_register(self))
		orma_heap_call_without_signals(fn);
	orma_heap_visit_leave(self, &visit);
}

void orma_heap_never_sample_thread(void)
{
	orma_heap_self.left = ORMA_HEAP_NEVER;
}

/* --- fork ------------------------------------------------------------------------------------- */

void orma_heap_tracker_forked(bool follows)
{
	struct orma_heap_tracker *tracker = &orma_heap_tracker;

	for (uint32_t i = 0; i < orma_heap_ids_end(); i++) {
		for (uint32_t j = 0; j < ORMA_INSTANCES_MAX; j++)
			atomic_store_explicit(&orma_heap_infos[i].instance_interval[j], 0,
					      memory_order_relaxed);
		atomic_store_explicit(&orma_heap_infos[i].interval, 0, memory_order_relaxed);
	}
	tracker->unseen_epoch =
		1 + atomic_fetch_add_explicit(&orma_heap_epoch, 1, memory_order_release);
	if (!follows)
		tracker->unseen_epoch = 0;
	atomic_store_explicit(&tracker->unseen_bytes, 0, memory_order_relaxed);
	orma_heap_live_forget();
	orma_self_space_forked();
	orma_heap_scratch_forked();
	for (uint32_t i = 0; i < ORMA_INSTANCES_MAX; i++)
		atomic_store_explicit(&tracker->adaptive_max[i], 0, memory_order_relaxed);
	atomic_store_explicit(&tracker->next_serial, 0, memory_order_relaxed);
	/* Seeded again, because the child must not draw the same numbers as its parent. */
	orma_heap_self.random = 0;
	orma_heap_self.tid = (uint32_t)getpid();
	/* The last step, because nothing is sampled before it. */
	orma_heap_visit_forked();
}
