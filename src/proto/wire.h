/* SPDX-License-Identifier: Apache-2.0
 * wire.h - protobuf's wire format: tags, varints, zigzag.
 */
#ifndef ORMA_PROTO_WIRE_H
#define ORMA_PROTO_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"

enum orma_proto_wire_type {
	ORMA_PROTO_VARINT = 0,
	ORMA_PROTO_FIXED64 = 1,
	ORMA_PROTO_BYTES = 2,
	ORMA_PROTO_FIXED32 = 5,
};

#define ORMA_PROTO_VARINT_MAX   10 /* bytes of a 64-bit varint */
#define ORMA_PROTO_TAG_MAX      5
#define ORMA_PROTO_FIELD_ID_MAX ((UINT32_C(1) << 29) - 1)
/* The length of a nested message is written as a padded varint of four bytes, which are reserved
 * when the message begins and filled in when it ends. */
#define ORMA_PROTO_LENGTH_BYTES 4
#define ORMA_PROTO_LENGTH_MAX   ((UINT32_C(1) << 28) - 1)

static inline uint32_t orma_proto_tag(uint32_t field_id, enum orma_proto_wire_type type)
{
	return field_id << 3 | (uint32_t)type;
}

static inline size_t orma_proto_varint_size(uint64_t value)
{
	unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
	return (bits + 6) / 7;
}

static inline uint64_t orma_proto_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t orma_proto_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* `at` has room for ORMA_PROTO_VARINT_MAX bytes. Returns the address behind the varint. */
static inline uint8_t *orma_proto_put_varint(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

/* `length` <= ORMA_PROTO_LENGTH_MAX. */
static inline void orma_proto_put_length(uint8_t at[ORMA_PROTO_LENGTH_BYTES], uint32_t length)
{
	ORMA_ASSERT(length <= ORMA_PROTO_LENGTH_MAX);
	at[0] = (uint8_t)(length | 0x80);
	at[1] = (uint8_t)(length >> 7 | 0x80);
	at[2] = (uint8_t)(length >> 14 | 0x80);
	at[3] = (uint8_t)(length >> 21 & 0x7f);
}

/* Takes the top bit out of each byte. */
static inline uint64_t orma_proto_join_groups(uint64_t word)
{
	word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
	word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
	return (word & UINT64_C(0x0fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
}

/* Reads a varint of at most eight bytes as one word. NULL when it is longer, or fewer than eight bytes are left. */
static inline const uint8_t *orma_proto_get_word_varint(const uint8_t *at, const uint8_t *end,
							uint64_t *ret)
{
	uint64_t word;
	if (end - at < (ptrdiff_t)sizeof(word))
		return NULL;
	memcpy(&word, at, sizeof(word)); /* all supported machines are little-endian */
	uint64_t ends = ~word & UINT64_C(0x8080808080808080);
	if (ends == 0)
		return NULL;
	*ret = orma_proto_join_groups(word & (ends ^ (ends - 1)));
	return at + (__builtin_ctzll(ends) + 1) / 8;
}

const uint8_t *orma_proto_get_long_varint(const uint8_t *at, const uint8_t *end, uint64_t *ret);

/*
 * Returns the address behind the varint, or NULL when [at, end) does not begin with a whole varint
 * of at most ten bytes. Bits beyond the 64th are dropped, as in protobuf.
 */
static inline const uint8_t *orma_proto_get_varint(const uint8_t *at, const uint8_t *end,
						   uint64_t *ret)
{
	if (at < end && at[0] < 0x80) {
		*ret = at[0];
		return at + 1;
	}
	if (end - at >= 2 && at[1] < 0x80) {
		*ret = (uint64_t)(at[0] & 0x7f) | (uint64_t)at[1] << 7;
		return at + 2;
	}
	return orma_proto_get_long_varint(at, end, ret);
}

#endif
