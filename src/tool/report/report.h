/* SPDX-License-Identifier: Apache-2.0
 * report.h - `orma report`: what `orma summary` says, answers to queries, and a timeline, as one file that any browser opens.
 */
#ifndef ORMA_TOOL_REPORT_H
#define ORMA_TOOL_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "tool/ask/ask.h"
#include "tool/trace/packet_select.h"

enum { ORMA_REPORT_PARTS_MAX = 64 };

struct orma_report_query {
	struct orma_str title;
	const char *text;
};

struct orma_report_run_options {
	struct orma_ask_options ask;
	const char *path;  /* NULL = the trace's name with .html */
	const char *title; /* NULL = the trace's name */
	struct orma_report_query queries[ORMA_REPORT_PARTS_MAX];
	size_t query_count;
	const char *notes[ORMA_REPORT_PARTS_MAX];
	size_t note_count;
	/* The range that the timeline shows at first. Without a second limit, it is around the first. ORMA_TIME_NONE = the tables. */
	struct orma_time_limit open_at, open_to;
	uint64_t top;    /* rows of a table of the summary */
	uint64_t max_kb; /* how large the file may become with the timeline; 0 = no timeline */
};

/* Writes the report of a trace; several share the tables. Returns the exit status. */
int orma_report_run(const struct orma_report_run_options *options, const char *const *paths,
		    size_t count);
struct orma_diff_options;
/* Writes what differs between two groups of traces, and what each of them is. Returns the exit status. */
int orma_report_compare(const struct orma_report_run_options *options,
			const struct orma_diff_options *sides);

struct orma_profile_trees;
struct orma_summary;
struct orma_trace_database;
/* Parts of the file. 0 or a negative errno value. */
int orma_report_append_begin(const struct orma_report_run_options *options, struct orma_str title,
			     struct orma_buf *html);
/* `profiles` are those of two traces that are compared, or of one trace without a timeline. */
int orma_report_append_end(const struct orma_profile_trees *profiles, bool is_comparison,
			   struct orma_buf *html);
int orma_report_append_summary(struct orma_summary *summary, struct orma_buf *html);
/* Appends the summary of a trace, and the rows of the queries. */
int orma_report_append_trace(struct orma_trace_database *database, const char *name,
			     const struct orma_report_run_options *options, struct orma_buf *html,
			     bool *ret_failed);
/* Runs a query. Its error is a part of the file; then a message tells it, and *ret_failed is true. */
int orma_report_append_query(struct orma_trace_database *database,
			     const struct orma_report_query *query, struct orma_buf *html,
			     bool *ret_failed);
/* The trace's name without its folder. */
const char *orma_report_base_name(const char *path);
/* Writes the file under the name that the user gives, or `name` with .html behind. Returns the exit status. */
int orma_report_write(const struct orma_report_run_options *options, const char *name,
		      const struct orma_buf *html);

#endif
