/* SPDX-License-Identifier: Apache-2.0
 * lex.c - tokens of C: names, numbers, strings, comments, directives, punctuation.
 *
 * Invariant: there is nothing but white space between two tokens of a text. Rejected: the
 * compiler's preprocessor (it drops comments and macros), regular expressions per line (our
 * declarations are longer than a line).
 */
#include <ctype.h>
#include <string.h>

#include "amalgamate.h"
#include "base/assert.h"

static const char *end_of_comment(const char *at, const char *end)
{
	if (at[1] == '/') {
		while (at < end && *at != '\n')
			at++;
		return at;
	}
	for (at += 2; at + 1 < end; at++) {
		if (at[0] == '*' && at[1] == '/')
			return at + 2;
	}
	return end;
}

static const char *end_of_quoted(const char *at, const char *end)
{
	char quote = *at++;

	while (at < end && *at != quote)
		at += *at == '\\' && at + 1 < end ? 2 : 1;
	return at < end ? at + 1 : end;
}

static bool begins_comment(const char *at, const char *end)
{
	return at + 1 < end && at[0] == '/' && (at[1] == '*' || at[1] == '/');
}

static const char *end_of_directive(const char *at, const char *end)
{
	while (at < end && *at != '\n') {
		if (begins_comment(at, end))
			at = end_of_comment(at, end);
		else if (*at == '"')
			at = end_of_quoted(at, end);
		else
			at += at[0] == '\\' && at + 1 < end ? 2 : 1;
	}
	return at;
}

static bool is_name(int c)
{
	return isalnum((unsigned char)c) || c == '_';
}

struct am_token am_lex(const char *at, const char *end)
{
	struct am_token token = {.kind = AM_END, .text = end};
	const char *next;

	while (at < end && isspace((unsigned char)*at))
		at++;
	if (at >= end)
		return token;
	token.text = at;
	if (begins_comment(at, end)) {
		token.kind = AM_COMMENT;
		next = end_of_comment(at, end);
	} else if (*at == '#') {
		token.kind = AM_DIRECTIVE;
		next = end_of_directive(at, end);
	} else if (*at == '"' || *at == '\'') {
		token.kind = AM_STRING;
		next = end_of_quoted(at, end);
	} else if (is_name(*at)) {
		token.kind = isdigit((unsigned char)*at) ? AM_NUMBER : AM_NAME;
		for (next = at; next < end && is_name(*next);)
			next++;
	} else {
		token.kind = AM_PUNCT;
		next = at + (end - at > 1 && at[0] == '-' && at[1] == '>' ? 2 : 1);
	}
	ORMA_ASSERT(next > at && next <= end);
	token.size = (size_t)(next - at);
	return token;
}

bool am_token_is(const struct am_token *token, const char *text)
{
	return token->size == strlen(text) && memcmp(token->text, text, token->size) == 0;
}
