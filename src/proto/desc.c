/* SPDX-License-Identifier: Apache-2.0
 * desc.c - finds entries of the generated tables, and makes messages from them.
 *
 * Owns nothing: tables are constant, messages are in the caller's arena. Invariant of a table: its
 * fields are in ascending order of their ids, so a lookup is a direct hit where ids are dense, and
 * a binary search elsewhere. Invariant of a list that orma_proto_repeated_add() makes: its capacity
 * is the smallest power of two that is at least four and not less than `count`.
 *
 * Rejected: a perfect hash per message, because it makes the library larger and saves little time;
 * storing a list's capacity, because every generated struct would have to hold it, and messages
 * that are built by hand would have to set it.
 */
#include <errno.h>

#include "base/macros.h"
#include "proto/kind.h"

const struct orma_proto_field_desc *orma_proto_desc_find(const struct orma_proto_desc *desc,
							 uint32_t field_id)
{
	const struct orma_proto_field_desc *fields = desc->fields;
	size_t low = 0, high = desc->field_count;

	if (field_id - 1 < high && fields[field_id - 1].id == field_id)
		return &fields[field_id - 1];
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (fields[middle].id == field_id)
			return &fields[middle];
		if (fields[middle].id < field_id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const struct orma_proto_field_desc *orma_proto_desc_find_name(const struct orma_proto_desc *desc,
							      struct orma_str name)
{
	for (size_t i = 0; i < desc->field_count; i++) {
		if (orma_base_str_is(name, orma_proto_field_name(desc, &desc->fields[i])))
			return &desc->fields[i];
	}
	return NULL;
}

/* Copies a packed name with its NUL; returns the end of the packed one. */
static const char *unpack(const char *pairs, const char *packed, char *buffer)
{
	uint8_t open[ORMA_PROTO_ENUM_NAME_BYTES]; /* the next byte is the last one */
	size_t size = 0, count = 0;

	do {
		open[count++] = (uint8_t)*packed++;
		while (count > 0) {
			uint8_t byte = open[--count];

			if (byte < 128) {
				buffer[size++] = (char)byte;
				continue;
			}
			ORMA_ASSERT(count + 2 <= sizeof(open));
			const char *pair = pairs + 2 * ((size_t)byte - 128);
			open[count++] = (uint8_t)pair[1];
			open[count++] = (uint8_t)pair[0];
		}
	} while (buffer[size - 1] != '\0');
	return packed;
}

/* A walk through the names of an enum. */
struct names {
	const char *pairs, *at;
};

static struct names names_of(const struct orma_proto_enum_desc *desc)
{
	const char *at = desc->name + strlen(desc->name) + 1;

	return desc->is_packed ? (struct names){at, at + (size_t)2 * ORMA_PROTO_PAIRS}
			       : (struct names){NULL, at};
}

static const char *next_name(struct names *names, char *buffer)
{
	const char *name = names->at;

	if (names->pairs) {
		names->at = unpack(names->pairs, name, buffer);
		return buffer;
	}
	names->at = name + strlen(name) + 1;
	return name;
}

const char *orma_proto_enum_name(const struct orma_proto_enum_desc *desc, int32_t number,
				 char buffer[ORMA_PROTO_ENUM_NAME_BYTES])
{
	struct names names = names_of(desc);

	for (size_t i = 0; i < desc->value_count; i++) {
		const char *name = next_name(&names, buffer);

		if (desc->numbers[i] == number)
			return name;
	}
	return NULL;
}

bool orma_proto_enum_find(const struct orma_proto_enum_desc *desc, struct orma_str name,
			  int32_t *ret_number)
{
	char buffer[ORMA_PROTO_ENUM_NAME_BYTES];
	struct names names = names_of(desc);

	for (size_t i = 0; i < desc->value_count; i++) {
		if (orma_base_str_is(name, next_name(&names, buffer))) {
			*ret_number = desc->numbers[i];
			return true;
		}
	}
	return false;
}

bool orma_proto_has(const struct orma_proto_message *message,
		    const struct orma_proto_field_desc *field)
{
	const void *member = orma_proto_const_member(message, field);

	if (field->flags & ORMA_PROTO_REPEATED_FLAG)
		return ((const struct orma_proto_repeated *)member)->count > 0;
	if (field->kind == ORMA_PROTO_KIND_MESSAGE)
		return *(const void *const *)member != NULL;
	return orma_proto_has_bit(message, field->has_bit);
}

/* Clears the has bit, or removes the message or the list. */
static void clear(struct orma_proto_message *message, const struct orma_proto_field_desc *field)
{
	void *member = orma_proto_member(message, field);

	if (field->flags & ORMA_PROTO_REPEATED_FLAG)
		*(struct orma_proto_repeated *)member = (struct orma_proto_repeated){0};
	else if (field->kind == ORMA_PROTO_KIND_MESSAGE)
		*(void **)member = NULL;
	else
		orma_proto_clear_has_bit(message, field->has_bit);
}

void orma_proto_select_oneof(struct orma_proto_message *message,
			     const struct orma_proto_field_desc *field)
{
	if (field->oneof == 0)
		return;
	for (size_t i = 0; i < message->desc->field_count; i++) {
		const struct orma_proto_field_desc *other = &message->desc->fields[i];

		if (other->oneof == field->oneof && other != field)
			clear(message, other);
	}
}

void *orma_proto_new(const struct orma_proto_desc *desc, struct orma_arena *arena)
{
	struct orma_proto_message *message = orma_base_arena_alloc(arena, desc->struct_size);

	if (!message)
		return NULL;
	ORMA_ASSERT(desc->struct_size >= sizeof(*message) + desc->has_words * sizeof(uint32_t));
	message->desc = desc;
	return message;
}

void *orma_proto_repeated_add(struct orma_proto_repeated *repeated, size_t item_size,
			      struct orma_arena *arena)
{
	size_t count = repeated->count;
	uint8_t *item;

	if (count == 0 || (count >= 4 && (count & (count - 1)) == 0)) {
		size_t new_size;
		void *items;

		if (__builtin_mul_overflow(count == 0 ? 4 : 2 * count, item_size, &new_size))
			return NULL;
		items = orma_base_arena_grow(arena, repeated->items, count * item_size, new_size);
		if (!items)
			return NULL;
		repeated->items = items;
	}
	item = (uint8_t *)repeated->items + count * item_size;
	memset(item, 0, item_size);
	repeated->count++;
	return item;
}

void *orma_proto_repeated_add_new(struct orma_proto_repeated *repeated,
				  const struct orma_proto_desc *desc, struct orma_arena *arena)
{
	void *message = orma_proto_new(desc, arena);
	void **item = message ? orma_proto_repeated_add(repeated, sizeof(void *), arena) : NULL;

	if (!item)
		return NULL;
	*item = message;
	return message;
}

int orma_proto_unknown_add(struct orma_proto_message *message, struct orma_str bytes,
			   struct orma_arena *arena)
{
	struct orma_proto_unknown *last = message->unknown_last, *unknown;

	ORMA_ASSERT(!last == !message->unknown && (!last || !last->next));
	if (last && last->bytes.data + last->bytes.size == bytes.data) {
		last->bytes.size += bytes.size;
		return 0;
	}
	unknown = orma_base_arena_alloc(arena, sizeof(*unknown));
	if (!unknown)
		return -ENOMEM;
	unknown->bytes = bytes;
	if (last)
		last->next = unknown;
	else
		message->unknown = unknown;
	message->unknown_last = unknown;
	return 0;
}

size_t orma_proto_kind_size(enum orma_proto_kind kind)
{
	switch (kind) {
	case ORMA_PROTO_KIND_BOOL:
		return sizeof(bool);
	case ORMA_PROTO_KIND_INT32:
	case ORMA_PROTO_KIND_UINT32:
	case ORMA_PROTO_KIND_SINT32:
	case ORMA_PROTO_KIND_FIXED32:
	case ORMA_PROTO_KIND_SFIXED32:
	case ORMA_PROTO_KIND_FLOAT:
	case ORMA_PROTO_KIND_ENUM:
		return sizeof(uint32_t);
	case ORMA_PROTO_KIND_INT64:
	case ORMA_PROTO_KIND_UINT64:
	case ORMA_PROTO_KIND_SINT64:
	case ORMA_PROTO_KIND_FIXED64:
	case ORMA_PROTO_KIND_SFIXED64:
	case ORMA_PROTO_KIND_DOUBLE:
		return sizeof(uint64_t);
	case ORMA_PROTO_KIND_STRING:
	case ORMA_PROTO_KIND_BYTES:
		return sizeof(struct orma_str);
	case ORMA_PROTO_KIND_MESSAGE:
		return sizeof(void *);
	}
	return 0;
}

enum orma_proto_wire_type orma_proto_kind_wire_type(enum orma_proto_kind kind)
{
	switch (kind) {
	case ORMA_PROTO_KIND_FIXED32:
	case ORMA_PROTO_KIND_SFIXED32:
	case ORMA_PROTO_KIND_FLOAT:
		return ORMA_PROTO_FIXED32;
	case ORMA_PROTO_KIND_FIXED64:
	case ORMA_PROTO_KIND_SFIXED64:
	case ORMA_PROTO_KIND_DOUBLE:
		return ORMA_PROTO_FIXED64;
	case ORMA_PROTO_KIND_STRING:
	case ORMA_PROTO_KIND_BYTES:
	case ORMA_PROTO_KIND_MESSAGE:
		return ORMA_PROTO_BYTES;
	default:
		return ORMA_PROTO_VARINT;
	}
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are copied byte by byte");

void orma_proto_kind_store(enum orma_proto_kind kind, void *at, uint64_t wire_value)
{
	if (kind == ORMA_PROTO_KIND_BOOL)
		wire_value = wire_value != 0;
	else if (kind == ORMA_PROTO_KIND_SINT32)
		wire_value = (uint64_t)orma_proto_unzigzag((uint32_t)wire_value);
	else if (kind == ORMA_PROTO_KIND_SINT64)
		wire_value = (uint64_t)orma_proto_unzigzag(wire_value);
	memcpy(at, &wire_value, orma_proto_kind_size(kind));
}

uint64_t orma_proto_kind_load(enum orma_proto_kind kind, const void *at)
{
	uint64_t value = 0;

	memcpy(&value, at, orma_proto_kind_size(kind));
	switch (kind) {
	case ORMA_PROTO_KIND_INT32:
	case ORMA_PROTO_KIND_ENUM:
		return (uint64_t)(int64_t)(int32_t)value;
	case ORMA_PROTO_KIND_SINT32:
		return orma_proto_zigzag((int32_t)value);
	case ORMA_PROTO_KIND_SINT64:
		return orma_proto_zigzag((int64_t)value);
	default:
		return value;
	}
}
