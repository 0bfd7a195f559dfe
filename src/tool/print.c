/* SPDX-License-Identifier: Apache-2.0
 * print.c - printing with control characters escaped.
 *
 * The whole text is escaped after formatting, so that no caller can forget a part of it. A short
 * line is one write, so it does not mix with lines of other processes. Rejected: an escaped copy of
 * each argument, which every caller would have to make; escaping backslashes as well, because
 * people read the messages, and regular expressions in them are full of backslashes.
 */
#include "tool/print.h"

#include <errno.h>

#include "base/buf.h"
#include "base/utf8.h"

enum { PIECE_BYTES = 1024, ESCAPE_BYTES = 8 };

struct piece {
	FILE *out;
	size_t size;
	char bytes[PIECE_BYTES];
};

static void flush_piece(struct piece *piece)
{
	fwrite(piece->bytes, 1, piece->size, piece->out);
	piece->size = 0;
}

static void put(struct piece *piece, const void *bytes, size_t size)
{
	if (size > sizeof(piece->bytes) - piece->size)
		flush_piece(piece);
	memcpy(piece->bytes + piece->size, bytes, size);
	piece->size += size;
}

/* Makes an escape in place of the first character of the text. Returns the size of that character. */
static size_t make_escape(struct orma_str text, char ret[ESCAPE_BYTES])
{
	const unsigned char *at = (const unsigned char *)text.data;
	size_t size = orma_base_utf8_size(text);

	if (size == 2)
		snprintf(ret, ESCAPE_BYTES, "\\u%04x", (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu));
	else if (size == 3)
		snprintf(ret, ESCAPE_BYTES, "\\u%04x",
			 (at[0] & 0xfu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu));
	else
		snprintf(ret, ESCAPE_BYTES, "\\x%02x", at[0]);
	return size ? size : 1;
}

static size_t put_escape(struct piece *piece, struct orma_str text)
{
	char escape[ESCAPE_BYTES];
	size_t size = make_escape(text, escape);
	put(piece, escape, strlen(escape));
	return size;
}

static void put_text(struct piece *piece, struct orma_str text)
{
	while (text.size > 0) {
		size_t size = orma_base_utf8_visible_size(text);

		if (size)
			put(piece, text.data, size);
		else
			size = put_escape(piece, text);
		text.data += size;
		text.size -= size;
	}
}

/* When there is no memory for a long text, only its beginning is printed. */
static ORMA_PRINTF(2, 0) void put_formatted(struct piece *piece, const char *format, va_list args)
{
	struct orma_buf buf = {0};
	char beginning[256];
	va_list again;

	va_copy(again, args);
	if (orma_base_buf_vprintf(&buf, format, args) == 0) {
		put_text(piece, (struct orma_str){(const char *)buf.data, buf.size});
	} else {
		vsnprintf(beginning, sizeof(beginning), format, again);
		put_text(piece, orma_base_str(beginning));
	}
	va_end(again);
	orma_base_buf_done(&buf);
}

void orma_tool_print(FILE *out, const char *format, ...)
{
	struct piece piece = {.out = out};
	va_list args;

	va_start(args, format);
	put_formatted(&piece, format, args);
	va_end(args);
	flush_piece(&piece);
}

void orma_tool_print_line(FILE *out, const char *format, ...)
{
	struct piece piece = {.out = out};
	va_list args;

	va_start(args, format);
	put_formatted(&piece, format, args);
	va_end(args);
	put(&piece, "\n", 1);
	flush_piece(&piece);
}

void orma_tool_print_message(FILE *out, const char *name, const char *format, va_list args)
{
	struct piece piece = {.out = out};

	put_text(&piece, orma_base_str(name));
	put(&piece, ": ", 2);
	put_formatted(&piece, format, args);
	put(&piece, "\n", 1);
	flush_piece(&piece);
}

int orma_tool_append_visible(struct orma_buf *out, struct orma_str text)
{
	while (text.size > 0) {
		char escape[ESCAPE_BYTES];
		size_t size = 0;
		int r;

		while (size < text.size && text.data[size] >= ' ' && text.data[size] <= '~')
			size++;
		if (size == 0)
			size = orma_base_utf8_visible_size(text);
		if (size > 0) {
			r = orma_base_buf_append(out, text.data, size);
		} else {
			size = make_escape(text, escape);
			r = orma_base_buf_append_str(out, escape);
		}
		if (r)
			return r;
		text = (struct orma_str){text.data + size, text.size - size};
	}
	return 0;
}

int orma_tool_write_raw(FILE *out, const void *data, size_t size)
{
	return fwrite(data, 1, size, out) == size ? 0 : -errno;
}
