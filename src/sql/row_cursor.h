/* SPDX-License-Identifier: Apache-2.0
 * row_cursor.h - the cursor of a virtual table whose rows are made when a scan begins.
 *
 * A table's own cursor begins with struct orma_row_cursor. Its xFilter sets `row` to 0 and fills `rows`; the functions below
 * are the table's other methods.
 */
#ifndef ORMA_SQL_ROW_CURSOR_H
#define ORMA_SQL_ROW_CURSOR_H

#include "sql/row_set.h"

struct orma_sql;

struct orma_row_cursor {
	sqlite3_vtab_cursor base;
	struct orma_row_set rows;
	size_t row;
};

static inline struct orma_row_cursor *orma_row_cursor_of(sqlite3_vtab_cursor *cursor)
{
	return (struct orma_row_cursor *)(void *)cursor;
}

/* Makes a cursor of `size` bytes, which orma_row_cursor_close() frees. Returns a code of SQLite. */
int orma_row_cursor_open(struct orma_sql *sql, size_t size, size_t column_count,
			 sqlite3_vtab_cursor **ret);
int orma_row_cursor_close(sqlite3_vtab_cursor *cursor);
int orma_row_cursor_next(sqlite3_vtab_cursor *cursor);
int orma_row_cursor_eof(sqlite3_vtab_cursor *cursor);
int orma_row_cursor_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column);
int orma_row_cursor_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret);

#endif
