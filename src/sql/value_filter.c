/* SPDX-License-Identifier: Apache-2.0
 * value_filter.c - SQLite's rules of comparison, made into ranges of cells.
 *
 * A column of numbers makes SQLite compare the other side as a number if it looks like one. Otherwise texts are larger
 * than all numbers. Integers and doubles are compared by their exact values, so a bound that is not a value of the
 * column's type moves to the nearest one inside.
 */
#include "sql/value_filter.h"

#include <errno.h>
#include <math.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/relation.h"
#include "sql/text_match.h"

static void set_none(struct orma_filter *filter)
{
	filter->kind = ORMA_FILTER_NONE;
}

static void set_range(struct orma_filter *filter, int64_t low, int64_t high)
{
	filter->kind = low <= high ? ORMA_FILTER_RANGE : ORMA_FILTER_NONE;
	filter->low = low;
	filter->high = high;
}

/* The other side is larger than all cells, or smaller. */
static void set_beyond(struct orma_filter *filter, enum orma_plan_op op, bool is_larger)
{
	bool wants_less = op == ORMA_PLAN_LESS || op == ORMA_PLAN_LESS_OR_EQUAL;
	bool wants_more = op == ORMA_PLAN_GREATER || op == ORMA_PLAN_GREATER_OR_EQUAL;
	if (op == ORMA_PLAN_IS_NOT)
		filter->kind = ORMA_FILTER_ALL;
	else if (op == ORMA_PLAN_NOT_EQUAL || (is_larger ? wants_less : wants_more))
		filter->kind = ORMA_FILTER_NOT_NULL;
	else
		set_none(filter);
}

static void compare_int(struct orma_filter *filter, enum orma_plan_op op, int64_t value)
{
	filter->low = value;
	switch (op) {
	case ORMA_PLAN_LESS:
		if (value == INT64_MIN)
			set_none(filter);
		else
			set_range(filter, INT64_MIN, value - 1);
		break;
	case ORMA_PLAN_LESS_OR_EQUAL:
		set_range(filter, INT64_MIN, value);
		break;
	case ORMA_PLAN_GREATER:
		if (value == INT64_MAX)
			set_none(filter);
		else
			set_range(filter, value + 1, INT64_MAX);
		break;
	case ORMA_PLAN_GREATER_OR_EQUAL:
		set_range(filter, value, INT64_MAX);
		break;
	case ORMA_PLAN_NOT_EQUAL:
		filter->kind = ORMA_FILTER_NOT_EQUAL;
		break;
	case ORMA_PLAN_IS_NOT:
		filter->kind = ORMA_FILTER_OTHER;
		break;
	default:
		set_range(filter, value, value);
		break;
	}
}

static void compare_int_with_double(struct orma_filter *filter, enum orma_plan_op op, double value)
{
	if (value >= 0x1p63 || value < -0x1p63) {
		set_beyond(filter, op, value > 0);
		return;
	}
	double below = floor(value);
	if (below == value) {
		compare_int(filter, op, (int64_t)value);
		return;
	}
	/* It lies between two integers. */
	if (op == ORMA_PLAN_LESS || op == ORMA_PLAN_LESS_OR_EQUAL)
		set_range(filter, INT64_MIN, (int64_t)below);
	else if (op == ORMA_PLAN_GREATER || op == ORMA_PLAN_GREATER_OR_EQUAL)
		set_range(filter, (int64_t)below + 1, INT64_MAX);
	else
		set_beyond(filter, op, true);
}

static void compare_double(struct orma_filter *filter, enum orma_plan_op op, double value)
{
	filter->kind = ORMA_FILTER_DOUBLE;
	filter->double_low = -INFINITY;
	filter->double_high = INFINITY;
	switch (op) {
	case ORMA_PLAN_LESS:
		filter->double_high = nextafter(value, -INFINITY);
		if (value == -INFINITY)
			set_none(filter);
		break;
	case ORMA_PLAN_LESS_OR_EQUAL:
		filter->double_high = value;
		break;
	case ORMA_PLAN_GREATER:
		filter->double_low = nextafter(value, INFINITY);
		if (value == INFINITY)
			set_none(filter);
		break;
	case ORMA_PLAN_GREATER_OR_EQUAL:
		filter->double_low = value;
		break;
	case ORMA_PLAN_NOT_EQUAL:
		filter->kind = ORMA_FILTER_DOUBLE_NOT_EQUAL;
		filter->double_low = value;
		break;
	case ORMA_PLAN_IS_NOT:
		filter->kind = ORMA_FILTER_DOUBLE_OTHER;
		filter->double_low = value;
		break;
	default:
		filter->double_low = filter->double_high = value;
		break;
	}
}

static void compare_double_with_int(struct orma_filter *filter, enum orma_plan_op op, int64_t value)
{
	double near = (double)value;
	bool is_below = near < 0x1p63 && (int64_t)near < value;
	bool is_exact = near < 0x1p63 && (int64_t)near == value;
	if (is_exact) {
		compare_double(filter, op, near);
		return;
	}
	/* No double lies between `near` and the value. */
	if (op == ORMA_PLAN_LESS || op == ORMA_PLAN_LESS_OR_EQUAL)
		compare_double(filter, is_below ? ORMA_PLAN_LESS_OR_EQUAL : ORMA_PLAN_LESS, near);
	else if (op == ORMA_PLAN_GREATER || op == ORMA_PLAN_GREATER_OR_EQUAL)
		compare_double(filter, is_below ? ORMA_PLAN_GREATER : ORMA_PLAN_GREATER_OR_EQUAL,
			       near);
	else
		set_beyond(filter, op, true);
}

static void compare_number(const struct orma_relation_column *column, struct orma_filter *filter,
			   enum orma_plan_op op, sqlite3_value *value)
{
	bool is_double = column->type == ORMA_COLUMN_DOUBLE;
	switch (sqlite3_value_numeric_type(value)) {
	case SQLITE_INTEGER:
		(is_double ? compare_double_with_int : compare_int)(filter, op,
								    sqlite3_value_int64(value));
		break;
	case SQLITE_FLOAT:
		(is_double ? compare_double : compare_int_with_double)(filter, op,
								       sqlite3_value_double(value));
		break;
	default:
		set_beyond(filter, op, true);
		break;
	}
}

static struct orma_str text_of(sqlite3_value *value)
{
	const char *data = (const char *)sqlite3_value_text(value);
	return (struct orma_str){data, data ? (size_t)sqlite3_value_bytes(value) : 0};
}

static int match_text(const struct orma_relation *relation, struct orma_filter *filter,
		      enum orma_text_match_kind kind, sqlite3_value *value,
		      struct orma_error *reterr)
{
	struct orma_str text = text_of(value);
	if (!text.data)
		return -ENOMEM;
	filter->kind = ORMA_FILTER_TEXT;
	return orma_sql_text_match_new(kind, text, relation->pool, &filter->match, reterr);
}

static int compare_text(const struct orma_relation *relation, struct orma_filter *filter,
			enum orma_plan_op op, sqlite3_value *value, struct orma_error *reterr)
{
	/* SQLite checks the rows again. */
	if (sqlite3_value_type(value) != SQLITE_TEXT) {
		filter->kind = ORMA_FILTER_ALL;
		return 0;
	}
	switch (op) {
	case ORMA_PLAN_LESS:
		return match_text(relation, filter, ORMA_MATCH_LESS, value, reterr);
	case ORMA_PLAN_LESS_OR_EQUAL:
		return match_text(relation, filter, ORMA_MATCH_LESS_OR_EQUAL, value, reterr);
	case ORMA_PLAN_GREATER:
		return match_text(relation, filter, ORMA_MATCH_GREATER, value, reterr);
	case ORMA_PLAN_GREATER_OR_EQUAL:
		return match_text(relation, filter, ORMA_MATCH_GREATER_OR_EQUAL, value, reterr);
	default:
		break;
	}
	struct orma_str text = text_of(value);
	if (!text.data)
		return -ENOMEM;
	uint32_t id = orma_store_pool_find(relation->pool, text);
	if (id == 0)
		set_beyond(filter, op, true);
	else
		compare_int(filter, op, id);
	return 0;
}

int orma_sql_value_cell(const struct orma_relation *relation, size_t column_idx,
			sqlite3_value *value, int64_t *ret)
{
	const struct orma_relation_column *column = &relation->columns[column_idx];
	if (sqlite3_value_type(value) == SQLITE_NULL)
		return 0;
	struct orma_filter equal = {.is_double = column->type == ORMA_COLUMN_DOUBLE};
	if (column->type == ORMA_COLUMN_STRING) {
		if (sqlite3_value_type(value) != SQLITE_TEXT)
			return -ENOTSUP;
		int r = compare_text(relation, &equal, ORMA_PLAN_EQUAL, value, NULL);
		if (r < 0)
			return r;
	} else {
		compare_number(column, &equal, ORMA_PLAN_EQUAL, value);
	}
	if (equal.kind == ORMA_FILTER_NONE)
		return 0;
	*ret = equal.kind == ORMA_FILTER_RANGE
		       ? equal.low
		       : orma_store_cell_of_double(equal.double_low == 0 ? 0 : equal.double_low);
	return 1;
}

static int use_values(const struct orma_relation *relation, struct orma_filter *filter,
		      sqlite3_value *list)
{
	int64_t *set = NULL;
	size_t count = 0, capacity = 0;
	sqlite3_value *value = NULL;
	int r = sqlite3_vtab_in_first(list, &value);
	for (; r == SQLITE_OK && value; r = sqlite3_vtab_in_next(list, &value)) {
		if (count == capacity) {
			capacity = ORMA_MAX(capacity * 2, (size_t)16);
			int64_t *bigger = orma_base_realloc_array(set, capacity, sizeof(*set));
			if (!bigger) {
				orma_base_free(set);
				return -ENOMEM;
			}
			set = bigger;
		}
		int found = orma_sql_value_cell(relation, filter->column_idx, value, &set[count]);
		if (found < 0) {
			orma_base_free(set);
			filter->kind = ORMA_FILTER_ALL;
			return found == -ENOTSUP ? 0 : found;
		}
		count += (size_t)found;
	}
	if (r != SQLITE_OK && r != SQLITE_DONE) {
		orma_base_free(set);
		return r == SQLITE_NOMEM ? -ENOMEM : -EINVAL;
	}
	if (!set) {
		set_none(filter);
		return 0;
	}
	return orma_sql_filter_use_set(filter, set, count);
}

int orma_sql_value_filter(const struct orma_relation *relation, const struct orma_plan_term *term,
			  sqlite3_value *value, struct orma_filter *ret, struct orma_error *reterr)
{
	const struct orma_relation_column *column = &relation->columns[term->column_idx];
	*ret = (struct orma_filter){.column_idx = term->column_idx,
				    .is_double = column->type == ORMA_COLUMN_DOUBLE};
	if (term->op == ORMA_PLAN_IN)
		return use_values(relation, ret, value);
	bool is_null = sqlite3_value_type(value) == SQLITE_NULL;
	if (term->op == ORMA_PLAN_IS_NULL || (term->op == ORMA_PLAN_IS && is_null)) {
		ret->kind = ORMA_FILTER_IS_NULL;
		return 0;
	}
	if (term->op == ORMA_PLAN_NOT_NULL || (term->op == ORMA_PLAN_IS_NOT && is_null)) {
		ret->kind = ORMA_FILTER_NOT_NULL;
		return 0;
	}
	if (is_null) {
		set_none(ret);
		return 0;
	}
	switch (term->op) {
	case ORMA_PLAN_GLOB:
		return match_text(relation, ret, ORMA_MATCH_GLOB, value, reterr);
	case ORMA_PLAN_LIKE:
		return match_text(relation, ret, ORMA_MATCH_LIKE, value, reterr);
	case ORMA_PLAN_REGEXP:
		return match_text(relation, ret, ORMA_MATCH_REGEXP, value, reterr);
	default:
		break;
	}
	if (column->type == ORMA_COLUMN_STRING)
		return compare_text(relation, ret, term->op, value, reterr);
	compare_number(column, ret, term->op, value);
	return 0;
}
