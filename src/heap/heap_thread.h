/* SPDX-License-Identifier: Apache-2.0
 * heap_thread.h - what each thread of the profiled program keeps: the countdowns to its next samples.
 *
 * The hooks subtract each allocation from a countdown. While it is 0 or more, nothing else happens. When it becomes negative,
 * orma_heap_look() decides. While a thread is inside the profiler, its countdown for malloc() is one step, which is more than the
 * profiler itself and most signal handlers allocate. The value is finite, because a signal handler may jump out of the profiler. The
 * thread then gets to orma_heap_look() in the end, which finds that the thread is not inside any more.
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

/* A thread checks for a new session and a new interval after at most this many bytes. */
#define ORMA_HEAP_STEP_BYTES (INT64_C(1) << 20)
/* The countdown of the library's thread, which is never sampled. */
#define ORMA_HEAP_NEVER (INT64_MAX / 2)

union orma_heap_scratch;
struct orma_heap_place;

/* The resources of a visit of the profiler, which gives them back at its end. */
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
	int64_t left;                     /* bytes of malloc() until orma_heap_look() is called */
	struct orma_heap_countdowns *own; /* NULL = none yet */
	uint64_t random;                  /* the generator's state; 0 = not seeded */
	uintptr_t stack_begin, stack_end; /* 0, 0 = not known yet */
	uint32_t tid;                     /* 0 = not known yet */
	uint32_t epoch;                   /* the intervals that `left` was drawn with */
	uint32_t early_frees; /* sampled blocks freed before this thread was registered */
	uintptr_t visit;     /* inside the profiler: the address of a variable there; 0 = outside */
	uint64_t visit_mark; /* the value of that variable while its function runs */
	struct orma_heap_held held;
	bool ends_at_point;  /* `left` ends at a sampling point */
	bool is_registered;  /* its destructor will run */
	bool has_ended;      /* its destructor has run for the last time */
	bool was_cancelable; /* pthread_cancel() ends the thread again after the visit */
};

extern __thread struct orma_heap_thread orma_heap_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* All libraries that are opened while the program runs share a few hundred bytes of each thread. */
_Static_assert(sizeof(struct orma_heap_thread) <= 128, "the countdowns of heaps lie elsewhere");

/* True if the countdown has ended. A size of 2^63 or more ends it, too: the subtraction wraps, and could leave a countdown that never
 * ends. */
static inline bool orma_heap_subtract(int64_t *left, uint64_t size)
{
	*left = (int64_t)((uint64_t)*left - size);
	return ORMA_UNLIKELY((int64_t)((uint64_t)*left | size) < 0);
}

/* The fast path of an allocation. True: orma_heap_look() has to be called afterwards. */
static inline bool orma_heap_count(size_t size)
{
	return orma_heap_subtract(&orma_heap_self.left, size);
}

/* The fast path of an allocation in a heap of the program, which is sampled. */
static inline bool orma_heap_count_own(uint32_t heap, uint64_t size)
{
	struct orma_heap_countdowns *own = orma_heap_self.own;

	return ORMA_UNLIKELY(!own) || orma_heap_subtract(&own->left[heap], size);
}

#endif
