/* SPDX-License-Identifier: Apache-2.0
 * text_parse_value.c - the text parser's scalars and strings.
 *
 * A value is taken from the tokens and checked against the field's kind before the message changes.
 * A string is assembled in the parser's scratch buffer and then copied to the arena. Rejected: one
 * function per kind, because they would differ only in a range and a word; strings that point into
 * the text, because the text need not outlive the message.
 */
#include <errno.h>

#include "proto/text_parser.h"

static const char *kind_text(const struct orma_proto_field_desc *field)
{
	static const char *const texts[] = {
		[ORMA_PROTO_KIND_BOOL] = "true or false",
		[ORMA_PROTO_KIND_INT32] = "a whole number from -2^31 to 2^31-1",
		[ORMA_PROTO_KIND_INT64] = "a whole number from -2^63 to 2^63-1",
		[ORMA_PROTO_KIND_UINT32] = "a whole number from 0 to 2^32-1",
		[ORMA_PROTO_KIND_UINT64] = "a whole number from 0 to 2^64-1",
		[ORMA_PROTO_KIND_SINT32] = "a whole number from -2^31 to 2^31-1",
		[ORMA_PROTO_KIND_SINT64] = "a whole number from -2^63 to 2^63-1",
		[ORMA_PROTO_KIND_FIXED32] = "a whole number from 0 to 2^32-1",
		[ORMA_PROTO_KIND_FIXED64] = "a whole number from 0 to 2^64-1",
		[ORMA_PROTO_KIND_SFIXED32] = "a whole number from -2^31 to 2^31-1",
		[ORMA_PROTO_KIND_SFIXED64] = "a whole number from -2^63 to 2^63-1",
		[ORMA_PROTO_KIND_FLOAT] = "a number",
		[ORMA_PROTO_KIND_DOUBLE] = "a number",
		[ORMA_PROTO_KIND_ENUM] = "a value",
		[ORMA_PROTO_KIND_STRING] = "a string in quotes",
		[ORMA_PROTO_KIND_BYTES] = "a string in quotes",
		[ORMA_PROTO_KIND_MESSAGE] = "a message in { }",
	};

	return texts[field->kind];
}

int orma_proto_parser_value_expected(struct orma_proto_parser *parser,
				     const struct orma_proto_field_desc *field)
{
	const struct orma_proto_desc *desc = orma_proto_parser_top(parser)->message->desc;

	return orma_proto_lexer_expected(&parser->lexer, "%s for %s", kind_text(field),
					 orma_proto_field_name(desc, field));
}

bool orma_proto_parser_take_integer(struct orma_proto_parser *parser, bool has_sign, unsigned bits,
				    uint64_t *ret)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	struct orma_proto_lexer before = *lexer;
	bool is_negative = orma_proto_lexer_take(lexer, '-');
	uint64_t limit = UINT64_MAX >> (64 - bits + has_sign), value;

	if (lexer->token.kind != ORMA_PROTO_TOKEN_NUMBER ||
	    !orma_proto_text_to_u64(lexer->token.text, &value) ||
	    value > limit + (is_negative && has_sign) || (is_negative && !has_sign && value > 0)) {
		/* The error points at the number including its sign. */
		struct orma_str number = lexer->token.text;
		bool is_number = lexer->token.kind == ORMA_PROTO_TOKEN_NUMBER;

		*lexer = before;
		if (is_negative && is_number)
			lexer->token.text.size =
				(size_t)(number.data + number.size - lexer->token.text.data);
		return false;
	}
	orma_proto_lexer_next(lexer);
	*ret = is_negative ? -value : value;
	return true;
}

static bool take_bool(struct orma_proto_parser *parser, uint64_t *ret)
{
	static const char *const words[] = {"false", "true", "False", "True", "f", "t", "0", "1"};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(words); i++) {
		if (orma_base_str_is(parser->lexer.token.text, words[i])) {
			*ret = i % 2;
			orma_proto_lexer_next(&parser->lexer);
			return true;
		}
	}
	return false;
}

static bool take_double(struct orma_proto_parser *parser, double *ret)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	struct orma_proto_lexer before = *lexer;
	bool is_negative = orma_proto_lexer_take(lexer, '-');
	double value;

	if (!orma_proto_text_to_double(lexer->token.text, &value)) {
		*lexer = before;
		return false;
	}
	orma_proto_lexer_next(lexer);
	*ret = is_negative ? -value : value;
	return true;
}

/* Returns 1 (a value), 0 (a name that ORMA_PROTO_TEXT_LOSSY skips) or -errno. */
static int take_enum(struct orma_proto_parser *parser, const struct orma_proto_field_desc *field,
		     uint64_t *ret)
{
	const struct orma_proto_enum_desc *desc =
		orma_proto_parser_top(parser)->message->desc->types[field->type_idx].enumeration;
	struct orma_str text = parser->lexer.token.text;
	const char *closest;
	int32_t number;

	if (parser->lexer.token.kind != ORMA_PROTO_TOKEN_IDENT)
		return orma_proto_parser_take_integer(parser, true, 32, ret)
			       ? 1
			       : orma_proto_parser_value_expected(parser, field);
	if (orma_proto_enum_find(desc, text, &number)) {
		orma_proto_lexer_next(&parser->lexer);
		*ret = (uint64_t)number;
		return 1;
	}
	if (parser->is_lossy) {
		orma_proto_lexer_next(&parser->lexer);
		return 0;
	}
	closest = orma_proto_closest_name(text, desc->name + strlen(desc->name) + 1,
					  desc->value_count);
	return orma_proto_lexer_fail_at(&parser->lexer, text, "no value %s in %s%s%s%s",
					orma_proto_quote(text).text, desc->name,
					closest ? "; did you mean " : "", closest ? closest : "",
					closest ? "?" : "");
}

int orma_proto_parser_take_string(struct orma_proto_parser *parser, struct orma_str *ret)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	const char *copy;

	parser->scratch.size = 0;
	do {
		int r = orma_proto_text_unescape(lexer, lexer->token.text, &parser->scratch);

		if (r < 0)
			return r;
		orma_proto_lexer_next(lexer);
	} while (lexer->token.kind == ORMA_PROTO_TOKEN_STRING);
	if (lexer->token.kind == ORMA_PROTO_TOKEN_UNTERMINATED)
		return orma_proto_lexer_expected(lexer, "its end");
	*ret = (struct orma_str){"", 0};
	if (parser->scratch.size == 0)
		return 0;
	copy = orma_base_arena_memdup(parser->arena, parser->scratch.data, parser->scratch.size);
	if (!copy)
		return -ENOMEM;
	*ret = (struct orma_str){copy, parser->scratch.size};
	return 0;
}

static bool is_signed(unsigned kind)
{
	return kind == ORMA_PROTO_KIND_INT32 || kind == ORMA_PROTO_KIND_SINT32 ||
	       kind == ORMA_PROTO_KIND_SFIXED32 || kind == ORMA_PROTO_KIND_INT64 ||
	       kind == ORMA_PROTO_KIND_SINT64 || kind == ORMA_PROTO_KIND_SFIXED64;
}

union parse_value {
	uint64_t bits;
	double wide;
	float narrow;
	struct orma_str bytes;
};

/* Takes a value in its representation in memory. Returns as take_enum() does. */
static int take_value(struct orma_proto_parser *parser, const struct orma_proto_field_desc *field,
		      union parse_value *ret)
{
	bool ok;
	int r;

	switch (field->kind) {
	case ORMA_PROTO_KIND_STRING:
	case ORMA_PROTO_KIND_BYTES:
		if (parser->lexer.token.kind != ORMA_PROTO_TOKEN_STRING)
			return orma_proto_parser_value_expected(parser, field);
		r = orma_proto_parser_take_string(parser, &ret->bytes);
		return r < 0 ? r : 1;
	case ORMA_PROTO_KIND_ENUM:
		return take_enum(parser, field, &ret->bits);
	case ORMA_PROTO_KIND_BOOL:
		ok = take_bool(parser, &ret->bits);
		break;
	case ORMA_PROTO_KIND_FLOAT:
		ok = take_double(parser, &ret->wide);
		if (ok)
			ret->narrow = (float)ret->wide;
		break;
	case ORMA_PROTO_KIND_DOUBLE:
		ok = take_double(parser, &ret->wide);
		break;
	default:
		ok = orma_proto_parser_take_integer(parser, is_signed(field->kind),
						    (unsigned)orma_proto_kind_size(field->kind) * 8,
						    &ret->bits);
	}
	return ok ? 1 : orma_proto_parser_value_expected(parser, field);
}

int orma_proto_parser_parse_value(struct orma_proto_parser *parser,
				  const struct orma_proto_field_desc *field)
{
	struct orma_proto_message *message = orma_proto_parser_top(parser)->message;
	void *at = orma_proto_member(message, field);
	union parse_value value = {0};
	int has_value = take_value(parser, field, &value);

	if (has_value <= 0)
		return has_value;
	if (field->flags & ORMA_PROTO_REPEATED_FLAG) {
		at = orma_proto_repeated_add(at, orma_proto_kind_size(field->kind), parser->arena);
		if (!at)
			return -ENOMEM;
	} else {
		orma_proto_set_has_bit(message, field->has_bit);
	}
	memcpy(at, &value, orma_proto_kind_size(field->kind));
	return 0;
}

int orma_proto_parser_parse_value_list(struct orma_proto_parser *parser,
				       const struct orma_proto_field_desc *field)
{
	struct orma_proto_lexer *lexer = &parser->lexer;

	if (orma_proto_lexer_take(lexer, ']'))
		return 0;
	for (;;) {
		int r = orma_proto_parser_parse_value(parser, field);

		if (r < 0)
			return r;
		if (orma_proto_lexer_take(lexer, ']'))
			return 0;
		if (!orma_proto_lexer_take(lexer, ','))
			return orma_proto_lexer_expected(lexer, "\",\" or \"]\"");
	}
}
