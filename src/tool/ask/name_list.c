/* SPDX-License-Identifier: Apache-2.0
 * name_list.c - asks SQLite for its lists. A table that is made only when a query names it is in the list as well.
 */
#include "tool/ask/name_list.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <strings.h>

#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/macros.h"

static int add(struct orma_buf *ret, const char *name, struct orma_str prefix)
{
	if (!name || strncasecmp(name, prefix.data, prefix.size) != 0 ||
	    (name[0] == '_' && prefix.size == 0))
		return 0;
	return orma_base_buf_append(ret, name, strlen(name) + 1);
}

static int add_rows(struct orma_trace_database *database, const char *query, struct orma_str prefix,
		    struct orma_buf *ret)
{
	sqlite3_stmt *statement;
	int r = orma_sql_prepare(database->sql, orma_base_str(query), &statement, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	while (r == 0 && sqlite3_step(statement) == SQLITE_ROW)
		r = add(ret, (const char *)sqlite3_column_text(statement, 0), prefix);
	sqlite3_finalize(statement);
	return r;
}

int orma_names_add_tables(struct orma_trace_database *database, struct orma_str prefix,
			  struct orma_buf *ret)
{
	int r = add_rows(database, "select name from sqlite_master where type in ('table', 'view')",
			 prefix, ret);
	for (size_t i = 0; r == 0 && orma_empty_table_name(i); i++)
		r = add(ret, orma_empty_table_name(i), prefix);
	return r;
}

int orma_names_add_functions(struct orma_trace_database *database, struct orma_str prefix,
			     struct orma_buf *ret)
{
	int r = add_rows(database, "select distinct name from pragma_function_list", prefix, ret);
	/* Functions that return tables are modules for SQLite, as are its own tables. */
	return r == 0 ? add_rows(database,
				 "select name from pragma_module_list where name not like 'fts%' "
				 "and name not like 'rtree%' and name not like 'pragma%'",
				 prefix, ret)
		      : r;
}

int orma_names_add_modules(struct orma_trace_database *database, struct orma_str prefix,
			   struct orma_buf *ret)
{
	const char *name;
	int r = 0;
	for (size_t i = 0; r == 0 && (name = orma_module_name(database, i)); i++)
		r = add(ret, name, prefix);
	return r;
}

int orma_names_add_keywords(struct orma_str prefix, struct orma_buf *ret)
{
	static const char *const words[] = {
		"and",       "as",      "asc",     "between",  "by",        "case",      "cast",
		"create",    "cross",   "desc",    "distinct", "drop",      "else",      "end",
		"except",    "exists",  "explain", "from",     "function",  "glob",      "group",
		"having",    "in",      "include", "index",    "intersect", "is",        "join",
		"left",      "like",    "limit",   "macro",    "module",    "not",       "null",
		"offset",    "on",      "or",      "order",    "over",      "partition", "perfetto",
		"recursive", "replace", "returns", "select",   "table",     "then",      "union",
		"using",     "values",  "view",    "when",     "where",     "with"};
	int r = 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(words) && r == 0; i++)
		r = add(ret, words[i], prefix);
	return r;
}

int orma_names_add_columns(struct orma_trace_database *database, struct orma_str table,
			   struct orma_str prefix, struct orma_buf *ret)
{
	sqlite3_stmt *statement;
	char *query = sqlite3_mprintf("select * from \"%.*w\"", (int)table.size, table.data);
	if (!query)
		return -ENOMEM;
	int r = orma_sql_prepare(database->sql, orma_base_str(query), &statement, NULL);
	sqlite3_free(query);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (int i = 0; r == 0 && i < sqlite3_column_count(statement); i++)
		r = add(ret, sqlite3_column_name(statement, i), prefix);
	sqlite3_finalize(statement);
	return r;
}

static int compare(const void *a, const void *b)
{
	return strcasecmp(*(const char *const *)a, *(const char *const *)b);
}

int orma_names_sort(struct orma_buf *names)
{
	size_t count = 0;
	struct orma_buf sorted = {0};
	for (size_t at = 0; at < names->size; at++)
		count += names->data[at] == '\0';
	const char **all = orma_base_alloc_array(count + 1, sizeof(*all));
	int r = all ? orma_base_buf_reserve(&sorted, names->size) : -ENOMEM;
	if (r == 0) {
		const char *name = (const char *)names->data;
		for (size_t i = 0; i < count; i++, name += strlen(name) + 1)
			all[i] = name;
		qsort(all, count, sizeof(*all), compare);
		for (size_t i = 0; r == 0 && i < count; i++)
			if (i == 0 || strcasecmp(all[i], all[i - 1]) != 0)
				r = orma_base_buf_append(&sorted, all[i], strlen(all[i]) + 1);
		orma_base_buf_done(names);
		*names = sorted;
	}
	orma_base_free(all);
	return r;
}
