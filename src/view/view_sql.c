/* SPDX-License-Identifier: Apache-2.0
 * view_sql.c - the rows of the last query that has any, up to a limit.
 *
 * All rows are counted, but only so many are kept as were asked for, and no more than 32 MB of text, because the page holds
 * them all. Integers that a double cannot hold exactly are strings, and blobs are hexadecimal digits.
 */
#include "view/view_sql.h"

#include <errno.h>

#include "base/clock_ns.h"
#include "base/error_message.h"
#include "base/json_writer.h"
#include "sql/result.h"
#include "view/json_request.h"

enum {
	LIMIT_DEFAULT = 10000,
	LIMIT_MAX = 1000000,
	TEXT_MAX_BYTES = 32 << 20,
};

struct rows {
	struct orma_buf columns, text;
	uint64_t total, kept, limit;
};

static int append_hex(struct orma_buf *out, struct orma_str bytes)
{
	int r = orma_base_buf_append_str(out, "\"");
	for (size_t i = 0; r == 0 && i < bytes.size; i++)
		r = orma_base_buf_printf(out, "%02x", (unsigned char)bytes.data[i]);
	return r ? r : orma_base_buf_append_str(out, "\"");
}

static int append_value(struct orma_buf *out, const struct orma_value *value)
{
	int r = orma_json_begin_value(out);
	if (r < 0)
		return r;
	switch (value->kind) {
	case ORMA_VALUE_INT:
		return orma_json_append_integer(out, value->integer);
	case ORMA_VALUE_DOUBLE:
		return orma_json_append_double(out, value->real);
	case ORMA_VALUE_TEXT:
		return orma_json_append_string(out, value->bytes);
	case ORMA_VALUE_BLOB:
		return append_hex(out, value->bytes);
	default:
		return orma_base_buf_append_str(out, "null");
	}
}

static int begin(void *ctx, const char *const *names, size_t column_count)
{
	struct rows *rows = ctx;
	int r = 0;
	rows->columns.size = rows->text.size = 0;
	rows->total = rows->kept = 0;
	for (size_t i = 0; r == 0 && i < column_count; i++) {
		r = i > 0 ? orma_base_buf_append_str(&rows->columns, ",") : 0;
		if (r == 0)
			r = orma_json_append_string(&rows->columns, orma_base_str(names[i]));
	}
	return r;
}

static int add_row(void *ctx, const struct orma_value *values, size_t column_count)
{
	struct rows *rows = ctx;
	/* A row that is left out is the last one that is looked at, so that those before it have no gap. */
	if (rows->total++ > rows->kept || rows->kept >= rows->limit ||
	    rows->text.size >= TEXT_MAX_BYTES)
		return 0;
	int r = orma_base_buf_append_str(&rows->text, rows->kept > 0 ? ",[" : "[");
	for (size_t i = 0; r == 0 && i < column_count; i++)
		r = append_value(&rows->text, &values[i]);
	rows->kept++;
	return r ? r : orma_base_buf_append_str(&rows->text, "]");
}

static int end(void *ctx)
{
	(void)ctx;
	return 0;
}

static int write_rows(const struct rows *rows, uint64_t time_ns, struct orma_buf *ret)
{
	int r = orma_base_buf_append_str(ret, "{\"columns\":[");
	if (r == 0 && rows->columns.size > 0)
		r = orma_base_buf_append(ret, rows->columns.data, rows->columns.size);
	if (r == 0)
		r = orma_base_buf_append_str(ret, "],\"rows\":[");
	if (r == 0 && rows->text.size > 0)
		r = orma_base_buf_append(ret, rows->text.data, rows->text.size);
	if (r < 0)
		return r;
	return orma_base_buf_printf(ret, "],\"total\":%llu,\"ms\":%.3f,\"truncated\":%s}",
				    (unsigned long long)rows->total,
				    (double)time_ns / (double)ORMA_NS_PER_MS,
				    rows->kept < rows->total ? "true" : "false");
}

/* Returns -EINVAL, or -ENOMEM. */
static int write_error(const char *message, struct orma_result_place place, struct orma_buf *ret)
{
	int r = orma_json_begin_element(ret);
	if (r == 0)
		r = orma_json_append_text(ret, "error", orma_base_str(message));
	if (r == 0 && place.line > 0)
		r = orma_json_append_number(ret, "line", place.line);
	if (r == 0 && place.line > 0)
		r = orma_json_append_number(ret, "column", place.column);
	if (r == 0)
		r = orma_base_buf_append_str(ret, "}");
	return r ? r : -EINVAL;
}

static int run(struct orma_sql *sql, struct orma_str text, struct rows *rows, struct orma_buf *ret)
{
	struct orma_result_sink sink = {rows, begin, add_row, end};
	struct orma_result_place place;
	struct orma_error error = {0};
	uint64_t start_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	int r = orma_sql_run_placed(sql, text, &sink, &place, &error);
	if (r == 0)
		return write_rows(rows, orma_base_clock_ns(CLOCK_MONOTONIC) - start_ns, ret);
	if (r == -ECANCELED || r == -ENOMEM)
		return r;
	return write_error(error.message[0] ? error.message : orma_base_error_words(r), place, ret);
}

int orma_view_sql(struct orma_sql *sql, struct orma_str request, struct orma_buf *ret)
{
	struct orma_json_request fields;
	struct orma_str text;
	double limit = LIMIT_DEFAULT;
	int r = orma_json_request_init(&fields, request);
	if (r == -ENOMEM)
		return r;
	if (r < 0 || !orma_json_request_string(&fields, "sql", &text)) {
		if (r == 0)
			orma_json_request_done(&fields);
		return write_error("The request has no text of a query.",
				   (struct orma_result_place){0}, ret);
	}
	(void)orma_json_request_number(&fields, "limit", &limit);
	struct rows rows = {.limit = limit >= LIMIT_MAX ? LIMIT_MAX
				     : limit >= 0       ? (uint64_t)limit
							: 0};
	r = run(sql, text, &rows, ret);
	orma_base_buf_done(&rows.columns);
	orma_base_buf_done(&rows.text);
	orma_json_request_done(&fields);
	return r;
}
