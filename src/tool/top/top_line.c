/* SPDX-License-Identifier: Apache-2.0
 * top_line.c - counts columns while text is appended. Names come from other programs, and a terminal obeys control characters in them.
 */
#include "tool/top/top_line.h"

#include "base/utf8.h"
#include "tool/ask/line_view.h"

struct orma_top_line orma_top_line_begin(struct orma_buf *out,
					 const struct orma_top_terminal *terminal)
{
	return (struct orma_top_line){out, terminal, terminal->columns, 0};
}

static void append(struct orma_top_line *line, const char *text, size_t size)
{
	if (line->error == 0)
		line->error = orma_base_buf_append(line->out, text, size);
}

void orma_top_line_put(struct orma_top_line *line, struct orma_str text)
{
	while (text.size > 0) {
		size_t size = orma_base_utf8_size(text);
		size_t visible = orma_base_utf8_visible_size(text);
		bool is_known = visible == 1 || (visible > 1 && line->terminal->is_utf8);
		size_t width = is_known ? orma_line_width(text.data, visible) : 1;
		if (width > line->left)
			break;
		append(line, is_known ? text.data : "?", is_known ? visible : 1);
		line->left -= (unsigned)width;
		size = size > 0 ? size : 1;
		text = (struct orma_str){text.data + size, text.size - size};
	}
}

void orma_top_line_put_text(struct orma_top_line *line, const char *text)
{
	orma_top_line_put(line, orma_base_str(text));
}

void orma_top_line_fill(struct orma_top_line *line, unsigned columns)
{
	for (; columns > 0 && line->left > 0; columns--, line->left--)
		append(line, " ", 1);
}

void orma_top_line_put_right(struct orma_top_line *line, const char *text, unsigned columns)
{
	size_t size = strlen(text);
	if (size < columns)
		orma_top_line_fill(line, columns - (unsigned)size);
	orma_top_line_put_text(line, text);
}

void orma_top_line_style(struct orma_top_line *line, const char *sequence)
{
	append(line, sequence, strlen(sequence));
}

void orma_top_line_colour(struct orma_top_line *line, const char *sequence)
{
	if (line->terminal->has_colour)
		orma_top_line_style(line, sequence);
}

int orma_top_line_end(struct orma_top_line *line, bool is_last)
{
	orma_top_line_style(line, "\x1b[0m");
	/* Behind the last column the cursor is still on it, and erasing would erase what is there. */
	if (line->left > 0)
		orma_top_line_style(line, "\x1b[K");
	if (!is_last)
		orma_top_line_style(line, "\r\n");
	return line->error;
}
