/* SPDX-License-Identifier: Apache-2.0
 * proto_field.c - fields of messages, oneofs and extensions, and the message types of maps.
 *
 * A map becomes what it is on the wire: a repeated field of a message with a key and a value. The
 * message has the name that protoc gives it: the entries of my_map are of type MyMapEntry.
 */
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "tool/protogen/proto_parser.h"

/* Protobuf reserves these field numbers for its implementations. */
#define RESERVED_FIRST 19000
#define RESERVED_LAST  19999

static const struct {
	const char *name;
	enum orma_proto_kind kind;
} scalars[] = {
	{"bool", ORMA_PROTO_KIND_BOOL},         {"int32", ORMA_PROTO_KIND_INT32},
	{"int64", ORMA_PROTO_KIND_INT64},       {"uint32", ORMA_PROTO_KIND_UINT32},
	{"uint64", ORMA_PROTO_KIND_UINT64},     {"sint32", ORMA_PROTO_KIND_SINT32},
	{"sint64", ORMA_PROTO_KIND_SINT64},     {"fixed32", ORMA_PROTO_KIND_FIXED32},
	{"fixed64", ORMA_PROTO_KIND_FIXED64},   {"sfixed32", ORMA_PROTO_KIND_SFIXED32},
	{"sfixed64", ORMA_PROTO_KIND_SFIXED64}, {"float", ORMA_PROTO_KIND_FLOAT},
	{"double", ORMA_PROTO_KIND_DOUBLE},     {"string", ORMA_PROTO_KIND_STRING},
	{"bytes", ORMA_PROTO_KIND_BYTES},
};

static int parse_label(struct orma_tool_proto_parser *parser, struct orma_tool_proto_field *field)
{
	struct orma_proto_lexer *lexer = parser->lexer;
	bool may_have_label =
		orma_tool_proto_innermost(parser)->kind != ORMA_TOOL_PROTO_BLOCK_ONEOF;
	struct orma_str label = lexer->token.text;

	if (!may_have_label) {
		if (orma_tool_proto_is_word(lexer, "repeated") ||
		    orma_tool_proto_is_word(lexer, "required") ||
		    orma_tool_proto_is_word(lexer, "optional"))
			return orma_proto_lexer_expected(lexer, "a type: fields of a oneof have no "
								"label");
	} else if (orma_tool_proto_take_word(lexer, "repeated")) {
		field->is_repeated = true;
	} else if (orma_tool_proto_take_word(lexer, "required")) {
		field->is_required = true;
		if (parser->file->is_proto3)
			return orma_proto_lexer_fail_at(lexer, label, "%s has no required fields",
							parser->file->is_edition ? "an edition"
										 : "proto3");
	} else if (!orma_tool_proto_take_word(lexer, "optional") && !parser->file->is_proto3 &&
		   !orma_tool_proto_is_word(lexer, "map")) {
		return orma_proto_lexer_expected(lexer, "optional, required or repeated");
	}
	return 0;
}

static void set_type_name(struct orma_tool_proto_field *field, struct orma_str name)
{
	field->kind = ORMA_PROTO_KIND_MESSAGE;
	field->type_name = name;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(scalars); i++) {
		if (orma_base_str_is(name, scalars[i].name)) {
			field->kind = scalars[i].kind;
			field->type_name = (struct orma_str){0};
		}
	}
}

/* <string, Value>: the key and the value become the fields of the entry's message. */
static int parse_map_type(struct orma_tool_proto_parser *parser,
			  struct orma_tool_proto_field **ret_entry_fields)
{
	struct orma_proto_lexer *lexer = parser->lexer;
	struct orma_tool_proto_field *key =
		orma_base_arena_alloc(&parser->set->arena, sizeof(*key));
	struct orma_tool_proto_field *value =
		orma_base_arena_alloc(&parser->set->arena, sizeof(*value));
	struct orma_str key_type, value_type;
	int r = orma_tool_proto_need(lexer, '<');

	if (!key || !value)
		return -ENOMEM;
	if (r == 0)
		r = orma_tool_proto_need_name(lexer, "the type of the keys", &key_type);
	if (r == 0)
		r = orma_tool_proto_need(lexer, ',');
	if (r == 0)
		r = orma_tool_proto_need_path(lexer, "the type of the values", &value_type);
	if (r == 0)
		r = orma_tool_proto_need(lexer, '>');
	if (r != 0)
		return r;
	set_type_name(key, key_type);
	set_type_name(value, value_type);
	if (key->type_name.size > 0 || key->kind == ORMA_PROTO_KIND_FLOAT ||
	    key->kind == ORMA_PROTO_KIND_DOUBLE || key->kind == ORMA_PROTO_KIND_BYTES)
		return orma_proto_lexer_fail_at(lexer, key_type,
						"the keys of a map are integers, bools or strings");
	key->name = ORMA_STR("key");
	key->number = 1;
	key->next = value;
	value->name = ORMA_STR("value");
	value->number = 2;
	*ret_entry_fields = key;
	return 0;
}

static int parse_type(struct orma_tool_proto_parser *parser, struct orma_tool_proto_field *field,
		      struct orma_tool_proto_field **ret_entry_fields)
{
	struct orma_proto_lexer *lexer = parser->lexer;
	struct orma_str type_name = lexer->token.text;
	int r;

	if (orma_tool_proto_is_word(lexer, "group"))
		return orma_proto_lexer_fail_at(lexer, type_name, "groups are not supported");
	r = orma_tool_proto_need_path(lexer, "a field's type", &type_name);
	if (r < 0)
		return r;
	if (!orma_base_str_is(type_name, "map") || !orma_proto_lexer_is(lexer, '<')) {
		set_type_name(field, type_name);
		return 0;
	}
	if (orma_tool_proto_innermost(parser)->kind != ORMA_TOOL_PROTO_BLOCK_MESSAGE ||
	    field->is_repeated || field->is_required)
		return orma_proto_lexer_fail_at(lexer, type_name,
						"a map has no label, and is a field of a message "
						"only");
	field->kind = ORMA_PROTO_KIND_MESSAGE;
	field->is_repeated = true;
	return parse_map_type(parser, ret_entry_fields);
}

/* Refuses a name or number that the message has already, and records both. */
static int check_unique(struct orma_tool_proto_parser *parser, struct orma_tool_proto_field *field,
			struct orma_str number_at)
{
	struct orma_tool_proto_members *members = orma_tool_proto_innermost(parser)->members;
	const struct orma_tool_proto_field *other;
	int r;

	if (!members)
		return 0;
	other = orma_base_map_get(&members->numbers, field->number);
	if (other)
		return orma_proto_lexer_fail_at(parser->lexer, number_at,
						"number %u already belongs to %s", field->number,
						orma_proto_quote(other->name).text);
	r = orma_tool_proto_members_add_name(members, &field->name);
	if (r == -EEXIST)
		return orma_proto_lexer_fail_at(parser->lexer, field->name,
						"a field of this name already exists");
	return r < 0 ? r : orma_base_map_put(&members->numbers, field->number, field);
}

/* name = number */
static int parse_name_and_number(struct orma_tool_proto_parser *parser,
				 struct orma_tool_proto_field *field)
{
	struct orma_proto_lexer *lexer = parser->lexer;
	int r = orma_tool_proto_need_name(lexer, "the field's name", &field->name);
	struct orma_str number_at;
	uint64_t number;

	if (r == 0)
		r = orma_tool_proto_need(lexer, '=');
	if (r < 0)
		return r;
	number_at = lexer->token.text;
	r = orma_tool_proto_need_number(lexer, "a field's number", ORMA_TOOL_PROTO_FIELD_MAX,
					&number);
	if (r < 0)
		return r;
	if (number == 0 || (number >= RESERVED_FIRST && number <= RESERVED_LAST))
		return orma_proto_lexer_fail_at(lexer, number_at,
						"field numbers begin at 1, and protobuf reserves "
						"%d to %d",
						RESERVED_FIRST, RESERVED_LAST);
	field->number = (uint32_t)number;
	return check_unique(parser, field, number_at);
}

static char to_upper(char c)
{
	return (char)(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
}

/* Adds the message type of a map's entries. */
static int add_entry_type(struct orma_tool_proto_parser *parser,
			  struct orma_tool_proto_field *field,
			  struct orma_tool_proto_field *entry_fields)
{
	char *name = orma_base_arena_alloc(&parser->set->arena, field->name.size + sizeof("Entry"));
	bool is_word_start = true;
	size_t size = 0;
	int r;

	if (!name)
		return -ENOMEM;
	for (size_t i = 0; i < field->name.size; i++) {
		char c = field->name.data[i];

		if (c == '_') {
			is_word_start = true;
			continue;
		}
		name[size] = c;
		if (is_word_start)
			name[size] = to_upper(c);
		size++;
		is_word_start = false;
	}
	memcpy(name + size, "Entry", sizeof("Entry"));
	r = orma_tool_proto_add_type(parser, orma_base_str(name), false, &field->type);
	if (r == -EEXIST)
		return orma_proto_lexer_fail_at(parser->lexer, field->name,
						"the type of this map's entries, %s, already "
						"exists",
						name);
	if (r < 0)
		return r;
	field->type->fields = entry_fields;
	field->type->name_at = field->name;
	return 0;
}

static int settle_packing(struct orma_tool_proto_parser *parser,
			  struct orma_tool_proto_field *field)
{
	bool is_number = field->type_name.size > 0 || field->kind < ORMA_PROTO_KIND_STRING;

	if (!field->has_packed_option)
		field->is_packed =
			parser->file->is_proto3 && !parser->file->is_expanded && field->is_repeated;
	/* A named type may be an enum, which can be packed, so proto_resolve.c checks it. */
	else if (field->is_packed && !(field->is_repeated && is_number))
		return orma_proto_lexer_fail_at(parser->lexer, field->name,
						"only repeated numbers can be packed");
	return 0;
}

int orma_tool_proto_parse_field(struct orma_tool_proto_parser *parser)
{
	struct orma_tool_proto_block *block = orma_tool_proto_innermost(parser);
	struct orma_tool_proto_field *entry_fields = NULL, *field;
	int r;

	ORMA_ASSERT(block->fields_tail && !*block->fields_tail);
	field = orma_base_arena_alloc(&parser->set->arena, sizeof(*field));
	if (!field)
		return -ENOMEM;
	field->oneof = block->oneof;
	r = parse_label(parser, field);
	if (r == 0)
		r = parse_type(parser, field, &entry_fields);
	if (r == 0)
		r = parse_name_and_number(parser, field);
	if (r == 0 && entry_fields)
		r = add_entry_type(parser, field, entry_fields);
	if (r == 0)
		r = orma_tool_proto_parse_options(parser, field);
	if (r == 0)
		r = settle_packing(parser, field);
	if (r < 0)
		return r;
	*block->fields_tail = field;
	block->fields_tail = &field->next;
	return orma_tool_proto_need(parser->lexer, ';');
}
