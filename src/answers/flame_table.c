/* SPDX-License-Identifier: Apache-2.0
 * flame_table.c - flame graphs in SQL: `create virtual table g using __intrinsic_flamegraph((select ...))` reads the stacks,
 * and each `g(__intrinsic_flamegraph_config(...))` is a graph of them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "answers/flamegraph.h"
#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/functions.h"
#include "sql/row_cursor.h"
#include "sql/sqlite_error.h"

enum { SUPER_ROOT_CONSTRAINT = SQLITE_INDEX_CONSTRAINT_FUNCTION + 1, SUPER_ROOT_PLAN = 1 };

/* A table that exists; SQLite may forget that it is connected, but not that it exists. */
struct flame_table {
	struct flame_table *next;
	char *name;
	struct orma_flame_source source;
	struct orma_buf schema;
	size_t column_count; /* each result has as many */
};

struct flame_module {
	struct orma_sql *sql;
	struct flame_table *tables;
};

struct flame_vtab {
	sqlite3_vtab base;
	struct flame_module *module;
	struct flame_table *table;
};

static struct flame_vtab *vtab_of(sqlite3_vtab *vtab)
{
	return (struct flame_vtab *)(void *)vtab;
}

static void free_table(struct flame_table *table)
{
	orma_flame_source_done(&table->source);
	orma_base_buf_done(&table->schema);
	orma_base_free(table->name);
	orma_base_free(table);
}

static void free_module(void *ctx)
{
	struct flame_module *module = ctx;
	while (module->tables) {
		struct flame_table *table = module->tables;
		module->tables = table->next;
		free_table(table);
	}
	orma_base_free(module);
}

static int read_names(struct orma_flame_source *source, sqlite3_stmt *statement,
		      struct orma_error *reterr)
{
	static const char *const fixed[] = {"id", "parent_id", "name", "value"};
	static const char *const reserved[] = {
		"in_config",  "_tree_id", "_tree_parent_id",  "depth", "name",
		"self_value", "x_start",  "cumulative_value", "x_end", "parent_cumulative_value"};
	size_t count = (size_t)sqlite3_column_count(statement);
	source->rows.column_count = count;
	source->names = orma_base_alloc_array(count + 1, sizeof(*source->names));
	if (!source->names)
		return -ENOMEM;
	bool is_right = count >= ORMA_FLAME_FIXED;
	for (size_t i = 0; i < count; i++) {
		const char *name = sqlite3_column_name(statement, (int)i);
		source->names[i] = name ? orma_base_strdup(name) : NULL;
		if (!source->names[i])
			return -ENOMEM;
		if (i < ORMA_FLAME_FIXED)
			is_right = is_right && strcasecmp(name, fixed[i]) == 0;
		for (size_t k = 0; i >= ORMA_FLAME_FIXED && k < ORMA_ARRAY_SIZE(reserved); k++)
			if (strcasecmp(name, reserved[k]) == 0)
				return orma_base_error_set(reterr, -EINVAL,
							   "flamegraph: the name of column %s is "
							   "taken by the result",
							   name);
	}
	return is_right ? 0
			: orma_base_error_set(reterr, -EINVAL,
					      "flamegraph: the first columns of its rows are id, "
					      "parent_id, name, value");
}

static int read_rows(struct orma_flame_source *source, sqlite3_stmt *statement,
		     struct orma_sql *sql, struct orma_error *reterr)
{
	int code, r = 0;
	while (r == 0 && (code = sqlite3_step(statement)) == SQLITE_ROW) {
		r = orma_row_set_add(&source->rows);
		for (size_t i = 0; r == 0 && i < source->rows.column_count; i++)
			r = orma_row_set_put_value(&source->rows, i,
						   sqlite3_column_value(statement, (int)i));
	}
	return r < 0 || code == SQLITE_DONE ? r : orma_sql_describe(sql, code, reterr);
}

static int read_source(struct flame_module *module, struct orma_flame_source *source,
		       const char *select, struct orma_error *reterr)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	sqlite3_stmt *statement = NULL;
	orma_row_set_init(&source->rows, module->sql, 0);
	int r = orma_base_buf_printf(&text, "select * from %s", select);
	if (r == 0)
		r = orma_sql_prepare(module->sql, (struct orma_str){(char *)text.data, text.size},
				     &statement, reterr);
	if (r == 0 && !statement)
		r = -EINVAL;
	if (r == 0)
		r = read_names(source, statement, reterr);
	if (r == 0)
		r = read_rows(source, statement, module->sql, reterr);
	sqlite3_finalize(statement);
	return r < 0 ? r : orma_flame_source_finish(source, reterr);
}

static int write_column(struct orma_buf *schema, const char *prefix, const char *name)
{
	char *quoted = sqlite3_mprintf(", \"%w%w\"", prefix, name);
	int r = quoted ? orma_base_buf_append_str(schema, quoted) : -ENOMEM;
	sqlite3_free(quoted);
	return r;
}

static int write_schema(struct flame_table *table)
{
	const struct orma_flame_source *source = &table->source;
	struct orma_buf *schema = &table->schema;
	int r = orma_base_buf_append_str(
		schema, "create table x(_tree_id, _tree_parent_id, depth, name, self_value, "
			"cumulative_value, parent_cumulative_value, x_start, x_end");
	table->column_count = ORMA_FLAME_OUT_FIXED;
	for (size_t i = ORMA_FLAME_FIXED; i < source->rows.column_count && r == 0; i++) {
		r = write_column(schema, "", source->names[i]);
		table->column_count++;
	}
	for (size_t i = ORMA_FLAME_FIXED; i < source->rows.column_count && r == 0; i++) {
		if (source->types[i] != SQLITE_INTEGER && source->types[i] != SQLITE_FLOAT)
			continue;
		r = write_column(schema, "self_", source->names[i]);
		if (r == 0)
			r = write_column(schema, "cumulative_", source->names[i]);
		table->column_count += 2;
	}
	return r < 0 ? r : orma_base_buf_append_str(schema, ", in_config hidden)");
}

static int attach(sqlite3 *db, struct flame_module *module, struct flame_table *table,
		  sqlite3_vtab **ret)
{
	const char *schema = orma_base_buf_cstr(&table->schema);
	struct flame_vtab *vtab = schema ? orma_base_zalloc(sizeof(*vtab)) : NULL;
	if (!vtab)
		return SQLITE_NOMEM;
	int code = sqlite3_declare_vtab(db, schema);
	if (code != SQLITE_OK) {
		orma_base_free(vtab);
		return code;
	}
	vtab->module = module;
	vtab->table = table;
	*ret = &vtab->base;
	return SQLITE_OK;
}

static int create(sqlite3 *db, void *ctx, int argc, const char *const *argv, sqlite3_vtab **ret,
		  char **reterr)
{
	struct flame_module *module = ctx;
	struct orma_error error = {0};
	struct flame_table *table = orma_base_zalloc(sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	table->name = orma_base_strdup(argv[2]);
	int r = !table->name ? -ENOMEM
		: argc == 4  ? read_source(module, &table->source, argv[3], &error)
			     : orma_base_error_set(&error, -EINVAL,
						   "flamegraph: takes one select in parentheses");
	if (r == 0)
		r = write_schema(table);
	int code = r == 0 ? attach(db, module, table, ret) : orma_sql_refuse(reterr, r, &error);
	if (code != SQLITE_OK) {
		free_table(table);
		return code;
	}
	table->next = module->tables;
	module->tables = table;
	return SQLITE_OK;
}

static int connect(sqlite3 *db, void *ctx, int argc, const char *const *argv, sqlite3_vtab **ret,
		   char **reterr)
{
	struct flame_module *module = ctx;
	(void)argc, (void)reterr;
	for (struct flame_table *table = module->tables; table; table = table->next)
		if (strcasecmp(table->name, argv[2]) == 0)
			return attach(db, module, table, ret);
	return SQLITE_ERROR;
}

static int disconnect(sqlite3_vtab *vtab)
{
	orma_base_free(vtab);
	return SQLITE_OK;
}

static int destroy(sqlite3_vtab *vtab)
{
	struct flame_module *module = vtab_of(vtab)->module;
	struct flame_table **link = &module->tables;
	while (*link && *link != vtab_of(vtab)->table)
		link = &(*link)->next;
	if (*link) {
		struct flame_table *table = *link;
		*link = table->next;
		free_table(table);
	}
	return disconnect(vtab);
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	int config_column = (int)vtab_of(vtab)->table->column_count;
	bool has_config = false;
	for (int i = 0; i < info->nConstraint; i++) {
		int op = info->aConstraint[i].op;
		bool is_config = info->aConstraint[i].iColumn == config_column &&
				 op == SQLITE_INDEX_CONSTRAINT_EQ;
		bool is_super_root = info->aConstraint[i].iColumn == ORMA_FLAME_OUT_ID &&
				     op == SUPER_ROOT_CONSTRAINT;
		if ((!is_config && !is_super_root) || !info->aConstraint[i].usable)
			continue;
		info->aConstraintUsage[i].argvIndex = is_config ? 1 : 2;
		info->aConstraintUsage[i].omit = 1;
		has_config |= is_config;
		info->idxNum |= is_super_root ? SUPER_ROOT_PLAN : 0;
	}
	return has_config ? SQLITE_OK : SQLITE_CONSTRAINT;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret)
{
	return orma_row_cursor_open(vtab_of(vtab)->module->sql, sizeof(struct orma_row_cursor),
				    vtab_of(vtab)->table->column_count, ret);
}

/* A row that stands for all roots together. */
static int add_super_root(struct orma_row_set *rows, const struct orma_flame_source *source)
{
	double sum = 0;
	int r = orma_row_set_add(rows);
	for (size_t row = 0; row < source->rows.row_count; row++)
		sum += orma_row_set_double(&source->rows, row, ORMA_FLAME_VALUE);
	if (r == 0) {
		orma_row_set_put_int(rows, ORMA_FLAME_OUT_ID, 0);
		orma_row_set_put_int(rows, ORMA_FLAME_OUT_DEPTH, 0);
		orma_row_set_put_double(rows, ORMA_FLAME_OUT_TOTAL, sum);
	}
	return r;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
		  sqlite3_value **argv)
{
	struct orma_row_cursor *cursor = orma_row_cursor_of(base);
	const struct orma_flame_source *source = &vtab_of(base->pVtab)->table->source;
	struct orma_error error = {0};
	struct orma_flamegraph graph = {0};
	(void)plan, (void)argc;
	const struct orma_flame_config *config = sqlite3_value_pointer(argv[0], ORMA_FLAME_CONFIG);
	cursor->row = 0;
	cursor->rows.row_count = 0;
	int r;
	if (!config) {
		r = orma_base_error_set(&error, -EINVAL,
					"flamegraph: its argument is not a configuration");
	} else if (number & SUPER_ROOT_PLAN) {
		struct orma_str what = orma_sql_text_of(argv[1]);
		r = what.data && strcmp(what.data, "SUPER_ROOT") == 0
			    ? add_super_root(&cursor->rows, source)
			    : orma_base_error_set(&error, -EINVAL,
						  "flamegraph: there is only SUPER_ROOT to find");
	} else {
		r = orma_flamegraph_build(&graph, source, config, &error);
		if (r == 0)
			r = orma_flamegraph_write(&graph, &cursor->rows, &error);
	}
	orma_flamegraph_done(&graph);
	return r == 0 ? SQLITE_OK : orma_sql_vtab_refuse(base->pVtab, r, &error);
}

static void refuse_find(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc, (void)argv;
	sqlite3_result_error(context, "__intrinsic_flamegraph_find stands alone in a `where`", -1);
}

static int find_function(sqlite3_vtab *vtab, int argc, const char *name,
			 void (**ret)(sqlite3_context *, int, sqlite3_value **), void **ret_ctx)
{
	(void)vtab, (void)argc;
	if (strcasecmp(name, "__intrinsic_flamegraph_find") != 0)
		return 0;
	*ret = refuse_find;
	*ret_ctx = NULL;
	return SUPER_ROOT_CONSTRAINT;
}

static const sqlite3_module methods = {
	.iVersion = 1,
	.xCreate = create,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = disconnect,
	.xDestroy = destroy,
	.xOpen = open_cursor,
	.xClose = orma_row_cursor_close,
	.xFilter = filter,
	.xNext = orma_row_cursor_next,
	.xEof = orma_row_cursor_eof,
	.xColumn = orma_row_cursor_column,
	.xRowid = orma_row_cursor_rowid,
	.xFindFunction = find_function,
};

int orma_flame_table_add(struct orma_trace_database *database)
{
	sqlite3 *db = orma_sql_db(database->sql);
	struct flame_module *module = orma_base_zalloc(sizeof(*module));
	if (!module)
		return -ENOMEM;
	module->sql = database->sql;
	/* SQLite frees the module when it fails, too. */
	if (sqlite3_create_module_v2(db, "__intrinsic_flamegraph", &methods, module, free_module) !=
		    SQLITE_OK ||
	    sqlite3_create_function_v2(db, "__intrinsic_flamegraph_config", -1, SQLITE_UTF8, NULL,
				       orma_flame_config_make, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_overload_function(db, "__intrinsic_flamegraph_find", 2) != SQLITE_OK)
		return -ENOMEM;
	return 0;
}
