/* SPDX-License-Identifier: Apache-2.0
 * wire.c - varints of more than two bytes; wire.h reads the others inline.
 *
 * Most of them are timestamps or numbers of tracks, of five to eight bytes. They are read as one word whose groups of seven
 * bits are pushed together. Rejected: refusing ten-byte varints whose last byte has more than one bit, because
 * protobuf's own readers accept them.
 */
#include "proto/wire.h"

#include "base/macros.h"

/* Takes the top bit out of each byte. */
static uint64_t join_groups(uint64_t word)
{
	word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
	word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
	return (word & UINT64_C(0x0fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
}

const uint8_t *orma_proto_get_long_varint(const uint8_t *at, const uint8_t *end, uint64_t *ret)
{
	if (end - at >= 8) {
		uint64_t word;
		memcpy(&word, at, sizeof(word)); /* all supported machines are little-endian */
		uint64_t ends = ~word & UINT64_C(0x8080808080808080);
		if (ends != 0) {
			*ret = join_groups(word & (ends ^ (ends - 1)));
			return at + (__builtin_ctzll(ends) + 1) / 8;
		}
	}
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
