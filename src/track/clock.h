/* SPDX-License-Identifier: Apache-2.0
 * clock.h - what time it is for an event: a counter of the processor, scaled, or clock_gettime().
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
 * A line through one moment: ns = base_ns + (ticks - base_ticks) * scale >> 32, for as long as
 * ticks - base_ticks < window_ticks. Written under clock.c's lock, read by every thread, as a seqlock.
 * The writer makes `seq` odd (relaxed), passes a release fence, stores the rest (relaxed), and makes
 * `seq` even with release. A reader loads `seq` and then the rest with acquire, and `seq` once more
 * (relaxed): what it has read is one line when both are the same even number. Who only compares
 * `seq` with the one of a copy loads it relaxed. Aligned: one cache line, written ten times a second
 * at the most.
 */
struct orma_track_clock {
	_Atomic uint32_t seq;
	_Atomic uint64_t base_ticks, base_ns, scale;
	_Atomic uint64_t window_ticks; /* 0 = there is no line: clock_gettime() */
} __attribute__((aligned(64)));

extern struct orma_track_clock orma_track_clock;

/* When the line does not hold: draws a new one if it is time, and asks the system. */
uint64_t orma_track_clock_slow(void) __attribute__((cold, noinline));

/* False: the line does not hold. */
static inline bool orma_track_clock_try(uint64_t *ret_ns)
{
#if ORMA_TRACK_HAS_TICKS
	uint32_t seq = atomic_load_explicit(&orma_track_clock.seq, memory_order_acquire);
	uint64_t base_ns = atomic_load_explicit(&orma_track_clock.base_ns, memory_order_acquire);
	uint64_t scale = atomic_load_explicit(&orma_track_clock.scale, memory_order_acquire);
	uint64_t window_ticks =
		atomic_load_explicit(&orma_track_clock.window_ticks, memory_order_acquire);
	uint64_t ticks;

	/* Reading the counter in vain would cost as much as the rest. */
	if (ORMA_UNLIKELY(window_ticks == 0))
		return false;
	ticks = orma_track_ticks() -
		atomic_load_explicit(&orma_track_clock.base_ticks, memory_order_acquire);
	if (ORMA_UNLIKELY(ticks >= window_ticks))
		return false;
	/* Within the window the product stays below 2^64. */
	*ret_ns = base_ns + (ticks * scale >> 32);
	/* Acquire in all loads above: this one comes after them. ThreadSanitizer knows no fences. */
	return ORMA_LIKELY(atomic_load_explicit(&orma_track_clock.seq, memory_order_relaxed) ==
			   (seq & ~1u));
#else
	(void)ret_ns;
	return false;
#endif
}

/* A thread's own copy of the line. {0} is none. */
struct orma_track_line {
	uint64_t base_ticks, base_ns, scale, window_ticks;
	uint32_t seq; /* of the line that it was copied from: even, not 0 */
};

/* False: it is not the line any more, or does not hold. */
static inline bool orma_track_line_try(const struct orma_track_line *line, uint64_t *ret_ns)
{
	uint64_t ticks;

	/* Relaxed: a line that is replaced at this moment is as good as the next. */
	if (ORMA_UNLIKELY(atomic_load_explicit(&orma_track_clock.seq, memory_order_relaxed) !=
			  line->seq))
		return false;
	ticks = orma_track_ticks() - line->base_ticks;
	if (ORMA_UNLIKELY(ticks >= line->window_ticks))
		return false;
	*ret_ns = line->base_ns + (ticks * line->scale >> 32);
	return true;
}

/* Copies the line there is, if there is one. */
void orma_track_line_learn(struct orma_track_line *line);

static inline uint64_t orma_track_now_ns(void)
{
	uint64_t now_ns;

	return ORMA_LIKELY(orma_track_clock_try(&now_ns)) ? now_ns : orma_track_clock_slow();
}

/* What the system's clock is called in the trace (enum BuiltinClock). */
uint32_t orma_track_clock_id(void);
/* Chooses by orma_init_options.clock (enum orma_clock), begins to calibrate; not while events are
 * emitted. */
void orma_track_clock_init(unsigned wanted);
/* In the child of a fork; async-signal-safe. Until the next init() it asks the system. */
void orma_track_clock_forked(void);
/* Compares with the system's clock, unless that was done just now; wherever clocks are snapshot. */
void orma_track_clock_check(void);
/* True when time comes from the processor's counter, or will when it has been calibrated. */
bool orma_track_clock_uses_ticks(void);

#endif
