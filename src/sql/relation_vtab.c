/* SPDX-License-Identifier: Apache-2.0
 * relation_vtab.c - what SQLite calls, in terms of plans and cursors.
 */
#include "sql/relation_vtab.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "sql/relation_cursor.h"
#include "sql/relation_plan.h"
#include "sql/sqlite_error.h"

struct module {
	struct orma_relation *relation; /* NULL = `find` finds it by the name of the table */
	orma_relation_find_fn find;
	orma_relation_drop_fn drop;
	void *ctx;
	struct orma_interrupt *interrupt;
};

struct table {
	sqlite3_vtab base;
	const struct module *module;
	struct orma_relation *relation;
	struct orma_interrupt *interrupt;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct orma_relation_cursor rows;
};

static const char *type_name(enum orma_column_type type)
{
	if (type == ORMA_COLUMN_STRING)
		return "TEXT";
	return type == ORMA_COLUMN_DOUBLE ? "DOUBLE" : "BIGINT";
}

/* Appends a name in double quotes. */
static int append_name(struct orma_buf *buf, const char *name)
{
	int r = orma_base_buf_append(buf, "\"", 1);
	for (; r == 0 && *name; name++) {
		r = orma_base_buf_append(buf, name, 1);
		if (r == 0 && *name == '"')
			r = orma_base_buf_append(buf, name, 1);
	}
	return r == 0 ? orma_base_buf_append(buf, "\"", 1) : r;
}

static int declare(sqlite3 *db, const struct orma_relation *relation)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	int r = orma_base_buf_append_str(&text, "create table x(");
	for (size_t i = 0; r == 0 && i < relation->column_count; i++) {
		const struct orma_relation_column *column = &relation->columns[i];
		r = orma_base_buf_append_str(&text, i > 0 ? ", " : "");
		if (r == 0)
			r = append_name(&text, column->name);
		if (r == 0)
			r = orma_base_buf_printf(&text, " %s%s", type_name(column->type),
						 column->flags & ORMA_COLUMN_HIDDEN ? " hidden"
										    : "");
	}
	if (r == 0)
		r = orma_base_buf_append_str(&text, ")");
	const char *sql = r == 0 ? orma_base_buf_cstr(&text) : NULL;
	return sql ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
}

static int table_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **ret, char **reterr)
{
	const struct module *module = aux;
	struct orma_relation *relation = module->relation;
	if (!relation && argc > 2)
		relation = module->find(module->ctx, argv[2]);
	if (!relation) {
		*reterr = sqlite3_mprintf("there are no rows for the table %s",
					  argc > 2 ? argv[2] : "");
		return SQLITE_ERROR;
	}
	int r = declare(db, relation);
	if (r != SQLITE_OK)
		return r;
	struct table *table = orma_base_zalloc(sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	table->relation = orma_sql_relation_ref(relation);
	table->module = module;
	table->interrupt = module->interrupt;
	/* Views may use it, and reading it does nothing else. */
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	*ret = &table->base;
	return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *vtab)
{
	struct table *table = (struct table *)(void *)vtab;
	orma_sql_relation_unref(table->relation);
	orma_base_free(table);
	return SQLITE_OK;
}

static int table_destroy(sqlite3_vtab *vtab)
{
	struct table *table = (struct table *)(void *)vtab;
	if (table->module->drop)
		table->module->drop(table->module->ctx, table->relation->name);
	return table_disconnect(vtab);
}

static int table_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	struct orma_relation *relation = ((struct table *)(void *)vtab)->relation;
	int r = orma_sql_relation_fill(relation);
	if (r < 0) {
		vtab->zErrMsg = sqlite3_mprintf("the rows of %s can't be made: %s", relation->name,
						strerror(-r));
		return r == -ENOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
	}
	return orma_sql_plan_make(relation, info);
}

static int cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret)
{
	const struct table *table = (const struct table *)(void *)vtab;
	/* The filters need not be zero, and are most of its size. */
	struct cursor *cursor = orma_base_alloc(sizeof(*cursor));
	if (!cursor)
		return SQLITE_NOMEM;
	cursor->base = (sqlite3_vtab_cursor){0};
	orma_sql_cursor_init(&cursor->rows, table->relation, table->interrupt);
	*ret = &cursor->base;
	return SQLITE_OK;
}

static struct orma_relation_cursor *rows_of(sqlite3_vtab_cursor *cursor)
{
	return &((struct cursor *)(void *)cursor)->rows;
}

static int cursor_close(sqlite3_vtab_cursor *base)
{
	orma_sql_cursor_done(rows_of(base));
	orma_base_free(base);
	return SQLITE_OK;
}

static int refuse(sqlite3_vtab_cursor *cursor, int r, const struct orma_error *error)
{
	return orma_sql_vtab_refuse(cursor->pVtab, r, error);
}

static int cursor_filter(sqlite3_vtab_cursor *cursor, int plan_number, const char *plan, int argc,
			 sqlite3_value **argv)
{
	struct orma_error error = {0};
	(void)plan_number;
	(void)argc;
	int r = orma_sql_cursor_start(rows_of(cursor), plan, argv, &error);
	return r < 0 ? refuse(cursor, r, &error) : SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *cursor)
{
	int r = orma_sql_cursor_next(rows_of(cursor));
	return r < 0 ? refuse(cursor, r, NULL) : SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *cursor)
{
	return rows_of(cursor)->is_end;
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column_idx)
{
	struct orma_relation_cursor *cursor = rows_of(base);
	const struct orma_relation *relation = cursor->relation;
	int64_t cell;
	int r = orma_sql_cursor_cell(cursor, (size_t)column_idx, &cell);
	if (r < 0)
		return refuse(base, r, NULL);
	switch (relation->columns[column_idx].type) {
	case ORMA_COLUMN_STRING:
		if (cell == ORMA_CELL_NULL) {
			sqlite3_result_null(context);
		} else {
			struct orma_str text = orma_store_pool_get(relation->pool, (uint32_t)cell);
			sqlite3_result_text64(context, text.data, text.size, SQLITE_STATIC,
					      SQLITE_UTF8);
		}
		break;
	case ORMA_COLUMN_DOUBLE:
		/* A NaN, which NULL is, becomes NULL. */
		sqlite3_result_double(context, orma_store_double_of_cell(cell));
		break;
	default:
		if (cell == ORMA_CELL_NULL)
			sqlite3_result_null(context);
		else
			sqlite3_result_int64(context, cell);
		break;
	}
	return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)rows_of(cursor)->row;
	return SQLITE_OK;
}

#define METHODS                                                                                    \
	.xConnect = table_connect, .xBestIndex = table_best_index,                                 \
	.xDisconnect = table_disconnect, .xDestroy = table_destroy, .xOpen = cursor_open,          \
	.xClose = cursor_close, .xFilter = cursor_filter, .xNext = cursor_next,                    \
	.xEof = cursor_eof, .xColumn = cursor_column, .xRowid = cursor_rowid

static const sqlite3_module without_create = {.iVersion = 1, METHODS};
static const sqlite3_module with_create = {.iVersion = 1, .xCreate = table_connect, METHODS};

static void free_module(void *aux)
{
	struct module *module = aux;
	orma_sql_relation_unref(module->relation);
	orma_base_free(module);
}

static int add_module(sqlite3 *db, const char *name, const sqlite3_module *methods,
		      const struct module *module)
{
	struct module *copy = orma_base_memdup(module, sizeof(*module));
	if (!copy)
		return -ENOMEM;
	if (copy->relation)
		orma_sql_relation_ref(copy->relation);
	/* This frees the copy also when it fails. */
	return sqlite3_create_module_v2(db, name, methods, copy, free_module) == SQLITE_OK
		       ? 0
		       : -ENOMEM;
}

int orma_sql_relation_register(sqlite3 *db, struct orma_relation *relation,
			       struct orma_interrupt *interrupt)
{
	return add_module(db, relation->name, &without_create,
			  &(struct module){.relation = relation, .interrupt = interrupt});
}

int orma_sql_relation_register_module(sqlite3 *db, const char *module, orma_relation_find_fn find,
				      orma_relation_drop_fn drop, void *ctx,
				      struct orma_interrupt *interrupt)
{
	return add_module(
		db, module, &with_create,
		&(struct module){.find = find, .drop = drop, .ctx = ctx, .interrupt = interrupt});
}
