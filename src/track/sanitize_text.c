/* SPDX-License-Identifier: Apache-2.0
 * sanitize_text.c - replaces bytes that are not UTF-8.
 *
 * Strict protobuf readers refuse a whole packet if a string field in it is not UTF-8. Each byte
 * that belongs to no well-formed character (base/utf8.h) becomes one '?'. So a text keeps its size,
 * and sizes can be written before texts.
 *
 * Rejected: U+FFFD (three bytes for one); guessing that the text is Latin-1.
 */
#include "track/sanitize_text.h"

#include "base/utf8.h"

/* Bytes of the character at `at`; 0 = none. Nearly all text is ASCII. */
static size_t character_size(const uint8_t *at, size_t left)
{
	return at[0] < 0x80 ? 1 : orma_base_utf8_size((struct orma_str){(const char *)at, left});
}

/* Bytes up to the first one that belongs to no character. */
static size_t clean_size(const uint8_t *at, size_t size)
{
	size_t done = 0, step;

	while (done < size && (step = character_size(at + done, size - done)) > 0)
		done += step;
	return done;
}

bool orma_track_text_is_valid(const char *text, size_t size)
{
	return clean_size((const uint8_t *)text, size) == size;
}

void orma_track_text_sanitize(char *to, const char *text, size_t size)
{
	while (size > 0) {
		size_t step = clean_size((const uint8_t *)text, size);

		memcpy(to, text, step);
		if (step < size)
			to[step++] = '?';
		to += step;
		text += step;
		size -= step;
	}
}

void orma_track_write_text(struct orma_proto_writer *writer, uint32_t field_id, const char *text,
			   size_t size)
{
	uint8_t head[ORMA_PROTO_SCALAR_FIELD_MAX], *end;

	if (orma_track_text_is_valid(text, size)) {
		orma_proto_write_bytes(writer, field_id, text, size);
		return;
	}
	end = orma_proto_put_varint(head, orma_proto_tag(field_id, ORMA_PROTO_BYTES));
	end = orma_proto_put_varint(end, size);
	orma_proto_write_raw(writer, head, (size_t)(end - head));
	while (size > 0) {
		size_t step = clean_size((const uint8_t *)text, size);

		orma_proto_write_raw(writer, text, step);
		if (step < size) {
			orma_proto_write_raw(writer, "?", 1);
			step++;
		}
		text += step;
		size -= step;
	}
}
