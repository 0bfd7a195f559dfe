/* SPDX-License-Identifier: Apache-2.0
 * text_parse_wire.c - fields of the text format that are named by a number.
 *
 * They are encoded into the parser's `wire` buffer. When the outermost of them is complete, `wire`
 * is decoded into the innermost struct. Invariant: while the message of a numbered field is open,
 * `wire` holds everything since the tag of the outermost one. Rejected: treating known numbers like
 * names, because the printer uses numbers for values whose wire type differs from the field's.
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

int orma_proto_parser_open_wire(struct orma_proto_parser *parser, uint32_t id, size_t size)
{
	int r = put_wire_tag(parser, id, ORMA_PROTO_BYTES);

	return r < 0 ? r : put_wire_varint(parser, size);
}

int orma_proto_parser_close_wire(struct orma_proto_parser *parser, size_t start)
{
	struct orma_buf *wire = &parser->wire;
	ORMA_ASSERT(start <= wire->size);
	size_t size = wire->size - start, head = orma_proto_varint_size(size);
	uint8_t padding[ORMA_PROTO_VARINT_MAX] = {0};
	int r = orma_base_buf_append(wire, padding, head);

	if (r < 0)
		return r;
	memmove(wire->data + start + head, wire->data + start, size);
	orma_proto_put_varint(wire->data + start, size);
	return 0;
}

int orma_proto_parser_merge_wire(struct orma_proto_parser *parser, struct orma_str key)
{
	struct orma_buf *wire = &parser->wire;
	struct orma_proto_message *message = orma_proto_parser_top(parser)->message;
	const void *copy;
	int r;

	if (!message)
		return 0;
	copy = orma_base_arena_memdup(parser->arena, wire->data, wire->size);
	if (!copy)
		return -ENOMEM;
	r = orma_proto_merge(message, copy, wire->size, parser->arena);
	wire->size = 0;
	if (r == -EBADMSG)
		return orma_proto_lexer_fail_at(&parser->lexer, key,
						"the value does not decode as what %s has there",
						message->desc->name);
	return r;
}

static int put_wire_number(struct orma_proto_parser *parser, uint32_t id)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	struct orma_str text = lexer->token.text;
	bool is_hex = text.size > 2 && (text.data[1] | 0x20) == 'x';
	bool is_negative = orma_proto_lexer_is(lexer, '-');
	uint64_t value;
	int r;

	if (!orma_proto_parser_take_integer(parser, is_negative, 64, &value))
		return orma_proto_lexer_expected(lexer, "a whole number, a string or a message");
	if (!is_hex || (text.size != 10 && text.size != 18)) {
		r = put_wire_tag(parser, id, ORMA_PROTO_VARINT);
		return r < 0 ? r : put_wire_varint(parser, value);
	}
	r = put_wire_tag(parser, id, text.size == 10 ? ORMA_PROTO_FIXED32 : ORMA_PROTO_FIXED64);
	return r < 0 ? r : orma_base_buf_append(&parser->wire, &value, text.size == 10 ? 4 : 8);
}

int orma_proto_parser_parse_numbered(struct orma_proto_parser *parser)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	struct orma_str key = lexer->token.text, bytes = {0};
	uint64_t id;
	int r;

	if (!orma_proto_text_to_u64(key, &id) || id == 0 || id > ORMA_PROTO_FIELD_ID_MAX)
		return orma_proto_lexer_expected(lexer,
						 "a field's name, or its number up to 2^29-1");
	orma_proto_lexer_next(lexer);
	orma_proto_lexer_take(lexer, ':');
	if (orma_proto_parser_is_open(lexer)) {
		r = put_wire_tag(parser, (uint32_t)id, ORMA_PROTO_BYTES);
		return r < 0 ? r : 1;
	}
	if (lexer->token.kind == ORMA_PROTO_TOKEN_STRING) {
		r = orma_proto_parser_take_string(parser, &bytes);
		if (r == 0)
			r = orma_proto_parser_open_wire(parser, (uint32_t)id, bytes.size);
		if (r == 0)
			r = orma_base_buf_append(&parser->wire, bytes.data, bytes.size);
	} else {
		r = put_wire_number(parser, (uint32_t)id);
	}
	if (r < 0)
		return r;
	orma_proto_parser_skip_separator(lexer);
	return orma_proto_parser_merge_wire(parser, key);
}
