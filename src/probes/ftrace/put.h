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
 * The low 56 bits of a value in groups of 7, each in a byte of its own: they are moved apart by three doublings.
 */
static inline uint64_t orma_put_spread(uint64_t value)
{
	uint64_t bytes = (value & 0x000000000fffffff) | (value & 0x00fffffff0000000) << 4;

	bytes = (bytes & 0x00003fff00003fff) | (bytes & 0x0fffc0000fffc000) << 2;
	return (bytes & 0x007f007f007f007f) | (bytes & 0x3f803f803f803f80) << 1;
}

static inline void orma_put_u64(uint8_t *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
}

/* A varint without a loop. All bytes but the last get their mark; of the 8 bytes that are stored, the first ones count. */
static inline uint8_t *orma_put_varint56(uint8_t *at, uint64_t value)
{
	unsigned extra =
		(63 - (unsigned)__builtin_clzll(value | 1)) / 7; /* bytes before the last */
	uint64_t marks = UINT64_C(0x8080808080808080) & ((UINT64_C(1) << 8 * extra) - 1);

	orma_put_u64(at, orma_put_spread(value) | marks);
	return at + extra + 1;
}

/* Negative numbers: ten bytes. */
static inline uint8_t *orma_put_varint64(uint8_t *at, uint64_t value)
{
	uint64_t high = value >> 56;

	orma_put_u64(at, orma_put_spread(value) | UINT64_C(0x8080808080808080));
	at[8] = (uint8_t)(high < 0x80 ? high : high | 0x80);
	at[9] = (uint8_t)(high >> 7);
	return at + 9 + (high >> 7);
}

/* Most values have one or two bytes. */
static inline uint8_t *orma_put_varint(uint8_t *at, uint64_t value)
{
	if (value < 0x80) {
		*at = (uint8_t)value;
		return at + 1;
	}
	if (value < 0x4000) {
		at[0] = (uint8_t)(value | 0x80);
		at[1] = (uint8_t)(value >> 7);
		return at + 2;
	}
	return ORMA_LIKELY(value < UINT64_C(1) << 56) ? orma_put_varint56(at, value)
						      : orma_put_varint64(at, value);
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
