/* SPDX-License-Identifier: Apache-2.0
 * field_test.c - serialized messages through the public functions of orma/field.h.
 */
#include <orma/field.h>

#include "harness.h"
#include "proto/writer.h"

static void write_message(struct orma_buf *message)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested nested;

	orma_proto_heap_writer_init(&heap, message);
	orma_proto_write_varint(&heap.writer, 1, UINT64_MAX);
	orma_proto_write_varint(&heap.writer, 2, 5); /* -3 as sint */
	orma_proto_write_double(&heap.writer, 3, -1.5);
	orma_proto_write_float(&heap.writer, 4, 0.25F);
	orma_proto_write_string(&heap.writer, 1000, "text");
	orma_proto_nested_begin(&heap.writer, &nested, 6);
	orma_proto_write_varint(&heap.writer, 7, 77);
	orma_proto_nested_end(&heap.writer, &nested);
	orma_proto_write_varint(&heap.writer, 1, 8);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
}

ORMA_TEST(every_field_is_read_in_its_order)
{
	struct orma_buf message = {0};
	struct orma_field field;
	const void *data;
	size_t size;

	write_message(&message);
	data = message.data;
	size = message.size;
	CHECK_INT(orma_field_next(&data, &size, &field), 1);
	CHECK_INT(field.id, 1);
	CHECK_INT(field.type, ORMA_FIELD_VARINT);
	CHECK(field.value == UINT64_MAX && !field.data && field.size == 0);
	CHECK_INT(orma_field_next(&data, &size, &field), 1);
	CHECK_INT(orma_field_sint(&field), -3);
	CHECK(orma_field_double(&field) == 0);
	CHECK_INT(orma_field_next(&data, &size, &field), 1);
	CHECK_INT(field.type, ORMA_FIELD_FIXED64);
	CHECK(orma_field_double(&field) == -1.5);
	CHECK_INT(orma_field_next(&data, &size, &field), 1);
	CHECK_INT(field.type, ORMA_FIELD_FIXED32);
	CHECK(orma_field_double(&field) == 0.25);
	CHECK_INT(orma_field_next(&data, &size, &field), 1);
	CHECK_INT(field.id, 1000);
	CHECK_INT(field.type, ORMA_FIELD_BYTES);
	CHECK(field.size == 4 && memcmp(field.data, "text", 4) == 0 && field.value == 0);
	CHECK_INT(orma_field_next(&data, &size, &field), 1);
	CHECK_INT(orma_field_find(field.data, field.size, 7, &field), 1);
	CHECK_INT(field.value, 77);
	CHECK_INT(orma_field_next(&data, &size, &field), 1);
	CHECK_INT(field.value, 8);
	CHECK_INT(size, 0);
	CHECK_INT(orma_field_next(&data, &size, &field), 0);
	orma_base_buf_done(&message);
}

ORMA_TEST(the_last_field_of_a_number_is_found)
{
	struct orma_buf message = {0};
	struct orma_field field = {.id = 99};

	write_message(&message);
	CHECK_INT(orma_field_find(message.data, message.size, 1, &field), 1);
	CHECK_INT(field.value, 8);
	CHECK_INT(orma_field_find(message.data, message.size, 5, &field), 0);
	CHECK_INT(field.value, 8);
	CHECK_INT(orma_field_find(NULL, 0, 1, &field), 0);
	orma_base_buf_done(&message);
}

ORMA_TEST(what_does_not_decode_is_said_and_nothing_outside_is_read)
{
	struct orma_buf message = {0};
	struct orma_field field;
	const void *data;
	size_t size = 1;

	write_message(&message);
	/* The field ends behind the message. */
	for (size_t cut = 1; cut < message.size; cut++) {
		uint8_t *part = malloc(cut);
		int r = 1;

		CHECK(part);
		memcpy(part, message.data, cut);
		data = part;
		size = cut;
		while (r == 1)
			r = orma_field_next(&data, &size, &field);
		CHECK(r == 0 || r == -EBADMSG);
		CHECK(r == 0 || orma_field_find(part, cut, 1, &field) == -EBADMSG);
		free(part);
	}
	data = NULL;
	size = 1;
	CHECK_INT(orma_field_next(&data, &size, &field), -EINVAL);
	CHECK_INT(orma_field_next(NULL, &size, &field), -EINVAL);
	CHECK_INT(orma_field_next(&data, NULL, &field), -EINVAL);
	CHECK_INT(orma_field_next(&data, &size, NULL), -EINVAL);
	CHECK_INT(orma_field_find(NULL, 1, 1, &field), -EINVAL);
	CHECK_INT(orma_field_find("", 0, 1, NULL), -EINVAL);
	orma_base_buf_done(&message);
}
