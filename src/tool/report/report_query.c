/* SPDX-License-Identifier: Apache-2.0
 * report_query.c - the rows of a user's query as a table, with the query that made it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "answers/trace_database.h"
#include "base/macros.h"
#include "sql/result.h"
#include "tool/report/html.h"
#include "tool/report/report.h"
#include "tool/tool.h"

enum { ROWS_MAX = 10000 };

struct output {
	struct orma_buf *html;
	uint64_t rows; /* the statement has had so many */
};

static int begin_rows(void *ctx, const char *const *names, size_t column_count)
{
	struct output *output = ctx;
	output->rows = 0;
	int r = orma_base_buf_append_str(output->html, "<table><thead><tr>");
	for (size_t i = 0; i < column_count && r == 0; i++) {
		r = orma_base_buf_append_str(output->html, "<th scope=\"col\">");
		if (r == 0)
			r = orma_html_append_text(output->html, orma_base_str(names[i]));
		if (r == 0)
			r = orma_base_buf_append_str(output->html, "</th>");
	}
	return r ? r : orma_base_buf_append_str(output->html, "</tr></thead><tbody>\n");
}

static int append_value(struct orma_buf *html, const struct orma_value *value)
{
	switch (value->kind) {
	case ORMA_VALUE_NULL:
		return orma_base_buf_append_str(html, "<td class=\"null\">NULL</td>");
	case ORMA_VALUE_INT:
		return orma_base_buf_printf(
			html, "<td class=\"number\" data-value=\"%" PRId64 "\">%" PRId64 "</td>",
			value->integer, value->integer);
	case ORMA_VALUE_DOUBLE:
		return orma_base_buf_printf(html,
					    "<td class=\"number\" data-value=\"%.15g\">%.15g</td>",
					    value->real, value->real);
	case ORMA_VALUE_BLOB:
		return orma_base_buf_printf(html, "<td>%zu bytes</td>", value->bytes.size);
	default:
		break;
	}
	int r = orma_base_buf_append_str(html, "<td>");
	if (r == 0)
		r = orma_html_append_text(html, value->bytes);
	return r ? r : orma_base_buf_append_str(html, "</td>");
}

static int add_row(void *ctx, const struct orma_value *values, size_t column_count)
{
	struct output *output = ctx;
	if (++output->rows > ROWS_MAX)
		return 0;
	int r = orma_base_buf_append_str(output->html, "<tr>");
	for (size_t i = 0; i < column_count && r == 0; i++)
		r = append_value(output->html, &values[i]);
	return r ? r : orma_base_buf_append_str(output->html, "</tr>\n");
}

static int end_rows(void *ctx)
{
	struct output *output = ctx;
	int r = orma_base_buf_append_str(output->html, "</tbody></table>\n");
	if (r == 0 && output->rows == 0)
		r = orma_base_buf_append_str(output->html, "<p>There are no rows.</p>\n");
	if (r == 0 && output->rows > ROWS_MAX)
		r = orma_base_buf_printf(output->html,
					 "<p>%" PRIu64 " more rows were left out.</p>\n",
					 output->rows - ROWS_MAX);
	return r;
}

static int append_texts(const struct orma_report_query *query, struct orma_buf *html)
{
	int r = orma_base_buf_append_str(html, "<h3>");
	if (r == 0)
		r = orma_html_append_text(html, query->title);
	if (r == 0)
		r = orma_base_buf_append_str(html, "</h3><details><summary>SQL</summary><pre>");
	if (r == 0)
		r = orma_html_append_text(html, orma_base_str(query->text));
	return r ? r : orma_base_buf_append_str(html, "</pre></details>\n");
}

int orma_report_append_query(struct orma_trace_database *database,
			     const struct orma_report_query *query, struct orma_buf *html,
			     bool *ret_failed)
{
	struct output output = {.html = html};
	const struct orma_result_sink sink = {
		.ctx = &output, .begin = begin_rows, .row = add_row, .end = end_rows};
	struct orma_error error = {0};
	int r = append_texts(query, html);
	size_t size = html->size;
	if (r == 0)
		r = orma_sql_run(database->sql, orma_base_str(query->text), &sink, &error);
	if (r != -EINVAL)
		return r;
	/* The query may have failed between the ends of elements. */
	html->size = size;
	*ret_failed = true;
	/* The lines behind the first show the place in the text. */
	orma_tool_warn("%.*s: %.*s", (int)query->title.size, query->title.data,
		       (int)strcspn(error.message, "\n"), error.message);
	r = orma_base_buf_append_str(html, "<p class=\"error\">The query failed:</p>\n<pre>");
	if (r == 0)
		r = orma_html_append_text(html, orma_base_str(error.message));
	return r ? r : orma_base_buf_append_str(html, "</pre>\n");
}
