/* SPDX-License-Identifier: Apache-2.0
 * text_parser.h - what the parts of the text parser share: the stack of open messages.
 */
#ifndef ORMA_PROTO_TEXT_PARSER_H
#define ORMA_PROTO_TEXT_PARSER_H

#include "proto/kind.h"
#include "proto/text_lexer.h"

struct orma_proto_parse_frame {
	struct orma_proto_message *message; /* NULL: a message on the wire */
	const struct orma_proto_field_desc
		*list_field;       /* being in a [list] of this field's messages */
	struct orma_str opened_at; /* the brace */
	size_t wire_start;         /* of a message on the wire: its content */
	char close;
};

struct orma_proto_parser {
	struct orma_proto_lexer lexer;
	struct orma_arena *arena;
	bool is_lossy;
	size_t depth;
	struct orma_buf wire;    /* the numbered field being read */
	struct orma_buf scratch; /* the string being read */
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

/* Enters the message whose brace is the token; NULL: a message on the wire. */
int orma_proto_parser_enter(struct orma_proto_parser *parser, struct orma_proto_message *message);

/* --- text_parse_value.c: these return 0 or a negative errno value with reterr filled */

/* "found TOKEN, expected a number for FIELD" */
int orma_proto_parser_value_expected(struct orma_proto_parser *parser,
				     const struct orma_proto_field_desc *field);
/* An integer with its sign, as 64 bits; false when the token is none or its range is exceeded. */
bool orma_proto_parser_take_integer(struct orma_proto_parser *parser, bool has_sign, unsigned bits,
				    uint64_t *ret);
/* One or more literals, joined. */
int orma_proto_parser_take_string(struct orma_proto_parser *parser, struct orma_str *ret);
/* One value of a field that is not a message, into the innermost message. */
int orma_proto_parser_parse_value(struct orma_proto_parser *parser,
				  const struct orma_proto_field_desc *field);
/* The same for a list, behind its bracket. */
int orma_proto_parser_parse_value_list(struct orma_proto_parser *parser,
				       const struct orma_proto_field_desc *field);

/* --- text_parse_wire.c */

/* The token is a field's number. */
int orma_proto_parser_parse_numbered(struct orma_proto_parser *parser);
/* Puts the length in front of the message on the wire that began at `start`. */
int orma_proto_parser_close_wire(struct orma_proto_parser *parser, size_t start);
/* A numbered field that is not inside another one is complete: into the struct. `key`: for errors.
 */
int orma_proto_parser_merge_wire(struct orma_proto_parser *parser, struct orma_str key);

#endif
