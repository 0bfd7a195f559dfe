/* SPDX-License-Identifier: Apache-2.0
 * proto_parse.c - parses the text of a .proto file into messages, enums and extensions.
 *
 * It is a loop over statements with a stack of open blocks. The innermost block determines what a
 * word means, and no input makes the parser recurse. Everything is allocated in the set's arena.
 * Lookups are by hash, so the time is linear in the text, except for sorting the reserved ranges
 * once.
 *
 * Invariant: the type or extension of an open block is already in the file's list.
 *
 * Rejected: protoc as a child process (every user of orma would have to install it, and every build
 * of orma would need it).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/error_message.h"
#include "tool/protogen/proto_parser.h"

/* --- blocks ----------------------------------------------------------------------------------- */

static int open_block(struct orma_tool_proto_parser *parser, enum orma_tool_proto_block_kind kind,
		      const char *scope, struct orma_tool_proto_type *type)
{
	struct orma_tool_proto_block *block = &parser->blocks[parser->depth];

	if (parser->depth == ORMA_TOOL_PROTO_DEPTH_MAX)
		return orma_proto_lexer_fail_at(parser->lexer, parser->lexer->token.text,
						"blocks are nested more than %d deep",
						ORMA_TOOL_PROTO_DEPTH_MAX);
	*block = (struct orma_tool_proto_block){.kind = kind, .scope = scope, .type = type};
	if (type) {
		block->members = &block->own_members;
		block->fields_tail = &type->fields;
		block->values_tail = &type->values;
	}
	parser->depth++;
	return orma_tool_proto_need(parser->lexer, '{');
}

static int check_reserved(struct orma_tool_proto_parser *parser,
			  struct orma_tool_proto_block *message)
{
	const struct orma_tool_proto_field *field =
		orma_tool_proto_members_find_reserved(message->members, message->type->fields);

	if (field)
		return orma_proto_lexer_fail_at(parser->lexer, field->name, "number %u is reserved",
						field->number);
	return 0;
}

/* Closes the innermost block at its brace. */
static int close_block(struct orma_tool_proto_parser *parser)
{
	struct orma_tool_proto_block *closed = orma_tool_proto_innermost(parser);
	int r = 0;

	ORMA_ASSERT(parser->depth > 1 && closed->kind != ORMA_TOOL_PROTO_BLOCK_FILE);
	if (closed->kind == ORMA_TOOL_PROTO_BLOCK_ENUM && !closed->type->values)
		return orma_proto_lexer_expected(parser->lexer, "a value: an enum cannot be empty");
	if (closed->kind == ORMA_TOOL_PROTO_BLOCK_MESSAGE)
		r = check_reserved(parser, closed);
	if (r < 0)
		return r;
	orma_tool_proto_members_done(&closed->own_members);
	parser->depth--;
	if (closed->kind == ORMA_TOOL_PROTO_BLOCK_ONEOF)
		orma_tool_proto_innermost(parser)->fields_tail = closed->fields_tail;
	orma_proto_lexer_next(parser->lexer);
	return 0;
}

/* --- messages, enums, oneofs, extensions ------------------------------------------------------ */

static int parse_type(struct orma_tool_proto_parser *parser, bool is_enum)
{
	struct orma_tool_proto_type *type = NULL;
	struct orma_str name;
	int r = orma_tool_proto_need_name(
		parser->lexer, is_enum ? "the enum's name" : "the message's name", &name);

	if (r == 0)
		r = orma_tool_proto_add_type(parser, name, is_enum, &type);
	if (r == -EEXIST)
		return orma_proto_lexer_fail_at(parser->lexer, name, "%s is already defined",
						orma_proto_quote(name).text);
	if (r != 0)
		return r;
	return open_block(parser,
			  is_enum ? ORMA_TOOL_PROTO_BLOCK_ENUM : ORMA_TOOL_PROTO_BLOCK_MESSAGE,
			  type->name, type);
}

static int parse_oneof(struct orma_tool_proto_parser *parser)
{
	struct orma_tool_proto_block *message = orma_tool_proto_innermost(parser), *oneof;
	struct orma_str name;
	int r = orma_tool_proto_need_name(parser->lexer, "the oneof's name", &name);

	ORMA_ASSERT(message->kind == ORMA_TOOL_PROTO_BLOCK_MESSAGE);
	if (r == 0)
		r = open_block(parser, ORMA_TOOL_PROTO_BLOCK_ONEOF, message->scope, NULL);
	if (r < 0)
		return r;
	oneof = orma_tool_proto_innermost(parser);
	oneof->type = message->type;
	oneof->members = message->members;
	oneof->fields_tail = message->fields_tail;
	oneof->oneof = ++message->oneof_count;
	return 0;
}

static int parse_extend(struct orma_tool_proto_parser *parser)
{
	struct orma_tool_proto_extension *extension =
		orma_base_arena_alloc(&parser->set->arena, sizeof(*extension));
	int r;

	if (!extension)
		return -ENOMEM;
	extension->file = parser->file;
	extension->scope = orma_tool_proto_innermost(parser)->scope;
	r = orma_tool_proto_need_path(parser->lexer, "the name of the message to extend",
				      &extension->extendee);
	if (r < 0)
		return r;
	*parser->extensions_tail = extension;
	parser->extensions_tail = &extension->next;
	r = open_block(parser, ORMA_TOOL_PROTO_BLOCK_EXTEND, extension->scope, NULL);
	if (r == 0)
		orma_tool_proto_innermost(parser)->fields_tail = &extension->fields;
	return r;
}

static int parse_value(struct orma_tool_proto_parser *parser)
{
	struct orma_tool_proto_block *block = orma_tool_proto_innermost(parser);
	struct orma_tool_proto_value *value =
		orma_base_arena_alloc(&parser->set->arena, sizeof(*value));
	struct orma_proto_lexer *lexer = parser->lexer;
	uint64_t number;
	bool is_negative;
	int r;

	if (!value)
		return -ENOMEM;
	r = orma_tool_proto_need_name(lexer, "a value's name", &value->name);
	if (r == 0)
		r = orma_tool_proto_need(lexer, '=');
	if (r < 0)
		return r;
	is_negative = orma_proto_lexer_take(lexer, '-');
	r = orma_tool_proto_need_number(lexer, "a value's number",
					(uint64_t)INT32_MAX + is_negative, &number);
	if (r < 0)
		return r;
	value->number = (int32_t)(is_negative ? -(int64_t)number : (int64_t)number);
	r = orma_tool_proto_members_add_name(block->members, &value->name);
	if (r == -EEXIST)
		return orma_proto_lexer_fail_at(lexer, value->name,
						"a value of this name already exists");
	if (r < 0)
		return r;
	*block->values_tail = value;
	block->values_tail = &value->next;
	r = orma_tool_proto_parse_options(parser, NULL);
	return r < 0 ? r : orma_tool_proto_need(lexer, ';');
}

/* --- reserved and extensions ------------------------------------------------------------------ */

/* 2, or 9 to 11, or 100 to max */
static int parse_range(struct orma_proto_lexer *lexer, uint32_t *ret_first, uint32_t *ret_last)
{
	uint64_t first, last;
	int r;

	/* Enums also reserve negative numbers. Signs are ignored: ranges of enums are not kept. */
	orma_proto_lexer_take(lexer, '-');
	r = orma_tool_proto_need_number(lexer, "a number", UINT32_MAX, &first);
	last = first;
	if (r == 0 && orma_tool_proto_take_word(lexer, "to")) {
		orma_proto_lexer_take(lexer, '-');
		if (orma_tool_proto_take_word(lexer, "max"))
			last = UINT32_MAX;
		else
			r = orma_tool_proto_need_number(lexer, "a number or max", UINT32_MAX,
							&last);
	}
	*ret_first = (uint32_t)first;
	*ret_last = (uint32_t)last;
	return r;
}

/* reserved 2, 9 to 11, "name"; or extensions 100 to 199 [...]; after its first word. */
static int parse_ranges(struct orma_tool_proto_parser *parser, bool is_reserved)
{
	struct orma_tool_proto_block *block = orma_tool_proto_innermost(parser);
	struct orma_proto_lexer *lexer = parser->lexer;
	int r = 0;

	do {
		uint32_t first, last;

		/* Names have no quotes in an edition. */
		if (lexer->token.kind == ORMA_PROTO_TOKEN_STRING ||
		    (parser->file->is_edition && lexer->token.kind == ORMA_PROTO_TOKEN_IDENT)) {
			orma_proto_lexer_next(lexer);
			continue;
		}
		r = parse_range(lexer, &first, &last);
		if (r == 0 && is_reserved && block->kind == ORMA_TOOL_PROTO_BLOCK_MESSAGE)
			r = orma_tool_proto_members_reserve(block->members, first, last);
		if (r < 0)
			return r;
	} while (orma_proto_lexer_take(lexer, ','));
	if (orma_proto_lexer_is(lexer, '['))
		r = orma_tool_proto_parse_options(parser, NULL);
	return r < 0 ? r : orma_tool_proto_need(lexer, ';');
}

/* --- statements of the file ------------------------------------------------------------------- */

/* = "proto2"; one of two strings; *ret_is_second tells which. */
static int parse_choice(struct orma_tool_proto_parser *parser, const char *first,
			const char *second, bool *ret_is_second)
{
	struct orma_str at;
	char expected[40], *text;
	int r = orma_tool_proto_need(parser->lexer, '=');

	snprintf(expected, sizeof(expected), "\"%s\" or \"%s\"", first, second);
	if (r == 0)
		r = orma_tool_proto_need_string(parser, expected, &at, &text);
	if (r != 0)
		return r;
	if (strcmp(text, first) != 0 && strcmp(text, second) != 0)
		return orma_proto_lexer_fail_at(parser->lexer, at, "found %s, expected %s",
						orma_proto_quote(at).text, expected);
	*ret_is_second = strcmp(text, second) == 0;
	return orma_tool_proto_need(parser->lexer, ';');
}

static int parse_edition(struct orma_tool_proto_parser *parser)
{
	bool ignored;

	parser->file->is_proto3 = parser->file->is_edition = true;
	return parse_choice(parser, "2023", "2024", &ignored);
}

static int parse_import(struct orma_tool_proto_parser *parser)
{
	struct orma_tool_proto_import *import =
		orma_base_arena_alloc(&parser->set->arena, sizeof(*import));
	char *path;
	int r;

	if (!import)
		return -ENOMEM;
	if (!orma_tool_proto_take_word(parser->lexer, "public"))
		orma_tool_proto_take_word(parser->lexer, "weak");
	r = orma_tool_proto_need_string(parser, "the path of a .proto file", &import->path_at,
					&path);
	if (r != 0)
		return r;
	import->path = path;
	*parser->imports_tail = import;
	parser->imports_tail = &import->next;
	return orma_tool_proto_need(parser->lexer, ';');
}

static int parse_package(struct orma_tool_proto_parser *parser)
{
	struct orma_str at = parser->lexer->token.text, name;
	int r = orma_tool_proto_need_path(parser->lexer, "the package's name", &name);

	if (r < 0)
		return r;
	if (parser->file->package[0] != '\0' || name.data[0] == '.')
		return orma_proto_lexer_fail_at(parser->lexer, at,
						"a file has at most one package, and its name does "
						"not begin with a dot");
	parser->file->package = orma_base_arena_strdup(&parser->set->arena, name);
	if (!parser->file->package)
		return -ENOMEM;
	parser->blocks[0].scope = parser->file->package;
	return orma_tool_proto_need(parser->lexer, ';');
}

static int parse_service(struct orma_tool_proto_parser *parser)
{
	struct orma_str name;
	int r = orma_tool_proto_need_name(parser->lexer, "the service's name", &name);

	if (r == 0)
		r = orma_tool_proto_need(parser->lexer, '{');
	return r < 0 ? r : orma_tool_proto_skip_braces(parser);
}

static int parse_file_statement(struct orma_tool_proto_parser *parser)
{
	struct orma_proto_lexer *lexer = parser->lexer;
	bool is_first = !parser->saw_statement;

	if (is_first && orma_tool_proto_take_word(lexer, "syntax"))
		return parse_choice(parser, "proto2", "proto3", &parser->file->is_proto3);
	if (is_first && orma_tool_proto_take_word(lexer, "edition"))
		return parse_edition(parser);
	if (orma_tool_proto_take_word(lexer, "import"))
		return parse_import(parser);
	if (orma_tool_proto_take_word(lexer, "package"))
		return parse_package(parser);
	if (orma_tool_proto_take_word(lexer, "service"))
		return parse_service(parser);
	return orma_proto_lexer_expected(lexer, "%spackage, import, message, enum or extend",
					 is_first ? "syntax, edition, " : "");
}

static int parse_statement(struct orma_tool_proto_parser *parser)
{
	enum orma_tool_proto_block_kind kind = orma_tool_proto_innermost(parser)->kind;
	struct orma_proto_lexer *lexer = parser->lexer;

	if (orma_tool_proto_take_word(lexer, "option"))
		return orma_tool_proto_parse_option_statement(parser);
	if (kind == ORMA_TOOL_PROTO_BLOCK_FILE || kind == ORMA_TOOL_PROTO_BLOCK_MESSAGE) {
		if (orma_tool_proto_take_word(lexer, "message"))
			return parse_type(parser, false);
		if (orma_tool_proto_take_word(lexer, "enum"))
			return parse_type(parser, true);
		if (orma_tool_proto_take_word(lexer, "extend"))
			return parse_extend(parser);
	}
	if (kind == ORMA_TOOL_PROTO_BLOCK_FILE)
		return parse_file_statement(parser);
	if (kind == ORMA_TOOL_PROTO_BLOCK_MESSAGE && orma_tool_proto_take_word(lexer, "oneof"))
		return parse_oneof(parser);
	if ((kind == ORMA_TOOL_PROTO_BLOCK_MESSAGE || kind == ORMA_TOOL_PROTO_BLOCK_ENUM) &&
	    orma_tool_proto_take_word(lexer, "reserved"))
		return parse_ranges(parser, true);
	if (kind == ORMA_TOOL_PROTO_BLOCK_MESSAGE && orma_tool_proto_take_word(lexer, "extensions"))
		return parse_ranges(parser, false);
	return kind == ORMA_TOOL_PROTO_BLOCK_ENUM ? parse_value(parser)
						  : orma_tool_proto_parse_field(parser);
}

static int parse_statements(struct orma_tool_proto_parser *parser)
{
	int r = 0;

	while (r == 0) {
		if (parser->lexer->token.kind == ORMA_PROTO_TOKEN_END) {
			if (parser->depth == 1)
				return 0;
			return orma_proto_lexer_expected(parser->lexer, "'}'");
		}
		if (orma_proto_lexer_take(parser->lexer, ';'))
			continue;
		if (parser->depth > 1 && orma_proto_lexer_is(parser->lexer, '}'))
			r = close_block(parser);
		else
			r = parse_statement(parser);
		parser->saw_statement = true;
	}
	return r;
}

/* --- the file --------------------------------------------------------------------------------- */

/* Adds an empty file to the set, with a copy of the text in its lexer. */
static int add_file(struct orma_tool_proto_set *set, const char *path, const char *text,
		    size_t size, struct orma_tool_proto_file **ret)
{
	struct orma_tool_proto_file *file = orma_base_arena_alloc(&set->arena, sizeof(*file));
	struct orma_tool_proto_file **tail = &set->files;
	char *copy;

	if (set->file_count >= ORMA_TOOL_PROTO_FILES_MAX)
		return orma_base_error_set(&set->error, -EMSGSIZE, "%.200s: more than %d files",
					   path, ORMA_TOOL_PROTO_FILES_MAX);
	copy = orma_base_arena_strdup(&set->arena, (struct orma_str){text, size});
	if (!file || !copy)
		return -ENOMEM;
	file->path = orma_base_arena_strdup(&set->arena, orma_base_str(path));
	file->package = "";
	if (!file->path)
		return -ENOMEM;
	while (*tail)
		tail = &(*tail)->next;
	*tail = file;
	set->file_count++;
	orma_proto_lexer_init_schema(&file->lexer, file->path, copy, size, &set->error);
	*ret = file;
	return 0;
}

int orma_tool_proto_parse(struct orma_tool_proto_set *set, const char *path, const char *text,
			  size_t size, struct orma_tool_proto_file **ret)
{
	struct orma_tool_proto_file *file = NULL;
	int r = add_file(set, path, text, size, &file);

	if (r < 0)
		return r;
	struct orma_tool_proto_parser parser = {
		.set = set,
		.file = file,
		.lexer = &file->lexer,
		.types_tail = &file->types,
		.extensions_tail = &file->extensions,
		.imports_tail = &file->imports,
		.blocks = {{.kind = ORMA_TOOL_PROTO_BLOCK_FILE, .scope = ""}},
		.depth = 1};
	r = parse_statements(&parser);
	ORMA_ASSERT(r < 0 || parser.depth == 1);
	while (parser.depth > 0)
		orma_tool_proto_members_done(&parser.blocks[--parser.depth].own_members);
	if (r == 0)
		*ret = file;
	return r;
}
