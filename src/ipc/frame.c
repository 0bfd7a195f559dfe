/* SPDX-License-Identifier: Apache-2.0
 * frame.c - frames of the wire protocol, without sockets.
 *
 * Decoding is one walk with the zero-copy reader: it allocates nothing, and arguments stay where
 * they were received. Rejected: the generated tables, which need an arena per frame; this is the
 * message that the daemon decodes most often.
 *
 * Encoding makes an envelope: the whole frame except its body. The fields of an IPCFrame nest two
 * levels deep, so all lengths follow from the size of the body, and the body goes from the caller's
 * memory to the socket without a copy. Field ids ascend, as protobuf encoders write them, so only
 * drop_reply follows the body; it is the suffix. Rejected: writing everything into one buffer,
 * which is simpler but copies every reply of a read-back.
 *
 * The assembler is one sliding buffer. It hands out whole frames in place, moves a partial frame to
 * the front when the frame needs room, and grows to exactly the announced size, which is bounded.
 * An idle connection holds no memory. Rejected: a ring, which avoids the move but cannot hand out a
 * frame in one piece.
 */
#include "ipc/frame.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"

enum {
	FRAME_REQUEST_ID = 2,

	BIND_SERVICE_NAME = 1,

	BIND_REPLY_SUCCESS = 1,
	BIND_REPLY_SERVICE_ID = 2,
	BIND_REPLY_METHODS = 3,
	METHOD_ID = 1,
	METHOD_NAME = 2,

	INVOKE_SERVICE_ID = 1,
	INVOKE_METHOD_ID = 2,
	INVOKE_ARGS = 3,
	INVOKE_DROP_REPLY = 4,

	INVOKE_REPLY_SUCCESS = 1,
	INVOKE_REPLY_HAS_MORE = 2,
	INVOKE_REPLY_BODY = 3,

	ERROR_TEXT = 1,

	IDENTITY_PID = 1,
	IDENTITY_UID = 2,
	IDENTITY_MACHINE_ID_HINT = 3,
	IDENTITY_MACHINE_NAME = 4,
};

#define ASSEMBLER_MIN_BYTES 4096

/* --- decoding --------------------------------------------------------------------------------- */

static bool is_varint(const struct orma_proto_field *field, uint32_t id)
{
	return field->id == id && field->type == ORMA_PROTO_VARINT;
}

static bool is_bytes(const struct orma_proto_field *field, uint32_t id)
{
	return field->id == id && field->type == ORMA_PROTO_BYTES;
}

static void decode_bind_field(struct orma_ipc_frame *frame, const struct orma_proto_field *field)
{
	if (is_bytes(field, BIND_SERVICE_NAME))
		frame->u.bind.service_name = field->bytes;
}

static void decode_bind_reply_field(struct orma_ipc_frame *frame,
				    const struct orma_proto_field *field)
{
	if (is_varint(field, BIND_REPLY_SUCCESS))
		frame->u.bind_reply.success = field->value != 0;
	else if (is_varint(field, BIND_REPLY_SERVICE_ID))
		frame->u.bind_reply.service_id = (uint32_t)field->value;
}

static void decode_invoke_field(struct orma_ipc_frame *frame, const struct orma_proto_field *field)
{
	if (is_varint(field, INVOKE_SERVICE_ID))
		frame->u.invoke.service_id = (uint32_t)field->value;
	else if (is_varint(field, INVOKE_METHOD_ID))
		frame->u.invoke.method_id = (uint32_t)field->value;
	else if (is_bytes(field, INVOKE_ARGS))
		frame->u.invoke.args = field->bytes;
	else if (is_varint(field, INVOKE_DROP_REPLY))
		frame->u.invoke.drop_reply = field->value != 0;
}

static void decode_invoke_reply_field(struct orma_ipc_frame *frame,
				      const struct orma_proto_field *field)
{
	if (is_varint(field, INVOKE_REPLY_SUCCESS))
		frame->u.invoke_reply.success = field->value != 0;
	else if (is_varint(field, INVOKE_REPLY_HAS_MORE))
		frame->u.invoke_reply.has_more = field->value != 0;
	else if (is_bytes(field, INVOKE_REPLY_BODY))
		frame->u.invoke_reply.reply = field->bytes;
}

static void decode_error_field(struct orma_ipc_frame *frame, const struct orma_proto_field *field)
{
	if (is_bytes(field, ERROR_TEXT))
		frame->u.error.text = field->bytes;
}

static void decode_identity_field(struct orma_ipc_frame *frame,
				  const struct orma_proto_field *field)
{
	if (is_varint(field, IDENTITY_PID))
		frame->u.identity.pid = (int32_t)field->value;
	else if (is_bytes(field, IDENTITY_MACHINE_ID_HINT))
		frame->u.identity.machine_id_hint = field->bytes;
	else if (is_bytes(field, IDENTITY_MACHINE_NAME))
		frame->u.identity.machine_name = field->bytes;
	if (!is_varint(field, IDENTITY_UID))
		return;
	frame->u.identity.uid = (int32_t)field->value;
	frame->u.identity.has_uid = true;
}

typedef void decode_field_fn(struct orma_ipc_frame *frame, const struct orma_proto_field *field);

static decode_field_fn *const decoders[] = {
	[ORMA_IPC_FRAME_BIND] = decode_bind_field,
	[ORMA_IPC_FRAME_BIND_REPLY] = decode_bind_reply_field,
	[ORMA_IPC_FRAME_INVOKE] = decode_invoke_field,
	[ORMA_IPC_FRAME_INVOKE_REPLY] = decode_invoke_reply_field,
	[ORMA_IPC_FRAME_ERROR] = decode_error_field,
	[ORMA_IPC_FRAME_IDENTITY] = decode_identity_field,
};

static bool is_message_field(const struct orma_proto_field *field)
{
	return field->type == ORMA_PROTO_BYTES && field->id < ORMA_ARRAY_SIZE(decoders) &&
	       decoders[field->id];
}

int orma_ipc_frame_decode(const void *data_untrusted, size_t size, struct orma_ipc_frame *ret_frame)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	struct orma_str message = {NULL, 0};
	int r;

	memset(ret_frame, 0, sizeof(*ret_frame));
	orma_proto_reader_init(&reader, data_untrusted, size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0) {
		if (is_varint(&field, FRAME_REQUEST_ID)) {
			ret_frame->request_id = field.value;
		} else if (is_message_field(&field)) {
			ret_frame->kind = (enum orma_ipc_frame_kind)field.id;
			message = field.bytes;
		}
	}
	if (r < 0)
		return r;
	if (ret_frame->kind == ORMA_IPC_FRAME_OTHER)
		return 0;

	if (ret_frame->kind == ORMA_IPC_FRAME_BIND_REPLY)
		ret_frame->u.bind_reply.message = message;
	orma_proto_reader_init(&reader, message.data, message.size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0)
		decoders[ret_frame->kind](ret_frame, &field);
	return r;
}

int orma_ipc_bind_reply_next(struct orma_proto_reader *reader,
			     struct orma_ipc_method_info *ret_info)
{
	struct orma_proto_reader inner;
	struct orma_proto_field field;
	int r;

	do {
		r = orma_proto_reader_next(reader, &field);
		if (r <= 0)
			return r;
	} while (!is_bytes(&field, BIND_REPLY_METHODS));

	memset(ret_info, 0, sizeof(*ret_info));
	orma_proto_reader_init(&inner, field.bytes.data, field.bytes.size);
	while ((r = orma_proto_reader_next(&inner, &field)) > 0) {
		if (is_varint(&field, METHOD_ID))
			ret_info->id = (uint32_t)field.value;
		else if (is_bytes(&field, METHOD_NAME))
			ret_info->name = field.bytes;
	}
	return r < 0 ? r : 1;
}

/* --- encoding --------------------------------------------------------------------------------- */

static uint8_t *put_varint_field(uint8_t *at, uint32_t id, uint64_t value)
{
	at = orma_proto_put_varint(at, orma_proto_tag(id, ORMA_PROTO_VARINT));
	return orma_proto_put_varint(at, value);
}

static uint8_t *put_bytes_head(uint8_t *at, uint32_t id, size_t size)
{
	at = orma_proto_put_varint(at, orma_proto_tag(id, ORMA_PROTO_BYTES));
	return orma_proto_put_varint(at, size);
}

/* Writes the header, the request id, the tag of the message, and `head`. The body (`body_size`
 * bytes) and the suffix follow. */
static int seal(struct orma_ipc_envelope *envelope, uint64_t request_id,
		enum orma_ipc_frame_kind kind, const uint8_t *head, size_t head_size,
		size_t body_size)
{
	uint8_t outer[ORMA_IPC_PREFIX_BYTES_MAX];
	uint8_t *at = outer + ORMA_IPC_HEADER_BYTES;

	if (body_size > ORMA_IPC_FRAME_BYTES_MAX)
		return -EMSGSIZE;
	at = put_varint_field(at, FRAME_REQUEST_ID, request_id);
	at = put_bytes_head(at, (uint32_t)kind, head_size + body_size + envelope->suffix_size);
	envelope->prefix_size = (size_t)(at - outer) + head_size;
	ORMA_ASSERT(envelope->prefix_size <= sizeof(envelope->prefix));
	ORMA_ASSERT(envelope->suffix_size <= sizeof(envelope->suffix));

	size_t frame_size = envelope->prefix_size + body_size + envelope->suffix_size;
	if (frame_size > ORMA_IPC_FRAME_BYTES_MAX)
		return -EMSGSIZE;
	size_t payload_size = frame_size - ORMA_IPC_HEADER_BYTES;
	for (size_t i = 0; i < ORMA_IPC_HEADER_BYTES; i++)
		outer[i] = (uint8_t)(payload_size >> (8 * i));
	memcpy(envelope->prefix, outer, (size_t)(at - outer));
	memcpy(envelope->prefix + (at - outer), head, head_size);
	return 0;
}

int orma_ipc_envelope_invoke(struct orma_ipc_envelope *envelope, uint64_t request_id,
			     uint32_t service_id, uint32_t method_id, bool drop_reply,
			     size_t args_size)
{
	uint8_t head[ORMA_IPC_PREFIX_BYTES_MAX];
	uint8_t *at = head;

	at = put_varint_field(at, INVOKE_SERVICE_ID, service_id);
	at = put_varint_field(at, INVOKE_METHOD_ID, method_id);
	at = put_bytes_head(at, INVOKE_ARGS, args_size);
	envelope->suffix_size = 0;
	if (drop_reply)
		envelope->suffix_size =
			(size_t)(put_varint_field(envelope->suffix, INVOKE_DROP_REPLY, 1) -
				 envelope->suffix);
	return seal(envelope, request_id, ORMA_IPC_FRAME_INVOKE, head, (size_t)(at - head),
		    args_size);
}

int orma_ipc_envelope_invoke_reply(struct orma_ipc_envelope *envelope, uint64_t request_id,
				   bool success, bool has_more, size_t reply_size)
{
	uint8_t head[ORMA_IPC_PREFIX_BYTES_MAX];
	uint8_t *at = head;

	at = put_varint_field(at, INVOKE_REPLY_SUCCESS, success);
	if (has_more)
		at = put_varint_field(at, INVOKE_REPLY_HAS_MORE, 1);
	if (reply_size > 0)
		at = put_bytes_head(at, INVOKE_REPLY_BODY, reply_size);
	envelope->suffix_size = 0;
	return seal(envelope, request_id, ORMA_IPC_FRAME_INVOKE_REPLY, head, (size_t)(at - head),
		    reply_size);
}

int orma_ipc_envelope_bind(struct orma_ipc_envelope *envelope, uint64_t request_id,
			   size_t service_name_size)
{
	uint8_t head[ORMA_IPC_PREFIX_BYTES_MAX];
	uint8_t *at = put_bytes_head(head, BIND_SERVICE_NAME, service_name_size);

	envelope->suffix_size = 0;
	return seal(envelope, request_id, ORMA_IPC_FRAME_BIND, head, (size_t)(at - head),
		    service_name_size);
}

int orma_ipc_envelope_error(struct orma_ipc_envelope *envelope, uint64_t request_id,
			    size_t text_size)
{
	uint8_t head[ORMA_IPC_PREFIX_BYTES_MAX];
	uint8_t *at = put_bytes_head(head, ERROR_TEXT, text_size);

	envelope->suffix_size = 0;
	return seal(envelope, request_id, ORMA_IPC_FRAME_ERROR, head, (size_t)(at - head),
		    text_size);
}

int orma_ipc_envelope_bind_reply(struct orma_ipc_envelope *envelope, uint64_t request_id,
				 size_t fields_size)
{
	envelope->suffix_size = 0;
	return seal(envelope, request_id, ORMA_IPC_FRAME_BIND_REPLY, envelope->prefix, 0,
		    fields_size);
}

int orma_ipc_bind_reply_encode(struct orma_buf *buf, uint32_t service_id, const char *const *names,
			       size_t stride, size_t count)
{
	uint8_t head[ORMA_IPC_PREFIX_BYTES_MAX];
	uint8_t *at = put_varint_field(head, BIND_REPLY_SUCCESS, 1);
	size_t size_before = buf->size;

	at = put_varint_field(at, BIND_REPLY_SERVICE_ID, service_id);
	int r = orma_base_buf_append(buf, head, (size_t)(at - head));
	for (size_t i = 0; i < count && r == 0; i++) {
		const char *name =
			*(const char *const *)(const void *)((const char *)names + i * stride);
		size_t name_size = strlen(name);
		uint8_t inner[ORMA_IPC_PREFIX_BYTES_MAX];
		uint8_t *inner_at = put_varint_field(inner, METHOD_ID, i + 1);

		inner_at = put_bytes_head(inner_at, METHOD_NAME, name_size);
		size_t inner_size = (size_t)(inner_at - inner);
		at = put_bytes_head(head, BIND_REPLY_METHODS, inner_size + name_size);
		if ((r = orma_base_buf_append(buf, head, (size_t)(at - head))) == 0 &&
		    (r = orma_base_buf_append(buf, inner, inner_size)) == 0)
			r = orma_base_buf_append(buf, name, name_size);
	}
	if (r < 0)
		buf->size = size_before;
	return r;
}

/* --- frames out of a stream ------------------------------------------------------------------- */

void orma_ipc_assembler_done(struct orma_ipc_assembler *assembler)
{
	orma_base_free(assembler->data);
	memset(assembler, 0, sizeof(*assembler));
}

static size_t announced_size(const struct orma_ipc_assembler *assembler)
{
	const uint8_t *header = assembler->data + assembler->begin;

	return (size_t)header[0] | (size_t)header[1] << 8 | (size_t)header[2] << 16 |
	       (size_t)header[3] << 24;
}

static size_t held_size(const struct orma_ipc_assembler *assembler)
{
	ORMA_ASSERT(assembler->begin <= assembler->end && assembler->end <= assembler->capacity);
	return assembler->end - assembler->begin;
}

/* The size of the current frame with its header, as far as it is known. */
static size_t wanted_size(const struct orma_ipc_assembler *assembler)
{
	size_t wanted = ORMA_IPC_HEADER_BYTES;

	if (held_size(assembler) >= ORMA_IPC_HEADER_BYTES)
		wanted += announced_size(assembler);
	/* orma_ipc_assembler_next() has refused a larger announced size. */
	return ORMA_MIN(wanted, ORMA_IPC_FRAME_BYTES_MAX);
}

int orma_ipc_assembler_window(struct orma_ipc_assembler *assembler, uint8_t **ret_data,
			      size_t *ret_size)
{
	size_t held = held_size(assembler);
	size_t capacity = ORMA_MAX(wanted_size(assembler), (size_t)ASSEMBLER_MIN_BYTES);

	/* A full buffer means that the peer sends faster than we receive: read more at a time. */
	if (held == assembler->capacity && held < ORMA_IPC_FRAME_BYTES_MAX)
		capacity = ORMA_MAX(capacity, ORMA_MIN(2 * held, ORMA_IPC_FRAME_BYTES_MAX));
	if (assembler->begin > 0 && held > 0)
		memmove(assembler->data, assembler->data + assembler->begin, held);
	assembler->begin = 0;
	assembler->end = held;
	if (capacity > assembler->capacity) {
		uint8_t *data = orma_base_realloc(assembler->data, capacity);
		if (!data)
			return -ENOMEM;
		assembler->data = data;
		assembler->capacity = capacity;
	}
	*ret_data = assembler->data + held;
	*ret_size = assembler->capacity - held;
	return 0;
}

void orma_ipc_assembler_fill(struct orma_ipc_assembler *assembler, size_t size)
{
	assembler->end += ORMA_MIN(size, assembler->capacity - assembler->end);
}

int orma_ipc_assembler_next(struct orma_ipc_assembler *assembler, const uint8_t **ret_data,
			    size_t *ret_size)
{
	while (held_size(assembler) >= ORMA_IPC_HEADER_BYTES) {
		size_t size = announced_size(assembler);

		if (size > ORMA_IPC_FRAME_BYTES_MAX - ORMA_IPC_HEADER_BYTES)
			return -EMSGSIZE;
		if (held_size(assembler) < ORMA_IPC_HEADER_BYTES + size)
			return 0;
		const uint8_t *data = assembler->data + assembler->begin + ORMA_IPC_HEADER_BYTES;
		assembler->begin += ORMA_IPC_HEADER_BYTES + size;
		if (size > 0) {
			*ret_data = data;
			*ret_size = size;
			return 1;
		}
	}
	return 0;
}

void orma_ipc_assembler_unget(struct orma_ipc_assembler *assembler, size_t size)
{
	ORMA_ASSERT(assembler->begin >= ORMA_IPC_HEADER_BYTES + size);
	assembler->begin -= ORMA_IPC_HEADER_BYTES + size;
	ORMA_ASSERT(announced_size(assembler) == size);
}

void orma_ipc_assembler_trim(struct orma_ipc_assembler *assembler)
{
	if (held_size(assembler) == 0)
		orma_ipc_assembler_done(assembler);
}
