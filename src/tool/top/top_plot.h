/* SPDX-License-Identifier: Apache-2.0
 * top_plot.h - plots of characters: sparklines, bars, and a heat map of durations by time.
 */
#ifndef ORMA_TOOL_TOP_PLOT_H
#define ORMA_TOOL_TOP_PLOT_H

#include "tool/top/top_view.h"

extern const int orma_top_column_widths[ORMA_TOP_COLUMNS];

/* Appends the events of the last `columns` intervals, the newest at the right; the highest of them is a whole block. */
int orma_top_spark_append(const struct orma_top_rows *rows, const struct orma_top_row *row,
			  unsigned columns, bool is_utf8, struct orma_buf *out);
/*
 * Appends a line per power of two: its range, its count, a bar, and when there is room its last 60 intervals as shades. `row`
 * may be NULL. Lines have `columns` columns at most. 0 or -ENOMEM.
 */
int orma_top_plot_append(const struct orma_top_row *row, const struct orma_top_view *view,
			 unsigned columns, bool is_utf8, struct orma_buf *out);

#endif
