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
