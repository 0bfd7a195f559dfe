/* SPDX-License-Identifier: Apache-2.0
 * diff_tables.c - loads the traces of both sides, and makes tables of what differs.
 */
#include "tool/ask/diff_tables.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/macros.h"
#include "tool/ask/units.h"
#include "tool/tool.h"

/* The columns of all kinds are the same but for their names: what names a row, the numbers of both sides, and the change. */
static const struct orma_fact_column columns[ORMA_DIFF_KINDS][ORMA_DIFF_COLUMNS] =
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
		[ORMA_DIFF_FUNCTIONS] =
			{
				{"function", "function", ORMA_FACT_TEXT},
				{"profile", "of", ORMA_FACT_TEXT},
				{NULL, NULL, ORMA_FACT_NUMBER},
				{NULL, NULL, ORMA_FACT_NUMBER},
				{"a_self", "A alone", ORMA_FACT_NUMBER},
				{"b_self", "B alone", ORMA_FACT_NUMBER},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NUMBER},
				{NULL, NULL, ORMA_FACT_NUMBER},
				{"a_total", "A with callees", ORMA_FACT_NUMBER},
				{"b_total", "B with callees", ORMA_FACT_NUMBER},
				{NULL, "change", ORMA_FACT_NUMBER},
				{"ratio", NULL, ORMA_FACT_NUMBER},
				{"p", "p", ORMA_FACT_NUMBER},
			},
		[ORMA_DIFF_HEAP] =
			{
				{"stack", "call stack", ORMA_FACT_TEXT},
				{NULL, NULL, ORMA_FACT_TEXT},
				{"a_inuse_objects", NULL, ORMA_FACT_NUMBER},
				{"b_inuse_objects", NULL, ORMA_FACT_NUMBER},
				{"a_inuse_bytes", "A in use", ORMA_FACT_NUMBER},
				{"b_inuse_bytes", "B in use", ORMA_FACT_NUMBER},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NS},
				{NULL, NULL, ORMA_FACT_NUMBER},
				{NULL, NULL, ORMA_FACT_NUMBER},
				{"a_allocated_bytes", "A allocated", ORMA_FACT_NUMBER},
				{"b_allocated_bytes", "B allocated", ORMA_FACT_NUMBER},
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
	[ORMA_DIFF_FUNCTIONS] = {"functions", "Functions of profiles, by the change of what they "
					      "cost without their callees"},
	[ORMA_DIFF_HEAP] = {"heap",
			    "Heap by call stack, the innermost function first, by the change "
			    "of the bytes in use"},
};

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

static void put_numbers(const struct orma_diff_tables *made, const struct orma_diff_row *row,
			size_t i, struct orma_fact *cells)
{
	const struct orma_diff_side *side = &row->sides[i];
	double runs = (double)made->diff.run_counts[i];
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
static int put_units(struct orma_diff_tables *made, const struct orma_diff_row *row,
		     struct orma_fact *cells)
{
	static const size_t values[] = {4, 5, 10, 11, 12, 13};
	bool is_size = orma_base_str_is(row->unit, "bytes");
	bool is_time = orma_base_str_is(row->unit, "ns") && row->kind == ORMA_DIFF_FUNCTIONS;
	if (!is_size && !is_time)
		return 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(values); i++) {
		char text[ORMA_UNIT_BYTES];
		if (!cells[values[i]].is_known)
			continue;
		if (is_size)
			orma_units_size(cells[values[i]].number, text);
		else
			orma_units_duration((int64_t)cells[values[i]].number, text);
		const char *copy = orma_base_arena_strdup(&made->arena, orma_base_str(text));
		if (!copy)
			return -ENOMEM;
		cells[values[i]].text = orma_base_str(copy);
	}
	return 0;
}

static int add_row(struct orma_diff_tables *made, const struct orma_diff_row *row)
{
	struct orma_fact_table *table = &made->tables[row->kind];
	struct orma_fact *cells = orma_fact_table_add(table);
	char text[ORMA_UNIT_BYTES];
	if (!cells)
		return -ENOMEM;
	bool is_thread = row->kind == ORMA_DIFF_CPU || row->kind == ORMA_DIFF_DELAYS;
	cells[0] = orma_fact_text(row->name.data || is_thread ? row->name : ORMA_STR("[no name]"));
	bool has_category = row->kind == ORMA_DIFF_SLICES || row->kind == ORMA_DIFF_FUNCTIONS;
	cells[1] = orma_fact_text(has_category ? row->category : row->process);
	put_numbers(made, row, 0, cells);
	put_numbers(made, row, 1, cells);
	const char *change =
		orma_base_arena_strdup(&made->arena, orma_base_str(describe_change(row, text)));
	if (!change)
		return -ENOMEM;
	cells[14] = (struct orma_fact){.is_known = true, .text = orma_base_str(change)};
	cells[15] = number_fact(row->figures[1] / row->figures[0]);
	cells[16] = number_fact(row->p);
	if (cells[16].is_known) {
		snprintf(text, sizeof(text), "%.2g", row->p);
		cells[16].text =
			orma_base_str(orma_base_arena_strdup(&made->arena, orma_base_str(text)));
	}
	return put_units(made, row, cells);
}

/* Without several runs on both sides there is no p. */
static int make_tables(struct orma_diff_tables *made)
{
	struct orma_fact_column(*kept)[ORMA_DIFF_COLUMNS] = made->columns;
	bool has_p = made->diff.run_counts[0] > 1 && made->diff.run_counts[1] > 1;
	int r = 0;
	for (size_t kind = 0; kind < ORMA_DIFF_KINDS; kind++) {
		memcpy(kept[kind], columns[kind], sizeof(columns[kind]));
		if (!has_p)
			kept[kind][16].title = NULL;
		made->tables[kind] = (struct orma_fact_table){.key = kinds[kind].key,
							      .title = kinds[kind].title,
							      .columns = kept[kind],
							      .column_count = ORMA_DIFF_COLUMNS,
							      .arena = &made->arena};
	}
	for (uint32_t i = 0; i < made->diff.row_count && r == 0; i++) {
		const struct orma_diff_row *row = made->diff.rows[i];
		uint64_t top = made->options->top;
		bool is_equal = !(row->effect > 0) &&
				!(row->sides[0].count > row->sides[1].count) &&
				!(row->sides[0].count < row->sides[1].count);
		if ((top == 0 || made->tables[row->kind].row_count < top) && !is_equal)
			r = add_row(made, row);
	}
	return r;
}

/* Returns ORMA_EXIT_OK, or the exit status after a message. */
static int add_trace(struct orma_diff_tables *made, size_t side, int idx, orma_diff_trace_fn *fn,
		     void *ctx)
{
	const char *path = made->options->paths[side][idx];
	struct orma_ask *ask = orma_ask_load(path, &made->options->ask);
	if (!ask)
		return ORMA_EXIT_FAILURE;
	struct orma_trace_database *database = orma_ask_database(ask);
	made->lengths_ns[side][idx] = database->end_ns - database->start_ns;
	int r = orma_diff_add(&made->diff, side, (size_t)idx, database);
	if (r == 0)
		r = orma_diff_add_profiles(&made->diff, side, (size_t)idx, database);
	if (r == 0 && fn)
		r = fn(ctx, side, idx, database);
	orma_ask_free(ask);
	return r < 0 ? orma_tool_fail("%s: %s", path, strerror(-r)) : ORMA_EXIT_OK;
}

int orma_diff_tables_make(const struct orma_diff_options *options, orma_diff_trace_fn *fn,
			  void *ctx, struct orma_diff_tables *ret)
{
	int status = ORMA_EXIT_OK;
	*ret = (struct orma_diff_tables){.options = options};
	(void)!getrandom(&ret->diff.by_key.seed, sizeof(uint64_t), GRND_NONBLOCK);
	for (size_t side = 0; side < 2; side++)
		ret->diff.run_counts[side] = (size_t)options->counts[side];
	for (size_t side = 0; side < 2; side++)
		for (int i = 0; i < options->counts[side] && status == ORMA_EXIT_OK; i++)
			status = add_trace(ret, side, i, fn, ctx);
	if (status != ORMA_EXIT_OK)
		return status;
	orma_diff_finish(&ret->diff);
	int r = make_tables(ret);
	return r < 0 ? orma_tool_fail("%s", strerror(-r)) : ORMA_EXIT_OK;
}

void orma_diff_tables_done(struct orma_diff_tables *tables)
{
	orma_diff_done(&tables->diff);
	orma_base_arena_done(&tables->arena);
}

const char *orma_diff_tables_end(const struct orma_diff_tables *tables,
				 char text[ORMA_DIFF_END_BYTES])
{
	const size_t *runs = tables->diff.run_counts;
	size_t rows = 0;
	for (size_t kind = 0; kind < ORMA_DIFF_KINDS; kind++)
		rows += tables->tables[kind].row_count;
	if (rows == 0)
		return "Nothing differs in slices, CPU time, waits for a CPU, counters and "
		       "profiles.";
	if (runs[0] <= 1 || runs[1] <= 1)
		return "One run is no proof: several of each, with -- between them, show what is "
		       "chance.";
	snprintf(text, ORMA_DIFF_END_BYTES,
		 "p is from a Mann-Whitney U test; with %zu and %zu runs it is at least %.2g.",
		 runs[0], runs[1], orma_mann_whitney_least(runs[0], runs[1]));
	return text;
}
