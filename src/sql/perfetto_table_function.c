/* SPDX-License-Identifier: Apache-2.0
 * perfetto_table_function.c - `from f(x)`: a table whose hidden columns are the arguments, and whose rows are those of
 * the body.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/argument_columns.h"
#include "sql/engine_state.h"
#include "sql/perfetto_define.h"
#include "sql/perfetto_function.h"
#include "sql/sqlite_error.h"

enum { ARGUMENTS_MAX = 30 };

struct function_table {
	sqlite3_vtab base;
	struct orma_sql_function *function;
};

struct function_cursor {
	sqlite3_vtab_cursor base;
	sqlite3_stmt *statement; /* taken; NULL = not started */
	bool is_end;
	int64_t row;
};

static struct orma_sql_function *function_of(sqlite3_vtab_cursor *cursor)
{
	return ((struct function_table *)(void *)cursor->pVtab)->function;
}

static const char *type_of(enum orma_perfetto_type type)
{
	switch (type) {
	case ORMA_PERFETTO_LONG:
	case ORMA_PERFETTO_BOOL:
		return "bigint";
	case ORMA_PERFETTO_DOUBLE:
		return "double";
	case ORMA_PERFETTO_STRING:
		return "text";
	default:
		return "";
	}
}

static int table_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **ret, char **reterr)
{
	struct orma_sql_function *function = aux;
	const struct orma_perfetto_statement *prototype = &function->prototype;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	(void)argc, (void)argv, (void)reterr;
	int r = orma_base_buf_append_str(&text, "create table x(");
	for (size_t i = 0; r == 0 && i < prototype->result_column_count; i++)
		r = orma_base_buf_printf(&text, "%s\"%s\" %s", i > 0 ? ", " : "",
					 prototype->result_columns[i].name,
					 type_of(prototype->result_columns[i].type));
	/* A `$` keeps an argument apart from a column of its name. */
	for (size_t i = 0; r == 0 && i < prototype->column_count; i++)
		r = orma_base_buf_printf(&text, ", \"$%s\" hidden", prototype->columns[i].name);
	if (r < 0)
		return SQLITE_NOMEM;
	r = orma_sql_argument_columns_connect(db, &text, sizeof(struct function_table), ret);
	if (r == SQLITE_OK)
		((struct function_table *)(void *)*ret)->function = function;
	return r;
}

static int table_disconnect(sqlite3_vtab *vtab)
{
	orma_base_free(vtab);
	return SQLITE_OK;
}

static int table_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	const struct orma_perfetto_statement *prototype =
		&((struct function_table *)(void *)vtab)->function->prototype;
	info->estimatedCost = 1000;
	info->estimatedRows = 100;
	return orma_sql_argument_columns_plan(info, prototype->result_column_count,
					      prototype->column_count);
}

static int cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret)
{
	(void)vtab;
	struct function_cursor *cursor = orma_base_zalloc(sizeof(*cursor));
	if (!cursor)
		return SQLITE_NOMEM;
	*ret = &cursor->base;
	return SQLITE_OK;
}

static void end_rows(struct function_cursor *cursor)
{
	if (cursor->statement)
		orma_sql_function_put(function_of(&cursor->base), ORMA_TAKE(cursor->statement));
	cursor->is_end = true;
}

static int cursor_close(sqlite3_vtab_cursor *base)
{
	end_rows((struct function_cursor *)(void *)base);
	orma_base_free(base);
	return SQLITE_OK;
}

static int refuse(sqlite3_vtab_cursor *cursor, int r, const struct orma_error *error)
{
	end_rows((struct function_cursor *)(void *)cursor);
	return orma_sql_vtab_refuse(cursor->pVtab, r, error);
}

static int cursor_next(sqlite3_vtab_cursor *base)
{
	struct function_cursor *cursor = (struct function_cursor *)(void *)base;
	struct orma_sql_function *function = function_of(base);
	int code = sqlite3_step(cursor->statement);
	cursor->row++;
	if (code == SQLITE_ROW)
		return SQLITE_OK;
	struct orma_error error = {0};
	int r = code == SQLITE_DONE ? 0 : orma_sql_describe(function->sql, code, &error);
	if (r < 0)
		return refuse(base, r, &error);
	end_rows(cursor);
	return SQLITE_OK;
}

static int check_columns(const struct orma_sql_function *function, sqlite3_stmt *statement,
			 struct orma_error *reterr)
{
	size_t count = (size_t)sqlite3_column_count(statement);
	if (count == function->prototype.result_column_count)
		return 0;
	return orma_base_error_set(
		reterr, -EINVAL, "%s: the body has %zu %s, but RETURNS TABLE declares %zu",
		function->prototype.name, count, orma_base_noun(count, "column", "columns"),
		function->prototype.result_column_count);
}

static int cursor_filter(sqlite3_vtab_cursor *base, int given, const char *plan, int argc,
			 sqlite3_value **argv)
{
	struct function_cursor *cursor = (struct function_cursor *)(void *)base;
	struct orma_sql_function *function = function_of(base);
	struct orma_error error = {0};
	size_t count = function->prototype.column_count;
	(void)plan;
	end_rows(cursor);
	cursor->is_end = false;
	cursor->row = -1;
	int r = (size_t)argc == count
			? orma_sql_function_take(function, argc, argv, &cursor->statement, &error)
			: orma_base_error_set(&error, -EINVAL, "%s: takes %zu %s, not %d",
					      function->prototype.name, count,
					      orma_base_noun(count, "argument", "arguments"), argc);
	(void)given;
	if (r == 0)
		r = check_columns(function, cursor->statement, &error);
	return r < 0 ? refuse(base, r, &error) : cursor_next(base);
}

static int cursor_eof(sqlite3_vtab_cursor *base)
{
	return ((struct function_cursor *)(void *)base)->is_end;
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct function_cursor *cursor = (const struct function_cursor *)(void *)base;
	if ((size_t)column < function_of(base)->prototype.result_column_count)
		sqlite3_result_value(context, sqlite3_column_value(cursor->statement, column));
	return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = ((struct function_cursor *)(void *)base)->row;
	return SQLITE_OK;
}

static const sqlite3_module methods = {
	.iVersion = 1,
	.xConnect = table_connect,
	.xBestIndex = table_best_index,
	.xDisconnect = table_disconnect,
	.xOpen = cursor_open,
	.xClose = cursor_close,
	.xFilter = cursor_filter,
	.xNext = cursor_next,
	.xEof = cursor_eof,
	.xColumn = cursor_column,
	.xRowid = cursor_rowid,
};

static bool exists(const struct orma_sql *sql, const char *name)
{
	const struct orma_sql_function *function = sql->functions;
	while (function && (!function->prototype.returns_table ||
			    sqlite3_stricmp(function->prototype.name, name) != 0))
		function = function->next;
	return function != NULL;
}

int orma_sql_create_table_function(struct orma_sql *sql,
				   const struct orma_perfetto_statement *statement,
				   struct orma_error *reterr)
{
	struct orma_sql_function *function;
	sql->fault = statement->name_place;
	if (!statement->replaces && exists(sql, statement->name))
		return orma_base_error_set(reterr, -EINVAL, "function %s already exists",
					   statement->name);
	if (statement->column_count > ARGUMENTS_MAX || statement->is_variadic)
		return orma_base_error_set(
			reterr, -EINVAL,
			"%s: a function that returns a table takes at most %d arguments",
			statement->name, ARGUMENTS_MAX);
	int r = orma_sql_function_new(sql, statement, &function);
	if (r < 0)
		return r;
	/* This frees the function also when it fails. */
	int code = sqlite3_create_module_v2(sql->db, statement->name, &methods, function,
					    orma_sql_function_free);
	return code == SQLITE_OK ? 0 : orma_sql_describe(sql, code, reterr);
}
