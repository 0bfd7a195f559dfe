/* SPDX-License-Identifier: Apache-2.0
 * trace_api.c - the public functions of liborma-trace, over the engine that the command uses.
 */
#include <errno.h>
#include <fcntl.h>
#include <orma-trace/trace.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/error_message.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/options.h"
#include "codec/unpack.h"
#include "sql/script.h"
#include "store/grow.h"

struct orma_trace {
	struct orma_trace_database *database;
	int fd;
};

/* The value of a parameter. */
struct query_value {
	int type; /* enum orma_query_type */
	int64_t integer;
	double real;
	char *bytes; /* the bytes of a text or a blob */
	size_t size;
};

struct orma_query {
	struct orma_trace *trace;
	struct orma_sql_script *script;
	bool has_statement, has_row;
	bool is_at_end; /* the last row of the statement was read */
	struct query_value *values;
	uint32_t value_count, value_capacity;
};

/* Fills what the caller's struct has room for. Returns the code. */
static int fail(struct orma_trace_error *reterr, int code, const struct orma_error *error,
		uint32_t line, uint32_t column)
{
	struct orma_trace_error whole = {.code = code, .line = line, .column = column};
	if (!reterr || reterr->struct_size < sizeof(whole.struct_size))
		return code;
	whole.struct_size = reterr->struct_size;
	snprintf(whole.message, sizeof(whole.message), "%s",
		 error && error->message[0] ? error->message : orma_base_error_words(code));
	size_t size = ORMA_MIN(reterr->struct_size, sizeof(whole));
	memcpy(reterr, &whole, size);
	/* A message that does not fit an older, shorter struct still ends. */
	if (size > offsetof(struct orma_trace_error, message))
		((char *)reterr)[size - 1] = '\0';
	return code;
}

static int open_database(struct orma_trace *trace, const struct orma_trace_open_options *options,
			 struct orma_trace_error *reterr)
{
	struct orma_error error = {0};
	struct orma_trace_options inner = {
		.memory_bytes = (size_t)ORMA_MIN(options->memory_bytes, (uint64_t)SIZE_MAX),
		.unpack = orma_codec_unpack,
		.has_no_raw_events = options->without_ftrace_events != 0,
		.progress = options->progress,
		.progress_ctx = options->ctx};
	int r = orma_trace_database_open(trace->fd, &inner, &trace->database, &error);
	return r < 0 ? fail(reterr, r, &error, 0, 0) : 0;
}

static int open_owned(int fd, const struct orma_trace_open_options *options,
		      struct orma_trace **ret, struct orma_trace_error *reterr)
{
	struct orma_trace_open_options whole = {0};
	int r = options ? orma_base_options_copy(&whole, sizeof(whole), options) : 0;
	struct orma_trace *trace = r == 0 ? orma_base_zalloc(sizeof(*trace)) : NULL;
	if (r < 0 || !trace) {
		orma_base_fd_close(fd);
		return fail(reterr, r < 0 ? r : -ENOMEM, NULL, 0, 0);
	}
	trace->fd = fd;
	r = open_database(trace, &whole, reterr);
	if (trace->database)
		*ret = trace;
	else
		orma_trace_close(trace);
	return r;
}

int orma_trace_open_fd(int fd, const struct orma_trace_open_options *options,
		       struct orma_trace **ret, struct orma_trace_error *reterr)
{
	if (!ret)
		return fail(reterr, -EINVAL, NULL, 0, 0);
	*ret = NULL;
	int own = orma_base_fd_duplicate(fd);
	return own < 0 ? fail(reterr, own, NULL, 0, 0) : open_owned(own, options, ret, reterr);
}

int orma_trace_open(const char *path, const struct orma_trace_open_options *options,
		    struct orma_trace **ret, struct orma_trace_error *reterr)
{
	if (!path || !ret)
		return fail(reterr, -EINVAL, NULL, 0, 0);
	*ret = NULL;
	int fd = orma_base_fd_avoid_standard(open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC));
	return fd < 0 ? fail(reterr, -errno, NULL, 0, 0) : open_owned(fd, options, ret, reterr);
}

void orma_trace_close(struct orma_trace *trace)
{
	if (!trace)
		return;
	orma_trace_database_free(trace->database);
	orma_base_fd_close(trace->fd);
	orma_base_free(trace);
}

void orma_trace_interrupt(struct orma_trace *trace)
{
	if (trace)
		orma_sql_interrupt(trace->database->sql);
}

int orma_trace_add_module(struct orma_trace *trace, const char *name, const char *text, size_t size)
{
	if (!trace || !name || (!text && size > 0))
		return -EINVAL;
	return orma_modules_add(&trace->database->modules, name, (struct orma_str){text, size},
				false);
}

int orma_query_new(struct orma_trace *trace, const char *text, size_t size, struct orma_query **ret)
{
	if (!trace || (!text && size > 0) || !ret)
		return -EINVAL;
	*ret = NULL;
	struct orma_query *query = orma_base_zalloc(sizeof(*query));
	if (!query)
		return -ENOMEM;
	int r = orma_sql_script_new(trace->database->sql, (struct orma_str){text ? text : "", size},
				    &query->script);
	if (r < 0) {
		orma_base_free(query);
		return r;
	}
	query->trace = trace;
	*ret = query;
	return 0;
}

void orma_query_free(struct orma_query *query)
{
	if (!query)
		return;
	orma_sql_script_free(query->script);
	for (uint32_t i = 0; i < query->value_count; i++)
		orma_base_free(query->values[i].bytes);
	orma_base_free(query->values);
	orma_base_free(query);
}

static int bind_value(sqlite3_stmt *statement, int number, const struct query_value *value)
{
	switch (value->type) {
	case ORMA_QUERY_INT:
		return sqlite3_bind_int64(statement, number, value->integer);
	case ORMA_QUERY_DOUBLE:
		return sqlite3_bind_double(statement, number, value->real);
	case ORMA_QUERY_TEXT:
		return sqlite3_bind_text64(statement, number, value->bytes, value->size,
					   SQLITE_TRANSIENT, SQLITE_UTF8);
	case ORMA_QUERY_BLOB:
		return sqlite3_bind_blob64(statement, number, value->bytes, value->size,
					   SQLITE_TRANSIENT);
	default:
		return sqlite3_bind_null(statement, number);
	}
}

/* Parameters that have names belong to functions of SQL, and each call gives them values. The others get those of the query. */
static int bind_values(void *ctx, sqlite3_stmt *statement)
{
	const struct orma_query *query = ctx;
	int count = sqlite3_bind_parameter_count(statement), code = SQLITE_OK;
	for (int i = 1; i <= count && code == SQLITE_OK; i++) {
		const char *name = sqlite3_bind_parameter_name(statement, i);
		if ((!name || name[0] == '?') && (uint32_t)i <= query->value_count)
			code = bind_value(statement, i, &query->values[i - 1]);
	}
	return code == SQLITE_OK ? 0 : -ENOMEM;
}

/* Takes the value, with its bytes. */
static int set_value(struct orma_query *query, uint32_t number, const struct query_value *value)
{
	uint32_t before = query->value_count;
	int r = number > 0 && number <= ORMA_QUERY_VALUES_MAX
			? orma_store_grow(&query->values, number, &query->value_capacity,
					  sizeof(*query->values))
			: -EINVAL;
	if (r < 0) {
		orma_base_free(value->bytes);
		return r;
	}
	for (uint32_t i = before; i < number; i++)
		query->values[i] = (struct query_value){.type = ORMA_QUERY_NULL};
	query->value_count = ORMA_MAX(before, number);
	orma_base_free(query->values[number - 1].bytes);
	query->values[number - 1] = *value;
	return 0;
}

static int set_bytes(struct orma_query *query, uint32_t number, int type, const void *bytes,
		     size_t size)
{
	if (!query || (!bytes && size > 0))
		return -EINVAL;
	char *copy = orma_base_str_dup((struct orma_str){bytes ? bytes : "", size});
	if (!copy)
		return -ENOMEM;
	return set_value(query, number,
			 &(struct query_value){.type = type, .bytes = copy, .size = size});
}

int orma_query_set_null(struct orma_query *query, uint32_t number)
{
	return query ? set_value(query, number, &(struct query_value){.type = ORMA_QUERY_NULL})
		     : -EINVAL;
}

int orma_query_set_int(struct orma_query *query, uint32_t number, int64_t value)
{
	struct query_value whole = {.type = ORMA_QUERY_INT, .integer = value};
	return query ? set_value(query, number, &whole) : -EINVAL;
}

int orma_query_set_double(struct orma_query *query, uint32_t number, double value)
{
	struct query_value whole = {.type = ORMA_QUERY_DOUBLE, .real = value};
	return query ? set_value(query, number, &whole) : -EINVAL;
}

int orma_query_set_text(struct orma_query *query, uint32_t number, const char *text, size_t size)
{
	return set_bytes(query, number, ORMA_QUERY_TEXT, text, size);
}

int orma_query_set_blob(struct orma_query *query, uint32_t number, const void *bytes, size_t size)
{
	return set_bytes(query, number, ORMA_QUERY_BLOB, bytes, size);
}

static int fail_query(struct orma_query *query, int code, const struct orma_error *error,
		      struct orma_trace_error *reterr)
{
	uint32_t line = 0, column = 0;
	query->has_statement = query->has_row = false;
	if (code == -EINVAL)
		orma_sql_script_fault(query->script, &line, &column);
	return fail(reterr, code, error, line, column);
}

int orma_query_next(struct orma_query *query, struct orma_trace_error *reterr)
{
	struct orma_error error = {0};
	if (!query)
		return fail(reterr, -EINVAL, NULL, 0, 0);
	query->has_row = false;
	struct orma_sql *sql = query->trace->database->sql;
	orma_sql_set_binder(sql, bind_values, query);
	int r = orma_sql_script_next(query->script, &error);
	orma_sql_set_binder(sql, NULL, NULL);
	query->has_statement = r > 0;
	query->is_at_end = false;
	return r < 0 ? fail_query(query, r, &error, reterr) : r;
}

int orma_query_step(struct orma_query *query, struct orma_trace_error *reterr)
{
	struct orma_error error = {0};
	if (!query)
		return fail(reterr, -EINVAL, NULL, 0, 0);
	/* SQLite would begin a statement anew behind its last row. */
	bool has_more = query->has_statement && !query->is_at_end;
	int r = has_more ? orma_sql_script_step(query->script, &error) : 0;
	query->has_row = r > 0;
	query->is_at_end = r <= 0;
	return r < 0 ? fail_query(query, r, &error, reterr) : r;
}

static sqlite3_stmt *statement_of(const struct orma_query *query)
{
	return query && query->has_statement ? orma_sql_script_statement(query->script) : NULL;
}

size_t orma_query_column_count(const struct orma_query *query)
{
	sqlite3_stmt *statement = statement_of(query);
	return statement ? (size_t)sqlite3_column_count(statement) : 0;
}

const char *orma_query_column_name(const struct orma_query *query, size_t column)
{
	return column < orma_query_column_count(query)
		       ? sqlite3_column_name(statement_of(query), (int)column)
		       : NULL;
}

/* Returns the statement when the current row has the column. */
static sqlite3_stmt *row_of(const struct orma_query *query, size_t column)
{
	return query && query->has_row && column < orma_query_column_count(query)
		       ? statement_of(query)
		       : NULL;
}

int orma_query_type(const struct orma_query *query, size_t column)
{
	sqlite3_stmt *row = row_of(query, column);
	switch (row ? sqlite3_column_type(row, (int)column) : SQLITE_NULL) {
	case SQLITE_INTEGER:
		return ORMA_QUERY_INT;
	case SQLITE_FLOAT:
		return ORMA_QUERY_DOUBLE;
	case SQLITE_TEXT:
		return ORMA_QUERY_TEXT;
	case SQLITE_BLOB:
		return ORMA_QUERY_BLOB;
	default:
		return ORMA_QUERY_NULL;
	}
}

int64_t orma_query_int(const struct orma_query *query, size_t column)
{
	sqlite3_stmt *row = row_of(query, column);
	return row ? sqlite3_column_int64(row, (int)column) : 0;
}

double orma_query_double(const struct orma_query *query, size_t column)
{
	sqlite3_stmt *row = row_of(query, column);
	return row ? sqlite3_column_double(row, (int)column) : 0;
}

const char *orma_query_text(const struct orma_query *query, size_t column, size_t *ret_size)
{
	sqlite3_stmt *row = row_of(query, column);
	const char *text = row ? (const char *)sqlite3_column_text(row, (int)column) : NULL;
	if (ret_size)
		*ret_size = text ? (size_t)sqlite3_column_bytes(row, (int)column) : 0;
	return text;
}

const void *orma_query_blob(const struct orma_query *query, size_t column, size_t *ret_size)
{
	sqlite3_stmt *row = row_of(query, column);
	const void *bytes = row ? sqlite3_column_blob(row, (int)column) : NULL;
	if (ret_size)
		*ret_size = bytes ? (size_t)sqlite3_column_bytes(row, (int)column) : 0;
	return bytes;
}
