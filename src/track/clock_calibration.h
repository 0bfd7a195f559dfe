/* SPDX-License-Identifier: Apache-2.0
 * clock_calibration.h - converts the ticks of a counter into the time of another clock.
 *
 * Pure: samples of both clocks come in, calibrations come out. event_clock.c reads the clocks and
 * publishes the calibrations.
 */
#ifndef ORMA_TRACK_CLOCK_CALIBRATION_H
#define ORMA_TRACK_CLOCK_CALIBRATION_H

#include <stdbool.h>
#include <stdint.h>

/* Both clocks, read at the same moment. */
struct orma_track_clock_sample {
	uint64_t ticks, ns;
};

/* ns = base_ns + (ticks - base_ticks) * scale >> 32, while ticks - base_ticks < window_ticks. */
struct orma_track_calibration {
	uint64_t base_ticks, base_ns, scale;
	uint64_t window_ticks; /* 0 = there is no calibration */
};

/* {0} is one without any sample. */
struct orma_track_calibrator {
	struct orma_track_clock_sample first; /* the slope is measured from here; ns 0 = none */
	struct orma_track_clock_sample last;
	uint64_t slope;      /* 2^32 ns per tick; 0 = not known yet */
	uint64_t last_slope; /* measured over the span before `last`; 0 = none */
	struct orma_track_calibration calibration;
};

#define ORMA_TRACK_WINDOW_NS     UINT64_C(100000000)
#define ORMA_TRACK_FIRST_SPAN_NS UINT64_C(5000000)
#define ORMA_TRACK_SPAN_NS       UINT64_C(1000000000)
#define ORMA_TRACK_STEP_NS       10000
/* Slopes that differ by more than one part in this many do not belong to the same two clocks. */
#define ORMA_TRACK_SLOPE_SHARE 2048

/* Processes a sample. True: `calibration` has changed, or has become invalid. */
bool orma_track_calibrator_add(struct orma_track_calibrator *calibrator,
			       struct orma_track_clock_sample now);

#endif
