/* SPDX-License-Identifier: Apache-2.0
 * utf8.c - recognises well-formed and visible characters by their bytes alone.
 *
 * Owns nothing and depends on no locale. Rejected: iswprint(), because it needs a locale, which a
 * library may not set, and each C library has its own table.
 */
#include "base/utf8.h"

size_t orma_base_utf8_size(struct orma_str text)
{
	const unsigned char *at = (const unsigned char *)text.data;

	if (text.size == 0)
		return 0;
	size_t size = at[0] < 0x80   ? 1
		      : at[0] < 0xc2 ? 0
		      : at[0] < 0xe0 ? 2
		      : at[0] < 0xf0 ? 3
		      : at[0] < 0xf5 ? 4
				     : 0;
	if (text.size < size)
		return 0;
	for (size_t i = 1; i < size; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	/* Refuse overlong forms, halves of surrogate pairs, and code points beyond U+10FFFF. */
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] >= 0xa0) ||
	    (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] >= 0x90))
		return 0;
	return size;
}

static bool is_between(uint32_t code, uint32_t first, uint32_t last)
{
	return code >= first && code <= last;
}

/* All hidden characters are below U+10000, so they have at most three bytes. */
static bool is_hidden(const unsigned char *at, size_t size)
{
	uint32_t code = at[0];

	if (size == 2)
		code = (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu);
	else if (size == 3)
		code = (at[0] & 0xfu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
	else if (size == 4)
		return false;
	return code < 0x20 || is_between(code, 0x7f, 0x9f) || code == 0x061c ||
	       is_between(code, 0x200e, 0x200f) || is_between(code, 0x2028, 0x202e) ||
	       is_between(code, 0x2066, 0x2069);
}

size_t orma_base_utf8_visible_size(struct orma_str text)
{
	size_t size = orma_base_utf8_size(text);

	return size > 0 && is_hidden((const unsigned char *)text.data, size) ? 0 : size;
}
