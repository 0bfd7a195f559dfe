/* SPDX-License-Identifier: Apache-2.0
 * diff_rows.h - what traces have in common, by name: the numbers of both sides of a comparison.
 */
#ifndef ORMA_TOOL_DIFF_ROWS_H
#define ORMA_TOOL_DIFF_ROWS_H

#include "answers/mann_whitney.h"
#include "answers/sample.h"
#include "answers/trace_database.h"
#include "base/arena.h"

enum orma_diff_kind {
	ORMA_DIFF_SLICES,
	ORMA_DIFF_CPU,
	ORMA_DIFF_DELAYS,
	ORMA_DIFF_COUNTERS,
	ORMA_DIFF_FUNCTIONS, /* in samples */
	ORMA_DIFF_HEAP,      /* by call stack */
	ORMA_DIFF_KINDS
};

struct orma_diff_side {
	double count, total, max;  /* sums over the runs, but for max */
	struct orma_sample sample; /* lengths of slices */
	/* The number that the row is compared by, for each run. Slices: mean length; CPU: share of one CPU; delays: mean wait; counters:
	 * mean value; functions: samples or weight of their own; heap: bytes in use. */
	double *figures;
	double *weights; /* for each run: the figure is a sum until it is divided by this; 0 = none */
	double weight; /* sum over the runs of what the figures stand for: how many slices or delays */
};

struct orma_diff_row {
	enum orma_diff_kind kind;
	struct orma_str name, category, process, unit; /* .data = NULL: none */
	struct orma_diff_side sides[2];
	/* orma_diff_finish() sets these. */
	double figures[2]; /* means of the runs that have it; NaN = none has */
	double effect;     /* how much the change matters, for the order */
	double p;          /* NaN = not known */
};

struct orma_diff_key {
	enum orma_diff_kind kind;
	struct orma_str name, category, process, unit;
};

/* {.run_counts} is empty. */
struct orma_diff {
	size_t run_counts[2];
	/* The run has profiles of the kind, so a row that it does not have is 0 in it. */
	bool has_profile[ORMA_DIFF_KINDS][2][ORMA_RUNS_MAX];
	struct orma_arena arena;
	struct orma_map by_key;
	struct orma_diff_row **rows;
	uint32_t row_count, row_capacity;
};

void orma_diff_done(struct orma_diff *diff);
/* Adds the rows of one trace, without its profiles. 0 or a negative errno value. */
int orma_diff_add(struct orma_diff *diff, size_t side, size_t run,
		  struct orma_trace_database *database);
/* Finds the row of a key, or makes it. NULL when out of memory. */
struct orma_diff_row *orma_diff_use_row(struct orma_diff *diff, const struct orma_diff_key *key);
/* Adds the rows of its profiles. 0 or a negative errno value. */
int orma_diff_add_profiles(struct orma_diff *diff, size_t side, size_t run,
			   const struct orma_trace_database *database);
/* Computes what is compared, and sorts the rows by kind and effect, the largest first. */
void orma_diff_finish(struct orma_diff *diff);

#endif
