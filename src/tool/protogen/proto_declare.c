/* SPDX-License-Identifier: Apache-2.0
 * proto_declare.c - records what a .proto file declares: types, and the names and numbers inside
 * them.
 *
 * Everything is declared once. A file may declare very many things, so lookups are by hash. The
 * reserved ranges are sorted once, at the end of the message: they may stand before the fields or
 * after them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "tool/protogen/proto_parser.h"

struct range {
	uint32_t first, last;
};

/* --- types ------------------------------------------------------------------------------------ */

/* "scope.name", or the name alone when the scope is empty. NULL without memory. */
static char *join_name(struct orma_arena *arena, const char *scope, struct orma_str name)
{
	size_t scope_size = strlen(scope);
	char *joined = orma_base_arena_alloc(arena, scope_size + name.size + 2);

	if (!joined)
		return NULL;
	memcpy(joined, scope, scope_size);
	if (scope_size > 0)
		joined[scope_size++] = '.';
	memcpy(joined + scope_size, name.data, name.size);
	joined[scope_size + name.size] = '\0';
	return joined;
}

int orma_tool_proto_add_type(struct orma_tool_proto_parser *parser, struct orma_str name,
			     bool is_enum, struct orma_tool_proto_type **ret)
{
	struct orma_arena *arena = &parser->set->arena;
	struct orma_tool_proto_type *type = orma_base_arena_alloc(arena, sizeof(*type));
	char *full_name = join_name(arena, orma_tool_proto_innermost(parser)->scope, name);
	int r;

	if (!type || !full_name)
		return -ENOMEM;
	if (orma_tool_proto_find(parser->set, full_name, strlen(full_name)))
		return -EEXIST;
	*type = (struct orma_tool_proto_type){.file = parser->file,
					      .name = full_name,
					      .name_at = name,
					      .level = (unsigned)parser->depth - 1,
					      .is_enum = is_enum};
	r = orma_base_map_put(&parser->set->types,
			      orma_base_fnv1a(ORMA_FNV1A_INIT, full_name, strlen(full_name)), type);
	if (r < 0)
		return r;
	ORMA_ASSERT(!*parser->types_tail);
	*parser->types_tail = type;
	parser->types_tail = &type->next;
	*ret = type;
	return 0;
}

/* --- names and numbers ------------------------------------------------------------------------ */

void orma_tool_proto_members_done(struct orma_tool_proto_members *members)
{
	orma_base_map_done(&members->names);
	orma_base_map_done(&members->numbers);
	orma_base_buf_done(&members->reserved);
}

int orma_tool_proto_members_add_name(struct orma_tool_proto_members *members,
				     const struct orma_str *name)
{
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, name->data, name->size);
	const struct orma_str *other = orma_base_map_get(&members->names, hash);

	if (other && orma_base_str_is_equal(*other, *name))
		return -EEXIST;
	/* When the hashes of two names are equal, only the first name is kept. */
	return other ? 0 : orma_base_map_put(&members->names, hash, (void *)name);
}

int orma_tool_proto_members_reserve(struct orma_tool_proto_members *members, uint32_t first,
				    uint32_t last)
{
	struct range range = {first, last};

	return orma_base_buf_append(&members->reserved, &range, sizeof(range));
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	return left->first < right->first ? -1 : left->first > right->first;
}

/*
 * Returns true when one of the ranges contains the number. They are sorted by their first numbers,
 * and `last` of each is the largest of all ranges up to it.
 */
static bool is_reserved(const struct range *ranges, size_t count, uint32_t number)
{
	size_t begin = 0, end = count;

	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;

		if (ranges[middle].first <= number)
			begin = middle + 1;
		else
			end = middle;
	}
	ORMA_ASSERT(begin == 0 || ranges[begin - 1].first <= number);
	ORMA_ASSERT(begin == count || ranges[begin].first > number);
	return begin > 0 && number <= ranges[begin - 1].last;
}

const struct orma_tool_proto_field *
orma_tool_proto_members_find_reserved(struct orma_tool_proto_members *members,
				      const struct orma_tool_proto_field *fields)
{
	struct range *ranges = (struct range *)(void *)members->reserved.data;
	size_t count = members->reserved.size / sizeof(*ranges);

	if (count == 0)
		return NULL;
	qsort(ranges, count, sizeof(*ranges), compare_ranges);
	for (size_t i = 1; i < count; i++)
		ranges[i].last = ORMA_MAX(ranges[i].last, ranges[i - 1].last);
	for (const struct orma_tool_proto_field *field = fields; field; field = field->next) {
		if (is_reserved(ranges, count, field->number))
			return field;
	}
	return NULL;
}
