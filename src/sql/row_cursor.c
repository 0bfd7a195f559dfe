/* SPDX-License-Identifier: Apache-2.0
 * row_cursor.c - the cursor of a virtual table whose rows are made when a scan begins.
 */
#include "sql/row_cursor.h"

#include "base/alloc.h"

int orma_row_cursor_open(struct orma_sql *sql, size_t size, size_t column_count,
			 sqlite3_vtab_cursor **ret)
{
	struct orma_row_cursor *cursor = orma_base_zalloc(size);
	if (!cursor)
		return SQLITE_NOMEM;
	orma_row_set_init(&cursor->rows, sql, column_count);
	*ret = &cursor->base;
	return SQLITE_OK;
}

int orma_row_cursor_close(sqlite3_vtab_cursor *cursor)
{
	orma_row_set_done(&orma_row_cursor_of(cursor)->rows);
	orma_base_free(cursor);
	return SQLITE_OK;
}

int orma_row_cursor_next(sqlite3_vtab_cursor *cursor)
{
	orma_row_cursor_of(cursor)->row++;
	return SQLITE_OK;
}

int orma_row_cursor_eof(sqlite3_vtab_cursor *cursor)
{
	return orma_row_cursor_of(cursor)->row >= orma_row_cursor_of(cursor)->rows.row_count;
}

int orma_row_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct orma_row_cursor *cursor = orma_row_cursor_of(base);
	/* The columns behind those of the rows are the hidden ones that hold arguments. */
	if ((size_t)column < cursor->rows.column_count)
		orma_row_set_result(&cursor->rows, cursor->row, (size_t)column, context);
	return SQLITE_OK;
}

int orma_row_cursor_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)orma_row_cursor_of(cursor)->row;
	return SQLITE_OK;
}
