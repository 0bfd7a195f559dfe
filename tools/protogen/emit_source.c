/* SPDX-License-Identifier: Apache-2.0
 * emit_source.c - <file>.pb.c: the tables.
 *
 * All names of a message are one array, its own first; fields refer to it by offset. Only what must
 * be a pointer (the tables of a field's type) is one, see codec.h. Rejected: one pool of names for
 * all messages, and string literals, which compilers pool (a linker that drops unused tables could
 * not drop their names).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "emit.h"

#define OUT(...) (err |= orma_base_buf_printf(out, __VA_ARGS__))

static const char *const kind_names[] = {
	"BOOL",   "INT32",   "INT64",   "UINT32",   "UINT64",   "SINT32",
	"SINT64", "FIXED32", "FIXED64", "SFIXED32", "SFIXED64", "FLOAT",
	"DOUBLE", "ENUM",    "STRING",  "BYTES",    "MESSAGE",
};

static int emit_enum(const struct pg_enum *enumeration, struct orma_buf *out)
{
	int err = 0;

	OUT("\nstatic const int32_t %s_numbers[] = {", enumeration->symbol);
	for (size_t i = 0; i < enumeration->value_count; i++)
		OUT("%s%d", i > 0 ? ", " : "", enumeration->values[i].number);
	OUT("};\nstatic const char %s_names[] = {\n\t\"%s\"", enumeration->symbol,
	    enumeration->display);
	for (size_t i = 0; i < enumeration->value_count; i++)
		OUT("\n\t\"\\0%s\"", enumeration->values[i].name);
	OUT("};\nconst struct orma_proto_enum_desc orma_pb_%s_enum = {%s_names, %s_numbers, "
	    "%zu};\n",
	    enumeration->symbol, enumeration->symbol, enumeration->symbol,
	    enumeration->value_count);
	return err;
}

static int emit_types(const struct pg_message *message, struct orma_buf *out)
{
	unsigned count = 0;
	int err = 0;

	for (size_t i = 0; i < message->field_count; i++) {
		const struct pg_field *field = &message->fields[i];

		if ((!field->message && !field->enumeration) || field->type_idx < count)
			continue;
		if (count++ == 0)
			OUT("static const union orma_proto_type %s_types[] = {\n", message->symbol);
		if (field->message)
			OUT("\t{.message = &orma_pb_%s_desc},\n", field->message->symbol);
		else
			OUT("\t{.enumeration = &orma_pb_%s_enum},\n", field->enumeration->symbol);
	}
	if (count > 0)
		OUT("};\n");
	return err ? err : (int)count;
}

static uint64_t default_bits(const struct pg_field *field)
{
	const char *text = field->default_value;
	float narrow;
	double wide;
	uint32_t bits32;
	uint64_t bits64;

	switch (field->kind) {
	case ORMA_PROTO_KIND_BOOL:
		return strcmp(text, "true") == 0;
	case ORMA_PROTO_KIND_FLOAT:
		narrow = strtof(text, NULL);
		memcpy(&bits32, &narrow, sizeof(bits32));
		return bits32;
	case ORMA_PROTO_KIND_DOUBLE:
		wide = strtod(text, NULL);
		memcpy(&bits64, &wide, sizeof(bits64));
		return bits64;
	case ORMA_PROTO_KIND_ENUM:
		for (size_t i = 0; i < field->enumeration->value_count; i++) {
			if (strcmp(field->enumeration->values[i].name, text) == 0)
				return (uint32_t)field->enumeration->values[i].number;
		}
		return 0;
	default:
		return text[0] == '-' ? (uint64_t)strtoll(text, NULL, 10)
				      : strtoull(text, NULL, 10);
	}
}

static int emit_defaults(const struct pg_message *message, struct orma_buf *out)
{
	int count = 0, err = 0;

	for (size_t i = 0; i < message->field_count; i++) {
		const struct pg_field *field = &message->fields[i];

		if (field->default_idx == 0)
			continue;
		if (count++ == 0)
			OUT("static const uint64_t %s_defaults[] = {\n", message->symbol);
		OUT("\tUINT64_C(0x%llx), /* %s = %s */\n", (unsigned long long)default_bits(field),
		    field->name, field->default_value);
	}
	if (count > 0)
		OUT("};\n");
	return err ? err : count;
}

static int emit_fields(const struct pg_message *message, struct orma_buf *out)
{
	size_t name_offset = strlen(message->display) + 1;
	int err = 0;

	if (message->field_count == 0)
		return 0;
	OUT("static const struct orma_proto_field_desc %s_fields[] = {\n", message->symbol);
	for (size_t i = 0; i < message->field_count; i++) {
		const struct pg_field *field = &message->fields[i];
		int flags = (field->is_repeated ? ORMA_PROTO_REPEATED_FLAG : 0) |
			    (field->is_packed ? ORMA_PROTO_PACKED_FLAG : 0) |
			    (field->is_required ? ORMA_PROTO_REQUIRED_FLAG : 0);

		OUT("\t{%u, %zu, offsetof(struct orma_pb_%s, %s), %u, %u, ORMA_PROTO_KIND_%s, %d, "
		    "%u, "
		    "%u},\n",
		    field->id, name_offset, message->symbol, field->member, field->has_bit,
		    field->type_idx, kind_names[field->kind], flags, field->oneof,
		    field->default_idx);
		name_offset += strlen(field->name) + 1;
		if (name_offset > UINT16_MAX || field->oneof > UINT8_MAX ||
		    field->default_idx > UINT8_MAX) {
			fprintf(stderr, "protogen: %s is too large for its tables\n",
				message->display);
			return -EMSGSIZE;
		}
	}
	OUT("};\n");
	return err;
}

static int emit_message(const struct pg_message *message, struct orma_buf *out)
{
	int types, defaults, err = 0;

	OUT("\n");
	types = emit_types(message, out);
	defaults = emit_defaults(message, out);
	err |= emit_fields(message, out);
	if (types < 0 || defaults < 0)
		return -ENOMEM;
	OUT("static const char %s_names[] = {\n\t\"%s\"", message->symbol, message->display);
	for (size_t i = 0; i < message->field_count; i++)
		OUT("\n\t\"\\0%s\"", message->fields[i].name);
	OUT("};\nconst struct orma_proto_desc orma_pb_%s_desc = {\n\t%s_names,\n", message->symbol,
	    message->symbol);
	OUT("\t%s%s, %s%s, %s%s,\n", message->field_count ? message->symbol : "NULL",
	    message->field_count ? "_fields" : "", types ? message->symbol : "NULL",
	    types ? "_types" : "", defaults ? message->symbol : "NULL",
	    defaults ? "_defaults" : "");
	OUT("\tsizeof(struct orma_pb_%s), %zu, %u,\n};\n", message->symbol, message->field_count,
	    (message->has_count + 31) / 32);
	OUT("_Static_assert(sizeof(struct orma_pb_%s) <= UINT16_MAX, \"fits struct_size\");\n",
	    message->symbol);
	return err;
}

int pg_emit_source(struct pg_model *model, const struct pg_file *file, struct orma_buf *out)
{
	int err = 0;

	OUT("/* SPDX-License-Identifier: Apache-2.0\n * Generated by tools/protogen from "
	    "src/schema/protos/%s.proto; see src/proto/codec.h.\n */\n#include "
	    "\"schema/gen/%s.pb.h\"\n",
	    file->name, file->name);
	for (size_t i = 0; i < model->enum_count; i++) {
		if (model->enums[i]->file == file)
			err |= emit_enum(model->enums[i], out);
	}
	for (size_t i = 0; i < model->message_count; i++) {
		if (model->messages[i]->file == file)
			err |= emit_message(model->messages[i], out);
	}
	return err ? -ENOMEM : 0;
}
