/* SPDX-License-Identifier: Apache-2.0
 * proto_decode_fuzz.c - bytes are decoded into a message, encoded again, printed and parsed.
 *
 * The first byte chooses the type of the message. A message that was decoded must encode, and its
 * encoding must decode and give the same encoding again. The printed text must parse to a message
 * that prints the same. That message may encode differently, because overlong varints and NaN
 * payloads of unknown fields are not visible in the text. Rejected: one target per message type
 * (they share all the code).
 */
#include <stdlib.h>

#include "proto/codec.h"
#include "schema/gen/commit_data.pb.h"
#include "schema/gen/ftrace_event_bundle.pb.h"
#include "schema/gen/test_config.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/wire_protocol.pb.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_same(const struct orma_buf *a, const struct orma_buf *b)
{
	return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static void check_text(const void *message, struct orma_arena *arena)
{
	const struct orma_proto_message *base = message;
	struct orma_buf text = {0}, again = {0};
	struct orma_error error;
	void *back;

	CHECK(orma_proto_text_print(message, 0, &text) == 0);
	CHECK(orma_proto_text_parse(base->desc, "text", (const char *)text.data, text.size, 0,
				    arena, &back, &error) == 0);
	CHECK(orma_proto_text_print(back, 0, &again) == 0);
	CHECK(is_same(&text, &again));
	orma_base_buf_done(&text);
	orma_base_buf_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct orma_proto_desc *const descs[] = {
		&orma_pb_trace_packet_desc,        &orma_pb_trace_config_desc,
		&orma_pb_ipc_frame_desc,           &orma_pb_ftrace_event_bundle_desc,
		&orma_pb_commit_data_request_desc, &orma_pb_test_config_dummy_fields_desc,
	};
	struct orma_arena arena = {0};
	struct orma_buf first = {0}, second = {0};
	const struct orma_proto_desc *desc;
	void *message, *back;

	if (size < 1)
		return 0;
	desc = descs[data[0] % ORMA_ARRAY_SIZE(descs)];
	if (orma_proto_decode(desc, data + 1, size - 1, &arena, &message) == 0) {
		CHECK(orma_proto_encode(message, &first) == 0);
		CHECK(orma_proto_decode(desc, first.data, first.size, &arena, &back) == 0);
		CHECK(orma_proto_encode(back, &second) == 0);
		CHECK(is_same(&first, &second));
		check_text(message, &arena);
	}
	orma_base_buf_done(&first);
	orma_base_buf_done(&second);
	orma_base_arena_done(&arena);
	return 0;
}
