/* SPDX-License-Identifier: Apache-2.0
 * tables_source.c - <file>.pb.c: the tables.
 *
 * The names of a message are one array, which begins with the message's own name; fields refer to
 * it by offset. Only the tables of a field's type are pointers, because they cannot be anything
 * else (see src/proto/codec.h). Rejected: one array of names for all messages, and string literals,
 * which compilers pool: a linker that drops unused tables could not drop their names.
 */
#include <errno.h>

#include "base/error_message.h"
#include "tables.h"

static const char *const kind_names[] = {
	"BOOL",   "INT32",   "INT64",   "UINT32",   "UINT64",   "SINT32",
	"SINT64", "FIXED32", "FIXED64", "SFIXED32", "SFIXED64", "FLOAT",
	"DOUBLE", "ENUM",    "STRING",  "BYTES",    "MESSAGE",
};
_Static_assert(ORMA_ARRAY_SIZE(kind_names) == ORMA_PROTO_KIND_MESSAGE + 1, "a name for each kind");

static void emit_enum(struct pg_generator *generator, const struct orma_tool_proto_type *type)
{
	const char *symbol = pg_symbol(generator, type);
	size_t count = 0;
	bool is_packed;

	PG_PUT("\nstatic const int32_t %s_numbers[] = {", symbol);
	for (const struct orma_tool_proto_value *value = type->values; value; value = value->next)
		PG_PUT("%s%d", count++ > 0 ? ", " : "", value->number);
	PG_PUT("};\nstatic const char %s_names[] = {\n\t\"%s\"", symbol, pg_local_name(type));
	is_packed = pg_emit_packed_names(generator, type);
	for (const struct orma_tool_proto_value *value = type->values; value && !is_packed;
	     value = value->next)
		PG_PUT("\n\t\"\\0%.*s\"", (int)value->name.size, value->name.data);
	PG_PUT("};\nconst struct orma_proto_enum_desc orma_pb_%s_enum = {%s_names, %s_numbers, "
	       "%zu, %s};\n",
	       symbol, symbol, symbol, count, is_packed ? "true" : "false");
}

/* The types of the fields, each once. Returns their number. */
static unsigned emit_types(struct pg_generator *generator, const struct pg_message *message)
{
	unsigned count = 0;

	for (size_t i = 0; i < message->field_count; i++) {
		const struct pg_field *field = &message->fields[i];
		const struct orma_tool_proto_type *type = field->proto->type;

		if (!type || field->type_idx < count)
			continue;
		if (count++ == 0)
			PG_PUT("static const union orma_proto_type %s_types[] = {\n",
			       message->symbol);
		if (type->is_enum)
			PG_PUT("\t{.enumeration = &orma_pb_%s_enum},\n",
			       pg_symbol(generator, type));
		else
			PG_PUT("\t{.message = &orma_pb_%s_desc},\n", pg_symbol(generator, type));
	}
	if (count > 0)
		PG_PUT("};\n");
	return count;
}

static void emit_field(struct pg_generator *generator, const struct pg_message *message,
		       const struct pg_field *field, size_t name_offset)
{
	const struct orma_tool_proto_field *proto = field->proto;
	int flags = (proto->is_repeated ? ORMA_PROTO_REPEATED_FLAG : 0) |
		    (proto->is_packed ? ORMA_PROTO_PACKED_FLAG : 0) |
		    (proto->is_required ? ORMA_PROTO_REQUIRED_FLAG : 0);

	PG_PUT("\t{%u, %d, %zu, offsetof(struct orma_pb_%s, %s), %u, %u, ORMA_PROTO_KIND_%s, "
	       "%u},\n",
	       proto->number, flags, name_offset, message->symbol, field->member, field->has_bit,
	       field->type_idx, kind_names[proto->kind], proto->oneof);
}

static void emit_fields(struct pg_generator *generator, const struct pg_message *message)
{
	const char *local_name = pg_local_name(message->type);
	size_t name_offset = strlen(local_name) + 1;

	if (message->field_count == 0)
		return;
	PG_PUT("static const struct orma_proto_field_desc %s_fields[] = {\n", message->symbol);
	for (size_t i = 0; i < message->field_count; i++) {
		const struct pg_field *field = &message->fields[i];

		emit_field(generator, message, field, name_offset);
		name_offset += strlen(field->name) + 1;
		if (name_offset > UINT16_MAX || field->has_bit >= 1u << 9 ||
		    field->type_idx >= 1u << 12 || field->proto->oneof >= 1u << 6)
			orma_tool_proto_note_failure(
				&generator->output,
				orma_base_error_set(&generator->set.error, -EMSGSIZE,
						    "%s is too large for its tables", local_name));
	}
	PG_PUT("};\n");
}

static void emit_message(struct pg_generator *generator, const struct orma_tool_proto_type *type)
{
	struct pg_message message;
	unsigned type_count;
	const char *symbol;

	orma_tool_proto_note_failure(&generator->output, pg_lay_out(generator, type, &message));
	if (generator->output.failure < 0)
		return;
	symbol = message.symbol;
	PG_PUT("\n");
	type_count = emit_types(generator, &message);
	emit_fields(generator, &message);
	PG_PUT("static const char %s_names[] = {\n\t\"%s\"", symbol, pg_local_name(type));
	for (size_t i = 0; i < message.field_count; i++)
		PG_PUT("\n\t\"\\0%s\"", message.fields[i].name);
	PG_PUT("};\nconst struct orma_proto_desc orma_pb_%s_desc = {\n\t%s_names,\n", symbol,
	       symbol);
	PG_PUT("\t%s%s, %s%s,\n", message.field_count > 0 ? symbol : "NULL",
	       message.field_count > 0 ? "_fields" : "", type_count > 0 ? symbol : "NULL",
	       type_count > 0 ? "_types" : "");
	PG_PUT("\tsizeof(struct orma_pb_%s), %zu, %u,\n};\n", symbol, message.field_count,
	       (message.has_count + 31) / 32);
	PG_PUT("_Static_assert(sizeof(struct orma_pb_%s) <= UINT16_MAX, \"fits struct_size\");\n",
	       symbol);
}

void pg_emit_source(struct pg_generator *generator, const struct orma_tool_proto_file *file)
{
	const char *stem = pg_stem(generator, file->path);

	PG_PUT("/* SPDX-License-Identifier: Apache-2.0\n * Generated by tools/protogen from "
	       "src/schema/protos/%s.proto; see src/proto/codec.h.\n */\n#include "
	       "\"schema/gen/%s.pb.h\"\n",
	       stem, stem);
	for (const struct orma_tool_proto_import *import = file->imports; import;
	     import = import->next)
		PG_PUT("#include \"schema/gen/%s.pb.h\"\n", pg_stem(generator, import->path));
	for (const struct orma_tool_proto_type *type = file->types; type; type = type->next) {
		if (type->is_enum)
			emit_enum(generator, type);
	}
	for (const struct orma_tool_proto_type *type = file->types; type; type = type->next) {
		if (!type->is_enum)
			emit_message(generator, type);
	}
}
