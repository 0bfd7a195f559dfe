/* SPDX-License-Identifier: Apache-2.0
 * base64.c - three bytes become four characters of the usual alphabet; the last group is filled up with =.
 */
#include "trace/base64.h"

#include <errno.h>

int orma_base64_append(struct orma_buf *buf, struct orma_str bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	int r = orma_base_buf_reserve(buf, bytes.size / 3 * 4 + 4);
	for (size_t at = 0; at < bytes.size && r == 0; at += 3) {
		size_t left = bytes.size - at;
		uint32_t bits = (uint32_t)(uint8_t)bytes.data[at] << 16;
		if (left > 1)
			bits |= (uint32_t)(uint8_t)bytes.data[at + 1] << 8;
		if (left > 2)
			bits |= (uint8_t)bytes.data[at + 2];
		const char group[] = {digits[bits >> 18], digits[bits >> 12 & 63],
				      (char)(left > 1 ? digits[bits >> 6 & 63] : '='),
				      (char)(left > 2 ? digits[bits & 63] : '=')};
		r = orma_base_buf_append(buf, group, sizeof(group));
	}
	return r;
}

/* Returns the six bits of a character, or -1. */
static int digit_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int orma_base64_read(struct orma_buf *buf, struct orma_str text)
{
	size_t digits = text.size;
	if (text.size % 4 != 0)
		return -EBADMSG;
	/* Only the last two characters may fill the last group up. */
	for (size_t i = 0; i < 2 && digits > 0 && text.data[digits - 1] == '='; i++)
		digits--;
	if (orma_base_buf_reserve(buf, text.size / 4 * 3) < 0)
		return -ENOMEM;
	uint32_t bits = 0;
	for (size_t i = 0; i < digits; i++) {
		int digit = digit_of(text.data[i]);
		if (digit < 0)
			return -EBADMSG;
		bits = bits << 6 | (uint32_t)digit;
		/* Each character but the first of a group ends a byte. */
		if (i % 4 > 0)
			buf->data[buf->size++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
	}
	return 0;
}
