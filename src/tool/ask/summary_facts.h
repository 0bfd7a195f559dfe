/* SPDX-License-Identifier: Apache-2.0
 * summary_facts.h - the parts of `orma summary`. Each part finds its facts first; then they are printed, as a page or as JSON.
 */
#ifndef ORMA_TOOL_SUMMARY_FACTS_H
#define ORMA_TOOL_SUMMARY_FACTS_H

#include "answers/counter_groups.h"
#include "answers/slice_causes.h"
#include "answers/slice_groups.h"
#include "answers/task_times.h"
#include "answers/trace_database.h"
#include "tool/ask/fact_table.h"

enum { ORMA_SUMMARY_TOP_MAX = ORMA_DELAYS_MAX };

struct orma_summary {
	const char *name; /* the trace's */
	size_t top;       /* rows of a table, at most */
	struct orma_trace_database *database;
	struct orma_page page;
	struct orma_arena arena;
	struct orma_slice_groups slices;
	struct orma_task_times tasks;
	struct orma_counter_groups counters;
	struct orma_fact_table losses, programs, by_total, by_self, open, processes, threads, modes,
		memory, delays, counter_lines, samples;
	struct orma_slow_slice {
		const struct orma_slice_group *group;
		int64_t usual_ns; /* the median of its name */
		struct orma_slice_cause cause;
	} * slowest;
	size_t slowest_count;
};

/* The facts. 0 or a negative errno value. */
int orma_summary_find_recorded(struct orma_summary *summary);
int orma_summary_find_slices(struct orma_summary *summary);
int orma_summary_find_tasks(struct orma_summary *summary);
int orma_summary_find_counters(struct orma_summary *summary);
int orma_summary_find_samples(struct orma_summary *summary);

/* The page. */
void orma_summary_print_recorded(const struct orma_summary *summary);
void orma_summary_print_slowest(struct orma_summary *summary);
/* Appends members of an object. 0 or a negative errno value. */
int orma_summary_append_recorded(const struct orma_summary *summary, struct orma_buf *json);
int orma_summary_append_slowest(struct orma_summary *summary, struct orma_buf *json);

#endif
