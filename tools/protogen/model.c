/* SPDX-License-Identifier: Apache-2.0
 * model.c - a FileDescriptorSet into flat lists.
 *
 * Owns the model's arena. The set comes from protoc, so its references resolve; what we do not take
 * (groups, extensions, defaults of strings) is refused by name. Nested messages wait in the model's
 * own list until their turn: it doubles as the queue of a breadth-first walk. Rejected: tables for
 * descriptor.proto written by hand (more lines than reading it by field numbers), protobuf's own
 * library (C++).
 */
#include "model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/reader.h"

/* Field numbers of descriptor.proto. */
enum {
	SET_FILE = 1,
	FILE_NAME = 1,
	FILE_PACKAGE = 2,
	FILE_DEPENDENCY = 3,
	FILE_MESSAGE = 4,
	FILE_ENUM = 5,
	FILE_EXTENSION = 7,
	FILE_SYNTAX = 12,
	MESSAGE_NAME = 1,
	MESSAGE_FIELD = 2,
	MESSAGE_NESTED = 3,
	MESSAGE_ENUM = 4,
	MESSAGE_EXTENSION = 6,
	FIELD_NAME = 1,
	FIELD_NUMBER = 3,
	FIELD_LABEL = 4,
	FIELD_TYPE = 5,
	FIELD_TYPE_NAME = 6,
	FIELD_DEFAULT = 7,
	FIELD_OPTIONS = 8,
	FIELD_ONEOF = 9,
	OPTIONS_PACKED = 2,
	ENUM_NAME = 1,
	ENUM_VALUE = 2,
	VALUE_NAME = 1,
	VALUE_NUMBER = 2,
};

/* By FieldDescriptorProto.Type. */
static const int kind_of_type[] = {
	[1] = ORMA_PROTO_KIND_DOUBLE,    [2] = ORMA_PROTO_KIND_FLOAT,
	[3] = ORMA_PROTO_KIND_INT64,     [4] = ORMA_PROTO_KIND_UINT64,
	[5] = ORMA_PROTO_KIND_INT32,     [6] = ORMA_PROTO_KIND_FIXED64,
	[7] = ORMA_PROTO_KIND_FIXED32,   [8] = ORMA_PROTO_KIND_BOOL,
	[9] = ORMA_PROTO_KIND_STRING,    [10] = -1, /* group */
	[11] = ORMA_PROTO_KIND_MESSAGE,  [12] = ORMA_PROTO_KIND_BYTES,
	[13] = ORMA_PROTO_KIND_UINT32,   [14] = ORMA_PROTO_KIND_ENUM,
	[15] = ORMA_PROTO_KIND_SFIXED32, [16] = ORMA_PROTO_KIND_SFIXED64,
	[17] = ORMA_PROTO_KIND_SINT32,   [18] = ORMA_PROTO_KIND_SINT64,
};

/*
 * Members that the preprocessor or the struct's own head would break. linux and unix are macros in
 * gnu11; the prefixes are those of macros that stand for members in <signal.h> and <sys/stat.h>.
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

static void *add(struct pg_model *model, void *items, size_t *count, size_t item_size)
{
	struct orma_proto_repeated list = {*(void **)items, *count};
	void *item = orma_proto_repeated_add(&list, item_size, &model->arena);

	if (!item) {
		fputs("protogen: out of memory\n", stderr);
		exit(1);
	}
	*(void **)items = list.items;
	*count = list.count;
	return item;
}

static void *add_new(struct pg_model *model, void *items, size_t *count, size_t size)
{
	void **item = add(model, items, count, sizeof(void *));

	*item = orma_base_arena_alloc(&model->arena, size);
	if (!*item) {
		fputs("protogen: out of memory\n", stderr);
		exit(1);
	}
	return *item;
}

static const char *copy(struct pg_model *model, struct orma_str text)
{
	return pg_printf(&model->arena, "%.*s", (int)text.size, text.data);
}

static const char *stem(struct pg_model *model, struct orma_str file_name)
{
	if (file_name.size > 6 && memcmp(file_name.data + file_name.size - 6, ".proto", 6) == 0)
		file_name.size -= 6;
	return copy(model, file_name);
}

static struct orma_str string_of(struct orma_str message, uint32_t field_id)
{
	struct orma_proto_field field;

	if (orma_proto_reader_find(message.data, message.size, field_id, &field) <= 0)
		return ORMA_STR("");
	return field.bytes;
}

static uint64_t number_of(struct orma_str message, uint32_t field_id)
{
	struct orma_proto_field field;

	if (orma_proto_reader_find(message.data, message.size, field_id, &field) <= 0)
		return 0;
	return field.value;
}

static int read_field(struct pg_model *model, struct pg_message *message, struct orma_str data)
{
	struct pg_field *field =
		add(model, &message->fields, &message->field_count, sizeof(*message->fields));
	struct orma_str options = string_of(data, FIELD_OPTIONS);
	uint64_t type = number_of(data, FIELD_TYPE), label = number_of(data, FIELD_LABEL);
	struct orma_proto_field found;

	field->name = copy(model, string_of(data, FIELD_NAME));
	field->member = is_reserved(field->name) ? pg_printf(&model->arena, "%s_", field->name)
						 : field->name;
	if (type >= ORMA_ARRAY_SIZE(kind_of_type) || kind_of_type[type] < 0) {
		fprintf(stderr, "protogen: %s.%s: type %llu is not supported\n", message->display,
			field->name, (unsigned long long)type);
		return -ENOTSUP;
	}
	field->kind = (enum orma_proto_kind)kind_of_type[type];
	field->id = (uint32_t)number_of(data, FIELD_NUMBER);
	field->is_required = label == 2;
	field->is_repeated = label == 3;
	field->type_name = copy(model, string_of(data, FIELD_TYPE_NAME));
	if (orma_proto_reader_find(data.data, data.size, FIELD_DEFAULT, &found) > 0)
		field->default_value = copy(model, found.bytes);
	if (orma_proto_reader_find(data.data, data.size, FIELD_ONEOF, &found) > 0)
		field->oneof = (unsigned)found.value + 1;
	if (orma_proto_reader_find(options.data, options.size, OPTIONS_PACKED, &found) > 0)
		field->is_packed = found.value != 0;
	else
		field->is_packed = message->file->is_proto3 && field->is_repeated &&
				   field->kind < ORMA_PROTO_KIND_STRING;
	return 0;
}

static void read_enum(struct pg_model *model, const struct pg_file *file, const char *scope,
		      const char *display_scope, struct orma_str data)
{
	struct pg_enum *enumeration =
		add_new(model, &model->enums, &model->enum_count, sizeof(*enumeration));
	struct orma_proto_reader reader;
	struct orma_proto_field each;
	const char *name = copy(model, string_of(data, ENUM_NAME));

	enumeration->file = file;
	enumeration->full_name = pg_printf(&model->arena, "%s.%s", scope, name);
	enumeration->display = pg_printf(&model->arena, "%s%s", display_scope, name);
	enumeration->symbol = pg_snake(&model->arena, enumeration->display);
	orma_proto_reader_init(&reader, data.data, data.size);
	while (orma_proto_reader_next(&reader, &each) > 0) {
		struct pg_value *value;

		if (each.id != ENUM_VALUE)
			continue;
		value = add(model, &enumeration->values, &enumeration->value_count, sizeof(*value));
		value->name = copy(model, string_of(each.bytes, VALUE_NAME));
		value->number = (int32_t)number_of(each.bytes, VALUE_NUMBER);
	}
}

static void enqueue(struct pg_model *model, const struct pg_file *file, const char *scope,
		    const char *display_scope, struct orma_str data)
{
	struct pg_message *message =
		add_new(model, &model->messages, &model->message_count, sizeof(*message));
	const char *name = copy(model, string_of(data, MESSAGE_NAME));

	message->data = data;
	message->file = file;
	message->full_name = pg_printf(&model->arena, "%s.%s", scope, name);
	message->display = pg_printf(&model->arena, "%s%s", display_scope, name);
	message->symbol = pg_snake(&model->arena, message->display);
}

static int by_id(const void *a, const void *b)
{
	const struct pg_field *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int read_message(struct pg_model *model, struct pg_message *message)
{
	const char *display_scope = pg_printf(&model->arena, "%s.", message->display);
	struct orma_proto_reader reader;
	struct orma_proto_field each;
	int err = 0;

	orma_proto_reader_init(&reader, message->data.data, message->data.size);
	while (err == 0 && orma_proto_reader_next(&reader, &each) > 0) {
		if (each.id == MESSAGE_FIELD) {
			err = read_field(model, message, each.bytes);
		} else if (each.id == MESSAGE_NESTED) {
			enqueue(model, message->file, message->full_name, display_scope,
				each.bytes);
		} else if (each.id == MESSAGE_ENUM) {
			read_enum(model, message->file, message->full_name, display_scope,
				  each.bytes);
		} else if (each.id == MESSAGE_EXTENSION) {
			fprintf(stderr, "protogen: %s: extensions are not supported\n",
				message->display);
			err = -ENOTSUP;
		}
	}
	if (err == 0 && message->field_count > 0)
		qsort(message->fields, message->field_count, sizeof(*message->fields), by_id);
	return err;
}

static int read_file(struct pg_model *model, struct orma_str data)
{
	struct pg_file *file = add_new(model, &model->files, &model->file_count, sizeof(*file));
	struct orma_proto_reader reader;
	struct orma_proto_field each;
	const char *scope;

	file->name = stem(model, string_of(data, FILE_NAME));
	file->package = copy(model, string_of(data, FILE_PACKAGE));
	file->is_proto3 = orma_base_str_is(string_of(data, FILE_SYNTAX), "proto3");
	scope = file->package[0] ? pg_printf(&model->arena, ".%s", file->package) : "";
	orma_proto_reader_init(&reader, data.data, data.size);
	while (orma_proto_reader_next(&reader, &each) > 0) {
		if (each.id == FILE_DEPENDENCY) {
			const char **import = add(model, &file->imports, &file->import_count,
						  sizeof(*file->imports));
			*import = stem(model, each.bytes);
		} else if (each.id == FILE_MESSAGE) {
			enqueue(model, file, scope, "", each.bytes);
		} else if (each.id == FILE_ENUM) {
			read_enum(model, file, scope, "", each.bytes);
		} else if (each.id == FILE_EXTENSION) {
			fprintf(stderr, "protogen: %s: extensions are not supported\n", file->name);
			return -ENOTSUP;
		}
	}
	return 0;
}

static int resolve_type(struct pg_model *model, struct pg_field *field)
{
	for (size_t i = 0; field->kind == ORMA_PROTO_KIND_MESSAGE && i < model->message_count;
	     i++) {
		if (strcmp(model->messages[i]->full_name, field->type_name) == 0)
			field->message = model->messages[i];
	}
	for (size_t i = 0; field->kind == ORMA_PROTO_KIND_ENUM && i < model->enum_count; i++) {
		if (strcmp(model->enums[i]->full_name, field->type_name) == 0)
			field->enumeration = model->enums[i];
	}
	if ((field->kind == ORMA_PROTO_KIND_MESSAGE && !field->message) ||
	    (field->kind == ORMA_PROTO_KIND_ENUM && !field->enumeration)) {
		fprintf(stderr, "protogen: no type %s\n", field->type_name);
		return -EINVAL;
	}
	return 0;
}

static const void *type_of(const struct pg_field *field)
{
	return field->message ? (const void *)field->message : field->enumeration;
}

static int resolve_message(struct pg_model *model, struct pg_message *message)
{
	unsigned type_count = 0, default_count = 0;

	for (size_t i = 0; i < message->field_count; i++) {
		struct pg_field *field = &message->fields[i];
		size_t same = 0;
		int err = resolve_type(model, field);

		if (err < 0)
			return err;
		if (field->default_value) {
			if (field->kind >= ORMA_PROTO_KIND_STRING) {
				fprintf(stderr, "protogen: %s.%s: default is not supported\n",
					message->display, field->name);
				return -ENOTSUP;
			}
			field->default_idx = ++default_count;
		}
		if (!field->is_repeated && field->kind != ORMA_PROTO_KIND_MESSAGE)
			field->has_bit = message->has_count++;
		if (!type_of(field))
			continue;
		while (type_of(&message->fields[same]) != type_of(field))
			same++;
		field->type_idx = same < i ? message->fields[same].type_idx : type_count++;
	}
	return 0;
}

/* DebugAnnotation.name_iid and DebugAnnotationName.iid would be one constant: the later gets an
 * underscore. */
static const char *constant(struct pg_model *model, const char *symbol, const char *name)
{
	const char *text =
		pg_upper(&model->arena, pg_printf(&model->arena, "orma_pb_%s_%s", symbol, name));
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, text, strlen(text));

	while (orma_base_map_get(&model->constants, hash)) {
		text = pg_printf(&model->arena, "%s_", text);
		hash = orma_base_fnv1a(ORMA_FNV1A_INIT, text, strlen(text));
	}
	if (orma_base_map_put(&model->constants, hash, (char *)text) < 0) {
		fputs("protogen: out of memory\n", stderr);
		exit(1);
	}
	return text;
}

static void name_constants(struct pg_model *model)
{
	for (size_t i = 0; i < model->message_count; i++) {
		struct pg_message *message = model->messages[i];

		for (size_t j = 0; j < message->field_count; j++)
			message->fields[j].constant =
				constant(model, message->symbol, message->fields[j].name);
	}
	for (size_t i = 0; i < model->enum_count; i++) {
		struct pg_enum *enumeration = model->enums[i];

		for (size_t j = 0; j < enumeration->value_count; j++)
			enumeration->values[j].constant =
				constant(model, enumeration->symbol, enumeration->values[j].name);
	}
}

int pg_model_read(struct pg_model *model, const void *data, size_t size)
{
	struct orma_proto_reader reader;
	struct orma_proto_field each;
	int err;

	orma_proto_reader_init(&reader, data, size);
	while ((err = orma_proto_reader_next(&reader, &each)) > 0) {
		if (each.id == SET_FILE)
			err = read_file(model, each.bytes);
		if (err < 0)
			return err;
	}
	for (size_t i = 0; err == 0 && i < model->message_count; i++)
		err = read_message(model, model->messages[i]);
	for (size_t i = 0; err == 0 && i < model->message_count; i++)
		err = resolve_message(model, model->messages[i]);
	if (err == 0)
		name_constants(model);
	return err;
}
