/* SPDX-License-Identifier: Apache-2.0
 * summary_text.c - the page of `orma summary` on a terminal or in a file of text.
 */
#include <stdio.h>

#include "tool/ask/summary_facts.h"
#include "tool/print.h"

static void print_heading(void *ctx, struct orma_str text)
{
	(void)ctx;
	orma_tool_print_line(stdout, "%.*s", (int)text.size, text.data);
}

static void print_fact(void *ctx, const char *name, struct orma_str text)
{
	const struct orma_summary *summary = ctx;
	char first[16];
	snprintf(first, sizeof(first), "  %-8s  ", name);
	orma_page_print_text(&summary->page, first, text, 4);
}

static void print_title(void *ctx, const char *text)
{
	(void)ctx;
	orma_tool_print_line(stdout, "%s", "");
	orma_tool_print_line(stdout, "%s", text);
}

static void print_item(void *ctx, const char *length, struct orma_str text)
{
	struct orma_summary *summary = ctx;
	orma_tool_print_line(
		stdout, "%8s  %s", length,
		orma_page_fit(&summary->page, &summary->arena, text, summary->page.width - 10));
}

static void print_detail(void *ctx, struct orma_str text)
{
	const struct orma_summary *summary = ctx;
	orma_page_print_text(&summary->page, "          ", text, 2);
}

static void print_table(void *ctx, const struct orma_fact_table *table)
{
	const struct orma_summary *summary = ctx;
	orma_fact_table_print(table, &summary->page);
}

static void print_sentence(void *ctx, const char *text)
{
	const struct orma_summary *summary = ctx;
	orma_page_print_text(&summary->page, "  ", orma_base_str(text), 3);
}

static void print_paragraph(void *ctx, const char *text)
{
	const struct orma_summary *summary = ctx;
	orma_tool_print_line(stdout, "%s", "");
	orma_page_print_text(&summary->page, "", orma_base_str(text), 3);
}

void orma_summary_print(struct orma_summary *summary)
{
	const struct orma_summary_sink sink = {.ctx = summary,
					       .heading = print_heading,
					       .fact = print_fact,
					       .title = print_title,
					       .item = print_item,
					       .detail = print_detail,
					       .table = print_table,
					       .sentence = print_sentence,
					       .paragraph = print_paragraph};
	summary->page = orma_page_of_output();
	orma_summary_write(summary, &sink);
}
