/* SPDX-License-Identifier: Apache-2.0
 * event_line.h - an event as a line of text or of JSON.
 */
#ifndef ORMA_TOOL_EVENT_LINE_H
#define ORMA_TOOL_EVENT_LINE_H

#include "answers/event_rows.h"
#include "base/buf.h"
#include "tool/ask/answer.h"
#include "trace/clocks.h"

/* {.options, .tables, .clocks, .start_ns} is ready. */
struct orma_event_lines {
	const struct orma_events_options *options;
	const struct orma_tables *tables;
	const struct orma_clocks *clocks;
	int64_t start_ns; /* relative times begin here */
	/* The rest is its own. */
	int64_t last_ns; /* the line before */
	bool has_last;
	struct orma_clock_cache clock_cache;
	int64_t second; /* `date` has its text */
	char date[24];
	struct orma_buf scratch;
};

void orma_event_lines_done(struct orma_event_lines *lines);
/* True when the options choose the event, as far as times do not decide. */
bool orma_event_is_chosen(const struct orma_event_lines *lines, const struct orma_event_row *event);
/* Appends the line. `args` has the arguments, as text or as an object of JSON. `word` stands in place of a length that is
 * not known; NULL = none. 0 or -ENOMEM. */
int orma_event_line_append(struct orma_event_lines *lines, const struct orma_event_row *event,
			   struct orma_str args, const char *word, struct orma_buf *out);

#endif
