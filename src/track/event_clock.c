/* SPDX-License-Identifier: Apache-2.0
 * event_clock.c - which clock events use, which counter, and when both are compared.
 *
 * Reading the counter with a calibration (clock_calibration.h) takes no call; the system's clock
 * takes twice as long. A calibration is valid for 100 ms of ticks. The first thread that asks for
 * the time after that compares both clocks and publishes the next one. So no timer wakes an idle
 * process, and nothing is computed that nobody reads. Without a calibration, and while another
 * thread makes one, readers use the system's clock and do not wait. Each sequence ensures that its
 * own time never decreases.
 *
 * The counter is used if the processor declares it invariant (CPUID; always on arm64), the process
 * may read it (PR_GET_TSC), and the kernel trusts it: the kernel watches whether all processors
 * agree, and then uses the same counter as its clock source.
 *
 * Rejected: the frequency of CPUID leaf 15h (absent in most guests, and off by some ppm); a thread
 * of its own (would wake idle processes).
 */
#include "track/event_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <orma/init.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/str.h"
#include "schema/gen/builtin_clock.pb.h"
#include "track/clock_calibration.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* Where clocks are snapshot, a calibration is renewed after this fraction of its window. */
#define RECENT_SHARE 5
#define READS        4 /* per comparison */

struct orma_track_clock orma_track_clock;

static clockid_t system_clock = CLOCK_BOOTTIME;
static uint32_t system_clock_id = ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME;
static _Atomic bool
	uses_ticks; /* written by orma_track_clock_init(), read by any thread; relaxed */

static atomic_flag is_busy = ATOMIC_FLAG_INIT;
static struct orma_track_calibrator calibrator; /* guarded by `is_busy` */

#if ORMA_TRACK_HAS_TICKS

/* --- one comparison --------------------------------------------------------------------------- */

/* Reads both clocks a few times, and returns the reading that took least. */
static struct orma_track_clock_sample read_both(void)
{
	struct orma_track_clock_sample best = {0, 0};
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < READS; i++) {
		uint64_t before = orma_track_ticks();
		uint64_t ns = orma_base_clock_ns(system_clock);
		uint64_t took = orma_track_ticks() - before;

		if (took < shortest) {
			shortest = took;
			best = (struct orma_track_clock_sample){before + took / 2, ns};
		}
	}
	return best;
}

static void publish(const struct orma_track_calibration *calibration)
{
	struct orma_track_clock *clock = &orma_track_clock;
	uint32_t seq = atomic_load_explicit(&clock->seq, memory_order_relaxed);

	ORMA_ASSERT(seq % 2 == 0);
	/* Pairs with the loads of orma_track_clock_try(): a reader that sees one of the four stores
	 * below sees the odd number, or the next even one, when it loads `seq` again. */
	atomic_store_explicit(&clock->seq, seq + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&clock->base_ticks, calibration->base_ticks, memory_order_relaxed);
	atomic_store_explicit(&clock->base_ns, calibration->base_ns, memory_order_relaxed);
	atomic_store_explicit(&clock->scale, calibration->scale, memory_order_relaxed);
	atomic_store_explicit(&clock->window_ticks, calibration->window_ticks,
			      memory_order_relaxed);
	atomic_store_explicit(&clock->seq, seq + 2, memory_order_release);
}

static void calibrate(void)
{
	if (orma_track_calibrator_add(&calibrator, read_both()))
		publish(&calibrator.calibration);
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

static bool is_trusted_by_kernel(void)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char name[32];
	ssize_t size;
	int fd = orma_base_fd_avoid_standard(open(path, O_RDONLY | O_CLOEXEC));

	if (fd < 0)
		return false;
	size = read(fd, name, sizeof(name));
	orma_base_fd_close(fd);
	return size > 0 &&
	       orma_base_str_is((struct orma_str){name, strcspn(name, "\n")}, KERNELS_NAME);
}

static bool may_use_ticks(unsigned wanted)
{
	if (wanted != ORMA_CLOCK_AUTO && wanted != ORMA_CLOCK_TSC)
		return false;
	return is_counter_sound() && (wanted == ORMA_CLOCK_TSC || is_trusted_by_kernel());
}

#else

static void calibrate(void)
{
}

static void publish(const struct orma_track_calibration *calibration)
{
	(void)calibration;
}

static bool may_use_ticks(unsigned wanted)
{
	(void)wanted;
	return false;
}

#endif

/* --- for emitting threads --------------------------------------------------------------------- */

/* Calibrates, unless another thread does. */
static void try_to_calibrate(void)
{
	if (!orma_track_clock_uses_ticks() ||
	    atomic_flag_test_and_set_explicit(&is_busy, memory_order_acquire))
		return;
	calibrate();
	atomic_flag_clear_explicit(&is_busy, memory_order_release);
}

uint64_t orma_track_clock_slow(void)
{
	if (orma_track_clock_uses_ticks())
		try_to_calibrate();
	return orma_base_clock_ns(system_clock);
}

void orma_track_clock_cache_update(struct orma_track_clock_cache *cache)
{
	const struct orma_track_clock *clock = &orma_track_clock;
	uint32_t seq = atomic_load_explicit(&clock->seq, memory_order_acquire);
	struct orma_track_clock_cache next = {
		.base_ticks = atomic_load_explicit(&clock->base_ticks, memory_order_acquire),
		.base_ns = atomic_load_explicit(&clock->base_ns, memory_order_acquire),
		.scale = atomic_load_explicit(&clock->scale, memory_order_acquire),
		.window_ticks = atomic_load_explicit(&clock->window_ticks, memory_order_acquire),
		.seq = seq,
	};

	if (seq % 2 == 0 && next.window_ticks > 0 &&
	    atomic_load_explicit(&clock->seq, memory_order_relaxed) == seq)
		*cache = next;
}

void orma_track_clock_refresh(void)
{
	uint64_t base_ticks =
		atomic_load_explicit(&orma_track_clock.base_ticks, memory_order_relaxed);
	uint64_t window_ticks =
		atomic_load_explicit(&orma_track_clock.window_ticks, memory_order_relaxed);

	if (orma_track_ticks() - base_ticks >= window_ticks / RECENT_SHARE)
		try_to_calibrate();
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
	calibrator = (struct orma_track_calibrator){0};
	publish(&calibrator.calibration);
	atomic_store_explicit(&uses_ticks, may_use_ticks(wanted), memory_order_relaxed);
	try_to_calibrate();
}

void orma_track_clock_forked(void)
{
	struct orma_track_clock *clock = &orma_track_clock;
	uint32_t seq = atomic_load_explicit(&clock->seq, memory_order_relaxed);

	/* The thread that may have been calibrating does not exist here. */
	atomic_store_explicit(&uses_ticks, false, memory_order_relaxed);
	atomic_store_explicit(&clock->window_ticks, 0, memory_order_relaxed);
	atomic_store_explicit(&clock->seq, (seq + 1) & ~1u, memory_order_relaxed);
	atomic_flag_clear_explicit(&is_busy, memory_order_relaxed);
}
