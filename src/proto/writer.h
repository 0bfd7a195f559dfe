/* SPDX-License-Identifier: Apache-2.0
 * writer.h - the ProtoZero writer: encodes one message in a single pass, into a chain of buffers
 * that belong to a sink.
 *
 * Picture:      buffer k (sink's)                     buffer k+1
 *          [....tag|LLLL|tag v|tag LLLL|da]      [ta|tag v|............]
 *                   ^nested A    ^nested B                  ^cursor  ^end
 *
 * The *window* is the part of a buffer that the writer may fill. When it is full, the sink moves
 * the writer to the next buffer. A nested message reserves four bytes for its length (LLLL) and
 * fills them in when it ends. Before the sink gives a buffer away, it visits the open nested
 * messages (orma_proto_writer.open, innermost first), and redirects `length_field` of those that
 * lie in it: the shared-memory writer points them into a patch record. Writing never fails: a sink
 * without room supplies a scrap buffer and counts the loss.
 *
 * Threads: none of its own; a writer belongs to one thread.
 */
#ifndef ORMA_PROTO_WRITER_H
#define ORMA_PROTO_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "proto/wire.h"

struct orma_proto_writer;

/* An open nested message; lives on the caller's stack from begin to end. */
struct orma_proto_nested {
	struct orma_proto_nested *parent;
	uint8_t *length_field; /* four bytes, in a buffer or where the sink redirected it */
	uint64_t start_bytes;  /* orma_proto_writer_written() when its content began */
};

/*
 * Called when the window is full. Sets cursor and end to a new window of at least
 * ORMA_PROTO_SINK_MIN bytes. `written_before` already includes the bytes of the old window. The
 * content of the old window ends at `cursor`: up to three bytes before `end` stay unused when a
 * length field did not fit.
 */
typedef void orma_proto_sink_fn(struct orma_proto_writer *writer);

#define ORMA_PROTO_SINK_MIN 16

struct orma_proto_writer {
	uint8_t *cursor, *end;   /* the window */
	uint8_t *begin;          /* where the window begins; written_before counts up to here */
	uint64_t written_before; /* bytes written to earlier windows */
	struct orma_proto_nested *open; /* innermost open nested message */
	orma_proto_sink_fn *next_window;
};

/* Bytes written since init, over all windows. */
static inline uint64_t orma_proto_writer_written(const struct orma_proto_writer *writer)
{
	return writer->written_before + (uint64_t)(writer->cursor - writer->begin);
}

void orma_proto_writer_init(struct orma_proto_writer *writer, uint8_t *begin, uint8_t *end,
			    orma_proto_sink_fn *next_window);

/* Writes the bytes as they are, without a tag: fields that are already encoded. */
void orma_proto_write_raw(struct orma_proto_writer *writer, const void *data, size_t size);

/* The slow paths of the functions below, for a window that may be too small. Do not call them. */
void orma_proto_write_varint_slow(struct orma_proto_writer *writer, uint32_t tag, uint64_t value);
void orma_proto_write_bytes_slow(struct orma_proto_writer *writer, uint32_t tag, const void *data,
				 size_t size);
void orma_proto_nested_begin_slow(struct orma_proto_writer *writer,
				  struct orma_proto_nested *nested, uint32_t tag);

/* Files that are compiled for size would each have a copy of the fast path. */
#ifdef __OPTIMIZE_SIZE__
#define ORMA_PROTO_IS_SMALL true
#else
#define ORMA_PROTO_IS_SMALL false
#endif

/* Room for any tag and any scalar behind it. */
#define ORMA_PROTO_SCALAR_FIELD_MAX (ORMA_PROTO_TAG_MAX + ORMA_PROTO_VARINT_MAX)

static inline bool orma_proto_writer_has_room(const struct orma_proto_writer *writer, size_t bytes)
{
	return ORMA_LIKELY((size_t)(writer->end - writer->cursor) >= bytes);
}

static inline void orma_proto_write_varint(struct orma_proto_writer *writer, uint32_t field_id,
					   uint64_t value)
{
	uint32_t tag = orma_proto_tag(field_id, ORMA_PROTO_VARINT);

	if (orma_proto_writer_has_room(writer, ORMA_PROTO_SCALAR_FIELD_MAX))
		writer->cursor =
			orma_proto_put_varint(orma_proto_put_varint(writer->cursor, tag), value);
	else
		orma_proto_write_varint_slow(writer, tag, value);
}

/* int32 and enum fields: negative values are sign-extended to ten bytes. */
static inline void orma_proto_write_int(struct orma_proto_writer *writer, uint32_t field_id,
					int64_t value)
{
	orma_proto_write_varint(writer, field_id, (uint64_t)value);
}

/* sint32 and sint64 fields: zigzag. */
static inline void orma_proto_write_sint(struct orma_proto_writer *writer, uint32_t field_id,
					 int64_t value)
{
	orma_proto_write_varint(writer, field_id, orma_proto_zigzag(value));
}

static inline void orma_proto_write_bool(struct orma_proto_writer *writer, uint32_t field_id,
					 bool value)
{
	orma_proto_write_varint(writer, field_id, value);
}

static inline void orma_proto_write_fixed(struct orma_proto_writer *writer, uint32_t tag,
					  const void *value, size_t size)
{
	uint8_t field[ORMA_PROTO_TAG_MAX + sizeof(uint64_t)];
	uint8_t *at;

	if (orma_proto_writer_has_room(writer, sizeof(field))) {
		at = orma_proto_put_varint(writer->cursor, tag);
		memcpy(at, value, size);
		writer->cursor = at + size;
		return;
	}
	at = orma_proto_put_varint(field, tag);
	memcpy(at, value, size);
	orma_proto_write_raw(writer, field, (size_t)(at - field) + size);
}

static inline void orma_proto_write_fixed32(struct orma_proto_writer *writer, uint32_t field_id,
					    uint32_t value)
{
	orma_proto_write_fixed(writer, orma_proto_tag(field_id, ORMA_PROTO_FIXED32), &value,
			       sizeof(value));
}

static inline void orma_proto_write_fixed64(struct orma_proto_writer *writer, uint32_t field_id,
					    uint64_t value)
{
	orma_proto_write_fixed(writer, orma_proto_tag(field_id, ORMA_PROTO_FIXED64), &value,
			       sizeof(value));
}

static inline void orma_proto_write_float(struct orma_proto_writer *writer, uint32_t field_id,
					  float value)
{
	orma_proto_write_fixed(writer, orma_proto_tag(field_id, ORMA_PROTO_FIXED32), &value,
			       sizeof(value));
}

static inline void orma_proto_write_double(struct orma_proto_writer *writer, uint32_t field_id,
					   double value)
{
	orma_proto_write_fixed(writer, orma_proto_tag(field_id, ORMA_PROTO_FIXED64), &value,
			       sizeof(value));
}

/* `data` may be NULL when `size` is 0. */
static inline void orma_proto_write_bytes(struct orma_proto_writer *writer, uint32_t field_id,
					  const void *data, size_t size)
{
	uint32_t tag = orma_proto_tag(field_id, ORMA_PROTO_BYTES);
	size_t room = (size_t)(writer->end - writer->cursor);
	uint8_t *at;

	if (ORMA_UNLIKELY(room < ORMA_PROTO_SCALAR_FIELD_MAX ||
			  room - ORMA_PROTO_SCALAR_FIELD_MAX < size || size == 0)) {
		orma_proto_write_bytes_slow(writer, tag, data, size);
		return;
	}
	at = orma_proto_put_varint(orma_proto_put_varint(writer->cursor, tag), size);
	memcpy(at, data, size);
	writer->cursor = at + size;
}

static inline void orma_proto_write_string(struct orma_proto_writer *writer, uint32_t field_id,
					   const char *text)
{
	orma_proto_write_bytes(writer, field_id, text, strlen(text));
}

static inline void orma_proto_write_str(struct orma_proto_writer *writer, uint32_t field_id,
					struct orma_str text)
{
	orma_proto_write_bytes(writer, field_id, text.data, text.size);
}

static inline void orma_proto_nested_begin(struct orma_proto_writer *writer,
					   struct orma_proto_nested *nested, uint32_t field_id)
{
	uint32_t tag = orma_proto_tag(field_id, ORMA_PROTO_BYTES);

	if (ORMA_PROTO_IS_SMALL || ORMA_UNLIKELY(!orma_proto_writer_has_room(
					   writer, ORMA_PROTO_TAG_MAX + ORMA_PROTO_LENGTH_BYTES))) {
		orma_proto_nested_begin_slow(writer, nested, tag);
		return;
	}
	ORMA_ASSERT(writer->open != nested);
	nested->length_field = orma_proto_put_varint(writer->cursor, tag);
	writer->cursor = nested->length_field + ORMA_PROTO_LENGTH_BYTES;
	nested->start_bytes = orma_proto_writer_written(writer);
	nested->parent = writer->open;
	writer->open = nested;
}

/* Ends `nested` and any message still open inside it. */
void orma_proto_nested_end(struct orma_proto_writer *writer, struct orma_proto_nested *nested);
/* Ends all messages that are still open. */
void orma_proto_writer_end_all(struct orma_proto_writer *writer);

/* --- a sink that appends one message to a buffer on the heap ---------------------------------- */

/*
 * Appends to `buf`. When memory runs out, the rest goes to a scrap window and
 * orma_proto_heap_writer_finish() returns -ENOMEM. When the buffer grows, the length fields of open
 * nested messages are redirected.
 */
struct orma_proto_heap_writer {
	struct orma_proto_writer writer; /* first, because the sink casts back */
	struct orma_buf *buf;
	size_t size; /* bytes of the message that are in buf, behind buf->size */
	bool has_failed;
	uint8_t scrap[64];
};

void orma_proto_heap_writer_init(struct orma_proto_heap_writer *heap, struct orma_buf *buf);
/* The slow path of the function below. Do not call it. */
uint8_t *orma_proto_heap_writer_reserve_slow(struct orma_proto_heap_writer *heap, size_t size);
/* Makes room for fields that the caller encodes itself, from the address that it returns on; then the caller moves writer.cursor behind
 * them. NULL when out of memory, which orma_proto_heap_writer_finish() returns. */
static inline uint8_t *orma_proto_heap_writer_reserve(struct orma_proto_heap_writer *heap,
						      size_t size)
{
	return orma_proto_writer_has_room(&heap->writer, size)
		       ? heap->writer.cursor
		       : orma_proto_heap_writer_reserve_slow(heap, size);
}
/*
 * Ends open messages and adds the message to buf->size. Returns 0, -ENOMEM or -EMSGSIZE (more than
 * ORMA_PROTO_LENGTH_MAX bytes); after an error buf->size is as before.
 */
int orma_proto_heap_writer_finish(struct orma_proto_heap_writer *heap);

#endif
