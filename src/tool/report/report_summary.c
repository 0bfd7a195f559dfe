/* SPDX-License-Identifier: Apache-2.0
 * report_summary.c - the page of `orma summary` as HTML: the same facts in the same words.
 *
 * Lists are opened by their first item and closed by what follows, as the parts of a summary do not say where they end.
 */
#include "tool/ask/summary_facts.h"
#include "tool/report/html.h"
#include "tool/report/report.h"

enum list { LIST_NONE, LIST_FACTS, LIST_ITEMS };

struct writer {
	struct orma_buf *html;
	enum list list;
	bool is_in_item;
	int error; /* the first failure */
};

static void put(struct writer *writer, const char *markup)
{
	if (writer->error == 0)
		writer->error = orma_base_buf_append_str(writer->html, markup);
}

static void put_text(struct writer *writer, struct orma_str text)
{
	if (writer->error == 0)
		writer->error = orma_html_append_text(writer->html, text);
}

static void put_element(struct writer *writer, const char *begin, struct orma_str text,
			const char *end)
{
	put(writer, begin);
	put_text(writer, text);
	put(writer, end);
}

static void end_item(struct writer *writer)
{
	if (writer->is_in_item)
		put(writer, "</li>\n");
	writer->is_in_item = false;
}

/* Closes the list before, and opens one of another kind. */
static void move_to(struct writer *writer, enum list list)
{
	if (writer->list == list)
		return;
	end_item(writer);
	if (writer->list != LIST_NONE)
		put(writer, writer->list == LIST_FACTS ? "</dl>\n" : "</ol>\n");
	if (list != LIST_NONE)
		put(writer, list == LIST_FACTS ? "<dl>\n" : "<ol class=\"slow\">\n");
	writer->list = list;
}

static void write_heading(void *ctx, struct orma_str text)
{
	put_element(ctx, "<p class=\"lead\">", text, "</p>\n");
}

static void write_fact(void *ctx, const char *name, struct orma_str text)
{
	move_to(ctx, LIST_FACTS);
	if (*name)
		put_element(ctx, "<dt>", orma_base_str(name), "</dt>");
	put_element(ctx, "<dd>", text, "</dd>\n");
}

static void write_title(void *ctx, const char *text)
{
	move_to(ctx, LIST_NONE);
	put_element(ctx, "<h3>", orma_base_str(text), "</h3>\n");
}

static void write_item(void *ctx, const char *length, struct orma_str text)
{
	move_to(ctx, LIST_ITEMS);
	end_item(ctx);
	put_element(ctx, "<li><b>", orma_base_str(length), "</b> ");
	put_text(ctx, text);
	((struct writer *)ctx)->is_in_item = true;
}

static void write_detail(void *ctx, struct orma_str text)
{
	put_element(ctx, "<p>", text, "</p>");
}

static void write_table(void *ctx, const struct orma_fact_table *table)
{
	struct writer *writer = ctx;
	move_to(writer, LIST_NONE);
	if (writer->error == 0)
		writer->error = orma_html_append_table(writer->html, table);
}

static void write_paragraph(void *ctx, const char *text)
{
	move_to(ctx, LIST_NONE);
	put_element(ctx, "<p>", orma_base_str(text), "</p>\n");
}

int orma_report_append_summary(struct orma_summary *summary, struct orma_buf *html)
{
	struct writer writer = {.html = html};
	const struct orma_summary_sink sink = {.ctx = &writer,
					       .heading = write_heading,
					       .fact = write_fact,
					       .title = write_title,
					       .item = write_item,
					       .detail = write_detail,
					       .table = write_table,
					       .sentence = write_paragraph,
					       .paragraph = write_paragraph};
	orma_summary_write(summary, &sink);
	move_to(&writer, LIST_NONE);
	return writer.error;
}
