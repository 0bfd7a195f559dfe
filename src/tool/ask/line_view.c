/* SPDX-License-Identifier: Apache-2.0
 * line_view.c - the whole text is written at each change, in one write(): it is short, and so nothing depends on what the
 * terminal shows already.
 */
#include "tool/ask/line_view.h"

#include <string.h>
#include <sys/ioctl.h>

#include "base/fd.h"
#include "base/macros.h"
#include "base/utf8.h"

enum { USUAL_COLUMNS = 80, LISTED_MAX = 500 };

struct place {
	size_t row, column;
};

/* The code points of characters without a column, and with two. */
static const struct range {
	uint32_t first, last;
	unsigned char width;
} widths[] = {
	{0x300, 0x36f, 0},     {0x1100, 0x115f, 2}, {0x200b, 0x200f, 0}, {0x20d0, 0x20ff, 0},
	{0x2e80, 0xa4cf, 2},   {0xac00, 0xd7a3, 2}, {0xf900, 0xfaff, 2}, {0xfe00, 0xfe0f, 0},
	{0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2}, {0xffe0, 0xffe6, 2}, {0x1f300, 0x1faff, 2},
	{0x20000, 0x3fffd, 2},
};

size_t orma_line_width(const char *character, size_t size)
{
	const unsigned char *at = (const unsigned char *)character;
	uint32_t code = size == 1 ? at[0] : at[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++)
		code = code << 6 | (at[i] & 0x3f);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(widths); i++)
		if (code >= widths[i].first && code <= widths[i].last)
			return widths[i].width;
	return 1;
}

static size_t size_at(struct orma_str text, size_t offset)
{
	if (offset >= text.size)
		return 0;
	size_t size =
		orma_base_utf8_size((struct orma_str){text.data + offset, text.size - offset});
	return size > 0 ? size : 1;
}

size_t orma_line_size_at(struct orma_str text, size_t offset)
{
	size_t size = size_at(text, offset), next;
	while ((next = size_at(text, offset + size)) > 1 &&
	       orma_line_width(text.data + offset + size, next) == 0)
		size += next;
	return size;
}

size_t orma_line_size_before(struct orma_str text, size_t offset)
{
	size_t at = 0, size = 0;
	for (; at < offset; at += size)
		size = orma_line_size_at(text, at);
	return size;
}

static size_t columns_of(int fd)
{
	struct winsize window;
	return ioctl(fd, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col
									: USUAL_COLUMNS;
}

static void put(struct orma_buf *out, const char *text)
{
	(void)orma_base_buf_append_str(out, text);
}

static void move(struct orma_buf *out, size_t count, char direction)
{
	if (count > 0)
		(void)orma_base_buf_printf(out, "\x1b[%zu%c", count, direction);
}

static void send(const struct orma_line_view *view, struct orma_buf *out)
{
	(void)orma_base_fd_write_all(view->fd, out->data, out->size);
	orma_base_buf_done(out);
}

static void begin_row(struct orma_buf *out, struct place *place)
{
	put(out, "\r\n");
	*place = (struct place){place->row + 1, 0};
}

/* Puts one character, and moves the place. A byte that is no visible character is shown as a question mark. */
static void put_character(struct orma_buf *out, struct place *place, size_t columns,
			  struct orma_str character)
{
	size_t visible = orma_base_utf8_visible_size(character);
	size_t width = visible > 0 ? orma_line_width(character.data, visible) : 1;
	if (place->column + width > columns)
		begin_row(out, place);
	if (visible > 0)
		(void)orma_base_buf_append(out, character.data, visible);
	else
		put(out, character.data[0] == '\t' ? " " : "?");
	place->column += width;
}

/* Puts the text with lines indented by the width of the prompt. Returns the cursor's place. */
static struct place put_text(struct orma_buf *out, struct place *place, size_t columns,
			     struct orma_str text, size_t cursor)
{
	size_t indent = place->column;
	struct place found = *place;
	for (size_t at = 0, size; at <= text.size; at += size) {
		/* Terminals move to the next row with the character behind the last column. */
		if (place->column >= columns)
			begin_row(out, place);
		if (at == cursor)
			found = *place;
		size = size_at(text, at);
		if (size == 0)
			break;
		if (text.data[at] != '\n') {
			put_character(out, place, columns, (struct orma_str){text.data + at, size});
			continue;
		}
		begin_row(out, place);
		for (; place->column < indent && indent < columns / 2; place->column++)
			put(out, " ");
	}
	return found;
}

void orma_line_view_show(struct orma_line_view *view, const char *prompt, struct orma_str text,
			 size_t cursor)
{
	struct orma_buf out = {0};
	struct place place = {0};
	size_t columns = columns_of(view->fd);
	move(&out, view->cursor_row, 'A');
	put(&out, "\r\x1b[J");
	for (size_t i = 0, size; (size = size_at(orma_base_str(prompt), i)) > 0; i += size)
		put_character(&out, &place, columns, (struct orma_str){prompt + i, size});
	struct place found = put_text(&out, &place, columns, text, cursor);
	move(&out, place.row - found.row, 'A');
	put(&out, "\r");
	move(&out, found.column, 'C');
	view->cursor_row = found.row;
	view->end_row = place.row;
	send(view, &out);
}

void orma_line_view_end(struct orma_line_view *view)
{
	struct orma_buf out = {0};
	move(&out, view->end_row - view->cursor_row, 'B');
	put(&out, "\r\n");
	send(view, &out);
	view->cursor_row = view->end_row = 0;
}

void orma_line_view_list(struct orma_line_view *view, struct orma_str names)
{
	struct orma_buf out = {0};
	size_t columns = columns_of(view->fd), widest = 0, column = 0, count = 0;
	orma_line_view_end(view);
	for (size_t at = 0; at < names.size; at += strlen(names.data + at) + 1)
		widest = ORMA_MAX(widest, strlen(names.data + at));
	for (size_t at = 0; at < names.size && count < LISTED_MAX; count++) {
		size_t size = strlen(names.data + at);
		if (column > 0 && column + widest > columns) {
			put(&out, "\r\n");
			column = 0;
		}
		struct place place = {0};
		for (size_t i = 0; i < size;) {
			struct orma_str rest = {names.data + at + i, size - i};
			put_character(&out, &place, SIZE_MAX, rest);
			i += size_at(rest, 0);
		}
		at += size + 1;
		for (; size < widest + 2 && at < names.size; size++)
			put(&out, " ");
		column += widest + 2;
	}
	put(&out, count == LISTED_MAX ? "\r\n...\r\n" : "\r\n");
	send(view, &out);
}
