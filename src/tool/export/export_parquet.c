/* SPDX-License-Identifier: Apache-2.0
 * export_parquet.c - a Parquet file for each table.
 *
 * A column of Parquet has one type. Columns of tables have declared ones. A column that a view computes has none, so the rows are
 * read twice, and the first time shows which types there are.
 */
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "tool/export/export_tables.h"
#include "tool/export/parquet_writer.h"
#include "tool/tool.h"

/* {0} = not known. */
static enum orma_parquet_type declared_type(const char *declared)
{
	if (!declared)
		return 0;
	if (strcasestr(declared, "int"))
		return ORMA_PARQUET_INT64;
	if (strcasestr(declared, "text") || strcasestr(declared, "char"))
		return ORMA_PARQUET_TEXT;
	if (strcasestr(declared, "blob"))
		return ORMA_PARQUET_BYTES;
	return strcasestr(declared, "doub") || strcasestr(declared, "real") ? ORMA_PARQUET_DOUBLE
									    : 0;
}

/* The type for values of both types: integers fit doubles, and anything is a text. */
static enum orma_parquet_type common_type(enum orma_parquet_type type, int sqlite_type)
{
	static const enum orma_parquet_type types[] = {[SQLITE_INTEGER] = ORMA_PARQUET_INT64,
						       [SQLITE_FLOAT] = ORMA_PARQUET_DOUBLE,
						       [SQLITE_TEXT] = ORMA_PARQUET_TEXT,
						       [SQLITE_BLOB] = ORMA_PARQUET_BYTES,
						       [SQLITE_NULL] = 0};
	enum orma_parquet_type next = types[sqlite_type];
	if (!type || !next || type == next)
		return type ? type : next;
	bool are_numbers = type <= ORMA_PARQUET_DOUBLE && next <= ORMA_PARQUET_DOUBLE;
	return are_numbers ? ORMA_PARQUET_DOUBLE : ORMA_PARQUET_TEXT;
}

/* Finds the types of columns that have none. 0 or an exit status. */
static int find_types(sqlite3_stmt *rows, struct orma_parquet_spec *columns)
{
	int count = sqlite3_column_count(rows), more = 0;
	bool is_known = true, is_computed[1 << 11] = {false};
	for (int i = 0; i < count; i++) {
		columns[i].name = sqlite3_column_name(rows, i);
		columns[i].type = declared_type(sqlite3_column_decltype(rows, i));
		is_computed[i] = !columns[i].type;
		is_known = is_known && columns[i].type;
	}
	while (!is_known && (more = orma_export_step(rows)) > 0)
		for (int i = 0; i < count; i++)
			if (is_computed[i])
				columns[i].type =
					common_type(columns[i].type, sqlite3_column_type(rows, i));
	for (int i = 0; i < count; i++)
		if (!columns[i].type)
			columns[i].type = ORMA_PARQUET_TEXT;
	sqlite3_reset(rows);
	return more < 0 ? ORMA_EXIT_FAILURE : 0;
}

static int put_value(struct orma_parquet *parquet, const struct orma_parquet_spec *column,
		     sqlite3_stmt *rows, int i)
{
	if (sqlite3_column_type(rows, i) == SQLITE_NULL)
		return 0;
	if (column->type == ORMA_PARQUET_INT64)
		return orma_parquet_put_int(parquet, (size_t)i, sqlite3_column_int64(rows, i));
	if (column->type == ORMA_PARQUET_DOUBLE)
		return orma_parquet_put_double(parquet, (size_t)i, sqlite3_column_double(rows, i));
	const char *bytes = column->type == ORMA_PARQUET_TEXT
				    ? (const char *)sqlite3_column_text(rows, i)
				    : sqlite3_column_blob(rows, i);
	return orma_parquet_put_bytes(
		parquet, (size_t)i,
		(struct orma_str){bytes ? bytes : "", (size_t)sqlite3_column_bytes(rows, i)});
}

static int write_rows(struct orma_parquet *parquet, const struct orma_parquet_spec *columns,
		      sqlite3_stmt *rows)
{
	int status = 0, more = 0, count = sqlite3_column_count(rows);
	while (status == 0 && (more = orma_export_step(rows)) > 0) {
		for (int i = 0; i < count && status == 0; i++)
			status = put_value(parquet, &columns[i], rows, i);
		if (status == 0)
			status = orma_parquet_end_row(parquet);
	}
	if (more < 0)
		return ORMA_EXIT_FAILURE;
	return status ? status : orma_parquet_end(parquet);
}

static int write_table(void *ctx, const char *name, sqlite3_stmt *rows)
{
	const struct orma_export_options *options = ctx;
	size_t count = (size_t)sqlite3_column_count(rows);
	struct orma_parquet *parquet = NULL;
	struct orma_export_file file;
	char path[PATH_MAX];
	if ((size_t)snprintf(path, sizeof(path), "%s/%s.parquet", options->path, name) >=
	    sizeof(path))
		return orma_tool_fail("%s: the path is too long", options->path);
	struct orma_parquet_spec *columns = orma_base_alloc_array(count + 1, sizeof(*columns));
	if (!columns)
		return orma_tool_fail("%s", strerror(ENOMEM));
	int status = find_types(rows, columns);
	if (status == 0)
		status = orma_export_file_open(&file, path);
	if (status == 0) {
		status = orma_parquet_new(&file, columns, count, options->is_plain, &parquet);
		if (status == 0)
			status = write_rows(parquet, columns, rows);
		if (status == 0)
			status = orma_export_file_finish(&file);
		orma_export_file_done(&file);
	}
	orma_parquet_free(parquet);
	orma_base_free(columns);
	return status;
}

int orma_export_parquet(struct orma_trace_database *database,
			const struct orma_export_options *options)
{
	int status = orma_export_folder(options->path);
	return status ? status
		      : orma_export_each_table(database, options, write_table,
					       (void *)(uintptr_t)options);
}
