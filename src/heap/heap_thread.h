/* SPDX-License-Identifier: Apache-2.0
 * heap_thread.h - what each thread of the profiled program keeps: the countdowns to its next samples.
 *
 * The hooks subtract each allocation from a countdown. While it stays at 0 or above, nothing else happens. Below 0,
 * orma_heap_look() decides. While a thread is inside the profiler, its countdown for malloc() is a step, which is more than
 * the profiler itself and most signal handlers allocate. It has an end, because a signal handler may jump out of the profiler:
 * orma_heap_look() then finds that the thread is inside no longer.
 */
#ifndef ORMA_HEAP_HEAP_THREAD_H
#define ORMA_HEAP_HEAP_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

enum {
	ORMA_HEAP_NONE = 0,   /* the id of heaps that could not be registered */
	ORMA_HEAP_MALLOC = 1, /* the id of "libc.malloc" */
	/* One more than the highest id. Perfetto has as many. */
	ORMA_HEAPS_MAX = 256,
};

/* A thread looks for a new session, and a new interval, after this many bytes at the latest. */
#define ORMA_HEAP_STEP_BYTES (INT64_C(1) << 20)
/* The countdown of the library's thread, which is never sampled. */
#define ORMA_HEAP_NEVER (INT64_MAX / 2)

union orma_heap_scratch;
struct orma_heap_place;

/* These are given back at the end of a visit of the profiler. */
struct orma_heap_held {
	union orma_heap_scratch *scratches[2];
	struct orma_heap_place *place; /* reserved, not published yet */
	uint32_t samples, frees;       /* bit i: a packet for instance i is being written */
};

/* The countdowns of the program's own heaps, in a page that a thread gets when it reports to one of them in a session. */
struct orma_heap_countdowns {
	int64_t left[ORMA_HEAPS_MAX];
	bool ends_at_point[ORMA_HEAPS_MAX];
};

struct orma_heap_thread {
	int64_t left;                     /* bytes of malloc() until the next look */
	struct orma_heap_countdowns *own; /* NULL = none yet */
	uint64_t random;                  /* the generator's state; 0 = not seeded */
	uintptr_t stack_begin, stack_end; /* 0, 0 = not known yet */
	uint32_t tid;                     /* 0 = not known yet */
	uint32_t epoch;                   /* the intervals that `left` was drawn with */
	uint32_t early_frees; /* sampled blocks freed before this thread was registered */
	uintptr_t visit;     /* inside the profiler: the address of a variable there; 0 = outside */
	uint64_t visit_mark; /* the value of that variable while its function runs */
	struct orma_heap_held held;
	bool ends_at_point; /* `left` ends at a sampling point */
	bool is_registered; /* its destructor will run */
	bool has_ended;     /* its destructor has run for the last time */
};

extern __thread struct orma_heap_thread orma_heap_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* A library that is opened while the program runs gets a few hundred bytes of each thread, with all others together. */
_Static_assert(sizeof(struct orma_heap_thread) <= 128, "the countdowns of heaps lie elsewhere");

static inline bool orma_heap_subtract(int64_t *left, uint64_t size)
{
	*left = (int64_t)((uint64_t)*left - size);
	return ORMA_UNLIKELY(*left < 0);
}

/* The fast path of an allocation. True: orma_heap_look() has to be called afterwards. */
static inline bool orma_heap_count(size_t size)
{
	return orma_heap_subtract(&orma_heap_self.left, size);
}

/* The same for a heap of the program's own that is sampled. */
static inline bool orma_heap_count_own(uint32_t heap, uint64_t size)
{
	struct orma_heap_countdowns *own = orma_heap_self.own;

	return ORMA_UNLIKELY(!own) || orma_heap_subtract(&own->left[heap], size);
}

#endif
