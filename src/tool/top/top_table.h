/* SPDX-License-Identifier: Apache-2.0
 * top_table.h - which rows are shown, in which order, and the figures in their columns.
 */
#ifndef ORMA_TOOL_TOP_TABLE_H
#define ORMA_TOOL_TOP_TABLE_H

#include "tool/top/top_decoder.h"

enum orma_top_column {
	ORMA_TOP_COLUMN_NAME,
	ORMA_TOP_COLUMN_RATE,
	ORMA_TOP_COLUMN_AVERAGE,
	ORMA_TOP_COLUMN_P50,
	ORMA_TOP_COLUMN_P99,
	ORMA_TOP_COLUMN_MAX,
	ORMA_TOP_COLUMN_SELF,
	ORMA_TOP_COLUMN_LOST,
	ORMA_TOP_COLUMNS,
};

enum { ORMA_TOP_CELL_BYTES = 64, ORMA_TOP_PATTERN_BYTES = 100 };

/* The user's choice. */
struct orma_top_choice {
	enum orma_top_by by;
	enum orma_top_column sort;
	bool is_inverted;
	bool is_total;                       /* figures of all time instead of the last interval */
	char filter[ORMA_TOP_PATTERN_BYTES]; /* "" = all rows */
};

/* The figures of a row as they are shown. */
struct orma_top_cells {
	const struct orma_top_row *row;
	uint64_t events, lost;
	uint64_t measured;             /* durations or values; 0 = the next five make no sense */
	double average, p50, p99, max; /* ns, or the unit of the counter */
	double rate;                   /* per second */
	double self;                   /* share of one CPU's time; of a counter its last value */
};

/* The rows of one moment. */
struct orma_top_table {
	struct orma_top_cells *cells;
	size_t count, capacity;
};

extern const char *const orma_top_by_names[ORMA_TOP_BY_KINDS];
extern const char *const orma_top_column_names[ORMA_TOP_COLUMNS]; /* for options and JSON */

void orma_top_table_done(struct orma_top_table *table);
/* Takes the rows of the decoder. `seconds` is the length of what is shown. 0 or -ENOMEM. */
int orma_top_table_make(struct orma_top_table *table, const struct orma_top_decoder *decoder,
			const struct orma_top_choice *choice, double seconds);
/* Returns `buffer` with what the column shows. */
const char *orma_top_cell_text(const struct orma_top_cells *cells, enum orma_top_by by,
			       enum orma_top_column column, char buffer[ORMA_TOP_CELL_BYTES]);
/* Returns a column's head. */
const char *orma_top_column_head(enum orma_top_by by, enum orma_top_column column);
/* Tells whether a name contains the pattern, whatever the case of ASCII letters is. */
bool orma_top_name_fits(const char *name, const char *pattern);
/* Returns the figures that are shown of a row, or NULL. */
const struct orma_top_histogram *orma_top_shown_histogram(const struct orma_top_row *row,
							  bool is_total);

#endif
