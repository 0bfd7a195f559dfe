/* SPDX-License-Identifier: Apache-2.0
 * clock_calibration_test.c - how far calibrated time is from the clock that it follows. Clocks are slewed,
 * stepped, or stop while the machine sleeps; counters have all frequencies. Time is simulated.
 */
#include "track/clock_calibration.h"

#include "base/macros.h"
#include "harness.h"

#if defined(__SIZEOF_INT128__)

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

struct world {
	double ticks_per_ns, fraction;
	double slew; /* error of the system's clock: 0.0005 = 500 ppm too fast */
	uint64_t ticks, ns;
	int64_t noise_ns; /* error of a comparison, at most */
	uint32_t seed;
	struct orma_track_calibrator calibrator;
	uint64_t asked; /* how often the system was asked for the time */
};

static struct world make(double ghz)
{
	return (struct world){.ticks_per_ns = ghz,
			      .ticks = UINT64_C(1) << 40,
			      .ns = UINT64_C(3) << 40,
			      .seed = 1};
}

static uint32_t any(struct world *world, uint32_t below)
{
	world->seed = world->seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(world->seed >> 8) * below >> 24);
}

/* The counter runs on for `ns`. */
static void pass(struct world *world, uint64_t ns)
{
	double ticks = (double)ns * world->ticks_per_ns + world->fraction;

	world->ticks += (uint64_t)ticks;
	world->fraction = ticks - (double)(uint64_t)ticks;
	world->ns += (uint64_t)((double)ns * (1 + world->slew));
}

/* Reads the time as emitting threads do. */
static uint64_t look(struct world *world)
{
	const struct orma_track_calibration *current = &world->calibrator.calibration;
	uint64_t ticks = world->ticks - current->base_ticks;
	int64_t noise = world->noise_ns ? (int64_t)any(world, (uint32_t)world->noise_ns * 2) -
						  world->noise_ns
					: 0;

	if (ticks < current->window_ticks) {
		CHECK(current->scale == 0 || ticks <= UINT64_MAX / current->scale);
		return current->base_ns + (ticks * current->scale >> 32);
	}
	world->asked++;
	orma_track_calibrator_add(
		&world->calibrator,
		(struct orma_track_clock_sample){world->ticks, world->ns + (uint64_t)noise});
	return world->ns;
}

static uint64_t error_ns(struct world *world)
{
	int64_t error = (int64_t)(look(world) - world->ns);

	return (uint64_t)(error < 0 ? -error : error);
}

/* Reads the time for as long as this, every `step_ns` or more often. Returns the greatest error. */
static uint64_t run(struct world *world, uint64_t for_ns, uint64_t step_ns)
{
	uint64_t worst = 0;

	for (uint64_t at = 0, step; at < for_ns; at += step) {
		uint64_t error = error_ns(world);

		worst = error > worst ? error : worst;
		step = step_ns / 2 + any(world, (uint32_t)step_ns / 2) + 1;
		pass(world, step);
	}
	return worst;
}

static const double frequencies[] = {0.024, 0.0625, 1.0, 2.1, 3.7, 5.5};

ORMA_TEST(calibrated_time_is_near_the_clock_and_asks_it_ten_times_a_second)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(frequencies); i++) {
		struct world world = make(frequencies[i]);
		uint64_t asked;

		world.noise_ns = 100;
		CHECK(run(&world, 2 * S, 100 * US) < 8 * US);
		asked = world.asked;
		CHECK(run(&world, 20 * S, 100 * US) < 1 * US);
		CHECK(world.asked - asked <= 201);
	}
}

ORMA_TEST(a_clock_that_drifts_is_followed)
{
	struct world world = make(2.6);

	world.noise_ns = 100;
	run(&world, 2 * S, 1 * MS);
	/* A day in which the frequency wanders by up to 40 ppm. */
	for (int minute = 0; minute < 24 * 60; minute++) {
		world.ticks_per_ns = 2.6 * (1 + 40e-6 * (minute % 41) / 40);
		CHECK(run(&world, 60 * S, 50 * MS) < 10 * US);
	}
}

ORMA_TEST(time_does_not_go_backwards_while_the_clocks_run_on)
{
	struct world world = make(3.1);
	uint64_t last = 0;

	world.noise_ns = 50;
	run(&world, 2 * S, 1 * MS);
	for (int i = 0; i < 200000; i++) {
		uint64_t now = look(&world);

		CHECK(now + 200 >= last);
		last = now;
		pass(&world, 1 + any(&world, 200000));
	}
}

ORMA_TEST(a_clock_that_is_slewed_is_followed)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(frequencies); i++) {
		struct world world = make(frequencies[i]);

		run(&world, 3 * S, 1 * MS);
		for (int round = 0; round < 6; round++) {
			world.slew = round % 3 == 0 ? 0.0005 : round % 3 == 1 ? -0.0005 : 0;
			CHECK(run(&world, 3 * S, 1 * MS) < 101 * US);
			CHECK(run(&world, 3 * S, 1 * MS) < 1 * US);
		}
	}
}

static const uint64_t lengths[] = {20 * US, 100 * US, 400 * US, 600 * US, 1 * MS,
				   50 * MS, 1 * S,    60 * S,   3600 * S, 30 * 86400 * S};

/* The time is right at the latest when the window that was current before has ended. */
static void check_recovers(struct world *world, uint64_t by_ns)
{
	CHECK(run(world, ORMA_TRACK_WINDOW_NS + MS, 1 * MS) <= by_ns + 60 * US);
	CHECK(run(world, 3 * S, 1 * MS) < 60 * US);
	CHECK(run(world, 3 * S, 1 * MS) < 1 * US);
}

ORMA_TEST(a_clock_that_is_stepped_is_followed_after_a_window)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(lengths); i++) {
		struct world world = make(2.1);

		for (int round = 0; round < 3; round++) {
			run(&world, 3 * S, 1 * MS);
			world.ns += lengths[i];
			check_recovers(&world, lengths[i]);
			/* The clock cannot be set back to a time before the boot. */
			if (lengths[i] < 3600 * S)
				world.ns -= lengths[i];
			check_recovers(&world, lengths[i]);
		}
	}
}

ORMA_TEST(after_a_suspend_time_is_late_for_one_window_at_the_most)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(lengths) * 3; i++) {
		uint64_t slept = lengths[i / 3];
		struct world world = make(1.9);

		run(&world, 3 * S + any(&world, 100000000), 1 * MS);
		if (i % 3 == 0) { /* the counter stops */
			world.ns += slept;
			check_recovers(&world, slept);
		} else if (i % 3 == 1) { /* the counter runs on, as if nobody had read the time */
			pass(&world, slept);
			CHECK(run(&world, 5 * S, 1 * MS) < 60 * US);
		} else { /* the counter starts again from 0 */
			world.ns += slept;
			world.ticks = 0;
			CHECK(run(&world, 3 * S, 1 * MS) < 60 * US);
			CHECK(run(&world, 3 * S, 1 * MS) < 1 * US);
		}
	}
}

/* There is no earlier slope yet that would contradict a wrong one. */
ORMA_TEST(a_suspend_during_the_first_measurement_makes_no_calibration)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(lengths); i++) {
		for (uint64_t when_ms = 0; when_ms < 14; when_ms++) {
			struct world world = make(2.1);
			uint64_t worst = run(&world, when_ms * MS, 100 * US);

			CHECK(worst < 1 * US);
			world.ns += lengths[i];
			check_recovers(&world, lengths[i]);
		}
	}
}

ORMA_TEST(who_looks_rarely_and_sleeps_between_gets_the_systems_time)
{
	struct world world = make(2.1);

	for (int i = 0; i < 200; i++) {
		CHECK_INT(error_ns(&world), 0);
		/* The counter runs on beyond any window, and then stops. */
		pass(&world, 2 * ORMA_TRACK_WINDOW_NS + any(&world, 8) * 3600 * S / 4);
		world.ns += any(&world, 8) * 3600 * S / 4;
		CHECK_INT(error_ns(&world), 0);
		if (any(&world, 2))
			CHECK(run(&world, 20 * MS, 1 * MS) < 60 * US);
		pass(&world, 1 * S);
	}
}

ORMA_TEST(a_machine_with_another_counter_is_calibrated_anew)
{
	struct world world = make(2.1);

	run(&world, 3 * S, 1 * MS);
	world.ticks_per_ns = 2.9;
	/* The error lasts for one window and is a fraction of it. */
	CHECK(run(&world, 2 * ORMA_TRACK_WINDOW_NS, 1 * MS) < ORMA_TRACK_WINDOW_NS / 2);
	CHECK(run(&world, 3 * S, 1 * MS) < 1 * US);
	world.ticks_per_ns = 0.1;
	CHECK(run(&world, 30 * ORMA_TRACK_WINDOW_NS, 1 * MS) < 30 * ORMA_TRACK_WINDOW_NS);
	CHECK(run(&world, 3 * S, 1 * MS) < 1 * US);
}

ORMA_TEST(clocks_that_stop_or_go_backwards_make_no_calibration)
{
	struct orma_track_calibrator calibrator = {0};

	for (uint64_t i = 1; i < 100; i++)
		CHECK(!orma_track_calibrator_add(&calibrator,
						 (struct orma_track_clock_sample){i * S, S}));
	for (uint64_t i = 1; i < 100; i++)
		CHECK(!orma_track_calibrator_add(&calibrator,
						 (struct orma_track_clock_sample){S, i * S}));
	for (uint64_t i = 100; i > 0; i--)
		CHECK(!orma_track_calibrator_add(
			&calibrator, (struct orma_track_clock_sample){i * MS, i * 10 * MS}));
	CHECK_INT(calibrator.calibration.window_ticks, 0);
}

#else
ORMA_TEST(without_wide_arithmetic_there_is_no_calibration)
{
	struct orma_track_calibrator calibrator = {0};

	for (uint64_t i = 1; i < 100; i++)
		CHECK(!orma_track_calibrator_add(
			&calibrator, (struct orma_track_clock_sample){i * 1000, i * 10000000}));
}
#endif
