/* SPDX-License-Identifier: Apache-2.0
 * row_set.c - an array of cells and one of types, and the aggregate that fills them.
 */
#include "sql/row_set.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/functions.h"
#include "sql/row_operator.h"
#include "sql/sqlite_error.h"

#define ROW_SET "orma rows"

enum { ROWS_BETWEEN_CHECKS = 1024 };

void orma_row_set_init(struct orma_row_set *rows, struct orma_sql *sql, size_t column_count)
{
	*rows = (struct orma_row_set){.column_count = column_count,
				      .pool = sql->options.pool,
				      .interrupt = &sql->interrupt,
				      .budget = sql->options.budget};
}

void orma_row_set_done(struct orma_row_set *rows)
{
	orma_store_big_array_done(&rows->cell_array);
	orma_store_big_array_done(&rows->type_array);
	rows->cells = NULL;
	rows->types = NULL;
	rows->row_count = rows->capacity = 0;
}

static int grow(struct orma_row_set *rows)
{
	size_t capacity = rows->capacity > 0 ? rows->capacity * 2 : 8;
	size_t width = ORMA_MAX(rows->column_count, (size_t)1), count, bytes;
	if (__builtin_mul_overflow(capacity, width, &count) ||
	    __builtin_mul_overflow(count, sizeof(*rows->cells), &bytes))
		return -ENOMEM;
	rows->cell_array.budget = rows->type_array.budget = rows->budget;
	int r = orma_store_big_array_grow(&rows->cell_array, bytes);
	rows->cells = rows->cell_array.data;
	if (r == 0)
		r = orma_store_big_array_grow(&rows->type_array, count);
	rows->types = rows->type_array.data;
	if (r == 0)
		rows->capacity = capacity;
	return r;
}

int orma_row_set_add(struct orma_row_set *rows)
{
	if (rows->row_count % ROWS_BETWEEN_CHECKS == 0 && rows->interrupt &&
	    orma_sql_is_interrupted(rows->interrupt))
		return -ECANCELED;
	int r = rows->row_count == rows->capacity ? grow(rows) : 0;
	if (r < 0)
		return r;
	size_t at = orma_row_set_at(rows, rows->row_count++, 0);
	memset(&rows->types[at], SQLITE_NULL, rows->column_count);
	return 0;
}

int orma_row_set_add_ints(struct orma_row_set *rows, const int64_t *cells)
{
	int r = orma_row_set_add(rows);
	for (size_t i = 0; r == 0 && i < rows->column_count; i++)
		if (cells[i] != ORMA_CELL_NULL)
			orma_row_set_put_int(rows, i, cells[i]);
	return r;
}

void orma_row_set_put(struct orma_row_set *rows, size_t column, int type, int64_t cell)
{
	size_t at = orma_row_set_at(rows, rows->row_count - 1, column);
	ORMA_ASSERT(column < rows->column_count);
	rows->cells[at] = cell;
	rows->types[at] = (uint8_t)type;
}

void orma_row_set_put_int(struct orma_row_set *rows, size_t column, int64_t value)
{
	orma_row_set_put(rows, column, SQLITE_INTEGER, value);
}

void orma_row_set_put_double(struct orma_row_set *rows, size_t column, double value)
{
	int64_t cell;
	memcpy(&cell, &value, sizeof(cell));
	orma_row_set_put(rows, column, SQLITE_FLOAT, cell);
}

int64_t orma_row_set_int(const struct orma_row_set *rows, size_t row, size_t column)
{
	size_t at = orma_row_set_at(rows, row, column);
	if (rows->types[at] == SQLITE_INTEGER)
		return rows->cells[at];
	double value = orma_row_set_double(rows, row, column);
	if (value >= 9223372036854775807.0)
		return INT64_MAX;
	return value <= -9223372036854775808.0 ? INT64_MIN : (int64_t)value;
}

double orma_row_set_double(const struct orma_row_set *rows, size_t row, size_t column)
{
	size_t at = orma_row_set_at(rows, row, column);
	double value = 0;
	if (rows->types[at] == SQLITE_INTEGER)
		value = (double)rows->cells[at];
	else if (rows->types[at] == SQLITE_FLOAT)
		memcpy(&value, &rows->cells[at], sizeof(value));
	return value;
}

int orma_row_set_compare(const struct orma_row_set *a, size_t a_row, const struct orma_row_set *b,
			 size_t b_row, size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++) {
		size_t at = orma_row_set_at(a, a_row, i), other = orma_row_set_at(b, b_row, i);
		if (a->types[at] != b->types[other])
			return a->types[at] < b->types[other] ? -1 : 1;
		if (a->types[at] != SQLITE_NULL && a->cells[at] != b->cells[other])
			return a->cells[at] < b->cells[other] ? -1 : 1;
	}
	return 0;
}

void orma_row_set_result(const struct orma_row_set *rows, size_t row, size_t column,
			 sqlite3_context *context)
{
	size_t at = orma_row_set_at(rows, row, column);
	struct orma_str text;
	switch (rows->types[at]) {
	case SQLITE_INTEGER:
		sqlite3_result_int64(context, rows->cells[at]);
		break;
	case SQLITE_FLOAT:
		sqlite3_result_double(context, orma_row_set_double(rows, row, column));
		break;
	case SQLITE_TEXT:
		text = orma_store_pool_get(rows->pool, (uint32_t)rows->cells[at]);
		sqlite3_result_text64(context, text.data, text.size, SQLITE_STATIC, SQLITE_UTF8);
		break;
	default:
		break;
	}
}

const struct orma_row_set *orma_row_set_of(sqlite3_value *value)
{
	return sqlite3_value_pointer(value, ROW_SET);
}

int orma_row_set_bind(const struct orma_row_set *rows, sqlite3_stmt *statement, int parameter)
{
	return sqlite3_bind_pointer(statement, parameter, (void *)(uintptr_t)rows, ROW_SET, NULL);
}

static void free_rows(void *rows)
{
	orma_row_set_done(rows);
	orma_base_free(rows);
}

int orma_row_set_put_value(struct orma_row_set *rows, size_t column, sqlite3_value *value)
{
	struct orma_str text;
	uint32_t id;
	int r;
	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		orma_row_set_put_int(rows, column, sqlite3_value_int64(value));
		break;
	case SQLITE_FLOAT:
		orma_row_set_put_double(rows, column, sqlite3_value_double(value));
		break;
	case SQLITE_TEXT:
		text = orma_sql_text_of(value);
		if (!text.data)
			return -ENOMEM;
		r = orma_store_pool_add(rows->pool, text, &id);
		if (r < 0)
			return r;
		orma_row_set_put(rows, column, SQLITE_TEXT, id);
		break;
	default:
		break;
	}
	return 0;
}

static void rows_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct orma_sql *sql = sqlite3_user_data(context);
	struct orma_row_set **slot = sqlite3_aggregate_context(context, sizeof(*slot));
	if (slot && !*slot) {
		*slot = orma_base_zalloc(sizeof(**slot));
		if (*slot)
			orma_row_set_init(*slot, sql, (size_t)argc);
	}
	if (!slot || !*slot) {
		sqlite3_result_error_nomem(context);
		return;
	}
	struct orma_row_set *rows = *slot;
	int r = orma_row_set_add(rows);
	for (int i = 0; i < argc && r == 0; i++)
		r = orma_row_set_put_value(rows, (size_t)i, argv[i]);
	if (r < 0)
		orma_sql_result_refuse(context, r, NULL);
}

static void rows_final(sqlite3_context *context)
{
	struct orma_sql *sql = sqlite3_user_data(context);
	struct orma_row_set **slot = sqlite3_aggregate_context(context, 0);
	if (!slot || !*slot)
		return;
	(*slot)->serial = ++sql->row_set_count;
	sqlite3_result_pointer(context, ORMA_TAKE(*slot), ROW_SET, free_rows);
}

int orma_sql_add_row_sets(struct orma_sql *sql)
{
	return sqlite3_create_function_v2(sql->db, "__intrinsic_rows", -1, SQLITE_UTF8, sql, NULL,
					  rows_step, rows_final, NULL) == SQLITE_OK
		       ? 0
		       : -ENOMEM;
}
