/* SPDX-License-Identifier: Apache-2.0
 * strip.c - removes comments, indentation and blanks, a quarter of the page.
 *
 * Blanks and comments between two tokens of a script are left out beside a sign that stays the same without them. Elsewhere they
 * become a line feed if they have one, because a line feed can end a statement, or else a space. Beside signs where
 * it ends nothing, a line feed is left out as well: statements end with semicolons or blocks, as the formatter sees to. shorten.c
 * does the same for names.
 */
#include "strip.h"

#include "js_token.h"

static bool append_gap(struct orma_str gap, struct orma_buf *ret)
{
	if (gap.size == 0)
		return true;
	return orma_base_buf_append(ret, memchr(gap.data, '\n', gap.size) ? "\n" : " ", 1) == 0;
}

/* Whether a sign is what it is without a blank beside the other token: `a - -b`, `a / /b/` and `a < /b/` need theirs. */
static bool stands_alone(const struct js_token *token, const struct js_token *other)
{
	if (token->kind != JS_SIGN || other->kind == JS_END)
		return false;
	char sign = token->text.data[0], beside = other->text.data[0];
	return !strchr("+-/<", sign) || (beside != sign && beside != '/' && beside != '!');
}

static bool is_one_of(const struct js_token *token, const char *signs)
{
	return token->kind == JS_SIGN && strchr(signs, token->text.data[0]);
}

static bool append_script_gap(struct orma_str gap, const struct js_token *before,
			      const struct js_token *after, struct orma_buf *ret)
{
	bool has_line = memchr(gap.data, '\n', gap.size);
	if (after->kind == JS_END)
		return append_gap(gap, ret);
	if (has_line ? is_one_of(before, ";,{}([") || is_one_of(after, "})],.?:")
		     : stands_alone(before, after) || stands_alone(after, before))
		return true;
	return append_gap(gap, ret);
}

bool strip_script(struct orma_str text, struct orma_buf *ret)
{
	struct js_scan scan = {.at = text.data, .end = text.data + text.size, .line = 1};
	const char *behind = text.data;
	struct js_token before = {.kind = JS_END};
	for (;;) {
		struct js_token token = js_next(&scan);
		struct orma_str gap = {behind, (size_t)(token.text.data - behind)};
		if (token.kind == JS_DAMAGED || (ret->size > 0 && gap.size > 0 &&
						 !append_script_gap(gap, &before, &token, ret)))
			return false;
		if (token.kind == JS_END)
			return true;
		if (orma_base_buf_append(ret, token.text.data, token.text.size) < 0)
			return false;
		behind = scan.at;
		before = token;
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

/* Beside these, a style sheet needs no blank; a blank before a colon or a bracket may be one between selectors. */
static bool is_style_gap(char before, char after)
{
	return !strchr("{};:,", before) && !strchr("{};,", after);
}

bool strip_style(struct orma_str text, struct orma_buf *ret)
{
	char quote = '\0';
	while (text.size > 0) {
		size_t gap = quote ? 0 : style_gap(text);
		struct orma_str blank = {text.data, gap};
		text = (struct orma_str){text.data + gap, text.size - gap};
		bool is_gap =
			text.size == 0 ||
			(ret->size > 0 && is_style_gap((char)ret->data[ret->size - 1], *text.data));
		if (is_gap && !append_gap(blank, ret))
			return false;
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
