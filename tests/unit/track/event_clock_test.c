/* SPDX-License-Identifier: Apache-2.0
 * event_clock_test.c - the clock of events stays close to the system's clock, never goes backwards, and starts
 * anew after a fork.
 */
#include "track/event_clock.h"

#include <orma/init.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock_ns.h"
#include "harness.h"

/* Reads the time until the clock is calibrated, which takes 10 ms. */
static void calibrate(void)
{
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC), ignored;

	while (orma_track_clock_uses_ticks() && !orma_track_clock_try(&ignored) &&
	       orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns < ORMA_NS_PER_SEC)
		orma_track_now_ns();
}

ORMA_TEST(time_is_that_of_the_systems_clock)
{
	static const struct {
		unsigned wanted;
		clockid_t clock;
		uint32_t id;
	} clocks[] = {
		{ORMA_CLOCK_AUTO, CLOCK_BOOTTIME, 6},
		{ORMA_CLOCK_TSC, CLOCK_BOOTTIME, 6},
		{ORMA_CLOCK_BOOTTIME, CLOCK_BOOTTIME, 6},
		{ORMA_CLOCK_MONOTONIC, CLOCK_MONOTONIC, 3},
		{ORMA_CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_RAW, 5},
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(clocks); i++) {
		uint64_t before_ns, now_ns, after_ns;

		orma_track_clock_init(clocks[i].wanted);
		calibrate();
		CHECK_INT(orma_track_clock_id(), clocks[i].id);
		before_ns = orma_base_clock_ns(clocks[i].clock);
		now_ns = orma_track_now_ns();
		after_ns = orma_base_clock_ns(clocks[i].clock);
		/* The machine may be busy, but a calibration is made from undisturbed readings. It is
		 * off by the error of its slope. */
		CHECK(now_ns + ORMA_NS_PER_MS >= before_ns && now_ns <= after_ns + ORMA_NS_PER_MS);
		if (clocks[i].wanted >= ORMA_CLOCK_BOOTTIME)
			CHECK(!orma_track_clock_uses_ticks());
	}
}

ORMA_TEST(a_calibration_hardly_goes_backwards_and_expires)
{
	uint64_t last_ns = 0, ignored, end_ns;

	orma_track_clock_init(ORMA_CLOCK_TSC);
	calibrate();
	/* Some machines have no trusted counter. */
	if (!orma_track_clock_uses_ticks())
		return;
	end_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + ORMA_NS_PER_SEC / 2;
	while (orma_base_clock_ns(CLOCK_MONOTONIC) < end_ns) {
		uint64_t now_ns = orma_track_now_ns();

		/* Sequences ensure that their time does not decrease. */
		CHECK(now_ns + ORMA_NS_PER_MS >= last_ns);
		last_ns = now_ns;
	}
	/* Asking for the time renews the calibration. When nothing asks, the calibration expires. */
	do
		orma_track_now_ns();
	while (!orma_track_clock_try(&ignored));
	while (orma_track_clock_try(&ignored))
		;
}

ORMA_TEST(a_copy_of_the_calibration_is_valid_until_the_next_is_published)
{
	struct orma_track_clock_cache line = {0}, none = {0};
	uint64_t copied_ns, now_ns;

	orma_track_clock_init(ORMA_CLOCK_BOOTTIME);
	orma_track_clock_cache_update(&line);
	CHECK(!orma_track_clock_cache_try(&line, &now_ns));
	CHECK_MEM(&line, sizeof(line), &none, sizeof(none));
	orma_track_clock_init(ORMA_CLOCK_TSC);
	CHECK(!orma_track_clock_cache_try(&line, &now_ns));
	calibrate();
	if (!orma_track_clock_uses_ticks())
		return;
	/* On a busy machine the calibration may expire in between. */
	while (!orma_track_clock_cache_try(&line, &copied_ns)) {
		orma_track_now_ns();
		orma_track_clock_cache_update(&line);
	}
	now_ns = orma_track_now_ns();
	CHECK(now_ns + ORMA_NS_PER_MS >= copied_ns);
	orma_track_clock_init(ORMA_CLOCK_TSC);
	CHECK(!orma_track_clock_cache_try(&line, &now_ns));
	orma_track_clock_cache_update(&line);
	CHECK(!orma_track_clock_cache_try(&line, &now_ns));
}

static void *read_it(void *ctx)
{
	uint64_t last_ns = 0;

	for (int i = 0; i < 200000; i++) {
		uint64_t now_ns = orma_track_now_ns();

		CHECK(now_ns + ORMA_NS_PER_MS >= last_ns);
		last_ns = now_ns;
		if (i % 1000 == 0)
			orma_track_clock_refresh();
	}
	return ctx;
}

ORMA_TEST(threads_that_read_and_calibrate_do_not_disturb_each_other)
{
	pthread_t threads[4];

	orma_track_clock_init(ORMA_CLOCK_TSC);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(threads); i++)
		CHECK_INT(pthread_create(&threads[i], NULL, read_it, NULL), 0);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
}

ORMA_TEST(after_a_fork_the_system_is_asked_until_there_is_a_calibration_again)
{
	uint64_t now_ns;

	orma_track_clock_init(ORMA_CLOCK_TSC);
	calibrate();
	orma_track_clock_forked();
	CHECK(!orma_track_clock_try(&now_ns));
	CHECK(orma_track_now_ns() > 0);
	orma_track_clock_init(ORMA_CLOCK_TSC);
	calibrate();
	CHECK(orma_track_now_ns() > 0);
}

ORMA_TEST(the_environment_chooses_where_the_program_does_not)
{
	setenv("ORMA_CLOCK", "monotonic", 1);
	orma_track_clock_init(ORMA_CLOCK_AUTO);
	CHECK_INT(orma_track_clock_id(), 3);
	orma_track_clock_init(ORMA_CLOCK_BOOTTIME);
	CHECK_INT(orma_track_clock_id(), 6);
	setenv("ORMA_CLOCK", "sundial", 1);
	orma_track_clock_init(ORMA_CLOCK_AUTO);
	CHECK_INT(orma_track_clock_id(), 6);
	unsetenv("ORMA_CLOCK");
}
