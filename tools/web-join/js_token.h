/* SPDX-License-Identifier: Apache-2.0
 * js_token.h - a text of JavaScript as tokens, as far as tools/web-join needs to tell them apart.
 */
#ifndef ORMA_TOOLS_WEB_JOIN_JS_TOKEN_H
#define ORMA_TOOLS_WEB_JOIN_JS_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum js_kind {
	JS_END,
	JS_DAMAGED, /* a string, a comment or a template has no end, or brackets are nested too deeply */
	JS_NAME, /* also keywords */
	JS_NUMBER,
	JS_STRING,
	JS_TEMPLATE, /* a piece of one; the expressions in it are tokens of their own */
	JS_REGEX,
	JS_SIGN, /* one character */
};

struct js_token {
	enum js_kind kind;
	struct orma_str text;
	unsigned line;
	unsigned nesting; /* the number of brackets around it; a bracket itself is outside */
};

enum { JS_TEMPLATES_MAX = 16 };

/* {.at = text, .end, .line = 1} is ready. */
struct js_scan {
	const char *at, *end;
	unsigned line, nesting;
	/* The nesting in the expressions of the templates that are open. */
	unsigned templates[JS_TEMPLATES_MAX];
	size_t template_count;
	struct js_token last;
};

struct js_token js_next(struct js_scan *scan);

static inline bool js_is(const struct js_token *token, const char *text)
{
	return (token->kind == JS_NAME || token->kind == JS_SIGN) &&
	       orma_base_str_is(token->text, text);
}

#endif
