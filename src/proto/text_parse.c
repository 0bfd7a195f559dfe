/* SPDX-License-Identifier: Apache-2.0
 * text_parse.c - parses text into structs in an arena, driven by the generated tables.
 *
 * Data structure: a stack of open messages, one frame per brace. Most of them are structs. A field
 * that is named by a number is encoded into `wire` instead; a nested message gets its length when
 * it closes. When the outermost numbered field is complete, it is decoded into the innermost
 * struct. Fields that ORMA_PROTO_TEXT_LOSSY skips have no frame: their tokens are skipped up to the
 * matching bracket. A field of the extension is a struct until it closes; then it is encoded into
 * an unknown field.
 *
 * Rejected: recursion, because the depth comes from the input; using the wire format for all
 * fields, because errors about duplicates and oneofs need the struct; continuing after an error to
 * report more of them, because the second is mostly a consequence of the first.
 */
#include <errno.h>

#include "base/error_message.h"
#include "proto/reader.h"
#include "proto/text_parser.h"

/* Enters a message; the token is its brace. message = NULL: the message of a numbered field. */
static int enter(struct orma_proto_parser *parser, struct orma_proto_message *message)
{
	struct orma_str brace = parser->lexer.token.text;

	if (parser->depth == ORMA_PROTO_DEPTH_MAX)
		return orma_proto_lexer_fail_at(&parser->lexer, brace,
						"found more than %d messages in each other",
						ORMA_PROTO_DEPTH_MAX);
	parser->depth++;
	*orma_proto_parser_top(parser) =
		(struct orma_proto_parse_frame){.message = message,
						.opened_at = brace,
						.wire_start = parser->wire.size,
						.close = orma_proto_parser_closing(brace.data[0])};
	orma_proto_lexer_next(&parser->lexer);
	return 0;
}

/* Enters a new message of `field`; the token is its brace. */
static int enter_field(struct orma_proto_parser *parser, const struct orma_proto_field_desc *field)
{
	struct orma_proto_parse_frame *frame = orma_proto_parser_top(parser);
	const struct orma_proto_desc *type = frame->message->desc->types[field->type_idx].message;
	void *member = orma_proto_member(frame->message, field);
	struct orma_proto_message *child;

	if (field->flags & ORMA_PROTO_REPEATED_FLAG)
		child = orma_proto_repeated_add_new(member, type, parser->arena);
	else
		child = *(void **)member = orma_proto_new(type, parser->arena);
	return child ? enter(parser, child) : -ENOMEM;
}

static int parse_known_value(struct orma_proto_parser *parser,
			     const struct orma_proto_field_desc *field)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	const char *name =
		orma_proto_field_name(orma_proto_parser_top(parser)->message->desc, field);
	int r;

	if (orma_proto_lexer_is(lexer, '[') && !(field->flags & ORMA_PROTO_REPEATED_FLAG))
		return orma_proto_lexer_expected(lexer, "one value; %s is not a list", name);
	if (field->kind == ORMA_PROTO_KIND_MESSAGE) {
		if (orma_proto_lexer_take(lexer, '[')) {
			if (orma_proto_lexer_take(lexer, ']')) {
				orma_proto_parser_skip_separator(lexer);
				return 0;
			}
			orma_proto_parser_top(parser)->list_field = field;
		}
		return orma_proto_parser_is_open(lexer)
			       ? enter_field(parser, field)
			       : orma_proto_parser_value_expected(parser, field);
	}
	if (orma_proto_lexer_take(lexer, '['))
		r = orma_proto_parser_parse_value_list(parser, field);
	else
		r = orma_proto_parser_parse_value(parser, field);
	if (r == 0)
		orma_proto_parser_skip_separator(lexer);
	return r;
}

/* Skips a value of any kind. */
static int skip_value(struct orma_proto_parser *parser)
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
		if (orma_proto_parser_is_open(lexer) || orma_proto_lexer_is(lexer, '[')) {
			if (depth == ORMA_PROTO_DEPTH_MAX)
				return orma_proto_lexer_expected(lexer, "fewer nested messages");
			closers[depth++] = orma_proto_parser_closing(lexer->token.text.data[0]);
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
	orma_proto_parser_skip_separator(lexer);
	return 0;
}

/* Returns the fields of the innermost message that its own table lacks, or NULL. */
static const struct orma_proto_desc *extension_fields(const struct orma_proto_parser *parser)
{
	const struct orma_proto_extension *extension = parser->extension;

	return extension && parser->frames[parser->depth].message->desc == extension->extendee
		       ? extension->fields
		       : NULL;
}

static const char *closest_field(const struct orma_proto_desc *desc, struct orma_str name)
{
	return orma_proto_closest_name(name, desc->name + strlen(desc->name) + 1,
				       desc->field_count);
}

static int unknown_name(struct orma_proto_parser *parser, struct orma_str name)
{
	const struct orma_proto_desc *desc = orma_proto_parser_top(parser)->message->desc;
	const char *closest;

	if (parser->is_lossy)
		return skip_value(parser);
	if (name.data[0] == '[')
		return orma_proto_lexer_fail_at(&parser->lexer, name, "no extension %s of %s",
						orma_proto_quote(name).text, desc->name);
	closest = closest_field(desc, name);
	if (!closest && extension_fields(parser))
		closest = closest_field(extension_fields(parser), name);
	return orma_proto_lexer_fail_at(&parser->lexer, name, "no field named %s in %s%s%s%s",
					orma_proto_quote(name).text, desc->name,
					closest ? "; did you mean \"" : "", closest ? closest : "",
					closest ? "\"?" : "");
}

/* Refuses a second value of a field, or of its oneof. */
static int check_unset(struct orma_proto_parser *parser, const struct orma_proto_field_desc *field,
		       struct orma_str key)
{
	const struct orma_proto_message *message = orma_proto_parser_top(parser)->message;
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
static int take_extension_name(struct orma_proto_parser *parser, struct orma_str *ret)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	const char *begin = lexer->token.text.data;

	do {
		orma_proto_lexer_next(lexer); /* skip the bracket, a point or a slash */
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

/* --- fields of the extension ------------------------------------------------------------------ */

static bool has_unknown(const struct orma_proto_message *message, uint32_t id)
{
	struct orma_proto_field field;

	for (const struct orma_proto_unknown *unknown = message->unknown; unknown;
	     unknown = unknown->next) {
		if (orma_proto_reader_find(unknown->bytes.data, unknown->bytes.size, id, &field) >
		    0)
			return true;
	}
	return false;
}

/* Enters the message of a field whose name was taken. */
static int parse_extension(struct orma_proto_parser *parser,
			   const struct orma_proto_field_desc *field, struct orma_str key)
{
	const struct orma_proto_desc *fields = parser->extension->fields;
	const char *name = orma_proto_field_name(fields, field);
	struct orma_proto_lexer *lexer = &parser->lexer;
	struct orma_proto_message *child;
	int r;

	ORMA_ASSERT(field->kind == ORMA_PROTO_KIND_MESSAGE &&
		    !(field->flags & ORMA_PROTO_REPEATED_FLAG));
	if (has_unknown(orma_proto_parser_top(parser)->message, field->id))
		return orma_proto_lexer_fail_at(
			lexer, key, "found %s twice in %s, expected one: it is not a list", name,
			parser->extension->extendee->name);
	orma_proto_lexer_take(lexer, ':');
	if (!orma_proto_parser_is_open(lexer))
		return orma_proto_lexer_expected(lexer, "a message in { } for %s", name);
	child = orma_proto_new(fields->types[field->type_idx].message, parser->arena);
	r = child ? enter(parser, child) : -ENOMEM;
	if (r == 0)
		orma_proto_parser_top(parser)->extension_id = field->id;
	return r;
}

/* Adds the closed message to the unknown fields of the innermost one. */
static int merge_extension(struct orma_proto_parser *parser,
			   const struct orma_proto_parse_frame *closed)
{
	struct orma_buf encoded = {0};
	int r = orma_proto_encode(closed->message, &encoded);

	if (r == 0)
		r = orma_proto_parser_open_wire(parser, closed->extension_id, encoded.size);
	if (r == 0)
		r = orma_base_buf_append(&parser->wire, encoded.data, encoded.size);
	orma_base_buf_done(&encoded);
	return r < 0 ? r : orma_proto_parser_merge_wire(parser, closed->opened_at);
}

static int parse_named(struct orma_proto_parser *parser)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	const struct orma_proto_field_desc *field;
	struct orma_str key = lexer->token.text;
	int r = 0;

	if (!orma_proto_parser_top(parser)->message)
		return orma_proto_lexer_expected(lexer,
						 "a field's number, as its message is unknown");
	if (orma_proto_lexer_is(lexer, '['))
		r = take_extension_name(parser, &key);
	else
		orma_proto_lexer_next(lexer);
	if (r < 0)
		return r;
	field = orma_proto_desc_find_name(orma_proto_parser_top(parser)->message->desc, key);
	if (!field && extension_fields(parser)) {
		field = orma_proto_desc_find_name(extension_fields(parser), key);
		if (field)
			return parse_extension(parser, field, key);
	}
	if (!field)
		return unknown_name(parser, key);
	r = check_unset(parser, field, key);
	if (r < 0)
		return r;
	orma_proto_lexer_take(lexer, ':');
	return parse_known_value(parser, field);
}

/* Leaves the innermost message; the token is its closing brace. */
static int leave(struct orma_proto_parser *parser)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	struct orma_proto_parse_frame closed = *orma_proto_parser_top(parser);
	const struct orma_proto_field_desc *list;
	int r;

	ORMA_ASSERT(parser->depth > 0);
	orma_proto_lexer_next(lexer);
	parser->depth--;
	if (!closed.message) {
		r = orma_proto_parser_close_wire(parser, closed.wire_start);
		if (r == 0)
			r = orma_proto_parser_merge_wire(parser, closed.opened_at);
		if (r < 0)
			return r;
	} else if (closed.extension_id > 0) {
		r = merge_extension(parser, &closed);
		if (r < 0)
			return r;
	}
	list = orma_proto_parser_top(parser)->list_field;
	if (list && closed.message) {
		if (orma_proto_lexer_take(lexer, ','))
			return orma_proto_parser_is_open(lexer)
				       ? enter_field(parser, list)
				       : orma_proto_parser_value_expected(parser, list);
		if (!orma_proto_lexer_take(lexer, ']'))
			return orma_proto_lexer_expected(lexer, "\",\" or \"]\"");
		orma_proto_parser_top(parser)->list_field = NULL;
	}
	orma_proto_parser_skip_separator(lexer);
	return 0;
}

static int end_of_text(struct orma_proto_parser *parser)
{
	struct orma_proto_parse_frame *frame = orma_proto_parser_top(parser);

	if (parser->depth == 0)
		return 0;
	return orma_proto_lexer_fail_at(&parser->lexer, frame->opened_at,
					"found the end of the text, expected \"%c\" for this one",
					frame->close);
}

static int parse_numbered(struct orma_proto_parser *parser)
{
	int r = orma_proto_parser_parse_numbered(parser);

	return r > 0 ? enter(parser, NULL) : r;
}

static int parse_all(struct orma_proto_parser *parser)
{
	struct orma_proto_lexer *lexer = &parser->lexer;
	int r = 0;

	while (r == 0) {
		enum orma_proto_token_kind kind = lexer->token.kind;

		if (kind == ORMA_PROTO_TOKEN_END)
			return end_of_text(parser);
		if (parser->depth > 0 &&
		    orma_proto_lexer_is(lexer, orma_proto_parser_top(parser)->close))
			r = leave(parser);
		else if (kind == ORMA_PROTO_TOKEN_IDENT || orma_proto_lexer_is(lexer, '['))
			r = parse_named(parser);
		else if (kind == ORMA_PROTO_TOKEN_NUMBER)
			r = parse_numbered(parser);
		else if (parser->depth > 0)
			r = orma_proto_lexer_expected(lexer, "a field's name or \"%c\"",
						      orma_proto_parser_top(parser)->close);
		else
			r = orma_proto_lexer_expected(lexer, "a field's name");
	}
	return r;
}

int orma_proto_text_parse_extended(const struct orma_proto_desc *desc,
				   const struct orma_proto_text_options *options, const char *name,
				   const char *text, size_t size, struct orma_arena *arena,
				   void *ret_message, struct orma_error *reterr)
{
	struct orma_proto_parser parser; /* frames are filled in as they are entered */
	int r;

	parser.arena = arena;
	parser.extension = options->extension;
	parser.is_lossy = options->flags & ORMA_PROTO_TEXT_LOSSY;
	parser.depth = 0;
	parser.wire = parser.scratch = (struct orma_buf){0};
	parser.frames[0] = (struct orma_proto_parse_frame){.message = orma_proto_new(desc, arena)};
	orma_proto_lexer_init(&parser.lexer, name, text, size, reterr);
	r = parser.frames[0].message ? parse_all(&parser) : -ENOMEM;
	orma_base_buf_done(&parser.wire);
	orma_base_buf_done(&parser.scratch);
	if (r == -ENOMEM)
		return orma_base_error_set(reterr, r, "%s: out of memory", name);
	if (r == 0)
		*(void **)ret_message = parser.frames[0].message;
	return r;
}

int orma_proto_text_parse(const struct orma_proto_desc *desc, const char *name, const char *text,
			  size_t size, unsigned flags, struct orma_arena *arena, void *ret_message,
			  struct orma_error *reterr)
{
	const struct orma_proto_text_options options = {.flags = flags};

	return orma_proto_text_parse_extended(desc, &options, name, text, size, arena, ret_message,
					      reterr);
}
