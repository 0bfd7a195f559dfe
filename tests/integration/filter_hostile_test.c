/* SPDX-License-Identifier: Apache-2.0
 * filter_hostile_test.c - trace filters and regular expressions that are made to delay the
 * daemon.
 */
#include "bystander.h"
#include "filter_program.h"
#include "harness.h"
#include "raw_session.h"
#include "schema/gen/service_state.pb.h"
#include "schema/gen/test_event.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_stats.pb.h"
#include "tool/daemon/regex_pcre2.h"

/* Packets have test events, and these have strings, for which there are rules. */
static const char *string_program(void)
{
	static char text[480];
	struct orma_buf bytes = program(WORDS(N(1u, 1u), END, N(900u, 2u), END, S(1u), END));

	snprintf(text, sizeof(text), "%s", program_text(&bytes));
	orma_base_buf_done(&bytes);
	return text;
}

ORMA_TEST(an_exploding_string_rule_costs_its_own_session_only)
{
	static const char hidden[] = "P60REDACTED-----------------------------";
	struct orma_raw_session session;
	struct orma_stage stage;
	struct orma_pb_trace *trace;
	char config[1024];
	uint64_t read_id;

	if (!orma_tool_regex_ops)
		orma_test_skip("PCRE2");
	orma_stage_open(&stage);
	snprintf(config, sizeof(config),
		 "trace_filter { bytecode_v2: \"%s\" string_filter_chain { rules { policy: "
		 "SFP_MATCH_BREAK regex_pattern: \"(a|a|a)*x\" } rules { policy: "
		 "SFP_MATCH_REDACT_GROUPS regex_pattern: \"(a+)+b\" } } }",
		 string_program());
	orma_raw_session_open(&session, &stage.daemon, "exploding", "", config);
	for (size_t i = 0; i < 100; i++)
		orma_raw_session_emit(&session, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaxbz");
	/* The read is requested, and other clients are served while it is under way. */
	read_id = orma_raw_invoke(&session.consumer.client, "ReadBuffers", ORMA_STR(""), -1, 0);
	for (size_t i = 0; i < 5; i++)
		orma_bystander_check(&stage.bystander);
	while (orma_raw_await(&session.consumer.client, read_id)->has_more)
		;
	for (size_t i = 0; i < 5; i++)
		orma_raw_session_emit(&session, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaxbz");
	trace = orma_raw_consumer_read(&session.consumer);
	CHECK_INT(orma_raw_test_packet_count(trace), 5);
	for (size_t i = 0; i < 5; i++)
		CHECK(orma_base_str_is(orma_raw_test_packet_at(trace, i)->for_testing->str,
				       hidden));
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(exploding_producer_filters_do_not_hold_producers_up)
{
	struct orma_buf config = {0};
	struct orma_raw_consumer consumer;
	struct orma_raw_producer producer;
	struct orma_stage stage;

	if (!orma_tool_regex_ops)
		orma_test_skip("PCRE2");
	orma_stage_open(&stage);
	CHECK_INT(orma_base_buf_append_str(&config, "buffers { size_kb: 4 } data_sources { config "
						    "{ name: \"x\" } "),
		  0);
	for (size_t i = 0; i < 500; i++)
		CHECK_INT(orma_base_buf_printf(&config, "producer_name_regex_filter: \"(a+)+%zu\" ",
					       i),
			  0);
	CHECK_INT(orma_base_buf_append_str(&config, "}"), 0);
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	orma_raw_consumer_enable(&consumer, -1, "%s", orma_base_buf_cstr(&config));
	orma_raw_consumer_fence(&consumer);
	orma_raw_producer_open(&producer, stage.daemon.producers,
			       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa0123456789z");
	for (size_t i = 0; i < 10; i++)
		orma_raw_producer_register(&producer, "name: \"x\"");
	orma_bystander_check(&stage.bystander);
	CHECK_INT(producer.instance_count, 0);
	orma_raw_producer_close(&producer);
	orma_raw_consumer_close(&consumer);
	orma_base_buf_done(&config);
	orma_stage_close(&stage);
}

ORMA_TEST(a_packet_nested_too_deeply_is_an_error_of_its_own)
{
	struct orma_buf bytes =
		program(WORDS(N(1u, 1u), END, N(1u, 1u), N(900u, 2u), END, F(1u), END));
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};
	struct orma_raw_session session;
	struct orma_pb_trace *trace;
	struct orma_stage stage;
	uint8_t packet[4000];
	size_t at = sizeof(packet);
	char config[600];

	orma_stage_open(&stage);
	snprintf(config, sizeof(config), "trace_filter { bytecode_v2: \"%s\" }",
		 program_text(&bytes));
	orma_raw_session_open(&session, &stage.daemon, "deep", "", config);
	while (at > 10) {
		size_t size = sizeof(packet) - at;

		at -= orma_proto_varint_size(size);
		orma_proto_put_varint(&packet[at], size);
		packet[--at] = 0x0a;
	}
	orma_raw_fragment(&payload, &packet[at], sizeof(packet) - at);
	struct orma_raw_chunk chunk = {
		.chunk_id = session.next_chunk_id++,
		.writer_id = 1,
		.fragment_count = 1,
		.payload = {(const char *)payload.data, payload.size},
	};
	orma_raw_producer_write_and_commit(&session.producer, &chunk, session.target_buffer);
	orma_raw_producer_sync(&session.producer);
	orma_raw_session_emit(&session, "behind it");
	trace = orma_raw_consumer_read(&session.consumer);
	CHECK_INT(session.consumer.garbled_packets, 0);
	CHECK_INT(orma_raw_test_packet_count(trace), 1);
	CHECK(orma_raw_trace_has(trace, "behind it"));
	CHECK_INT(orma_raw_consumer_stats(&session.consumer)->filter_stats->errors, 1);
	orma_base_buf_done(&bytes);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(filters_full_of_nonsense_are_refused_with_the_field_s_name)
{
	static const char *const filters[] = {
		"",
		"bytecode: \"\"",
		"bytecode_v2: \"\\377\\377\\377\\377\\377\\377\\377\\377\\377\\377\\377\"",
		"bytecode_v2: \"\\000\"",
		"bytecode: \"abc\" bytecode_overlay_v54: \"abc\"",
	};
	struct orma_raw_consumer consumer;
	struct orma_stage stage;

	orma_stage_open(&stage);
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(filters); i++) {
		orma_raw_consumer_enable(&consumer, -1,
					 "buffers { size_kb: 4 } trace_filter { %s }", filters[i]);
		CHECK(strncmp(orma_raw_consumer_await_disabled(&consumer), "trace_filter.bytecode",
			      21) == 0);
	}
	CHECK_INT(orma_raw_consumer_query(&stage.bystander.consumer)->num_sessions, 1);
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}
