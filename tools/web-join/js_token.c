/* SPDX-License-Identifier: Apache-2.0
 * js_token.c - tells names, strings, templates, expressions and comments apart.
 *
 * A slash begins a regular expression where no value can have ended: at the beginning, behind a sign other than a closing
 * bracket, and behind a keyword that wants a value. The grammar has exceptions, such as a regular expression behind the
 * bracket of `if (...)`; the page's modules do not use them.
 */
#include "js_token.h"

static bool is_name_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Skips blanks and comments. False when a comment has no end. */
static bool skip_blanks(struct js_scan *scan)
{
	while (scan->at < scan->end) {
		const char *at = scan->at;
		size_t left = (size_t)(scan->end - at);
		if (*at == '\n' || *at == ' ' || *at == '\t' || *at == '\r') {
			scan->line += *at == '\n';
			scan->at++;
		} else if (left >= 2 && at[0] == '/' && at[1] == '/') {
			while (scan->at < scan->end && *scan->at != '\n')
				scan->at++;
		} else if (left >= 2 && at[0] == '/' && at[1] == '*') {
			const char *close = memmem(at + 2, left - 2, "*/", 2);
			if (!close)
				return false;
			for (; at < close; at++)
				scan->line += *at == '\n';
			scan->at = close + 2;
		} else
			return true;
	}
	return true;
}

/* Goes behind a string, or a regular expression. */
static bool skip_quoted(struct js_scan *scan, char quote)
{
	bool is_in_set = false;
	for (scan->at++; scan->at < scan->end && *scan->at != '\n'; scan->at++) {
		char c = *scan->at;
		if (c == '\\' && scan->at + 1 < scan->end && scan->at[1] != '\n')
			scan->at++;
		else if (quote == '/' && (c == '[' || c == ']'))
			is_in_set = c == '[';
		else if (c == quote && !is_in_set) {
			scan->at++;
			while (quote == '/' && scan->at < scan->end && is_name_character(*scan->at))
				scan->at++;
			return true;
		}
	}
	return false;
}

/* Goes behind a piece of a template: to its end, or to an expression. */
static bool skip_template(struct js_scan *scan)
{
	for (scan->at++; scan->at < scan->end; scan->at++) {
		char c = *scan->at;
		scan->line += c == '\n';
		if (c == '\\' && scan->at + 1 < scan->end && scan->at[1] != '\n') {
			scan->at++;
		} else if (c == '`') {
			scan->at++;
			return true;
		} else if (c == '$' && scan->at + 1 < scan->end && scan->at[1] == '{') {
			if (scan->template_count == JS_TEMPLATES_MAX)
				return false;
			scan->at += 2;
			scan->templates[scan->template_count++] = ++scan->nesting;
			return true;
		}
	}
	return false;
}

static bool may_begin_regex(const struct js_token *last)
{
	static const char *const keywords[] = {"return", "typeof", "case",      "in",   "of",
					       "delete", "void",   "throw",     "else", "do",
					       "yield",  "await",  "instanceof"};
	if (last->kind == JS_SIGN)
		return !strchr(")]}", last->text.data[0]);
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (js_is(last, keywords[i]))
			return true;
	return last->kind == JS_END;
}

static enum js_kind read_sign(struct js_scan *scan, struct js_token *token)
{
	char c = *scan->at;
	bool ends_expression = c == '}' && scan->template_count > 0 &&
			       scan->templates[scan->template_count - 1] == scan->nesting;
	if (strchr(")]}", c)) {
		if (scan->nesting == 0)
			return JS_DAMAGED;
		token->nesting = --scan->nesting;
	}
	if (ends_expression) {
		scan->template_count--;
		return skip_template(scan) ? JS_TEMPLATE : JS_DAMAGED;
	}
	if (strchr("([{", c))
		scan->nesting++;
	scan->at++;
	return JS_SIGN;
}

static enum js_kind read_token(struct js_scan *scan, struct js_token *token)
{
	char c = *scan->at;
	if (c == '\0')
		return JS_DAMAGED;
	if (c == '"' || c == '\'')
		return skip_quoted(scan, c) ? JS_STRING : JS_DAMAGED;
	if (c == '`')
		return skip_template(scan) ? JS_TEMPLATE : JS_DAMAGED;
	if (c == '/' && may_begin_regex(&scan->last))
		return skip_quoted(scan, c) ? JS_REGEX : JS_DAMAGED;
	if (!is_name_character(c))
		return read_sign(scan, token);
	while (scan->at < scan->end &&
	       (is_name_character(*scan->at) || (is_digit(c) && *scan->at == '.')))
		scan->at++;
	return is_digit(c) ? JS_NUMBER : JS_NAME;
}

struct js_token js_next(struct js_scan *scan)
{
	struct js_token token = {.kind = JS_DAMAGED};
	bool is_whole = skip_blanks(scan);
	token.line = scan->line;
	token.nesting = scan->nesting;
	token.text.data = scan->at;
	if (is_whole)
		token.kind = scan->at == scan->end ? JS_END : read_token(scan, &token);
	if (token.kind == JS_END && scan->nesting > 0)
		token.kind = JS_DAMAGED;
	token.text.size = (size_t)(scan->at - token.text.data);
	scan->last = token;
	return token;
}
