/* SPDX-License-Identifier: Apache-2.0
 * proto_token.c - single tokens of .proto files: take one, or fail and say what was expected.
 */
#include <errno.h>

#include "tool/protogen/proto_parser.h"

#define NAME_MAX_BYTES 200
#define PATH_MAX_BYTES 500

bool orma_tool_proto_is_word(const struct orma_proto_lexer *lexer, const char *word)
{
	return lexer->token.kind == ORMA_PROTO_TOKEN_IDENT &&
	       orma_base_str_is(lexer->token.text, word);
}

bool orma_tool_proto_take_word(struct orma_proto_lexer *lexer, const char *word)
{
	bool is = orma_tool_proto_is_word(lexer, word);

	if (is)
		orma_proto_lexer_next(lexer);
	return is;
}

bool orma_tool_proto_is_at_end(const struct orma_proto_lexer *lexer)
{
	return lexer->token.kind == ORMA_PROTO_TOKEN_END ||
	       lexer->token.kind == ORMA_PROTO_TOKEN_UNTERMINATED;
}

int orma_tool_proto_need(struct orma_proto_lexer *lexer, char punct)
{
	if (!orma_proto_lexer_take(lexer, punct))
		return orma_proto_lexer_expected(lexer, "'%c'", punct);
	return 0;
}

int orma_tool_proto_need_name(struct orma_proto_lexer *lexer, const char *what,
			      struct orma_str *ret)
{
	*ret = (struct orma_str){0};
	if (lexer->token.kind != ORMA_PROTO_TOKEN_IDENT)
		return orma_proto_lexer_expected(lexer, "%s", what);
	if (lexer->token.text.size > NAME_MAX_BYTES)
		return orma_proto_lexer_fail_at(lexer, lexer->token.text,
						"a name must not have more than %d characters",
						NAME_MAX_BYTES);
	*ret = lexer->token.text;
	orma_proto_lexer_next(lexer);
	return 0;
}

int orma_tool_proto_need_path(struct orma_proto_lexer *lexer, const char *what,
			      struct orma_str *ret)
{
	const char *begin = lexer->token.text.data, *end = begin;

	*ret = (struct orma_str){0};
	if (orma_proto_lexer_take(lexer, '.'))
		end = begin + 1;
	for (;;) {
		struct orma_str part;
		int r;

		if (lexer->token.text.data != end)
			return orma_proto_lexer_expected(lexer, "%s", what);
		r = orma_tool_proto_need_name(lexer, what, &part);
		if (r < 0)
			return r;
		end = part.data + part.size;
		if (end - begin > PATH_MAX_BYTES)
			return orma_proto_lexer_fail_at(lexer, part,
							"a name with its packages must not have "
							"more than %d characters",
							PATH_MAX_BYTES);
		if (!orma_proto_lexer_is(lexer, '.') || lexer->token.text.data != end)
			break;
		orma_proto_lexer_next(lexer);
		end++;
	}
	*ret = (struct orma_str){begin, (size_t)(end - begin)};
	return 0;
}

int orma_tool_proto_need_number(struct orma_proto_lexer *lexer, const char *what, uint64_t max,
				uint64_t *ret)
{
	struct orma_str text = lexer->token.text;

	*ret = 0;
	if (lexer->token.kind != ORMA_PROTO_TOKEN_NUMBER || !orma_proto_text_to_u64(text, ret))
		return orma_proto_lexer_expected(lexer, "%s", what);
	if (*ret > max)
		return orma_proto_lexer_fail_at(lexer, text, "%s is at most %llu", what,
						(unsigned long long)max);
	orma_proto_lexer_next(lexer);
	return 0;
}

int orma_tool_proto_need_string(struct orma_tool_proto_parser *parser, const char *what,
				struct orma_str *ret_at, char **ret)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) text = {0};
	int r;

	*ret = NULL;
	*ret_at = (struct orma_str){0};
	if (parser->lexer->token.kind != ORMA_PROTO_TOKEN_STRING)
		return orma_proto_lexer_expected(parser->lexer, "%s", what);
	*ret_at = parser->lexer->token.text;
	r = orma_proto_text_unescape(parser->lexer, *ret_at, &text);
	if (r < 0)
		return r;
	*ret = orma_base_arena_strdup(&parser->set->arena,
				      (struct orma_str){(const char *)text.data, text.size});
	orma_proto_lexer_next(parser->lexer);
	return *ret ? 0 : -ENOMEM;
}
