/* SPDX-License-Identifier: Apache-2.0
 * thrift_writer.c - fields have the difference to the number before, integers are zigzag varints.
 */
#include "tool/export/thrift_writer.h"

#include "base/assert.h"

enum { INT64 = 6, LIST = 9 };

static void put(struct orma_thrift *thrift, const void *data, size_t size)
{
	if (thrift->error == 0)
		thrift->error = orma_base_buf_append(thrift->out, data, size);
}

static void put_byte(struct orma_thrift *thrift, unsigned byte)
{
	put(thrift, &(uint8_t){(uint8_t)byte}, 1);
}

static void put_varint(struct orma_thrift *thrift, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(thrift, (unsigned)(value & 0x7f) | 0x80);
	put_byte(thrift, (unsigned)value);
}

static void put_zigzag(struct orma_thrift *thrift, int64_t value)
{
	put_varint(thrift, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static void put_field(struct orma_thrift *thrift, int field, unsigned type)
{
	int *last = &thrift->last_field[thrift->depth];
	ORMA_ASSERT(field > *last && field - *last < 16);
	put_byte(thrift, (unsigned)(field - *last) << 4 | type);
	*last = field;
}

void orma_thrift_int32(struct orma_thrift *thrift, int field, int32_t value)
{
	put_field(thrift, field, ORMA_THRIFT_I32);
	put_zigzag(thrift, value);
}

void orma_thrift_int64(struct orma_thrift *thrift, int field, int64_t value)
{
	put_field(thrift, field, INT64);
	put_zigzag(thrift, value);
}

void orma_thrift_bytes(struct orma_thrift *thrift, int field, struct orma_str value)
{
	put_field(thrift, field, ORMA_THRIFT_TEXT);
	put_varint(thrift, value.size);
	put(thrift, value.data, value.size);
}

void orma_thrift_begin(struct orma_thrift *thrift, int field)
{
	if (field > 0)
		put_field(thrift, field, ORMA_THRIFT_STRUCT);
	ORMA_ASSERT(thrift->depth + 1 < ORMA_THRIFT_DEPTH_MAX);
	thrift->last_field[++thrift->depth] = 0;
}

void orma_thrift_end(struct orma_thrift *thrift)
{
	put_byte(thrift, 0);
	if (thrift->depth > 0)
		thrift->depth--;
}

void orma_thrift_list(struct orma_thrift *thrift, int field, enum orma_thrift_type type,
		      size_t count)
{
	put_field(thrift, field, LIST);
	put_byte(thrift, (unsigned)(count < 15 ? count : 15) << 4 | (unsigned)type);
	if (count >= 15)
		put_varint(thrift, count);
}

void orma_thrift_element_int(struct orma_thrift *thrift, int32_t value)
{
	put_zigzag(thrift, value);
}

void orma_thrift_element_text(struct orma_thrift *thrift, const char *text)
{
	struct orma_str value = orma_base_str(text);
	put_varint(thrift, value.size);
	put(thrift, value.data, value.size);
}
