/* SPDX-License-Identifier: Apache-2.0
 * wire.c - varints of more than two bytes; wire.h reads the others inline.
 *
 * Owns nothing. Rejected: an unrolled or SIMD decoder, because nearly all varints of a trace have
 * one or two bytes and never come here; refusing ten-byte varints whose last byte has more than one
 * bit, because protobuf's own readers accept them.
 */
#include "proto/wire.h"

#include "base/macros.h"

const uint8_t *orma_proto_get_long_varint(const uint8_t *at, const uint8_t *end, uint64_t *ret)
{
	size_t limit = ORMA_MIN((size_t)(end - at), (size_t)ORMA_PROTO_VARINT_MAX);
	uint64_t value = 0;

	for (size_t i = 0; i < limit; i++) {
		value |= (uint64_t)(at[i] & 0x7f) << (7 * i);
		if (at[i] < 0x80) {
			*ret = value;
			return at + i + 1;
		}
	}
	return NULL;
}
