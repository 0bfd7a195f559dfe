/* SPDX-License-Identifier: Apache-2.0
 * export_csv.c - a file for each table, as RFC 4180 says: unlike the rows that `orma sql --csv` prints as Perfetto does,
 * quotes in texts are doubled, and NULL is an empty field, while an empty text has quotes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "tool/export/export_file.h"
#include "tool/export/export_tables.h"
#include "tool/tool.h"

static int write_quoted(struct orma_export_file *file, const char *text, size_t size)
{
	int status = orma_export_file_write(file, "\"", 1);
	while (status == 0 && size > 0) {
		const char *quote = memchr(text, '"', size);
		size_t part = quote ? (size_t)(quote - text) + 1 : size;
		status = orma_export_file_write(file, text, part);
		if (status == 0 && quote)
			status = orma_export_file_write(file, "\"", 1);
		text += part;
		size -= part;
	}
	return status ? status : orma_export_file_write(file, "\"", 1);
}

static int write_text(struct orma_export_file *file, const char *bytes, size_t size)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_str text = {bytes ? bytes : "", size};
	int r = orma_export_utf8(&text, &buf);
	return r < 0 ? orma_tool_fail("%s", strerror(-r))
		     : write_quoted(file, text.data, text.size);
}

static int write_hex(struct orma_export_file *file, const unsigned char *bytes, size_t size)
{
	int status = 0;
	for (size_t i = 0; i < size && status == 0; i++) {
		char digits[3];
		snprintf(digits, sizeof(digits), "%02x", bytes[i]);
		status = orma_export_file_write(file, digits, 2);
	}
	return status;
}

static int write_value(struct orma_export_file *file, sqlite3_stmt *rows, int column)
{
	char number[40];
	switch (sqlite3_column_type(rows, column)) {
	case SQLITE_INTEGER:
		snprintf(number, sizeof(number), "%lld",
			 (long long)sqlite3_column_int64(rows, column));
		break;
	case SQLITE_FLOAT:
		snprintf(number, sizeof(number), "%.17g", sqlite3_column_double(rows, column));
		break;
	case SQLITE_TEXT:
		return write_text(file, sqlite3_column_blob(rows, column),
				  (size_t)sqlite3_column_bytes(rows, column));
	case SQLITE_BLOB:
		return write_hex(file, sqlite3_column_blob(rows, column),
				 (size_t)sqlite3_column_bytes(rows, column));
	default:
		return 0;
	}
	return orma_export_file_write(file, number, strlen(number));
}

static int write_row(struct orma_export_file *file, sqlite3_stmt *rows, bool is_header)
{
	int status = 0;
	for (int i = 0; i < sqlite3_column_count(rows) && status == 0; i++) {
		if (i > 0)
			status = orma_export_file_write(file, ",", 1);
		const char *name = sqlite3_column_name(rows, i);
		if (status == 0)
			status = is_header ? write_text(file, name, strlen(name))
					   : write_value(file, rows, i);
	}
	return status ? status : orma_export_file_write(file, "\r\n", 2);
}

static int write_table(void *ctx, const char *name, sqlite3_stmt *rows)
{
	const struct orma_export_options *options = ctx;
	struct orma_export_file file;
	char path[PATH_MAX];
	int more = 0;
	if ((size_t)snprintf(path, sizeof(path), "%s/%s.csv", options->path, name) >= sizeof(path))
		return orma_tool_fail("%s: the path is too long", options->path);
	int status = orma_export_file_open(&file, path);
	if (status == 0)
		status = write_row(&file, rows, true);
	while (status == 0 && (more = orma_export_step(rows)) > 0)
		status = write_row(&file, rows, false);
	if (status == 0)
		status = more < 0 ? ORMA_EXIT_FAILURE : orma_export_file_finish(&file);
	orma_export_file_done(&file);
	return status;
}

int orma_export_csv(struct orma_trace_database *database, const struct orma_export_options *options)
{
	int status = orma_export_folder(options->path);
	return status ? status
		      : orma_export_each_table(database, options, write_table,
					       (void *)(uintptr_t)options);
}
