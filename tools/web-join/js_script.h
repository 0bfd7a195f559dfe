/* SPDX-License-Identifier: Apache-2.0
 * js_script.h - a whole script as tokens: which brackets belong together, and which names are variables.
 */
#ifndef ORMA_TOOLS_WEB_JOIN_JS_SCRIPT_H
#define ORMA_TOOLS_WEB_JOIN_JS_SCRIPT_H

#include <stdint.h>

#include "js_token.h"

#define JS_NONE UINT32_MAX

/* A token's part in the script, besides its kind. */
enum js_role {
	JS_OTHER,
	JS_BLOCK, /* an opening bracket of statements, of a call, or of an array; and each that closes */
	JS_OBJECT,    /* an opening bracket of an object or of a pattern */
	JS_CLASS,     /* an opening bracket of a class */
	JS_VARIABLE,  /* a name that stands for itself; also keywords */
	JS_SHORTHAND, /* so does this one, and it is the name of a property as well: {name} */
	JS_PROPERTY,  /* a name behind a dot, of a method, or before a colon */
};

struct js_script_token {
	struct orma_str text;
	enum js_kind kind;
	enum js_role role;
	uint32_t match;     /* the other bracket, for a bracket */
	uint32_t enclosing; /* the bracket that is open here, or JS_NONE */
	uint32_t unit;      /* no name that is declared below the top is known in two units */
};

struct js_script {
	struct js_script_token *tokens;
	uint32_t count, unit_count;
};

/* Reads a script; js_script_done() frees it. False when memory runs out or it has a form that the page's modules do not use. */
bool js_script_read(struct js_script *script, struct orma_str text);
void js_script_done(struct js_script *script);

/* Whether the token is the word or the sign. False for JS_NONE, and for properties of that name. */
bool js_script_is(const struct js_script *script, uint32_t idx, const char *text);

#endif
