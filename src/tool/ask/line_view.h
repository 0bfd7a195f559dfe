/* SPDX-License-Identifier: Apache-2.0
 * line_view.h - shows a text that is being edited, over as many rows of the terminal as it takes.
 */
#ifndef ORMA_TOOL_LINE_VIEW_H
#define ORMA_TOOL_LINE_VIEW_H

#include "base/buf.h"
#include "base/str.h"

/* {.fd = FD} is ready. */
struct orma_line_view {
	int fd;
	size_t cursor_row; /* below the first row of what is shown */
	size_t end_row;
};

/* The size of the character before or at `offset`: a letter with the marks above it. 0 at the end. */
size_t orma_line_size_before(struct orma_str text, size_t offset);
size_t orma_line_size_at(struct orma_str text, size_t offset);

/* How many columns a character takes: 0, 1 or 2. */
size_t orma_line_width(const char *character, size_t size);

/* Shows the text anew, and the cursor in it. Errors of the terminal are left to the next read. */
void orma_line_view_show(struct orma_line_view *view, const char *prompt, struct orma_str text,
			 size_t cursor);
/* Puts the cursor below the text. */
void orma_line_view_end(struct orma_line_view *view);
/* Prints names in columns below the text; each has a NUL behind. The text is to be shown anew then. */
void orma_line_view_list(struct orma_line_view *view, struct orma_str names);

#endif
