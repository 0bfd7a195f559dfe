/* SPDX-License-Identifier: Apache-2.0
 * wire.c - varints of more than two bytes; wire.h reads the others inline.
 *
 * Most of them are timestamps or numbers of tracks, of five to eight bytes. They are read as one word whose groups of seven
 * bits are pushed together. Rejected: refusing ten-byte varints whose last byte has more than one bit, because
 * protobuf's own readers accept them.
 */
#include "proto/wire.h"

#include "base/macros.h"

const uint8_t *orma_proto_get_long_varint(const uint8_t *at, const uint8_t *end, uint64_t *ret)
{
	const uint8_t *behind = orma_proto_get_word_varint(at, end, ret);
	if (behind)
		return behind;
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
