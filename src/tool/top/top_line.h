/* SPDX-License-Identifier: Apache-2.0
 * top_line.h - a line of the screen, which never has more columns than the terminal.
 */
#ifndef ORMA_TOOL_TOP_LINE_H
#define ORMA_TOOL_TOP_LINE_H

#include "base/buf.h"
#include "tool/top/top_terminal.h"

struct orma_top_line {
	struct orma_buf *out;
	const struct orma_top_terminal *terminal;
	unsigned left; /* columns */
	int error;     /* -ENOMEM: the rest is left out */
};

struct orma_top_line orma_top_line_begin(struct orma_buf *out,
					 const struct orma_top_terminal *terminal);
/* Appends text, up to the end of the line. Characters that are not visible, or that the terminal may not know, become a question mark. */
void orma_top_line_put(struct orma_top_line *line, struct orma_str text);
void orma_top_line_put_text(struct orma_top_line *line, const char *text);
/* Appends ASCII text at the right of so many columns. */
void orma_top_line_put_right(struct orma_top_line *line, const char *text, unsigned columns);
void orma_top_line_fill(struct orma_top_line *line, unsigned columns); /* with blanks */
/* Appends "\x1b[1m" or another sequence that takes no column. Colours are left out if the terminal shall have none. */
void orma_top_line_style(struct orma_top_line *line, const char *sequence);
void orma_top_line_colour(struct orma_top_line *line, const char *sequence);
/* Ends the line; the last one of the screen without a line feed. Returns `error`. */
int orma_top_line_end(struct orma_top_line *line, bool is_last);

#endif
