/* SPDX-License-Identifier: Apache-2.0
 * reader.h - reads the fields of one encoded message, without copying. The message is not trusted.
 */
#ifndef ORMA_PROTO_READER_H
#define ORMA_PROTO_READER_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "proto/wire.h"

struct orma_proto_reader {
	const uint8_t *at, *end;
};

struct orma_proto_field {
	uint32_t id; /* 1..ORMA_PROTO_FIELD_ID_MAX */
	enum orma_proto_wire_type type;
	uint64_t value; /* varint, fixed32, fixed64 */
	struct orma_str
		bytes;        /* ORMA_PROTO_BYTES: points into the message; empty for other types */
	const uint8_t *begin; /* the field's tag; the field ends at reader.at */
};

void orma_proto_reader_init(struct orma_proto_reader *reader, const void *data, size_t size);
/* Returns 1 and a field, 0 at the end, or -EBADMSG (an invalid varint or tag, a group, or a length
 * beyond the end). Never reads outside of the message. */
int orma_proto_reader_next(struct orma_proto_reader *reader, struct orma_proto_field *field);
/* Finds the last occurrence of a field: 1 (found), 0 (absent) or -EBADMSG. */
int orma_proto_reader_find(const void *data, size_t size, uint32_t field_id,
			   struct orma_proto_field *field);

/* --- the same, inline, for loops that read a field for each event ------------------------------ */

static inline const uint8_t *orma_proto_read_fixed(const uint8_t *at, const uint8_t *end,
						   size_t size, uint64_t *ret)
{
	uint64_t value = 0;

	if ((size_t)(end - at) < size)
		return NULL;
	memcpy(&value, at, size); /* the wire and all supported machines are little-endian */
	*ret = value;
	return at + size;
}

static inline const uint8_t *orma_proto_read_bytes(const uint8_t *at, const uint8_t *end,
						   struct orma_str *ret, uint64_t *ret_size)
{
	uint64_t size_untrusted;

	at = orma_proto_get_varint(at, end, &size_untrusted);
	if (!at || size_untrusted > (uint64_t)(end - at))
		return NULL;
	*ret = (struct orma_str){(const char *)at, (size_t)size_untrusted};
	*ret_size = size_untrusted;
	return at + size_untrusted;
}

/* The same as orma_proto_reader_next(). */
static inline int orma_proto_reader_step(struct orma_proto_reader *reader,
					 struct orma_proto_field *field)
{
	const uint8_t *at = reader->at, *end = reader->end;
	uint64_t tag;

	if (at == end)
		return 0;
	field->begin = at;
	at = orma_proto_get_varint(at, end, &tag);
	if (!at || tag > UINT32_MAX || tag >> 3 == 0)
		return -EBADMSG;
	field->id = (uint32_t)tag >> 3;
	field->type = (enum orma_proto_wire_type)(tag & 7);
	/* A caller that expects bytes and forgets to check the type gets none, and not those of the field before. */
	field->bytes = (struct orma_str){NULL, 0};
	switch (tag & 7) {
	case ORMA_PROTO_VARINT:
		at = orma_proto_get_varint(at, end, &field->value);
		break;
	case ORMA_PROTO_FIXED64:
		at = orma_proto_read_fixed(at, end, 8, &field->value);
		break;
	case ORMA_PROTO_BYTES:
		at = orma_proto_read_bytes(at, end, &field->bytes, &field->value);
		break;
	case ORMA_PROTO_FIXED32:
		at = orma_proto_read_fixed(at, end, 4, &field->value);
		break;
	default:
		return -EBADMSG;
	}
	if (!at)
		return -EBADMSG;
	ORMA_ASSERT(at > field->begin && at <= end);
	reader->at = at;
	return 1;
}

#endif
