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
		memory, delays, counter_lines, samples, waits, heap_functions, heap_stacks;
	struct orma_heap_sums {
		int64_t inuse_bytes, inuse_objects, allocated_bytes, allocated_objects;
	} heap;                              /* the sums over all processes */
	uint64_t wait_count, recorded_waits; /* where one recorded wait stands for several */
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

/*
 * Where the page goes, part by part: to a terminal, or into a file of HTML. Texts are not escaped, and are borrowed for the
 * call.
 */
struct orma_summary_sink {
	void *ctx;
	void (*heading)(void *ctx, struct orma_str text);
	/* A line about the trace as a whole; without a name it belongs to the line before. */
	void (*fact)(void *ctx, const char *name, struct orma_str text);
	/* The title of what follows: items with details, or a table, which has its own. */
	void (*title)(void *ctx, const char *text);
	void (*item)(void *ctx, const char *length, struct orma_str text);
	void (*detail)(void *ctx, struct orma_str text);
	void (*table)(void *ctx, const struct orma_fact_table *table);
	/* Belongs to the table before. */
	void (*sentence)(void *ctx, const char *text);
	void (*paragraph)(void *ctx, const char *text);
};

/* Finds all facts. 0 or a negative errno value. */
int orma_summary_find(struct orma_summary *summary);
void orma_summary_done(struct orma_summary *summary);

/* The page, whose parts these are. */
void orma_summary_write(struct orma_summary *summary, const struct orma_summary_sink *sink);
void orma_summary_write_recorded(const struct orma_summary *summary,
				 const struct orma_summary_sink *sink);
void orma_summary_write_slowest(struct orma_summary *summary, const struct orma_summary_sink *sink);
/* The page as text, to standard output. */
void orma_summary_print(struct orma_summary *summary);
/* Appends members of an object. 0 or a negative errno value. */
int orma_summary_append_recorded(const struct orma_summary *summary, struct orma_buf *json);
int orma_summary_append_slowest(struct orma_summary *summary, struct orma_buf *json);

#endif
