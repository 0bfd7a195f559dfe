/* SPDX-License-Identifier: Apache-2.0
 * sql_token.c - SQLite's rules for the ends of tokens. A no-break space, which comes with text from web pages, is a
 * space.
 */
#include "sql/sql_token.h"

#include <string.h>
#include <strings.h>

#include "base/macros.h"

static bool is_word_char(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c >= 0x80;
}

static bool is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

/* The bytes of white space at `offset`. */
static size_t space_at(struct orma_str sql, size_t offset)
{
	unsigned char c = (unsigned char)sql.data[offset];
	if (c == ' ' || (c >= '\t' && c <= '\r'))
		return 1;
	if (c == 0xc2 && offset + 1 < sql.size && (unsigned char)sql.data[offset + 1] == 0xa0)
		return 2;
	if (c == 0xef && sql.size - offset >= 3 &&
	    memcmp(sql.data + offset, "\xef\xbb\xbf", 3) == 0)
		return 3;
	return 0;
}

static size_t find(struct orma_str sql, size_t offset, const char *text)
{
	const char *at = offset < sql.size
				 ? memmem(sql.data + offset, sql.size - offset, text, strlen(text))
				 : NULL;
	return at ? (size_t)(at - sql.data) : SIZE_MAX;
}

static struct orma_token token(struct orma_str sql, enum orma_token_kind kind, size_t offset,
			       size_t end)
{
	return (struct orma_token){
		.kind = kind, .text = {sql.data + offset, end - offset}, .offset = offset};
}

static struct orma_token unfinished(struct orma_str sql, size_t offset)
{
	return token(sql, ORMA_TOKEN_UNFINISHED, offset, sql.size);
}

/* A doubled quote stands for itself. */
static struct orma_token read_quoted(struct orma_str sql, size_t offset, char quote)
{
	for (size_t at = offset + 1; at < sql.size; at++) {
		if (sql.data[at] != quote)
			continue;
		if (at + 1 < sql.size && sql.data[at + 1] == quote && quote != ']')
			at++;
		else
			return token(sql, quote == '\'' ? ORMA_TOKEN_STRING : ORMA_TOKEN_NAME,
				     offset, at + 1);
	}
	return unfinished(sql, offset);
}

static struct orma_token read_number(struct orma_str sql, size_t offset)
{
	size_t at = offset;
	for (; at < sql.size; at++) {
		char c = sql.data[at];
		bool is_sign = (c == '+' || c == '-') && at > offset &&
			       (sql.data[at - 1] == 'e' || sql.data[at - 1] == 'E') &&
			       sql.data[offset + 1] != 'x' && sql.data[offset + 1] != 'X';
		if (!is_word_char((unsigned char)c) && c != '.' && !is_sign)
			break;
	}
	return token(sql, ORMA_TOKEN_NUMBER, offset, at);
}

static struct orma_token read_word(struct orma_str sql, size_t offset, enum orma_token_kind kind)
{
	size_t at = offset + 1;
	while (at < sql.size && is_word_char((unsigned char)sql.data[at]) && space_at(sql, at) == 0)
		at++;
	return token(sql, kind, offset, at);
}

static struct orma_token read_space(struct orma_str sql, size_t offset)
{
	size_t at = offset, size;
	while (at < sql.size && (size = space_at(sql, at)) > 0)
		at += size;
	return token(sql, ORMA_TOKEN_SPACE, offset, at);
}

struct orma_token orma_sql_token_read(struct orma_str sql, size_t offset)
{
	if (offset >= sql.size)
		return (struct orma_token){
			.kind = ORMA_TOKEN_END, .text = ORMA_STR(""), .offset = sql.size};
	char c = sql.data[offset], next = '\0';
	if (offset + 1 < sql.size)
		next = sql.data[offset + 1];
	size_t end;
	if (space_at(sql, offset) > 0)
		return read_space(sql, offset);
	if (c == '-' && next == '-') {
		end = find(sql, offset, "\n");
		return token(sql, ORMA_TOKEN_SPACE, offset, end == SIZE_MAX ? sql.size : end + 1);
	}
	if (c == '/' && next == '*') {
		end = find(sql, offset + 2, "*/");
		return end == SIZE_MAX ? unfinished(sql, offset)
				       : token(sql, ORMA_TOKEN_SPACE, offset, end + 2);
	}
	if (c == '\'' || c == '"' || c == '`')
		return read_quoted(sql, offset, c);
	if (c == '[')
		return read_quoted(sql, offset, ']');
	if (is_digit((unsigned char)c) || (c == '.' && is_digit((unsigned char)next)))
		return read_number(sql, offset);
	if ((c == '$' || c == ':' || c == '@') && is_word_char((unsigned char)next))
		return read_word(sql, offset, ORMA_TOKEN_VARIABLE);
	if (c == '?')
		return read_word(sql, offset, ORMA_TOKEN_VARIABLE);
	if (is_word_char((unsigned char)c))
		return read_word(sql, offset, ORMA_TOKEN_WORD);
	return token(sql, ORMA_TOKEN_SIGN, offset, offset + 1);
}

struct orma_token orma_sql_token_next(struct orma_str sql, size_t offset)
{
	struct orma_token next = orma_sql_token_read(sql, offset);
	while (next.kind == ORMA_TOKEN_SPACE)
		next = orma_sql_token_read(sql, orma_sql_token_end(&next));
	return next;
}

bool orma_sql_token_is(const struct orma_token *word, const char *keyword)
{
	return word->kind == ORMA_TOKEN_WORD && word->text.size == strlen(keyword) &&
	       strncasecmp(word->text.data, keyword, word->text.size) == 0;
}

bool orma_sql_token_is_sign(const struct orma_token *sign, char wanted)
{
	return sign->kind == ORMA_TOKEN_SIGN && sign->text.data[0] == wanted;
}

bool orma_sql_token_accept(struct orma_str sql, size_t *offset, const char *keyword)
{
	struct orma_token next = orma_sql_token_next(sql, *offset);
	if (!orma_sql_token_is(&next, keyword))
		return false;
	*offset = orma_sql_token_end(&next);
	return true;
}

bool orma_sql_token_accept_sign(struct orma_str sql, size_t *offset, char sign)
{
	struct orma_token next = orma_sql_token_next(sql, *offset);
	if (!orma_sql_token_is_sign(&next, sign))
		return false;
	*offset = orma_sql_token_end(&next);
	return true;
}

bool orma_sql_token_skip_parentheses(struct orma_str sql, size_t *offset)
{
	size_t depth = 1, at = *offset;
	while (depth > 0) {
		struct orma_token next = orma_sql_token_next(sql, at);
		if (next.kind == ORMA_TOKEN_END || next.kind == ORMA_TOKEN_UNFINISHED)
			return false;
		depth += orma_sql_token_is_sign(&next, '(');
		depth -= orma_sql_token_is_sign(&next, ')');
		at = orma_sql_token_end(&next);
	}
	*offset = at;
	return true;
}

struct orma_str orma_sql_token_trim(struct orma_str sql)
{
	struct orma_token first = orma_sql_token_next(sql, 0);
	size_t end = first.offset;
	for (struct orma_token next = first; next.kind != ORMA_TOKEN_END;
	     next = orma_sql_token_next(sql, end))
		end = orma_sql_token_end(&next);
	return (struct orma_str){sql.data + first.offset, end - first.offset};
}

void orma_sql_token_position(struct orma_str sql, size_t offset, unsigned *retline,
			     unsigned *retcolumn)
{
	const char *at = sql.data, *end = at + ORMA_MIN(offset, sql.size), *line_end;
	*retline = *retcolumn = 1;
	while (at < end && (line_end = memchr(at, '\n', (size_t)(end - at)))) {
		(*retline)++;
		at = line_end + 1;
	}
	for (; at < end; at++)
		*retcolumn += ((unsigned char)*at & 0xc0) != 0x80;
}
