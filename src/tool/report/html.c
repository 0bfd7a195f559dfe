/* SPDX-License-Identifier: Apache-2.0
 * html.c - writes text and tables of facts as HTML.
 *
 * A number is shown as the tables of the terminal show it, with three digits and a unit; the attribute data-value of its cell
 * has all digits, which the page sorts by.
 */
#include "tool/report/html.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "tool/print.h"

enum { LINE_HEIGHT = 16, LINE_STEP = 4 };

static int append_escaped(struct orma_buf *html, struct orma_str text)
{
	static const struct {
		char character;
		const char *entity;
	} entities[] = {
		{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
	size_t from = 0;
	int r = 0;
	for (size_t i = 0; i < text.size && r == 0; i++) {
		const char *entity = NULL;
		for (size_t k = 0; k < ORMA_ARRAY_SIZE(entities); k++)
			if (entities[k].character == text.data[i])
				entity = entities[k].entity;
		if (!entity)
			continue;
		r = orma_base_buf_append(html, text.data + from, i - from);
		if (r == 0)
			r = orma_base_buf_append_str(html, entity);
		from = i + 1;
	}
	return r == 0 && from < text.size
		       ? orma_base_buf_append(html, text.data + from, text.size - from)
		       : r;
}

int orma_html_append_text(struct orma_buf *html, struct orma_str text)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf visible = {0};
	int r = 0;

	while (r == 0 && text.size > 0) {
		const char *end = memchr(text.data, '\n', text.size);
		struct orma_str line = {text.data, end ? (size_t)(end - text.data) : text.size};
		visible.size = 0;
		r = orma_tool_append_visible(&visible, line);
		if (r == 0)
			r = append_escaped(html, orma_base_buf_str(&visible));
		if (r == 0 && end)
			r = orma_base_buf_append_str(html, "\n");
		size_t used = line.size + (end != NULL);
		text = (struct orma_str){text.data + used, text.size - used};
	}
	return r;
}

/* Draws the points as a line. Points that are not known leave a gap. */
static int append_line(struct orma_buf *html, const struct orma_fact *fact)
{
	double min = INFINITY, max = -INFINITY;
	for (size_t i = 0; i < fact->point_count; i++) {
		min = fmin(min, fact->points[i]);
		max = fmax(max, fact->points[i]);
	}
	int r = orma_base_buf_printf(
		html, "<svg class=\"line\" viewBox=\"0 0 %zu %d\" role=\"img\"><path d=\"",
		ORMA_MAX(fact->point_count, (size_t)1) * LINE_STEP, LINE_HEIGHT);
	bool is_open = false;
	for (size_t i = 0; i < fact->point_count && r == 0; i++) {
		double share = max > min ? (fact->points[i] - min) / (max - min) : 0;
		bool is_known = isfinite(fact->points[i]) && isfinite(share);
		if (is_known)
			r = orma_base_buf_printf(html, "%c%zu %.1f", is_open ? 'L' : 'M',
						 i * LINE_STEP,
						 LINE_HEIGHT - 1 - share * (LINE_HEIGHT - 2));
		is_open = is_known;
	}
	return r ? r : orma_base_buf_append_str(html, "\"/></svg>");
}

/* The value of a number with all its digits. */
static int append_value(struct orma_buf *html, enum orma_fact_kind kind,
			const struct orma_fact *fact)
{
	bool is_integer = kind == ORMA_FACT_COUNT || kind == ORMA_FACT_ID || kind == ORMA_FACT_NS;
	/* A number with a text is only known by it. */
	if (!fact->is_known || fact->text.data || (!is_integer && !isfinite(fact->number)))
		return 0;
	return is_integer ? orma_base_buf_printf(html, " data-value=\"%" PRId64 "\"", fact->integer)
			  : orma_base_buf_printf(html, " data-value=\"%.15g\"", fact->number);
}

static int append_number(struct orma_buf *html, struct orma_arena *arena, enum orma_fact_kind kind,
			 const struct orma_fact *fact)
{
	const char *text = orma_fact_show(arena, kind, fact);
	int r = text ? orma_base_buf_append_str(html, "<td class=\"number\"") : -ENOMEM;
	if (r == 0)
		r = append_value(html, kind, fact);
	if (r == 0)
		r = orma_base_buf_append_str(html, ">");
	return r ? r : orma_html_append_text(html, orma_base_str(text));
}

static int append_cell(struct orma_buf *html, struct orma_arena *arena, enum orma_fact_kind kind,
		       const struct orma_fact *fact)
{
	int r;
	if (kind != ORMA_FACT_LINE && kind != ORMA_FACT_TEXT) {
		r = append_number(html, arena, kind, fact);
	} else {
		r = orma_base_buf_append_str(html, "<td>");
		if (r == 0 && fact->is_known)
			r = kind == ORMA_FACT_LINE ? append_line(html, fact)
						   : orma_html_append_text(html, fact->text);
	}
	return r ? r : orma_base_buf_append_str(html, "</td>");
}

static int append_head(struct orma_buf *html, const struct orma_fact_table *table)
{
	int r = orma_base_buf_append_str(html, "<table><caption>");
	if (r == 0)
		r = orma_html_append_text(html, orma_base_str(table->title));
	if (r == 0)
		r = orma_base_buf_append_str(html, "</caption><thead><tr>");
	for (size_t i = 0; i < table->column_count && r == 0; i++) {
		bool is_number = table->columns[i].kind != ORMA_FACT_TEXT &&
				 table->columns[i].kind != ORMA_FACT_LINE;
		if (!table->columns[i].title)
			continue;
		r = orma_base_buf_printf(html, "<th scope=\"col\"%s>",
					 is_number ? " class=\"number\"" : "");
		if (r == 0)
			r = orma_html_append_text(html, orma_base_str(table->columns[i].title));
		if (r == 0)
			r = orma_base_buf_append_str(html, "</th>");
	}
	return r ? r : orma_base_buf_append_str(html, "</tr></thead><tbody>\n");
}

int orma_html_append_table(struct orma_buf *html, const struct orma_fact_table *table)
{
	struct orma_arena arena = {0};
	if (table->row_count == 0)
		return 0;
	int r = append_head(html, table);
	for (size_t row = 0; row < table->row_count && r == 0; row++) {
		r = orma_base_buf_append_str(html, "<tr>");
		for (size_t i = 0; i < table->column_count && r == 0; i++)
			if (table->columns[i].title)
				r = append_cell(html, &arena, table->columns[i].kind,
						&table->cells[row * table->column_count + i]);
		if (r == 0)
			r = orma_base_buf_append_str(html, "</tr>\n");
	}
	orma_base_arena_done(&arena);
	return r ? r : orma_base_buf_append_str(html, "</tbody></table>\n");
}

int orma_html_append_json(struct orma_buf *html, const char *id, struct orma_str json)
{
	const char *at = json.data, *end = json.data + json.size;
	int r = orma_base_buf_printf(html, "<script type=\"application/json\" id=\"%s\">", id);
	while (r == 0 && at < end) {
		const char *found = memchr(at, '<', (size_t)(end - at));
		size_t size = (size_t)((found ? found : end) - at);
		r = orma_base_buf_append(html, at, size);
		if (r == 0 && found)
			r = orma_base_buf_append_str(html, "\\u003c");
		at += size + (found != NULL);
	}
	return r ? r : orma_base_buf_append_str(html, "</script>\n");
}
