/* SPDX-License-Identifier: Apache-2.0
 * diff.c - loads the traces of both sides, and prints what differs.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/json_writer.h"
#include "base/macros.h"
#include "tool/ask/answer.h"
#include "tool/ask/diff_rows.h"
#include "tool/ask/fact_table.h"
#include "tool/ask/units.h"
#include "tool/print.h"
#include "tool/tool.h"
#include "tool/trace/trace_input.h"

enum { COLUMNS = 17 };

/* The columns of all kinds are the same but for their names: what names a row, the numbers of both sides, and the change. */
static const struct orma_fact_column columns[ORMA_DIFF_KINDS][COLUMNS] =
	{
		[ORMA_DIFF_SLICES] =
			{
				{"name", "name", ORMA_FACT_TEXT},
				{"category", "category", ORMA_FACT_TEXT},
				{"a_count", "A count", ORMA_FACT_NUMBER},
				{"b_count", "B count", ORMA_FACT_NUMBER},
				{"a_mean_ns", "A mean", ORMA_FACT_NS},
				{"b_mean_ns", "B mean", ORMA_FACT_NS},
				{"a_p50_ns", "A p50", ORMA_FACT_NS},
				{"b_p50_ns", "B p50", ORMA_FACT_NS},
				{"a_p99_ns", "A p99", ORMA_FACT_NS},
				{"b_p99_ns", "B p99", ORMA_FACT_NS},
				{"a_max_ns", NULL, ORMA_FACT_NS},
				{"b_max_ns", NULL, ORMA_FACT_NS},
				{"a_total_ns", NULL, ORMA_FACT_NUMBER},
				{"b_total_ns", NULL, ORMA_FACT_NUMBER},
				{NULL, "change", ORMA_FACT_NUMBER},
				{"ratio", NULL, ORMA_FACT_NUMBER},
				{"p", "p", ORMA_FACT_NUMBER},
			},
		[ORMA_DIFF_CPU] =
			{
				{"thread", "thread", ORMA_FACT_TEXT},
				{"process", "process", ORMA_FACT_TEXT},
				{"a_runs", "A runs", ORMA_FACT_NUMBER},
				{"b_runs", "B runs", ORMA_FACT_NUMBER},
				{"a_share", "A of one CPU", ORMA_FACT_SHARE},
				{"b_share", "B of one CPU", ORMA_FACT_SHARE},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{"a_total_ns", NULL, ORMA_FACT_NUMBER},
				{"b_total_ns", NULL, ORMA_FACT_NUMBER},
				{NULL, "change", ORMA_FACT_NUMBER},
				{"ratio", NULL, ORMA_FACT_NUMBER},
				{"p", "p", ORMA_FACT_NUMBER},
			},
		[ORMA_DIFF_DELAYS] =
			{
				{"thread", "thread", ORMA_FACT_TEXT},
				{"process", "process", ORMA_FACT_TEXT},
				{"a_runs", "A runs", ORMA_FACT_NUMBER},
				{"b_runs", "B runs", ORMA_FACT_NUMBER},
				{"a_mean_ns", "A mean", ORMA_FACT_NS},
				{"b_mean_ns", "B mean", ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{"a_max_ns", "A max", ORMA_FACT_NS},
				{"b_max_ns", "B max", ORMA_FACT_NS},
				{"a_total_ns", NULL, ORMA_FACT_NUMBER},
				{"b_total_ns", NULL, ORMA_FACT_NUMBER},
				{NULL, "change", ORMA_FACT_NUMBER},
				{"ratio", NULL, ORMA_FACT_NUMBER},
				{"p", "p", ORMA_FACT_NUMBER},
			},
		[ORMA_DIFF_COUNTERS] =
			{
				{"name", "counter", ORMA_FACT_TEXT},
				{"owner", "of", ORMA_FACT_TEXT},
				{"a_values", NULL, ORMA_FACT_NUMBER},
				{"b_values", NULL, ORMA_FACT_NUMBER},
				{"a_mean", "A mean", ORMA_FACT_NUMBER},
				{"b_mean", "B mean", ORMA_FACT_NUMBER},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{"a_max", "A max", ORMA_FACT_NUMBER},
				{"b_max", "B max", ORMA_FACT_NUMBER},
				{"a_growth", "A growth", ORMA_FACT_NUMBER},
				{"b_growth", "B growth", ORMA_FACT_NUMBER},
				{NULL, "change", ORMA_FACT_NUMBER},
				{"ratio", NULL, ORMA_FACT_NUMBER},
				{"p", "p", ORMA_FACT_NUMBER},
			},
};

static const struct {
	const char *key, *title;
} kinds[ORMA_DIFF_KINDS] = {
	[ORMA_DIFF_SLICES] = {"slices", "Slices, by the change of the mean times the count"},
	[ORMA_DIFF_CPU] = {"cpu", "CPU time of threads"},
	[ORMA_DIFF_DELAYS] = {"delays",
			      "Waits for a CPU, by the change of the mean times the runs"},
	[ORMA_DIFF_COUNTERS] = {"counters", "Counters, by the relative change of the mean"},
};

struct report {
	const struct orma_diff_options *options;
	struct orma_diff diff;
	struct orma_arena arena;
	int64_t lengths_ns[2][ORMA_DIFF_RUNS_MAX];
	struct orma_fact_table tables[ORMA_DIFF_KINDS];
};

/* --- facts ------------------------------------------------------------------------------------ */

static struct orma_fact length_fact(double ns)
{
	return (struct orma_fact){.is_known = isfinite(ns) && fabs(ns) < 9e18,
				  .integer = isfinite(ns) && fabs(ns) < 9e18 ? (int64_t)ns : 0};
}

static struct orma_fact number_fact(double number)
{
	return (struct orma_fact){.is_known = isfinite(number), .number = number};
}

/* "+12.5%", "x 7.30", "new", "from 0" */
static const char *describe_change(const struct orma_diff_row *row, char text[ORMA_UNIT_BYTES])
{
	double a = row->figures[0], b = row->figures[1];
	if (isnan(a) || isnan(b))
		return isnan(a) ? "new" : "gone";
	if (a == 0)
		return b == 0 ? "" : "from 0";
	if (b / a < 0)
		return "-";
	if (b / a >= 2)
		snprintf(text, ORMA_UNIT_BYTES, "x %.2f", b / a);
	else
		snprintf(text, ORMA_UNIT_BYTES, "%+.1f%%", (b / a - 1) * 100);
	return text;
}

static void put_numbers(const struct report *report, const struct orma_diff_row *row, size_t i,
			struct orma_fact *cells)
{
	const struct orma_diff_side *side = &row->sides[i];
	double runs = (double)report->diff.run_counts[i];
	bool is_length = row->kind == ORMA_DIFF_SLICES || row->kind == ORMA_DIFF_DELAYS;
	bool is_there = !isnan(row->figures[i]) || side->count > 0;
	struct orma_sample *sample = (struct orma_sample *)(uintptr_t)&side->sample;
	cells[2 + i] = number_fact(is_there ? side->count / runs : 0);
	cells[4 + i] = is_length ? length_fact(row->figures[i]) : number_fact(row->figures[i]);
	if (sample->kept > 0) {
		cells[6 + i] = orma_fact_integer(orma_sample_quantile(sample, 500));
		cells[8 + i] = orma_fact_integer(orma_sample_quantile(sample, 990));
	}
	if (is_there) {
		cells[10 + i] = is_length ? length_fact(side->max) : number_fact(side->max);
		cells[12 + i] = number_fact(side->total / runs);
	}
}

/* People read counters that have a unit in other ways. */
static int put_units(struct report *report, const struct orma_diff_row *row,
		     struct orma_fact *cells)
{
	static const size_t values[] = {4, 5, 10, 11, 12, 13};
	if (!orma_base_str_is(row->unit, "bytes"))
		return 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(values); i++) {
		char text[ORMA_UNIT_BYTES];
		if (!cells[values[i]].is_known)
			continue;
		orma_units_size(cells[values[i]].number, text);
		const char *copy = orma_base_arena_strdup(&report->arena, orma_base_str(text));
		if (!copy)
			return -ENOMEM;
		cells[values[i]].text = orma_base_str(copy);
	}
	return 0;
}

static int add_row(struct report *report, const struct orma_diff_row *row)
{
	struct orma_fact_table *table = &report->tables[row->kind];
	struct orma_fact *cells = orma_fact_table_add(table);
	char text[ORMA_UNIT_BYTES];
	if (!cells)
		return -ENOMEM;
	bool is_thread = row->kind == ORMA_DIFF_CPU || row->kind == ORMA_DIFF_DELAYS;
	cells[0] = orma_fact_text(row->name.data || is_thread ? row->name : ORMA_STR("[no name]"));
	cells[1] = orma_fact_text(row->kind == ORMA_DIFF_SLICES ? row->category : row->process);
	put_numbers(report, row, 0, cells);
	put_numbers(report, row, 1, cells);
	const char *change =
		orma_base_arena_strdup(&report->arena, orma_base_str(describe_change(row, text)));
	if (!change)
		return -ENOMEM;
	cells[14] = (struct orma_fact){.is_known = true, .text = orma_base_str(change)};
	cells[15] = number_fact(row->figures[1] / row->figures[0]);
	cells[16] = number_fact(row->p);
	if (cells[16].is_known) {
		snprintf(text, sizeof(text), "%.2g", row->p);
		cells[16].text =
			orma_base_str(orma_base_arena_strdup(&report->arena, orma_base_str(text)));
	}
	return put_units(report, row, cells);
}

/* Without several runs on both sides there is no p. */
static int make_tables(struct report *report, struct orma_fact_column kept[][COLUMNS])
{
	bool has_p = report->diff.run_counts[0] > 1 && report->diff.run_counts[1] > 1;
	int r = 0;
	for (size_t kind = 0; kind < ORMA_DIFF_KINDS; kind++) {
		memcpy(kept[kind], columns[kind], sizeof(columns[kind]));
		if (!has_p)
			kept[kind][16].title = NULL;
		report->tables[kind] = (struct orma_fact_table){.key = kinds[kind].key,
								.title = kinds[kind].title,
								.columns = kept[kind],
								.column_count = COLUMNS,
								.arena = &report->arena};
	}
	for (uint32_t i = 0; i < report->diff.row_count && r == 0; i++) {
		const struct orma_diff_row *row = report->diff.rows[i];
		uint64_t top = report->options->top;
		bool is_equal = !(row->effect > 0) &&
				!(row->sides[0].count > row->sides[1].count) &&
				!(row->sides[0].count < row->sides[1].count);
		if ((top == 0 || report->tables[row->kind].row_count < top) && !is_equal)
			r = add_row(report, row);
	}
	return r;
}

/* --- output ----------------------------------------------------------------------------------- */

static void print_side(const struct report *report, size_t side)
{
	const struct orma_diff_options *options = report->options;
	char text[ORMA_UNIT_BYTES];
	for (int i = 0; i < options->counts[side]; i++)
		orma_tool_print_line(stdout, "%c: %s, %s", side == 0 ? 'A' : 'B',
				     orma_trace_input_name(options->paths[side][i]),
				     orma_units_duration(report->lengths_ns[side][i], text));
}

static void print_page(struct report *report)
{
	struct orma_page page = orma_page_of_output();
	const size_t *runs = report->diff.run_counts;
	size_t rows = 0;
	print_side(report, 0);
	print_side(report, 1);
	for (size_t kind = 0; kind < ORMA_DIFF_KINDS; kind++) {
		orma_fact_table_print(&report->tables[kind], &page);
		rows += report->tables[kind].row_count;
	}
	orma_tool_print_line(stdout, "%s", "");
	if (rows == 0)
		orma_tool_print_line(stdout, "Nothing differs in slices, CPU time, waits for a CPU "
					     "and counters.");
	else if (runs[0] > 1 && runs[1] > 1)
		orma_tool_print_line(stdout,
				     "p is from a Mann-Whitney U test; with %zu and %zu runs it "
				     "is at least %.2g.",
				     runs[0], runs[1], orma_mann_whitney_least(runs[0], runs[1]));
	else
		orma_tool_print_line(stdout, "One run is no proof: several of each, with -- "
					     "between them, show what is chance.");
}

static int append_sides(const struct report *report, struct orma_buf *json)
{
	static const struct orma_fact_column trace_columns[] = {
		{"trace", NULL, ORMA_FACT_TEXT}, {"duration_ns", NULL, ORMA_FACT_NS}};
	int r = 0;
	for (size_t side = 0; side < 2 && r == 0; side++) {
		r = orma_json_append_key(json, side == 0 ? "a" : "b");
		if (r == 0)
			r = orma_base_buf_append_str(json, "[");
		for (int i = 0; i < report->options->counts[side] && r == 0; i++) {
			const struct orma_fact cells[] = {
				orma_fact_text(orma_base_str(report->options->paths[side][i])),
				orma_fact_integer(report->lengths_ns[side][i])};
			r = orma_fact_row_append_json(trace_columns, 2, cells, json);
		}
		if (r == 0)
			r = orma_base_buf_append_str(json, "]");
	}
	return r;
}

static int print_json(struct report *report)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf json = {0};
	int r = orma_json_begin_element(&json);
	if (r == 0)
		r = append_sides(report, &json);
	for (size_t kind = 0; kind < ORMA_DIFF_KINDS && r == 0; kind++)
		r = orma_fact_table_append_json(&report->tables[kind], &json);
	if (r == 0)
		r = orma_base_buf_append_str(&json, "}\n");
	return r == 0 ? orma_tool_write_raw(stdout, json.data, json.size) : r;
}

/* Returns ORMA_EXIT_OK, or the exit status after a message. */
static int add_trace(struct report *report, size_t side, int idx)
{
	const char *path = report->options->paths[side][idx];
	struct orma_ask *ask = orma_ask_load(path, &report->options->ask);
	if (!ask)
		return ORMA_EXIT_FAILURE;
	struct orma_trace_database *database = orma_ask_database(ask);
	report->lengths_ns[side][idx] = database->end_ns - database->start_ns;
	int r = orma_diff_add(&report->diff, side, (size_t)idx, database);
	orma_ask_free(ask);
	return r < 0 ? orma_tool_fail("%s: %s", path, strerror(-r)) : ORMA_EXIT_OK;
}

int orma_diff_run(const struct orma_diff_options *options)
{
	static struct report report;
	struct orma_fact_column kept[ORMA_DIFF_KINDS][COLUMNS];
	int status = ORMA_EXIT_OK, r = 0;
	report = (struct report){.options = options};
	(void)!getrandom(&report.diff.by_key.seed, sizeof(uint64_t), GRND_NONBLOCK);
	for (size_t side = 0; side < 2; side++)
		report.diff.run_counts[side] = (size_t)options->counts[side];
	for (size_t side = 0; side < 2; side++)
		for (int i = 0; i < options->counts[side] && status == ORMA_EXIT_OK; i++)
			status = add_trace(&report, side, i);
	if (status == ORMA_EXIT_OK) {
		orma_diff_finish(&report.diff);
		r = make_tables(&report, kept);
		if (r == 0 && options->is_json)
			r = print_json(&report);
		else if (r == 0)
			print_page(&report);
		if (r < 0 && r != -EPIPE)
			status = orma_tool_fail("%s", strerror(-r));
	}
	orma_diff_done(&report.diff);
	orma_base_arena_done(&report.arena);
	return status;
}
