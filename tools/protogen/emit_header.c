/* SPDX-License-Identifier: Apache-2.0
 * emit_header.c - <file>.pb.h: structs, field ids, enums and accessors.
 *
 * The shape is told by the preface of src/proto/codec.h. Accessors are one-line static inline
 * functions, so that a header costs a compiler little and a library nothing. Rejected: macros (no
 * types in errors), out-of-line accessors (code for thousands of fields that nobody calls).
 */
#include <errno.h>

#include "emit.h"

#define OUT(...) (err |= orma_base_buf_printf(out, __VA_ARGS__))

static const char *c_type(struct orma_arena *arena, const struct pg_field *field)
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
	return pg_printf(arena, "struct orma_pb_%s *", field->message->symbol);
}

static int emit_enum(const struct pg_enum *enumeration, struct orma_buf *out)
{
	int err = 0;

	OUT("\nenum orma_pb_%s {\n", enumeration->symbol);
	for (size_t i = 0; i < enumeration->value_count; i++)
		OUT("\t%s = %d,\n", enumeration->values[i].constant, enumeration->values[i].number);
	OUT("};\nextern const struct orma_proto_enum_desc orma_pb_%s_enum;\n", enumeration->symbol);
	return err;
}

static size_t alignment(const struct pg_field *field)
{
	bool is_pointer = field->is_repeated || field->kind >= ORMA_PROTO_KIND_STRING;

	return is_pointer ? sizeof(void *) : orma_proto_kind_size(field->kind);
}

/* Those of one alignment: the widest come first, so that there is little padding. */
static int emit_members(struct pg_model *model, const struct pg_message *message, size_t align,
			struct orma_buf *out)
{
	int err = 0;

	for (size_t i = 0; i < message->field_count; i++) {
		const struct pg_field *field = &message->fields[i];
		const char *type = c_type(&model->arena, field);

		if (alignment(field) != align)
			continue;
		if (field->is_repeated)
			OUT("\tORMA_PROTO_REPEATED(%s) %s;\n", type, field->member);
		else
			OUT("\t%s%s;\n", type, field->member);
	}
	return err;
}

static int emit_struct(struct pg_model *model, const struct pg_message *message,
		       struct orma_buf *out)
{
	int err = 0;

	OUT("\n/* %s */\nstruct orma_pb_%s {\n\tstruct orma_proto_message base;\n",
	    message->display, message->symbol);
	if (message->has_count > 0)
		OUT("\tuint32_t has[%u];\n", (message->has_count + 31) / 32);
	for (size_t align = 8; align > 0; align /= 2)
		err |= emit_members(model, message, align, out);
	OUT("};\n");
	if (message->field_count == 0)
		return err;
	OUT("enum {\n");
	for (size_t i = 0; i < message->field_count; i++)
		OUT("\t%s = %u,\n", message->fields[i].constant, message->fields[i].id);
	OUT("};\n");
	return err;
}

static int emit_list_accessors(const char *symbol, const struct pg_field *field, const char *type,
			       struct orma_buf *out)
{
	int err = 0;

	if (field->kind == ORMA_PROTO_KIND_MESSAGE)
		OUT("static inline %sorma_pb_%s_add_%s(struct orma_pb_%s *m, "
		    "struct orma_arena *arena) { return orma_proto_repeated_add_new("
		    "(struct orma_proto_repeated *)&m->%s, &orma_pb_%s_desc, arena); }\n",
		    type, symbol, field->name, symbol, field->member, field->message->symbol);
	else
		OUT("static inline int orma_pb_%s_add_%s(struct orma_pb_%s *m, "
		    "struct orma_arena *arena, %sv) { %s*at = orma_proto_repeated_add("
		    "(struct orma_proto_repeated *)&m->%s, sizeof(v), arena); "
		    "if (at) *at = v; return at ? 0 : -ENOMEM; }\n",
		    symbol, field->name, symbol, type, type, field->member);
	return err;
}

static int emit_accessors(struct pg_model *model, const struct pg_message *message, size_t idx,
			  struct orma_buf *out)
{
	const struct pg_field *field = &message->fields[idx];
	const char *symbol = message->symbol, *type = c_type(&model->arena, field);
	const char *select = "";
	int err = 0;

	if (field->is_repeated)
		return emit_list_accessors(symbol, field, type, out);
	if (field->oneof > 0)
		select = pg_printf(
			&model->arena,
			"orma_proto_select_oneof(&m->base, &orma_pb_%s_desc.fields[%zu]); ", symbol,
			idx);
	if (field->kind == ORMA_PROTO_KIND_MESSAGE) {
		OUT("static inline bool orma_pb_%s_has_%s(const struct orma_pb_%s *m) "
		    "{ return m->%s != NULL; }\n",
		    symbol, field->name, symbol, field->member);
		OUT("static inline void orma_pb_%s_set_%s(struct orma_pb_%s *m, %sv) "
		    "{ %sm->%s = v; }\n",
		    symbol, field->name, symbol, type, select, field->member);
		OUT("static inline %sorma_pb_%s_set_new_%s(struct orma_pb_%s *m, "
		    "struct orma_arena *arena) "
		    "{ %sreturn m->%s = orma_proto_new(&orma_pb_%s_desc, arena); }\n",
		    type, symbol, field->name, symbol, select, field->member,
		    field->message->symbol);
		return err;
	}
	OUT("static inline bool orma_pb_%s_has_%s(const struct orma_pb_%s *m) "
	    "{ return m->has[%u] >> %u & 1; }\n",
	    symbol, field->name, symbol, field->has_bit / 32, field->has_bit % 32);
	OUT("static inline void orma_pb_%s_set_%s(struct orma_pb_%s *m, %sv) "
	    "{ %sm->has[%u] |= UINT32_C(1) << %u; m->%s = v; }\n",
	    symbol, field->name, symbol, type, select, field->has_bit / 32, field->has_bit % 32,
	    field->member);
	return err;
}

static int emit_message(struct pg_model *model, const struct pg_message *message,
			struct orma_buf *out)
{
	const char *symbol = message->symbol;
	int err = emit_struct(model, message, out);

	OUT("static inline struct orma_pb_%s *orma_pb_%s_new(struct orma_arena "
	    "*arena) { return "
	    "orma_proto_new(&orma_pb_%s_desc, arena); }\n",
	    symbol, symbol, symbol);
	OUT("static inline int orma_pb_%s_decode(const void *data, size_t size, struct orma_arena "
	    "*arena, struct orma_pb_%s **ret) { return orma_proto_decode(&orma_pb_%s_desc, "
	    "data, size, arena, ret); }\n",
	    symbol, symbol, symbol);
	for (size_t i = 0; i < message->field_count; i++)
		err |= emit_accessors(model, message, i, out);
	return err;
}

int pg_emit_header(struct pg_model *model, const struct pg_file *file, struct orma_buf *out)
{
	const char *guard = pg_upper(&model->arena, file->name);
	int err = 0;

	OUT("/* SPDX-License-Identifier: Apache-2.0\n * Generated by tools/protogen from "
	    "src/schema/protos/%s.proto; see src/proto/codec.h.\n */\n",
	    file->name);
	OUT("#ifndef ORMA_SCHEMA_GEN_%s_PB_H\n#define ORMA_SCHEMA_GEN_%s_PB_H\n\n#include "
	    "<errno.h>\n\n#include \"proto/codec.h\"\n",
	    guard, guard);
	for (size_t i = 0; i < file->import_count; i++)
		OUT("#include \"schema/gen/%s.pb.h\"\n", file->imports[i]);
	OUT("\n");
	for (size_t i = 0; i < model->message_count; i++) {
		if (model->messages[i]->file == file)
			OUT("struct orma_pb_%s;\nextern const struct orma_proto_desc "
			    "orma_pb_%s_desc;\n",
			    model->messages[i]->symbol, model->messages[i]->symbol);
	}
	for (size_t i = 0; i < model->enum_count; i++) {
		if (model->enums[i]->file == file)
			err |= emit_enum(model->enums[i], out);
	}
	for (size_t i = 0; i < model->message_count; i++) {
		if (model->messages[i]->file == file)
			err |= emit_message(model, model->messages[i], out);
	}
	OUT("\n#endif\n");
	return err ? -ENOMEM : 0;
}
