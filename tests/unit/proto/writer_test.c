/* SPDX-License-Identifier: Apache-2.0
 * writer_test.c - the single-pass writer over windows of every size, and over the heap.
 *
 * The windows of the sink are slices of one array with a gap of poison between them, so that a write
 * outside of a window is found. The expected bytes come from the heap writer, whose own bytes are
 * written out once. Rejected: a sink with malloc() for each window, because the order of windows would be
 * lost; random sizes, because all sizes from the minimum on are tried.
 */
#include "proto/writer.h"

#include "base/alloc.h"
#include "harness.h"
#include "proto/reader.h"

#define WINDOWS 512
#define GAP     8

struct window_writer {
	struct orma_proto_writer writer;
	size_t window_bytes, count;
	uint8_t *windows[WINDOWS], *ends[WINDOWS]; /* begin and end of their content */
	uint8_t memory[1 << 16];
};

static void take_window(struct orma_proto_writer *writer)
{
	struct window_writer *w = (struct window_writer *)writer;
	size_t stride = w->window_bytes + GAP;

	CHECK(w->count < WINDOWS && (w->count + 1) * stride <= sizeof(w->memory));
	if (w->count > 0)
		w->ends[w->count - 1] = writer->cursor;
	w->windows[w->count] = w->memory + w->count * stride;
	writer->cursor = w->windows[w->count];
	writer->end = writer->cursor + w->window_bytes;
	w->count++;
}

static void window_writer_init(struct window_writer *w, size_t window_bytes)
{
	memset(w->memory, 0xa5, sizeof(w->memory));
	w->window_bytes = window_bytes;
	w->count = 0;
	orma_proto_writer_init(&w->writer, w->memory, w->memory, take_window);
}

static size_t window_writer_join(struct window_writer *w, uint8_t *ret)
{
	size_t size = 0;

	w->ends[w->count - 1] = w->writer.cursor;
	for (size_t i = 0; i < w->count; i++) {
		size_t part = (size_t)(w->ends[i] - w->windows[i]);

		memcpy(ret + size, w->windows[i], part);
		size += part;
		for (size_t j = 0; j < GAP; j++)
			CHECK_INT(w->windows[i][w->window_bytes + j], 0xa5);
		CHECK(w->window_bytes - part < ORMA_PROTO_LENGTH_BYTES || i + 1 == w->count);
	}
	return size;
}

static void write_sample(struct orma_proto_writer *writer)
{
	struct orma_proto_nested outer, inner, empty;
	char text[100];

	memset(text, 'x', sizeof(text));
	orma_proto_write_varint(writer, 1, 300);
	orma_proto_nested_begin(writer, &outer, 2);
	orma_proto_write_sint(writer, 3, -2);
	orma_proto_write_bool(writer, 4, true);
	orma_proto_nested_begin(writer, &inner, 5);
	orma_proto_write_fixed32(writer, 6, UINT32_C(0xdeadbeef));
	orma_proto_write_fixed64(writer, 7, 1);
	orma_proto_write_float(writer, 8, 1.5f);
	orma_proto_write_double(writer, 9, -2.5);
	orma_proto_write_bytes(writer, 1000, text, sizeof(text));
	orma_proto_nested_end(writer, &inner);
	orma_proto_write_string(writer, 11, "short");
	orma_proto_write_bytes(writer, 12, NULL, 0);
	orma_proto_nested_begin(writer, &empty, ORMA_PROTO_FIELD_ID_MAX);
	orma_proto_nested_end(writer, &empty);
	orma_proto_write_int(writer, 13, -1);
	orma_proto_nested_end(writer, &outer);
	orma_proto_write_raw(writer, "\x70\x01", 2);
	orma_proto_write_str(writer, 15, ORMA_STR("end"));
}

ORMA_TEST(fields_are_encoded_as_protobuf_says)
{
	static const uint8_t expected[] = {
		0x08, 0xac, 0x02,             /* 1: 300 */
		0x12, 0x87, 0x80, 0x80, 0x00, /* 2 { 7 bytes */
		0x18, 0x03,                   /* 3: sint -2 */
		0x2a, 0x80, 0x80, 0x80, 0x00, /* 5 { } */
		0x35, 0xef, 0xbe, 0xad, 0xde, /* 6: fixed32 */
		0x3a, 0x02, 'h',  'i',        /* 7: "hi" */
	};
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested outer, inner;
	struct orma_buf buf = {0};

	orma_proto_heap_writer_init(&heap, &buf);
	orma_proto_write_varint(&heap.writer, 1, 300);
	orma_proto_nested_begin(&heap.writer, &outer, 2);
	orma_proto_write_sint(&heap.writer, 3, -2);
	orma_proto_nested_begin(&heap.writer, &inner, 5);
	orma_proto_nested_end(&heap.writer, &outer); /* ends inner, too */
	CHECK(heap.writer.open == NULL);
	orma_proto_write_fixed32(&heap.writer, 6, UINT32_C(0xdeadbeef));
	orma_proto_write_string(&heap.writer, 7, "hi");
	CHECK_INT(orma_proto_writer_written(&heap.writer), sizeof(expected));
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	CHECK_MEM(buf.data, buf.size, expected, sizeof(expected));
	orma_base_buf_done(&buf);
}

ORMA_TEST(windows_of_any_size_give_the_same_bytes)
{
	struct window_writer *w = malloc(sizeof(*w));
	struct orma_proto_heap_writer heap;
	struct orma_buf buf = {0};
	uint8_t joined[1024];

	orma_proto_heap_writer_init(&heap, &buf);
	write_sample(&heap.writer);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	for (size_t size = ORMA_PROTO_SINK_MIN; size < buf.size + 20; size++) {
		window_writer_init(w, size);
		write_sample(&w->writer);
		CHECK_INT(orma_proto_writer_written(&w->writer), buf.size);
		CHECK_MEM(joined, window_writer_join(w, joined), buf.data, buf.size);
	}
	orma_base_buf_done(&buf);
	free(w);
}

ORMA_TEST(a_redirected_length_field_gets_the_length)
{
	struct window_writer *w = malloc(sizeof(*w));
	struct orma_proto_nested nested;
	uint8_t patch[ORMA_PROTO_LENGTH_BYTES] = {0};

	window_writer_init(w, 64);
	orma_proto_nested_begin(&w->writer, &nested, 1);
	nested.length_field = patch; /* as a sink does before it gives the window away */
	for (int i = 0; i < 100; i++)
		orma_proto_write_varint(&w->writer, 2, 1);
	orma_proto_nested_end(&w->writer, &nested);
	CHECK_MEM(patch, sizeof(patch), "\xc8\x81\x80\x00", 4);
	free(w);
}

ORMA_TEST(end_all_ends_all)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested a, b;
	struct orma_buf buf = {0};

	orma_proto_heap_writer_init(&heap, &buf);
	orma_proto_nested_begin(&heap.writer, &a, 1);
	orma_proto_nested_begin(&heap.writer, &b, 1);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	CHECK_MEM(buf.data, buf.size, "\x0a\x85\x80\x80\x00\x0a\x80\x80\x80\x00", 10);
	orma_base_buf_done(&buf);
}

ORMA_TEST(the_heap_writer_appends_behind_what_is_there)
{
	struct orma_proto_heap_writer heap;
	struct orma_buf buf = {0};

	CHECK_INT(orma_base_buf_append(&buf, "head", 4), 0);
	orma_proto_heap_writer_init(&heap, &buf);
	orma_proto_write_varint(&heap.writer, 1, 5);
	CHECK_INT(buf.size, 4);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	CHECK_MEM(buf.data, buf.size, "head\x08\x05", 6);
	orma_base_buf_done(&buf);
}

ORMA_TEST(room_that_was_asked_for_is_written_in_place)
{
	static const size_t sizes[] = {1, 64, 5000, 100, 0, 3, 70000, 15};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested nested;
	struct orma_proto_field field;
	size_t all = 0;
	orma_proto_heap_writer_init(&heap, &buf);
	orma_proto_nested_begin(&heap.writer, &nested, 1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint8_t *at = orma_proto_heap_writer_reserve(&heap, sizes[i]);
		CHECK(at != NULL);
		memset(at, (int)i, sizes[i]);
		heap.writer.cursor = at + sizes[i];
		all += sizes[i];
	}
	orma_proto_nested_end(&heap.writer, &nested);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	CHECK_INT(orma_proto_reader_find(buf.data, buf.size, 1, &field), 1);
	CHECK_INT(field.bytes.size, all);
	const char *at = field.bytes.data;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (size_t j = 0; j < sizes[i]; j++)
			CHECK(*at++ == (char)i);
}

ORMA_TEST(without_memory_there_is_no_room_to_write_in_place)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_proto_heap_writer heap;
	orma_proto_heap_writer_init(&heap, &buf);
	orma_test_fail_allocation(1);
	CHECK(orma_proto_heap_writer_reserve(&heap, 5000) == NULL);
	CHECK(orma_proto_heap_writer_reserve(&heap, 5000) == NULL);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), -ENOMEM);
}

ORMA_TEST(without_memory_the_heap_writer_leaves_the_buffer_as_it_was)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested outer, inner;

	for (uint64_t nth = 1;; nth++) {
		struct orma_buf buf = {0};
		bool has_failed;

		CHECK_INT(orma_base_buf_append(&buf, "head", 4), 0);
		orma_test_fail_allocation(nth);
		orma_proto_heap_writer_init(&heap, &buf);
		orma_proto_nested_begin(&heap.writer, &outer, 1);
		for (int i = 0; i < 1000; i++)
			orma_proto_write_string(&heap.writer, 2, "some text");
		orma_proto_nested_begin(&heap.writer, &inner, 3);
		orma_proto_write_varint(&heap.writer, 1, 5);
		has_failed = orma_test_allocation_failed();
		CHECK_INT(orma_proto_heap_writer_finish(&heap), has_failed ? -ENOMEM : 0);
		CHECK_INT(buf.size, has_failed ? 4 : 4 + 5 + 11 * 1000 + 5 + 2);
		CHECK(memcmp(buf.data, "head", 4) == 0);
		orma_test_fail_allocation(0);
		orma_base_buf_done(&buf);
		if (!has_failed)
			break;
	}
}

ORMA_TEST(what_the_writer_writes_the_reader_reads)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	struct orma_buf buf = {0};
	size_t count = 0;

	orma_proto_heap_writer_init(&heap, &buf);
	write_sample(&heap.writer);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	orma_proto_reader_init(&reader, buf.data, buf.size);
	while (orma_proto_reader_next(&reader, &field) > 0)
		count++;
	CHECK_INT(count, 4);
	CHECK_INT(field.id, 15);
	CHECK_MEM(field.bytes.data, field.bytes.size, "end", 3);
	orma_base_buf_done(&buf);
}
