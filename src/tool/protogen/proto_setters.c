/* SPDX-License-Identifier: Apache-2.0
 * proto_setters.c - a C header with a setter for each field of the messages of a .proto file.
 *
 * `message Frame { optional string name = 1; }` in package my.app becomes
 *
 *	enum { MY_APP_FRAME_FIELD_NAME = 1 };
 *	static inline void my_app_frame_set_name(struct orma_packet *packet, const char *value);
 *
 * All functions are inline and call include/orma/packet.h, so that there is nothing to link.
 * Invariant: no identifier is emitted twice (the set `names`), and each begins with the name of the
 * package or with the prefix that replaces it.
 *
 * Rejected: structs that are filled in and then serialized, as tools/protogen makes them (a copy of
 * what a program can write at once); one struct type per message around the packet (the types would
 * be alike, and programs would have to cast between them in C and in C++).
 */
#include "tool/protogen/proto_setters.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "tool/protogen/proto_output.h"

#define PUT(...) orma_tool_proto_put(&e->output, __VA_ARGS__)

struct emitter {
	struct orma_tool_proto_file *file;
	const char *prefix; /* instead of the package; NULL = the package */
	struct orma_tool_proto_output output;
	struct orma_map names; /* hashes of the identifiers so far; values are not used */
};

/* Returns the beginning of a type's identifiers: its name, in which the prefix replaces the
 * package. */
static const char *prefix_of(struct emitter *e, const char *full_name)
{
	size_t package_size = strlen(e->file->package);
	const char *rest = full_name + package_size;

	if (!e->prefix || strncmp(full_name, e->file->package, package_size) != 0)
		return orma_tool_proto_snake_case(&e->output, full_name);
	if (*rest == '.')
		rest++;
	return orma_tool_proto_format(&e->output, "%s%s%s", e->prefix,
				      *e->prefix && *rest ? "_" : "",
				      orma_tool_proto_snake_case(&e->output, rest));
}

/* PREFIX_FIELD_NAME */
static const char *constant_of(struct emitter *e, const char *prefix,
			       const struct orma_tool_proto_field *field)
{
	return orma_tool_proto_upper_case(
		&e->output, orma_tool_proto_format(&e->output, "%s_field_%.*s", prefix,
						   (int)field->name.size, field->name.data));
}

/*
 * Records an identifier. Different names of a .proto file may give the same one in C; the header
 * would not compile, so this is an error at the place `at`.
 */
static void claim(struct emitter *e, struct orma_str at, const char *prefix, const char *verb,
		  struct orma_str name)
{
	const char *identifier = orma_tool_proto_format(&e->output, "%s%s%.*s", prefix, verb,
							(int)name.size, name.data);
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, identifier, strlen(identifier));
	int r;

	if (e->output.failure < 0)
		return;
	if (orma_base_map_get(&e->names, hash))
		r = orma_proto_lexer_fail_at(&e->file->lexer, at,
					     "two things would be called %s in C", identifier);
	else
		r = orma_base_map_put(&e->names, hash, e);
	orma_tool_proto_note_failure(&e->output, r);
}

/* --- enums ------------------------------------------------------------------------------------ */

static void emit_enum(struct emitter *e, const struct orma_tool_proto_type *type)
{
	const char *prefix = prefix_of(e, type->name);
	const char *upper = orma_tool_proto_upper_case(&e->output, prefix);

	claim(e, type->name_at, prefix, "", (struct orma_str){"", 0});
	PUT("\n/* %s */\nenum %s {\n", type->name, prefix);
	for (const struct orma_tool_proto_value *value = type->values; value; value = value->next) {
		claim(e, value->name, upper, "_", value->name);
		/* C has no literal of this value: the minus sign is an operator. */
		if (value->number == INT32_MIN)
			PUT("\t%s_%.*s = -2147483647 - 1,\n", upper, (int)value->name.size,
			    value->name.data);
		else
			PUT("\t%s_%.*s = %d,\n", upper, (int)value->name.size, value->name.data,
			    value->number);
	}
	PUT("};\n");
}

/* --- fields ----------------------------------------------------------------------------------- */

/*
 * Each kind has the C type of its value, the function of orma/packet.h that writes it, and the
 * argument for that function. Casts are macros, because C++ warns of casts in the style of C.
 */
static const struct {
	const char *type, *writer, *argument;
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

/* An enum of this file is a type of the header; for one of another file the number is taken. */
static const char *value_type(struct emitter *e, const struct orma_tool_proto_field *field)
{
	ORMA_ASSERT(field->kind < ORMA_ARRAY_SIZE(kinds) && kinds[field->kind].type);
	if (field->kind != ORMA_PROTO_KIND_ENUM || field->type->file != e->file)
		return kinds[field->kind].type;
	return orma_tool_proto_format(&e->output, "enum %s ", prefix_of(e, field->type->name));
}

/* Returns true for packed varints, whose sizes differ, so that packing them needs a loop. */
static bool is_packed_varints(const struct orma_tool_proto_field *field)
{
	return field->is_packed &&
	       (field->kind == ORMA_PROTO_KIND_ENUM ||
		(field->kind <= ORMA_PROTO_KIND_SINT64 && field->kind != ORMA_PROTO_KIND_BOOL));
}

static void emit_packed(struct emitter *e, const struct orma_tool_proto_field *field,
			const char *prefix)
{
	const char *constant = constant_of(e, prefix, field);
	bool is_sint =
		field->kind == ORMA_PROTO_KIND_SINT32 || field->kind == ORMA_PROTO_KIND_SINT64;

	claim(e, field->name, prefix, "_set_", field->name);
	PUT("static inline void %s_set_%.*s(struct orma_packet *packet, const %s*values, size_t "
	    "count)\n{\n",
	    prefix, (int)field->name.size, field->name.data, value_type(e, field));
	if (!is_packed_varints(field)) {
		PUT("\torma_packet_bytes(packet, %s, values, count * sizeof(*values));\n}\n",
		    constant);
		return;
	}
	PUT("\tstruct orma_nested nested;\n"
	    "\tuint8_t bytes[10];\n\n"
	    "\torma_packet_nested_begin(packet, &nested, %s);\n"
	    "\tfor (size_t i = 0; i < count; i++)\n"
	    "\t\torma_packet_raw(packet, bytes, orma_pz_varint_(bytes, "
	    "%sORMA_CAST_(%s, values[i])%s));\n"
	    "\torma_packet_nested_end(packet, &nested);\n}\n",
	    constant, is_sint ? "orma_pz_zigzag_(" : "", is_sint ? "int64_t" : "uint64_t",
	    is_sint ? ")" : "");
}

static void emit_message_field(struct emitter *e, const struct orma_tool_proto_field *field,
			       const char *prefix)
{
	int size = (int)field->name.size;
	const char *name = field->name.data;

	claim(e, field->name, prefix, "_begin_", field->name);
	claim(e, field->name, prefix, "_end_", field->name);
	PUT("static inline void %s_begin_%.*s(struct orma_packet *packet, struct orma_nested "
	    "*nested)\n{\n\torma_packet_nested_begin(packet, nested, %s);\n}\n"
	    "static inline void %s_end_%.*s(struct orma_packet *packet, struct orma_nested "
	    "*nested)\n{\n\torma_packet_nested_end(packet, nested);\n}\n",
	    prefix, size, name, constant_of(e, prefix, field), prefix, size, name);
}

static void emit_setter(struct emitter *e, const struct orma_tool_proto_field *field,
			const char *prefix)
{
	const char *verb = field->is_repeated ? "_add_" : "_set_", *name = field->name.data;
	int size = (int)field->name.size;

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
		PUT("static inline void %s%s%.*s(struct orma_packet *packet, const void *data, "
		    "size_t size)\n{\n\torma_packet_bytes(packet, %s, data, size);\n}\n",
		    prefix, verb, size, name, constant_of(e, prefix, field));
		return;
	}
	PUT("static inline void %s%s%.*s(struct orma_packet *packet, %svalue)\n{\n"
	    "\torma_packet_%s(packet, %s, %s);\n}\n",
	    prefix, verb, size, name, value_type(e, field), kinds[field->kind].writer,
	    constant_of(e, prefix, field), kinds[field->kind].argument);
}

static void emit_fields(struct emitter *e, const struct orma_tool_proto_field *fields,
			const char *prefix)
{
	PUT("enum {\n");
	for (const struct orma_tool_proto_field *field = fields; field; field = field->next) {
		const char *constant = constant_of(e, prefix, field);

		claim(e, field->name, constant, "", (struct orma_str){"", 0});
		PUT("\t%s = %u,\n", constant, field->number);
	}
	PUT("};\n");
	for (const struct orma_tool_proto_field *field = fields; field; field = field->next)
		emit_setter(e, field, prefix);
}

/* --- messages, extensions, the file ----------------------------------------------------------- */

static void emit_message(struct emitter *e, const struct orma_tool_proto_type *type)
{
	if (!type->fields)
		return;
	PUT("\n/* %s */\n", type->name);
	emit_fields(e, type->fields, prefix_of(e, type->name));
}

static const char *last_part(const char *dotted_name)
{
	const char *dot = strrchr(dotted_name, '.');

	return dot ? dot + 1 : dotted_name;
}

static void emit_extension(struct emitter *e, const struct orma_tool_proto_extension *extension)
{
	const char *scope = prefix_of(e, extension->scope), *extendee, *prefix;

	if (!extension->fields || orma_tool_proto_is_option(extension->extendee))
		return;
	extendee = last_part(orma_tool_proto_format(
		&e->output, "%.*s", (int)extension->extendee.size, extension->extendee.data));
	prefix = orma_tool_proto_format(&e->output, "%s%s%s", scope, *scope ? "_" : "",
					orma_tool_proto_snake_case(&e->output, extendee));
	PUT("\n/* extensions of %s */\n", extendee);
	emit_fields(e, extension->fields, prefix);
}

static bool have_packed_varints(const struct orma_tool_proto_field *fields)
{
	for (const struct orma_tool_proto_field *field = fields; field; field = field->next) {
		if (is_packed_varints(field))
			return true;
	}
	return false;
}

/* Emits the functions that setters of packed varints call, if there is such a setter. */
static void emit_varint_functions(struct emitter *e)
{
	bool is_needed = false;

	for (const struct orma_tool_proto_type *type = e->file->types; type; type = type->next)
		is_needed |= have_packed_varints(type->fields);
	for (const struct orma_tool_proto_extension *extension = e->file->extensions; extension;
	     extension = extension->next)
		is_needed |= have_packed_varints(extension->fields);
	if (!is_needed)
		return;
	PUT("\n#ifndef ORMA_PZ_PACKED_\n#define ORMA_PZ_PACKED_\n"
	    "static inline size_t orma_pz_varint_(uint8_t *out, uint64_t value)\n{\n"
	    "\tsize_t size = 0;\n\n"
	    "\tfor (; value >= 0x80; value >>= 7)\n"
	    "\t\tout[size++] = ORMA_CAST_(uint8_t, value | 0x80);\n"
	    "\tout[size++] = ORMA_CAST_(uint8_t, value);\n\treturn size;\n}\n"
	    "static inline uint64_t orma_pz_zigzag_(int64_t value)\n{\n"
	    "\treturn (ORMA_CAST_(uint64_t, value) << 1) ^ (value < 0 ? UINT64_MAX : "
	    "0);\n}\n#endif\n");
}

int orma_tool_proto_emit_setters(struct orma_tool_proto_set *set, struct orma_tool_proto_file *file,
				 const char *guard, const char *prefix, struct orma_buf *out)
{
	struct emitter emitter = {
		.file = file,
		.prefix = prefix,
		.output = {.arena = &set->arena, .text = out},
	};
	struct emitter *e = &emitter;
	const char *file_name =
		strrchr(file->path, '/') ? strrchr(file->path, '/') + 1 : file->path;

	PUT("/* Generated by orma protogen from %s. */\n#ifndef %s\n#define %s\n\n"
	    "#include <orma/packet.h>\n#include <stdbool.h>\n#include <stddef.h>\n"
	    "#include <stdint.h>\n",
	    file_name, guard, guard);
	emit_varint_functions(e);
	/* Enums first: setters take them as arguments. */
	for (const struct orma_tool_proto_type *type = file->types; type; type = type->next) {
		if (type->is_enum)
			emit_enum(e, type);
	}
	for (const struct orma_tool_proto_type *type = file->types; type; type = type->next) {
		if (!type->is_enum)
			emit_message(e, type);
	}
	for (const struct orma_tool_proto_extension *extension = file->extensions; extension;
	     extension = extension->next)
		emit_extension(e, extension);
	PUT("\n#endif\n");
	orma_base_map_done(&e->names);
	return e->output.failure;
}
