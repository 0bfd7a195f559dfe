/* SPDX-License-Identifier: Apache-2.0
 * codec_decode.c - decodes untrusted bytes into structs in an arena, driven by the generated
 * tables.
 *
 * Data structure: an array of frames on the C stack, one per open nested message (the message and
 * the rest of its bytes), at most ORMA_PROTO_DEPTH_MAX of them. Invariant: the bytes of each frame
 * lie inside those of the frame below. Memory grows by at most a constant factor of the input;
 * callers that need a fixed bound set the arena's limit.
 *
 * Scalars are copied into the struct. Strings and unknown fields are not copied: the struct points
 * to them.
 *
 * Rejected: recursion, because the depth comes from the input; refusing wrong wire types, because a
 * peer of another version may have changed an int32 to a string, and its value is then unknown, not
 * malformed.
 */
#include <errno.h>

#include "base/macros.h"
#include "proto/kind.h"
#include "proto/reader.h"

struct decode_frame {
	struct orma_proto_message *message;
	struct orma_proto_reader reader;
};

struct decoder {
	struct orma_arena *arena;
	size_t depth; /* index of the frame being read */
	struct decode_frame frames[ORMA_PROTO_DEPTH_MAX + 1];
};

static int decode_message(struct decoder *decoder, const struct orma_proto_field_desc *desc,
			  const struct orma_proto_field *field)
{
	struct decode_frame *frame = &decoder->frames[decoder->depth];
	const struct orma_proto_desc *type = frame->message->desc->types[desc->type_idx].message;
	void *member = orma_proto_member(frame->message, desc);
	struct orma_proto_message *child;

	if (decoder->depth == ORMA_PROTO_DEPTH_MAX)
		return -EBADMSG;
	if (desc->flags & ORMA_PROTO_REPEATED_FLAG) {
		child = orma_proto_repeated_add_new(member, type, decoder->arena);
	} else {
		child = *(void **)member;
		if (!child)
			child = orma_proto_new(type, decoder->arena);
		*(void **)member = child;
	}
	if (!child)
		return -ENOMEM;
	frame = &decoder->frames[++decoder->depth];
	frame->message = child;
	orma_proto_reader_init(&frame->reader, field->bytes.data, field->bytes.size);
	return 0;
}

static int decode_packed(struct orma_proto_repeated *repeated, enum orma_proto_kind kind,
			 struct orma_str bytes, struct orma_arena *arena)
{
	enum orma_proto_wire_type type = orma_proto_kind_wire_type(kind);
	const uint8_t *at = (const uint8_t *)bytes.data, *end = at + bytes.size;
	size_t item_size = orma_proto_kind_size(kind);

	if (type != ORMA_PROTO_VARINT && bytes.size % item_size != 0)
		return -EBADMSG;
	while (at < end) {
		uint64_t value = 0;
		void *item;

		if (type == ORMA_PROTO_VARINT) {
			at = orma_proto_get_varint(at, end, &value);
			if (!at)
				return -EBADMSG;
		} else {
			memcpy(&value, at, item_size);
			at += item_size;
		}
		item = orma_proto_repeated_add(repeated, item_size, arena);
		if (!item)
			return -ENOMEM;
		orma_proto_kind_store(kind, item, value);
	}
	return 0;
}

static int decode_value(struct orma_proto_message *message,
			const struct orma_proto_field_desc *desc,
			const struct orma_proto_field *field, struct orma_arena *arena)
{
	void *at = orma_proto_member(message, desc);

	if (desc->flags & ORMA_PROTO_REPEATED_FLAG) {
		at = orma_proto_repeated_add(at, orma_proto_kind_size(desc->kind), arena);
		if (!at)
			return -ENOMEM;
	} else {
		orma_proto_set_has_bit(message, desc->has_bit);
	}
	if (orma_proto_kind_is_scalar(desc->kind))
		orma_proto_kind_store(desc->kind, at, field->value);
	else
		*(struct orma_str *)at = field->bytes;
	return 0;
}

static int decode_field(struct decoder *decoder, const struct orma_proto_field *field)
{
	struct decode_frame *frame = &decoder->frames[decoder->depth];
	const struct orma_proto_field_desc *desc =
		orma_proto_desc_find(frame->message->desc, field->id);

	if (desc && field->type == orma_proto_kind_wire_type(desc->kind)) {
		orma_proto_select_oneof(frame->message, desc);
		if (desc->kind == ORMA_PROTO_KIND_MESSAGE)
			return decode_message(decoder, desc, field);
		return decode_value(frame->message, desc, field, decoder->arena);
	}
	if (desc && field->type == ORMA_PROTO_BYTES && desc->flags & ORMA_PROTO_REPEATED_FLAG)
		return decode_packed(orma_proto_member(frame->message, desc), desc->kind,
				     field->bytes, decoder->arena);
	return orma_proto_unknown_add(frame->message,
				      (struct orma_str){(const char *)field->begin,
							(size_t)(frame->reader.at - field->begin)},
				      decoder->arena);
}

int orma_proto_merge(void *message, const void *data, size_t size, struct orma_arena *arena)
{
	struct decoder decoder; /* frames are filled in as they are pushed */
	struct orma_proto_field field;

	decoder.arena = arena;
	decoder.depth = 0;
	decoder.frames[0].message = message;
	orma_proto_reader_init(&decoder.frames[0].reader, data, size);
	for (;;) {
		int r = orma_proto_reader_next(&decoder.frames[decoder.depth].reader, &field);

		if (r > 0)
			r = decode_field(&decoder, &field);
		else if (r == 0 && decoder.depth-- == 0)
			return 0;
		if (r < 0)
			return r;
	}
}

int orma_proto_decode(const struct orma_proto_desc *desc, const void *data, size_t size,
		      struct orma_arena *arena, void *ret_message)
{
	void *message = orma_proto_new(desc, arena);
	int r;

	if (!message)
		return -ENOMEM;
	r = orma_proto_merge(message, data, size, arena);
	if (r < 0)
		return r;
	*(void **)ret_message = message;
	return 0;
}

int orma_proto_decode_copy(const struct orma_proto_desc *desc, const void *data, size_t size,
			   struct orma_arena *arena, void *ret_message)
{
	const void *copy = size > 0 ? orma_base_arena_memdup(arena, data, size) : NULL;

	if (size > 0 && !copy)
		return -ENOMEM;
	return orma_proto_decode(desc, copy, size, arena, ret_message);
}
