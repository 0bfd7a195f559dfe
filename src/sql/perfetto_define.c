/* SPDX-License-Identifier: Apache-2.0
 * perfetto_define.c - views, macros and indexes.
 */
#include "sql/perfetto_define.h"

#include <errno.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "sql/engine_state.h"
#include "sql/index.h"

/* The names of a view's columns are checked only if there is a schema: checking costs as much as a query. */
static int check_view(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
		      struct orma_error *reterr)
{
	sqlite3_stmt *query;
	if (statement->column_count == 0)
		return 0;
	int r = orma_sql_prepare(sql, statement->body, &query, reterr);
	if (r < 0)
		return r;
	r = orma_sql_check_names(sql, statement, query, reterr);
	if (r == 0 && sql->options.checks_views)
		r = orma_sql_check_types(sql, statement, query, reterr);
	sqlite3_finalize(query);
	return r;
}

int orma_sql_create_view(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
			 struct orma_error *reterr)
{
	int r = check_view(sql, statement, reterr);
	if (r == 0 && statement->replaces)
		r = orma_sql_exec_format(sql, reterr, "drop view if exists \"%w\"",
					 statement->name);
	if (r < 0)
		return r;
	r = orma_sql_exec_format(sql, reterr, "create view \"%w\" as %.*s", statement->name,
				 (int)statement->body.size, statement->body.data);
	if (r == -EINVAL) {
		/* The query alone tells where the fault is, if it is in the query. */
		sqlite3_stmt *query = NULL;
		(void)orma_sql_prepare(sql, statement->body, &query, reterr);
		sqlite3_finalize(query);
	}
	return r;
}

int orma_sql_create_macro(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
			  struct orma_error *reterr)
{
	struct orma_str *names = orma_base_alloc_array(statement->column_count + 1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < statement->column_count; i++)
		names[i] = orma_base_str(statement->columns[i].name);
	int r = orma_sql_macros_add(&sql->macros, orma_base_str(statement->name), names,
				    statement->column_count, statement->body, statement->replaces);
	orma_base_free(names);
	sql->fault = statement->name_place;
	if (r == -EEXIST)
		return orma_base_error_set(reterr, -EINVAL, "macro %s already exists",
					   statement->name);
	return r;
}

static size_t find_index(const struct orma_sql *sql, const char *name, const char *table)
{
	size_t i = 0;
	while (i < sql->index_count && (strcasecmp(sql->indexes[i].name, name) != 0 ||
					strcasecmp(sql->indexes[i].table, table) != 0))
		i++;
	return i;
}

static int keep_index(struct orma_sql *sql, const struct orma_perfetto_statement *statement)
{
	struct orma_sql_index_name index = {orma_base_strdup(statement->name),
					    orma_base_strdup(statement->table)};
	int r = orma_sql_grow((void **)&sql->indexes, sizeof(index), sql->index_count,
			      &sql->index_capacity);
	if (r < 0 || !index.name || !index.table) {
		orma_base_free(index.name);
		orma_base_free(index.table);
		return -ENOMEM;
	}
	sql->indexes[sql->index_count++] = index;
	return 0;
}

/* One column is enough to find rows; the conditions on the others are checked for these rows. */
static int create_index(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
			struct orma_error *reterr)
{
	struct orma_relation *relation = orma_sql_find_relation(sql, statement->table);
	int first = -1;
	sql->fault = statement->table_place;
	if (!relation)
		return orma_base_error_set(reterr, -EINVAL,
					   "CREATE PERFETTO INDEX: table '%s' does not exist, or "
					   "is not one of CREATE PERFETTO TABLE",
					   statement->table);
	for (size_t i = statement->column_count; i > 0; i--) {
		sql->fault = statement->columns[i - 1].place;
		first = orma_sql_relation_find(relation, statement->columns[i - 1].name);
		if (first < 0)
			return orma_base_error_set(
				reterr, -EINVAL,
				"CREATE PERFETTO INDEX: column '%s' not found in table '%s'",
				statement->columns[i - 1].name, statement->table);
	}
	if (first < 0)
		return orma_base_error_set(reterr, -EINVAL, "CREATE PERFETTO INDEX: no columns");
	sql->fault = statement->name_place;
	size_t old = find_index(sql, statement->name, statement->table);
	if (old < sql->index_count) {
		if (!statement->replaces)
			return orma_base_error_set(
				reterr, -EINVAL, "CREATE PERFETTO INDEX: index '%s' already exists",
				statement->name);
		orma_sql_forget_index(sql, old);
	}
	struct orma_relation_column *column = &relation->columns[first];
	int r = orma_sql_relation_fill(relation);
	if (r == 0 && !column->index && column->type != ORMA_COLUMN_DOUBLE &&
	    !(column->flags & ORMA_RELATION_ROW))
		r = orma_sql_index_new(relation, (size_t)first, &column->index);
	return r < 0 ? r : keep_index(sql, statement);
}

int orma_sql_change_index(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
			  struct orma_error *reterr)
{
	if (statement->kind == ORMA_PERFETTO_INDEX)
		return create_index(sql, statement, reterr);
	size_t i = find_index(sql, statement->name, statement->table);
	sql->fault = statement->name_place;
	if (i == sql->index_count)
		return orma_base_error_set(reterr, -EINVAL,
					   "DROP PERFETTO INDEX: index '%s' not found",
					   statement->name);
	orma_sql_forget_index(sql, i);
	return 0;
}
