/* SPDX-License-Identifier: Apache-2.0
 * tables_header.c - <file>.pb.h: structs, field numbers, enums and accessors.
 *
 * The preface of src/proto/codec.h shows what they look like. Accessors are static inline functions
 * of one line. They are quick to compile, and those that nobody calls add no code to a library. When a
 * field's type is a message of another file, the header declares that message and does not include the
 * other header. The headers that trace_packet.proto needs would bring in hundreds of messages, of which
 * most sources read a few. Rejected: macros, because errors would not show types; out-of-line accessors,
 * because they are code for thousands of fields that nobody calls.
 */
#include "tables.h"

/* The order of members is that of 64-bit machines everywhere. */
#define POINTER_ALIGNMENT 8

static const char *c_type(struct pg_generator *generator, const struct orma_tool_proto_field *field)
{
	switch (field->kind) {
	case ORMA_PROTO_KIND_BOOL:
		return "bool ";
	case ORMA_PROTO_KIND_INT32:
	case ORMA_PROTO_KIND_SINT32:
	case ORMA_PROTO_KIND_SFIXED32:
	case ORMA_PROTO_KIND_ENUM:
		return "int32_t ";
	case ORMA_PROTO_KIND_UINT32:
	case ORMA_PROTO_KIND_FIXED32:
		return "uint32_t ";
	case ORMA_PROTO_KIND_INT64:
	case ORMA_PROTO_KIND_SINT64:
	case ORMA_PROTO_KIND_SFIXED64:
		return "int64_t ";
	case ORMA_PROTO_KIND_UINT64:
	case ORMA_PROTO_KIND_FIXED64:
		return "uint64_t ";
	case ORMA_PROTO_KIND_FLOAT:
		return "float ";
	case ORMA_PROTO_KIND_DOUBLE:
		return "double ";
	case ORMA_PROTO_KIND_STRING:
	case ORMA_PROTO_KIND_BYTES:
		return "struct orma_str ";
	case ORMA_PROTO_KIND_MESSAGE:
		break;
	}
	return orma_tool_proto_format(&generator->output, "struct orma_pb_%s *",
				      pg_symbol(generator, field->type));
}

static void emit_enum(struct pg_generator *generator, const struct orma_tool_proto_type *type)
{
	const char *symbol = pg_symbol(generator, type);

	PG_PUT("\nenum orma_pb_%s {\n", symbol);
	for (const struct orma_tool_proto_value *value = type->values; value; value = value->next)
		PG_PUT("\t%s = %d,\n", pg_constant(generator, value, symbol, value->name),
		       value->number);
	PG_PUT("};\nextern const struct orma_proto_enum_desc orma_pb_%s_enum;\n", symbol);
}

/* --- structs ---------------------------------------------------------------------------------- */

static size_t alignment_of(const struct orma_tool_proto_field *field)
{
	bool has_pointer = field->is_repeated || field->kind >= ORMA_PROTO_KIND_STRING;

	return has_pointer ? POINTER_ALIGNMENT : orma_proto_kind_size(field->kind);
}

/* The members of one alignment. The widest come first, so that there is little padding. */
static void emit_members(struct pg_generator *generator, const struct pg_message *message,
			 size_t alignment)
{
	for (size_t i = 0; i < message->field_count; i++) {
		const struct pg_field *field = &message->fields[i];
		const char *type = c_type(generator, field->proto);

		if (alignment_of(field->proto) != alignment)
			continue;
		if (field->proto->is_repeated)
			PG_PUT("\tORMA_PROTO_REPEATED(%s) %s;\n", type, field->member);
		else
			PG_PUT("\t%s%s;\n", type, field->member);
	}
}

static void emit_struct(struct pg_generator *generator, const struct pg_message *message)
{
	PG_PUT("\n/* %s */\nstruct orma_pb_%s {\n\tstruct orma_proto_message base;\n",
	       pg_local_name(message->type), message->symbol);
	if (message->has_count > 0)
		PG_PUT("\tuint32_t has[%u];\n", (message->has_count + 31) / 32);
	for (size_t alignment = 8; alignment > 0; alignment /= 2)
		emit_members(generator, message, alignment);
	PG_PUT("};\n");
	if (message->field_count == 0)
		return;
	PG_PUT("enum {\n");
	for (size_t i = 0; i < message->field_count; i++) {
		const struct orma_tool_proto_field *field = message->fields[i].proto;

		PG_PUT("\t%s = %u,\n", pg_constant(generator, field, message->symbol, field->name),
		       field->number);
	}
	PG_PUT("};\n");
}

/* --- accessors -------------------------------------------------------------------------------- */

static void emit_list_accessors(struct pg_generator *generator, const char *symbol,
				const struct pg_field *field, const char *type)
{
	if (field->proto->kind == ORMA_PROTO_KIND_MESSAGE)
		PG_PUT("static inline %sorma_pb_%s_add_%s(struct orma_pb_%s *m, "
		       "struct orma_arena *arena) { return orma_proto_repeated_add_new("
		       "(struct orma_proto_repeated *)&m->%s, &orma_pb_%s_desc, arena); }\n",
		       type, symbol, field->name, symbol, field->member,
		       pg_symbol(generator, field->proto->type));
	else
		PG_PUT("static inline int orma_pb_%s_add_%s(struct orma_pb_%s *m, "
		       "struct orma_arena *arena, %sv) { %s*at = orma_proto_repeated_add("
		       "(struct orma_proto_repeated *)&m->%s, sizeof(v), arena); "
		       "if (at) *at = v; return at ? 0 : -ENOMEM; }\n",
		       symbol, field->name, symbol, type, type, field->member);
}

/* `select` clears the other members of a oneof. */
static void emit_message_accessors(struct pg_generator *generator, const char *symbol,
				   const struct pg_field *field, const char *type,
				   const char *select)
{
	PG_PUT("static inline bool orma_pb_%s_has_%s(const struct orma_pb_%s *m) "
	       "{ return m->%s != NULL; }\n",
	       symbol, field->name, symbol, field->member);
	PG_PUT("static inline void orma_pb_%s_set_%s(struct orma_pb_%s *m, %sv) "
	       "{ %sm->%s = v; }\n",
	       symbol, field->name, symbol, type, select, field->member);
	PG_PUT("static inline %sorma_pb_%s_set_new_%s(struct orma_pb_%s *m, "
	       "struct orma_arena *arena) "
	       "{ %sreturn m->%s = orma_proto_new(&orma_pb_%s_desc, arena); }\n",
	       type, symbol, field->name, symbol, select, field->member,
	       pg_symbol(generator, field->proto->type));
}

static void emit_accessors(struct pg_generator *generator, const struct pg_message *message,
			   size_t idx)
{
	const struct pg_field *field = &message->fields[idx];
	const char *symbol = message->symbol, *type = c_type(generator, field->proto);
	const char *select = "";

	if (field->proto->is_repeated) {
		emit_list_accessors(generator, symbol, field, type);
		return;
	}
	if (field->proto->oneof > 0)
		select = orma_tool_proto_format(
			&generator->output,
			"orma_proto_select_oneof(&m->base, &orma_pb_%s_desc.fields[%zu]); ", symbol,
			idx);
	if (field->proto->kind == ORMA_PROTO_KIND_MESSAGE) {
		emit_message_accessors(generator, symbol, field, type, select);
		return;
	}
	PG_PUT("static inline bool orma_pb_%s_has_%s(const struct orma_pb_%s *m) "
	       "{ return m->has[%u] >> %u & 1; }\n",
	       symbol, field->name, symbol, field->has_bit / 32, field->has_bit % 32);
	PG_PUT("static inline void orma_pb_%s_set_%s(struct orma_pb_%s *m, %sv) "
	       "{ %sm->has[%u] |= UINT32_C(1) << %u; m->%s = v; }\n",
	       symbol, field->name, symbol, type, select, field->has_bit / 32, field->has_bit % 32,
	       field->member);
}

/* --- messages --------------------------------------------------------------------------------- */

static void emit_message(struct pg_generator *generator, const struct orma_tool_proto_type *type)
{
	struct pg_message message;
	const char *symbol;

	orma_tool_proto_note_failure(&generator->output, pg_lay_out(generator, type, &message));
	if (generator->output.failure < 0)
		return;
	symbol = message.symbol;
	emit_struct(generator, &message);
	PG_PUT("static inline struct orma_pb_%s *orma_pb_%s_new(struct orma_arena "
	       "*arena) { return "
	       "orma_proto_new(&orma_pb_%s_desc, arena); }\n",
	       symbol, symbol, symbol);
	PG_PUT("static inline int orma_pb_%s_decode(const void *data, size_t size, struct "
	       "orma_arena *arena, struct orma_pb_%s **ret) { return "
	       "orma_proto_decode(&orma_pb_%s_desc, data, size, arena, ret); }\n",
	       symbol, symbol, symbol);
	for (size_t i = 0; i < message.field_count; i++)
		emit_accessors(generator, &message, i);
}

/* --- declarations ----------------------------------------------------------------------------- */

static void emit_declaration(struct pg_generator *generator,
			     const struct orma_tool_proto_type *type)
{
	const char *symbol = pg_symbol(generator, type);

	PG_PUT("struct orma_pb_%s;\nextern const struct orma_proto_desc orma_pb_%s_desc;\n", symbol,
	       symbol);
}

/* Returns whether no field of the file before this one has a type of the same name. */
static bool is_first_of_type(const struct orma_tool_proto_file *file,
			     const struct orma_tool_proto_field *field)
{
	for (const struct orma_tool_proto_type *type = file->types; type; type = type->next) {
		for (const struct orma_tool_proto_field *other = type->fields; other;
		     other = other->next) {
			if (other->type == field->type)
				return other == field;
		}
	}
	return false;
}

/* The messages of other files that fields of this file have, each once, and the file's own. */
static void emit_declarations(struct pg_generator *generator,
			      const struct orma_tool_proto_file *file)
{
	for (const struct orma_tool_proto_type *type = file->types; type; type = type->next) {
		for (const struct orma_tool_proto_field *field = type->fields; field;
		     field = field->next) {
			if (field->type && !field->type->is_enum && field->type->file != file &&
			    is_first_of_type(file, field))
				emit_declaration(generator, field->type);
		}
	}
	for (const struct orma_tool_proto_type *type = file->types; type; type = type->next) {
		if (!type->is_enum)
			emit_declaration(generator, type);
	}
}

/* --- the file --------------------------------------------------------------------------------- */

void pg_emit_header(struct pg_generator *generator, const struct orma_tool_proto_file *file)
{
	const char *stem = pg_stem(generator, file->path);
	const char *guard = orma_tool_proto_upper_case(&generator->output, stem);

	PG_PUT("/* SPDX-License-Identifier: Apache-2.0\n * Generated by tools/protogen from "
	       "src/schema/protos/%s.proto; see src/proto/codec.h.\n */\n",
	       stem);
	PG_PUT("#ifndef ORMA_SCHEMA_GEN_%s_PB_H\n#define ORMA_SCHEMA_GEN_%s_PB_H\n\n#include "
	       "<errno.h>\n\n#include \"proto/codec.h\"\n\n",
	       guard, guard);
	emit_declarations(generator, file);
	for (const struct orma_tool_proto_type *type = file->types; type; type = type->next) {
		if (type->is_enum)
			emit_enum(generator, type);
	}
	for (const struct orma_tool_proto_type *type = file->types; type; type = type->next) {
		if (!type->is_enum)
			emit_message(generator, type);
	}
	PG_PUT("\n#endif\n");
}
