/* SPDX-License-Identifier: Apache-2.0
 * result.c - values are read from SQLite without copies.
 */
#include "sql/result.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "sql/functions.h"
#include "sql/script.h"

static int read_value(sqlite3_stmt *statement, int column, struct orma_value *ret)
{
	*ret = (struct orma_value){.kind = ORMA_VALUE_NULL};
	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_INTEGER:
		ret->kind = ORMA_VALUE_INT;
		ret->integer = sqlite3_column_int64(statement, column);
		return 0;
	case SQLITE_FLOAT:
		ret->kind = ORMA_VALUE_DOUBLE;
		ret->real = sqlite3_column_double(statement, column);
		return 0;
	case SQLITE_TEXT:
		ret->kind = ORMA_VALUE_TEXT;
		break;
	case SQLITE_BLOB:
		ret->kind = ORMA_VALUE_BLOB;
		break;
	default:
		return 0;
	}
	/* As a blob, because that needs no NUL at the end, which would be a copy. */
	ret->bytes.data = sqlite3_column_blob(statement, column);
	ret->bytes.size = (size_t)sqlite3_column_bytes(statement, column);
	if (!ret->bytes.data)
		ret->bytes = ORMA_STR("");
	return 0;
}

struct row {
	struct orma_value *values;
	const char **names;
	size_t count;
};

static int run_statement(struct orma_sql_script *script, struct row *row,
			 const struct orma_result_sink *sink, struct orma_error *reterr)
{
	sqlite3_stmt *statement = orma_sql_script_statement(script);
	int r = orma_sql_script_step(script, reterr);
	bool returns_nothing =
		r > 0 && row->count == 1 &&
		sqlite3_value_pointer(sqlite3_column_value(statement, 0), ORMA_SQL_VOID);
	if (r < 0 || returns_nothing)
		return r;
	for (size_t i = 0; i < row->count; i++) {
		row->names[i] = sqlite3_column_name(statement, (int)i);
		if (!row->names[i])
			return -ENOMEM;
	}
	int refused = sink->begin(sink->ctx, row->names, row->count);
	for (; refused >= 0 && r > 0; r = orma_sql_script_step(script, reterr)) {
		for (size_t i = 0; refused >= 0 && i < row->count; i++)
			refused = read_value(statement, (int)i, &row->values[i]);
		if (refused >= 0)
			refused = sink->row(sink->ctx, row->values, row->count);
		if (refused < 0)
			break;
	}
	if (refused < 0 || r < 0)
		return refused < 0 ? refused : r;
	return sink->end(sink->ctx);
}

static int make_row(sqlite3_stmt *statement, struct row *row)
{
	size_t count = (size_t)sqlite3_column_count(statement);
	orma_base_free(row->values);
	orma_base_free(row->names);
	row->count = count;
	row->values = orma_base_alloc_array(count, sizeof(*row->values));
	row->names = orma_base_alloc_array(count, sizeof(*row->names));
	return row->values && row->names ? 0 : -ENOMEM;
}

int orma_sql_run_placed(struct orma_sql *sql, struct orma_str text,
			const struct orma_result_sink *sink, struct orma_result_place *ret_place,
			struct orma_error *reterr)
{
	struct orma_sql_script *script;
	struct row row = {.count = 0};
	*ret_place = (struct orma_result_place){0};
	int r = orma_sql_script_new(sql, text, &script);
	if (r < 0)
		return r;
	while ((r = orma_sql_script_next(script, reterr)) > 0) {
		r = make_row(orma_sql_script_statement(script), &row);
		if (r == 0)
			r = run_statement(script, &row, sink, reterr);
		if (r < 0)
			break;
	}
	orma_base_free(row.values);
	orma_base_free(row.names);
	orma_sql_script_fault(script, &ret_place->line, &ret_place->column);
	orma_sql_script_free(script);
	return r;
}

int orma_sql_run(struct orma_sql *sql, struct orma_str text, const struct orma_result_sink *sink,
		 struct orma_error *reterr)
{
	struct orma_result_place place;
	return orma_sql_run_placed(sql, text, sink, &place, reterr);
}
