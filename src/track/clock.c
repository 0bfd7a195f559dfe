/* SPDX-License-Identifier: Apache-2.0
 * clock.c - the line from the processor's counter to the system's clock.
 *
 *   ns |            .-'   each window begins where the last one ended; its slope is chosen so that
 *      |        .-'/      it ends where the system's clock will be then
 *      |    _.-'
 *      |_.-' window
 *      +---------------- ticks
 *
 * Reading a line costs no call; the system's clock costs twice as much. A line holds for 100 ms of
 * ticks. The first thread to look at the time after that compares both clocks and draws the next
 * one: no timer wakes an idle process, and what nobody reads is not kept right. After a long idle
 * time the line may be off by more than 10 us; then it jumps. When the clocks do not even agree on
 * how much time has passed (a suspend, during which the counter may have stood still), calibration
 * begins anew. Time may so be late by what was slept, for the first 100 ms at most; it never goes
 * backwards within a sequence, because sequences see to that themselves.
 *
 * The slope is measured over one to two seconds, at the beginning over 10 ms; until then, and while
 * somebody else draws a line, readers ask the system and wait for nobody.
 *
 * Which counter: invariant by its own word (CPUID, always on arm64), allowed to this process
 * (PR_GET_TSC), and trusted by the kernel, which watches whether all processors agree: its clock
 * source is the same counter.
 *
 * Rejected: the frequency of CPUID leaf 15h (absent in most guests, and off by some ppm); a thread
 * of its own (would wake idle processes); steps at each comparison (deltas would be wrong by them).
 */
#include "track/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <orma/init.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "schema/gen/builtin_clock.pb.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define WINDOW_NS     (100 * ORMA_NS_PER_MS)
#define FIRST_SPAN_NS (10 * ORMA_NS_PER_MS)
#define SPAN_NS       ORMA_NS_PER_SEC
#define STEP_NS       10000
#define RECENT_NS     (20 * ORMA_NS_PER_MS)
/* Slopes of two spans that differ by more than one in this many are not of the same clock. */
#define SLOPE_SHARE 2048
#define READS       4

struct moment {
	uint64_t ticks, ns;
};

struct orma_track_clock orma_track_clock;

static clockid_t system_clock = CLOCK_BOOTTIME;
static uint32_t system_clock_id = ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME;
static _Atomic bool uses_ticks; /* written by orma_track_clock_init(), read relaxed */

/* Of whoever holds `is_busy`. */
static atomic_flag is_busy = ATOMIC_FLAG_INIT;
static struct moment first, last; /* the slope is measured from `first`; ns 0 = none */
static uint64_t slope;            /* 2^32 ns per tick; 0 = not known yet */

#if ORMA_TRACK_HAS_TICKS

/* --- one comparison --------------------------------------------------------------------------- */

/* Of some readings the one that was interrupted least. */
static struct moment compare(void)
{
	struct moment best = {0, 0};
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < READS; i++) {
		uint64_t before = orma_track_ticks();
		uint64_t ns = orma_base_clock_ns(system_clock);
		uint64_t took = orma_track_ticks() - before;

		if (took < shortest) {
			shortest = took;
			best = (struct moment){before + took / 2, ns};
		}
	}
	return best;
}

static uint64_t line_at(uint64_t ticks)
{
	const struct orma_track_clock *clock = &orma_track_clock;
	uint64_t passed = ticks - atomic_load_explicit(&clock->base_ticks, memory_order_relaxed);
	uint64_t scale = atomic_load_explicit(&clock->scale, memory_order_relaxed);

	return atomic_load_explicit(&clock->base_ns, memory_order_relaxed) +
	       (uint64_t)((unsigned __int128)passed * scale >> 32);
}

static void draw(uint64_t base_ticks, uint64_t base_ns, uint64_t scale, uint64_t window_ticks)
{
	struct orma_track_clock *clock = &orma_track_clock;
	uint32_t seq = atomic_load_explicit(&clock->seq, memory_order_relaxed);

	/* Pairs with orma_track_now_ns(): whoever sees one of the four sees the odd number, or the
	 * next even one, behind them. */
	atomic_store_explicit(&clock->seq, seq + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&clock->base_ticks, base_ticks, memory_order_relaxed);
	atomic_store_explicit(&clock->base_ns, base_ns, memory_order_relaxed);
	atomic_store_explicit(&clock->scale, scale, memory_order_relaxed);
	atomic_store_explicit(&clock->window_ticks, window_ticks, memory_order_relaxed);
	atomic_store_explicit(&clock->seq, seq + 2, memory_order_release);
}

/* 0: not to be had from these two moments. */
static uint64_t slope_between(struct moment begin, struct moment end)
{
	unsigned __int128 ns = end.ns - begin.ns;

	if (end.ns <= begin.ns || end.ticks <= begin.ticks)
		return 0;
	return (uint64_t)((ns << 32) / (end.ticks - begin.ticks));
}

static bool is_alike(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) < b / SLOPE_SHARE;
}

/* The slope from here on; false: the counter was disturbed, or has not run for long enough. */
static bool measure(struct moment now)
{
	uint64_t next = slope_between(first, now);

	if (first.ns == 0 || next == 0 || (slope != 0 && !is_alike(next, slope))) {
		first = last = now;
		slope = 0;
		draw(0, 0, 0, 0);
		return false;
	}
	if (now.ns - first.ns < (slope ? SPAN_NS : FIRST_SPAN_NS))
		return slope != 0;
	slope = next;
	if (now.ns - last.ns >= SPAN_NS) {
		first = last;
		last = now;
	}
	return true;
}

static void draw_next(void)
{
	struct moment now = compare();
	uint64_t window_ticks, scale, line_ns;
	int64_t ahead_ns;

	if (!measure(now))
		return;
	window_ticks = (uint64_t)(((unsigned __int128)WINDOW_NS << 32) / slope);
	scale = slope;
	if (atomic_load_explicit(&orma_track_clock.window_ticks, memory_order_relaxed) > 0) {
		line_ns = line_at(now.ticks);
		ahead_ns = (int64_t)(now.ns - line_ns);
		if (ahead_ns > -STEP_NS && ahead_ns < STEP_NS) {
			int64_t turn = ahead_ns * (INT64_C(1) << 32) / (int64_t)window_ticks;

			now.ns = line_ns;
			scale = (uint64_t)((int64_t)slope + turn);
		}
	}
	draw(now.ticks, now.ns, scale, window_ticks);
}

/* --- which counter ---------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define KERNELS_NAME "tsc"
#define LEAF_POWER   0x80000007u
#define INVARIANT    (1u << 8)

static bool is_counter_sound(void)
{
	unsigned eax, ebx, ecx, edx;
	int mode = PR_TSC_ENABLE;

	if (prctl(PR_GET_TSC, &mode) == 0 && mode != PR_TSC_ENABLE)
		return false;
	return __get_cpuid(LEAF_POWER, &eax, &ebx, &ecx, &edx) && edx & INVARIANT;
}
#else
#define KERNELS_NAME "arch_sys_counter"

static bool is_counter_sound(void)
{
	return true;
}
#endif

static bool does_kernel_trust_it(void)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char name[32];
	ssize_t size;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	size = read(fd, name, sizeof(name));
	orma_base_fd_close(fd);
	return size > 0 &&
	       orma_base_str_is((struct orma_str){name, strcspn(name, "\n")}, KERNELS_NAME);
}

static bool choose(unsigned wanted)
{
	if (wanted != ORMA_CLOCK_AUTO && wanted != ORMA_CLOCK_TSC)
		return false;
	return is_counter_sound() && (wanted == ORMA_CLOCK_TSC || does_kernel_trust_it());
}

#else

static void draw_next(void)
{
}

static void draw(uint64_t base_ticks, uint64_t base_ns, uint64_t scale, uint64_t window_ticks)
{
	(void)base_ticks, (void)base_ns, (void)scale, (void)window_ticks;
}

static bool choose(unsigned wanted)
{
	(void)wanted;
	return false;
}

#endif

/* --- for the others --------------------------------------------------------------------------- */

static void try_to_draw(void)
{
	if (!orma_track_clock_uses_ticks() ||
	    atomic_flag_test_and_set_explicit(&is_busy, memory_order_acquire))
		return;
	draw_next();
	atomic_flag_clear_explicit(&is_busy, memory_order_release);
}

uint64_t orma_track_clock_slow(void)
{
	if (orma_track_clock_uses_ticks())
		try_to_draw();
	return orma_base_clock_ns(system_clock);
}

void orma_track_line_learn(struct orma_track_line *line)
{
	const struct orma_track_clock *clock = &orma_track_clock;
	uint32_t seq = atomic_load_explicit(&clock->seq, memory_order_acquire);
	struct orma_track_line next = {
		.base_ticks = atomic_load_explicit(&clock->base_ticks, memory_order_acquire),
		.base_ns = atomic_load_explicit(&clock->base_ns, memory_order_acquire),
		.scale = atomic_load_explicit(&clock->scale, memory_order_acquire),
		.window_ticks = atomic_load_explicit(&clock->window_ticks, memory_order_acquire),
		.seq = seq,
	};

	if (seq % 2 == 0 && next.window_ticks > 0 &&
	    atomic_load_explicit(&clock->seq, memory_order_relaxed) == seq)
		*line = next;
}

void orma_track_clock_check(void)
{
	uint64_t base_ticks =
		atomic_load_explicit(&orma_track_clock.base_ticks, memory_order_relaxed);
	uint64_t window_ticks =
		atomic_load_explicit(&orma_track_clock.window_ticks, memory_order_relaxed);

	if (orma_track_ticks() - base_ticks >= window_ticks / (WINDOW_NS / RECENT_NS))
		try_to_draw();
}

uint32_t orma_track_clock_id(void)
{
	return system_clock_id;
}

bool orma_track_clock_uses_ticks(void)
{
	return atomic_load_explicit(&uses_ticks, memory_order_relaxed);
}

static unsigned from_environment(unsigned wanted)
{
	static const char *const names[] = {
		[ORMA_CLOCK_AUTO] = "auto",
		[ORMA_CLOCK_TSC] = "tsc",
		[ORMA_CLOCK_BOOTTIME] = "boottime",
		[ORMA_CLOCK_MONOTONIC] = "monotonic",
		[ORMA_CLOCK_MONOTONIC_RAW] = "monotonic_raw",
	};
	const char *text = secure_getenv("ORMA_CLOCK");

	for (unsigned i = 0; text && i < ORMA_ARRAY_SIZE(names); i++)
		if (strcmp(text, names[i]) == 0)
			return i;
	return wanted;
}

void orma_track_clock_init(unsigned wanted)
{
	if (wanted == ORMA_CLOCK_AUTO)
		wanted = from_environment(wanted);
	system_clock = CLOCK_BOOTTIME;
	system_clock_id = ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME;
	if (wanted == ORMA_CLOCK_MONOTONIC) {
		system_clock = CLOCK_MONOTONIC;
		system_clock_id = ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_MONOTONIC;
	} else if (wanted == ORMA_CLOCK_MONOTONIC_RAW) {
		system_clock = CLOCK_MONOTONIC_RAW;
		system_clock_id = ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_MONOTONIC_RAW;
	}
	draw(0, 0, 0, 0);
	first = last = (struct moment){0, 0};
	slope = 0;
	atomic_store_explicit(&uses_ticks, choose(wanted), memory_order_relaxed);
	try_to_draw();
}

void orma_track_clock_forked(void)
{
	struct orma_track_clock *clock = &orma_track_clock;
	uint32_t seq = atomic_load_explicit(&clock->seq, memory_order_relaxed);

	/* Whoever was drawing a line does not exist here. */
	atomic_store_explicit(&uses_ticks, false, memory_order_relaxed);
	atomic_store_explicit(&clock->window_ticks, 0, memory_order_relaxed);
	atomic_store_explicit(&clock->seq, (seq + 1) & ~1u, memory_order_relaxed);
	atomic_flag_clear_explicit(&is_busy, memory_order_relaxed);
}
