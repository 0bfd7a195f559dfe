/* SPDX-License-Identifier: Apache-2.0
 * top_rows.h - what `orma top` knows about each name: counts, durations, and the last 60 intervals.
 */
#ifndef ORMA_TOOL_TOP_ROWS_H
#define ORMA_TOOL_TOP_ROWS_H

#include <stdbool.h>

#include "base/map.h"
#include "base/str.h"
#include "tool/top/top_histogram.h"

enum {
	ORMA_TOP_ROWS_MAX = 1000,
	ORMA_TOP_NAME_MAX_BYTES = 200, /* longer names are cut */
	ORMA_TOP_PAST = 60,            /* intervals that are remembered */
	ORMA_TOP_HEAT_POWERS = 44,     /* durations of more than 4 hours count as 4 hours */
};

/* Sums over some time: the interval that runs, the last one, or all. */
struct orma_top_figures {
	uint64_t events, lost;
	double self_ns;
	double last_value; /* a counter's */
};

/* Durations, or values of a counter in thousandths. */
struct orma_top_values {
	struct orma_top_histogram running, last, all;
	uint16_t heat[ORMA_TOP_PAST]
		     [ORMA_TOP_HEAT_POWERS]; /* by interval, like `past`; saturating */
};

struct orma_top_row {
	struct orma_top_row *next_same; /* has the same hash */
	uint64_t hash;
	struct orma_top_figures running, last, all;
	struct orma_top_values *values; /* NULL = it had none yet */
	uint32_t past[ORMA_TOP_PAST];   /* events by interval, at `rows->now` */
	uint32_t held;                  /* slices that are open, and point to the row */
	uint32_t quiet;                 /* intervals since the last event */
	bool is_other;
	size_t name_size;
	char name[];
};

struct orma_top_rows {
	struct orma_map by_hash;    /* the first struct orma_top_row of a hash */
	struct orma_top_row **all;  /* in no order; the first is `other` */
	struct orma_top_row *other; /* names that found no room */
	size_t count, max;
	unsigned now;            /* the place of the interval that runs, in `past` and `heat` */
	uint64_t interval_count; /* that have ended */
	uint64_t folded;         /* names that were put into `other` */
};

/* At most `max` rows. `seed` is secret, because programs choose the names. 0 or -ENOMEM; done() is called in any case. */
int orma_top_rows_init(struct orma_top_rows *rows, size_t max, uint64_t seed);
void orma_top_rows_done(struct orma_top_rows *rows);
/* Returns the row of a name, or `other` when there is no room. */
struct orma_top_row *orma_top_rows_get(struct orma_top_rows *rows, struct orma_str name);
/* Returns NULL when there is none. */
struct orma_top_row *orma_top_rows_find(const struct orma_top_rows *rows, struct orma_str name);

void orma_top_row_add_value(struct orma_top_rows *rows, struct orma_top_row *row, uint64_t value);
/* The interval that runs becomes the last one. */
void orma_top_rows_end_interval(struct orma_top_rows *rows);
/* Forgets all figures. Rows that nobody holds go. */
void orma_top_rows_zero(struct orma_top_rows *rows);

#endif
