/* SPDX-License-Identifier: Apache-2.0
 * clock_calibration.c - keeps the processor's counter close to the system's clock.
 *
 *   ns |            .-'   Each window begins where the previous one ended. Its slope is chosen so
 *      |        .-'/      that it ends where the system's clock will be at that time.
 *      |    _.-'
 *      |_.-' window
 *      +---------------- ticks
 *
 * The slope is measured over one to two seconds. At the start two spans of at least 5 ms in a row have
 * to agree. Neither may be long: the counter may stop during a suspend, and a span across a suspend
 * would give a wrong slope with nothing to contradict it. Later each slope has to agree with the
 * previous one; otherwise measuring starts over, and there is no calibration until it is finished.
 *
 * How wrong a calibration can be: slopes that agree differ by at most 1/2048, so a window that begins
 * right is off by less than 50 us at its end. There it is compared. If it is off by more than 10 us
 * (because nobody compared for a while, or a clock was stepped or is being slewed), the time jumps. No
 * slope shows that a counter stopped: after a suspend, or a step of the system's clock, the calibration
 * remains in use until its window ends, for at most 100 ms, and is behind by the time of the suspend.
 *
 * Rejected: a jump at each comparison (differences of times would be wrong by it); the median of many
 * slopes (a wrong one would be remembered for long).
 */
#include "track/clock_calibration.h"

#include "base/assert.h"

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 uint128;
#endif

/* 0: the two samples give no slope. */
static uint64_t slope_between(struct orma_track_clock_sample begin,
			      struct orma_track_clock_sample end)
{
#ifdef __SIZEOF_INT128__
	uint128 ns = end.ns - begin.ns;

	if (end.ns <= begin.ns || end.ticks <= begin.ticks)
		return 0;
	return (uint64_t)((ns << 32) / (end.ticks - begin.ticks));
#else
	(void)begin, (void)end;
	return 0;
#endif
}

static bool is_similar(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) < b / ORMA_TRACK_SLOPE_SHARE;
}

static uint64_t ns_at(const struct orma_track_calibration *calibration, uint64_t ticks)
{
#ifdef __SIZEOF_INT128__
	return calibration->base_ns +
	       (uint64_t)((uint128)(ticks - calibration->base_ticks) * calibration->scale >> 32);
#else
	(void)ticks;
	return calibration->base_ns;
#endif
}

static void start_over(struct orma_track_calibrator *calibrator, struct orma_track_clock_sample now)
{
	*calibrator = (struct orma_track_calibrator){.first = now, .last = now};
}

/* The first slope is that of two spans in a row, if they agree. */
static void measure_first_slope(struct orma_track_calibrator *calibrator,
				struct orma_track_clock_sample now)
{
	uint64_t span_ns = now.ns - calibrator->last.ns,
		 next = slope_between(calibrator->last, now);

	if (calibrator->first.ns == 0 || next == 0 || span_ns > ORMA_TRACK_SPAN_NS) {
		start_over(calibrator, now);
		return;
	}
	if (span_ns < ORMA_TRACK_FIRST_SPAN_NS)
		return;
	if (calibrator->last_slope != 0 && is_similar(next, calibrator->last_slope))
		calibrator->slope = slope_between(calibrator->first, now);
	else
		calibrator->first = calibrator->last;
	calibrator->last_slope = next;
	calibrator->last = now;
}

/* False: the new slope contradicts the old one. */
static bool measure_next_slope(struct orma_track_calibrator *calibrator,
			       struct orma_track_clock_sample now)
{
	uint64_t next = slope_between(calibrator->first, now);

	if (next == 0 || !is_similar(next, calibrator->slope))
		return false;
	if (now.ns - calibrator->first.ns < ORMA_TRACK_SPAN_NS)
		return true;
	calibrator->slope = next;
	if (now.ns - calibrator->last.ns >= ORMA_TRACK_SPAN_NS) {
		calibrator->first = calibrator->last;
		calibrator->last = now;
	}
	return true;
}

static void begin_window(struct orma_track_calibrator *calibrator,
			 struct orma_track_clock_sample now)
{
	struct orma_track_calibration *calibration = &calibrator->calibration;
	uint64_t window_ticks = (uint64_t)((ORMA_TRACK_WINDOW_NS << 32) / calibrator->slope);
	uint64_t scale = calibrator->slope, calibrated_ns;
	int64_t ahead_ns;

	ORMA_ASSERT(window_ticks > 0);
	if (calibration->window_ticks > 0) {
		calibrated_ns = ns_at(calibration, now.ticks);
		ahead_ns = (int64_t)(now.ns - calibrated_ns);
		if (ahead_ns > -ORMA_TRACK_STEP_NS && ahead_ns < ORMA_TRACK_STEP_NS) {
			now.ns = calibrated_ns;
			scale = (uint64_t)((int64_t)scale +
					   ahead_ns * (INT64_C(1) << 32) / (int64_t)window_ticks);
		}
	}
	*calibration = (struct orma_track_calibration){now.ticks, now.ns, scale, window_ticks};
}

bool orma_track_calibrator_add(struct orma_track_calibrator *calibrator,
			       struct orma_track_clock_sample now)
{
	bool had_calibration = calibrator->calibration.window_ticks > 0;

	if (calibrator->slope == 0)
		measure_first_slope(calibrator, now);
	else if (!measure_next_slope(calibrator, now))
		start_over(calibrator, now);
	if (calibrator->slope == 0)
		return had_calibration;
	begin_window(calibrator, now);
	return true;
}
