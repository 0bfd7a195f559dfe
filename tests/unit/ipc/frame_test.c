/* SPDX-License-Identifier: Apache-2.0
 * frame_test.c - golden bytes of every frame, decoding of good and bad ones, and assembly from a
 * stream cut anywhere.
 */
#include "ipc/frame.h"

#include <sys/uio.h>

#include "base/buf.h"
#include "harness.h"

/* Prefix, body and suffix in one run, as a socket would see them. */
static size_t join(const struct orma_ipc_envelope *envelope, const char *body, size_t body_size,
		   uint8_t *out)
{
	uint8_t *at = out;

	memcpy(at, envelope->prefix, envelope->prefix_size);
	at += envelope->prefix_size;
	if (body_size > 0)
		memcpy(at, body, body_size);
	at += body_size;
	memcpy(at, envelope->suffix, envelope->suffix_size);
	return (size_t)(at + envelope->suffix_size - out);
}

static void decode(const uint8_t *bytes, size_t size, struct orma_ipc_frame *frame)
{
	size_t payload = (size_t)bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16;

	CHECK_INT(payload + ORMA_IPC_HEADER_BYTES, size);
	CHECK_INT(orma_ipc_frame_decode(bytes + ORMA_IPC_HEADER_BYTES, payload, frame), 0);
}

ORMA_TEST(bind_has_its_golden_bytes)
{
	static const uint8_t golden[] = {0x10, 0,   0,   0,   0x10, 0x01, 0x1a, 0x0c, 0x0a, 0x0a,
					 'P',  'r', 'o', 'd', 'u',  'c',  'e',  'r',  'X',  'Y'};
	struct orma_ipc_envelope envelope;
	struct orma_ipc_frame frame;
	uint8_t bytes[64];

	CHECK_INT(orma_ipc_envelope_bind(&envelope, 1, 10), 0);
	size_t size = join(&envelope, "ProducerXY", 10, bytes);
	CHECK_MEM(bytes, size, golden, sizeof(golden));
	decode(bytes, size, &frame);
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_BIND);
	CHECK_INT(frame.request_id, 1);
	CHECK(orma_base_str_is(frame.u.bind.service_name, "ProducerXY"));
}

ORMA_TEST(bind_reply_has_its_golden_bytes_and_its_methods_can_be_walked)
{
	static const char *const names[] = {"A", "Bc"};
	static const uint8_t golden[] = {0x17, 0,    0,    0,    0x10, 0x07, 0x22, 0x13, 0x08,
					 0x01, 0x10, 0x03, 0x1a, 0x05, 0x08, 0x01, 0x12, 0x01,
					 'A',  0x1a, 0x06, 0x08, 0x02, 0x12, 0x02, 'B',  'c'};
	struct orma_buf fields = {0};
	struct orma_ipc_envelope envelope;
	struct orma_ipc_frame frame;
	struct orma_ipc_method_info info;
	struct orma_proto_reader reader;
	uint8_t bytes[64];

	CHECK_INT(orma_ipc_bind_reply_encode(&fields, 3, names, sizeof(*names), 2), 0);
	CHECK_INT(orma_ipc_envelope_bind_reply(&envelope, 7, fields.size), 0);
	size_t size = join(&envelope, (const char *)fields.data, fields.size, bytes);
	CHECK_MEM(bytes, size, golden, sizeof(golden));
	decode(bytes, size, &frame);
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_BIND_REPLY);
	CHECK(frame.u.bind_reply.success);
	CHECK_INT(frame.u.bind_reply.service_id, 3);
	orma_proto_reader_init(&reader, frame.u.bind_reply.message.data,
			       frame.u.bind_reply.message.size);
	CHECK_INT(orma_ipc_bind_reply_next(&reader, &info), 1);
	CHECK_INT(info.id, 1);
	CHECK(orma_base_str_is(info.name, "A"));
	CHECK_INT(orma_ipc_bind_reply_next(&reader, &info), 1);
	CHECK_INT(info.id, 2);
	CHECK(orma_base_str_is(info.name, "Bc"));
	CHECK_INT(orma_ipc_bind_reply_next(&reader, &info), 0);
	orma_base_buf_done(&fields);
}

ORMA_TEST(a_bind_reply_without_memory_leaves_the_buffer_as_it_was)
{
	static const char *const names[] = {
		"A method with a name that does not fit any small buffer",
		"and another one that makes the first buffer grow further"};

	for (uint64_t nth = 1;; nth++) {
		struct orma_buf fields = {0};

		orma_test_fail_allocation(nth);
		int result = orma_ipc_bind_reply_encode(&fields, 3, names, sizeof(*names), 2);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(result, has_failed ? -ENOMEM : 0);
		CHECK(!has_failed || fields.size == 0);
		orma_base_buf_done(&fields);
		if (!has_failed)
			break;
	}
}

ORMA_TEST(invoke_has_its_golden_bytes_with_and_without_drop_reply)
{
	static const uint8_t golden[] = {0x0d, 0,    0,    0,    0x10, 0x02, 0x2a, 0x09, 0x08,
					 0x01, 0x10, 0x04, 0x1a, 0x03, 'a',  'b',  'c'};
	static const uint8_t golden_drop[] = {0x0f, 0,    0,    0,    0x10, 0x02, 0x2a,
					      0x0b, 0x08, 0x01, 0x10, 0x04, 0x1a, 0x03,
					      'a',  'b',  'c',  0x20, 0x01};
	struct orma_ipc_envelope envelope;
	struct orma_ipc_frame frame;
	uint8_t bytes[64];

	CHECK_INT(orma_ipc_envelope_invoke(&envelope, 2, 1, 4, false, 3), 0);
	size_t size = join(&envelope, "abc", 3, bytes);
	CHECK_MEM(bytes, size, golden, sizeof(golden));
	CHECK_INT(orma_ipc_envelope_invoke(&envelope, 2, 1, 4, true, 3), 0);
	size = join(&envelope, "abc", 3, bytes);
	CHECK_MEM(bytes, size, golden_drop, sizeof(golden_drop));
	decode(bytes, size, &frame);
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_INVOKE);
	CHECK_INT(frame.u.invoke.service_id, 1);
	CHECK_INT(frame.u.invoke.method_id, 4);
	CHECK(frame.u.invoke.drop_reply);
	CHECK(orma_base_str_is(frame.u.invoke.args, "abc"));
}

ORMA_TEST(invoke_reply_has_its_golden_bytes)
{
	static const uint8_t golden[] = {0x0b, 0,    0,    0,    0x10, 0x05, 0x32, 0x07,
					 0x08, 0x01, 0x10, 0x01, 0x1a, 0x01, 'x'};
	static const uint8_t golden_rejection[] = {0x06, 0,    0,    0,    0x10,
						   0x05, 0x32, 0x02, 0x08, 0x00};
	struct orma_ipc_envelope envelope;
	struct orma_ipc_frame frame;
	uint8_t bytes[64];

	CHECK_INT(orma_ipc_envelope_invoke_reply(&envelope, 5, true, true, 1), 0);
	size_t size = join(&envelope, "x", 1, bytes);
	CHECK_MEM(bytes, size, golden, sizeof(golden));
	decode(bytes, size, &frame);
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_INVOKE_REPLY);
	CHECK(frame.u.invoke_reply.success && frame.u.invoke_reply.has_more);
	CHECK(orma_base_str_is(frame.u.invoke_reply.reply, "x"));
	CHECK_INT(orma_ipc_envelope_invoke_reply(&envelope, 5, false, false, 0), 0);
	size = join(&envelope, NULL, 0, bytes);
	CHECK_MEM(bytes, size, golden_rejection, sizeof(golden_rejection));
}

ORMA_TEST(error_has_its_golden_bytes)
{
	static const uint8_t golden[] = {0x08, 0,    0,    0,    0x10, 0x09,
					 0x3a, 0x04, 0x0a, 0x02, 'n',  'o'};
	struct orma_ipc_envelope envelope;
	struct orma_ipc_frame frame;
	uint8_t bytes[64];

	CHECK_INT(orma_ipc_envelope_error(&envelope, 9, 2), 0);
	size_t size = join(&envelope, "no", 2, bytes);
	CHECK_MEM(bytes, size, golden, sizeof(golden));
	decode(bytes, size, &frame);
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_ERROR);
	CHECK(orma_base_str_is(frame.u.error.text, "no"));
}

ORMA_TEST(identity_is_decoded_with_negative_numbers)
{
	static const uint8_t bytes[] = {0x10, 0x00, 0x42, 0x15, 0x08, 0x2a, 0x10, 0xff, 0xff,
					0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x1a,
					0x02, 'i',  'd',  0x22, 0x02, 'v',  'm'};
	struct orma_ipc_frame frame;

	CHECK_INT(orma_ipc_frame_decode(bytes, sizeof(bytes), &frame), 0);
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_IDENTITY);
	CHECK_INT(frame.u.identity.pid, 42);
	CHECK_INT(frame.u.identity.uid, -1);
	CHECK(orma_base_str_is(frame.u.identity.machine_id_hint, "id"));
	CHECK(orma_base_str_is(frame.u.identity.machine_name, "vm"));
}

ORMA_TEST(unknown_fields_and_padding_are_skipped)
{
	static const uint8_t bytes[] = {0x0a, 0x02, 'x',  'x',  0x10, 0x03, 0x2a, 0x08, 0x08, 0x01,
					0x78, 0x05, 0x10, 0x02, 0x1a, 0x00, 0xf8, 0x07, 0x01};
	struct orma_ipc_frame frame;

	CHECK_INT(orma_ipc_frame_decode(bytes, sizeof(bytes), &frame), 0);
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_INVOKE);
	CHECK_INT(frame.request_id, 3);
	CHECK_INT(frame.u.invoke.method_id, 2);
	CHECK_INT(frame.u.invoke.args.size, 0);
}

ORMA_TEST(a_field_of_the_wrong_wire_type_counts_as_unknown)
{
	static const uint8_t bytes[] = {0x12, 0x01, 'x', 0x28, 0x05, 0x1a, 0x02, 0x08, 0x01};
	struct orma_ipc_frame frame;

	CHECK_INT(orma_ipc_frame_decode(bytes, sizeof(bytes), &frame), 0);
	CHECK_INT(frame.request_id, 0);
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_BIND);
	CHECK_INT(frame.u.bind.service_name.size, 0);
}

ORMA_TEST(the_last_message_of_a_frame_counts)
{
	static const uint8_t bytes[] = {0x2a, 0x02, 0x08, 0x01, 0x1a, 0x03, 0x0a, 0x01, 'S'};
	struct orma_ipc_frame frame;

	CHECK_INT(orma_ipc_frame_decode(bytes, sizeof(bytes), &frame), 0);
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_BIND);
	CHECK(orma_base_str_is(frame.u.bind.service_name, "S"));
}

ORMA_TEST(a_frame_cut_anywhere_decodes_to_less_or_not_at_all)
{
	static const uint8_t bytes[] = {0x10, 0x02, 0x2a, 0x09, 0x08, 0x01, 0x10,
					0x04, 0x1a, 0x03, 'a',  'b',  'c'};
	struct orma_ipc_frame frame;

	for (size_t size = 0; size < sizeof(bytes); size++) {
		int result = orma_ipc_frame_decode(bytes, size, &frame);
		CHECK_INT(result, size == 0 || size == 2 ? 0 : -EBADMSG);
		CHECK(result < 0 || frame.kind == ORMA_IPC_FRAME_OTHER);
	}
}

ORMA_TEST(a_message_that_does_not_decode_spoils_its_frame)
{
	static const uint8_t bytes[] = {0x10, 0x02, 0x2a, 0x02, 0x1a, 0x09};
	static const uint8_t method[] = {0x1a, 0x02, 0x12, 0x05};
	struct orma_ipc_frame frame;
	struct orma_ipc_method_info info;
	struct orma_proto_reader reader;

	CHECK_INT(orma_ipc_frame_decode(bytes, sizeof(bytes), &frame), -EBADMSG);
	orma_proto_reader_init(&reader, method, sizeof(method));
	CHECK_INT(orma_ipc_bind_reply_next(&reader, &info), -EBADMSG);
}

ORMA_TEST(the_largest_frame_is_128_kib_with_its_header)
{
	struct orma_ipc_envelope envelope;
	size_t size = ORMA_IPC_BODY_BYTES_MAX;

	CHECK_INT(
		orma_ipc_envelope_invoke(&envelope, UINT64_MAX, UINT32_MAX, UINT32_MAX, true, size),
		0);
	CHECK_INT(orma_ipc_envelope_invoke_reply(&envelope, UINT64_MAX, true, true, size), 0);
	while (orma_ipc_envelope_invoke(&envelope, 1, 1, 1, true, size) == 0) {
		CHECK(envelope.prefix_size + size + envelope.suffix_size <= 128 * 1024);
		size++;
	}
	CHECK_INT(envelope.prefix_size + size + envelope.suffix_size, 128 * 1024 + 1);
	CHECK_INT(orma_ipc_envelope_error(&envelope, 1, SIZE_MAX), -EMSGSIZE);
	CHECK_INT(orma_ipc_envelope_bind(&envelope, 1, SIZE_MAX - 64), -EMSGSIZE);
}

/* --- assembler -------------------------------------------------------------------------------- */

static void feed(struct orma_ipc_assembler *assembler, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		uint8_t *window;
		size_t room;

		CHECK_INT(orma_ipc_assembler_window(assembler, &window, &room), 0);
		CHECK(room > 0);
		size_t part = room < size ? room : size;
		memcpy(window, bytes, part);
		orma_ipc_assembler_fill(assembler, part);
		bytes += part;
		size -= part;
	}
}

ORMA_TEST(frames_come_out_whole_wherever_the_stream_is_cut)
{
	/* Three frames with an empty one between. */
	static const uint8_t stream[] = {3, 0, 0, 0, 'a', 'b', 'c', 0, 0, 0,   0,
					 1, 0, 0, 0, 'd', 2,   0,   0, 0, 'e', 'f'};

	for (size_t cut = 0; cut <= sizeof(stream); cut++) {
		struct orma_ipc_assembler assembler = {0};
		const uint8_t *data;
		size_t size;
		char seen[16] = "";

		for (int half = 0; half < 2; half++) {
			feed(&assembler, half ? stream + cut : stream,
			     half ? sizeof(stream) - cut : cut);
			while (orma_ipc_assembler_next(&assembler, &data, &size) > 0) {
				strncat(seen, (const char *)data, size);
				strcat(seen, "|");
			}
			orma_ipc_assembler_trim(&assembler);
		}
		CHECK_STR(seen, "abc|d|ef|");
		CHECK(assembler.data == NULL);
	}
}

ORMA_TEST(a_stream_of_single_bytes_is_assembled)
{
	struct orma_ipc_assembler assembler = {0};
	uint8_t header[] = {0x10, 0x27, 0, 0}; /* 10,000 */
	const uint8_t *data;
	size_t size;

	for (size_t i = 0; i < 4 + 10000; i++) {
		uint8_t byte = i < 4 ? header[i] : (uint8_t)i;

		CHECK_INT(orma_ipc_assembler_next(&assembler, &data, &size), 0);
		orma_ipc_assembler_trim(&assembler);
		feed(&assembler, &byte, 1);
	}
	CHECK_INT(orma_ipc_assembler_next(&assembler, &data, &size), 1);
	CHECK_INT(size, 10000);
	for (size_t i = 0; i < size; i++)
		CHECK(data[i] == (uint8_t)(i + 4));
	orma_ipc_assembler_trim(&assembler);
	CHECK(assembler.data == NULL);
}

ORMA_TEST(a_frame_of_the_largest_size_is_taken_and_one_byte_more_breaks_the_stream)
{
	struct orma_ipc_assembler assembler = {0};
	uint8_t *bytes = calloc(1, ORMA_IPC_FRAME_BYTES_MAX);
	uint8_t too_large[] = {0xfd, 0xff, 0x01, 0x00};
	uint8_t huge[] = {0xff, 0xff, 0xff, 0xff};
	const uint8_t *data;
	size_t size;

	bytes[0] = 0xfc;
	bytes[1] = 0xff;
	bytes[2] = 0x01;
	feed(&assembler, bytes, ORMA_IPC_FRAME_BYTES_MAX);
	CHECK(assembler.capacity <= ORMA_IPC_FRAME_BYTES_MAX);
	CHECK_INT(orma_ipc_assembler_next(&assembler, &data, &size), 1);
	CHECK_INT(size, ORMA_IPC_FRAME_BYTES_MAX - ORMA_IPC_HEADER_BYTES);
	feed(&assembler, too_large, 4);
	CHECK_INT(orma_ipc_assembler_next(&assembler, &data, &size), -EMSGSIZE);
	orma_ipc_assembler_done(&assembler);
	feed(&assembler, huge, 4);
	CHECK_INT(orma_ipc_assembler_next(&assembler, &data, &size), -EMSGSIZE);
	orma_ipc_assembler_done(&assembler);
	free(bytes);
}

ORMA_TEST(a_window_without_memory_keeps_what_was_received)
{
	struct orma_ipc_assembler assembler = {0};
	uint8_t header[] = {0x10, 0x27, 0, 0, 'x'};
	uint8_t *window;
	size_t room;

	orma_test_fail_allocation(1);
	CHECK_INT(orma_ipc_assembler_window(&assembler, &window, &room), -ENOMEM);
	feed(&assembler, header, sizeof(header));
	orma_test_fail_allocation(1);
	CHECK_INT(orma_ipc_assembler_window(&assembler, &window, &room), -ENOMEM);
	CHECK_INT(assembler.end - assembler.begin, sizeof(header));
	CHECK_INT(orma_ipc_assembler_window(&assembler, &window, &room), 0);
	CHECK(room >= 10000 - 1);
	orma_ipc_assembler_done(&assembler);
}
