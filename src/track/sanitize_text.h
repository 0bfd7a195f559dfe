/* SPDX-License-Identifier: Apache-2.0
 * sanitize_text.h - the application's texts as valid UTF-8, which readers of traces require.
 */
#ifndef ORMA_TRACK_SANITIZE_TEXT_H
#define ORMA_TRACK_SANITIZE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/writer.h"

/* The bits that are clear in eight bytes of ASCII. */
#define ORMA_TRACK_NOT_ASCII UINT64_C(0x8080808080808080)

bool orma_track_text_is_valid(const char *text, size_t size);
/* Copies `size` bytes; each byte that belongs to no character becomes a '?'. `to` and `text` must
 * not overlap. */
void orma_track_text_sanitize(char *to, const char *text, size_t size);
/* Writes a string field of any size, sanitized. */
void orma_track_write_text(struct orma_proto_writer *writer, uint32_t field_id, const char *text,
			   size_t size);

/* Eight bytes of a text as one word. */
static inline uint64_t orma_track_text_word(const char *text)
{
	uint64_t word;

	memcpy(&word, text, sizeof(word));
	return word;
}

/* All bytes of a text shorter than eight as one word. */
static inline uint64_t orma_track_text_short_word(const char *text, size_t size)
{
	uint32_t first, last;

	if (size >= sizeof(first)) {
		memcpy(&first, text, sizeof(first));
		memcpy(&last, text + size - sizeof(last), sizeof(last));
		return first | (uint64_t)last << 8 * (size - sizeof(last));
	}
	return size == 0 ? 0
			 : (uint8_t)text[0] | (uint64_t)(uint8_t)text[size / 2] << 8 * (size / 2) |
				   (uint64_t)(uint8_t)text[size - 1] << 8 * (size - 1);
}

/*
 * Copies a text; true when all of it is ASCII. Otherwise the copy has to be sanitized. May store 8
 * bytes beyond the end. The last word of a text of eight bytes or more overlaps the word before.
 */
static inline bool orma_track_text_copy_ascii(uint8_t *to, const char *text, size_t size)
{
	const char *last;
	uint64_t seen, word;

	if (size < sizeof(word)) {
		seen = orma_track_text_short_word(text, size);
		memcpy(to, &seen, sizeof(seen));
		return (seen & ORMA_TRACK_NOT_ASCII) == 0;
	}
	last = text + size - sizeof(word);
	seen = word = orma_track_text_word(last);
	memcpy(to + (last - text), &word, sizeof(word));
	for (; text < last; text += sizeof(word), to += sizeof(word)) {
		word = orma_track_text_word(text);
		memcpy(to, &word, sizeof(word));
		seen |= word;
	}
	return (seen & ORMA_TRACK_NOT_ASCII) == 0;
}

#endif
