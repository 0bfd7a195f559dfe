/* SPDX-License-Identifier: Apache-2.0
 * argument_columns.c - what the tables of functions and of operators share.
 */
#include "sql/argument_columns.h"

#include "base/alloc.h"

int orma_sql_argument_columns_connect(sqlite3 *db, struct orma_buf *text, size_t size,
				      sqlite3_vtab **ret)
{
	const char *sql = orma_base_buf_append(text, ")", 1) == 0 ? orma_base_buf_cstr(text) : NULL;
	sqlite3_vtab *table = sql ? orma_base_zalloc(size) : NULL;
	if (!table)
		return SQLITE_NOMEM;
	int code = sqlite3_declare_vtab(db, sql);
	if (code != SQLITE_OK) {
		orma_base_free(table);
		return code;
	}
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	*ret = table;
	return SQLITE_OK;
}

int orma_sql_argument_columns_plan(sqlite3_index_info *info, size_t column_count, size_t arg_count)
{
	int constraint_of[32], args = 0;
	unsigned given = 0;
	for (int i = 0; i < info->nConstraint; i++) {
		int arg = info->aConstraint[i].iColumn - (int)column_count;
		if (arg < 0 || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (!info->aConstraint[i].usable)
			return SQLITE_CONSTRAINT;
		constraint_of[arg] = i;
		given |= 1u << arg;
	}
	for (size_t arg = 0; arg < arg_count; arg++) {
		if (!(given >> arg & 1))
			continue;
		info->aConstraintUsage[constraint_of[arg]].argvIndex = ++args;
		info->aConstraintUsage[constraint_of[arg]].omit = 1;
	}
	info->idxNum = (int)given;
	return SQLITE_OK;
}
