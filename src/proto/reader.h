/* SPDX-License-Identifier: Apache-2.0
 * reader.h - zero-copy walk over the fields of one encoded message of unknown origin.
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
	uint64_t value;        /* varint, fixed32, fixed64 */
	struct orma_str bytes; /* ORMA_PROTO_BYTES: inside the message */
	const uint8_t *begin;  /* the field with its tag: [begin, reader.at) after the call */
};

void orma_proto_reader_init(struct orma_proto_reader *reader, const void *data, size_t size);
/* 1 and a field, 0 at the end, -EBADMSG (bad varint, tag, group, length past the end); never reads
 * outside. */
int orma_proto_reader_next(struct orma_proto_reader *reader, struct orma_proto_field *field);
/* The last occurrence of a field: 1 found, 0 not there, -EBADMSG. */
int orma_proto_reader_find(const void *data, size_t size, uint32_t field_id,
			   struct orma_proto_field *field);

#endif
