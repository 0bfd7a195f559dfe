/* SPDX-License-Identifier: Apache-2.0
 * event_clock.h - the time of an event: a counter of the processor, scaled, or clock_gettime().
 */
#ifndef ORMA_TRACK_CLOCK_H
#define ORMA_TRACK_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/macros.h"

#if defined(__x86_64__) && defined(__SIZEOF_INT128__)
#define ORMA_TRACK_HAS_TICKS 1
static inline uint64_t orma_track_ticks(void)
{
	return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__) && defined(__SIZEOF_INT128__)
#define ORMA_TRACK_HAS_TICKS 1
static inline uint64_t orma_track_ticks(void)
{
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}
#else
#define ORMA_TRACK_HAS_TICKS 0
static inline uint64_t orma_track_ticks(void)
{
	return 0;
}
#endif

/*
 * The current calibration (clock_calibration.h): ns = base_ns + (ticks - base_ticks) * scale >> 32,
 * as long as ticks - base_ticks < window_ticks. It is a seqlock, written under event_clock.c's lock
 * and read by every thread. The writer makes `seq` odd (relaxed), passes a release fence, stores
 * the rest (relaxed), and makes `seq` even with release. A reader loads `seq` and then the rest
 * with acquire, and `seq` once more (relaxed). The loaded members belong to one calibration if both
 * are the same even number. A thread that only compares `seq` with that of its copy loads it
 * relaxed. Aligned to one cache line, which is written at most ten times a second.
 */
struct orma_track_clock {
	_Atomic uint32_t seq;
	_Atomic uint64_t base_ticks, base_ns, scale;
	_Atomic uint64_t window_ticks; /* 0 = there is no calibration: clock_gettime() */
} __attribute__((aligned(64)));

extern struct orma_track_clock orma_track_clock;

/* When the calibration is not valid: makes a new one unless another thread does, and asks the
 * system. */
uint64_t orma_track_clock_slow(void) __attribute__((cold, noinline));

/* False: the calibration is not valid. */
static inline bool orma_track_clock_try(uint64_t *ret_ns)
{
#if ORMA_TRACK_HAS_TICKS
	uint32_t seq = atomic_load_explicit(&orma_track_clock.seq, memory_order_acquire);
	uint64_t base_ns = atomic_load_explicit(&orma_track_clock.base_ns, memory_order_acquire);
	uint64_t scale = atomic_load_explicit(&orma_track_clock.scale, memory_order_acquire);
	uint64_t window_ticks =
		atomic_load_explicit(&orma_track_clock.window_ticks, memory_order_acquire);
	uint64_t ticks;

	/* Check this before reading the counter, which costs as much as everything else here. */
	if (ORMA_UNLIKELY(window_ticks == 0))
		return false;
	ticks = orma_track_ticks() -
		atomic_load_explicit(&orma_track_clock.base_ticks, memory_order_acquire);
	if (ORMA_UNLIKELY(ticks >= window_ticks))
		return false;
	/* Within the window the product stays below 2^64. */
	*ret_ns = base_ns + (ticks * scale >> 32);
	/* All loads above are acquire, so that this one comes after them. A fence would do, but
	 * ThreadSanitizer does not understand fences. */
	return ORMA_LIKELY(atomic_load_explicit(&orma_track_clock.seq, memory_order_relaxed) ==
			   (seq & ~1u));
#else
	(void)ret_ns;
	return false;
#endif
}

/* A sequence's copy of the calibration. {0} is none. */
struct orma_track_clock_cache {
	uint64_t base_ticks, base_ns, scale, window_ticks;
	uint32_t seq; /* the calibration's when it was copied: even, not 0 */
};

/* False: there is a newer calibration, or the copy is not valid. */
static inline bool orma_track_clock_cache_try(const struct orma_track_clock_cache *cache,
					      uint64_t *ret_ns)
{
	uint64_t ticks;

	/* Relaxed: a calibration that is being replaced at this moment is as good as the next
	 * one. */
	if (ORMA_UNLIKELY(atomic_load_explicit(&orma_track_clock.seq, memory_order_relaxed) !=
			  cache->seq))
		return false;
	ticks = orma_track_ticks() - cache->base_ticks;
	if (ORMA_UNLIKELY(ticks >= cache->window_ticks))
		return false;
	*ret_ns = cache->base_ns + (ticks * cache->scale >> 32);
	return true;
}

/* Copies the calibration, if there is one. */
void orma_track_clock_cache_update(struct orma_track_clock_cache *cache);

static inline uint64_t orma_track_now_ns(void)
{
	uint64_t now_ns;

	return ORMA_LIKELY(orma_track_clock_try(&now_ns)) ? now_ns : orma_track_clock_slow();
}

/* The id of the system's clock in the trace (enum BuiltinClock). */
uint32_t orma_track_clock_id(void);
/* Chooses the clock by orma_init_options.clock (enum orma_clock) and starts to calibrate. Not while
 * events are emitted. */
void orma_track_clock_init(unsigned wanted);
/* The child of a fork calls this; async-signal-safe. Until the next init() the system is asked. */
void orma_track_clock_forked(void);
/* Calibrates, unless that was done just now. To be called wherever clocks are snapshot. */
void orma_track_clock_refresh(void);
/* True when time comes from the processor's counter, or will come from it once it is calibrated. */
bool orma_track_clock_uses_ticks(void);

#endif
