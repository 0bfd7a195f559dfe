/* SPDX-License-Identifier: Apache-2.0
 * export_sqlite.c - all tables and views as a file of SQLite.
 *
 * Tables keep the names that they have inside (__intrinsic_slice), and the views over them stay views, so that the file is
 * not twice as large as needed. A view with a function that only orma and Perfetto have becomes a table with its rows:
 * SQLite alone could not show it.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "tool/export/export_file.h"
#include "tool/export/export_tables.h"
#include "tool/tool.h"

struct output {
	sqlite3 *db;
	const char *path; /* for messages */
};

static int fail(const struct output *output)
{
	return orma_tool_fail("cannot write %s: %s", output->path, sqlite3_errmsg(output->db));
}

static int execute(const struct output *output, const char *text)
{
	return text && sqlite3_exec(output->db, text, NULL, NULL, NULL) == SQLITE_OK ? 0
										     : fail(output);
}

/* Makes the table that the columns of a statement fit, and the statement that fills it. */
static int create_table(const struct output *output, const char *name, sqlite3_stmt *rows,
			sqlite3_stmt **ret)
{
	sqlite3_str *create = sqlite3_str_new(output->db), *insert = sqlite3_str_new(output->db);
	int count = sqlite3_column_count(rows);
	sqlite3_str_appendf(create, "create table \"%w\"(", name);
	sqlite3_str_appendf(insert, "insert into \"%w\" values(", name);
	for (int i = 0; i < count; i++) {
		const char *type = sqlite3_column_decltype(rows, i);
		sqlite3_str_appendf(create, "%s\"%w\" %s", i > 0 ? ", " : "",
				    sqlite3_column_name(rows, i), type ? type : "");
		sqlite3_str_appendall(insert, i > 0 ? ", ?" : "?");
	}
	sqlite3_str_appendall(create, ")");
	sqlite3_str_appendall(insert, ")");
	char *create_text = sqlite3_str_finish(create), *insert_text = sqlite3_str_finish(insert);
	int status = execute(output, create_text);
	if (status == 0 && (!insert_text || sqlite3_prepare_v2(output->db, insert_text, -1, ret,
							       NULL) != SQLITE_OK))
		status = fail(output);
	sqlite3_free(create_text);
	sqlite3_free(insert_text);
	return status;
}

static int copy_rows(const struct output *output, sqlite3_stmt *rows, sqlite3_stmt *insert)
{
	int more = 0, status = 0, count = sqlite3_column_count(rows);
	while (status == 0 && (more = orma_export_step(rows)) > 0) {
		for (int i = 0; i < count; i++)
			sqlite3_bind_value(insert, i + 1, sqlite3_column_value(rows, i));
		if (sqlite3_step(insert) != SQLITE_DONE || sqlite3_reset(insert) != SQLITE_OK)
			status = fail(output);
	}
	return more < 0 ? ORMA_EXIT_FAILURE : status;
}

static int copy_table(void *ctx, const char *name, sqlite3_stmt *rows)
{
	const struct output *output = ctx;
	sqlite3_stmt *insert = NULL;
	int status = execute(output, "begin");
	if (status == 0)
		status = create_table(output, name, rows, &insert);
	if (status == 0)
		status = copy_rows(output, rows, insert);
	sqlite3_finalize(insert);
	return status ? status : execute(output, "commit");
}

static int copy_named(struct orma_trace_database *database, const struct output *output,
		      const char *name)
{
	sqlite3_stmt *rows = orma_export_prepare(database, "select * from \"%w\"", name);
	int status = rows ? copy_table((void *)(uintptr_t)output, name, rows) : ORMA_EXIT_FAILURE;
	sqlite3_finalize(rows);
	return status;
}

/* Returns whether SQLite alone can read the view. */
static bool can_read(const struct output *output, const char *name)
{
	sqlite3_stmt *statement = NULL;
	char *text = sqlite3_mprintf("select * from \"%w\"", name);
	bool is_readable =
		text && sqlite3_prepare_v2(output->db, text, -1, &statement, NULL) == SQLITE_OK;
	sqlite3_finalize(statement);
	sqlite3_free(text);
	return is_readable;
}

static int copy_view(struct orma_trace_database *database, const struct output *output,
		     const char *name, const char *definition)
{
	if (sqlite3_exec(output->db, definition, NULL, NULL, NULL) == SQLITE_OK) {
		if (can_read(output, name))
			return 0;
		char *text = sqlite3_mprintf("drop view \"%w\"", name);
		int status = execute(output, text);
		sqlite3_free(text);
		if (status)
			return status;
	}
	return copy_named(database, output, name);
}

/* Copies what `query` lists: names, and for views their definitions. */
static int copy_listed(struct orma_trace_database *database, const struct output *output,
		       const char *query)
{
	sqlite3_stmt *list = orma_export_prepare(database, "%s", query);
	int status = list ? 0 : ORMA_EXIT_FAILURE, more = 0;
	while (status == 0 && (more = orma_export_step(list)) > 0) {
		const char *name = (const char *)sqlite3_column_text(list, 0),
			   *definition = (const char *)sqlite3_column_text(list, 1);
		status = definition ? copy_view(database, output, name, definition)
				    : copy_named(database, output, name);
	}
	sqlite3_finalize(list);
	return more < 0 ? ORMA_EXIT_FAILURE : status;
}

/* Makes the tables and views that exist only when a query names them. */
static int make_all(struct orma_trace_database *database)
{
	for (size_t i = 0; orma_empty_table_name(i); i++) {
		sqlite3_stmt *rows = orma_export_prepare(database, "select * from \"%w\"",
							 orma_empty_table_name(i));
		if (!rows)
			return ORMA_EXIT_FAILURE;
		sqlite3_finalize(rows);
	}
	return 0;
}

static int copy_everything(struct orma_trace_database *database, const struct output *output)
{
	int status = make_all(database);
	for (size_t i = 0; status == 0; i++) {
		const struct orma_relation *relation = orma_sql_relation_at(database->sql, i);
		if (!relation)
			break;
		status = copy_named(database, output, relation->name);
	}
	if (status == 0)
		status = copy_named(database, output, "__intrinsic_args");
	if (status == 0)
		status = execute(output, "create view args as select * from __intrinsic_args");
	/* Tables of queries are relations, too. */
	if (status == 0)
		status = copy_listed(database, output,
				     "select name, null from sqlite_master where type = 'table' "
				     "and sql not like 'create virtual%'");
	return status ? status
		      : copy_listed(database, output,
				    "select name, sql from sqlite_master where type = 'view' "
				    "order by rowid");
}

int orma_export_sqlite(struct orma_trace_database *database,
		       const struct orma_export_options *options)
{
	struct output output = {.path = options->path};
	struct orma_export_file file;
	int status = orma_export_file_name(&file, options->path);
	if (status)
		return status;
	if (sqlite3_open_v2(file.path, &output.db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK)
		status = fail(&output);
	if (status == 0)
		status = execute(&output, "pragma journal_mode=off; pragma synchronous=off");
	if (status == 0)
		status = options->table_count > 0
				 ? orma_export_each_table(database, options, copy_table, &output)
				 : copy_everything(database, &output);
	if (sqlite3_close(output.db) != SQLITE_OK && status == 0)
		status = fail(&output);
	if (status == 0)
		status = orma_export_file_finish(&file);
	orma_export_file_done(&file);
	return status;
}
