/* SPDX-License-Identifier: Apache-2.0
 * tables_layout.c - which members, has bits and table positions the fields of a message get.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/error_message.h"
#include "tables.h"

/* --- names ------------------------------------------------------------------------------------ */

const char *pg_local_name(const struct orma_tool_proto_type *type)
{
	size_t package_size = strlen(type->file->package);

	return package_size > 0 ? type->name + package_size + 1 : type->name;
}

const char *pg_symbol(struct pg_generator *generator, const struct orma_tool_proto_type *type)
{
	return orma_tool_proto_snake_case(&generator->output, pg_local_name(type));
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *pg_stem(struct pg_generator *generator, const char *path)
{
	const char *name = file_name(path);
	size_t size = strlen(name);

	if (size > 6 && strcmp(name + size - 6, ".proto") == 0)
		size -= 6;
	return orma_tool_proto_format(&generator->output, "%.*s", (int)size, name);
}

const char *pg_constant(struct pg_generator *generator, const void *owner, const char *symbol,
			struct orma_str name)
{
	struct orma_tool_proto_output *output = &generator->output;
	const char *text = orma_tool_proto_upper_case(
		output, orma_tool_proto_format(output, "orma_pb_%s_%.*s", symbol, (int)name.size,
					       name.data));

	/* The constants of DebugAnnotation.name_iid and of DebugAnnotationName.iid would be equal.
	 * The later one gets an underscore. */
	while (output->failure == 0) {
		uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, text, strlen(text));
		const void *other = orma_base_map_get(&generator->constants, hash);

		if (other == owner)
			break;
		if (!other)
			orma_tool_proto_note_failure(
				output,
				orma_base_map_put(&generator->constants, hash, (void *)owner));
		else
			text = orma_tool_proto_format(output, "%s_", text);
	}
	return text;
}

/*
 * Whether a member of this name would not compile: keywords, macros, and the members that every
 * struct has. linux and unix are macros in gnu11. <signal.h> and <sys/stat.h> define macros with
 * the prefixes.
 */
static bool is_reserved(const char *name)
{
	static const char *const words[] = {
		"auto",    "bool",     "break",   "case",     "char",     "const",  "continue",
		"default", "do",       "double",  "else",     "enum",     "errno",  "extern",
		"false",   "float",    "for",     "goto",     "if",       "inline", "int",
		"linux",   "long",     "NULL",    "register", "restrict", "return", "short",
		"signed",  "sizeof",   "static",  "stderr",   "stdin",    "stdout", "struct",
		"switch",  "true",     "typedef", "typeof",   "union",    "unix",   "unsigned",
		"void",    "volatile", "while",   "asm",      "base",     "has",
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(words); i++) {
		if (strcmp(name, words[i]) == 0)
			return true;
	}
	return strncmp(name, "sa_", 3) == 0 || strncmp(name, "si_", 3) == 0 ||
	       strncmp(name, "st_", 3) == 0;
}

/* --- layout ----------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
	const struct pg_field *left = a, *right = b;

	return left->proto->number < right->proto->number
		       ? -1
		       : left->proto->number > right->proto->number;
}

static bool has_bit(const struct orma_tool_proto_field *field)
{
	return !field->is_repeated && field->kind != ORMA_PROTO_KIND_MESSAGE;
}

/* The index of the field's type: fields of one type share it. */
static unsigned find_type_idx(const struct pg_message *message, size_t idx, unsigned *type_count)
{
	const struct orma_tool_proto_type *type = message->fields[idx].proto->type;

	for (size_t i = 0; i < idx; i++) {
		if (message->fields[i].proto->type == type)
			return message->fields[i].type_idx;
	}
	return (*type_count)++;
}

static void number_fields(struct pg_message *message)
{
	unsigned type_count = 0;

	for (size_t i = 0; i < message->field_count; i++) {
		struct pg_field *field = &message->fields[i];

		ORMA_ASSERT(i == 0 || field[-1].proto->number < field->proto->number);
		if (has_bit(field->proto))
			field->has_bit = message->has_count++;
		if (field->proto->type)
			field->type_idx = find_type_idx(message, i, &type_count);
	}
}

int pg_lay_out(struct pg_generator *generator, const struct orma_tool_proto_type *type,
	       struct pg_message *ret)
{
	struct orma_tool_proto_output *output = &generator->output;
	size_t count = 0;

	ORMA_ASSERT(!type->is_enum);
	*ret = (struct pg_message){.type = type, .symbol = pg_symbol(generator, type)};
	for (const struct orma_tool_proto_field *proto = type->fields; proto; proto = proto->next)
		count++;
	if (count == 0)
		return output->failure;
	ret->fields = orma_base_arena_alloc(output->arena, count * sizeof(*ret->fields));
	if (!ret->fields)
		return -ENOMEM;
	for (const struct orma_tool_proto_field *proto = type->fields; proto; proto = proto->next) {
		struct pg_field *field = &ret->fields[ret->field_count++];

		field->proto = proto;
		field->name = orma_tool_proto_format(output, "%.*s", (int)proto->name.size,
						     proto->name.data);
		field->member = is_reserved(field->name)
					? orma_tool_proto_format(output, "%s_", field->name)
					: field->name;
	}
	qsort(ret->fields, count, sizeof(*ret->fields), compare_numbers);
	number_fields(ret);
	return output->failure;
}

/* --- preparation ------------------------------------------------------------------------------ */

static bool imports(const struct orma_tool_proto_file *file,
		    const struct orma_tool_proto_file *other)
{
	for (const struct orma_tool_proto_import *import = file->imports; import;
	     import = import->next) {
		if (strcmp(import->path, file_name(other->path)) == 0)
			return true;
	}
	return file == other;
}

static int check_imports(const struct orma_tool_proto_set *set, struct orma_tool_proto_file *file)
{
	for (const struct orma_tool_proto_import *import = file->imports; import;
	     import = import->next) {
		const struct orma_tool_proto_file *other = set->files;

		while (other && strcmp(import->path, file_name(other->path)) != 0)
			other = other->next;
		if (!other)
			return orma_proto_lexer_fail_at(&file->lexer, import->path_at,
							"%s is not one of the files",
							orma_proto_quote(import->path_at).text);
	}
	return 0;
}

static int check_file(const struct orma_tool_proto_set *set, struct orma_tool_proto_file *file)
{
	int r = check_imports(set, file);

	if (r < 0)
		return r;
	if (file->extensions)
		return orma_proto_lexer_fail_at(&file->lexer, file->extensions->extendee,
						"extensions are not supported");
	for (const struct orma_tool_proto_type *type = file->types; type; type = type->next) {
		for (const struct orma_tool_proto_field *field = type->fields; field;
		     field = field->next) {
			if (field->type && !imports(file, field->type->file))
				return orma_proto_lexer_fail_at(&file->lexer, field->type_name,
								"%s is not imported",
								file_name(field->type->file->path));
			if (field->default_value.size > 0)
				return orma_proto_lexer_fail_at(&file->lexer, field->default_value,
								"defaults are not supported");
		}
	}
	return 0;
}

/* Sorts outer types before inner ones; this is the order of protobuf's descriptors. */
static void sort_by_level(struct orma_tool_proto_file *file)
{
	struct orma_tool_proto_type *sorted = NULL, **tail = &sorted;

	for (unsigned level = 0; file->types; level++) {
		for (struct orma_tool_proto_type **at = &file->types; *at;) {
			struct orma_tool_proto_type *type = *at;

			if (type->level != level) {
				at = &type->next;
				continue;
			}
			*at = type->next;
			type->next = NULL;
			*tail = type;
			tail = &type->next;
		}
	}
	file->types = sorted;
}

/* Names a file's constants in a fixed order, for the case that two names are equal. */
static void name_constants(struct pg_generator *generator, const struct orma_tool_proto_file *file)
{
	for (const struct orma_tool_proto_type *type = file->types; type; type = type->next) {
		const char *symbol = pg_symbol(generator, type);

		for (const struct orma_tool_proto_field *field = type->fields; field;
		     field = field->next)
			pg_constant(generator, field, symbol, field->name);
	}
	for (const struct orma_tool_proto_type *type = file->types; type; type = type->next) {
		const char *symbol = pg_symbol(generator, type);

		for (const struct orma_tool_proto_value *value = type->values; value;
		     value = value->next)
			pg_constant(generator, value, symbol, value->name);
	}
}

int pg_prepare(struct pg_generator *generator)
{
	for (struct orma_tool_proto_file *file = generator->set.files; file; file = file->next) {
		int r = check_file(&generator->set, file);

		if (r < 0)
			return r;
		sort_by_level(file);
		name_constants(generator, file);
	}
	return generator->output.failure;
}
