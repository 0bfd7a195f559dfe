/* SPDX-License-Identifier: Apache-2.0
 * calls_test.c - invalid calls: unknown services and methods, calls out of order, repeated or
 * without a reply, arguments that do not decode or are nested too deeply.
 */
#include <unistd.h>

#include "bystander.h"
#include "harness.h"
#include "proto/wire.h"

#define PRODUCER_METHODS 12
#define CONSUMER_METHODS 15

ORMA_TEST(an_unknown_service_does_not_bind)
{
	struct orma_stage stage;
	struct orma_raw_client client;
	static const char *const names[] = {"", "producer_port", "ConsumerPort", "RelayPort",
					    "ProducerPortX"};

	orma_stage_open(&stage);
	orma_raw_connect(&client, stage.daemon.producers);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(names); i++) {
		struct orma_ipc_envelope envelope;
		uint8_t frame[128];

		CHECK_INT(orma_ipc_envelope_bind(&envelope, 50 + i, strlen(names[i])), 0);
		memcpy(frame, envelope.prefix, envelope.prefix_size);
		memcpy(frame + envelope.prefix_size, names[i], strlen(names[i]));
		CHECK(orma_raw_send(&client, frame, envelope.prefix_size + strlen(names[i])));
		struct orma_raw_frame *reply = orma_raw_await(&client, 50 + i);
		CHECK_INT(reply->kind, ORMA_IPC_FRAME_BIND_REPLY);
		CHECK(!reply->success);
	}
	orma_raw_close(&client);
	orma_stage_close(&stage);
}

ORMA_TEST(an_unknown_service_or_method_is_rejected_even_without_a_reply_wanted)
{
	struct orma_stage stage;
	struct orma_raw_client client;
	static const uint32_t ids[][2] = {{0, 1}, {2, 1},  {UINT32_MAX, 1},
					  {1, 0}, {1, 16}, {1, UINT32_MAX}};

	orma_stage_open(&stage);
	orma_raw_connect(&client, stage.daemon.consumers);
	orma_raw_bind(&client, "ConsumerPort");
	CHECK_INT(client.method_count, CONSUMER_METHODS);
	for (size_t i = 0; i < 2 * ORMA_ARRAY_SIZE(ids); i++) {
		uint64_t id =
			orma_raw_invoke_id(&client, ids[i / 2][0], ids[i / 2][1], ORMA_STR("x"), -1,
					   i % 2 ? ORMA_RAW_DROP_REPLY : 0);
		struct orma_raw_frame *reply = orma_raw_await(&client, id);
		CHECK_INT(reply->kind, ORMA_IPC_FRAME_INVOKE_REPLY);
		CHECK(!reply->success);
	}
	orma_raw_close(&client);
	orma_stage_close(&stage);
}

ORMA_TEST(a_producer_that_has_not_introduced_itself_is_rejected)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;

	orma_stage_open(&stage);
	orma_raw_producer_connect(&producer, stage.daemon.producers);
	CHECK_INT(producer.client.method_count, PRODUCER_METHODS);
	for (uint32_t method = 2; method <= PRODUCER_METHODS; method++) {
		if (method == orma_raw_method_id(&producer.client, "GetAsyncCommand"))
			continue;
		uint64_t id = orma_raw_invoke_id(&producer.client, 1, method, ORMA_STR(""), -1, 0);
		CHECK(!orma_raw_await(&producer.client, id)->success);
	}
	CHECK(orma_raw_producer_initialize(&producer, "producer_name: \"late\"", -1)->success);
	CHECK(!orma_raw_producer_initialize(&producer, "producer_name: \"twice\"", -1)->success);
	orma_raw_producer_listen(&producer);
	orma_raw_producer_sync(&producer);
	/* A second stream would deliver every command twice. */
	CHECK(!orma_raw_call(&producer.client, "GetAsyncCommand", ORMA_STR(""))->success);
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}

ORMA_TEST(a_stream_of_commands_before_the_introduction_is_harmless)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;

	orma_stage_open(&stage);
	orma_raw_producer_connect(&producer, stage.daemon.producers);
	orma_raw_producer_listen(&producer);
	struct orma_raw_frame *frame =
		orma_raw_producer_initialize(&producer, "producer_name: \"hasty\"", -1);
	CHECK(frame->success);
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}

/* Every method with arguments that are garbage, empty, and of the right shape but huge; with and
 * without a reply. */
static void call_everything(struct orma_raw_client *client, size_t method_count)
{
	static char huge[100000];
	const struct orma_str args[] = {
		ORMA_STR(""),
		ORMA_STR("\xff\xff\xff"),
		ORMA_STR("\x0a\x7f"),
		ORMA_STR("\x0b"),
		ORMA_STR("\x0a\x00"),
		{huge, sizeof(huge)},
		ORMA_STR("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
	};
	uint8_t *end = orma_proto_put_varint((uint8_t *)huge, 1 << 3 | ORMA_PROTO_BYTES);

	end = orma_proto_put_varint(end, sizeof(huge) - 4);
	memset(end, 0x0a, (size_t)((uint8_t *)huge + sizeof(huge) - end));
	for (uint32_t method = 1; method <= method_count; method++)
		for (size_t i = 0; i < 2 * ORMA_ARRAY_SIZE(args); i++)
			orma_raw_invoke_id(client, 1, method, args[i / 2], -1,
					   i % 2 ? ORMA_RAW_DROP_REPLY : 0);
}

ORMA_TEST(every_method_takes_bad_arguments)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;

	orma_stage_open(&stage);
	orma_raw_producer_connect(&producer, stage.daemon.producers);
	call_everything(&producer.client, PRODUCER_METHODS); /* also before the introduction */
	orma_bystander_check(&stage.bystander);
	orma_raw_producer_close(&producer);

	orma_raw_producer_open(&producer, stage.daemon.producers, "bad.arguments");
	call_everything(&producer.client, PRODUCER_METHODS);
	orma_bystander_check(&stage.bystander);
	orma_raw_producer_close(&producer);

	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	call_everything(&consumer.client, CONSUMER_METHODS);
	orma_bystander_check(&stage.bystander);
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(a_call_whose_reply_is_dropped_gets_none)
{
	struct orma_stage stage;
	struct orma_raw_consumer consumer;
	struct orma_raw_frame *frame;

	orma_stage_open(&stage);
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	for (uint32_t method = 1; method <= CONSUMER_METHODS; method++)
		orma_raw_invoke_id(&consumer.client, 1, method, ORMA_STR(""), -1,
				   ORMA_RAW_DROP_REPLY);
	uint64_t id = orma_raw_invoke(&consumer.client, "QueryCapabilities", ORMA_STR(""), -1, 0);
	CHECK(orma_raw_next(&consumer.client, &frame));
	CHECK_INT(frame->request_id, id);
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

/* `depth` nested messages of field `field_id`, or as many as fit into `limit` bytes. */
static void nest(struct orma_buf *buf, uint32_t field_id, size_t depth, size_t limit)
{
	size_t begin = limit, size = 0;
	uint8_t tag[ORMA_PROTO_TAG_MAX], length[ORMA_PROTO_VARINT_MAX];
	size_t tag_size =
		(size_t)(orma_proto_put_varint(tag, orma_proto_tag(field_id, ORMA_PROTO_BYTES)) -
			 tag);

	CHECK_INT(orma_base_buf_reserve(buf, limit), 0);
	for (size_t i = 0; i < depth; i++) {
		size_t length_size = (size_t)(orma_proto_put_varint(length, size) - length);

		if (begin < tag_size + length_size)
			break;
		begin -= length_size;
		memcpy(buf->data + begin, length, length_size);
		begin -= tag_size;
		memcpy(buf->data + begin, tag, tag_size);
		size = limit - begin;
	}
	memmove(buf->data, buf->data + begin, size);
	buf->size = size;
}

ORMA_TEST(messages_nested_beyond_any_depth_do_not_overflow_the_stack)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;

	orma_stage_open(&stage);
	/* Fields that contain messages, and unknown fields; about 32,000 levels fill a frame.
	 */
	static const uint32_t field_ids[] = {1, 2, 5, 10, 15, 100, 536870911};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(field_ids); i++) {
		ORMA_AUTO(orma_base_buf_done) struct orma_buf args = {0};

		nest(&args, field_ids[i], 100000, ORMA_IPC_BODY_BYTES_MAX);
		struct orma_str bytes = {(const char *)args.data, args.size};
		orma_raw_producer_open(&producer, stage.daemon.producers, "deep");
		orma_raw_call(&producer.client, "RegisterDataSource", bytes);
		orma_raw_call(&producer.client, "UpdateDataSource", bytes);
		orma_raw_call(&producer.client, "CommitData", bytes);
		orma_raw_call(&producer.client, "ActivateTriggers", bytes);
		orma_raw_producer_close(&producer);
		orma_raw_consumer_open(&consumer, stage.daemon.consumers);
		orma_raw_call(&consumer.client, "ChangeTraceConfig", bytes);
		orma_raw_call(&consumer.client, "CloneSession", bytes);
		/* EnableTracing skips an unknown field, and the empty config that is left is
		 * valid. */
		orma_raw_invoke(&consumer.client, "EnableTracing", bytes, -1, 0);
		orma_raw_consumer_fence(&consumer);
		orma_raw_consumer_close(&consumer);
	}
	orma_stage_close(&stage);
}
