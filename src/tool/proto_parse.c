/* SPDX-License-Identifier: Apache-2.0
 * proto_parse.c - the text of a .proto file into messages, enums and extensions.
 *
 * Owns nothing; all goes to the set's arena. A loop over statements with a stack of open blocks:
 * what a word means depends on the block it stands in, and no input makes this recurse. Invariant:
 * blocks[depth - 1] is the innermost block; its type or extension is in the file's list already.
 * Whatever a file may have many of is found by its hash, or is sorted once: the time is linear in
 * the text, but for the sorting of reserved ranges.
 * Rejected: protoc as a child (users of orma would need it installed), options as values (nothing
 * here depends on any but "packed").
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "tool/proto_file.h"

enum block_kind { BLOCK_FILE, BLOCK_MESSAGE, BLOCK_ENUM, BLOCK_ONEOF, BLOCK_EXTEND };

/* What a message or an enum has so far, to find what is said twice. A oneof's fields are members of
 * its message. */
struct members {
	struct orma_map names;   /* by hash of the name: its struct orma_str */
	struct orma_map numbers; /* of a message: the field */
};

struct block {
	enum block_kind kind;
	const char *scope; /* of names in it */
	struct members *members, own;
	struct orma_tool_proto_type *type;
	struct orma_tool_proto_field **fields_tail;
	struct orma_tool_proto_value **values_tail;
};

struct parser {
	struct orma_tool_proto_set *set;
	struct orma_tool_proto_file *file;
	struct orma_proto_lexer *lexer;
	struct orma_tool_proto_type **types_tail;
	struct orma_tool_proto_extension **extensions_tail;
	struct orma_tool_proto_import **imports_tail;
	struct block blocks[ORMA_TOOL_PROTO_DEPTH_MAX];
	size_t depth;
	bool saw_statement;
};

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

static struct block *top(struct parser *p)
{
	return &p->blocks[p->depth - 1];
}

static bool is_word(struct parser *p, const char *word)
{
	return p->lexer->token.kind == ORMA_PROTO_TOKEN_IDENT &&
	       orma_base_str_is(p->lexer->token.text, word);
}

static bool take_word(struct parser *p, const char *word)
{
	bool is = is_word(p, word);

	if (is)
		orma_proto_lexer_next(p->lexer);
	return is;
}

static int need(struct parser *p, char punct)
{
	if (!orma_proto_lexer_take(p->lexer, punct))
		return orma_proto_lexer_expected(p->lexer, "'%c'", punct);
	return 0;
}

static int need_name(struct parser *p, const char *what, struct orma_str *ret)
{
	*ret = (struct orma_str){0};
	if (p->lexer->token.kind != ORMA_PROTO_TOKEN_IDENT)
		return orma_proto_lexer_expected(p->lexer, "%s", what);
	if (p->lexer->token.text.size > 200)
		return orma_proto_lexer_fail_at(p->lexer, p->lexer->token.text,
						"names of more than 200 letters are not taken");
	*ret = p->lexer->token.text;
	orma_proto_lexer_next(p->lexer);
	return 0;
}

/* a.b.C or .a.b.C, as one piece of the text: white space inside is refused. */
static int need_path(struct parser *p, const char *what, struct orma_str *ret)
{
	const char *begin = p->lexer->token.text.data, *end = begin;
	struct orma_str part;
	int err;

	*ret = (struct orma_str){0};
	if (orma_proto_lexer_take(p->lexer, '.'))
		end = begin + 1;
	do {
		if (p->lexer->token.text.data != end)
			return orma_proto_lexer_expected(p->lexer, "%s", what);
		err = need_name(p, what, &part);
		if (err < 0)
			return err;
		end = part.data + part.size;
		if (end - begin > 500)
			return orma_proto_lexer_fail_at(p->lexer, part, "this name is too long");
		if (!orma_proto_lexer_is(p->lexer, '.') || p->lexer->token.text.data != end)
			break;
		orma_proto_lexer_next(p->lexer);
		end++;
	} while (true);
	*ret = (struct orma_str){begin, (size_t)(end - begin)};
	return 0;
}

static int need_number(struct parser *p, const char *what, uint64_t max, uint64_t *ret)
{
	struct orma_str text = p->lexer->token.text;

	*ret = 0;
	if (p->lexer->token.kind != ORMA_PROTO_TOKEN_NUMBER || !orma_proto_text_to_u64(text, ret))
		return orma_proto_lexer_expected(p->lexer, "%s", what);
	if (*ret > max)
		return orma_proto_lexer_fail_at(p->lexer, text, "%s is at most %llu", what,
						(unsigned long long)max);
	orma_proto_lexer_next(p->lexer);
	return 0;
}

static void *add(struct parser *p, size_t size)
{
	return orma_base_arena_alloc(&p->set->arena, size);
}

static char *join_name(struct parser *p, const char *scope, struct orma_str name)
{
	size_t scope_size = strlen(scope);
	char *joined = add(p, scope_size + name.size + 2);

	if (!joined)
		return NULL;
	memcpy(joined, scope, scope_size);
	if (scope_size > 0)
		joined[scope_size++] = '.';
	memcpy(joined + scope_size, name.data, name.size);
	joined[scope_size + name.size] = '\0';
	return joined;
}

enum packing { PACKING_UNSAID, PACKING_PACKED, PACKING_EXPANDED };

/* What an edition's features say of how something is written. */
static int note_feature(struct parser *p, enum packing *ret)
{
	if (!p->file->is_edition)
		return 0;
	if (is_word(p, "DELIMITED"))
		return orma_proto_lexer_fail_at(p->lexer, p->lexer->token.text,
						"messages between tags, groups, are not supported");
	if (is_word(p, "EXPANDED"))
		*ret = PACKING_EXPANDED;
	else if (is_word(p, "PACKED"))
		*ret = PACKING_PACKED;
	return 0;
}

/* Up to the closing bracket that belongs to the one that was just taken. */
static int skip_to_close(struct parser *p, char close, enum packing *ret)
{
	unsigned depth = 1;

	for (;;) {
		int err = note_feature(p, ret);

		if (err < 0)
			return err;
		if (p->lexer->token.kind == ORMA_PROTO_TOKEN_END ||
		    p->lexer->token.kind == ORMA_PROTO_TOKEN_UNTERMINATED)
			return orma_proto_lexer_expected(p->lexer, "'%c'", close);
		depth += orma_proto_lexer_is(p->lexer, '{') || orma_proto_lexer_is(p->lexer, '[');
		depth -= orma_proto_lexer_is(p->lexer, '}') || orma_proto_lexer_is(p->lexer, ']');
		if (depth == 0)
			return need(p, close);
		orma_proto_lexer_next(p->lexer);
	}
}

/* option name = value; */
static int skip_statement(struct parser *p)
{
	enum packing packing = PACKING_UNSAID;
	int err = 0;

	while (err == 0 && !orma_proto_lexer_is(p->lexer, ';')) {
		if (p->lexer->token.kind == ORMA_PROTO_TOKEN_END ||
		    p->lexer->token.kind == ORMA_PROTO_TOKEN_UNTERMINATED ||
		    orma_proto_lexer_is(p->lexer, '}'))
			return orma_proto_lexer_expected(p->lexer, "';'");
		err = note_feature(p, &packing);
		if (err == 0 && orma_proto_lexer_take(p->lexer, '{'))
			err = skip_to_close(p, '}', &packing);
		else if (err == 0)
			orma_proto_lexer_next(p->lexer);
	}
	/* Of one message alone it is not kept: either is understood by every reader. */
	if (packing != PACKING_UNSAID && top(p)->kind == BLOCK_FILE)
		p->file->is_expanded = packing == PACKING_EXPANDED;
	return err < 0 ? err : need(p, ';');
}

/* [packed = true, (other).option = { ... }]: one after the other */
static int parse_options(struct parser *p, struct orma_tool_proto_field *field)
{
	enum packing packing = PACKING_UNSAID;

	if (!orma_proto_lexer_take(p->lexer, '['))
		return 0;
	do {
		if (p->lexer->token.kind != ORMA_PROTO_TOKEN_IDENT &&
		    !orma_proto_lexer_is(p->lexer, '('))
			return orma_proto_lexer_expected(p->lexer, "an option's name");
		bool is_packed =
			field && take_word(p, "packed") && orma_proto_lexer_take(p->lexer, '=');

		if (is_packed) {
			if (!is_word(p, "true") && !is_word(p, "false"))
				return orma_proto_lexer_expected(p->lexer, "true or false");
			field->is_packed = is_word(p, "true");
			field->is_packed_said = true;
		}
		while (!orma_proto_lexer_is(p->lexer, ',') && !orma_proto_lexer_is(p->lexer, ']')) {
			int err = note_feature(p, &packing);

			if (p->lexer->token.kind == ORMA_PROTO_TOKEN_END ||
			    p->lexer->token.kind == ORMA_PROTO_TOKEN_UNTERMINATED ||
			    orma_proto_lexer_is(p->lexer, ';'))
				return orma_proto_lexer_expected(p->lexer, "']'");
			if (err == 0 && orma_proto_lexer_take(p->lexer, '{'))
				err = skip_to_close(p, '}', &packing);
			else if (err == 0)
				orma_proto_lexer_next(p->lexer);
			if (err < 0)
				return err;
		}
	} while (orma_proto_lexer_take(p->lexer, ','));
	if (field && packing != PACKING_UNSAID) {
		field->is_packed = packing == PACKING_PACKED;
		field->is_packed_said = true;
	}
	return need(p, ']');
}

static int push(struct parser *p, enum block_kind kind, const char *scope,
		struct orma_tool_proto_type *type)
{
	if (p->depth == ORMA_TOOL_PROTO_DEPTH_MAX)
		return orma_proto_lexer_fail_at(p->lexer, p->lexer->token.text,
						"blocks are nested more than %d deep",
						ORMA_TOOL_PROTO_DEPTH_MAX);
	p->blocks[p->depth] = (struct block){.kind = kind, .scope = scope, .type = type};
	if (type) {
		p->blocks[p->depth].members = &p->blocks[p->depth].own;
		p->blocks[p->depth].fields_tail = &type->fields;
		p->blocks[p->depth].values_tail = &type->values;
	}
	p->depth++;
	return need(p, '{');
}

static int add_type(struct parser *p, struct orma_str name, bool is_enum,
		    struct orma_tool_proto_type **ret)
{
	struct orma_tool_proto_type *type = add(p, sizeof(*type));
	char *full = join_name(p, top(p)->scope, name);

	if (!type || !full)
		return -ENOMEM;
	*type = (struct orma_tool_proto_type){
		.name = full, .file = p->file, .is_enum = is_enum, .at = name};
	*ret = type;
	if (orma_tool_proto_find(p->set, full, strlen(full)))
		return orma_proto_lexer_fail_at(p->lexer, name, "%s is defined already",
						orma_proto_quote(orma_base_str(full)).text);
	*p->types_tail = type;
	p->types_tail = &type->next;
	return orma_base_map_put(&p->set->types,
				 orma_base_fnv1a(ORMA_FNV1A_INIT, full, strlen(full)), type);
}

static int parse_type(struct parser *p, bool is_enum)
{
	struct orma_tool_proto_type *type = NULL;
	struct orma_str name;
	int err = need_name(p, is_enum ? "the enum's name" : "the message's name", &name);

	if (err == 0)
		err = add_type(p, name, is_enum, &type);
	if (err != 0 || !type)
		return err;
	return push(p, is_enum ? BLOCK_ENUM : BLOCK_MESSAGE, type->name, type);
}

static int parse_oneof(struct parser *p)
{
	struct orma_str name;
	int err = need_name(p, "the oneof's name", &name);
	struct block *outer = top(p);

	if (err == 0)
		err = push(p, BLOCK_ONEOF, outer->scope, NULL);
	if (err < 0)
		return err;
	top(p)->type = outer->type;
	top(p)->members = outer->members;
	top(p)->fields_tail = outer->fields_tail;
	return 0;
}

static int parse_extend(struct parser *p)
{
	struct orma_tool_proto_extension *extension = add(p, sizeof(*extension));
	int err;

	if (!extension)
		return -ENOMEM;
	extension->file = p->file;
	extension->scope = top(p)->scope;
	err = need_path(p, "the name of the message to extend", &extension->extendee);
	if (err < 0)
		return err;
	extension->at = extension->extendee;
	*p->extensions_tail = extension;
	p->extensions_tail = &extension->next;
	err = push(p, BLOCK_EXTEND, extension->scope, NULL);
	if (err == 0)
		top(p)->fields_tail = &extension->fields;
	return err;
}

/* reserved 2, 9 to 11, 100 to max, "name"; extensions 100 to 199 [...]; */
static int parse_reserved(struct parser *p, bool is_reserved)
{
	struct orma_tool_proto_type *type = top(p)->type;
	int err = 0;

	do {
		struct orma_tool_proto_range *range;
		uint64_t first, last;

		/* Names; an edition has them without quotes. */
		if (p->lexer->token.kind == ORMA_PROTO_TOKEN_STRING ||
		    (p->file->is_edition && p->lexer->token.kind == ORMA_PROTO_TOKEN_IDENT)) {
			orma_proto_lexer_next(p->lexer);
			continue;
		}
		/* Enums reserve negative numbers, too; which does not matter here. */
		orma_proto_lexer_take(p->lexer, '-');
		err = need_number(p, "a number", UINT32_MAX, &first);
		last = first;
		if (err == 0 && take_word(p, "to")) {
			orma_proto_lexer_take(p->lexer, '-');
			if (take_word(p, "max"))
				last = UINT32_MAX;
			else
				err = need_number(p, "a number or max", UINT32_MAX, &last);
		}
		if (err < 0)
			return err;
		if (!is_reserved || !type || type->is_enum)
			continue;
		range = add(p, sizeof(*range));
		if (!range)
			return -ENOMEM;
		*range = (struct orma_tool_proto_range){type->reserved, (uint32_t)first,
							(uint32_t)last};
		type->reserved = range;
	} while (orma_proto_lexer_take(p->lexer, ','));
	if (orma_proto_lexer_is(p->lexer, '['))
		err = parse_options(p, NULL);
	return err < 0 ? err : need(p, ';');
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

/* map<string, Value> values: a message of a key and a value for each entry, as on the wire. */
static int parse_map_type(struct parser *p, struct orma_tool_proto_field *field)
{
	struct orma_tool_proto_field *key = add(p, sizeof(*key)), *value = add(p, sizeof(*value));
	struct orma_str key_name, value_name;
	int err = need(p, '<');

	if (!key || !value)
		return -ENOMEM;
	if (err == 0)
		err = need_name(p, "the type of the keys", &key_name);
	if (err == 0)
		err = need(p, ',');
	if (err == 0)
		err = need_path(p, "the type of the values", &value_name);
	if (err == 0)
		err = need(p, '>');
	if (err != 0)
		return err;
	set_type_name(key, key_name);
	set_type_name(value, value_name);
	if (key->type_name.size > 0 || key->kind == ORMA_PROTO_KIND_FLOAT ||
	    key->kind == ORMA_PROTO_KIND_DOUBLE || key->kind == ORMA_PROTO_KIND_BYTES)
		return orma_proto_lexer_fail_at(p->lexer, key_name,
						"keys are integers, bools or strings");
	key->name = ORMA_STR("key");
	key->number = 1;
	key->at = key_name;
	key->next = value;
	value->name = ORMA_STR("value");
	value->number = 2;
	value->at = value_name;
	field->is_repeated = true;
	field->kind = ORMA_PROTO_KIND_MESSAGE;
	/* The entry's type gets its name with the field's. */
	field->type = add(p, sizeof(*field->type));
	if (!field->type)
		return -ENOMEM;
	field->type->fields = key;
	return 0;
}

static char to_upper(char c)
{
	return (char)(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
}

/* "my_map" -> MyMapEntry, protoc's name for it. */
static int name_map_type(struct parser *p, struct orma_tool_proto_field *field)
{
	struct orma_tool_proto_field *fields = field->type->fields;
	char *name = add(p, field->name.size + sizeof("Entry"));
	size_t size = 0;
	bool is_start = true;
	int err;

	if (!name)
		return -ENOMEM;
	for (size_t i = 0; i < field->name.size; i++) {
		char c = field->name.data[i];

		is_start |= c == '_';
		if (c == '_')
			continue;
		name[size++] = c;
		if (is_start)
			name[size - 1] = to_upper(c);
		is_start = false;
	}
	memcpy(name + size, "Entry", sizeof("Entry"));
	err = add_type(p, (struct orma_str){name, size + 5}, false, &field->type);
	if (err < 0)
		return err == -EBADMSG ? orma_proto_lexer_fail_at(p->lexer, field->name,
								  "there is a type of this name")
				       : err;
	field->type->fields = fields;
	field->type->at = field->name;
	return 0;
}

static void members_done(struct members *members)
{
	orma_base_map_done(&members->names);
	orma_base_map_done(&members->numbers);
}

/* 0, -EEXIST (there is a member of this name) or -ENOMEM. */
static int members_add_name(struct members *members, const struct orma_str *name)
{
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, name->data, name->size);
	const struct orma_str *other = orma_base_map_get(&members->names, hash);

	if (other && orma_base_str_is_equal(*other, *name))
		return -EEXIST;
	/* Of two names with one hash the first alone is remembered. */
	return other ? 0 : orma_base_map_put(&members->names, hash, (void *)name);
}

/* Also remembers it, for the fields that follow. */
static int check_field(struct parser *p, struct orma_tool_proto_field *field)
{
	struct members *members = top(p)->members;
	const struct orma_tool_proto_field *other;
	int err;

	if (field->number == 0 || (field->number >= 19000 && field->number <= 19999))
		return orma_proto_lexer_fail_at(p->lexer, field->at,
						"field numbers begin at 1; protobuf keeps 19000 to "
						"19999 for itself");
	if (!members)
		return 0;
	other = orma_base_map_get(&members->numbers, field->number);
	if (other)
		return orma_proto_lexer_fail_at(p->lexer, field->at, "number %u belongs to %s",
						field->number, orma_proto_quote(other->name).text);
	err = members_add_name(members, &field->name);
	if (err == -EEXIST)
		return orma_proto_lexer_fail_at(p->lexer, field->name,
						"there is a field of this name");
	return err < 0 ? err : orma_base_map_put(&members->numbers, field->number, field);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct orma_tool_proto_range *left = a, *right = b;

	return left->first < right->first ? -1 : left->first > right->first;
}

/* The last number of all ranges that begin at or before this one; 0 = none does. The ranges are sorted,
 * and the last of each is the last of all up to it. */
static uint32_t last_reserved(const struct orma_tool_proto_range *ranges, size_t count,
			      uint32_t number)
{
	size_t begin = 0, end = count;

	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;

		if (ranges[middle].first <= number)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin > 0 ? ranges[begin - 1].last : 0;
}

/* At the end of a message: reserved numbers may be named before the fields, or behind them. */
static int check_reserved(struct parser *p, const struct orma_tool_proto_type *type)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_tool_proto_range *ranges;
	size_t count;

	for (const struct orma_tool_proto_range *range = type->reserved; range; range = range->next)
		if (orma_base_buf_append(&buf, range, sizeof(*range)) < 0)
			return -ENOMEM;
	if (buf.size == 0)
		return 0;
	ranges = (struct orma_tool_proto_range *)(void *)buf.data;
	count = buf.size / sizeof(*ranges);
	qsort(ranges, count, sizeof(*ranges), compare_ranges);
	for (size_t i = 1; i < count; i++)
		ranges[i].last = ORMA_MAX(ranges[i].last, ranges[i - 1].last);
	for (const struct orma_tool_proto_field *field = type->fields; field; field = field->next)
		if (field->number <= last_reserved(ranges, count, field->number))
			return orma_proto_lexer_fail_at(p->lexer, field->name,
							"number %u is reserved", field->number);
	return 0;
}

static int parse_label(struct parser *p, struct orma_tool_proto_field *field)
{
	bool may_have = top(p)->kind != BLOCK_ONEOF;
	struct orma_str at = p->lexer->token.text;

	if (may_have && take_word(p, "repeated")) {
		field->is_repeated = true;
	} else if (may_have && take_word(p, "required")) {
		field->is_required = true;
		if (p->file->is_proto3)
			return orma_proto_lexer_fail_at(p->lexer, at, "%s has no required fields",
							p->file->is_edition ? "an edition"
									    : "proto3");
	} else if (may_have && !take_word(p, "optional") && !p->file->is_proto3 &&
		   !is_word(p, "map")) {
		return orma_proto_lexer_expected(p->lexer, "optional, required or repeated");
	} else if (!may_have &&
		   (is_word(p, "repeated") || is_word(p, "required") || is_word(p, "optional"))) {
		return orma_proto_lexer_expected(p->lexer,
						 "a field's type: a oneof's have no label");
	}
	return 0;
}

static bool is_packable(enum orma_proto_kind kind)
{
	return kind < ORMA_PROTO_KIND_STRING;
}

static int parse_field(struct parser *p)
{
	struct orma_tool_proto_field *field = add(p, sizeof(*field));
	struct orma_str type_name;
	uint64_t number;
	int err;

	if (!field)
		return -ENOMEM;
	err = parse_label(p, field);
	if (err < 0)
		return err;
	type_name = p->lexer->token.text;
	if (is_word(p, "group"))
		return orma_proto_lexer_fail_at(p->lexer, type_name, "groups are not supported");
	err = need_path(p, "a field's type", &type_name);
	if (err < 0)
		return err;
	set_type_name(field, type_name);
	if (orma_base_str_is(type_name, "map") && orma_proto_lexer_is(p->lexer, '<')) {
		field->type_name = (struct orma_str){0};
		if (top(p)->kind != BLOCK_MESSAGE || field->is_repeated || field->is_required)
			return orma_proto_lexer_fail_at(p->lexer, type_name,
							"maps are plain fields of messages");
		err = parse_map_type(p, field);
	}
	if (err == 0)
		err = need_name(p, "the field's name", &field->name);
	if (err == 0)
		err = need(p, '=');
	field->at = p->lexer->token.text;
	if (err == 0)
		err = need_number(p, "a field's number", ORMA_TOOL_PROTO_FIELD_MAX, &number);
	if (err < 0)
		return err;
	field->number = (uint32_t)number;
	err = check_field(p, field);
	if (err == 0 && field->type)
		err = name_map_type(p, field);
	if (err == 0)
		err = parse_options(p, field);
	if (err < 0)
		return err;
	if (field->type_name.size > 0)
		field->at = field->type_name;
	if (!field->is_packed_said)
		field->is_packed =
			p->file->is_proto3 && !p->file->is_expanded && field->is_repeated;
	if (field->is_packed_said && field->is_packed &&
	    (!field->is_repeated || (field->type_name.size == 0 && !is_packable(field->kind))))
		return orma_proto_lexer_fail_at(p->lexer, field->name,
						"only repeated numbers can be packed");
	*top(p)->fields_tail = field;
	top(p)->fields_tail = &field->next;
	return need(p, ';');
}

static int parse_value(struct parser *p)
{
	struct orma_tool_proto_value *value = add(p, sizeof(*value));
	uint64_t number;
	bool is_negative;
	int err;

	if (!value)
		return -ENOMEM;
	err = need_name(p, "a value's name", &value->name);
	if (err == 0)
		err = need(p, '=');
	if (err < 0)
		return err;
	is_negative = orma_proto_lexer_take(p->lexer, '-');
	err = need_number(p, "a value's number", (uint64_t)INT32_MAX + is_negative, &number);
	if (err < 0)
		return err;
	value->number = (int32_t)(is_negative ? -(int64_t)number : (int64_t)number);
	err = members_add_name(top(p)->members, &value->name);
	if (err == -EEXIST)
		return orma_proto_lexer_fail_at(p->lexer, value->name,
						"there is a value of this name");
	if (err < 0)
		return err;
	*top(p)->values_tail = value;
	top(p)->values_tail = &value->next;
	err = parse_options(p, NULL);
	return err < 0 ? err : need(p, ';');
}

static int need_string(struct parser *p, const char *what, struct orma_str *ret_at, char **ret)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) text = {0};
	int err;

	*ret = NULL;
	*ret_at = (struct orma_str){0};
	if (p->lexer->token.kind != ORMA_PROTO_TOKEN_STRING)
		return orma_proto_lexer_expected(p->lexer, "%s", what);
	*ret_at = p->lexer->token.text;
	err = orma_proto_text_unescape(p->lexer, *ret_at, &text);
	if (err < 0)
		return err;
	*ret = orma_base_arena_strdup(&p->set->arena,
				      (struct orma_str){(const char *)text.data, text.size});
	orma_proto_lexer_next(p->lexer);
	return *ret ? 0 : -ENOMEM;
}

static int parse_syntax(struct parser *p)
{
	struct orma_str at;
	char *text;
	int err = need(p, '=');

	if (err == 0)
		err = need_string(p, "\"proto2\" or \"proto3\"", &at, &text);
	if (err != 0)
		return err;
	if (strcmp(text, "proto2") != 0 && strcmp(text, "proto3") != 0)
		return orma_proto_lexer_fail_at(p->lexer, at,
						"found %s, expected \"proto2\" or \"proto3\"",
						orma_proto_quote(at).text);
	p->file->is_proto3 = strcmp(text, "proto3") == 0;
	return need(p, ';');
}

static int parse_edition(struct parser *p)
{
	struct orma_str at;
	char *text;
	int err = need(p, '=');

	if (err == 0)
		err = need_string(p, "\"2023\" or \"2024\"", &at, &text);
	if (err != 0)
		return err;
	if (strcmp(text, "2023") != 0 && strcmp(text, "2024") != 0)
		return orma_proto_lexer_fail_at(p->lexer, at,
						"found %s, expected \"2023\" or \"2024\"",
						orma_proto_quote(at).text);
	p->file->is_proto3 = p->file->is_edition = true;
	return need(p, ';');
}

static int parse_import(struct parser *p)
{
	struct orma_tool_proto_import *import = add(p, sizeof(*import));
	char *path;
	int err;

	if (!import)
		return -ENOMEM;
	if (!take_word(p, "public"))
		take_word(p, "weak");
	err = need_string(p, "the path of a .proto file", &import->at, &path);
	if (err != 0)
		return err;
	import->path = path;
	*p->imports_tail = import;
	p->imports_tail = &import->next;
	return need(p, ';');
}

static int parse_package(struct parser *p)
{
	struct orma_str name;
	struct orma_str at = p->lexer->token.text;
	int err = need_path(p, "the package's name", &name);

	if (err < 0)
		return err;
	if (p->file->package[0] != '\0' || name.data[0] == '.')
		return orma_proto_lexer_fail_at(p->lexer, at, "a file has one package at most");
	p->file->package = orma_base_arena_strdup(&p->set->arena, name);
	if (!p->file->package)
		return -ENOMEM;
	p->blocks[0].scope = p->file->package;
	return need(p, ';');
}

static int parse_file_statement(struct parser *p)
{
	bool is_first = !p->saw_statement;
	enum packing packing;
	struct orma_str name;
	int err;

	p->saw_statement = true;
	if (is_first && take_word(p, "syntax"))
		return parse_syntax(p);
	if (is_first && take_word(p, "edition"))
		return parse_edition(p);
	if (take_word(p, "import"))
		return parse_import(p);
	if (take_word(p, "package"))
		return parse_package(p);
	if (take_word(p, "service")) {
		err = need_name(p, "the service's name", &name);
		if (err == 0)
			err = need(p, '{');
		return err < 0 ? err : skip_to_close(p, '}', &packing);
	}
	return orma_proto_lexer_expected(p->lexer, is_first ? "syntax, edition, package, import, "
							      "message, enum or extend"
							    : "package, import, message, enum or "
							      "extend");
}

static int parse_statement(struct parser *p)
{
	enum block_kind kind = top(p)->kind;

	if (take_word(p, "option"))
		return skip_statement(p);
	if (kind == BLOCK_FILE || kind == BLOCK_MESSAGE) {
		if (take_word(p, "message"))
			return parse_type(p, false);
		if (take_word(p, "enum"))
			return parse_type(p, true);
		if (take_word(p, "extend"))
			return parse_extend(p);
	}
	if (kind == BLOCK_FILE)
		return parse_file_statement(p);
	if (kind == BLOCK_MESSAGE && take_word(p, "oneof"))
		return parse_oneof(p);
	if ((kind == BLOCK_MESSAGE || kind == BLOCK_ENUM) && take_word(p, "reserved"))
		return parse_reserved(p, true);
	if (kind == BLOCK_MESSAGE && take_word(p, "extensions"))
		return parse_reserved(p, false);
	return kind == BLOCK_ENUM ? parse_value(p) : parse_field(p);
}

static int close_block(struct parser *p)
{
	struct block closed = *top(p);
	int err = 0;

	if (closed.kind == BLOCK_ENUM && !closed.type->values)
		return orma_proto_lexer_expected(p->lexer, "a value: no enum is empty");
	if (closed.kind == BLOCK_MESSAGE)
		err = check_reserved(p, closed.type);
	if (err < 0)
		return err;
	members_done(&top(p)->own);
	p->depth--;
	/* A oneof's fields went into the message's list. */
	if (closed.kind == BLOCK_ONEOF)
		top(p)->fields_tail = closed.fields_tail;
	orma_proto_lexer_next(p->lexer);
	return 0;
}

static int parse_statements(struct parser *p)
{
	int err = 0;

	while (err == 0) {
		if (p->lexer->token.kind == ORMA_PROTO_TOKEN_END) {
			if (p->depth == 1)
				return 0;
			return orma_proto_lexer_expected(p->lexer, "'}'");
		}
		if (orma_proto_lexer_take(p->lexer, ';'))
			continue;
		if (p->depth > 1 && orma_proto_lexer_is(p->lexer, '}'))
			err = close_block(p);
		else
			err = parse_statement(p);
		p->saw_statement = true;
	}
	return err;
}

int orma_tool_proto_parse(struct orma_tool_proto_set *set, const char *path, const char *text,
			  size_t size, struct orma_tool_proto_file **ret)
{
	struct orma_tool_proto_file *file = orma_base_arena_alloc(&set->arena, sizeof(*file));
	struct orma_tool_proto_file **tail = &set->files;
	struct parser p = {.set = set, .file = file};
	char *copy;
	int err;

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
	p.lexer = &file->lexer;
	p.types_tail = &file->types;
	p.extensions_tail = &file->extensions;
	p.imports_tail = &file->imports;
	p.blocks[0] = (struct block){.kind = BLOCK_FILE, .scope = ""};
	p.depth = 1;
	orma_proto_lexer_init_schema(&file->lexer, file->path, copy, size, &set->error);
	err = parse_statements(&p);
	while (p.depth > 0)
		members_done(&p.blocks[--p.depth].own);
	if (err == 0)
		*ret = file;
	return err;
}
