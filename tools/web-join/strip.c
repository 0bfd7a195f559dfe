/* SPDX-License-Identifier: Apache-2.0
 * strip.c - removes comments and indentation, a fifth of the page.
 *
 * Blanks and comments between two tokens of a script become a line feed if they have one, because a line feed can end a statement,
 * or else a space. So the lines stay, and an error in the browser's tools is easy to find. Names are not shortened: gzip does nearly
 * as well, and the page stays readable.
 */
#include "strip.h"

#include "js_token.h"

static bool append_gap(struct orma_str gap, struct orma_buf *ret)
{
	if (gap.size == 0)
		return true;
	return orma_base_buf_append(ret, memchr(gap.data, '\n', gap.size) ? "\n" : " ", 1) == 0;
}

bool strip_script(struct orma_str text, struct orma_buf *ret)
{
	struct js_scan scan = {.at = text.data, .end = text.data + text.size, .line = 1};
	const char *behind = text.data;
	for (;;) {
		struct js_token token = js_next(&scan);
		struct orma_str gap = {behind, (size_t)(token.text.data - behind)};
		if (token.kind == JS_DAMAGED || (ret->size > 0 && !append_gap(gap, ret)))
			return false;
		if (token.kind == JS_END)
			return true;
		if (orma_base_buf_append(ret, token.text.data, token.text.size) < 0)
			return false;
		behind = scan.at;
	}
}

/* Returns the size of the blanks and comments at the beginning. */
static size_t style_gap(struct orma_str text)
{
	size_t size = 0;
	for (;;) {
		while (size < text.size && strchr(" \t\r\n", text.data[size]))
			size++;
		const char *close =
			text.size - size < 4 || memcmp(text.data + size, "/*", 2) != 0
				? NULL
				: memmem(text.data + size + 2, text.size - size - 2, "*/", 2);
		if (!close)
			return size;
		size = (size_t)(close - text.data) + 2;
	}
}

bool strip_style(struct orma_str text, struct orma_buf *ret)
{
	char quote = '\0';
	while (text.size > 0) {
		size_t gap = quote ? 0 : style_gap(text);
		if (ret->size > 0 && !append_gap((struct orma_str){text.data, gap}, ret))
			return false;
		text = (struct orma_str){text.data + gap, text.size - gap};
		if (text.size == 0)
			break;
		char c = *text.data;
		if (quote ? c == quote : c == '"' || c == '\'')
			quote = quote ? '\0' : c;
		if (orma_base_buf_append(ret, &c, 1) < 0)
			return false;
		text = (struct orma_str){text.data + 1, text.size - 1};
	}
	return quote == '\0';
}
