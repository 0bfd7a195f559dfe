/* SPDX-License-Identifier: Apache-2.0
 * span_plan.c - a plan is text: `value side column operator;` for each value that xFilter gets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "sql/span_vtab.h"

static const char *operator_of(unsigned char op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return "=";
	case SQLITE_INDEX_CONSTRAINT_GT:
		return ">";
	case SQLITE_INDEX_CONSTRAINT_GE:
		return ">=";
	case SQLITE_INDEX_CONSTRAINT_LT:
		return "<";
	case SQLITE_INDEX_CONSTRAINT_LE:
		return "<=";
	case SQLITE_INDEX_CONSTRAINT_GLOB:
		return "glob";
	case SQLITE_INDEX_CONSTRAINT_LIKE:
		return "like";
	default:
		return NULL;
	}
}

/*
 * The column of a side that a condition on the join's column can be checked on before joining; -1 = none. Rows without
 * which there would be shadows must stay. A span that begins too late cannot overlap in time; one that begins early can.
 */
static int pushed_column(const struct orma_span_vtab *vtab, int side, int column, unsigned char op)
{
	const struct orma_span_table *table = &vtab->tables[side];
	if (table->shows_gaps)
		return -1;
	if (column == 0)
		return op == SQLITE_INDEX_CONSTRAINT_LE || op == SQLITE_INDEX_CONSTRAINT_LT
			       ? table->ts_column
			       : -1;
	if (column == 2 && vtab->special_count == 3)
		return table->partition_column;
	if (column < vtab->special_count || vtab->places[column].side != side)
		return -1;
	return vtab->places[column].column;
}

/* The plan: for each value `side column operator`. A condition on both sides has two values. */
int orma_sql_span_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct orma_span_vtab *vtab = (const struct orma_span_vtab *)(void *)base;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf plan = {0};
	int values = 0, r = 0;
	for (int i = 0; r == 0 && i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
		const char *op = operator_of(constraint->op);
		if (!constraint->usable || !op || constraint->iColumn < 0)
			continue;
		bool is_used = false;
		for (int side = 0; r == 0 && side < 2; side++) {
			int column = pushed_column(vtab, side, constraint->iColumn, constraint->op);
			if (column < 0)
				continue;
			r = orma_base_buf_printf(&plan, "%d %d %d %s;", values, side, column, op);
			is_used = true;
		}
		if (is_used)
			info->aConstraintUsage[i].argvIndex = ++values;
	}
	const char *text = r == 0 ? orma_base_buf_cstr(&plan) : NULL;
	info->idxStr = text ? sqlite3_mprintf("%s", text) : NULL;
	info->needToFreeIdxStr = 1;
	if (!info->idxStr)
		return SQLITE_NOMEM;
	int ts = vtab->special_count == 3 ? 1 : 0;
	info->orderByConsumed = info->nOrderBy > 0 && info->nOrderBy <= ts + 1;
	for (int i = 0; i < info->nOrderBy; i++) {
		int wanted = vtab->special_count == 3 && i == 0 ? 2 : 0;
		if (info->aOrderBy[i].iColumn != wanted || info->aOrderBy[i].desc)
			info->orderByConsumed = 0;
	}
	info->estimatedCost = values > 0 ? 1e5 : 1e6;
	info->estimatedRows = values > 0 ? 1000 : 100000;
	return SQLITE_OK;
}

int orma_sql_span_apply_plan(const struct orma_span_vtab *vtab, int side, const char *plan,
			     struct orma_buf *text, sqlite3_stmt *statement, sqlite3_value **values)
{
	int r = 0, number = 0;
	for (; r == 0 && *plan; plan = strchr(plan, ';') + 1) {
		char *at;
		long value = strtol(plan, &at, 10), on = strtol(at, &at, 10);
		long column = strtol(at, &at, 10);
		const char *end = strchr(at, ';');
		if (on != side)
			continue;
		number++;
		if (statement) {
			r = sqlite3_bind_value(statement, number, values[value]) == SQLITE_OK
				    ? 0
				    : -ENOMEM;
			continue;
		}
		char *condition = sqlite3_mprintf(
			" %s \"%w\" %.*s ?%d", number == 1 ? "where" : "and",
			vtab->tables[side].columns[column].name, (int)(end - at), at, number);
		r = condition ? orma_base_buf_append_str(text, condition) : -ENOMEM;
		sqlite3_free(condition);
	}
	return r;
}
