/* SPDX-License-Identifier: Apache-2.0
 * top_plot.c - eighths of blocks for sizes and shades for frequencies, with a ramp of ASCII characters for terminals that
 * show no others.
 *
 * The heat map is beside the histogram, a line per power of two: the line says how often such a duration occurred, and when.
 */
#include "tool/top/top_plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/macros.h"
#include "tool/ask/units.h"

enum {
	EIGHTHS = 8,
	SHADES = 5,
	RANGE_COLUMNS = 18,
	COUNT_COLUMNS = 10,
	BAR_MIN = 10,
	BAR_MAX = 60
};

const int orma_top_column_widths[ORMA_TOP_COLUMNS] = {
	[ORMA_TOP_COLUMN_RATE] = 9, [ORMA_TOP_COLUMN_AVERAGE] = 8, [ORMA_TOP_COLUMN_P50] = 8,
	[ORMA_TOP_COLUMN_P99] = 8,  [ORMA_TOP_COLUMN_MAX] = 8,     [ORMA_TOP_COLUMN_SELF] = 6,
	[ORMA_TOP_COLUMN_LOST] = 6,
};

static const char *const heights[2][EIGHTHS + 1] = {
	{" ", ".", ":", "-", "=", "+", "*", "#", "@"},
	{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
};
static const char *const lengths[EIGHTHS] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
static const char *const shades[2][SHADES] = {
	{" ", ".", ":", "+", "#"},
	{" ", "░", "▒", "▓", "█"},
};

int orma_top_spark_append(const struct orma_top_rows *rows, const struct orma_top_row *row,
			  unsigned columns, bool is_utf8, struct orma_buf *out)
{
	uint32_t most = 1;
	int r = 0;
	for (unsigned i = 1; i <= columns; i++)
		most = ORMA_MAX(most, row->past[(rows->now + ORMA_TOP_PAST - i) % ORMA_TOP_PAST]);
	for (unsigned i = columns; r == 0 && i > 0; i--) {
		uint64_t events = row->past[(rows->now + ORMA_TOP_PAST - i) % ORMA_TOP_PAST];
		/* Anything but 0 is seen. */
		uint64_t height = (events * EIGHTHS + most - 1) / most;
		r = orma_base_buf_append_str(out, heights[is_utf8][height]);
	}
	return r;
}

static int append_bar(uint64_t count, uint64_t most, unsigned columns, bool is_utf8,
		      struct orma_buf *out)
{
	uint64_t eighths = count * columns * EIGHTHS / ORMA_MAX(most, UINT64_C(1)), used = 0;
	int r = 0;
	if (count > 0 && eighths == 0)
		eighths = 1;
	for (; r == 0 && eighths >= EIGHTHS; eighths -= EIGHTHS, used++)
		r = orma_base_buf_append_str(out, is_utf8 ? "█" : "@");
	if (r == 0 && eighths > 0 && used < columns) {
		r = orma_base_buf_append_str(out, is_utf8 ? lengths[eighths] : ".");
		used++;
	}
	return r < 0 ? r : orma_base_buf_printf(out, "%*s", (int)(columns - used), "");
}

/* The shade is that of the logarithm: tails, which are rare, are what one looks for. */
static int append_heat(const struct orma_top_view *view, const struct orma_top_values *values,
		       unsigned power, unsigned columns, bool is_utf8, struct orma_buf *out)
{
	static const uint16_t least[SHADES] = {0, 1, 10, 100, 1000};
	const struct orma_top_rows *rows = &view->decoder->rows;
	int r = 0;
	for (unsigned i = columns; r == 0 && i > 0; i--) {
		unsigned place = (rows->now + ORMA_TOP_PAST - i) % ORMA_TOP_PAST;
		unsigned shade = SHADES - 1;
		while (shade > 0 && values->heat[place][power] < least[shade])
			shade--;
		r = orma_base_buf_append_str(out, shades[is_utf8][shade]);
	}
	return r;
}

static const char *limit_text(double limit, enum orma_top_by by, char buffer[ORMA_UNIT_BYTES])
{
	return by == ORMA_TOP_BY_COUNTER ? orma_units_number(limit / 1000, buffer)
					 : orma_units_duration((int64_t)limit, buffer);
}

struct plot {
	const struct orma_top_view *view;
	const struct orma_top_values *values;
	uint64_t powers[ORMA_TOP_POWERS], most;
	unsigned bar_columns, heat_columns;
	bool is_utf8;
};

static int append_power(const struct plot *plot, unsigned power, struct orma_buf *out)
{
	char from[ORMA_UNIT_BYTES], to[ORMA_UNIT_BYTES], count[ORMA_UNIT_BYTES];
	enum orma_top_by by = plot->view->choice.by;
	limit_text(power > 0 ? ldexp(1, (int)power - 1) : 0, by, from);
	limit_text(ldexp(1, (int)power), by, to);
	int r = orma_base_buf_printf(out, "%8s ..%7s %*s ", from, to, COUNT_COLUMNS - 1,
				     orma_units_count(plot->powers[power], count));
	if (r == 0)
		r = append_bar(plot->powers[power], plot->most, plot->bar_columns, plot->is_utf8,
			       out);
	if (r == 0 && plot->heat_columns > 0) {
		r = orma_base_buf_append_str(out, plot->is_utf8 ? "│" : "|");
		if (r == 0 && power < ORMA_TOP_HEAT_POWERS)
			r = append_heat(plot->view, plot->values, power, plot->heat_columns,
					plot->is_utf8, out);
	}
	return r < 0 ? r : orma_base_buf_append_str(out, "\n");
}

/* The bar gets what the heat map leaves, and the heat map nothing if that is too little. */
static void divide(struct plot *plot, unsigned columns)
{
	unsigned left = columns > RANGE_COLUMNS + COUNT_COLUMNS
				? columns - RANGE_COLUMNS - COUNT_COLUMNS
				: 0;
	if (left > 2 * BAR_MIN)
		plot->heat_columns = ORMA_MIN(left / 2, (unsigned)ORMA_TOP_PAST);
	left -= plot->heat_columns + (plot->heat_columns > 0);
	plot->bar_columns = ORMA_MIN(left, (unsigned)BAR_MAX);
}

int orma_top_plot_append(const struct orma_top_row *row, const struct orma_top_view *view,
			 unsigned columns, bool is_utf8, struct orma_buf *out)
{
	struct plot plot = {.view = view, .is_utf8 = is_utf8};
	unsigned first = 0, last = ORMA_TOP_POWERS - 1;
	const struct orma_top_histogram *histogram =
		row ? orma_top_shown_histogram(row, view->choice.is_total) : NULL;
	if (!histogram || row->values->all.count == 0)
		return orma_base_buf_append_str(out, row ? "It had no durations yet.\n"
							 : "There is no such row yet.\n");
	plot.values = row->values;
	/* The lines are those of all time, so that they do not move. */
	orma_top_histogram_powers(&row->values->all, plot.powers);
	while (plot.powers[first] == 0)
		first++;
	while (plot.powers[last] == 0)
		last--;
	orma_top_histogram_powers(histogram, plot.powers);
	for (unsigned i = first; i <= last; i++)
		plot.most = ORMA_MAX(plot.most, plot.powers[i]);
	divide(&plot, columns);
	int r = 0;
	for (unsigned i = first; r == 0 && i <= last; i++)
		r = append_power(&plot, i, out);
	return r;
}
