/* SPDX-License-Identifier: Apache-2.0
 * proto_resolve.c - finds the types that the fields and extensions name.
 *
 * The rule is protobuf's: a name is looked up in the innermost message around it, then in the next
 * outer one and so on, then in the package and its parents, at last without a package. A name that
 * begins with a dot is a full name. Rejected: a tree of scopes (the map of full names does the
 * same).
 */
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "tool/protogen/proto_file.h"

void orma_tool_proto_set_done(struct orma_tool_proto_set *set)
{
	orma_base_map_done(&set->types);
	orma_base_arena_done(&set->arena);
}

struct orma_tool_proto_type *orma_tool_proto_find(const struct orma_tool_proto_set *set,
						  const char *name, size_t size)
{
	struct orma_tool_proto_type *type =
		orma_base_map_get(&set->types, orma_base_fnv1a(ORMA_FNV1A_INIT, name, size));

	/* When the hashes of two names are equal, the second type is reported as missing. */
	return type && strlen(type->name) == size && memcmp(type->name, name, size) == 0 ? type
											 : NULL;
}

/* *ret is NULL when there is no such type. Returns 0 or -ENOMEM. */
static int look_up(struct orma_tool_proto_set *set, const char *scope, struct orma_str name,
		   struct orma_tool_proto_type **ret)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) full_name = {0};
	size_t scope_size = strlen(scope);

	ORMA_ASSERT(name.size > 0);
	*ret = NULL;
	if (name.data[0] == '.') {
		*ret = orma_tool_proto_find(set, name.data + 1, name.size - 1);
		return 0;
	}
	for (;;) {
		full_name.size = 0;
		if (orma_base_buf_append(&full_name, scope, scope_size) < 0 ||
		    (scope_size > 0 && orma_base_buf_append(&full_name, ".", 1) < 0) ||
		    orma_base_buf_append(&full_name, name.data, name.size) < 0)
			return -ENOMEM;
		*ret = orma_tool_proto_find(set, (const char *)full_name.data, full_name.size);
		if (*ret || scope_size == 0)
			return 0;
		while (scope_size > 0 && scope[--scope_size] != '.')
			continue;
	}
}

static int resolve_field(struct orma_tool_proto_set *set, struct orma_tool_proto_file *file,
			 const char *scope, struct orma_tool_proto_field *field)
{
	if (field->type_name.size > 0) {
		int r = look_up(set, scope, field->type_name, &field->type);

		if (r < 0)
			return r;
		if (!field->type)
			return orma_proto_lexer_fail_at(
				&file->lexer, field->type_name,
				"type %s is neither defined here nor in an imported file",
				orma_proto_quote(field->type_name).text);
		field->kind = field->type->is_enum ? ORMA_PROTO_KIND_ENUM : ORMA_PROTO_KIND_MESSAGE;
	}
	ORMA_ASSERT((field->type != NULL) == (field->kind == ORMA_PROTO_KIND_ENUM ||
					      field->kind == ORMA_PROTO_KIND_MESSAGE));
	if (field->kind < ORMA_PROTO_KIND_STRING)
		return 0;
	if (field->is_packed && field->has_packed_option)
		return orma_proto_lexer_fail_at(&file->lexer, field->name,
						"only repeated numbers can be packed");
	field->is_packed = false;
	return 0;
}

static int resolve_fields(struct orma_tool_proto_set *set, struct orma_tool_proto_file *file,
			  const char *scope, struct orma_tool_proto_field *fields)
{
	int r = 0;

	for (struct orma_tool_proto_field *field = fields; field && r == 0; field = field->next)
		r = resolve_field(set, file, scope, field);
	return r;
}

bool orma_tool_proto_is_option(struct orma_str extendee)
{
	static const char package[] = "google.protobuf.";
	size_t skipped = extendee.size > 0 && extendee.data[0] == '.';

	return extendee.size - skipped > strlen(package) &&
	       memcmp(extendee.data + skipped, package, strlen(package)) == 0;
}

/* Returns true for a message of Perfetto that is made for extensions. Its file may be missing. */
static bool is_upstream(const char *package, struct orma_str name)
{
	static const char upstream[] = "perfetto.protos.";
	static const char *const names[] = {
		"TracePacket",     "TrackEvent",          "InternedData",     "TrackDescriptor",
		"DebugAnnotation", "TracePacketDefaults", "DataSourceConfig",
	};
	size_t skipped = name.size > 0 && name.data[0] == '.';

	name = (struct orma_str){name.data + skipped, name.size - skipped};
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
	int r = look_up(set, extension->scope, extension->extendee, &extendee);
	bool is_message;

	if (r < 0)
		return r;
	is_message = extendee ? !extendee->is_enum
			      : orma_tool_proto_is_option(extension->extendee) ||
					is_upstream(extension->file->package, extension->extendee);
	if (!is_message)
		return orma_proto_lexer_fail_at(&extension->file->lexer, extension->extendee,
						"message %s is neither defined here nor in an "
						"imported file",
						orma_proto_quote(extension->extendee).text);
	return resolve_fields(set, extension->file, extension->scope, extension->fields);
}

int orma_tool_proto_resolve(struct orma_tool_proto_set *set)
{
	int r = 0;

	for (struct orma_tool_proto_file *file = set->files; file && r == 0; file = file->next) {
		for (struct orma_tool_proto_type *type = file->types; type && r == 0;
		     type = type->next)
			r = resolve_fields(set, file, type->name, type->fields);
		for (struct orma_tool_proto_extension *extension = file->extensions;
		     extension && r == 0; extension = extension->next)
			r = resolve_extension(set, extension);
	}
	return r;
}
