/* SPDX-License-Identifier: Apache-2.0
 * top_table.c - filters and sorts rows, and writes their figures.
 *
 * The figures are those of the last interval, or with is_total those of all time. A row that had no event in the time that
 * the sparklines show is left out, unless it lost something.
 */
#include "tool/top/top_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "tool/ask/units.h"

const char *const orma_top_by_names[ORMA_TOP_BY_KINDS] = {
	[ORMA_TOP_BY_NAME] = "name",         [ORMA_TOP_BY_THREAD] = "thread",
	[ORMA_TOP_BY_CATEGORY] = "category", [ORMA_TOP_BY_CPU] = "cpu",
	[ORMA_TOP_BY_COUNTER] = "counter",   [ORMA_TOP_BY_PRODUCER] = "producer",
};

const char *const orma_top_column_names[ORMA_TOP_COLUMNS] = {
	[ORMA_TOP_COLUMN_NAME] = "name",   [ORMA_TOP_COLUMN_RATE] = "rate",
	[ORMA_TOP_COLUMN_AVERAGE] = "avg", [ORMA_TOP_COLUMN_P50] = "p50",
	[ORMA_TOP_COLUMN_P99] = "p99",     [ORMA_TOP_COLUMN_MAX] = "max",
	[ORMA_TOP_COLUMN_SELF] = "self",   [ORMA_TOP_COLUMN_LOST] = "lost",
};

void orma_top_table_done(struct orma_top_table *table)
{
	orma_base_free(table->cells);
	*table = (struct orma_top_table){0};
}

/* The names of other languages have to be written alike. */
static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c;
}

bool orma_top_name_fits(const char *name, const char *pattern)
{
	for (;; name++) {
		size_t i = 0;
		while (pattern[i] && lower(name[i]) == lower(pattern[i]))
			i++;
		if (!pattern[i])
			return true;
		if (!*name)
			return false;
	}
}

const struct orma_top_histogram *orma_top_shown_histogram(const struct orma_top_row *row,
							  bool is_total)
{
	if (!row->values)
		return NULL;
	return is_total ? &row->values->all : &row->values->last;
}

static void fill(struct orma_top_cells *cells, const struct orma_top_row *row,
		 const struct orma_top_choice *choice, double seconds)
{
	const struct orma_top_figures *figures = choice->is_total ? &row->all : &row->last;
	const struct orma_top_histogram *values = orma_top_shown_histogram(row, choice->is_total);
	bool is_counter = choice->by == ORMA_TOP_BY_COUNTER;
	double unit = is_counter ? 1000 : 1; /* see add_counter() in top_decoder.c */
	*cells = (struct orma_top_cells){
		.row = row, .events = figures->events, .lost = figures->lost};
	cells->rate = seconds > 0 ? (double)figures->events / seconds : 0;
	cells->self = is_counter    ? figures->last_value
		      : seconds > 0 ? figures->self_ns / (seconds * 1e9)
				    : 0;
	if (!values || values->count == 0)
		return;
	cells->measured = values->count;
	cells->average = orma_top_histogram_average(values) / unit;
	cells->p50 = (double)orma_top_histogram_quantile(values, 0.5) / unit;
	cells->p99 = (double)orma_top_histogram_quantile(values, 0.99) / unit;
	cells->max = (double)values->max / unit;
}

static bool is_shown(const struct orma_top_row *row, const struct orma_top_choice *choice)
{
	bool is_quiet = row->quiet >= ORMA_TOP_PAST || (row->is_other && row->all.events == 0);
	bool has_time = row->last.self_ns > 0;
	if (is_quiet && !has_time && !(choice->is_total && row->all.events > 0))
		return false;
	return orma_top_name_fits(row->name, choice->filter);
}

static double sort_value(const struct orma_top_cells *cells, enum orma_top_column column)
{
	switch (column) {
	case ORMA_TOP_COLUMN_AVERAGE:
		return cells->average;
	case ORMA_TOP_COLUMN_P50:
		return cells->p50;
	case ORMA_TOP_COLUMN_P99:
		return cells->p99;
	case ORMA_TOP_COLUMN_MAX:
		return cells->max;
	case ORMA_TOP_COLUMN_SELF:
		return cells->self;
	case ORMA_TOP_COLUMN_LOST:
		return (double)cells->lost;
	default:
		return cells->rate;
	}
}

/* The largest first, and names in their order. */
static int compare(const void *a, const void *b, void *ctx)
{
	const struct orma_top_cells *left = a, *right = b;
	const struct orma_top_choice *choice = ctx;
	int names = strcmp(left->row->name, right->row->name);
	if (choice->sort == ORMA_TOP_COLUMN_NAME)
		return choice->is_inverted ? -names : names;
	double x = sort_value(left, choice->sort), y = sort_value(right, choice->sort);
	if (x != y)
		return (x < y) == !choice->is_inverted ? 1 : -1;
	return names;
}

int orma_top_table_make(struct orma_top_table *table, const struct orma_top_decoder *decoder,
			const struct orma_top_choice *choice, double seconds)
{
	const struct orma_top_rows *rows = &decoder->rows;
	table->count = 0;
	if (table->capacity < rows->count) {
		struct orma_top_cells *cells =
			orma_base_realloc_array(table->cells, rows->max, sizeof(*cells));
		if (!cells)
			return -ENOMEM;
		table->cells = cells;
		table->capacity = rows->max;
	}
	for (size_t i = 0; i < rows->count; i++)
		if (is_shown(rows->all[i], choice))
			fill(&table->cells[table->count++], rows->all[i], choice, seconds);
	if (table->count > 1)
		qsort_r(table->cells, table->count, sizeof(*table->cells), compare,
			(void *)(uintptr_t)choice);
	return 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

static const char *number_text(double number, enum orma_top_by by, char buffer[ORMA_TOP_CELL_BYTES])
{
	return by == ORMA_TOP_BY_COUNTER ? orma_units_number(number, buffer)
					 : orma_units_duration((int64_t)number, buffer);
}

const char *orma_top_cell_text(const struct orma_top_cells *cells, enum orma_top_by by,
			       enum orma_top_column column, char buffer[ORMA_TOP_CELL_BYTES])
{
	const bool is_counter = by == ORMA_TOP_BY_COUNTER;
	_Static_assert((int)ORMA_TOP_CELL_BYTES == (int)ORMA_UNIT_BYTES, "units.h writes so many");
	switch (column) {
	case ORMA_TOP_COLUMN_RATE:
		snprintf(buffer, ORMA_TOP_CELL_BYTES, cells->rate < 99.95 ? "%.1f" : "%.0f",
			 cells->rate);
		return buffer;
	case ORMA_TOP_COLUMN_SELF:
		if (is_counter)
			return orma_units_number(cells->self, buffer);
		snprintf(buffer, ORMA_TOP_CELL_BYTES, "%.1f", cells->self * 100);
		return buffer;
	case ORMA_TOP_COLUMN_LOST:
		return orma_units_count(cells->lost, buffer);
	case ORMA_TOP_COLUMN_NAME:
		return cells->row->name;
	default:
		break;
	}
	if (cells->measured == 0)
		return "-";
	return number_text(sort_value(cells, column), by, buffer);
}

const char *orma_top_column_head(enum orma_top_by by, enum orma_top_column column)
{
	static const char *const heads[ORMA_TOP_COLUMNS] = {
		[ORMA_TOP_COLUMN_NAME] = "NAME",   [ORMA_TOP_COLUMN_RATE] = "RATE/s",
		[ORMA_TOP_COLUMN_AVERAGE] = "AVG", [ORMA_TOP_COLUMN_P50] = "P50",
		[ORMA_TOP_COLUMN_P99] = "P99",     [ORMA_TOP_COLUMN_MAX] = "MAX",
		[ORMA_TOP_COLUMN_SELF] = "SELF%",  [ORMA_TOP_COLUMN_LOST] = "LOST",
	};
	static const char *const names[ORMA_TOP_BY_KINDS] = {
		[ORMA_TOP_BY_NAME] = "NAME",         [ORMA_TOP_BY_THREAD] = "THREAD",
		[ORMA_TOP_BY_CATEGORY] = "CATEGORY", [ORMA_TOP_BY_CPU] = "CPU",
		[ORMA_TOP_BY_COUNTER] = "COUNTER",   [ORMA_TOP_BY_PRODUCER] = "PRODUCER",
	};
	if (column == ORMA_TOP_COLUMN_NAME)
		return names[by];
	if (column == ORMA_TOP_COLUMN_SELF && by == ORMA_TOP_BY_COUNTER)
		return "VALUE";
	if (column == ORMA_TOP_COLUMN_SELF && by == ORMA_TOP_BY_CPU)
		return "BUSY%";
	return heads[column];
}
