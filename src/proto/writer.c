/* SPDX-License-Identifier: Apache-2.0
 * writer.c - the out-of-line half of the single-pass writer: window changes and lengths.
 *
 * Owns the rule of when a window ends; the bytes belong to the sink. Invariant: begin <= cursor <=
 * end, and the open list holds exactly the messages whose length field is reserved but not filled
 * in. A scalar or string may be split between windows at any byte, a length field never (the sink
 * must be able to point at four bytes).
 *
 * Rejected: computing sizes first (needs the message as a tree and a second pass); shrinking
 * lengths to their minimal form at the end (moves bytes that another process may be reading).
 */
#include "proto/writer.h"

static void change_window(struct orma_proto_writer *writer)
{
	writer->written_before += (uint64_t)(writer->cursor - writer->begin);
	writer->begin = writer->cursor; /* written() stays right while the sink runs */
	writer->next_window(writer);
	writer->begin = writer->cursor;
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
		/* Longer ones cannot be expressed; the sinks refuse such packets by their total
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
