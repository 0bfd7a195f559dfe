/* SPDX-License-Identifier: Apache-2.0
 * text_lexer.h - splits the text format into tokens, and reports errors at them.
 */
#ifndef ORMA_PROTO_TEXT_LEXER_H
#define ORMA_PROTO_TEXT_LEXER_H

#include <orma/error.h>

#include "base/buf.h"
#include "base/macros.h"
#include "proto/codec.h"

enum orma_proto_token_kind {
	ORMA_PROTO_TOKEN_END,
	ORMA_PROTO_TOKEN_IDENT,        /* letters, digits and underscores, no digit first */
	ORMA_PROTO_TOKEN_NUMBER,       /* begins with a digit, or a point and a digit; the rest is
				    unchecked */
	ORMA_PROTO_TOKEN_STRING,       /* one literal with its quotes */
	ORMA_PROTO_TOKEN_UNTERMINATED, /* a string without its second quote */
	ORMA_PROTO_TOKEN_PUNCT,        /* one character */
};

struct orma_proto_token {
	enum orma_proto_token_kind kind;
	struct orma_str text; /* points into the source; empty at the end */
};

struct orma_proto_lexer {
	const char *name; /* names the source in errors */
	const char *begin, *at, *end;
	bool has_c_comments;           /* as in C, instead of # to the end of the line */
	struct orma_proto_token token; /* the current one */
	struct orma_error *reterr;
};

void orma_proto_lexer_init(struct orma_proto_lexer *lexer, const char *name, const char *text,
			   size_t size, struct orma_error *reterr);
/* The same for the language of .proto files. */
void orma_proto_lexer_init_schema(struct orma_proto_lexer *lexer, const char *name,
				  const char *text, size_t size, struct orma_error *reterr);
/* Advances to the next token. */
void orma_proto_lexer_next(struct orma_proto_lexer *lexer);

static inline bool orma_proto_lexer_is(const struct orma_proto_lexer *lexer, char punct)
{
	return lexer->token.kind == ORMA_PROTO_TOKEN_PUNCT && lexer->token.text.data[0] == punct;
}

/* Advances if the token is this character. */
static inline bool orma_proto_lexer_take(struct orma_proto_lexer *lexer, char punct)
{
	bool is = orma_proto_lexer_is(lexer, punct);

	if (is)
		orma_proto_lexer_next(lexer);
	return is;
}

/* Both fill reterr and return -EBADMSG. `at` points into the source. */
int orma_proto_lexer_fail_at(struct orma_proto_lexer *lexer, struct orma_str at, const char *format,
			     ...) ORMA_PRINTF(3, 4);
/* "found TOKEN, expected ..." */
int orma_proto_lexer_expected(struct orma_proto_lexer *lexer, const char *format, ...)
	ORMA_PRINTF(2, 3);

/* Source text for a message: quoted, shortened, and without control characters. */
struct orma_proto_quoted {
	char text[72];
};
struct orma_proto_quoted orma_proto_quote(struct orma_str text);

/* The name that is most similar to `wrong`, or NULL when none is similar. `names` are `count`
 * names, each with its NUL. */
const char *orma_proto_closest_name(struct orma_str wrong, const char *names, size_t count);

/* The value of a NUMBER token; or of an IDENT token, for inf and nan. */
bool orma_proto_text_to_u64(struct orma_str text, uint64_t *ret);
bool orma_proto_text_to_double(struct orma_str text, double *ret);
/* Appends the content of one STRING token. Returns 0, -ENOMEM or -EBADMSG, which fills reterr. */
int orma_proto_text_unescape(struct orma_proto_lexer *lexer, struct orma_str literal,
			     struct orma_buf *out);
/* Appends the shortest text that reads back as the same value. */
int orma_proto_text_put_float(struct orma_buf *out, float value);
int orma_proto_text_put_double(struct orma_buf *out, double value);
/* Appends a quoted literal. With is_text, visible characters of valid UTF-8 are not escaped. */
int orma_proto_text_put_string(struct orma_buf *out, struct orma_str text, bool is_text);
bool orma_proto_text_is_printable(struct orma_str text);

#endif
