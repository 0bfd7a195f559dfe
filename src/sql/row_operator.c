/* SPDX-License-Identifier: Apache-2.0
 * row_operator.c - a virtual table for each operator, which needs no statement to exist.
 *
 * The rows are made when a scan begins. A join may scan an operator again and again, so they are kept while the
 * arguments stay the same.
 */
#include "sql/row_operator.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/argument_columns.h"
#include "sql/engine_state.h"
#include "sql/row_cursor.h"
#include "sql/sqlite_error.h"

struct operator_module {
	const struct orma_row_operator *operator;
	struct orma_sql *sql;
	void *ctx;
};

struct operator_table {
	sqlite3_vtab base;
	const struct operator_module *module;
};

struct operator_cursor {
	struct orma_row_cursor rows;
	/* The row sets that the rows were made of; 0 = another argument, and nothing is known. */
	uint64_t serials[ORMA_OPERATOR_ARGS_MAX];
	bool is_kept;
};

static const struct operator_module *module_of(const sqlite3_vtab *table)
{
	return ((const struct operator_table *)(const void *)table)->module;
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret,
		   char **reterr)
{
	const struct operator_module *module = aux;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	(void)argc, (void)argv, (void)reterr;
	int r = orma_base_buf_printf(&text, "create table x(%s", module->operator->columns);
	for (size_t i = 0; r == 0 && i < module->operator->arg_count; i++)
		r = orma_base_buf_printf(&text, ", \"$%zu\" hidden", i);
	if (r < 0)
		return SQLITE_NOMEM;
	r = orma_sql_argument_columns_connect(db, &text, sizeof(struct operator_table), ret);
	if (r == SQLITE_OK)
		((struct operator_table *)(void *)*ret)->module = module;
	return r;
}

static int disconnect(sqlite3_vtab *table)
{
	orma_base_free(table);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	const struct orma_row_operator *operator= module_of(table)->operator;
	info->estimatedCost = operator->rows * 10;
	info->estimatedRows = (sqlite3_int64) operator->rows;
	return orma_sql_argument_columns_plan(info, operator->column_count, operator->arg_count);
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **ret)
{
	const struct operator_module *module = module_of(table);
	return orma_row_cursor_open(module->sql, sizeof(struct operator_cursor),
				    module->operator->column_count, ret);
}

/* Tells whether the rows are there already, and remembers what they are made of. */
static bool is_same(struct operator_cursor *cursor, sqlite3_value **args, size_t count)
{
	bool is_same = cursor->is_kept;
	for (size_t i = 0; i < count; i++) {
		const struct orma_row_set *rows = args[i] ? orma_row_set_of(args[i]) : NULL;
		uint64_t serial = rows ? rows->serial : 0;
		is_same = is_same && serial != 0 && serial == cursor->serials[i];
		cursor->serials[i] = serial;
	}
	return is_same && count > 0;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
		  sqlite3_value **argv)
{
	struct operator_cursor *cursor = (struct operator_cursor *)(void *)base;
	const struct operator_module *module = module_of(base->pVtab);
	sqlite3_value *args[ORMA_OPERATOR_ARGS_MAX] = {NULL};
	struct orma_error error = {0};
	struct orma_row_call call = {
		.ctx = module->ctx, .argv = args, .ret = &cursor->rows.rows, .reterr = &error};
	int given = 0;
	(void)plan, (void)argc;
	for (size_t arg = 0; arg < module->operator->arg_count; arg++)
		if ((unsigned)number >> arg & 1) {
			args[arg] = argv[given++];
			call.argc = arg + 1;
		}
	cursor->rows.row = 0;
	if (is_same(cursor, args, call.argc))
		return SQLITE_OK;
	cursor->rows.rows.row_count = 0;
	int r = module->operator->run(&call);
	cursor->is_kept = r == 0;
	return r == 0 ? SQLITE_OK : orma_sql_vtab_refuse(base->pVtab, r, &error);
}

/* Without xCreate the table exists under the module's name only. */
static const sqlite3_module methods = {
	.iVersion = 1,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = disconnect,
	.xOpen = open_cursor,
	.xClose = orma_row_cursor_close,
	.xFilter = filter,
	.xNext = orma_row_cursor_next,
	.xEof = orma_row_cursor_eof,
	.xColumn = orma_row_cursor_column,
	.xRowid = orma_row_cursor_rowid,
};

int orma_sql_add_operator(struct orma_sql *sql, const struct orma_row_operator *operator,
			  void * ctx)
{
	struct operator_module module = {.operator= operator, .sql = sql, .ctx = ctx};
	struct operator_module *copy = orma_base_memdup(&module, sizeof(module));
	/* SQLite frees the copy when it fails, too. */
	return copy && sqlite3_create_module_v2(sql->db, operator->name, &methods, copy,
						orma_base_free) == SQLITE_OK
		       ? 0
		       : -ENOMEM;
}

const struct orma_row_set *orma_row_call_rows(const struct orma_row_call *call, size_t arg)
{
	static const struct orma_row_set none = {.column_count = 0};
	const struct orma_row_set *rows =
		arg < call->argc && call->argv[arg] ? orma_row_set_of(call->argv[arg]) : NULL;
	return rows ? rows : &none;
}
