/* SPDX-License-Identifier: Apache-2.0
 * row_set.h - rows in memory, as the operators of the standard library take and return them.
 *
 * A value is an integer, a double, a text of the engine's pool, or NULL. In SQL a row set is a pointer: the aggregate
 * __intrinsic_rows(a, b, ...) makes it of all rows of a query, and an operator takes it as an argument. When the
 * query has no rows, the aggregate makes NULL.
 */
#ifndef ORMA_SQL_ROW_SET_H
#define ORMA_SQL_ROW_SET_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/big_array.h"
#include "store/pack.h"

struct orma_interrupt;
struct orma_sql;
struct orma_string_pool;

/* {.column_count, .pool, .interrupt, .budget} is empty. */
struct orma_row_set {
	size_t column_count, row_count, capacity;
	int64_t *cells; /* row by row; a text's is its id, a double's its bits */
	uint8_t *types; /* SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT or SQLITE_NULL */
	struct orma_string_pool *pool;
	struct orma_interrupt *interrupt;
	struct orma_memory_budget *budget; /* beyond it the arrays lie in files; NULL = no limit */
	struct orma_big_array cell_array, type_array;
	uint64_t serial; /* a number that no other row set of SQL has */
};

/* Makes an empty set, within the memory budget of `sql`, whose queries stop together with those of `sql`. */
void orma_row_set_init(struct orma_row_set *rows, struct orma_sql *sql, size_t column_count);
void orma_row_set_done(struct orma_row_set *rows);
/* Adds a row of NULLs. 0, -ENOMEM, -ECANCELED when the query is to stop, or an error of the file that the rows go to. */
int orma_row_set_add(struct orma_row_set *rows);
/* Adds a row of integers; ORMA_CELL_NULL is NULL. Errors as above. */
int orma_row_set_add_ints(struct orma_row_set *rows, const int64_t *cells);
/* Changes a cell of the newest row. */
void orma_row_set_put(struct orma_row_set *rows, size_t column, int type, int64_t cell);
void orma_row_set_put_int(struct orma_row_set *rows, size_t column, int64_t value);
/* Copies a value of SQL. 0, -ENOMEM, or an error of the pool. */
int orma_row_set_put_value(struct orma_row_set *rows, size_t column, sqlite3_value *value);
void orma_row_set_put_double(struct orma_row_set *rows, size_t column, double value);

static inline size_t orma_row_set_at(const struct orma_row_set *rows, size_t row, size_t column)
{
	return row * rows->column_count + column;
}
static inline bool orma_row_set_is_null(const struct orma_row_set *rows, size_t row, size_t column)
{
	return rows->types[orma_row_set_at(rows, row, column)] == SQLITE_NULL;
}
/* The value as SQL casts it: 0 for NULL and texts. */
int64_t orma_row_set_int(const struct orma_row_set *rows, size_t row, size_t column);
double orma_row_set_double(const struct orma_row_set *rows, size_t row, size_t column);
/* Orders rows by their columns [first, first + count): less than, equal to or greater than 0. The order of texts is that of their ids. */
int orma_row_set_compare(const struct orma_row_set *a, size_t a_row, const struct orma_row_set *b,
			 size_t b_row, size_t first, size_t count);

void orma_row_set_result(const struct orma_row_set *rows, size_t row, size_t column,
			 sqlite3_context *context);
/* Makes the rows, which outlive the statement's next run, its parameter. Returns a code of SQLite. */
int orma_row_set_bind(const struct orma_row_set *rows, sqlite3_stmt *statement, int parameter);
/* Returns the row set of an argument; NULL when it is something else. */
const struct orma_row_set *orma_row_set_of(sqlite3_value *value);

#endif
