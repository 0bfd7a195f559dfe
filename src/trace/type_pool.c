/* SPDX-License-Identifier: Apache-2.0
 * type_pool.c - fields and values are found by 64 bits of hash over the type's name and their number.
 *
 * Descriptors of messages nest, and the trace chooses how deep, so they are walked with a stack of their own. Invariant: the
 * name buffer holds the full name of the message on top of the stack, and each level knows how long that was above it.
 */
#include "trace/type_pool.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "proto/reader.h"
#include "schema/gen/screenshot.pb.h"
#include "schema/gen/source_location.pb.h"
#include "schema/gen/track_event.pb.h"

enum { DEPTH_MAX = 32 };

/* Numbers of fields in protobuf's descriptor.proto. */
enum {
	SET_FILE = 1,
	FILE_PACKAGE = 2,
	FILE_MESSAGES = 4,
	FILE_ENUMS = 5,
	FILE_EXTENSIONS = 7,
	MESSAGE_NAME = 1,
	MESSAGE_FIELDS = 2,
	MESSAGE_MESSAGES = 3,
	MESSAGE_ENUMS = 4,
	MESSAGE_EXTENSIONS = 6,
	FIELD_NAME = 1,
	FIELD_EXTENDEE = 2,
	FIELD_NUMBER = 3,
	FIELD_LABEL = 4,
	FIELD_TYPE = 5,
	FIELD_TYPE_NAME = 6,
	LABEL_REPEATED = 3,
	ENUM_NAME = 1,
	ENUM_VALUES = 2,
	VALUE_NAME = 1,
	VALUE_NUMBER = 2,
};

struct level {
	struct orma_proto_reader reader;
	size_t name_size; /* the level above has a name as long as this */
	bool is_file;
};

struct walk {
	struct orma_type_pool *pool;
	struct orma_buf name;
	struct level levels[DEPTH_MAX];
	unsigned depth;
};

uint64_t orma_type_of_name(struct orma_str name)
{
	return orma_base_fnv1a(ORMA_FNV1A_INIT, name.data, name.size);
}

static uint64_t member_key(uint64_t type, uint32_t number)
{
	uint64_t parts[] = {type, number};
	return orma_base_fnv1a(ORMA_FNV1A_INIT, parts, sizeof(parts));
}

void orma_type_pool_done(struct orma_type_pool *pool)
{
	orma_base_map_done(&pool->types);
	orma_base_map_done(&pool->fields);
	orma_base_map_done(&pool->values);
	orma_base_arena_done(&pool->arena);
	*pool = (struct orma_type_pool){0};
}

bool orma_type_pool_has(const struct orma_type_pool *pool, uint64_t type)
{
	return orma_base_map_get(&pool->types, type) != NULL;
}

const struct orma_typed_field *orma_type_pool_field(const struct orma_type_pool *pool,
						    uint64_t type, uint32_t id)
{
	return orma_base_map_get(&pool->fields, member_key(type, id));
}

const struct orma_str *orma_type_pool_value(const struct orma_type_pool *pool, uint64_t type,
					    int32_t number)
{
	return orma_base_map_get(&pool->values, member_key(type, (uint32_t)number));
}

static int add_field(struct orma_type_pool *pool, uint64_t type, uint32_t id,
		     const struct orma_typed_field *field)
{
	if (orma_type_pool_field(pool, type, id))
		return 0;
	if (pool->fields.count >= ORMA_TYPE_FIELDS_MAX) {
		pool->problems++;
		return 0;
	}
	struct orma_typed_field *copy = orma_base_arena_memdup(&pool->arena, field, sizeof(*field));
	return copy ? orma_base_map_put(&pool->fields, member_key(type, id), copy) : -ENOMEM;
}

bool orma_type_kind(uint64_t type, enum orma_proto_kind *ret)
{
	static const uint8_t kinds[] = {
		[1] = ORMA_PROTO_KIND_DOUBLE,    [2] = ORMA_PROTO_KIND_FLOAT,
		[3] = ORMA_PROTO_KIND_INT64,     [4] = ORMA_PROTO_KIND_UINT64,
		[5] = ORMA_PROTO_KIND_INT32,     [6] = ORMA_PROTO_KIND_FIXED64,
		[7] = ORMA_PROTO_KIND_FIXED32,   [8] = ORMA_PROTO_KIND_BOOL,
		[9] = ORMA_PROTO_KIND_STRING,    [11] = ORMA_PROTO_KIND_MESSAGE,
		[12] = ORMA_PROTO_KIND_BYTES,    [13] = ORMA_PROTO_KIND_UINT32,
		[14] = ORMA_PROTO_KIND_ENUM,     [15] = ORMA_PROTO_KIND_SFIXED32,
		[16] = ORMA_PROTO_KIND_SFIXED64, [17] = ORMA_PROTO_KIND_SINT32,
		[18] = ORMA_PROTO_KIND_SINT64};
	enum { GROUP = 10 };
	if (type == 0 || type >= sizeof(kinds) || type == GROUP)
		return false;
	*ret = (enum orma_proto_kind)kinds[type];
	return true;
}

/* `owner` is the message that has the field; an extension names another one. */
static int take_field(struct orma_type_pool *pool, uint64_t owner, struct orma_str bytes)
{
	struct orma_typed_field field = {.name = {NULL, 0}};
	struct orma_proto_reader reader;
	struct orma_proto_field part;
	uint64_t number = 0, type = 0;
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &part) > 0) {
		if (part.id == FIELD_NAME)
			field.name = part.bytes;
		else if (part.id == FIELD_NUMBER)
			number = part.value;
		else if (part.id == FIELD_LABEL)
			field.is_repeated = part.value == LABEL_REPEATED;
		else if (part.id == FIELD_TYPE)
			type = part.value;
		else if (part.id == FIELD_TYPE_NAME)
			field.type = orma_type_of_name(part.bytes);
		else if (part.id == FIELD_EXTENDEE && part.bytes.size > 0) {
			owner = orma_type_of_name(part.bytes);
			field.is_extension = true;
		}
	}
	if (!orma_type_kind(type, &field.kind) || field.name.size == 0 || number == 0 ||
	    number > ORMA_PROTO_FIELD_ID_MAX) {
		pool->problems++;
		return 0;
	}
	return add_field(pool, owner, (uint32_t)number, &field);
}

static int take_value(struct orma_type_pool *pool, uint64_t type, struct orma_str bytes)
{
	struct orma_proto_reader reader;
	struct orma_proto_field part;
	struct orma_str name = {NULL, 0};
	int32_t number = 0;
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &part) > 0) {
		if (part.id == VALUE_NAME)
			name = part.bytes;
		else if (part.id == VALUE_NUMBER)
			number = (int32_t)part.value;
	}
	if (name.size == 0 || orma_type_pool_value(pool, type, number))
		return 0;
	if (pool->values.count >= ORMA_TYPE_FIELDS_MAX) {
		pool->problems++;
		return 0;
	}
	struct orma_str *copy = orma_base_arena_memdup(&pool->arena, &name, sizeof(name));
	return copy ? orma_base_map_put(&pool->values, member_key(type, (uint32_t)number), copy)
		    : -ENOMEM;
}

/* Appends "." and the name in a descriptor to the name of what it is in. */
static int append_name(struct walk *walk, struct orma_str descriptor)
{
	struct orma_proto_field name;
	if (orma_proto_reader_find(descriptor.data, descriptor.size, MESSAGE_NAME, &name) <= 0)
		return 0;
	int r = orma_base_buf_append(&walk->name, ".", 1);
	return r < 0 ? r : orma_base_buf_append(&walk->name, name.bytes.data, name.bytes.size);
}

static uint64_t type_of(const struct walk *walk)
{
	return orma_type_of_name((struct orma_str){(char *)walk->name.data, walk->name.size});
}

static int take_enum(struct walk *walk, struct orma_str descriptor)
{
	size_t size = walk->name.size;
	struct orma_proto_reader reader;
	struct orma_proto_field part;
	int r = append_name(walk, descriptor);
	uint64_t type = type_of(walk);
	orma_proto_reader_init(&reader, descriptor.data, descriptor.size);
	while (r == 0 && orma_proto_reader_next(&reader, &part) > 0)
		if (part.id == ENUM_VALUES)
			r = take_value(walk->pool, type, part.bytes);
	walk->name.size = size;
	return r;
}

static int push(struct walk *walk, struct orma_str descriptor, bool is_file)
{
	if (walk->depth == DEPTH_MAX) {
		walk->pool->problems++;
		return 0;
	}
	struct level *level = &walk->levels[walk->depth++];
	*level = (struct level){.name_size = walk->name.size, .is_file = is_file};
	orma_proto_reader_init(&level->reader, descriptor.data, descriptor.size);
	int r = 0;
	if (!is_file) {
		r = append_name(walk, descriptor);
		return r < 0 ? r : orma_base_map_put(&walk->pool->types, type_of(walk), walk->pool);
	}
	struct orma_proto_field package;
	if (orma_proto_reader_find(descriptor.data, descriptor.size, FILE_PACKAGE, &package) > 0 &&
	    package.bytes.size > 0) {
		r = orma_base_buf_append(&walk->name, ".", 1);
		if (r == 0)
			r = orma_base_buf_append(&walk->name, package.bytes.data,
						 package.bytes.size);
	}
	return r;
}

/* Reads the next part of the message or file on top, or leaves it. */
static int step(struct walk *walk)
{
	struct level *level = &walk->levels[walk->depth - 1];
	struct orma_proto_field part;
	if (orma_proto_reader_next(&level->reader, &part) <= 0) {
		walk->name.size = level->name_size;
		walk->depth--;
		return 0;
	}
	if (part.type != ORMA_PROTO_BYTES)
		return 0;
	if (part.id == (level->is_file ? FILE_MESSAGES : MESSAGE_MESSAGES))
		return push(walk, part.bytes, false);
	if (part.id == (level->is_file ? FILE_ENUMS : MESSAGE_ENUMS))
		return take_enum(walk, part.bytes);
	if (part.id == (level->is_file ? FILE_EXTENSIONS : MESSAGE_EXTENSIONS) ||
	    (!level->is_file && part.id == MESSAGE_FIELDS))
		return take_field(walk->pool, type_of(walk), part.bytes);
	return 0;
}

int orma_type_pool_add(struct orma_type_pool *pool, struct orma_str descriptor_set)
{
	struct walk walk = {.pool = pool};
	struct orma_proto_reader reader;
	struct orma_proto_field file;
	if (descriptor_set.size == 0)
		return 0;
	/* Names of fields and values stay in this copy. */
	const void *copy =
		orma_base_arena_memdup(&pool->arena, descriptor_set.data, descriptor_set.size);
	if (!copy)
		return -ENOMEM;
	int r = 0;
	orma_proto_reader_init(&reader, copy, descriptor_set.size);
	while (r == 0 && orma_proto_reader_next(&reader, &file) > 0) {
		if (file.id != SET_FILE || file.type != ORMA_PROTO_BYTES)
			continue;
		walk.name.size = 0;
		r = push(&walk, file.bytes, true);
		while (r == 0 && walk.depth > 0)
			r = step(&walk);
		walk.depth = 0;
	}
	orma_base_buf_done(&walk.name);
	return r;
}

/* Adds one of the messages that this program is compiled with. Messages in it have to be added too. */
static int add_compiled(struct orma_type_pool *pool, const struct orma_proto_desc *desc,
			uint32_t first_id, uint32_t last_id)
{
	char text[160];
	int size = snprintf(text, sizeof(text), ".perfetto.protos.%s", desc->name);
	uint64_t type = orma_type_of_name((struct orma_str){text, (size_t)size});
	int r = orma_base_map_put(&pool->types, type, pool);
	for (size_t i = 0; i < desc->field_count && r == 0; i++) {
		const struct orma_proto_field_desc *known = &desc->fields[i];
		struct orma_typed_field field = {
			.name = orma_base_str(orma_proto_field_name(desc, known)),
			.kind = (enum orma_proto_kind)known->kind,
			.is_repeated = (known->flags & ORMA_PROTO_REPEATED_FLAG) != 0};
		if (known->id < first_id || known->id > last_id)
			continue;
		if (field.kind == ORMA_PROTO_KIND_MESSAGE) {
			size = snprintf(text, sizeof(text), ".perfetto.protos.%s",
					desc->types[known->type_idx].message->name);
			field.type = orma_type_of_name((struct orma_str){text, (size_t)size});
		}
		r = add_field(pool, type, known->id, &field);
	}
	return r;
}

int orma_type_pool_add_built_in(struct orma_type_pool *pool)
{
	/* Only these fields of TrackEvent are shown as they are; others have a meaning of their own. */
	int r = add_compiled(pool, &orma_pb_track_event_desc, ORMA_PB_TRACK_EVENT_SOURCE_LOCATION,
			     ORMA_PB_TRACK_EVENT_SOURCE_LOCATION_IID);
	if (r == 0)
		r = add_compiled(pool, &orma_pb_track_event_desc, ORMA_PB_TRACK_EVENT_SCREENSHOT,
				 ORMA_PB_TRACK_EVENT_SCREENSHOT);
	if (r == 0)
		r = add_compiled(pool, &orma_pb_source_location_desc, 1, UINT32_MAX);
	return r < 0 ? r : add_compiled(pool, &orma_pb_screenshot_desc, 1, UINT32_MAX);
}
