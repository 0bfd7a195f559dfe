/* SPDX-License-Identifier: Apache-2.0
 * writer.c - the out-of-line half of the single-pass writer: window changes and lengths.
 *
 * Decides when a window ends; the bytes belong to the sink. Invariants: begin <= cursor <= end, and
 * the list of open messages holds exactly those whose length field is reserved and not filled in. A
 * scalar or a string may be split between windows at any byte. A length field is never split,
 * because the sink must be able to point at its four bytes.
 *
 * Rejected: computing sizes first, because that needs the message as a tree and a second pass;
 * shrinking lengths to their minimal form at the end, because that moves bytes that another process
 * may be reading.
 */
#include "proto/writer.h"

static void change_window(struct orma_proto_writer *writer)
{
	writer->written_before += (uint64_t)(writer->cursor - writer->begin);
	writer->begin = writer->cursor; /* so that the sink may call orma_proto_writer_written() */
	writer->next_window(writer);
	writer->begin = writer->cursor;
	ORMA_ASSERT(writer->end - writer->cursor >= ORMA_PROTO_SINK_MIN);
}

void orma_proto_writer_init(struct orma_proto_writer *writer, uint8_t *begin, uint8_t *end,
			    orma_proto_sink_fn *next_window)
{
	*writer = (struct orma_proto_writer){
		.cursor = begin, .end = end, .begin = begin, .next_window = next_window};
}

void orma_proto_write_raw(struct orma_proto_writer *writer, const void *data, size_t size)
{
	const uint8_t *from = data;

	ORMA_ASSERT(writer->begin <= writer->cursor && writer->cursor <= writer->end);
	while (size > 0) {
		size_t room = (size_t)(writer->end - writer->cursor);

		if (room == 0) {
			change_window(writer);
			continue;
		}
		if (room > size)
			room = size;
		memcpy(writer->cursor, from, room);
		writer->cursor += room;
		from += room;
		size -= room;
	}
}

void orma_proto_write_varint_slow(struct orma_proto_writer *writer, uint32_t tag, uint64_t value)
{
	uint8_t field[ORMA_PROTO_SCALAR_FIELD_MAX];
	uint8_t *end = orma_proto_put_varint(orma_proto_put_varint(field, tag), value);

	orma_proto_write_raw(writer, field, (size_t)(end - field));
}

void orma_proto_write_bytes_slow(struct orma_proto_writer *writer, uint32_t tag, const void *data,
				 size_t size)
{
	orma_proto_write_varint_slow(writer, tag, size);
	orma_proto_write_raw(writer, data, size);
}

void orma_proto_nested_begin_slow(struct orma_proto_writer *writer,
				  struct orma_proto_nested *nested, uint32_t tag)
{
	uint8_t head[ORMA_PROTO_TAG_MAX];

	orma_proto_write_raw(writer, head, (size_t)(orma_proto_put_varint(head, tag) - head));
	if (writer->end - writer->cursor < ORMA_PROTO_LENGTH_BYTES)
		change_window(writer);
	ORMA_ASSERT(writer->open != nested);
	nested->length_field = writer->cursor;
	writer->cursor += ORMA_PROTO_LENGTH_BYTES;
	nested->start_bytes = orma_proto_writer_written(writer);
	nested->parent = writer->open;
	writer->open = nested;
}

void orma_proto_nested_end(struct orma_proto_writer *writer, struct orma_proto_nested *nested)
{
	uint64_t written = orma_proto_writer_written(writer);
	struct orma_proto_nested *open;

	do {
		open = writer->open;
		if (!open)
			return;
		/* A longer message cannot be expressed; the sinks refuse it because of its total
		 * size. */
		orma_proto_put_length(open->length_field,
				      (uint32_t)ORMA_MIN(written - open->start_bytes,
							 (uint64_t)ORMA_PROTO_LENGTH_MAX));
		writer->open = open->parent;
	} while (open != nested);
}

void orma_proto_writer_end_all(struct orma_proto_writer *writer)
{
	orma_proto_nested_end(writer, NULL);
}
