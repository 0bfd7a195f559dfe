/* SPDX-License-Identifier: Apache-2.0
 * codec_encode.c - encodes structs, driven by the generated tables.
 *
 * Writes from the end to the beginning: the content of a message is written before its length, so
 * lengths are minimal without a pass that computes sizes. Until the encoding is complete, it lies
 * at the end of the buffer's free space, [capacity - used, capacity), and buf->size does not
 * change; then it moves to its place behind buf->size.
 *
 * Rejected: a first pass for sizes, because sizes would have to be stored per message and
 * everything be walked twice; four-byte lengths like those of the single-pass writer, because these
 * messages go to peers and files that compare bytes.
 */
#include <errno.h>

#include "base/macros.h"
#include "proto/kind.h"

struct encode_frame {
	const struct orma_proto_message *message;
	size_t used_before;   /* encoder.used when the message's content began */
	size_t fields_left;   /* fields [0, fields_left) are still to be written */
	size_t messages_left; /* items of the repeated field fields_left still to be written */
};

struct encoder {
	struct orma_buf *buf;
	size_t used; /* bytes made so far, at the end of the capacity */
	size_t depth;
	struct encode_frame frames[ORMA_PROTO_DEPTH_MAX + 1];
};

static int make_room(struct encoder *encoder, size_t size)
{
	struct orma_buf *buf = encoder->buf;
	size_t old_size = buf->size, old_capacity = buf->capacity;
	int r;

	if (size > ORMA_PROTO_SIZE_MAX || encoder->used + size > ORMA_PROTO_SIZE_MAX)
		return -EMSGSIZE;
	if (old_capacity - old_size - encoder->used >= size)
		return 0;
	buf->size = old_capacity; /* reserve() keeps what lies before size */
	r = orma_base_buf_reserve(buf, ORMA_MAX(size, encoder->used + 64));
	buf->size = old_size;
	if (r < 0)
		return r;
	if (encoder->used > 0)
		memmove(buf->data + buf->capacity - encoder->used,
			buf->data + old_capacity - encoder->used, encoder->used);
	return 0;
}

static int put(struct encoder *encoder, const void *data, size_t size)
{
	int r = make_room(encoder, size);

	if (r < 0 || size == 0)
		return r;
	ORMA_ASSERT(encoder->used + size <= encoder->buf->capacity - encoder->buf->size);
	encoder->used += size;
	memcpy(encoder->buf->data + encoder->buf->capacity - encoder->used, data, size);
	return 0;
}

static int put_varint(struct encoder *encoder, uint64_t value)
{
	uint8_t bytes[ORMA_PROTO_VARINT_MAX];

	return put(encoder, bytes, (size_t)(orma_proto_put_varint(bytes, value) - bytes));
}

static int put_head(struct encoder *encoder, uint32_t field_id, size_t content_size)
{
	int r = put_varint(encoder, content_size);

	return r < 0 ? r : put_varint(encoder, orma_proto_tag(field_id, ORMA_PROTO_BYTES));
}

/* Writes the value without its tag. */
static int put_value(struct encoder *encoder, enum orma_proto_kind kind, const void *at)
{
	const struct orma_str *bytes;
	uint64_t value;
	int r;

	if (!orma_proto_kind_is_scalar(kind)) {
		bytes = at;
		r = put(encoder, bytes->data, bytes->size);
		return r < 0 ? r : put_varint(encoder, bytes->size);
	}
	value = orma_proto_kind_load(kind, at);
	if (orma_proto_kind_wire_type(kind) == ORMA_PROTO_VARINT)
		return put_varint(encoder, value);
	return put(encoder, &value, orma_proto_kind_size(kind));
}

static int put_field(struct encoder *encoder, const struct orma_proto_field_desc *field,
		     const void *member)
{
	enum orma_proto_wire_type type = orma_proto_kind_wire_type(field->kind);
	const struct orma_proto_repeated *repeated = member;
	bool is_repeated = field->flags & ORMA_PROTO_REPEATED_FLAG;
	bool is_packed = is_repeated && field->flags & ORMA_PROTO_PACKED_FLAG;
	const uint8_t *items = is_repeated ? repeated->items : member;
	size_t used_before = encoder->used;
	int r = 0;

	for (size_t left = is_repeated ? repeated->count : 1; left > 0 && r == 0; left--) {
		r = put_value(encoder, field->kind,
			      items + (left - 1) * orma_proto_kind_size(field->kind));
		if (r == 0 && !is_packed)
			r = put_varint(encoder, orma_proto_tag(field->id, type));
	}
	if (r == 0 && is_packed)
		r = put_head(encoder, field->id, encoder->used - used_before);
	return r;
}

static int put_unknown(struct encoder *encoder, const struct orma_proto_message *message)
{
	size_t total = 0;
	uint8_t *at;
	int r;

	for (const struct orma_proto_unknown *unknown = message->unknown; unknown;
	     unknown = unknown->next) {
		if (__builtin_add_overflow(total, unknown->bytes.size, &total))
			return -EMSGSIZE;
	}
	r = make_room(encoder, total);
	if (r < 0 || total == 0)
		return r;
	encoder->used += total;
	at = encoder->buf->data + encoder->buf->capacity - encoder->used;
	for (const struct orma_proto_unknown *unknown = message->unknown; unknown;
	     unknown = unknown->next) {
		memcpy(at, unknown->bytes.data, unknown->bytes.size);
		at += unknown->bytes.size;
	}
	return 0;
}

static int push(struct encoder *encoder, const struct orma_proto_message *message)
{
	struct encode_frame *frame;

	if (encoder->depth > ORMA_PROTO_DEPTH_MAX)
		return -EMSGSIZE;
	frame = &encoder->frames[encoder->depth++];
	*frame = (struct encode_frame){.message = message,
				       .used_before = encoder->used,
				       .fields_left = message->desc->field_count};
	return put_unknown(encoder, message);
}

/* Writes the preceding part of the innermost message: a field, an item of a list of messages, or,
 * when no field is left, the message's tag and length. */
static int step(struct encoder *encoder)
{
	ORMA_ASSERT(encoder->depth > 0);
	struct encode_frame *frame = &encoder->frames[encoder->depth - 1];
	const struct orma_proto_message *message = frame->message;
	const struct orma_proto_field_desc *field;
	const struct orma_proto_repeated *repeated;
	const void *member;

	if (frame->messages_left > 0) {
		field = &message->desc->fields[frame->fields_left];
		repeated = orma_proto_const_member(message, field);
		return push(encoder, ((void **)repeated->items)[--frame->messages_left]);
	}
	if (frame->fields_left == 0) {
		size_t content_size = encoder->used - frame->used_before;

		if (--encoder->depth == 0)
			return 0;
		frame--;
		field = &frame->message->desc->fields[frame->fields_left];
		return put_head(encoder, field->id, content_size);
	}
	field = &message->desc->fields[--frame->fields_left];
	if (!orma_proto_has(message, field))
		return 0;
	member = orma_proto_const_member(message, field);
	if (field->kind != ORMA_PROTO_KIND_MESSAGE)
		return put_field(encoder, field, member);
	if (!(field->flags & ORMA_PROTO_REPEATED_FLAG))
		return push(encoder, *(void *const *)member);
	frame->messages_left = ((const struct orma_proto_repeated *)member)->count;
	return 0;
}

static int encode(const void *message, uint32_t field_id, struct orma_buf *buf)
{
	struct encoder encoder; /* frames are filled in as they are pushed */
	int r;

	encoder.buf = buf;
	encoder.used = 0;
	encoder.depth = 0;
	r = push(&encoder, message);
	while (r == 0 && encoder.depth > 0)
		r = step(&encoder);
	if (r == 0 && field_id > 0)
		r = put_head(&encoder, field_id, encoder.used);
	if (r < 0 || encoder.used == 0)
		return r;
	memmove(buf->data + buf->size, buf->data + buf->capacity - encoder.used, encoder.used);
	buf->size += encoder.used;
	return 0;
}

int orma_proto_encode(const void *message, struct orma_buf *buf)
{
	return encode(message, 0, buf);
}
