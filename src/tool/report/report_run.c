/* SPDX-License-Identifier: Apache-2.0
 * report_run.c - puts the file together.
 *
 * The file depends on nothing but the traces, the options and the version of orma, so that two of them can be compared. It
 * refers to nothing outside, and its policy forbids a browser to load or to send anything. The tables come first, so that a
 * browser shows them while it reads the data behind them.
 */
#include "tool/report/report.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "tool/ask/summary_facts.h"
#include "tool/ask/units.h"
#include "tool/export/export_file.h"
#include "tool/print.h"
#include "tool/report/html.h"
#include "tool/report/report_page.h"
#include "tool/report/report_profiles.h"
#include "tool/report/report_timeline.h"
#include "tool/tool.h"
#include "tool/trace/trace_input.h"

static int append_head(struct orma_buf *html, struct orma_str title)
{
	int r = orma_base_buf_append_str(
		html, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
	if (r == 0)
		r = orma_report_page_append_policy(html);
	if (r == 0)
		r = orma_base_buf_append_str(
			html,
			"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
			"<title>");
	if (r == 0)
		r = orma_html_append_text(html, title);
	if (r == 0)
		r = orma_base_buf_append_str(html, "</title>\n");
	if (r == 0)
		r = orma_report_page_append_style(html);
	if (r == 0)
		r = orma_base_buf_append_str(html, "</head>\n<body>\n<div id=\"report\">\n<h1>");
	if (r == 0)
		r = orma_html_append_text(html, title);
	/* The script shows the button when there is a timeline. */
	return r ? r
		 : orma_base_buf_append_str(html, "</h1>\n<p id=\"timeline-link\" hidden><button "
						  "id=\"open-timeline\">Open the "
						  "timeline</button></p>\n");
}

static int append_notes(const struct orma_report_run_options *options, struct orma_buf *html)
{
	int r = 0;
	for (size_t i = 0; i < options->note_count && r == 0; i++) {
		r = orma_base_buf_append_str(html, "<p class=\"note\">");
		if (r == 0)
			r = orma_html_append_text(html, orma_base_str(options->notes[i]));
		if (r == 0)
			r = orma_base_buf_append_str(html, "</p>\n");
	}
	return r;
}

static int append_queries(struct orma_trace_database *database,
			  const struct orma_report_run_options *options, struct orma_buf *html,
			  bool *ret_failed)
{
	int r = options->query_count > 0 ? orma_base_buf_append_str(html, "<h2>Queries</h2>\n") : 0;
	for (size_t i = 0; i < options->query_count && r == 0; i++)
		r = orma_report_append_query(database, &options->queries[i], html, ret_failed);
	return r;
}

/* Where profiles have a section of their own, the summary does not list their functions again. */
static int append_summary(struct orma_trace_database *database, const char *name,
			  const struct orma_report_run_options *options, bool has_profiles,
			  struct orma_buf *html)
{
	struct orma_summary summary = {
		.name = name, .top = (size_t)options->top, .database = database};
	int r = orma_summary_find(&summary);
	if (has_profiles)
		summary.samples.row_count = summary.waits.row_count =
			summary.heap_functions.row_count = 0;
	if (r == 0)
		r = orma_report_append_summary(&summary, html);
	orma_summary_done(&summary);
	return r;
}

int orma_report_append_begin(const struct orma_report_run_options *options, struct orma_str title,
			     struct orma_buf *html)
{
	int r = append_head(html, options->title ? orma_base_str(options->title) : title);
	return r ? r : append_notes(options, html);
}

int orma_report_append_trace(struct orma_trace_database *database, const char *name,
			     const struct orma_report_run_options *options, struct orma_buf *html,
			     bool *ret_failed)
{
	int r = append_summary(database, name, options, false, html);
	return r ? r : append_queries(database, options, html, ret_failed);
}

static int append_footer(struct orma_buf *html)
{
	return orma_base_buf_append_str(html, "<footer>Made by orma " ORMA_VERSION_STRING
					      ".</footer>\n</div>\n");
}

static int append_tail(struct orma_buf *html)
{
	return orma_base_buf_append_str(html, "</body>\n</html>\n");
}

int orma_report_append_end(const struct orma_profile_trees *profiles, bool is_comparison,
			   struct orma_buf *html)
{
	int r = append_footer(html);
	if (r == 0)
		r = orma_report_append_flames(profiles, is_comparison, html);
	if (r == 0 && orma_report_has_profiles(profiles))
		r = orma_report_page_append_script(html);
	return r ? r : append_tail(html);
}

/* Tells what the timeline lacks, in the file and to the user. */
static int tell_missing(const struct orma_report_timeline *timeline, struct orma_buf *html)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	int r = orma_report_timeline_append_missing(timeline, &text);
	if (r < 0 || text.size == 0)
		return r;
	orma_tool_warn("%.*s", (int)text.size, (const char *)text.data);
	r = orma_base_buf_append_str(html, "<p class=\"missing\">");
	if (r == 0)
		r = orma_html_append_text(html, orma_base_buf_str(&text));
	return r ? r : orma_base_buf_append_str(html, "</p>\n");
}

/* Returns a time since the trace's start, and not behind its end. */
static uint64_t find_time(const struct orma_trace_database *database,
			  const struct orma_time_limit *limit)
{
	uint64_t start = (uint64_t)database->start_ns, length = (uint64_t)database->end_ns - start;
	uint64_t ns = limit->ns;
	if (limit->base == ORMA_TIME_BEFORE_END)
		ns = length - ORMA_MIN(length, ns);
	else if (limit->base == ORMA_TIME_ABSOLUTE)
		ns = ns > start ? ns - start : 0;
	return ORMA_MIN(ns, length);
}

/* A time alone stands in the middle of a fiftieth of the trace. */
static struct orma_report_range find_first(const struct orma_trace_database *database,
					   const struct orma_report_run_options *options)
{
	if (options->open_at.base == ORMA_TIME_NONE)
		return (struct orma_report_range){0, 0};
	uint64_t start = find_time(database, &options->open_at), end = start;
	if (options->open_to.base != ORMA_TIME_NONE)
		end = find_time(database, &options->open_to);
	if (end <= start) {
		uint64_t around = (uint64_t)(database->end_ns - database->start_ns) / 100 + 1;
		end = start + around;
		start -= ORMA_MIN(start, around);
	}
	return (struct orma_report_range){start, end};
}

/* Makes the timeline with the room that the tables have left, and ends the file with it. */
static int append_timeline(struct orma_trace_database *database, const char *name,
			   const struct orma_report_run_options *options,
			   const struct orma_profile_trees *profiles, struct orma_buf *html)
{
	struct orma_report_timeline timeline;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf page = {0}, flames = {0};
	uint64_t most = options->max_kb < UINT64_MAX >> 10 ? options->max_kb << 10 : UINT64_MAX;
	if (options->max_kb == 0)
		return orma_report_append_end(profiles, false, html);
	int r = orma_report_page_append(&page);
	if (r == 0)
		r = orma_report_append_flames(profiles, false, &flames);
	if (r < 0)
		return r;
	uint64_t used = html->size + flames.size + page.size;
	r = orma_report_timeline_make(database, name, most - ORMA_MIN(most, used), &timeline);
	if (r == 0)
		r = tell_missing(&timeline, html);
	if (r == 0)
		r = append_footer(html);
	if (r == 0)
		r = orma_base_buf_append(html, flames.data, flames.size);
	if (r == 0 && timeline.is_there) {
		r = orma_report_timeline_append_data(&timeline, find_first(database, options),
						     html);
		if (r == 0)
			r = orma_base_buf_append(html, page.data, page.size);
	} else if (r == 0 && flames.size > 0) {
		r = orma_report_page_append_script(html);
	}
	orma_report_timeline_done(&timeline);
	return r ? r : append_tail(html);
}

const char *orma_report_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static int write_file(const char *path, const struct orma_buf *html)
{
	struct orma_export_file file;
	char size[ORMA_UNIT_BYTES];
	int status = orma_export_file_open(&file, path);
	if (status == 0)
		status = orma_export_file_write(&file, html->data, html->size);
	if (status == 0)
		status = orma_export_file_finish(&file);
	orma_export_file_done(&file);
	if (status == 0 && strcmp(path, "-") != 0)
		orma_tool_print_line(stdout, "%s: %s; any browser opens it", path,
				     orma_units_size((double)html->size, size));
	return status;
}

int orma_report_write(const struct orma_report_run_options *options, const char *name,
		      const struct orma_buf *html)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf path = {0};
	const char *out = options->path;
	if (!out && orma_base_buf_printf(&path, "%s.html", name) == 0)
		out = orma_base_buf_cstr(&path);
	return out ? write_file(out, html) : orma_tool_fail("%s: %s", name, strerror(ENOMEM));
}

static int append_all(struct orma_trace_database *database, const char *name,
		      const struct orma_report_run_options *options, struct orma_buf *html,
		      bool *ret_failed)
{
	ORMA_AUTO(orma_profile_trees_done) struct orma_profile_trees profiles;
	orma_profile_trees_init(&profiles);
	int r = orma_profile_trees_add(&profiles, database, 0);
	if (r == 0)
		r = orma_report_append_begin(options, orma_base_str(name), html);
	if (r == 0)
		r = append_summary(database, name, options, orma_report_has_profiles(&profiles),
				   html);
	if (r == 0)
		r = orma_report_append_profiles(&profiles, false, (size_t)options->top, html);
	if (r == 0)
		r = append_queries(database, options, html, ret_failed);
	return r ? r : append_timeline(database, name, options, &profiles, html);
}

int orma_report_run(const struct orma_report_run_options *options, const char *const *paths,
		    size_t count)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf html = {0};
	struct orma_ask *ask = orma_ask_load_all(paths, count, &options->ask);
	if (!ask)
		return ORMA_EXIT_FAILURE;
	const char *name = orma_report_base_name(orma_trace_input_name(paths[0]));
	bool has_failed = false;
	int r = append_all(orma_ask_database(ask), name, options, &html, &has_failed);
	orma_ask_free(ask);
	if (r < 0)
		return orma_tool_fail("%s: %s", name, strerror(-r));
	bool is_input = strcmp(paths[0], "-") == 0;
	int status = orma_report_write(options, is_input ? "report" : name, &html);
	return status == 0 && has_failed ? ORMA_EXIT_FAILURE : status;
}
