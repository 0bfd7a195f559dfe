/* SPDX-License-Identifier: Apache-2.0
 * sql_token.h - splits SQL into tokens, as far as statements and macros need it.
 */
#ifndef ORMA_SQL_SQL_TOKEN_H
#define ORMA_SQL_SQL_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum orma_token_kind {
	ORMA_TOKEN_END,
	ORMA_TOKEN_SPACE, /* also comments */
	ORMA_TOKEN_WORD,
	ORMA_TOKEN_NAME,   /* in double quotes, brackets or backticks */
	ORMA_TOKEN_STRING, /* in single quotes */
	ORMA_TOKEN_NUMBER,
	ORMA_TOKEN_VARIABLE,   /* `$x`, `?1`, `:x`, `@x`; the text includes the sign */
	ORMA_TOKEN_SIGN,       /* one character */
	ORMA_TOKEN_UNFINISHED, /* a string, name or comment that has no end */
};

struct orma_token {
	enum orma_token_kind kind;
	struct orma_str text;
	size_t offset;
};

/* Reads the token at `offset`; at the end of the text its kind is ORMA_TOKEN_END and its text is empty. */
struct orma_token orma_sql_token_read(struct orma_str sql, size_t offset);
/* The next token behind spaces and comments. */
struct orma_token orma_sql_token_next(struct orma_str sql, size_t offset);
static inline size_t orma_sql_token_end(const struct orma_token *token)
{
	return token->offset + token->text.size;
}

/* Without regard to case; a name in quotes is no keyword. */
bool orma_sql_token_is(const struct orma_token *token, const char *keyword);
bool orma_sql_token_is_sign(const struct orma_token *token, char sign);
/* Moves `*offset` behind the token when the next one is this keyword or sign. */
bool orma_sql_token_accept(struct orma_str sql, size_t *offset, const char *keyword);
bool orma_sql_token_accept_sign(struct orma_str sql, size_t *offset, char sign);
/* `*offset` is behind an opening parenthesis; moves it behind the closing one. False when there is none. */
bool orma_sql_token_skip_parentheses(struct orma_str sql, size_t *offset);
/* Removes spaces and comments at both ends. */
struct orma_str orma_sql_token_trim(struct orma_str sql);
/* Counting from 1, columns in characters. */
void orma_sql_token_position(struct orma_str sql, size_t offset, unsigned *retline,
			     unsigned *retcolumn);

#endif
