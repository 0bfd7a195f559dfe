/* SPDX-License-Identifier: Apache-2.0
 * summary_page.c - finds all facts about a trace, and hands them out in the order of a page.
 */
#include "tool/ask/summary_facts.h"

#include <stdio.h>

#include "base/macros.h"
#include "tool/ask/units.h"

int orma_summary_find(struct orma_summary *summary)
{
	int r = orma_summary_find_counters(summary);
	if (r == 0)
		r = orma_summary_find_slices(summary);
	if (r == 0)
		r = orma_summary_find_tasks(summary);
	if (r == 0)
		r = orma_summary_find_samples(summary);
	return r == 0 ? orma_summary_find_recorded(summary) : r;
}

static void write_scheduling(struct orma_summary *summary, const struct orma_summary_sink *sink)
{
	struct orma_task_times *tasks = &summary->tasks;
	char busy[ORMA_UNIT_BYTES], half[ORMA_UNIT_BYTES], most[ORMA_UNIT_BYTES],
		count[ORMA_UNIT_BYTES], text[400];
	double length = (double)ORMA_MAX(tasks->end_ns - tasks->first_ns, (int64_t)1);
	sink->table(sink->ctx, &summary->processes);
	if (tasks->switches > 0) {
		snprintf(text, sizeof(text),
			 "The CPUs were busy for %s of the time that scheduling was recorded.",
			 orma_units_share(
				 (double)tasks->busy_ns /
					 (length * (double)ORMA_MAX(tasks->cpus, (uint64_t)1)),
				 busy));
		sink->sentence(sink->ctx, text);
	}
	sink->table(sink->ctx, &summary->threads);
	sink->table(sink->ctx, &summary->delays);
	if (tasks->delays.count > 0) {
		snprintf(text, sizeof(text),
			 "Of %s waits for a CPU, half took at most %s, and 99 of 100 at most %s.",
			 orma_units_count(tasks->delays.count, count),
			 orma_units_duration(orma_sample_quantile(&tasks->delays, 500), half),
			 orma_units_duration(orma_sample_quantile(&tasks->delays, 990), most));
		sink->sentence(sink->ctx, text);
	}
}

static void write_heap(struct orma_summary *summary, const struct orma_summary_sink *sink)
{
	const struct orma_heap_sums *heap = &summary->heap;
	char inuse[ORMA_UNIT_BYTES], objects[ORMA_UNIT_BYTES], all[ORMA_UNIT_BYTES],
		all_objects[ORMA_UNIT_BYTES], text[400];
	sink->table(sink->ctx, &summary->heap_functions);
	sink->table(sink->ctx, &summary->heap_stacks);
	if (summary->heap_stacks.row_count == 0)
		return;
	snprintf(text, sizeof(text),
		 "At the end of the recording, %s in %s %s had not been freed, of %s in %s %s.",
		 orma_units_size((double)heap->inuse_bytes, inuse),
		 orma_units_count((uint64_t)ORMA_MAX(heap->inuse_objects, (int64_t)0), objects),
		 orma_base_noun((uint64_t)heap->inuse_objects, "allocation", "allocations"),
		 orma_units_size((double)heap->allocated_bytes, all),
		 orma_units_count((uint64_t)ORMA_MAX(heap->allocated_objects, (int64_t)0),
				  all_objects),
		 orma_base_noun((uint64_t)heap->allocated_objects, "allocation", "allocations"));
	sink->sentence(sink->ctx, text);
}

/* True when the second table would repeat the first: the same names in the same order. */
static bool is_same_order(const struct orma_fact_table *a, const struct orma_fact_table *b)
{
	if (a->row_count != b->row_count)
		return false;
	for (size_t i = 0; i < a->row_count; i++)
		if (!orma_base_str_is_equal(a->cells[i * a->column_count].text,
					    b->cells[i * b->column_count].text))
			return false;
	return true;
}

static void write_waits_left_out(const struct orma_summary *summary,
				 const struct orma_summary_sink *sink)
{
	char recorded[ORMA_UNIT_BYTES], all[ORMA_UNIT_BYTES], text[400];

	if (summary->wait_count == 0)
		return;
	snprintf(text, sizeof(text),
		 "%s of %s waits were recorded. Each stands for %.1f on average, so the times are "
		 "estimates.",
		 orma_units_count(summary->recorded_waits, recorded),
		 orma_units_count(summary->wait_count, all),
		 (double)summary->wait_count /
			 (double)ORMA_MAX(summary->recorded_waits, UINT64_C(1)));
	sink->sentence(sink->ctx, text);
}

void orma_summary_write(struct orma_summary *summary, const struct orma_summary_sink *sink)
{
	orma_summary_write_recorded(summary, sink);
	sink->table(sink->ctx, &summary->by_total);
	if (!is_same_order(&summary->by_total, &summary->by_self))
		sink->table(sink->ctx, &summary->by_self);
	orma_summary_write_slowest(summary, sink);
	sink->table(sink->ctx, &summary->samples);
	sink->table(sink->ctx, &summary->waits);
	write_waits_left_out(summary, sink);
	write_heap(summary, sink);
	sink->table(sink->ctx, &summary->open);
	write_scheduling(summary, sink);
	sink->table(sink->ctx, &summary->modes);
	sink->table(sink->ctx, &summary->memory);
	sink->table(sink->ctx, &summary->counter_lines);
	if (summary->tasks.switches == 0)
		sink->paragraph(
			sink->ctx,
			"Which threads ran, waited for a CPU or were blocked is not in this "
			"trace; `sudo orma record sched` records it.");
}

void orma_summary_done(struct orma_summary *summary)
{
	orma_slice_groups_done(&summary->slices);
	orma_task_times_done(&summary->tasks);
	orma_counter_groups_done(&summary->counters);
	orma_base_arena_done(&summary->arena);
}
