/* SPDX-License-Identifier: Apache-2.0
 * summary_run.c - loads a trace, and prints its summary as a page or as JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/macros.h"
#include "tool/ask/answer.h"
#include "tool/ask/summary_facts.h"
#include "tool/print.h"
#include "tool/tool.h"
#include "tool/trace/trace_input.h"

static int append_scheduling(struct orma_summary *summary, struct orma_buf *json)
{
	static const struct orma_fact_column columns[] = {
		{"switches", NULL, ORMA_FACT_COUNT},  {"cpus", NULL, ORMA_FACT_COUNT},
		{"duration_ns", NULL, ORMA_FACT_NS},  {"busy_ns", NULL, ORMA_FACT_NS},
		{"delays", NULL, ORMA_FACT_COUNT},    {"delay_ns", NULL, ORMA_FACT_NS},
		{"delay_p50_ns", NULL, ORMA_FACT_NS}, {"delay_p99_ns", NULL, ORMA_FACT_NS},
	};
	struct orma_task_times *tasks = &summary->tasks;
	int r = orma_json_append_key(json, "scheduling");
	if (r == 0 && tasks->switches == 0)
		return orma_base_buf_append_str(json, "null");
	const struct orma_fact cells[] = {
		orma_fact_integer((int64_t)tasks->switches),
		orma_fact_integer((int64_t)tasks->cpus),
		orma_fact_integer(tasks->end_ns - tasks->first_ns),
		orma_fact_integer(tasks->busy_ns),
		orma_fact_integer((int64_t)tasks->delays.count),
		orma_fact_integer(tasks->delay_ns),
		orma_fact_integer(orma_sample_quantile(&tasks->delays, 500)),
		orma_fact_integer(orma_sample_quantile(&tasks->delays, 990)),
	};
	return r ? r : orma_fact_row_append_json(columns, ORMA_ARRAY_SIZE(columns), cells, json);
}

static int print_json(struct orma_summary *summary)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf json = {0};
	const struct orma_fact_table *tables[] = {
		&summary->by_total,    &summary->by_self, &summary->open,
		&summary->processes,   &summary->threads, &summary->delays,
		&summary->modes,       &summary->memory,  &summary->counter_lines,
		&summary->samples,     &summary->waits,   &summary->heap_functions,
		&summary->heap_stacks,
	};
	int r = orma_json_begin_element(&json);
	if (r == 0)
		r = orma_summary_append_recorded(summary, &json);
	if (r == 0)
		r = orma_summary_append_slowest(summary, &json);
	if (r == 0)
		r = append_scheduling(summary, &json);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(tables) && r == 0; i++)
		r = orma_fact_table_append_json(tables[i], &json);
	if (r == 0)
		r = orma_base_buf_append_str(&json, "}\n");
	return r == 0 ? orma_tool_write_raw(stdout, json.data, json.size) : r;
}

/* The name of the first trace, and how many there are. */
static const char *name_of(const char *const *paths, size_t count, char *buffer, size_t size)
{
	const char *first = orma_trace_input_name(paths[0]);
	if (count == 1)
		return first;
	snprintf(buffer, size, "%.200s and %zu more %s", first, count - 1,
		 orma_base_noun(count - 1, "trace", "traces"));
	return buffer;
}

int orma_summary_run(const struct orma_summary_options *options, const char *const *paths,
		     size_t count)
{
	char name[256];
	struct orma_ask *ask = orma_ask_load_all(paths, count, &options->ask);
	if (!ask)
		return ORMA_EXIT_FAILURE;
	struct orma_summary summary = {.name = name_of(paths, count, name, sizeof(name)),
				       .top = (size_t)options->top,
				       .database = orma_ask_database(ask)};
	int r = orma_summary_find(&summary);
	if (r == 0 && options->is_json)
		r = print_json(&summary);
	else if (r == 0)
		orma_summary_print(&summary);
	orma_summary_done(&summary);
	orma_ask_free(ask);
	return r < 0 && r != -EPIPE ? orma_tool_fail("%s: %s", summary.name, strerror(-r))
				    : ORMA_EXIT_OK;
}
