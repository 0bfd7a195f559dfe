/* SPDX-License-Identifier: Apache-2.0
 * percentile.c - median(y), percentile(y, p), percentile_cont(y, p) and percentile_disc(y, p), which Trace Processor has from an
 * extension of SQLite that Debian's library lacks.
 *
 * The values of a group are an array, which is sorted when the result is wanted. In a window it stays sorted from then on, so that each
 * step moves a part of it. Rejected: an estimate in bounded memory, because others' results are exact and are compared with ours.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/functions.h"

enum { FIRST_CAPACITY = 64 };

struct function {
	const char *name;
	int arg_count;
	double scale; /* the largest fraction */
	bool is_discrete;
};

static const struct function functions[] = {
	{"median", 1, 1, false},
	{"percentile", 2, 100, false},
	{"percentile_cont", 2, 1, false},
	{"percentile_disc", 2, 1, true},
};

struct values {
	double *items;
	size_t count, capacity;
	double fraction; /* 0 to 1 */
	bool has_fraction, is_sorted, stays_sorted;
};

static void refuse(sqlite3_context *context, const char *message)
{
	const struct function *function = sqlite3_user_data(context);
	char *text = sqlite3_mprintf("%s: %s", function->name, message);
	if (text)
		sqlite3_result_error(context, text, -1);
	else
		sqlite3_result_error_nomem(context);
	sqlite3_free(text);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* Finds the first of the sorted values that is not less. */
static size_t find(const struct values *values, double value)
{
	size_t low = 0, high = values->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (values->items[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add(struct values *values, double value)
{
	if (values->count == values->capacity) {
		size_t capacity = ORMA_MAX(values->capacity * 2, (size_t)FIRST_CAPACITY);
		double *items = orma_base_realloc_array(values->items, capacity, sizeof(*items));
		if (!items)
			return -ENOMEM;
		values->items = items;
		values->capacity = capacity;
	}
	size_t place = values->stays_sorted ? find(values, value) : values->count;
	memmove(values->items + place + 1, values->items + place,
		(values->count - place) * sizeof(*values->items));
	values->items[place] = value;
	values->count++;
	values->is_sorted = values->stays_sorted;
	return 0;
}

static void sort(struct values *values)
{
	if (!values->is_sorted && values->count > 1)
		qsort(values->items, values->count, sizeof(*values->items), compare);
	values->is_sorted = true;
}

/* Reads the fraction, which is the same in all rows. False after an error. */
static bool read_fraction(sqlite3_context *context, struct values *values, int argc,
			  sqlite3_value **argv)
{
	const struct function *function = sqlite3_user_data(context);
	double fraction = 0.5;
	if (argc == 2) {
		int type = sqlite3_value_numeric_type(argv[1]);
		fraction = sqlite3_value_double(argv[1]) / function->scale;
		if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !(fraction >= 0) ||
		    fraction > 1) {
			refuse(context, function->scale > 1
						? "the second argument must be from 0 to 100"
						: "the second argument must be from 0 to 1");
			return false;
		}
	}
	if (values->has_fraction && fraction != values->fraction) {
		refuse(context, "the second argument must be the same in all rows");
		return false;
	}
	values->has_fraction = true;
	values->fraction = fraction;
	return true;
}

/* Reads a number. False for NULL, which does not count, and after an error. */
static bool read_number(sqlite3_context *context, sqlite3_value *value, double *ret)
{
	int type = sqlite3_value_type(value);
	*ret = sqlite3_value_double(value);
	if (type == SQLITE_NULL)
		return false;
	if ((type == SQLITE_INTEGER || type == SQLITE_FLOAT) && isfinite(*ret))
		return true;
	refuse(context, "the values must be finite numbers");
	return false;
}

static void step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct values *values = sqlite3_aggregate_context(context, sizeof(*values));
	double number;
	if (!values) {
		sqlite3_result_error_nomem(context);
		return;
	}
	if (read_fraction(context, values, argc, argv) && read_number(context, argv[0], &number) &&
	    add(values, number) < 0)
		sqlite3_result_error_nomem(context);
}

/* A value leaves the window. */
static void inverse(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct values *values = sqlite3_aggregate_context(context, sizeof(*values));
	double number;
	(void)argc;
	if (!values || !read_number(context, argv[0], &number))
		return;
	sort(values);
	values->stays_sorted = true;
	size_t place = find(values, number);
	if (place == values->count)
		return;
	values->count--;
	memmove(values->items + place, values->items + place + 1,
		(values->count - place) * sizeof(*values->items));
}

static void value(sqlite3_context *context)
{
	const struct function *function = sqlite3_user_data(context);
	struct values *values = sqlite3_aggregate_context(context, 0);
	if (!values || values->count == 0)
		return;
	sort(values);
	double place = values->fraction * (double)(values->count - 1);
	size_t below = (size_t)place;
	double result = values->items[below];
	if (!function->is_discrete && below + 1 < values->count)
		result += (values->items[below + 1] - result) * (place - (double)below);
	sqlite3_result_double(context, result);
}

static void final(sqlite3_context *context)
{
	struct values *values = sqlite3_aggregate_context(context, 0);
	value(context);
	if (values) {
		orma_base_free(values->items);
		*values = (struct values){0};
	}
}

int orma_sql_add_percentiles(struct orma_sql *sql)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(functions); i++)
		if (sqlite3_create_window_function(
			    sql->db, functions[i].name, functions[i].arg_count,
			    SQLITE_UTF8 | SQLITE_INNOCUOUS, (void *)&functions[i], step, final,
			    value, inverse, NULL) != SQLITE_OK)
			return -ENOMEM;
	return 0;
}
