/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_fixture.h - writes a trace buffer's chunks, and compares its packets, as text.
 *
 * A chunk is a string of fragments. A letter and a number are a fragment of so many bytes of that letter
 * ("a5b3": aaaaa, bbb), '-' is an empty fragment, '!' the mark of a packet that was given up, '?' a size
 * beyond the chunk. The packets that are read are listed in their order, each as its first byte, its size
 * and its loss bits.
 */
#ifndef ORMA_TESTS_BUFFER_TRACE_BUFFER_FIXTURE_H
#define ORMA_TESTS_BUFFER_TRACE_BUFFER_FIXTURE_H

#include "buffer/trace_buffer.h"

#include "base/alloc.h"
#include "harness.h"

enum {
	PREVIOUS = ORMA_TRACE_BUFFER_CHUNK_CONTINUES_PREVIOUS,
	NEXT = ORMA_TRACE_BUFFER_CHUNK_CONTINUES_ON_NEXT,
	PATCH = ORMA_TRACE_BUFFER_CHUNK_NEEDS_PATCHING,
	SCRAPED = 0x80,      /* for tests: is_complete = false */
	UNCOMMITTED = 0x100, /* for tests: is_scraped = true */
};

static uint8_t payload[1 << 16];

/* Returns the number of fragments and writes their bytes to `payload`. */
static inline uint16_t encode(const char *text, size_t *ret_size)
{
	uint16_t count = 0;
	size_t at = 0;
	for (; *text; count++) {
		char letter = *text++;
		unsigned long size = strtoul(text, (char **)&text, 10);
		if (letter == '!' || letter == '?') {
			static const uint8_t abort_mark[4] = {0xff, 0xff, 0xff, 0x7f},
					     huge[4] = {0xff, 0xff, 0xff, 0x01};
			memcpy(payload + at, letter == '!' ? abort_mark : huge, 4);
			at += 4;
			continue;
		}
		if (size >= 128)
			payload[at++] = (uint8_t)(size | 0x80);
		payload[at++] = (uint8_t)(size >= 128 ? size >> 7 : size);
		memset(payload + at, letter, size);
		at += size;
	}
	*ret_size = at;
	return count;
}

static inline int put_as(struct orma_trace_buffer *buffer, struct orma_trace_buffer_writer writer,
			 uint32_t chunk_id, unsigned flags, const char *text, size_t chunk_size)
{
	size_t size;
	uint16_t count = encode(text, &size);
	return orma_trace_buffer_write_chunk(
		buffer, &(struct orma_trace_buffer_chunk){
				.writer = writer,
				.chunk_id = chunk_id,
				.fragment_count = count,
				.flags = (uint8_t)(flags & 7),
				.is_complete = !(flags & SCRAPED),
				.is_scraped = flags & UNCOMMITTED,
				.payload_untrusted = payload,
				.payload_size_bytes = chunk_size > size ? chunk_size : size});
}

static inline int put(struct orma_trace_buffer *buffer, uint16_t writer_id, uint32_t chunk_id,
		      unsigned flags, const char *text)
{
	return put_as(buffer,
		      (struct orma_trace_buffer_writer){.producer_id = 1, .writer_id = writer_id},
		      chunk_id, flags, text, flags & SCRAPED ? 256 : 0);
}

static inline void read_pass(struct orma_trace_buffer *buffer, char *text, size_t size)
{
	struct orma_trace_buffer_packet packet;
	size_t at = 0;
	text[0] = 0;
	orma_trace_buffer_read_begin(buffer);
	while (orma_trace_buffer_read_packet(buffer, &packet) == 1) {
		size_t sum = 0;
		for (size_t i = 0; i < packet.slice_count; i++)
			sum += packet.slices[i].size;
		CHECK_INT(sum, packet.size_bytes);
		at += (size_t)snprintf(text + at, size - at, "%s%c%zu", at ? " " : "",
				       packet.slices[0].data[0], packet.size_bytes);
		if (packet.loss)
			at += (size_t)snprintf(text + at, size - at, "/%u", packet.loss);
		CHECK(at < size);
	}
}

static inline void check_read(const char *file, int line, struct orma_trace_buffer *buffer,
			      const char *expected)
{
	static char text[4096];
	read_pass(buffer, text, sizeof(text));
	if (strcmp(text, expected) != 0)
		orma_test_fail(file, line, "read \"%s\", expected \"%s\"", text, expected);
}
#define CHECK_READ(buffer, expected) check_read(__FILE__, __LINE__, buffer, expected)

static inline struct orma_trace_buffer *make(enum orma_trace_buffer_policy policy)
{
	struct orma_trace_buffer *buffer;
	CHECK_INT(orma_trace_buffer_new(4096, policy, &buffer), 0);
	return buffer;
}

static inline const struct orma_trace_buffer_stats *stats(const struct orma_trace_buffer *buffer)
{
	return orma_trace_buffer_stats(buffer);
}

/* Writes a chunk that takes `outer` bytes of the buffer and holds one packet of that letter. */
static inline int put_outer(struct orma_trace_buffer *buffer, uint16_t writer_id, uint32_t chunk_id,
			    char letter, unsigned outer)
{
	char text[16];
	unsigned size = outer - 16 - (outer - 16 > 128 ? 2 : 1);
	snprintf(text, sizeof(text), "%c%u", letter, size);
	return put(buffer, writer_id, chunk_id, 0, text);
}

#endif
