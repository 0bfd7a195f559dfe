/* SPDX-License-Identifier: Apache-2.0
 * base91.c - thirteen bits become two characters, because 91 * 91 is a little more than 2^13.
 *
 * The digits are all characters of ASCII from ! to ~ but &, < and >, so that a text is nothing but text in HTML. The first byte has
 * the lowest bits, and the first character of a pair is the value modulo 91. The last bits are one character if there are at most
 * six of them. Rejected: base64, whose text is 8 % longer; the basE91 of others, which saves 1 % more by pairs of fourteen bits, and
 * has the characters that mean something in HTML; bytes as they are, which editors and mail programs damage.
 */
#include "trace/base91.h"

#include <errno.h>

enum { DIGITS = 91, PAIR_BITS = 13, LAST_BITS = 6 };

static char character_of(uint32_t digit)
{
	uint32_t c = '!' + digit;
	c += c >= '&';
	c += c >= '<';
	return (char)(c + (c >= '>'));
}

/* Returns the digit of a character, or DIGITS. */
static uint32_t digit_of(char character)
{
	uint32_t c = (uint8_t)character;
	if (c < '!' || c > '~' || c == '&' || c == '<' || c == '>')
		return DIGITS;
	return c - '!' - (c > '&') - (c > '<') - (c > '>');
}

int orma_base91_append(struct orma_buf *buf, struct orma_str bytes)
{
	uint32_t bits = 0, count = 0;
	if (bytes.size > SIZE_MAX / 2 || orma_base_buf_reserve(buf, bytes.size / 4 * 5 + 5) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < bytes.size || count > 0; i++) {
		if (i < bytes.size) {
			bits |= (uint32_t)(uint8_t)bytes.data[i] << count;
			count += 8;
			if (count < PAIR_BITS)
				continue;
		}
		uint32_t pair = bits & ((1U << PAIR_BITS) - 1);
		buf->data[buf->size++] = (uint8_t)character_of(pair % DIGITS);
		if (count > LAST_BITS)
			buf->data[buf->size++] = (uint8_t)character_of(pair / DIGITS);
		bits >>= PAIR_BITS;
		count -= count < PAIR_BITS ? count : PAIR_BITS;
	}
	return 0;
}

int orma_base91_read(struct orma_buf *buf, struct orma_str text)
{
	uint32_t bits = 0, count = 0;
	if (orma_base_buf_reserve(buf, text.size) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < text.size; i += 2) {
		bool is_pair = i + 1 < text.size;
		uint32_t low = digit_of(text.data[i]);
		uint32_t high = is_pair ? digit_of(text.data[i + 1]) : 0;
		uint32_t value = low + high * DIGITS;
		if (low == DIGITS || high == DIGITS || value >> (is_pair ? PAIR_BITS : LAST_BITS))
			return -EBADMSG;
		bits |= value << count;
		for (count += is_pair ? PAIR_BITS : LAST_BITS; count >= 8; count -= 8, bits >>= 8)
			buf->data[buf->size++] = (uint8_t)bits;
	}
	return 0;
}
