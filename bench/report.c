/* SPDX-License-Identifier: Apache-2.0
 * report.c - medians and ratios, as a table for people and as JSON for programs.
 *
 * A ratio tells how many times better orma is: above 1 orma is better, whether more or less of the
 * unit is better. The spread is the distance of the quartiles in per cent of the median, for the
 * side where it is larger.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

struct bench_row *bench_report_row(struct bench_report *report, const char *block, const char *name,
				   const char *unit, bool is_less_better)
{
	struct bench_row *row;

	for (size_t i = 0; i < report->count; i++) {
		row = &report->rows[i];
		if (strcmp(row->block, block) == 0 && strcmp(row->name, name) == 0)
			return row;
	}
	if (report->count == BENCH_ROWS_MAX)
		return NULL;
	row = &report->rows[report->count++];
	*row = (struct bench_row){.is_less_better = is_less_better};
	snprintf(row->block, sizeof(row->block), "%s", block);
	snprintf(row->name, sizeof(row->name), "%s", name);
	snprintf(row->unit, sizeof(row->unit), "%s", unit);
	return row;
}

void bench_row_add(struct bench_row *row, enum bench_side side, double value)
{
	if (row && row->counts[side] < BENCH_RUNS_MAX)
		row->values[side][row->counts[side]++] = value;
}

static int compare(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Returns the value below which this share of the values lies, interpolated between two of them. */
static double quantile(const double *values, unsigned count, double share)
{
	double sorted[BENCH_RUNS_MAX], at = share * (count - 1);
	unsigned below = (unsigned)at;

	memcpy(sorted, values, count * sizeof(*values));
	qsort(sorted, count, sizeof(*sorted), compare);
	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]);
}

double bench_median(const double *values, unsigned count)
{
	return count ? quantile(values, count, 0.5) : NAN;
}

static double spread_percent(const struct bench_row *row)
{
	double worst = 0;

	for (int side = 0; side < BENCH_SIDES; side++) {
		unsigned count = row->counts[side];
		double median = bench_median(row->values[side], count);

		if (count >= 3 && median > 0)
			worst = fmax(worst, 100 *
						    (quantile(row->values[side], count, 0.75) -
						     quantile(row->values[side], count, 0.25)) /
						    median);
	}
	return worst;
}

static double ratio(const struct bench_row *row)
{
	double ours = bench_median(row->values[BENCH_ORMA], row->counts[BENCH_ORMA]);
	double theirs = bench_median(row->values[BENCH_PEER], row->counts[BENCH_PEER]);

	return row->is_less_better ? theirs / ours : ours / theirs;
}

static void print_number(double value, FILE *to)
{
	if (!isfinite(value))
		fprintf(to, " %10s", "-");
	else
		fprintf(to, " %10.*f",
			value >= 100  ? 0
			: value >= 10 ? 1
			: value >= 1  ? 2
				      : 3,
			value);
}

static void print_row(const struct bench_row *row, FILE *to)
{
	fprintf(to, "  %-44s %-6s", row->name, row->unit);
	print_number(bench_median(row->values[BENCH_ORMA], row->counts[BENCH_ORMA]), to);
	print_number(bench_median(row->values[BENCH_PEER], row->counts[BENCH_PEER]), to);
	if (isfinite(ratio(row)))
		fprintf(to, " %6.2fx", ratio(row));
	else
		fprintf(to, " %7s", "-");
	if (row->counts[BENCH_ORMA] >= 3)
		fprintf(to, " %5.0f %%", spread_percent(row));
	fprintf(to, "%s%s\n", row->note[0] ? "  " : "", row->note);
}

/* Prints the rows of a block together, in whatever order they were added. */
static void print_block(const struct bench_report *report, const char *block, FILE *to)
{
	fprintf(to, "\n%-46s %-6s %10s %10s %7s %7s\n", block, "", "orma", "perfetto", "better",
		"spread");
	for (size_t i = 0; i < report->count; i++)
		if (strcmp(report->rows[i].block, block) == 0)
			print_row(&report->rows[i], to);
}

static bool is_first_of_block(const struct bench_report *report, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (strcmp(report->rows[i].block, report->rows[row].block) == 0)
			return false;
	return true;
}

void bench_report_print(const struct bench_report *report, FILE *to)
{
	for (size_t i = 0; i < report->count; i++)
		if (is_first_of_block(report, i))
			print_block(report, report->rows[i].block, to);
}

/* Names and notes need no escapes: they are our own text, without quotes and backslashes. */
static void print_side_json(const struct bench_row *row, enum bench_side side, const char *name,
			    FILE *to)
{
	if (!row->counts[side]) {
		fprintf(to, ", \"%s\": null", name);
		return;
	}
	fprintf(to, ", \"%s\": %.6g, \"%s_runs\": [", name,
		bench_median(row->values[side], row->counts[side]), name);
	for (unsigned i = 0; i < row->counts[side]; i++)
		fprintf(to, "%s%.6g", i ? ", " : "", row->values[side][i]);
	fprintf(to, "]");
}

void bench_report_print_json(const struct bench_report *report, FILE *to)
{
	fprintf(to, "{\"rows\": [\n");
	for (size_t i = 0; i < report->count; i++) {
		const struct bench_row *row = &report->rows[i];

		fprintf(to,
			"  {\"block\": \"%s\", \"name\": \"%s\", \"unit\": \"%s\", "
			"\"less_is_better\": %s",
			row->block, row->name, row->unit, row->is_less_better ? "true" : "false");
		print_side_json(row, BENCH_ORMA, "orma", to);
		print_side_json(row, BENCH_PEER, "perfetto", to);
		if (isfinite(ratio(row)))
			fprintf(to, ", \"better\": %.4g", ratio(row));
		fprintf(to, ", \"note\": \"%s\"}%s\n", row->note, i + 1 < report->count ? "," : "");
	}
	fprintf(to, "]}\n");
}
