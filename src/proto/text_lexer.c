/* SPDX-License-Identifier: Apache-2.0
 * text_lexer.c - tokens, and errors with line, column, source line and caret.
 *
 * Owns nothing: tokens point into the source. Line and column are counted from the beginning when
 * there is an error. Columns are code points, as in editors. Rejected: counting lines and columns
 * while reading, because every step would pay for the one error; keeping all tokens in a list,
 * because a config may be large.
 */
#include "proto/text_lexer.h"

#include <errno.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/error_message.h"

#define LINE_SHOWN_MAX 120 /* bytes of a source line in a message */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

static void init(struct orma_proto_lexer *lexer, const char *name, const char *text, size_t size,
		 struct orma_error *reterr)
{
	lexer->name = name;
	lexer->begin = lexer->at = text ? text : "";
	lexer->end = lexer->begin + (text ? size : 0);
	lexer->reterr = reterr;
	if (size >= 3 && memcmp(lexer->begin, "\xef\xbb\xbf", 3) == 0)
		lexer->at += 3; /* a byte order mark */
	orma_proto_lexer_next(lexer);
}

void orma_proto_lexer_init(struct orma_proto_lexer *lexer, const char *name, const char *text,
			   size_t size, struct orma_error *reterr)
{
	lexer->has_c_comments = false;
	init(lexer, name, text, size, reterr);
}

void orma_proto_lexer_init_schema(struct orma_proto_lexer *lexer, const char *name,
				  const char *text, size_t size, struct orma_error *reterr)
{
	lexer->has_c_comments = true;
	init(lexer, name, text, size, reterr);
}

static const char *skip_line(const char *at, const char *end)
{
	const char *line_end = memchr(at, '\n', (size_t)(end - at));

	return line_end ? line_end : end;
}

/* Returns the end of the comment that begins at `at`, or `at` when no comment begins or ends. */
static const char *skip_c_comment(const char *at, const char *end)
{
	const char *close;

	if (end - at < 2 || (at[1] != '/' && at[1] != '*'))
		return at;
	if (at[1] == '/')
		return skip_line(at, end);
	close = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
	return close ? close + 2 : at;
}

static const char *skip_space(const struct orma_proto_lexer *lexer)
{
	const char *at = lexer->at, *end = lexer->end, *next;

	for (; at < end; at = next) {
		next = at;
		if (is_space(*at))
			next = at + 1;
		else if (*at == '#' && !lexer->has_c_comments)
			next = skip_line(at, end);
		else if (*at == '/' && lexer->has_c_comments)
			next = skip_c_comment(at, end);
		if (next == at)
			break;
	}
	return at;
}

static const char *number_end(const char *at, const char *end)
{
	bool is_hex = end - at >= 2 && at[0] == '0' && (at[1] | 0x20) == 'x';

	for (; at < end; at++) {
		bool is_sign = (*at == '+' || *at == '-') && (at[-1] | 0x20) == 'e' && !is_hex;

		if (!is_digit(*at) && !is_letter(*at) && *at != '.' && !is_sign)
			break;
	}
	return at;
}

void orma_proto_lexer_next(struct orma_proto_lexer *lexer)
{
	const char *at = skip_space(lexer), *end = lexer->end, *begin = at;
	enum orma_proto_token_kind kind = ORMA_PROTO_TOKEN_PUNCT;

	if (at == end) {
		kind = ORMA_PROTO_TOKEN_END;
		begin = at = lexer->at; /* an error points to the end of the last token */
	} else if (is_letter(*at)) {
		kind = ORMA_PROTO_TOKEN_IDENT;
		while (at < end && (is_letter(*at) || is_digit(*at)))
			at++;
	} else if (is_digit(*at) || (*at == '.' && end - at >= 2 && is_digit(at[1]))) {
		kind = ORMA_PROTO_TOKEN_NUMBER;
		at = number_end(at, end);
	} else if (*at == '"' || *at == '\'') {
		kind = ORMA_PROTO_TOKEN_UNTERMINATED;
		for (at++; at < end && kind != ORMA_PROTO_TOKEN_STRING; at++) {
			if (*at == '\\' && end - at >= 2)
				at++;
			else if (*at == *begin)
				kind = ORMA_PROTO_TOKEN_STRING;
		}
	} else {
		do
			at++;
		while (at < end && is_continuation(*at)); /* messages show whole code points */
	}
	ORMA_ASSERT(at >= lexer->at && at <= end);
	lexer->at = at;
	lexer->token.kind = kind;
	lexer->token.text = (struct orma_str){begin, (size_t)(at - begin)};
}

/* Appends the source line around `at`, a line break, and a line with a caret under `at`. */
static int show_line(const struct orma_proto_lexer *lexer, struct orma_str at, struct orma_buf *out)
{
	const char *begin = at.data, *end = at.data, *last = at.data + at.size;
	char caret = '^';
	int r = 0;

	while (begin > lexer->begin && begin[-1] != '\n' && at.data - begin < LINE_SHOWN_MAX / 2)
		begin--;
	while (begin < at.data && is_continuation(*begin))
		begin++;
	while (end < lexer->end && *end != '\n' && end - begin < LINE_SHOWN_MAX)
		end++;
	while (end > at.data && end < lexer->end && is_continuation(*end))
		end--;
	for (const char *c = begin; c < end; c++) {
		bool is_control = (unsigned char)*c < 0x20 || *c == 0x7f;

		/* Every character takes one column, even a tab, so that the caret is in the right
		 * one. */
		r |= orma_base_buf_append(out, *c == '\t' ? " " : is_control ? "?" : c, 1);
	}
	r |= orma_base_buf_append_str(out, "\n");
	for (const char *c = begin; c < at.data; c++) {
		if (!is_continuation(*c))
			r |= orma_base_buf_append(out, " ", 1);
	}
	for (const char *c = at.data; c == at.data || (c < last && c < end); c++) {
		if (c != at.data && is_continuation(*c))
			continue;
		r |= orma_base_buf_append(out, &caret, 1);
		caret = '~';
	}
	return r;
}

int orma_proto_lexer_fail_at(struct orma_proto_lexer *lexer, struct orma_str at, const char *format,
			     ...)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) shown = {0};
	unsigned line = 1, column = 1;
	char what[200];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	for (const char *c = lexer->begin; c < at.data; c++) {
		if (*c == '\n') {
			line++;
			column = 1;
		} else if (!is_continuation(*c)) {
			column++;
		}
	}
	/* Without memory for the source line, the message still has line and column. */
	if (show_line(lexer, at, &shown) < 0 || !orma_base_buf_cstr(&shown))
		return orma_base_error_set(lexer->reterr, -EBADMSG, "%.80s:%u:%u: %s", lexer->name,
					   line, column, what);
	return orma_base_error_set(lexer->reterr, -EBADMSG, "%.80s:%u:%u: %s\n%s", lexer->name,
				   line, column, what, (const char *)shown.data);
}

int orma_proto_lexer_expected(struct orma_proto_lexer *lexer, const char *format, ...)
{
	struct orma_str at = lexer->token.text;
	char expected[140];
	va_list args;

	va_start(args, format);
	vsnprintf(expected, sizeof(expected), format, args);
	va_end(args);
	if (lexer->token.kind == ORMA_PROTO_TOKEN_END)
		return orma_proto_lexer_fail_at(lexer, at, "found the end of the text, expected %s",
						expected);
	if (lexer->token.kind == ORMA_PROTO_TOKEN_UNTERMINATED) {
		at.size = 1;
		return orma_proto_lexer_fail_at(lexer, at,
						"found a string that does not end, expected %s "
						"after it",
						at.data[0] == '"' ? "\"" : "'");
	}
	return orma_proto_lexer_fail_at(lexer, at, "found %s, expected %s",
					orma_proto_quote(at).text, expected);
}

struct orma_proto_quoted orma_proto_quote(struct orma_str text)
{
	struct orma_proto_quoted quoted;
	const size_t max = sizeof(quoted.text) - 8; /* room for a code point, "...", quote, NUL */
	bool has_own_quotes = text.size > 0 && (text.data[0] == '"' || text.data[0] == '\'');
	size_t size = 0;

	if (!has_own_quotes)
		quoted.text[size++] = '"';
	for (size_t i = 0; i < text.size; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (size >= max && !is_continuation((char)c)) {
			memcpy(quoted.text + size, "...", 3);
			size += 3;
			break;
		}
		if (size < max + 2) /* the rest of a code point, if it is one */
			quoted.text[size++] = (char)(c < 0x20 || c == 0x7f ? '?' : c);
	}
	if (!has_own_quotes)
		quoted.text[size++] = '"';
	quoted.text[size] = '\0';
	return quoted;
}

#define NAME_MAX_COMPARED 63

static char lower(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c | 0x20);
	return c;
}

/* The number of insertions, deletions, replacements and swaps of neighbours that turn `b` into `a`.
 * Ignores case. */
static size_t edit_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
	uint8_t rows[3][NAME_MAX_COMPARED + 1];
	uint8_t *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_size; j++)
		last[j] = (uint8_t)j;
	for (size_t i = 1; i <= a_size; i++) {
		uint8_t *oldest = before;

		row[0] = (uint8_t)i;
		for (size_t j = 1; j <= b_size; j++) {
			bool is_same = lower(a[i - 1]) == lower(b[j - 1]);
			unsigned best = last[j - 1] + !is_same;

			best = ORMA_MIN(best, (unsigned)last[j] + 1);
			best = ORMA_MIN(best, (unsigned)row[j - 1] + 1);
			if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
			    lower(a[i - 2]) == lower(b[j - 1]))
				best = ORMA_MIN(best, (unsigned)before[j - 2] + 1);
			row[j] = (uint8_t)best;
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[b_size];
}

const char *orma_proto_closest_name(struct orma_str wrong, const char *names, size_t count)
{
	size_t best = wrong.size / 3 + 1; /* a name with more changes is not similar */
	const char *closest = NULL;

	if (wrong.size > NAME_MAX_COMPARED)
		return NULL;
	for (; count > 0; count--, names += strlen(names) + 1) {
		size_t size = strlen(names), distance;

		if (size > NAME_MAX_COMPARED)
			continue;
		distance = edit_distance(wrong.data, wrong.size, names, size);
		if (distance < best || (distance == best && !closest)) {
			best = distance;
			closest = names;
		}
	}
	return closest;
}
