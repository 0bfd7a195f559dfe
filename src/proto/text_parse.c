/* SPDX-License-Identifier: Apache-2.0
 * text_parse.c - text into arena structs, by the tables.
 *
 * Data structure: a stack of open messages, one entry per brace. Most are structs being filled in.
 * Fields named by a number are not: they are encoded into `wire`, nested ones with a length put in
 * front when they close, and merged into the innermost struct when the outermost of them is
 * complete. One more kind of entry, skipped, does not exist: what ORMA_PROTO_TEXT_LOSSY leaves out
 * is passed over token by token, counting brackets.
 *
 * Rejected: recursion (depth comes from the input); going through the wire format for all fields
 * (errors about duplicates and oneofs need the struct); stopping to report only the first token of
 * a line (editors want columns).
 */
#include <errno.h>
#include <math.h>

#include "base/error.h"
#include "proto/kind.h"
#include "proto/text_lexer.h"

struct parse_frame {
	struct orma_proto_message *message; /* NULL: a message on the wire */
	const struct orma_proto_field_desc
		*list_field;       /* being in a [list] of this field's messages */
	struct orma_str opened_at; /* the brace */
	size_t wire_start;         /* of a message on the wire: its content */
	char close;
};

struct parser {
	struct orma_proto_lexer lexer;
	struct orma_arena *arena;
	bool is_lossy;
	size_t depth;
	struct orma_buf wire;    /* the numbered field being read */
	struct orma_buf scratch; /* the string being read */
	struct parse_frame frames[ORMA_PROTO_DEPTH_MAX + 1];
};

static struct parse_frame *top(struct parser *parser)
{
	return &parser->frames[parser->depth];
}

static char closing(char open)
{
	return open == '{' ? '}' : open == '<' ? '>' : ']';
}

static bool is_open(const struct orma_proto_lexer *lexer)
{
	return orma_proto_lexer_is(lexer, '{') || orma_proto_lexer_is(lexer, '<');
}

static void skip_separator(struct orma_proto_lexer *lexer)
{
	if (!orma_proto_lexer_take(lexer, ','))
		orma_proto_lexer_take(lexer, ';');
}

/* Enters the message whose brace is the token. */
static int enter(struct parser *parser, struct orma_proto_message *message)
{
	struct orma_str brace = parser->lexer.token.text;

	if (parser->depth == ORMA_PROTO_DEPTH_MAX)
		return orma_proto_lexer_fail_at(&parser->lexer, brace,
						"found more than %d messages in each other",
						ORMA_PROTO_DEPTH_MAX);
	parser->depth++;
	*top(parser) = (struct parse_frame){.message = message,
					    .opened_at = brace,
					    .wire_start = parser->wire.size,
					    .close = closing(brace.data[0])};
	orma_proto_lexer_next(&parser->lexer);
	return 0;
}

/* --- values of known fields ------------------------------------------------------------------- */

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

static int value_expected(struct parser *parser, const struct orma_proto_field_desc *field)
{
	const struct orma_proto_desc *desc = top(parser)->message->desc;

	return orma_proto_lexer_expected(&parser->lexer, "%s for %s", kind_text(field),
					 orma_proto_field_name(desc, field));
}

/* An integer with its sign, as 64 bits; false when the token is none or its range is exceeded. */
static bool take_integer(struct parser *parser, bool has_sign, unsigned bits, uint64_t *ret)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	struct orma_proto_lexer before = *lexer;
	bool is_negative = orma_proto_lexer_take(lexer, '-');
	uint64_t limit = UINT64_MAX >> (64 - bits + has_sign), value;

	if (lexer->token.kind != ORMA_PROTO_TOKEN_NUMBER ||
	    !orma_proto_text_to_u64(lexer->token.text, &value) ||
	    value > limit + (is_negative && has_sign) || (is_negative && !has_sign && value > 0)) {
		/* The error points at the number with its sign when both are there. */
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

static bool take_bool(struct parser *parser, uint64_t *ret)
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

static bool take_double(struct parser *parser, double *ret)
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

/* 1: a value; 0: a name that ORMA_PROTO_TEXT_LOSSY drops; else an error. */
static int take_enum(struct parser *parser, const struct orma_proto_field_desc *field,
		     uint64_t *ret)
{
	const struct orma_proto_enum_desc *desc =
		top(parser)->message->desc->types[field->type_idx].enumeration;
	struct orma_str text = parser->lexer.token.text;
	const char *closest;
	int32_t number;

	if (parser->lexer.token.kind != ORMA_PROTO_TOKEN_IDENT)
		return take_integer(parser, true, 32, ret) ? 1 : value_expected(parser, field);
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

/* One or more literals, joined. */
static int take_string(struct parser *parser, struct orma_str *ret)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	const char *copy;

	parser->scratch.size = 0;
	do {
		int err = orma_proto_text_unescape(lexer, lexer->token.text, &parser->scratch);

		if (err < 0)
			return err;
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

/* As take_enum(); the value as it lies in memory. */
static int take_value(struct parser *parser, const struct orma_proto_field_desc *field,
		      union parse_value *ret)
{
	bool ok;
	int err;

	switch (field->kind) {
	case ORMA_PROTO_KIND_STRING:
	case ORMA_PROTO_KIND_BYTES:
		if (parser->lexer.token.kind != ORMA_PROTO_TOKEN_STRING)
			return value_expected(parser, field);
		err = take_string(parser, &ret->bytes);
		return err < 0 ? err : 1;
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
		ok = take_integer(parser, is_signed(field->kind),
				  (unsigned)orma_proto_kind_size(field->kind) * 8, &ret->bits);
	}
	return ok ? 1 : value_expected(parser, field);
}

static int parse_value(struct parser *parser, const struct orma_proto_field_desc *field)
{
	struct orma_proto_message *message = top(parser)->message;
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

/* Behind '['. */
static int parse_value_list(struct parser *parser, const struct orma_proto_field_desc *field)
{
	struct orma_proto_lexer *lexer = &parser->lexer;

	if (orma_proto_lexer_take(lexer, ']'))
		return 0;
	for (;;) {
		int err = parse_value(parser, field);

		if (err < 0)
			return err;
		if (orma_proto_lexer_take(lexer, ']'))
			return 0;
		if (!orma_proto_lexer_take(lexer, ','))
			return orma_proto_lexer_expected(lexer, "\",\" or \"]\"");
	}
}

/* The token is the brace of a message that is the value of `field`, or of an item of its list. */
static int enter_field(struct parser *parser, const struct orma_proto_field_desc *field)
{
	struct parse_frame *frame = top(parser);
	const struct orma_proto_desc *type = frame->message->desc->types[field->type_idx].message;
	void *member = orma_proto_member(frame->message, field);
	struct orma_proto_message *child;

	if (field->flags & ORMA_PROTO_REPEATED_FLAG)
		child = orma_proto_repeated_add_new(member, type, parser->arena);
	else
		child = *(void **)member = orma_proto_new(type, parser->arena);
	return child ? enter(parser, child) : -ENOMEM;
}

static int parse_known_value(struct parser *parser, const struct orma_proto_field_desc *field)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	const char *name = orma_proto_field_name(top(parser)->message->desc, field);
	int err;

	if (orma_proto_lexer_is(lexer, '[') && !(field->flags & ORMA_PROTO_REPEATED_FLAG))
		return orma_proto_lexer_expected(lexer, "%s; %s is not a list", kind_text(field),
						 name);
	if (field->kind == ORMA_PROTO_KIND_MESSAGE) {
		if (orma_proto_lexer_take(lexer, '[')) {
			if (orma_proto_lexer_take(lexer, ']')) {
				skip_separator(lexer);
				return 0;
			}
			top(parser)->list_field = field;
		}
		return is_open(lexer) ? enter_field(parser, field) : value_expected(parser, field);
	}
	if (orma_proto_lexer_take(lexer, '['))
		err = parse_value_list(parser, field);
	else
		err = parse_value(parser, field);
	if (err == 0)
		skip_separator(lexer);
	return err;
}

/* --- fields named by a number ----------------------------------------------------------------- */

static int put_wire_varint(struct parser *parser, uint64_t value)
{
	uint8_t bytes[ORMA_PROTO_VARINT_MAX];
	uint8_t *end = orma_proto_put_varint(bytes, value);

	return orma_base_buf_append(&parser->wire, bytes, (size_t)(end - bytes));
}

static int put_wire_tag(struct parser *parser, uint32_t id, enum orma_proto_wire_type type)
{
	return put_wire_varint(parser, orma_proto_tag(id, type));
}

/* Puts the length in front of what was appended since `start`. */
static int close_wire(struct parser *parser, size_t start)
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
static int merge_wire(struct parser *parser, struct orma_str key)
{
	struct orma_buf *wire = &parser->wire;
	struct orma_proto_message *message = top(parser)->message;
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

static int put_wire_number(struct parser *parser, uint32_t id)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	struct orma_str text = lexer->token.text;
	bool is_hex = text.size > 2 && (text.data[1] | 0x20) == 'x';
	bool is_negative = orma_proto_lexer_is(lexer, '-');
	uint64_t value;
	int err;

	if (!take_integer(parser, is_negative, 64, &value))
		return orma_proto_lexer_expected(lexer, "a whole number, a string or a message");
	if (!is_hex || (text.size != 10 && text.size != 18)) {
		err = put_wire_tag(parser, id, ORMA_PROTO_VARINT);
		return err < 0 ? err : put_wire_varint(parser, value);
	}
	err = put_wire_tag(parser, id, text.size == 10 ? ORMA_PROTO_FIXED32 : ORMA_PROTO_FIXED64);
	return err < 0 ? err : orma_base_buf_append(&parser->wire, &value, text.size == 10 ? 4 : 8);
}

/* The token is the number. */
static int parse_numbered(struct parser *parser)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	struct orma_str key = lexer->token.text, bytes;
	uint64_t id;
	int err;

	if (!orma_proto_text_to_u64(key, &id) || id == 0 || id > ORMA_PROTO_FIELD_ID_MAX)
		return orma_proto_lexer_expected(lexer,
						 "a field's name, or its number up to 2^29-1");
	orma_proto_lexer_next(lexer);
	orma_proto_lexer_take(lexer, ':');
	if (is_open(lexer)) {
		err = put_wire_tag(parser, (uint32_t)id, ORMA_PROTO_BYTES);
		return err < 0 ? err : enter(parser, NULL);
	}
	if (lexer->token.kind == ORMA_PROTO_TOKEN_STRING) {
		err = take_string(parser, &bytes);
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
	skip_separator(lexer);
	return merge_wire(parser, key);
}

/* --- fields by name --------------------------------------------------------------------------- */

/* Passes over a value, whatever it is. */
static int skip_value(struct parser *parser)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	char closers[ORMA_PROTO_DEPTH_MAX];
	size_t depth = 0;

	orma_proto_lexer_take(lexer, ':');
	orma_proto_lexer_take(lexer, '-');
	do {
		bool is_string = lexer->token.kind == ORMA_PROTO_TOKEN_STRING;

		if (lexer->token.kind == ORMA_PROTO_TOKEN_END ||
		    lexer->token.kind == ORMA_PROTO_TOKEN_UNTERMINATED)
			return orma_proto_lexer_expected(lexer, "the rest of an unknown field");
		if (is_open(lexer) || orma_proto_lexer_is(lexer, '[')) {
			if (depth == ORMA_PROTO_DEPTH_MAX)
				return orma_proto_lexer_expected(lexer, "fewer nested messages");
			closers[depth++] = closing(lexer->token.text.data[0]);
		} else if (depth > 0 && orma_proto_lexer_is(lexer, closers[depth - 1])) {
			depth--;
		} else if (orma_proto_lexer_is(lexer, '}') || orma_proto_lexer_is(lexer, '>') ||
			   orma_proto_lexer_is(lexer, ']')) {
			return orma_proto_lexer_expected(lexer, "the rest of an unknown field");
		}
		orma_proto_lexer_next(lexer);
		while (is_string && lexer->token.kind == ORMA_PROTO_TOKEN_STRING)
			orma_proto_lexer_next(lexer);
	} while (depth > 0);
	skip_separator(lexer);
	return 0;
}

static int unknown_name(struct parser *parser, struct orma_str name)
{
	const struct orma_proto_desc *desc = top(parser)->message->desc;
	const char *closest;

	if (parser->is_lossy)
		return skip_value(parser);
	if (name.data[0] == '[')
		return orma_proto_lexer_fail_at(&parser->lexer, name, "no extension %s of %s",
						orma_proto_quote(name).text, desc->name);
	closest = orma_proto_closest_name(name, desc->name + strlen(desc->name) + 1,
					  desc->field_count);
	return orma_proto_lexer_fail_at(&parser->lexer, name, "no field named %s in %s%s%s%s",
					orma_proto_quote(name).text, desc->name,
					closest ? "; did you mean \"" : "", closest ? closest : "",
					closest ? "\"?" : "");
}

/* A second value for a field or for another member of its oneof. */
static int check_unset(struct parser *parser, const struct orma_proto_field_desc *field,
		       struct orma_str key)
{
	const struct orma_proto_message *message = top(parser)->message;
	const struct orma_proto_desc *desc = message->desc;

	if (field->flags & ORMA_PROTO_REPEATED_FLAG)
		return 0;
	if (orma_proto_has(message, field))
		return orma_proto_lexer_fail_at(
			&parser->lexer, key, "found %s twice in %s, expected one: it is not a list",
			orma_proto_field_name(desc, field), desc->name);
	for (size_t i = 0; field->oneof > 0 && i < desc->field_count; i++) {
		if (desc->fields[i].oneof == field->oneof &&
		    orma_proto_has(message, &desc->fields[i]))
			return orma_proto_lexer_fail_at(
				&parser->lexer, key,
				"found %s after %s in %s, expected one of them only",
				orma_proto_field_name(desc, field),
				orma_proto_field_name(desc, &desc->fields[i]), desc->name);
	}
	return 0;
}

/* [package.name] with its brackets. */
static int take_extension_name(struct parser *parser, struct orma_str *ret)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	const char *begin = lexer->token.text.data;

	do {
		orma_proto_lexer_next(lexer); /* the bracket, a point or a slash */
		if (lexer->token.kind != ORMA_PROTO_TOKEN_IDENT)
			return orma_proto_lexer_expected(lexer, "the name of an extension");
		orma_proto_lexer_next(lexer);
	} while (orma_proto_lexer_is(lexer, '.') || orma_proto_lexer_is(lexer, '/'));
	if (!orma_proto_lexer_is(lexer, ']'))
		return orma_proto_lexer_expected(lexer, "\"]\"");
	*ret = (struct orma_str){begin, (size_t)(lexer->token.text.data + 1 - begin)};
	orma_proto_lexer_next(lexer);
	return 0;
}

static int parse_named(struct parser *parser)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	const struct orma_proto_field_desc *field;
	struct orma_str key = lexer->token.text;
	int err = 0;

	if (!top(parser)->message)
		return orma_proto_lexer_expected(lexer,
						 "a field's number, as its message is unknown");
	if (orma_proto_lexer_is(lexer, '['))
		err = take_extension_name(parser, &key);
	else
		orma_proto_lexer_next(lexer);
	if (err < 0)
		return err;
	field = orma_proto_desc_find_name(top(parser)->message->desc, key);
	if (!field)
		return unknown_name(parser, key);
	err = check_unset(parser, field, key);
	if (err < 0)
		return err;
	orma_proto_lexer_take(lexer, ':');
	return parse_known_value(parser, field);
}

/* The token closes the innermost message. */
static int leave(struct parser *parser)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	struct parse_frame closed = *top(parser);
	const struct orma_proto_field_desc *list;
	int err;

	orma_proto_lexer_next(lexer);
	parser->depth--;
	if (!closed.message) {
		err = close_wire(parser, closed.wire_start);
		if (err == 0)
			err = merge_wire(parser, closed.opened_at);
		if (err < 0)
			return err;
	}
	list = top(parser)->list_field;
	if (list && closed.message) {
		if (orma_proto_lexer_take(lexer, ','))
			return is_open(lexer) ? enter_field(parser, list)
					      : value_expected(parser, list);
		if (!orma_proto_lexer_take(lexer, ']'))
			return orma_proto_lexer_expected(lexer, "\",\" or \"]\"");
		top(parser)->list_field = NULL;
	}
	skip_separator(lexer);
	return 0;
}

static int end_of_text(struct parser *parser)
{
	struct parse_frame *frame = top(parser);

	if (parser->depth == 0)
		return 0;
	return orma_proto_lexer_fail_at(&parser->lexer, frame->opened_at,
					"found the end of the text, expected \"%c\" for this one",
					frame->close);
}

static int parse_all(struct parser *parser)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	int err = 0;

	while (err == 0) {
		enum orma_proto_token_kind kind = lexer->token.kind;

		if (kind == ORMA_PROTO_TOKEN_END)
			return end_of_text(parser);
		if (parser->depth > 0 && orma_proto_lexer_is(lexer, top(parser)->close))
			err = leave(parser);
		else if (kind == ORMA_PROTO_TOKEN_IDENT || orma_proto_lexer_is(lexer, '['))
			err = parse_named(parser);
		else if (kind == ORMA_PROTO_TOKEN_NUMBER)
			err = parse_numbered(parser);
		else if (parser->depth > 0)
			err = orma_proto_lexer_expected(lexer, "a field's name or \"%c\"",
							top(parser)->close);
		else
			err = orma_proto_lexer_expected(lexer, "a field's name");
	}
	return err;
}

int orma_proto_text_parse(const struct orma_proto_desc *desc, const char *name, const char *text,
			  size_t size, unsigned flags, struct orma_arena *arena, void *ret_message,
			  struct orma_error *reterr)
{
	struct parser parser; /* frames are filled in as they are entered */
	int err;

	parser.arena = arena;
	parser.is_lossy = flags & ORMA_PROTO_TEXT_LOSSY;
	parser.depth = 0;
	parser.wire = parser.scratch = (struct orma_buf){0};
	parser.frames[0] = (struct parse_frame){.message = orma_proto_new(desc, arena)};
	orma_proto_lexer_init(&parser.lexer, name, text, size, reterr);
	err = parser.frames[0].message ? parse_all(&parser) : -ENOMEM;
	orma_base_buf_done(&parser.wire);
	orma_base_buf_done(&parser.scratch);
	if (err == -ENOMEM)
		return orma_base_error_set(reterr, err, "%s: out of memory", name);
	if (err == 0)
		*(void **)ret_message = parser.frames[0].message;
	return err;
}
