/* SPDX-License-Identifier: Apache-2.0
 * relation_plan.c - a plan is text: for each term its operator and column, for each order `a` or `d` and its column.
 *
 * SQLite need not check a condition again (omit) when the scan decides it exactly. That is so for numbers, whatever the
 * other side is. For texts it is so only if the other side is a text as well, which only literals tell while planning:
 * a number on the other side may mean that SQLite compares the text as a number.
 *
 * Costs are in units of one row that SQLite steps over. A scan looks at a row for a tenth of that or less.
 */
#include "sql/relation_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macros.h"
#include "sql/index.h"
#include "sql/relation.h"

struct planning {
	const struct orma_relation *relation;
	sqlite3_index_info *info;
	struct orma_plan plan;
	double rows;       /* that come out */
	double candidates; /* that have to be looked at */
	bool is_exact;     /* SQLite checks nothing again */
	bool is_unique;
};

static bool op_of(unsigned char op, enum orma_plan_op *ret)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		*ret = ORMA_PLAN_EQUAL;
		return true;
	case SQLITE_INDEX_CONSTRAINT_GT:
		*ret = ORMA_PLAN_GREATER;
		return true;
	case SQLITE_INDEX_CONSTRAINT_LE:
		*ret = ORMA_PLAN_LESS_OR_EQUAL;
		return true;
	case SQLITE_INDEX_CONSTRAINT_LT:
		*ret = ORMA_PLAN_LESS;
		return true;
	case SQLITE_INDEX_CONSTRAINT_GE:
		*ret = ORMA_PLAN_GREATER_OR_EQUAL;
		return true;
	case SQLITE_INDEX_CONSTRAINT_NE:
		*ret = ORMA_PLAN_NOT_EQUAL;
		return true;
	case SQLITE_INDEX_CONSTRAINT_IS:
		*ret = ORMA_PLAN_IS;
		return true;
	case SQLITE_INDEX_CONSTRAINT_ISNOT:
		*ret = ORMA_PLAN_IS_NOT;
		return true;
	case SQLITE_INDEX_CONSTRAINT_ISNULL:
		*ret = ORMA_PLAN_IS_NULL;
		return true;
	case SQLITE_INDEX_CONSTRAINT_ISNOTNULL:
		*ret = ORMA_PLAN_NOT_NULL;
		return true;
	case SQLITE_INDEX_CONSTRAINT_GLOB:
		*ret = ORMA_PLAN_GLOB;
		return true;
	case SQLITE_INDEX_CONSTRAINT_LIKE:
		*ret = ORMA_PLAN_LIKE;
		return true;
	case SQLITE_INDEX_CONSTRAINT_REGEXP:
		*ret = ORMA_PLAN_REGEXP;
		return true;
	default:
		return false;
	}
}

static bool is_pattern(enum orma_plan_op op)
{
	return op == ORMA_PLAN_GLOB || op == ORMA_PLAN_LIKE || op == ORMA_PLAN_REGEXP;
}

/* The value on the other side, when it is a literal; else NULL. */
static sqlite3_value *literal_of(const struct planning *planning, int constraint_idx)
{
	sqlite3_value *value = NULL;
	if (sqlite3_vtab_rhs_value(planning->info, constraint_idx, &value) != SQLITE_OK)
		return NULL;
	return value;
}

static bool is_exact(const struct planning *planning, int constraint_idx, enum orma_plan_op op,
		     const struct orma_relation_column *column)
{
	if (column->type != ORMA_COLUMN_STRING || is_pattern(op) || op == ORMA_PLAN_IS_NULL ||
	    op == ORMA_PLAN_NOT_NULL)
		return true;
	sqlite3_value *literal = op == ORMA_PLAN_IN ? NULL : literal_of(planning, constraint_idx);
	return literal && sqlite3_value_type(literal) == SQLITE_TEXT;
}

/* How many rows a range of a sorted column leaves, of `rows`. */
static double rows_of_range(const struct planning *planning, int constraint_idx,
			    enum orma_plan_op op, size_t column_idx, double rows)
{
	sqlite3_value *literal = literal_of(planning, constraint_idx);
	if (!literal || sqlite3_value_numeric_type(literal) != SQLITE_INTEGER)
		return rows / 4;
	double below = (double)orma_sql_relation_lower_bound(planning->relation, column_idx,
							     sqlite3_value_int64(literal));
	double all = (double)orma_sql_relation_rows(planning->relation);
	bool is_below = op == ORMA_PLAN_LESS || op == ORMA_PLAN_LESS_OR_EQUAL;
	double share = all > 0 ? (is_below ? below : all - below) / all : 0;
	return rows * share;
}

/* Rows with one value of the column. */
static double rows_of_value(const struct planning *planning, int constraint_idx, size_t column_idx)
{
	const struct orma_relation *relation = planning->relation;
	const struct orma_index *index = relation->columns[column_idx].index;
	sqlite3_value *literal = literal_of(planning, constraint_idx);
	if (index && literal && sqlite3_value_type(literal) == SQLITE_INTEGER) {
		const uint32_t *rows;
		return (double)orma_sql_index_find(index, sqlite3_value_int64(literal), &rows);
	}
	return (double)orma_sql_relation_rows(relation) /
	       (double)orma_sql_relation_distinct(relation, column_idx);
}

static void estimate(struct planning *planning, int constraint_idx, enum orma_plan_op op,
		     size_t column_idx)
{
	const struct orma_relation_column *column = &planning->relation->columns[column_idx];
	double all = ORMA_MAX((double)orma_sql_relation_rows(planning->relation), 1.0);
	bool is_sorted = orma_sql_relation_is_sorted(column);
	switch (op) {
	case ORMA_PLAN_EQUAL:
	case ORMA_PLAN_IS: {
		double rows = rows_of_value(planning, constraint_idx, column_idx);
		planning->rows *= rows / all;
		/* The column has an index, or gets one when this is repeated. */
		if (is_sorted || column->type != ORMA_COLUMN_DOUBLE)
			planning->candidates = ORMA_MIN(planning->candidates, rows);
		planning->is_unique |= column->flags & ORMA_RELATION_DISTINCT_ROWS;
		break;
	}
	case ORMA_PLAN_IN: {
		double rows = 10 * rows_of_value(planning, constraint_idx, column_idx);
		planning->rows *= ORMA_MIN(rows / all, 0.9);
		if (column->flags & ORMA_RELATION_ROW)
			planning->candidates = ORMA_MIN(planning->candidates, rows);
		break;
	}
	case ORMA_PLAN_LESS:
	case ORMA_PLAN_LESS_OR_EQUAL:
	case ORMA_PLAN_GREATER:
	case ORMA_PLAN_GREATER_OR_EQUAL:
		if (is_sorted) {
			planning->rows = rows_of_range(planning, constraint_idx, op, column_idx,
						       planning->rows);
			planning->candidates = rows_of_range(planning, constraint_idx, op,
							     column_idx, planning->candidates);
		} else {
			planning->rows /= 3;
		}
		break;
	case ORMA_PLAN_IS_NULL:
		planning->rows /= 8;
		break;
	case ORMA_PLAN_GLOB:
	case ORMA_PLAN_LIKE:
	case ORMA_PLAN_REGEXP:
		planning->rows /= 6;
		break;
	default:
		break;
	}
}

/* True when rows of the relation are compared as SQLite would compare them here. */
static bool is_comparable(const struct planning *planning, int constraint_idx, enum orma_plan_op op,
			  const struct orma_relation_column *column)
{
	if (column->type != ORMA_COLUMN_STRING)
		return !is_pattern(op);
	const char *collation = sqlite3_vtab_collation(planning->info, constraint_idx);
	return is_pattern(op) || op == ORMA_PLAN_IS_NULL || op == ORMA_PLAN_NOT_NULL ||
	       sqlite3_stricmp(collation, "BINARY") == 0;
}

static bool add_term(struct planning *planning, int constraint_idx, enum orma_plan_op op,
		     size_t column_idx, bool omits)
{
	struct orma_plan *plan = &planning->plan;
	if (plan->term_count == ORMA_PLAN_TERMS_MAX)
		return false;
	plan->terms[plan->term_count++] =
		(struct orma_plan_term){.op = op, .column_idx = column_idx};
	struct sqlite3_index_constraint_usage *usage =
		&planning->info->aConstraintUsage[constraint_idx];
	usage->argvIndex = (int)plan->term_count;
	usage->omit = omits;
	return true;
}

static void plan_condition(struct planning *planning, int constraint_idx)
{
	const struct sqlite3_index_constraint *constraint =
		&planning->info->aConstraint[constraint_idx];
	size_t column_idx = constraint->iColumn < 0 ? 0 : (size_t)constraint->iColumn;
	const struct orma_relation_column *column = &planning->relation->columns[column_idx];
	enum orma_plan_op op;
	if (constraint->op == SQLITE_INDEX_CONSTRAINT_LIMIT ||
	    constraint->op == SQLITE_INDEX_CONSTRAINT_OFFSET)
		return;
	planning->is_exact = planning->is_exact && constraint->usable;
	if (!constraint->usable)
		return;
	if (!op_of(constraint->op, &op) || !is_comparable(planning, constraint_idx, op, column)) {
		planning->is_exact = false;
		return;
	}
	if (op == ORMA_PLAN_EQUAL && sqlite3_vtab_in(planning->info, constraint_idx, -1)) {
		sqlite3_vtab_in(planning->info, constraint_idx, 1);
		op = ORMA_PLAN_IN;
	}
	bool omits = is_exact(planning, constraint_idx, op, column);
	if (!add_term(planning, constraint_idx, op, column_idx, omits)) {
		planning->is_exact = false;
		return;
	}
	planning->is_exact = planning->is_exact && omits;
	estimate(planning, constraint_idx, op, column_idx);
}

/* True when rows that come in the order of their numbers, or backwards, are in the order that is asked for. */
static bool is_row_order(const struct planning *planning, bool *ret_descending)
{
	const sqlite3_index_info *info = planning->info;
	for (int i = 0; i < info->nOrderBy; i++) {
		size_t column_idx =
			info->aOrderBy[i].iColumn < 0 ? 0 : (size_t)info->aOrderBy[i].iColumn;
		const struct orma_relation_column *column =
			&planning->relation->columns[column_idx];
		bool is_descending = info->aOrderBy[i].desc != 0;
		if (!(column->flags & ORMA_COLUMN_SORTED) || column->type != ORMA_COLUMN_INT ||
		    (i > 0 && is_descending != *ret_descending))
			return false;
		*ret_descending = is_descending;
		if (column->flags & ORMA_RELATION_ROW)
			return true;
	}
	return true;
}

static void plan_order(struct planning *planning)
{
	sqlite3_index_info *info = planning->info;
	struct orma_plan *plan = &planning->plan;
	bool is_descending = false;
	if (info->nOrderBy == 0)
		return;
	if (is_row_order(planning, &is_descending)) {
		plan->is_descending = is_descending;
		info->orderByConsumed = 1;
		return;
	}
	/* Distinct rows without an order are in that of their first occurrence, which sorting would lose. */
	enum { DISTINCT_ONLY = 2 };
	if (info->nOrderBy > ORMA_PLAN_ORDERS_MAX ||
	    sqlite3_vtab_distinct(planning->info) == DISTINCT_ONLY ||
	    orma_sql_relation_rows(planning->relation) >= UINT32_MAX)
		return;
	for (int i = 0; i < info->nOrderBy; i++)
		plan->orders[plan->order_count++] = (struct orma_plan_order){
			.column_idx = info->aOrderBy[i].iColumn < 0
					      ? 0
					      : (size_t)info->aOrderBy[i].iColumn,
			.is_descending = info->aOrderBy[i].desc != 0,
		};
	info->orderByConsumed = 1;
}

/*
 * The limit helps where rows are sorted, and SQLite still counts. It must not be used while SQLite drops rows after us,
 * or sorts them.
 */
static void plan_limit(struct planning *planning)
{
	sqlite3_index_info *info = planning->info;
	if (!planning->is_exact || planning->plan.order_count == 0)
		return;
	for (int i = 0; i < info->nConstraint; i++) {
		if (!info->aConstraint[i].usable)
			continue;
		if (info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_LIMIT)
			add_term(planning, i, ORMA_PLAN_LIMIT, 0, false);
		else if (info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_OFFSET)
			add_term(planning, i, ORMA_PLAN_OFFSET, 0, false);
	}
}

static char *write_plan(const struct orma_plan *plan)
{
	enum { ITEM_BYTES = 12 };
	size_t size = (plan->term_count + plan->order_count + 2) * ITEM_BYTES, at = 0;
	char *text = sqlite3_malloc64(size);
	if (!text)
		return NULL;
	for (size_t i = 0; i < plan->term_count; i++)
		at += (size_t)snprintf(text + at, size - at, "%c%zu ", (char)plan->terms[i].op,
				       plan->terms[i].column_idx);
	for (size_t i = 0; i < plan->order_count; i++)
		at += (size_t)snprintf(text + at, size - at, "%c%zu ",
				       plan->orders[i].is_descending ? 'd' : 'a',
				       plan->orders[i].column_idx);
	snprintf(text + at, size - at, "%s", plan->is_descending ? "D" : "");
	return text;
}

void orma_sql_plan_read(const char *text, struct orma_plan *ret)
{
	*ret = (struct orma_plan){.is_descending = false};
	while (*text) {
		char op = *text++;
		if (op == 'D') {
			ret->is_descending = true;
			return;
		}
		char *end;
		size_t column_idx = strtoul(text, &end, 10);
		text = *end == ' ' ? end + 1 : end;
		if (op == 'a' || op == 'd')
			ret->orders[ret->order_count++] = (struct orma_plan_order){
				.column_idx = column_idx, .is_descending = op == 'd'};
		else
			ret->terms[ret->term_count++] = (struct orma_plan_term){
				.op = (enum orma_plan_op)op, .column_idx = column_idx};
	}
}

static void write_costs(const struct planning *planning)
{
	sqlite3_index_info *info = planning->info;
	double rows = ORMA_MAX(planning->rows, 1.0);
	double sorting = planning->plan.order_count > 0 ? rows : 0;
	info->estimatedCost = 2 + planning->candidates / 10 + rows + sorting;
	info->estimatedRows = rows < 1e15 ? (sqlite3_int64)rows : (sqlite3_int64)1e15;
	if (planning->is_unique) {
		info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
		info->estimatedRows = 1;
	}
}

int orma_sql_plan_make(const struct orma_relation *relation, sqlite3_index_info *info)
{
	double all = (double)orma_sql_relation_rows(relation);
	struct planning planning = {.relation = relation,
				    .info = info,
				    .rows = all,
				    .candidates = all,
				    .is_exact = true};
	for (int i = 0; i < info->nConstraint; i++)
		plan_condition(&planning, i);
	plan_order(&planning);
	plan_limit(&planning);
	write_costs(&planning);
	info->idxStr = write_plan(&planning.plan);
	info->needToFreeIdxStr = 1;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}
