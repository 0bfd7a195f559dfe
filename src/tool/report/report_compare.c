/* SPDX-License-Identifier: Apache-2.0
 * report_compare.c - what differs between two traces, or two groups of them, and what each side is.
 *
 * The tables of `orma diff` come first. Below them is the report of each side's first run, so that a reader sees what was
 * recorded, and what was lost. Only one trace is loaded at a time; the reports of both wait in a buffer for the tables.
 */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "tool/ask/diff_tables.h"
#include "tool/ask/units.h"
#include "tool/report/html.h"
#include "tool/report/report.h"
#include "tool/report/report_profiles.h"
#include "tool/tool.h"
#include "tool/trace/trace_input.h"

struct comparison {
	const struct orma_report_run_options *options;
	const struct orma_diff_options *sides;
	struct orma_buf reports;
	struct orma_profile_trees profiles; /* The first run of each side has them. */
	bool has_failed;
};

static const char *name_of(const struct orma_diff_options *sides, size_t side, int idx)
{
	return orma_report_base_name(orma_trace_input_name(sides->paths[side][idx]));
}

static int append_title(struct orma_buf *html, const char *letter, const char *name)
{
	int r = orma_base_buf_printf(html, "<h2>%s: ", letter);
	if (r == 0)
		r = orma_html_append_text(html, orma_base_str(name));
	return r ? r : orma_base_buf_append_str(html, "</h2>\n");
}

static int add_trace(void *ctx, size_t side, int idx, struct orma_trace_database *database)
{
	struct comparison *comparison = ctx;
	const char *name = name_of(comparison->sides, side, idx);
	if (idx > 0)
		return 0;
	int r = orma_profile_trees_add(&comparison->profiles, database, (unsigned)side);
	if (r == 0)
		r = append_title(&comparison->reports, side == 0 ? "A" : "B", name);
	return r ? r
		 : orma_report_append_trace(database, name, comparison->options,
					    &comparison->reports, &comparison->has_failed);
}

/* Lists the traces of a side with their lengths. */
static int append_side(const struct orma_diff_tables *tables, size_t side, struct orma_buf *html)
{
	int r = orma_base_buf_printf(html, "<dt>%s</dt>", side == 0 ? "A" : "B");
	for (int i = 0; i < tables->options->counts[side] && r == 0; i++) {
		char length[ORMA_UNIT_BYTES];
		r = orma_base_buf_append_str(html, "<dd>");
		if (r == 0)
			r = orma_html_append_text(html,
						  orma_base_str(name_of(tables->options, side, i)));
		if (r == 0)
			r = orma_base_buf_printf(
				html, ", %s</dd>\n",
				orma_units_duration(tables->lengths_ns[side][i], length));
	}
	return r;
}

static int append_differences(const struct orma_diff_tables *tables, struct orma_buf *html)
{
	char text[ORMA_DIFF_END_BYTES];
	int r = orma_base_buf_append_str(html, "<dl>\n");
	for (size_t side = 0; side < 2 && r == 0; side++)
		r = append_side(tables, side, html);
	if (r == 0)
		r = orma_base_buf_append_str(html, "</dl>\n");
	for (size_t kind = 0; kind < ORMA_DIFF_KINDS && r == 0; kind++)
		r = orma_html_append_table(html, &tables->tables[kind]);
	if (r == 0)
		r = orma_base_buf_append_str(html, "<p>");
	if (r == 0)
		r = orma_html_append_text(html, orma_base_str(orma_diff_tables_end(tables, text)));
	return r ? r : orma_base_buf_append_str(html, "</p>\n");
}

static int append_all(const struct comparison *comparison, const struct orma_diff_tables *tables,
		      struct orma_str title, struct orma_buf *html)
{
	int r = orma_report_append_begin(comparison->options, title, html);
	if (r == 0)
		r = append_differences(tables, html);
	if (r == 0)
		r = orma_report_append_profiles(&comparison->profiles, true,
						(size_t)comparison->options->top, html);
	if (r == 0)
		r = orma_base_buf_append(html, comparison->reports.data, comparison->reports.size);
	return r ? r : orma_report_append_end(&comparison->profiles, true, html);
}

int orma_report_compare(const struct orma_report_run_options *options,
			const struct orma_diff_options *sides)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf html = {0};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf title = {0};
	struct comparison comparison = {.options = options, .sides = sides};
	struct orma_diff_tables tables;
	orma_profile_trees_init(&comparison.profiles);
	const char *first = name_of(sides, 0, 0);
	int status = orma_diff_tables_make(sides, add_trace, &comparison, &tables);
	int r = status == ORMA_EXIT_OK
			? orma_base_buf_printf(&title, "%s and %s", first, name_of(sides, 1, 0))
			: 0;
	if (status == ORMA_EXIT_OK && r == 0)
		r = append_all(&comparison, &tables, orma_base_buf_str(&title), &html);
	orma_diff_tables_done(&tables);
	orma_base_buf_done(&comparison.reports);
	orma_profile_trees_done(&comparison.profiles);
	if (r < 0)
		return orma_tool_fail("%s: %s", first, strerror(-r));
	if (status == ORMA_EXIT_OK)
		status = orma_report_write(options, first, &html);
	return status == ORMA_EXIT_OK && comparison.has_failed ? ORMA_EXIT_FAILURE : status;
}
