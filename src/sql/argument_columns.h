/* SPDX-License-Identifier: Apache-2.0
 * argument_columns.h - tables that take arguments, `from f(x)`: each argument is a hidden column behind those of the rows,
 * and SQLite hands it over as a condition `column = x`.
 */
#ifndef ORMA_SQL_ARGUMENT_COLUMNS_H
#define ORMA_SQL_ARGUMENT_COLUMNS_H

#include <sqlite3.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * Declares the table whose text, `create table x(a, b`, misses its closing parenthesis only, and allocates it: `size` bytes,
 * of which the first are the sqlite3_vtab, the rest 0. The caller frees it with orma_base_free(). Returns SQLite's codes.
 */
int orma_sql_argument_columns_connect(sqlite3 *db, struct orma_buf *text, size_t size,
				      sqlite3_vtab **ret);
/*
 * Plans a scan: all arguments have to be known before there are rows. The plan's number has a bit for each argument that
 * is given, and their values reach xFilter in their order. There are at most 31. Returns SQLite's codes.
 */
int orma_sql_argument_columns_plan(sqlite3_index_info *info, size_t column_count, size_t arg_count);

#endif
