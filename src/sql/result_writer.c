/* SPDX-License-Identifier: Apache-2.0
 * result_writer.c - each value is appended to a buffer; a table waits for its first rows to know its widths.
 */
#include "sql/result_writer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_writer.h"
#include "base/macros.h"
#include "base/utf8.h"
#include "sql/json_text.h"

/* A table takes its widths from this many rows; a later value that is wider moves its line. */
enum { TABLE_ROWS_MAX = 1000, TABLE_WIDTH_MAX = 100 };

void orma_sql_writer_done(struct orma_result_writer *writer)
{
	orma_base_buf_done(&writer->names);
	orma_base_buf_done(&writer->cells);
	orma_base_free(writer->widths);
	orma_base_free(writer->are_numbers);
	writer->widths = NULL;
	writer->are_numbers = NULL;
}

static int append(struct orma_buf *out, const char *text)
{
	return orma_base_buf_append_str(out, text);
}

static int append_hex(struct orma_buf *out, struct orma_str bytes)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < bytes.size; i++)
		r = orma_base_buf_printf(out, "%02x", (unsigned char)bytes.data[i]);
	return r;
}

/* Texts are not escaped: that is how Trace Processor writes them, and tests compare bytes. */
static int append_csv(struct orma_buf *out, const struct orma_value *value)
{
	switch (value->kind) {
	case ORMA_VALUE_INT:
		return orma_base_buf_printf(out, "%lld", (long long)value->integer);
	case ORMA_VALUE_DOUBLE:
		return orma_base_buf_printf(out, "%f", value->real);
	case ORMA_VALUE_TEXT: {
		/* A C string ends at its first NUL. */
		int r = orma_base_buf_append(out, "\"", 1);
		if (r == 0)
			r = orma_base_buf_append(out, value->bytes.data,
						 strnlen(value->bytes.data, value->bytes.size));
		return r == 0 ? orma_base_buf_append(out, "\"", 1) : r;
	}
	case ORMA_VALUE_BLOB:
		return append(out, "\"<raw bytes>\"");
	default:
		return append(out, "\"[NULL]\"");
	}
}

static int append_json(struct orma_buf *out, const struct orma_value *value)
{
	switch (value->kind) {
	case ORMA_VALUE_INT:
		return orma_base_buf_printf(out, "%lld", (long long)value->integer);
	case ORMA_VALUE_DOUBLE:
		return orma_json_append_double(out, value->real);
	case ORMA_VALUE_TEXT:
		return orma_sql_append_json_text(out, value->bytes);
	case ORMA_VALUE_BLOB: {
		int r = orma_base_buf_append(out, "\"", 1);
		if (r == 0)
			r = append_hex(out, value->bytes);
		return r == 0 ? orma_base_buf_append(out, "\"", 1) : r;
	}
	default:
		return append(out, "null");
	}
}

/* Text for people: nothing in it acts on the terminal. A `|` is escaped for Markdown. */
static int append_visible(struct orma_buf *out, struct orma_str text, bool escapes_bars)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < text.size;) {
		unsigned char c = (unsigned char)text.data[i];
		size_t size = orma_base_utf8_visible_size(
			(struct orma_str){text.data + i, text.size - i});
		if (c == '\n')
			r = append(out, escapes_bars ? "<br>" : "\\n");
		else if (c == '\t')
			r = append(out, "\\t");
		else if (size == 0)
			r = orma_base_buf_printf(out, "\\x%02x", c);
		else if (c == '|' && escapes_bars)
			r = append(out, "\\|");
		else
			r = orma_base_buf_append(out, text.data + i, size);
		i += size > 0 ? size : 1;
	}
	return r;
}

static int append_plain(struct orma_buf *out, const struct orma_value *value, bool escapes_bars)
{
	switch (value->kind) {
	case ORMA_VALUE_TEXT:
		return append_visible(out, value->bytes, escapes_bars);
	case ORMA_VALUE_BLOB:
		return append_hex(out, value->bytes);
	case ORMA_VALUE_DOUBLE:
		return isfinite(value->real) ? orma_json_append_double(out, value->real)
					     : orma_base_buf_printf(out, "%g", value->real);
	case ORMA_VALUE_INT:
		return orma_base_buf_printf(out, "%lld", (long long)value->integer);
	default:
		return append(out, "[NULL]");
	}
}

/* Counts characters; wide ones count as one. */
static size_t width_of(const char *text)
{
	size_t width = 0;
	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static int append_padding(struct orma_buf *out, size_t count, char c)
{
	int r = 0;
	for (; r == 0 && count > 0; count--)
		r = orma_base_buf_append(out, &c, 1);
	return r;
}

/* Writes one line of a table: numbers are right-aligned, and nothing pads the last column on its right. */
static int write_line(struct orma_result_writer *writer, const char **cell)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < writer->column_count; i++) {
		size_t width = width_of(*cell);
		size_t padding = writer->widths[i] > width ? writer->widths[i] - width : 0;
		bool is_last = i + 1 == writer->column_count;
		if (i > 0)
			r = append(writer->out, "  ");
		if (r == 0 && writer->are_numbers[i])
			r = append_padding(writer->out, padding, ' ');
		if (r == 0)
			r = append(writer->out, *cell);
		if (r == 0 && !writer->are_numbers[i] && !is_last)
			r = append_padding(writer->out, padding, ' ');
		*cell += strlen(*cell) + 1;
	}
	return r == 0 ? orma_base_buf_append(writer->out, "\n", 1) : r;
}

static int write_rule(struct orma_result_writer *writer)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < writer->column_count; i++) {
		if (i > 0)
			r = append(writer->out, "  ");
		if (r == 0)
			r = append_padding(writer->out, writer->widths[i], '-');
	}
	return r == 0 ? orma_base_buf_append(writer->out, "\n", 1) : r;
}

/* Writes the rows that wait; before the first ones, the line of names, which are the first row. */
static int flush_table(struct orma_result_writer *writer)
{
	const char *cell = (const char *)writer->cells.data;
	int r = 0;
	for (size_t row = 0; r == 0 && row < writer->waiting; row++) {
		r = write_line(writer, &cell);
		if (r == 0 && row == 0 && !writer->has_widths)
			r = write_rule(writer);
	}
	writer->has_widths = true;
	writer->waiting = 0;
	writer->cells.size = 0;
	return r;
}

/* Ends the cell of a row that waits. */
static int end_cell(struct orma_result_writer *writer, size_t column, size_t begin)
{
	int r = orma_base_buf_append(&writer->cells, "", 1);
	if (r < 0)
		return r;
	size_t width = width_of((const char *)writer->cells.data + begin);
	if (!writer->has_widths)
		writer->widths[column] =
			ORMA_MAX(writer->widths[column], ORMA_MIN(width, (size_t)TABLE_WIDTH_MAX));
	return 0;
}

static int begin_table(struct orma_result_writer *writer, const char *const *names)
{
	orma_base_free(writer->widths);
	orma_base_free(writer->are_numbers);
	writer->widths = orma_base_alloc_array(writer->column_count + 1, sizeof(*writer->widths));
	writer->are_numbers =
		orma_base_alloc_array(writer->column_count + 1, sizeof(*writer->are_numbers));
	if (!writer->widths || !writer->are_numbers)
		return -ENOMEM;
	writer->has_widths = false;
	writer->cells.size = 0;
	int r = 0;
	for (size_t i = 0; r == 0 && i < writer->column_count; i++) {
		size_t begin = writer->cells.size;
		r = append_visible(&writer->cells, orma_base_str(names[i]), false);
		if (r == 0)
			r = end_cell(writer, i, begin);
	}
	writer->waiting = 1;
	return r;
}

static int table_row(struct orma_result_writer *writer, const struct orma_value *values)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < writer->column_count; i++) {
		size_t begin = writer->cells.size;
		if (!writer->has_widths)
			writer->are_numbers[i] |= values[i].kind == ORMA_VALUE_INT ||
						  values[i].kind == ORMA_VALUE_DOUBLE;
		r = append_plain(&writer->cells, &values[i], false);
		if (r == 0)
			r = end_cell(writer, i, begin);
	}
	if (r == 0)
		writer->waiting++;
	return r == 0 && (writer->has_widths || writer->waiting > TABLE_ROWS_MAX)
		       ? flush_table(writer)
		       : r;
}

static int begin_csv(struct orma_result_writer *writer, const char *const *names)
{
	int r = writer->statements > 0 ? append(writer->out, "\n") : 0;
	for (size_t i = 0; r == 0 && i < writer->column_count; i++) {
		r = append(writer->out, i > 0 ? ",\"" : "\"");
		if (r == 0)
			r = append(writer->out, names[i]);
		if (r == 0)
			r = append(writer->out, "\"");
	}
	return r == 0 ? append(writer->out, "\n") : r;
}

static int begin_markdown(struct orma_result_writer *writer, const char *const *names)
{
	int r = append(writer->out, writer->statements > 0 ? "\n|" : "|");
	for (size_t i = 0; r == 0 && i < writer->column_count; i++) {
		r = append(writer->out, " ");
		if (r == 0)
			r = append_visible(writer->out, orma_base_str(names[i]), true);
		if (r == 0)
			r = append(writer->out, " |");
	}
	if (r == 0)
		r = append(writer->out, "\n|");
	for (size_t i = 0; r == 0 && i < writer->column_count; i++)
		r = append(writer->out, " --- |");
	return r == 0 ? append(writer->out, "\n") : r;
}

static int begin_json(struct orma_result_writer *writer, const char *const *names)
{
	int r = 0;
	writer->names.size = 0;
	for (size_t i = 0; r == 0 && i < writer->column_count; i++) {
		r = orma_sql_append_json_text(&writer->names, orma_base_str(names[i]));
		if (r == 0)
			r = orma_base_buf_append(&writer->names, ":", 2);
	}
	return r == 0 ? append(writer->out, "[") : r;
}

int orma_sql_writer_begin(void *ctx, const char *const *names, size_t column_count)
{
	struct orma_result_writer *writer = ctx;
	writer->column_count = column_count;
	writer->rows = 0;
	writer->is_suppressed = column_count == 1 && strcmp(names[0], "suppress_query_output") == 0;
	if (writer->is_suppressed)
		return 0;
	int r;
	if (writer->format == ORMA_RESULT_CSV) {
		r = begin_csv(writer, names);
	} else if (writer->format == ORMA_RESULT_JSON) {
		r = begin_json(writer, names);
	} else if (writer->format == ORMA_RESULT_MARKDOWN) {
		r = begin_markdown(writer, names);
	} else {
		r = writer->statements > 0 ? append(writer->out, "\n") : 0;
		if (r == 0)
			r = begin_table(writer, names);
	}
	writer->statements++;
	return r;
}

static int json_row(struct orma_result_writer *writer, const struct orma_value *values)
{
	const char *name = (const char *)writer->names.data;
	int r = append(writer->out, writer->rows > 0 ? ",\n{" : "\n{");
	for (size_t i = 0; r == 0 && i < writer->column_count; i++) {
		if (i > 0)
			r = append(writer->out, ",");
		if (r == 0)
			r = append(writer->out, name);
		if (r == 0)
			r = append_json(writer->out, &values[i]);
		name += strlen(name) + 1;
	}
	return r == 0 ? append(writer->out, "}") : r;
}

static int csv_row(struct orma_result_writer *writer, const struct orma_value *values)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < writer->column_count; i++) {
		if (i > 0)
			r = append(writer->out, ",");
		if (r == 0)
			r = append_csv(writer->out, &values[i]);
	}
	return r == 0 ? append(writer->out, "\n") : r;
}

static int markdown_row(struct orma_result_writer *writer, const struct orma_value *values)
{
	int r = append(writer->out, "|");
	for (size_t i = 0; r == 0 && i < writer->column_count; i++) {
		r = append(writer->out, " ");
		if (r == 0)
			r = append_plain(writer->out, &values[i], true);
		if (r == 0)
			r = append(writer->out, " |");
	}
	return r == 0 ? append(writer->out, "\n") : r;
}

int orma_sql_writer_row(void *ctx, const struct orma_value *values, size_t column_count)
{
	struct orma_result_writer *writer = ctx;
	int r = 0;
	(void)column_count;
	if (writer->is_suppressed)
		return 0;
	switch (writer->format) {
	case ORMA_RESULT_CSV:
		r = csv_row(writer, values);
		break;
	case ORMA_RESULT_JSON:
		r = json_row(writer, values);
		break;
	case ORMA_RESULT_MARKDOWN:
		r = markdown_row(writer, values);
		break;
	case ORMA_RESULT_TABLE:
		r = table_row(writer, values);
		break;
	}
	writer->rows++;
	return r;
}

int orma_sql_writer_end(void *ctx)
{
	struct orma_result_writer *writer = ctx;
	if (writer->is_suppressed)
		return 0;
	if (writer->format == ORMA_RESULT_TABLE)
		return flush_table(writer);
	if (writer->format == ORMA_RESULT_JSON)
		return append(writer->out, writer->rows > 0 ? "\n]\n" : "]\n");
	return 0;
}
