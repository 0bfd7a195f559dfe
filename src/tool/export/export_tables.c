/* SPDX-License-Identifier: Apache-2.0
 * export_tables.c - finds the tables and views that users know.
 */
#include "tool/export/export_tables.h"

#include <stdarg.h>
#include <string.h>

#include "base/macros.h"
#include "tool/ask/name_list.h"
#include "tool/tool.h"

sqlite3_stmt *orma_export_prepare(struct orma_trace_database *database, const char *format, ...)
{
	struct orma_error error = {0};
	sqlite3_stmt *statement = NULL;
	va_list args;
	va_start(args, format);
	char *text = sqlite3_vmprintf(format, args);
	va_end(args);
	int r = text ? orma_sql_prepare(database->sql, orma_base_str(text), &statement, &error)
		     : -ENOMEM;
	sqlite3_free(text);
	if (r < 0)
		orma_tool_fail("%s", error.message[0] ? error.message : strerror(-r));
	return statement;
}

int orma_export_step(sqlite3_stmt *rows)
{
	int code = sqlite3_step(rows);
	if (code == SQLITE_ROW)
		return 1;
	if (code == SQLITE_DONE)
		return 0;
	orma_tool_fail("%s", sqlite3_errmsg(sqlite3_db_handle(rows)));
	return -1;
}

static bool is_made_when_needed(const char *name)
{
	for (size_t i = 0; orma_empty_table_name(i); i++)
		if (strcmp(orma_empty_table_name(i), name) == 0)
			return true;
	return false;
}

static int take_table(struct orma_trace_database *database, const char *name, bool is_named,
		      int (*take)(void *ctx, const char *name, sqlite3_stmt *rows), void *ctx)
{
	sqlite3_stmt *rows = orma_export_prepare(database, "select * from \"%w\"", name);
	if (!rows)
		return ORMA_EXIT_FAILURE;
	int status = 0;
	if (!is_named && is_made_when_needed(name)) {
		int more = orma_export_step(rows);
		sqlite3_reset(rows);
		if (more <= 0) {
			sqlite3_finalize(rows);
			return more < 0 ? ORMA_EXIT_FAILURE : 0;
		}
	}
	status = take(ctx, name, rows);
	sqlite3_finalize(rows);
	return status;
}

int orma_export_each_table(struct orma_trace_database *database,
			   const struct orma_export_options *options,
			   int (*take)(void *ctx, const char *name, sqlite3_stmt *rows), void *ctx)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf names = {0};
	int status = 0;
	for (size_t i = 0; i < options->table_count && status == 0; i++)
		status = take_table(database, options->tables[i], true, take, ctx);
	if (options->table_count > 0)
		return status;
	int r = orma_names_add_tables(database, ORMA_STR(""), &names);
	if (r == 0)
		r = orma_names_sort(&names);
	if (r < 0)
		return orma_tool_fail("%s", strerror(-r));
	for (size_t at = 0; at < names.size && status == 0;) {
		const char *name = (const char *)names.data + at;
		at += strlen(name) + 1;
		status = take_table(database, name, false, take, ctx);
	}
	return status;
}
