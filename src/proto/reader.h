/* SPDX-License-Identifier: Apache-2.0
 * reader.h - reads the fields of one encoded message, without copying. The message is not trusted.
 */
#ifndef ORMA_PROTO_READER_H
#define ORMA_PROTO_READER_H

#include <stddef.h>
#include <stdint.h>

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

#endif
