/* SPDX-License-Identifier: Apache-2.0
 * diff_tables.h - the differences of two groups of traces as tables, for `orma diff` and `orma report`.
 */
#ifndef ORMA_TOOL_DIFF_TABLES_H
#define ORMA_TOOL_DIFF_TABLES_H

#include "tool/ask/answer.h"
#include "tool/ask/diff_rows.h"
#include "tool/ask/fact_table.h"

enum { ORMA_DIFF_COLUMNS = 17, ORMA_DIFF_END_BYTES = 160 };

struct orma_diff_tables {
	const struct orma_diff_options *options;
	struct orma_diff diff;
	struct orma_arena arena;
	int64_t lengths_ns[2][ORMA_DIFF_RUNS_MAX];
	struct orma_fact_column columns[ORMA_DIFF_KINDS][ORMA_DIFF_COLUMNS];
	struct orma_fact_table tables[ORMA_DIFF_KINDS];
};

/* Is shown each trace while it is loaded. 0 or a negative errno value. */
typedef int orma_diff_trace_fn(void *ctx, size_t side, int idx,
			       struct orma_trace_database *database);

/* Loads one trace after the other, and makes the tables. `fn` may be NULL. Returns ORMA_EXIT_OK, or the exit status after a
 * message. The caller calls orma_diff_tables_done() in both cases. */
int orma_diff_tables_make(const struct orma_diff_options *options, orma_diff_trace_fn *fn,
			  void *ctx, struct orma_diff_tables *ret);
void orma_diff_tables_done(struct orma_diff_tables *tables);
/* The sentence below the tables: how sure the differences are. */
const char *orma_diff_tables_end(const struct orma_diff_tables *tables,
				 char text[ORMA_DIFF_END_BYTES]);

#endif
