/* SPDX-License-Identifier: Apache-2.0
 * sanitize_text.c - replacing bytes that are no UTF-8.
 *
 * A string field with other bytes makes strict protobuf readers refuse the whole packet. Each byte
 * that belongs to no well-formed character (Unicode, table 3-7: no overlong forms, surrogates, or
 * numbers beyond U+10FFFF) becomes one '?', so that a text keeps its size and sizes can be written
 * before texts. Rejected: U+FFFD (three bytes for one); Latin-1 as a guess.
 */
#include "track/sanitize_text.h"

struct range {
	uint8_t first_min, first_max, second_min, second_max, size;
};

static const struct range ranges[] = {
	{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
	{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
	{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/* Bytes of the character at `at`; 0 = none. */
static size_t character_size(const uint8_t *at, size_t left)
{
	if (at[0] < 0x80)
		return 1;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(ranges); i++) {
		const struct range *range = &ranges[i];

		if (at[0] < range->first_min || at[0] > range->first_max)
			continue;
		if (left < range->size || at[1] < range->second_min || at[1] > range->second_max)
			return 0;
		for (size_t j = 2; j < range->size; j++)
			if (at[j] < 0x80 || at[j] > 0xbf)
				return 0;
		return range->size;
	}
	return 0;
}

/* Bytes up to the first that belongs to no character. */
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
