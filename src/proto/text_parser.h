/* SPDX-License-Identifier: Apache-2.0
 * text_parser.h - shared by the files of the text parser: the stack of open messages.
 */
#ifndef ORMA_PROTO_TEXT_PARSER_H
#define ORMA_PROTO_TEXT_PARSER_H

#include "proto/kind.h"
#include "proto/text_lexer.h"

struct orma_proto_parse_frame {
	struct orma_proto_message *message; /* NULL = a message inside a numbered field */
	const struct orma_proto_field_desc
		*list_field;   /* inside of a [list] of this field's messages */
	uint32_t extension_id; /* the message is of this field of the extension; 0 = it is not */
	struct orma_str opened_at; /* the opening brace */
	size_t wire_start;         /* where the content of a numbered message begins */
	char close;
};

struct orma_proto_parser {
	struct orma_proto_lexer lexer;
	struct orma_arena *arena;
	const struct orma_proto_extension *extension; /* NULL = none */
	bool is_lossy;
	size_t depth;
	struct orma_buf wire;    /* the encoding of the current numbered field */
	struct orma_buf scratch; /* the content of the current string */
	struct orma_proto_parse_frame frames[ORMA_PROTO_DEPTH_MAX + 1];
};

static inline struct orma_proto_parse_frame *orma_proto_parser_top(struct orma_proto_parser *parser)
{
	return &parser->frames[parser->depth];
}

static inline char orma_proto_parser_closing(char open)
{
	if (open == '[')
		return ']';
	return open == '{' ? '}' : '>';
}

static inline bool orma_proto_parser_is_open(const struct orma_proto_lexer *lexer)
{
	return orma_proto_lexer_is(lexer, '{') || orma_proto_lexer_is(lexer, '<');
}

static inline void orma_proto_parser_skip_separator(struct orma_proto_lexer *lexer)
{
	if (!orma_proto_lexer_take(lexer, ','))
		orma_proto_lexer_take(lexer, ';');
}

/* --- text_parse_value.c: functions that return int return 0 or -errno with reterr filled */

/* "found TOKEN, expected a number for FIELD" */
int orma_proto_parser_value_expected(struct orma_proto_parser *parser,
				     const struct orma_proto_field_desc *field);
/* Takes an integer and its sign, as 64 bits. False when the token is not an integer of that
 * range. */
bool orma_proto_parser_take_integer(struct orma_proto_parser *parser, bool has_sign, unsigned bits,
				    uint64_t *ret);
/* Takes one or more literals and joins them. */
int orma_proto_parser_take_string(struct orma_proto_parser *parser, struct orma_str *ret);
/* Stores one value in the innermost message; the field is not a message. */
int orma_proto_parser_parse_value(struct orma_proto_parser *parser,
				  const struct orma_proto_field_desc *field);
/* The same for a list whose bracket was taken. */
int orma_proto_parser_parse_value_list(struct orma_proto_parser *parser,
				       const struct orma_proto_field_desc *field);

/* --- text_parse_wire.c */

/* The token is a field's number. Returns 1 when the value is a message; the token is then its
 * brace. */
int orma_proto_parser_parse_numbered(struct orma_proto_parser *parser);
/* Appends a field to `wire`; `size` bytes of its content follow. */
int orma_proto_parser_open_wire(struct orma_proto_parser *parser, uint32_t id, size_t size);
/* Inserts the length of the numbered message whose content begins at `start`. */
int orma_proto_parser_close_wire(struct orma_proto_parser *parser, size_t start);
/* A numbered field is complete. Decodes it into the innermost struct, unless it is inside of
 * another numbered field. Errors point at `key`. */
int orma_proto_parser_merge_wire(struct orma_proto_parser *parser, struct orma_str key);

#endif
