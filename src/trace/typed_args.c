/* SPDX-License-Identifier: Apache-2.0
 * typed_args.c - numbers, texts and bytes of fields as arguments.
 */
#include "trace/typed_args.h"

#include <stdio.h>

#include "trace/base64.h"

int orma_typed_append_name(struct orma_arg_walk *walk, const struct orma_typed_field *field,
			   uint32_t id)
{
	struct orma_buf *bufs[] = {&walk->path->flat_key, &walk->path->key};
	int r = 0;
	for (int i = 0; i < 2 && r == 0; i++) {
		r = bufs[i]->size > 0 ? orma_base_buf_append(bufs[i], ".", 1) : 0;
		if (r == 0)
			r = orma_base_buf_append(bufs[i], field->name.data, field->name.size);
	}
	if (r < 0 || !field->is_repeated)
		return r;
	uint64_t place = (uint64_t)walk->levels[walk->depth - 1].idx << 32 | id;
	uint32_t idx = (uint32_t)(uintptr_t)orma_base_map_get(&walk->repeated, place);
	r = orma_base_map_put(&walk->repeated, place, (void *)((uintptr_t)idx + 1));
	return r < 0 ? r : orma_arg_walk_append_index(walk, idx);
}

static void add_enum(struct orma_arg_walk *walk, const struct orma_typed_field *field,
		     int32_t number)
{
	char text[16];
	const struct orma_str *name = orma_type_pool_value(walk->types, field->type, number);
	int size = snprintf(text, sizeof(text), "%d", number);
	orma_arg_walk_add(walk, ORMA_ARG_STRING, 0,
			  name ? *name : (struct orma_str){text, (size_t)size});
}

static uint64_t bits_of_float(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof(value));
	double wide = value;
	uint64_t ret;
	memcpy(&ret, &wide, sizeof(ret));
	return ret;
}

/* Adds a number of a field, whose name is in the path. */
static void add_number(struct orma_arg_walk *walk, const struct orma_typed_field *field,
		       uint64_t value)
{
	struct orma_str none = {NULL, 0};
	enum orma_arg_type type = ORMA_ARG_INT;
	switch (field->kind) {
	case ORMA_PROTO_KIND_ENUM:
		add_enum(walk, field, (int32_t)value);
		return;
	case ORMA_PROTO_KIND_BOOL:
		type = ORMA_ARG_BOOL;
		value = value != 0;
		break;
	case ORMA_PROTO_KIND_INT32:
	case ORMA_PROTO_KIND_SFIXED32:
		value = (uint64_t)(int32_t)value;
		break;
	case ORMA_PROTO_KIND_SINT32:
		value = (uint64_t)(int32_t)orma_proto_unzigzag((uint32_t)value);
		break;
	case ORMA_PROTO_KIND_SINT64:
		value = (uint64_t)orma_proto_unzigzag(value);
		break;
	case ORMA_PROTO_KIND_UINT32:
	case ORMA_PROTO_KIND_FIXED32:
		type = ORMA_ARG_UINT;
		value = (uint32_t)value;
		break;
	case ORMA_PROTO_KIND_UINT64:
	case ORMA_PROTO_KIND_FIXED64:
		type = ORMA_ARG_UINT;
		break;
	case ORMA_PROTO_KIND_FLOAT:
		type = ORMA_ARG_REAL;
		value = bits_of_float((uint32_t)value);
		break;
	case ORMA_PROTO_KIND_DOUBLE:
		type = ORMA_ARG_REAL;
		break;
	default:
		break;
	}
	orma_arg_walk_add(walk, type, value, none);
}

/* Bytes are shown in base64. */
static int add_bytes(struct orma_arg_walk *walk, struct orma_str bytes)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	int r = orma_base64_append(&text, bytes);
	if (r == 0)
		orma_arg_walk_add(walk, ORMA_ARG_STRING, 0,
				  (struct orma_str){(char *)text.data, text.size});
	return r;
}

static bool is_number(enum orma_proto_kind kind)
{
	return kind != ORMA_PROTO_KIND_MESSAGE && kind != ORMA_PROTO_KIND_STRING &&
	       kind != ORMA_PROTO_KIND_BYTES;
}

/* Reads the next number of a packed field. False at its end. */
static bool next_packed(const struct orma_typed_field *field, struct orma_str *bytes, uint64_t *ret)
{
	const uint8_t *at = (const uint8_t *)bytes->data;
	size_t width = orma_proto_kind_size(field->kind), used = width;
	bool is_fixed =
		field->kind == ORMA_PROTO_KIND_FIXED32 || field->kind == ORMA_PROTO_KIND_FIXED64 ||
		field->kind == ORMA_PROTO_KIND_SFIXED32 ||
		field->kind == ORMA_PROTO_KIND_SFIXED64 || field->kind == ORMA_PROTO_KIND_FLOAT ||
		field->kind == ORMA_PROTO_KIND_DOUBLE;
	*ret = 0;
	if (bytes->size == 0 || (is_fixed && bytes->size < width))
		return false;
	if (is_fixed) {
		for (size_t i = 0; i < width; i++)
			*ret |= (uint64_t)at[i] << 8 * i;
	} else {
		const uint8_t *end = orma_proto_get_varint(at, at + bytes->size, ret);
		if (!end)
			return false;
		used = (size_t)(end - at);
	}
	*bytes = (struct orma_str){bytes->data + used, bytes->size - used};
	return true;
}

static int add_packed(struct orma_arg_walk *walk, const struct orma_typed_field *field, uint32_t id,
		      struct orma_str bytes)
{
	size_t flat_size = walk->path->flat_key.size, key_size = walk->path->key.size;
	uint64_t value;
	int r = 0;
	while (r == 0 && next_packed(field, &bytes, &value)) {
		r = orma_typed_append_name(walk, field, id);
		if (r == 0)
			add_number(walk, field, value);
		walk->path->flat_key.size = flat_size;
		walk->path->key.size = key_size;
	}
	return r;
}

int orma_typed_add(struct orma_arg_walk *walk, const struct orma_typed_field *field,
		   const struct orma_proto_field *part)
{
	size_t flat_size = walk->path->flat_key.size, key_size = walk->path->key.size;
	bool is_bytes = part->type == ORMA_PROTO_BYTES;
	if (is_bytes && is_number(field->kind))
		return field->is_repeated ? add_packed(walk, field, part->id, part->bytes) : 0;
	if (is_bytes == is_number(field->kind))
		return 0;
	int r = orma_typed_append_name(walk, field, part->id);
	if (r < 0)
		return r;
	if (field->kind == ORMA_PROTO_KIND_STRING)
		orma_arg_walk_add(walk, ORMA_ARG_STRING, 0, part->bytes);
	else if (field->kind == ORMA_PROTO_KIND_BYTES)
		r = add_bytes(walk, part->bytes);
	else
		add_number(walk, field, part->value);
	walk->path->flat_key.size = flat_size;
	walk->path->key.size = key_size;
	return r;
}
