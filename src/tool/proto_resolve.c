/* SPDX-License-Identifier: Apache-2.0
 * proto_resolve.c - which type a field's type name means.
 *
 * Owns the set's map of types. As protobuf has it: a name is looked for in the innermost message
 * around it first, then outwards, last without a package; one with a leading point is whole.
 * Rejected: a tree of scopes (the full names in one map are the tree).
 */
#include <errno.h>
#include <string.h>

#include "tool/proto_file.h"

void orma_tool_proto_set_done(struct orma_tool_proto_set *set)
{
	orma_base_map_done(&set->types);
	orma_base_arena_done(&set->arena);
}

const char *orma_tool_proto_last(const char *name)
{
	const char *point = strrchr(name, '.');

	return point ? point + 1 : name;
}

struct orma_tool_proto_type *orma_tool_proto_find(const struct orma_tool_proto_set *set,
						  const char *name, size_t size)
{
	struct orma_tool_proto_type *type =
		orma_base_map_get(&set->types, orma_base_fnv1a(ORMA_FNV1A_INIT, name, size));

	/* Hashes may meet; then the second type counts as not there, and is reported. */
	return type && strlen(type->name) == size && memcmp(type->name, name, size) == 0 ? type
											 : NULL;
}

static int look_up(struct orma_tool_proto_set *set, const char *scope, struct orma_str name,
		   struct orma_tool_proto_type **ret)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) full = {0};
	size_t scope_size = strlen(scope);

	*ret = NULL;
	if (name.data[0] == '.') {
		*ret = orma_tool_proto_find(set, name.data + 1, name.size - 1);
		return 0;
	}
	for (;;) {
		full.size = 0;
		if (orma_base_buf_append(&full, scope, scope_size) < 0 ||
		    (scope_size > 0 && orma_base_buf_append(&full, ".", 1) < 0) ||
		    orma_base_buf_append(&full, name.data, name.size) < 0)
			return -ENOMEM;
		*ret = orma_tool_proto_find(set, (const char *)full.data, full.size);
		if (*ret || scope_size == 0)
			return 0;
		while (scope_size > 0 && scope[--scope_size] != '.')
			continue;
	}
}

static int resolve_fields(struct orma_tool_proto_set *set, struct orma_tool_proto_file *file,
			  const char *scope, struct orma_tool_proto_field *fields)
{
	for (struct orma_tool_proto_field *field = fields; field; field = field->next) {
		int err;

		if (field->type_name.size > 0) {
			err = look_up(set, scope, field->type_name, &field->type);
			if (err < 0)
				return err;
			if (!field->type)
				return orma_proto_lexer_fail_at(
					&file->lexer, field->type_name,
					"there is no type %s, here or in what is imported",
					orma_proto_quote(field->type_name).text);
			field->kind = field->type->is_enum ? ORMA_PROTO_KIND_ENUM
							   : ORMA_PROTO_KIND_MESSAGE;
		}
		if (field->kind >= ORMA_PROTO_KIND_STRING && field->is_packed_said &&
		    field->is_packed)
			return orma_proto_lexer_fail_at(&file->lexer, field->name,
							"only repeated numbers can be packed");
		field->is_packed &= field->kind < ORMA_PROTO_KIND_STRING;
	}
	return 0;
}

bool orma_tool_proto_is_option(struct orma_str extendee)
{
	static const char google[] = "google.protobuf.";
	size_t skipped = extendee.size > 0 && extendee.data[0] == '.';

	return extendee.size - skipped > strlen(google) &&
	       memcmp(extendee.data + skipped, google, strlen(google)) == 0;
}

/* Upstream's messages that are made to be extended; their files need not be at hand for that. */
static bool is_upstream(const char *package, struct orma_str name)
{
	static const char upstream[] = "perfetto.protos.";
	static const char *const names[] = {
		"TracePacket",     "TrackEvent",          "InternedData",     "TrackDescriptor",
		"DebugAnnotation", "TracePacketDefaults", "DataSourceConfig",
	};
	size_t skipped = name.size > 0 && name.data[0] == '.';

	name = (struct orma_str){name.data + skipped, name.size - skipped};
	if (orma_tool_proto_is_option(name))
		return true;
	if (name.size > strlen(upstream) && memcmp(name.data, upstream, strlen(upstream)) == 0)
		name = (struct orma_str){name.data + strlen(upstream),
					 name.size - strlen(upstream)};
	else if (strcmp(package, "perfetto.protos") != 0)
		return false;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(names); i++) {
		if (orma_base_str_is(name, names[i]))
			return true;
	}
	return false;
}

static int resolve_extension(struct orma_tool_proto_set *set,
			     struct orma_tool_proto_extension *extension)
{
	struct orma_tool_proto_type *extendee;
	int err = look_up(set, extension->scope, extension->extendee, &extendee);

	if (err < 0)
		return err;
	if (extendee ? extendee->is_enum
		     : !is_upstream(extension->file->package, extension->extendee))
		return orma_proto_lexer_fail_at(&extension->file->lexer, extension->at,
						"there is no message %s to extend, here or in what "
						"is imported",
						orma_proto_quote(extension->extendee).text);
	return resolve_fields(set, extension->file, extension->scope, extension->fields);
}

int orma_tool_proto_resolve(struct orma_tool_proto_set *set)
{
	int err = 0;

	for (struct orma_tool_proto_file *file = set->files; file && err == 0; file = file->next) {
		for (struct orma_tool_proto_type *type = file->types; type && err == 0;
		     type = type->next)
			err = resolve_fields(set, file, type->name, type->fields);
		for (struct orma_tool_proto_extension *extension = file->extensions;
		     extension && err == 0; extension = extension->next)
			err = resolve_extension(set, extension);
	}
	return err;
}
