/* SPDX-License-Identifier: Apache-2.0
 * ruler.h - a line along which a counter's ticks become the time of another clock.
 *
 * Pure: moments come in, lines come out. clock.c reads the clocks and publishes the lines.
 */
#ifndef ORMA_TRACK_RULER_H
#define ORMA_TRACK_RULER_H

#include <stdbool.h>
#include <stdint.h>

/* Both clocks, read at once. */
struct orma_track_moment {
	uint64_t ticks, ns;
};

/* ns = base_ns + (ticks - base_ticks) * scale >> 32, while ticks - base_ticks < window_ticks. */
struct orma_track_ruled {
	uint64_t base_ticks, base_ns, scale;
	uint64_t window_ticks; /* 0 = there is no line */
};

/* {0} is one that knows nothing yet. */
struct orma_track_ruler {
	struct orma_track_moment first, last; /* the slope is measured from `first`; ns 0 = none */
	uint64_t slope;                       /* 2^32 ns per tick; 0 = not known yet */
	uint64_t guess;                       /* of the span before the last; 0 = none */
	struct orma_track_ruled line;
};

#define ORMA_TRACK_WINDOW_NS     UINT64_C(100000000)
#define ORMA_TRACK_FIRST_SPAN_NS UINT64_C(5000000)
#define ORMA_TRACK_SPAN_NS       UINT64_C(1000000000)
#define ORMA_TRACK_STEP_NS       10000
/* Slopes that differ by more than one in this many are not of the same two clocks. */
#define ORMA_TRACK_SLOPE_SHARE 2048

/* Takes a comparison in. True: `line` is another one, or none. */
bool orma_track_ruler_measure(struct orma_track_ruler *ruler, struct orma_track_moment now);

#endif
