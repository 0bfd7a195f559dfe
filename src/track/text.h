/* SPDX-License-Identifier: Apache-2.0
 * text.h - text of the application on its way into a trace: readers want UTF-8.
 */
#ifndef ORMA_TRACK_TEXT_H
#define ORMA_TRACK_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/writer.h"

bool orma_track_text_is_clean(const char *text, size_t size);
/* As many bytes; each that belongs to no character becomes a '?'. `to` and `text` do not overlap. */
void orma_track_text_clean(char *to, const char *text, size_t size);
/* A string field of any size, cleaned. */
void orma_track_write_text(struct orma_proto_writer *writer, uint32_t field_id, const char *text,
			   size_t size);

/* Copies; true when all of it was ASCII. Otherwise it has to be cleaned. */
static inline bool orma_track_text_copy_ascii(uint8_t *to, const char *text, size_t size)
{
	uint64_t seen = 0, word;

	for (; size >= sizeof(word); size -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		memcpy(to, &word, sizeof(word));
		seen |= word;
		text += sizeof(word);
		to += sizeof(word);
	}
	for (; size > 0; size--) {
		seen |= (uint8_t)*text;
		*to++ = (uint8_t)*text++;
	}
	return (seen & UINT64_C(0x8080808080808080)) == 0;
}

#endif
