/* SPDX-License-Identifier: Apache-2.0
 * field.c - the public form of the reader (orma/field.h): a field at a time, without an object.
 *
 * Owns nothing: the state of a walk is the rest of the message. Rejected: the reader's struct in a
 * public header, because its members would be ABI; an opaque one, because reading ten bytes would
 * then take an allocation.
 */
#include <orma/field.h>

#include <errno.h>
#include <string.h>

#include "proto/reader.h"

static void fill(const struct orma_proto_field *field, struct orma_field *ret)
{
	*ret = (struct orma_field){.id = field->id,
				   .type = (uint32_t)field->type,
				   .value = field->type == ORMA_PROTO_BYTES ? 0 : field->value};
	if (field->type == ORMA_PROTO_BYTES) {
		ret->data = field->bytes.data;
		ret->size = field->bytes.size;
	}
}

int orma_field_next(const void **data, size_t *size, struct orma_field *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r;

	if (!data || !size || !ret || (!*data && *size > 0))
		return -EINVAL;
	orma_proto_reader_init(&reader, *data, *size);
	r = orma_proto_reader_next(&reader, &field);
	if (r != 1)
		return r;
	fill(&field, ret);
	*data = reader.at;
	*size = (size_t)(reader.end - reader.at);
	return 1;
}

int orma_field_find(const void *data, size_t size, uint32_t id, struct orma_field *ret)
{
	struct orma_proto_field field;
	int r;

	if (!ret || (!data && size > 0))
		return -EINVAL;
	r = orma_proto_reader_find(data, size, id, &field);
	if (r == 1)
		fill(&field, ret);
	return r;
}

int64_t orma_field_sint(const struct orma_field *field)
{
	return field ? (int64_t)(field->value >> 1) ^ -(int64_t)(field->value & 1) : 0;
}

double orma_field_double(const struct orma_field *field)
{
	double number = 0;
	uint32_t bits;
	float small;

	if (!field)
		return 0;
	bits = (uint32_t)field->value;
	if (field->type == ORMA_FIELD_FIXED64) {
		memcpy(&number, &field->value, sizeof(number));
	} else if (field->type == ORMA_FIELD_FIXED32) {
		memcpy(&small, &bits, sizeof(small));
		number = (double)small;
	}
	return number;
}
