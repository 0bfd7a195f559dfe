/* SPDX-License-Identifier: Apache-2.0
 * put.h - stores of protobuf's parts into memory that has room for them and 8 bytes more.
 */
#ifndef ORMA_PROBES_PUT_H
#define ORMA_PROBES_PUT_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "proto/wire.h"

/*
 * A varint below 2^56 without a loop: the value's groups of 7 bits are moved apart to groups of 8 by three doublings, all
 * bytes but the last get their mark, and 8 bytes are stored of which the first ones count.
 */
static inline uint8_t *orma_put_varint56(uint8_t *at, uint64_t value)
{
	unsigned extra =
		(63 - (unsigned)__builtin_clzll(value | 1)) / 7; /* bytes before the last */
	uint64_t bytes = (value & 0x000000000fffffff) | (value & 0x00fffffff0000000) << 4;

	bytes = (bytes & 0x00003fff00003fff) | (bytes & 0x0fffc0000fffc000) << 2;
	bytes = (bytes & 0x007f007f007f007f) | (bytes & 0x3f803f803f803f80) << 1;
	bytes |= UINT64_C(0x8080808080808080) & ((UINT64_C(1) << 8 * extra) - 1);
	bytes = htole64(bytes);
	memcpy(at, &bytes, sizeof(bytes));
	return at + extra + 1;
}

/* Most values have one byte, or fewer than 57 bits. */
static inline uint8_t *orma_put_varint(uint8_t *at, uint64_t value)
{
	if (value < 0x80) {
		*at = (uint8_t)value;
		return at + 1;
	}
	if (ORMA_LIKELY(value < UINT64_C(1) << 56))
		return orma_put_varint56(at, value);
	return orma_proto_put_varint(at, value);
}

/* A varint of exactly `bytes` bytes, which the value may not need. */
static inline void orma_put_length(uint8_t *at, uint32_t value, unsigned bytes)
{
	for (; bytes > 1; bytes--, value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at = (uint8_t)value;
}

/* A tag that is already encoded. */
static inline uint8_t *orma_put_tag(uint8_t *at, uint32_t tag, unsigned bytes)
{
	memcpy(at, &tag, sizeof(tag));
	return at + bytes;
}

#endif
