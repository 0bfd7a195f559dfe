/* SPDX-License-Identifier: Apache-2.0
 * reader.c - one pass over the fields of an encoded message.
 *
 * Owns no memory: fields point into the caller's bytes. Invariant: begin <= at <= end, and every
 * field that is returned lies wholly in [begin, end). Rejected: an index of all fields that is
 * built first, because most callers want one or two of them; skipping groups, because they were
 * deprecated before this protocol existed, and skipping nested groups would need a depth limit.
 */
#include "proto/reader.h"

#include <errno.h>

void orma_proto_reader_init(struct orma_proto_reader *reader, const void *data, size_t size)
{
	static const uint8_t nothing[1];

	reader->at = data ? data : nothing;
	reader->end = reader->at + (data ? size : 0);
}

static const uint8_t *read_fixed(const uint8_t *at, const uint8_t *end, size_t size, uint64_t *ret)
{
	uint64_t value = 0;

	if ((size_t)(end - at) < size)
		return NULL;
	memcpy(&value, at, size); /* the wire and all supported machines are little-endian */
	*ret = value;
	return at + size;
}

static const uint8_t *read_bytes(const uint8_t *at, const uint8_t *end, struct orma_str *ret,
				 uint64_t *ret_size)
{
	uint64_t size_untrusted;

	at = orma_proto_get_varint(at, end, &size_untrusted);
	if (!at || size_untrusted > (uint64_t)(end - at))
		return NULL;
	*ret = (struct orma_str){(const char *)at, (size_t)size_untrusted};
	*ret_size = size_untrusted;
	return at + size_untrusted;
}

int orma_proto_reader_next(struct orma_proto_reader *reader, struct orma_proto_field *field)
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
		at = read_fixed(at, end, 8, &field->value);
		break;
	case ORMA_PROTO_BYTES:
		at = read_bytes(at, end, &field->bytes, &field->value);
		break;
	case ORMA_PROTO_FIXED32:
		at = read_fixed(at, end, 4, &field->value);
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

int orma_proto_reader_find(const void *data, size_t size, uint32_t field_id,
			   struct orma_proto_field *field)
{
	struct orma_proto_reader reader;
	struct orma_proto_field candidate;
	int found = 0, r;

	orma_proto_reader_init(&reader, data, size);
	while ((r = orma_proto_reader_next(&reader, &candidate)) > 0) {
		if (candidate.id == field_id) {
			*field = candidate;
			found = 1;
		}
	}
	return r < 0 ? r : found;
}
