/* SPDX-License-Identifier: Apache-2.0
 * sanitize_text_test.c - texts handled eight bytes at a time: copying, checking for ASCII, and interning.
 */
#include "track/sanitize_text.h"

#include <stdlib.h>

#include "harness.h"
#include "track/interned_name.h"
#include "track/track_limits.h"

#define SIZE_MAX_TESTED 40

/* Copies the text to memory of exactly its size, so that a sanitizer sees reads beyond it. */
static char *text_new(size_t size)
{
	char *text = malloc(size ? size : 1);

	for (size_t i = 0; i < size; i++)
		text[i] = (char)('a' + i % 26);
	return text;
}

ORMA_TEST(texts_of_all_sizes_are_copied_and_nothing_beyond_eight_more_bytes_is_touched)
{
	for (size_t size = 0; size <= SIZE_MAX_TESTED; size++) {
		uint8_t to[SIZE_MAX_TESTED + 16];
		char *text = text_new(size);

		memset(to, 0xee, sizeof(to));
		CHECK(orma_track_text_copy_ascii(to, text, size));
		CHECK_MEM(to, size, text, size);
		for (size_t i = size + 8; i < sizeof(to); i++)
			CHECK_INT(to[i], 0xee);
		free(text);
	}
}

ORMA_TEST(one_byte_that_is_no_ascii_is_seen_wherever_it_is)
{
	for (size_t size = 1; size <= SIZE_MAX_TESTED; size++) {
		for (size_t at = 0; at < size; at++) {
			uint8_t to[SIZE_MAX_TESTED + 16];
			char *text = text_new(size);

			text[at] = (char)0x80;
			CHECK(!orma_track_text_copy_ascii(to, text, size));
			free(text);
		}
	}
}

ORMA_TEST(names_differ_by_any_byte_and_by_their_size)
{
	uint32_t last_id = 0;

	for (size_t size = 0; size <= SIZE_MAX_TESTED; size++) {
		char *text = text_new(size), *again = text_new(size);
		uint32_t id = orma_track_name_intern_size(text, size, true);

		CHECK(id > last_id);
		last_id = id;
		CHECK_INT(orma_track_name_intern_size(again, size, true), id);
		for (size_t at = 0; at < size; at++) {
			again[at] ^= 1;
			last_id = orma_track_name_intern_size(again, size, true);
			CHECK(last_id > id);
			CHECK_MEM(orma_track_name_get(last_id)->text, size, again, size);
			again[at] ^= 1;
		}
		CHECK_INT(orma_track_name_intern_size(again, size, true), id);
		free(text);
		free(again);
	}
}
