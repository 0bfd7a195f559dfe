/* SPDX-License-Identifier: Apache-2.0
 * proto_option.c - options: statements, and the lists in brackets behind fields and values.
 *
 * Options are skipped without building their values, because the generators depend on three only:
 * `packed`, `default`, and the features of editions that say how a field is encoded. Features are
 * recognised by their values, whose words no other option of protobuf uses.
 */
#include "base/assert.h"
#include "tool/protogen/proto_parser.h"

enum packing { PACKING_UNSPECIFIED, PACKING_PACKED, PACKING_EXPANDED };

/* Records the current token if it is a value of an edition's feature that says how fields are
 * encoded. */
static int note_feature(struct orma_tool_proto_parser *parser, enum packing *packing)
{
	if (!parser->file->is_edition)
		return 0;
	if (orma_tool_proto_is_word(parser->lexer, "DELIMITED"))
		return orma_proto_lexer_fail_at(parser->lexer, parser->lexer->token.text,
						"groups (DELIMITED) are not supported");
	if (orma_tool_proto_is_word(parser->lexer, "EXPANDED"))
		*packing = PACKING_EXPANDED;
	else if (orma_tool_proto_is_word(parser->lexer, "PACKED"))
		*packing = PACKING_PACKED;
	return 0;
}

/* Called behind an opening brace: skips everything up to and including the matching closing
 * brace. */
static int skip_braces(struct orma_tool_proto_parser *parser, enum packing *packing)
{
	struct orma_proto_lexer *lexer = parser->lexer;

	for (unsigned depth = 1;;) {
		int r = note_feature(parser, packing);

		if (r < 0)
			return r;
		if (orma_tool_proto_is_at_end(lexer))
			return orma_proto_lexer_expected(lexer, "'}'");
		if (orma_proto_lexer_is(lexer, '{') || orma_proto_lexer_is(lexer, '['))
			depth++;
		if (orma_proto_lexer_is(lexer, '}') || orma_proto_lexer_is(lexer, ']'))
			depth--;
		if (depth == 0)
			return orma_tool_proto_need(lexer, '}');
		orma_proto_lexer_next(lexer);
	}
}

int orma_tool_proto_skip_braces(struct orma_tool_proto_parser *parser)
{
	enum packing ignored;

	return skip_braces(parser, &ignored);
}

/* Skips one token of an option, or all between two braces. */
static int skip_option_token(struct orma_tool_proto_parser *parser, enum packing *packing)
{
	int r = note_feature(parser, packing);

	if (r < 0)
		return r;
	if (orma_proto_lexer_take(parser->lexer, '{'))
		return skip_braces(parser, packing);
	orma_proto_lexer_next(parser->lexer);
	return 0;
}

int orma_tool_proto_parse_option_statement(struct orma_tool_proto_parser *parser)
{
	struct orma_proto_lexer *lexer = parser->lexer;
	enum packing packing = PACKING_UNSPECIFIED;
	int r = 0;

	while (r == 0 && !orma_proto_lexer_is(lexer, ';')) {
		if (orma_tool_proto_is_at_end(lexer) || orma_proto_lexer_is(lexer, '}'))
			return orma_proto_lexer_expected(lexer, "';'");
		r = skip_option_token(parser, &packing);
	}
	if (r < 0)
		return r;
	/* The same option of a message is ignored, because readers understand both encodings. */
	if (packing != PACKING_UNSPECIFIED &&
	    orma_tool_proto_innermost(parser)->kind == ORMA_TOOL_PROTO_BLOCK_FILE)
		parser->file->is_expanded = packing == PACKING_EXPANDED;
	return orma_tool_proto_need(lexer, ';');
}

static int parse_packed(struct orma_tool_proto_parser *parser, struct orma_tool_proto_field *field)
{
	bool is_packed = orma_tool_proto_is_word(parser->lexer, "true");

	if (!is_packed && !orma_tool_proto_is_word(parser->lexer, "false"))
		return orma_proto_lexer_expected(parser->lexer, "true or false");
	field->is_packed = is_packed;
	field->has_packed_option = true;
	return 0;
}

/* Keeps the literal as it is. Only the tables' generator looks at it, and refuses it. */
static void note_default(struct orma_tool_proto_parser *parser, struct orma_tool_proto_field *field)
{
	(void)orma_proto_lexer_take(parser->lexer, '-');
	if (parser->lexer->token.kind != ORMA_PROTO_TOKEN_PUNCT)
		field->default_value = parser->lexer->token.text;
}

/* Parses one option of a list, up to the comma or bracket behind it. */
static int parse_option(struct orma_tool_proto_parser *parser, struct orma_tool_proto_field *field,
			enum packing *packing)
{
	struct orma_proto_lexer *lexer = parser->lexer;
	int r = 0;

	if (lexer->token.kind != ORMA_PROTO_TOKEN_IDENT && !orma_proto_lexer_is(lexer, '('))
		return orma_proto_lexer_expected(lexer, "an option's name");
	if (field && orma_tool_proto_take_word(lexer, "packed") &&
	    orma_proto_lexer_take(lexer, '='))
		r = parse_packed(parser, field);
	else if (field && orma_tool_proto_take_word(lexer, "default") &&
		 orma_proto_lexer_take(lexer, '='))
		note_default(parser, field);
	while (r == 0 && !orma_proto_lexer_is(lexer, ',') && !orma_proto_lexer_is(lexer, ']')) {
		if (orma_tool_proto_is_at_end(lexer) || orma_proto_lexer_is(lexer, ';'))
			return orma_proto_lexer_expected(lexer, "']'");
		r = skip_option_token(parser, packing);
	}
	return r;
}

int orma_tool_proto_parse_options(struct orma_tool_proto_parser *parser,
				  struct orma_tool_proto_field *field)
{
	enum packing packing = PACKING_UNSPECIFIED;

	if (!orma_proto_lexer_take(parser->lexer, '['))
		return 0;
	do {
		int r = parse_option(parser, field, &packing);

		if (r < 0)
			return r;
	} while (orma_proto_lexer_take(parser->lexer, ','));
	if (field && packing != PACKING_UNSPECIFIED) {
		field->is_packed = packing == PACKING_PACKED;
		field->has_packed_option = true;
	}
	return orma_tool_proto_need(parser->lexer, ']');
}
