/* SPDX-License-Identifier: Apache-2.0
 * text_parse_wire.c - the text parser's fields that are named by a number.
 *
 * They are encoded into the parser's `wire` buffer and merged into the innermost struct when the
 * outermost of them is complete. Invariant: while a message on the wire is open, `wire` holds
 * everything since that outermost tag. Rejected: reading known numbers as if they were names (the
 * printer uses them for values of another wire type than the field's).
 */
#include <errno.h>

#include "proto/text_parser.h"

static int put_wire_varint(struct orma_proto_parser *parser, uint64_t value)
{
	uint8_t bytes[ORMA_PROTO_VARINT_MAX];
	uint8_t *end = orma_proto_put_varint(bytes, value);

	return orma_base_buf_append(&parser->wire, bytes, (size_t)(end - bytes));
}

static int put_wire_tag(struct orma_proto_parser *parser, uint32_t id,
			enum orma_proto_wire_type type)
{
	return put_wire_varint(parser, orma_proto_tag(id, type));
}

/* Puts the length in front of what was appended since `start`. */
int orma_proto_parser_close_wire(struct orma_proto_parser *parser, size_t start)
{
	struct orma_buf *wire = &parser->wire;
	size_t size = wire->size - start, head = orma_proto_varint_size(size);
	uint8_t padding[ORMA_PROTO_VARINT_MAX] = {0};
	int err = orma_base_buf_append(wire, padding, head);

	if (err < 0)
		return err;
	memmove(wire->data + start + head, wire->data + start, size);
	orma_proto_put_varint(wire->data + start, size);
	return 0;
}

/* A numbered field that is not inside another one is complete: into the struct. */
int orma_proto_parser_merge_wire(struct orma_proto_parser *parser, struct orma_str key)
{
	struct orma_buf *wire = &parser->wire;
	struct orma_proto_message *message = orma_proto_parser_top(parser)->message;
	const void *copy;
	int err;

	if (!message)
		return 0;
	copy = orma_base_arena_memdup(parser->arena, wire->data, wire->size);
	if (!copy)
		return -ENOMEM;
	err = orma_proto_merge(message, copy, wire->size, parser->arena);
	wire->size = 0;
	if (err == -EBADMSG)
		return orma_proto_lexer_fail_at(&parser->lexer, key,
						"the value does not decode as what %s has there",
						message->desc->name);
	return err;
}

static int put_wire_number(struct orma_proto_parser *parser, uint32_t id)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	struct orma_str text = lexer->token.text;
	bool is_hex = text.size > 2 && (text.data[1] | 0x20) == 'x';
	bool is_negative = orma_proto_lexer_is(lexer, '-');
	uint64_t value;
	int err;

	if (!orma_proto_parser_take_integer(parser, is_negative, 64, &value))
		return orma_proto_lexer_expected(lexer, "a whole number, a string or a message");
	if (!is_hex || (text.size != 10 && text.size != 18)) {
		err = put_wire_tag(parser, id, ORMA_PROTO_VARINT);
		return err < 0 ? err : put_wire_varint(parser, value);
	}
	err = put_wire_tag(parser, id, text.size == 10 ? ORMA_PROTO_FIXED32 : ORMA_PROTO_FIXED64);
	return err < 0 ? err : orma_base_buf_append(&parser->wire, &value, text.size == 10 ? 4 : 8);
}

/* The token is the number. */
int orma_proto_parser_parse_numbered(struct orma_proto_parser *parser)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	struct orma_str key = lexer->token.text, bytes = {0};
	uint64_t id;
	int err;

	if (!orma_proto_text_to_u64(key, &id) || id == 0 || id > ORMA_PROTO_FIELD_ID_MAX)
		return orma_proto_lexer_expected(lexer,
						 "a field's name, or its number up to 2^29-1");
	orma_proto_lexer_next(lexer);
	orma_proto_lexer_take(lexer, ':');
	if (orma_proto_parser_is_open(lexer)) {
		err = put_wire_tag(parser, (uint32_t)id, ORMA_PROTO_BYTES);
		return err < 0 ? err : orma_proto_parser_enter(parser, NULL);
	}
	if (lexer->token.kind == ORMA_PROTO_TOKEN_STRING) {
		err = orma_proto_parser_take_string(parser, &bytes);
		if (err == 0)
			err = put_wire_tag(parser, (uint32_t)id, ORMA_PROTO_BYTES);
		if (err == 0)
			err = put_wire_varint(parser, bytes.size);
		if (err == 0)
			err = orma_base_buf_append(&parser->wire, bytes.data, bytes.size);
	} else {
		err = put_wire_number(parser, (uint32_t)id);
	}
	if (err < 0)
		return err;
	orma_proto_parser_skip_separator(lexer);
	return orma_proto_parser_merge_wire(parser, key);
}
