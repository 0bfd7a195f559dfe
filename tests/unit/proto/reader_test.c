/* SPDX-License-Identifier: Apache-2.0
 * reader_test.c - varints and fields of untrusted bytes.
 *
 * Inputs are byte strings that are written out here. Malformed ones are copied to the end of a heap
 * block, so that the address sanitizer sees a read beyond the end. Rejected: random inputs, because the
 * fuzz target has them; inputs made by our own writer, because both could share a mistake.
 */
#include "proto/reader.h"

#include "harness.h"

static int next_of(const void *data, size_t size, struct orma_proto_field *field)
{
	struct orma_proto_reader reader;
	uint8_t *copy = malloc(size);
	int r;

	memcpy(copy, data, size);
	orma_proto_reader_init(&reader, copy, size);
	r = orma_proto_reader_next(&reader, field);
	free(copy);
	return r;
}

ORMA_TEST(varint_sizes_match_what_is_written)
{
	for (unsigned bits = 0; bits <= 64; bits++) {
		uint64_t value = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1, back = 0;
		uint8_t bytes[ORMA_PROTO_VARINT_MAX];
		uint8_t *end = orma_proto_put_varint(bytes, value);

		CHECK_INT(end - bytes, orma_proto_varint_size(value));
		CHECK(orma_proto_get_varint(bytes, end, &back) == end);
		CHECK(back == value);
		CHECK(orma_proto_get_varint(bytes, end - 1, &back) == NULL);
	}
}

ORMA_TEST(varint_of_ten_bytes_drops_bits_beyond_64)
{
	static const uint8_t bytes[] = {0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f};
	uint64_t value;

	CHECK(orma_proto_get_varint(bytes, bytes + 10, &value) == bytes + 10);
	CHECK(value == (UINT64_C(1) << 63 | 1));
}

/* Long varints are read a word at a time where there is room for a word, and byte by byte at the end. */
ORMA_TEST(a_varint_is_the_same_whatever_follows_it)
{
	for (unsigned shift = 0; shift < 64; shift++)
		for (size_t behind = 0; behind < 9; behind++) {
			uint64_t value = UINT64_C(0xa5c39678d2e1f00f) >> shift, back = 0;
			uint8_t bytes[ORMA_PROTO_VARINT_MAX + 9];
			memset(bytes, 0xff, sizeof(bytes));
			const uint8_t *end = orma_proto_put_varint(bytes, value);
			CHECK(orma_proto_get_varint(bytes, end + behind, &back) == end);
			CHECK(back == value);
			CHECK(!orma_proto_get_varint(bytes, end - 1, &back));
		}
}

ORMA_TEST(varint_of_eleven_bytes_is_refused)
{
	static const uint8_t bytes[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					0x80, 0x80, 0x80, 0x80, 0x01};
	uint64_t value;

	CHECK(orma_proto_get_varint(bytes, bytes + 11, &value) == NULL);
}

ORMA_TEST(zigzag_inverts)
{
	static const int64_t values[] = {0, -1, 1, -2, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		CHECK(orma_proto_unzigzag(orma_proto_zigzag(values[i])) == values[i]);
	CHECK_INT(orma_proto_zigzag(-1), 1);
	CHECK_INT(orma_proto_zigzag(1), 2);
}

ORMA_TEST(every_wire_type_is_read)
{
	static const uint8_t bytes[] = {0x08, 0x96, 0x01,                           /* 1: 150 */
					0x11, 1,    2,    3,    4,    5,   6, 7, 8, /* 2: fixed64 */
					0x1a, 3,    'a',  'b',  'c',                /* 3: "abc" */
					0x25, 1,    2,    3,    4,                  /* 4: fixed32 */
					0xf8, 0xff, 0xff, 0xff, 0x0f, 0x00 /* the largest id: 0 */};
	struct orma_proto_reader reader;
	struct orma_proto_field field;

	orma_proto_reader_init(&reader, bytes, sizeof(bytes));
	CHECK_INT(orma_proto_reader_next(&reader, &field), 1);
	CHECK_INT(field.id, 1);
	CHECK_INT(field.type, ORMA_PROTO_VARINT);
	CHECK_INT(field.value, 150);
	CHECK(field.begin == bytes && reader.at == bytes + 3);
	CHECK_INT(orma_proto_reader_next(&reader, &field), 1);
	CHECK_INT(field.type, ORMA_PROTO_FIXED64);
	CHECK(field.value == UINT64_C(0x0807060504030201));
	CHECK_INT(orma_proto_reader_next(&reader, &field), 1);
	CHECK_INT(field.type, ORMA_PROTO_BYTES);
	CHECK_MEM(field.bytes.data, field.bytes.size, "abc", 3);
	CHECK_INT(orma_proto_reader_next(&reader, &field), 1);
	CHECK_INT(field.type, ORMA_PROTO_FIXED32);
	CHECK_INT(field.value, 0x04030201);
	CHECK_INT(orma_proto_reader_next(&reader, &field), 1);
	CHECK_INT(field.id, ORMA_PROTO_FIELD_ID_MAX);
	CHECK_INT(orma_proto_reader_next(&reader, &field), 0);
}

ORMA_TEST(a_field_of_another_type_has_no_bytes)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;

	orma_proto_reader_init(&reader, "\x0a\x01x\x08\x05", 5);
	CHECK_INT(orma_proto_reader_next(&reader, &field), 1);
	CHECK_INT(field.bytes.size, 1);
	CHECK_INT(orma_proto_reader_next(&reader, &field), 1);
	CHECK_INT(field.type, ORMA_PROTO_VARINT);
	CHECK(field.bytes.data == NULL && field.bytes.size == 0);
}

ORMA_TEST(malformed_fields_are_refused)
{
	static const struct {
		const char *bytes;
		size_t size;
	} cases[] = {
		{"\x08", 1},                                          /* no value */
		{"\x08\x80", 2},                                      /* half a value */
		{"\x80", 1},                                          /* half a tag */
		{"\x00\x00", 2},                                      /* id 0 */
		{"\x80\x80\x80\x80\x10\x00", 6},                      /* id over 29 bits */
		{"\x0b", 1},                                          /* group begins */
		{"\x0c", 1},                                          /* group ends */
		{"\x0e\x00", 2},                                      /* wire type 6 */
		{"\x0f\x00", 2},                                      /* wire type 7 */
		{"\x09\x01\x02\x03\x04\x05\x06\x07", 8},              /* short fixed64 */
		{"\x0d\x01\x02\x03", 4},                              /* short fixed32 */
		{"\x0a", 1},                                          /* no length */
		{"\x0a\x02\x01", 3},                                  /* length past the end */
		{"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11}, /* length 2^64 - 1 */
	};
	struct orma_proto_field field;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(next_of(cases[i].bytes, cases[i].size, &field), -EBADMSG);
}

ORMA_TEST(an_error_leaves_the_reader_where_it_was)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;

	orma_proto_reader_init(&reader, "\x08\x80", 2);
	CHECK_INT(orma_proto_reader_next(&reader, &field), -EBADMSG);
	CHECK_INT(orma_proto_reader_next(&reader, &field), -EBADMSG);
	CHECK_INT(reader.end - reader.at, 2);
}

ORMA_TEST(no_data_is_an_empty_message)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;

	orma_proto_reader_init(&reader, NULL, 0);
	CHECK_INT(orma_proto_reader_next(&reader, &field), 0);
	CHECK_INT(orma_proto_reader_find(NULL, 0, 1, &field), 0);
}

ORMA_TEST(find_gives_the_last_occurrence)
{
	struct orma_proto_field field = {0};

	CHECK_INT(orma_proto_reader_find("\x08\x01\x08\x02\x10\x03", 6, 1, &field), 1);
	CHECK_INT(field.value, 2);
	CHECK_INT(orma_proto_reader_find("\x08\x01", 2, 2, &field), 0);
	CHECK_INT(orma_proto_reader_find("\x08\x01\x10", 3, 1, &field), -EBADMSG);
}
