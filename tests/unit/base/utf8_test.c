/* SPDX-License-Identifier: Apache-2.0
 * utf8_test.c - bytes that are characters, and characters that are visible.
 */
#include "base/utf8.h"

#include "base/macros.h"
#include "harness.h"

ORMA_TEST(one_byte_alone_is_visible_from_space_to_tilde)
{
	for (int i = 0; i < 256; i++) {
		char byte = (char)i;
		struct orma_str text = {&byte, 1};

		CHECK_INT(orma_base_utf8_size(text), i < 0x80);
		CHECK_INT(orma_base_utf8_visible_size(text), i >= ' ' && i <= '~');
	}
	CHECK_INT(orma_base_utf8_size((struct orma_str){"", 0}), 0);
	CHECK_INT(orma_base_utf8_visible_size((struct orma_str){"", 0}), 0);
}

ORMA_TEST(characters_of_all_sizes_are_visible)
{
	static const char *const texts[] = {"\u00a0", "\u00e9", "\u200b",     "\u2027",    "\u202f",
					    "\u20ac", "\ufffd", "\U0001f600", "\U0010ffff"};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(texts); i++) {
		struct orma_str text = orma_base_str(texts[i]);

		CHECK_INT(orma_base_utf8_visible_size(text), text.size);
		/* A part of a character is not a character. */
		for (size_t size = 1; size < text.size; size++)
			CHECK_INT(orma_base_utf8_size((struct orma_str){text.data, size}), 0);
	}
}

ORMA_TEST(what_acts_instead_of_being_seen_is_a_character_but_not_visible)
{
	static const char *const texts[] = {"\n",       "\t",       "\033",     "\177",
					    "\xc2\x80", "\xc2\x9b", "\xc2\x9f", "\u061c",
					    "\u200e",   "\u200f",   "\u2028",   "\u2029",
					    "\u202a",   "\u202e",   "\u2066",   "\u2069"};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(texts); i++) {
		CHECK_INT(orma_base_utf8_size(orma_base_str(texts[i])), strlen(texts[i]));
		CHECK_INT(orma_base_utf8_visible_size(orma_base_str(texts[i])), 0);
	}
}

ORMA_TEST(what_only_looks_like_a_character_is_none)
{
	static const char *const texts[] = {
		"\xc0\x80",
		"\xc1\xbf",
		"\xe0\x9f\xbf",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\x80",
		"\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xff",
		"\xc3(",
		"\xe2\x82(",
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(texts); i++)
		CHECK_INT(orma_base_utf8_size(orma_base_str(texts[i])), 0);
}
