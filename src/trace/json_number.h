/* SPDX-License-Identifier: Apache-2.0
 * json_number.h - the number at the cursor of a scan; see json_scan.h for what becomes of it.
 */
#ifndef ORMA_TRACE_JSON_NUMBER_H
#define ORMA_TRACE_JSON_NUMBER_H

#include <string.h>

#include "trace/json_scan.h"

#define ORMA_JSON_EACH_BYTE(c) ((uint64_t)(uint8_t)(c)*UINT64_C(0x0101010101010101))

/* Returns eight bytes, the first of them lowest, because all supported machines are little-endian. */
static inline uint64_t orma_json_load(const char *at)
{
	uint64_t word;
	memcpy(&word, at, sizeof(word));
	return word;
}

enum { ORMA_JSON_DIGITS_MAX = 19 };
/* Powers of ten. */
extern const uint64_t orma_json_powers[ORMA_JSON_DIGITS_MAX + 1];

static inline bool orma_json_is_digit(char c)
{
	return (unsigned)(c - '0') <= 9;
}

/* Returns the number whose eight digits these bytes have the values of. Neighbours become pairs, fours, all. */
static inline uint64_t orma_json_join_digits(uint64_t bytes)
{
	bytes = (bytes * (1 + (10 << 8)) >> 8) & UINT64_C(0x00ff00ff00ff00ff);
	bytes = (bytes * (1 + (100 << 16)) >> 16) & UINT64_C(0x0000ffff0000ffff);
	return bytes * (1 + (UINT64_C(10000) << 32)) >> 32;
}

/* Reads eight bytes, as the values of the digits that they begin with. Returns how many those are. */
static inline unsigned orma_json_load_digits(const char *at, uint64_t *ret)
{
	/* The high bit of a byte is found in the first one that is no digit. */
	uint64_t bytes = orma_json_load(at) ^ ORMA_JSON_EACH_BYTE('0');
	uint64_t others = ((bytes + ORMA_JSON_EACH_BYTE(0x76)) | bytes) & ORMA_JSON_EACH_BYTE(0x80);
	*ret = bytes;
	return others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
}

/* Reads digits as far as they go, behind those that are in *digits. It overflows when there are too many. */
static inline const char *orma_json_read_digits(const char *at, const char *end, uint64_t *digits)
{
	while (end - at >= 8) {
		uint64_t bytes;
		unsigned count = orma_json_load_digits(at, &bytes);
		if (count == 0)
			return at;
		*digits = *digits * orma_json_powers[count] +
			  orma_json_join_digits(bytes << (64 - 8 * count));
		at += count;
		if (count < 8)
			return at;
	}
	for (; at < end && orma_json_is_digit(*at); at++)
		*digits = *digits * 10 + (unsigned)(*at - '0');
	return at;
}

/* MEMBER, CUT (it may go on behind the end), or DAMAGED. */
enum orma_json_next orma_json_read_number(struct orma_json_scan *scan, struct orma_json_value *ret);

#endif
