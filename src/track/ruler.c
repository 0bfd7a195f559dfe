/* SPDX-License-Identifier: Apache-2.0
 * ruler.c - the line from the processor's counter to the system's clock.
 *
 *   ns |            .-'   each window begins where the last one ended; its slope is chosen so that
 *      |        .-'/      it ends where the system's clock will be then
 *      |    _.-'
 *      |_.-' window
 *      +---------------- ticks
 *
 * The slope is measured over one to two seconds. At the beginning there are two spans of at least 5
 * ms in a row that have to agree, and none may be long: a suspend during which the counter stood
 * still would make a slope of its own, and nobody to contradict it. Later each slope has to agree
 * with the one before, or everything begins anew, without a line until then.
 *
 * How wrong a line may be. Slopes that agree differ by 1/2048, so a line that begins right is off
 * by less than 50 us where it ends; there it is compared, and when it is off by more than 10 us (it
 * was not looked at for long, a clock was stepped or is being slewed) it jumps. What no slope can
 * show is a counter that stands still: after a suspend, or a step of the system's clock, the line
 * goes on as before until its window ends, for 100 ms at the most, and is late by what was slept.
 *
 * Rejected: steps at each comparison (differences of times would be wrong by them); the median of
 * many slopes (remembers for long what was never right).
 */
#include "track/ruler.h"

/* 0: not to be had from these two moments. */
static uint64_t slope_between(struct orma_track_moment begin, struct orma_track_moment end)
{
#ifdef __SIZEOF_INT128__
	unsigned __int128 ns = end.ns - begin.ns;

	if (end.ns <= begin.ns || end.ticks <= begin.ticks)
		return 0;
	return (uint64_t)((ns << 32) / (end.ticks - begin.ticks));
#else
	(void)begin, (void)end;
	return 0;
#endif
}

static bool is_alike(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) < b / ORMA_TRACK_SLOPE_SHARE;
}

static uint64_t line_at(const struct orma_track_ruled *line, uint64_t ticks)
{
#ifdef __SIZEOF_INT128__
	return line->base_ns +
	       (uint64_t)((unsigned __int128)(ticks - line->base_ticks) * line->scale >> 32);
#else
	(void)ticks;
	return line->base_ns;
#endif
}

static void begin_anew(struct orma_track_ruler *ruler, struct orma_track_moment now)
{
	*ruler = (struct orma_track_ruler){.first = now, .last = now};
}

/* The first slope: of two spans, when they agree. */
static void calibrate(struct orma_track_ruler *ruler, struct orma_track_moment now)
{
	uint64_t span_ns = now.ns - ruler->last.ns, next = slope_between(ruler->last, now);

	if (ruler->first.ns == 0 || next == 0 || span_ns > ORMA_TRACK_SPAN_NS) {
		begin_anew(ruler, now);
		return;
	}
	if (span_ns < ORMA_TRACK_FIRST_SPAN_NS)
		return;
	if (ruler->guess != 0 && is_alike(next, ruler->guess))
		ruler->slope = slope_between(ruler->first, now);
	else
		ruler->first = ruler->last;
	ruler->guess = next;
	ruler->last = now;
}

/* False: the clocks do not go on as they did. */
static bool follow(struct orma_track_ruler *ruler, struct orma_track_moment now)
{
	uint64_t next = slope_between(ruler->first, now);

	if (next == 0 || !is_alike(next, ruler->slope))
		return false;
	if (now.ns - ruler->first.ns < ORMA_TRACK_SPAN_NS)
		return true;
	ruler->slope = next;
	if (now.ns - ruler->last.ns >= ORMA_TRACK_SPAN_NS) {
		ruler->first = ruler->last;
		ruler->last = now;
	}
	return true;
}

static void draw(struct orma_track_ruler *ruler, struct orma_track_moment now)
{
	struct orma_track_ruled *line = &ruler->line;
	uint64_t window_ticks = (uint64_t)((ORMA_TRACK_WINDOW_NS << 32) / ruler->slope);
	uint64_t scale = ruler->slope, line_ns;
	int64_t ahead_ns;

	if (line->window_ticks > 0) {
		line_ns = line_at(line, now.ticks);
		ahead_ns = (int64_t)(now.ns - line_ns);
		if (ahead_ns > -ORMA_TRACK_STEP_NS && ahead_ns < ORMA_TRACK_STEP_NS) {
			now.ns = line_ns;
			scale = (uint64_t)((int64_t)scale +
					   ahead_ns * (INT64_C(1) << 32) / (int64_t)window_ticks);
		}
	}
	*line = (struct orma_track_ruled){now.ticks, now.ns, scale, window_ticks};
}

bool orma_track_ruler_measure(struct orma_track_ruler *ruler, struct orma_track_moment now)
{
	bool had_line = ruler->line.window_ticks > 0;

	if (ruler->slope == 0)
		calibrate(ruler, now);
	else if (!follow(ruler, now))
		begin_anew(ruler, now);
	if (ruler->slope == 0)
		return had_line;
	draw(ruler, now);
	return true;
}
