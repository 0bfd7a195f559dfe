/* SPDX-License-Identifier: Apache-2.0
 * proto_emit.c - a C header with a setter for each field of the messages of a .proto file.
 *
 * For `message Frame { optional string name = 1; }` of package my.app:
 *
 *	enum { MY_APP_FRAME_FIELD_NAME = 1 };
 *	static inline void my_app_frame_set_name(struct orma_packet *packet, const char *value);
 *
 * Everything is inline over include/orma/packet.h: there is nothing to link. Invariant: no
 * identifier is emitted twice (the set `names`), and each belongs to the file's package. Rejected:
 * structs with members, to be serialized (a copy of what could be written at once); one struct type
 * per message around the packet (types that differ in nothing, to be cast in C and C++).
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "tool/proto_file.h"

#define OUT(...) (e->err |= orma_base_buf_printf(e->out, __VA_ARGS__))

struct emitter {
	struct orma_tool_proto_set *set;
	struct orma_tool_proto_file *file;
	const char *prefix; /* instead of the package; NULL = the package */
	struct orma_buf *out;
	struct orma_map names;
	int err;
};

/* "MyApp.FrameInfo" -> "my_app_frame_info" */
static int put_snake(struct orma_buf *out, const char *name, size_t size)
{
	int err = 0;

	for (size_t i = 0; i < size; i++) {
		unsigned char at = (unsigned char)name[i];
		bool is_inside = i > 0 && name[i - 1] != '_' && name[i - 1] != '.';
		bool ends_capitals = i + 1 < size && islower((unsigned char)name[i + 1]);
		bool begins_word = isupper(at) && is_inside &&
				   (ends_capitals || !isupper((unsigned char)name[i - 1]));
		char c = (char)(at == '.' ? '_' : tolower(at));

		if (begins_word)
			err |= orma_base_buf_append(out, "_", 1);
		err |= orma_base_buf_append(out, &c, 1);
	}
	return err;
}

/* What the functions of a type begin with; in the arena. NULL without memory. */
static const char *prefix_of(struct emitter *e, const char *full_name)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) buf = {0};
	size_t package = strlen(e->file->package);
	int err = 0;

	if (e->prefix && strncmp(full_name, e->file->package, package) == 0) {
		err |= orma_base_buf_append_str(&buf, e->prefix);
		full_name += package;
		if (*full_name == '.')
			full_name++;
		if (buf.size > 0 && *full_name)
			err |= orma_base_buf_append_str(&buf, "_");
	}
	err |= put_snake(&buf, full_name, strlen(full_name));
	if (err != 0)
		return NULL;
	return orma_base_arena_strdup(&e->set->arena,
				      (struct orma_str){(const char *)buf.data, buf.size});
}

static const char *to_upper(struct emitter *e, const char *text)
{
	char *upper = orma_base_arena_strdup(&e->set->arena, orma_base_str(text));

	for (char *at = upper; at && *at; at++)
		*at = (char)toupper((unsigned char)*at);
	return upper;
}

/* Two names of a .proto may become one in C; that would not compile and is said here. */
static void claim(struct emitter *e, struct orma_str at, const char *prefix, const char *verb,
		  struct orma_str name)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) buf = {0};
	uint64_t hash;
	int err = orma_base_buf_printf(&buf, "%s%s%.*s", prefix, verb, (int)name.size, name.data);

	if (err == 0) {
		hash = orma_base_fnv1a(ORMA_FNV1A_INIT, buf.data, buf.size);
		if (e->err == 0 && orma_base_map_get(&e->names, hash))
			e->err = orma_proto_lexer_fail_at(&e->file->lexer, at,
							  "%.*s would be in C the name of two "
							  "things",
							  (int)buf.size, (const char *)buf.data);
		else
			err = orma_base_map_put(&e->names, hash, e);
	}
	if (err < 0)
		e->err |= err;
}

static void emit_enum(struct emitter *e, const struct orma_tool_proto_type *type)
{
	const char *prefix = prefix_of(e, type->name), *upper = prefix ? to_upper(e, prefix) : NULL;

	if (!upper) {
		e->err |= -ENOMEM;
		return;
	}
	claim(e, type->at, prefix, "", (struct orma_str){"", 0});
	OUT("\n/* %s */\nenum %s {\n", type->name, prefix);
	for (const struct orma_tool_proto_value *value = type->values; value; value = value->next) {
		claim(e, value->name, upper, "_", value->name);
		/* -2147483648 is no int literal: the minus sign is none of it. */
		if (value->number == INT32_MIN)
			OUT("\t%s_%.*s = -2147483647 - 1,\n", upper, (int)value->name.size,
			    value->name.data);
		else
			OUT("\t%s_%.*s = %d,\n", upper, (int)value->name.size, value->name.data,
			    value->number);
	}
	OUT("};\n");
}

/* By enum orma_proto_kind: the type of a value in C, the function that writes it,
 * and how that gets it: headers of C++ programs have no casts of C. */
static const struct {
	const char *type, *writer, *value;
} kinds[] = {
	[ORMA_PROTO_KIND_BOOL] = {"bool ", "bool", "value"},
	[ORMA_PROTO_KIND_INT32] = {"int32_t ", "int", "value"},
	[ORMA_PROTO_KIND_INT64] = {"int64_t ", "int", "value"},
	[ORMA_PROTO_KIND_UINT32] = {"uint32_t ", "varint", "value"},
	[ORMA_PROTO_KIND_UINT64] = {"uint64_t ", "varint", "value"},
	[ORMA_PROTO_KIND_SINT32] = {"int32_t ", "sint", "value"},
	[ORMA_PROTO_KIND_SINT64] = {"int64_t ", "sint", "value"},
	[ORMA_PROTO_KIND_FIXED32] = {"uint32_t ", "fixed32", "value"},
	[ORMA_PROTO_KIND_FIXED64] = {"uint64_t ", "fixed64", "value"},
	[ORMA_PROTO_KIND_SFIXED32] = {"int32_t ", "fixed32", "ORMA_CAST_(uint32_t, value)"},
	[ORMA_PROTO_KIND_SFIXED64] = {"int64_t ", "fixed64", "ORMA_CAST_(uint64_t, value)"},
	[ORMA_PROTO_KIND_FLOAT] = {"float ", "float", "value"},
	[ORMA_PROTO_KIND_DOUBLE] = {"double ", "double", "value"},
	[ORMA_PROTO_KIND_ENUM] = {"int32_t ", "int", "value"},
	[ORMA_PROTO_KIND_STRING] = {"const char *", "string", "value"},
};

/* Enums of this file have a type here; of others the number is taken. */
static const char *value_type(struct emitter *e, const struct orma_tool_proto_field *field)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) buf = {0};
	const char *prefix;

	if (field->kind != ORMA_PROTO_KIND_ENUM || field->type->file != e->file)
		return kinds[field->kind].type;
	prefix = prefix_of(e, field->type->name);
	if (!prefix || orma_base_buf_printf(&buf, "enum %s ", prefix) < 0) {
		e->err |= -ENOMEM;
		return "";
	}
	prefix = orma_base_arena_strdup(&e->set->arena,
					(struct orma_str){(const char *)buf.data, buf.size});
	return prefix ? prefix : "";
}

/* PREFIX_FIELD_NAME, in the arena. */
static const char *constant_of(struct emitter *e, const char *prefix,
			       const struct orma_tool_proto_field *field)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) buf = {0};
	const char *constant;

	if (orma_base_buf_printf(&buf, "%s_field_%.*s", prefix, (int)field->name.size,
				 field->name.data) < 0 ||
	    !orma_base_buf_cstr(&buf))
		constant = NULL;
	else
		constant = to_upper(e, (const char *)buf.data);
	if (!constant)
		e->err |= -ENOMEM;
	return constant ? constant : "";
}

static void emit_packed(struct emitter *e, const struct orma_tool_proto_field *field,
			const char *prefix)
{
	int size = (int)field->name.size;
	const char *name = field->name.data, *type = value_type(e, field);
	bool is_sint =
		field->kind == ORMA_PROTO_KIND_SINT32 || field->kind == ORMA_PROTO_KIND_SINT64;
	bool is_varint =
		field->kind <= ORMA_PROTO_KIND_SINT64 || field->kind == ORMA_PROTO_KIND_ENUM;

	claim(e, field->name, prefix, "_set_", field->name);
	OUT("static inline void %s_set_%.*s(struct orma_packet *packet, const %s*values, size_t "
	    "count)\n{\n",
	    prefix, size, name, type);
	if (is_varint && field->kind != ORMA_PROTO_KIND_BOOL)
		OUT("\tstruct orma_nested nested;\n"
		    "\tuint8_t bytes[10];\n\n"
		    "\torma_packet_nested_begin(packet, &nested, %s);\n"
		    "\tfor (size_t i = 0; i < count; i++)\n"
		    "\t\torma_packet_raw(packet, bytes, orma_pz_varint_(bytes, "
		    "%sORMA_CAST_(%s, values[i])%s));\n"
		    "\torma_packet_nested_end(packet, &nested);\n}\n",
		    constant_of(e, prefix, field), is_sint ? "orma_pz_zigzag_(" : "",
		    is_sint ? "int64_t" : "uint64_t", is_sint ? ")" : "");
	else
		OUT("\torma_packet_bytes(packet, %s, values, count * sizeof(*values));\n"
		    "}\n",
		    constant_of(e, prefix, field));
}

static void emit_message_field(struct emitter *e, const struct orma_tool_proto_field *field,
			       const char *prefix)
{
	int size = (int)field->name.size;
	const char *name = field->name.data;

	claim(e, field->name, prefix, "_begin_", field->name);
	claim(e, field->name, prefix, "_end_", field->name);
	OUT("static inline void %s_begin_%.*s(struct orma_packet *packet, struct orma_nested "
	    "*nested)\n{\n\torma_packet_nested_begin(packet, nested, %s);\n}\n"
	    "static inline void %s_end_%.*s(struct orma_packet *packet, struct orma_nested "
	    "*nested)\n{\n\torma_packet_nested_end(packet, nested);\n}\n",
	    prefix, size, name, constant_of(e, prefix, field), prefix, size, name);
}

static void emit_setter(struct emitter *e, const struct orma_tool_proto_field *field,
			const char *prefix)
{
	int size = (int)field->name.size;
	const char *name = field->name.data, *verb = field->is_repeated ? "_add_" : "_set_";

	if (field->kind == ORMA_PROTO_KIND_MESSAGE) {
		emit_message_field(e, field, prefix);
		return;
	}
	if (field->is_packed) {
		emit_packed(e, field, prefix);
		return;
	}
	claim(e, field->name, prefix, verb, field->name);
	if (field->kind == ORMA_PROTO_KIND_BYTES) {
		OUT("static inline void %s%s%.*s(struct orma_packet *packet, const void *data, "
		    "size_t size)\n{\n\torma_packet_bytes(packet, %s, data, size);\n}\n",
		    prefix, verb, size, name, constant_of(e, prefix, field));
		return;
	}
	OUT("static inline void %s%s%.*s(struct orma_packet *packet, %svalue)\n{\n"
	    "\torma_packet_%s(packet, %s, %s);\n}\n",
	    prefix, verb, size, name, value_type(e, field), kinds[field->kind].writer,
	    constant_of(e, prefix, field), kinds[field->kind].value);
}

static void emit_fields(struct emitter *e, const struct orma_tool_proto_field *fields,
			const char *prefix)
{
	if (!prefix) {
		e->err |= -ENOMEM;
		return;
	}
	OUT("enum {\n");
	for (const struct orma_tool_proto_field *field = fields; field; field = field->next) {
		const char *constant = constant_of(e, prefix, field);

		claim(e, field->name, constant, "", (struct orma_str){"", 0});
		OUT("\t%s = %u,\n", constant, field->number);
	}
	OUT("};\n");
	for (const struct orma_tool_proto_field *field = fields; field; field = field->next)
		emit_setter(e, field, prefix);
}

static void emit_extension(struct emitter *e, const struct orma_tool_proto_extension *extension)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) buf = {0};
	const char *extendee = orma_base_arena_strdup(&e->set->arena, extension->extendee);
	const char *scope = prefix_of(e, extension->scope), *prefix;

	if (!extendee || !scope) {
		e->err |= -ENOMEM;
		return;
	}
	extendee = orma_tool_proto_last(extendee);
	e->err |= orma_base_buf_printf(&buf, "%s%s", scope, *scope ? "_" : "");
	e->err |= put_snake(&buf, extendee, strlen(extendee));
	prefix = orma_base_arena_strdup(&e->set->arena,
					(struct orma_str){(const char *)buf.data, buf.size});
	OUT("\n/* extensions of %s */\n", extendee);
	emit_fields(e, extension->fields, prefix);
}

static bool needs_varints(const struct orma_tool_proto_field *field)
{
	for (; field; field = field->next) {
		if (field->is_packed && (field->kind == ORMA_PROTO_KIND_ENUM ||
					 (field->kind <= ORMA_PROTO_KIND_SINT64 &&
					  field->kind != ORMA_PROTO_KIND_BOOL)))
			return true;
	}
	return false;
}

static void emit_varints(struct emitter *e)
{
	bool is_needed = false;

	for (const struct orma_tool_proto_type *type = e->file->types; type; type = type->next)
		is_needed |= needs_varints(type->fields);
	for (const struct orma_tool_proto_extension *extension = e->file->extensions; extension;
	     extension = extension->next)
		is_needed |= needs_varints(extension->fields);
	if (is_needed)
		OUT("\n#ifndef ORMA_PZ_PACKED_\n#define ORMA_PZ_PACKED_\n"
		    "static inline size_t orma_pz_varint_(uint8_t *out, uint64_t value)\n{\n"
		    "\tsize_t size = 0;\n\n"
		    "\tfor (; value >= 0x80; value >>= 7)\n"
		    "\t\tout[size++] = ORMA_CAST_(uint8_t, value | 0x80);\n"
		    "\tout[size++] = ORMA_CAST_(uint8_t, value);\n\treturn size;\n}\n"
		    "static inline uint64_t orma_pz_zigzag_(int64_t value)\n{\n"
		    "\treturn (ORMA_CAST_(uint64_t, value) << 1) ^ (value < 0 ? UINT64_MAX : "
		    "0);\n}\n#endif\n");
}

int orma_tool_proto_emit(struct orma_tool_proto_set *set, struct orma_tool_proto_file *file,
			 const char *guard, const char *prefix, struct orma_buf *out)
{
	struct emitter emitter = {.set = set, .file = file, .prefix = prefix, .out = out};
	struct emitter *e = &emitter;

	OUT("/* Generated by orma protogen from %s. */\n#ifndef %s\n#define %s\n\n"
	    "#include <orma/packet.h>\n#include <stdbool.h>\n#include <stddef.h>\n"
	    "#include <stdint.h>\n",
	    strrchr(file->path, '/') ? strrchr(file->path, '/') + 1 : file->path, guard, guard);
	emit_varints(e);
	for (const struct orma_tool_proto_type *type = file->types; type; type = type->next) {
		if (type->is_enum)
			emit_enum(e, type);
	}
	for (const struct orma_tool_proto_type *type = file->types; type; type = type->next) {
		if (type->is_enum || !type->fields)
			continue;
		OUT("\n/* %s */\n", type->name);
		emit_fields(e, type->fields, prefix_of(e, type->name));
	}
	for (const struct orma_tool_proto_extension *extension = file->extensions; extension;
	     extension = extension->next) {
		if (extension->fields && !orma_tool_proto_is_option(extension->extendee))
			emit_extension(e, extension);
	}
	OUT("\n#endif\n");
	orma_base_map_done(&e->names);
	if (e->err != 0 && set->error.code == 0)
		return -ENOMEM;
	return e->err == 0 ? 0 : set->error.code;
}
