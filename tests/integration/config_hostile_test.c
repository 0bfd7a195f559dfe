/* SPDX-License-Identifier: Apache-2.0
 * config_hostile_test.c - invalid configs: the consumer receives the reason, which names the
 * field, and nothing has changed. Valid configs of any size are recorded.
 */
#include <unistd.h>

#include "bystander.h"
#include "harness.h"
#include "proto/writer.h"
#include "raw_session.h"
#include "schema/gen/service_state.pb.h"

ORMA_TEST(each_bad_config_is_refused_with_a_text_that_names_the_field)
{
	struct orma_stage stage;
	struct orma_raw_consumer consumer;
	static const struct {
		const char *config, *expected;
	} cases[] = {
		{"buffers { size_kb: 0 }", "buffers[0].size_kb"},
		{"buffers { }", "buffers[0].size_kb"},
		{"buffers { size_kb: 4 } buffers { size_kb: 4294967295 }", "buffers[1].size_kb"},
		{"buffers { size_kb: 4194304 }", "buffers[0].size_kb"},
		{"buffers { size_kb: 4 fill_policy: 77 }", "fill_policy"},
		{"buffers { size_kb: 4 name: \"a\" } buffers { size_kb: 4 name: \"a\" }",
		 "buffers[1].name"},
		{"data_sources { config { name: \"x\" } }", "target_buffer"},
		{"buffers { size_kb: 4 } data_sources { config { name: \"x\" target_buffer: 1 } }",
		 "data_sources[0].config.target_buffer"},
		{"buffers { size_kb: 4 } data_sources { config { name: \"x\" target_buffer_name: "
		 "\"b\" "
		 "} }",
		 "target_buffer_name"},
		{"buffers { size_kb: 4 name: \"b\" } buffers { size_kb: 4 name: \"c\" } "
		 "data_sources { "
		 "config { name: \"x\" target_buffer_name: \"b\" target_buffer: 1 } }",
		 "target_buffer_name"},
		{"buffers { size_kb: 4 } duration_ms: 4294967295", "duration_ms"},
		{"buffers { size_kb: 4 } lockdown_mode: 99", "lockdown_mode"},
		{"buffers { size_kb: 4 } write_flush_mode: 99", "write_flush_mode"},
		{"buffers { size_kb: 4 } fflush_post_write: 99", "fflush_post_write"},
		{"buffers { size_kb: 4 } bugreport_filename: \"../../etc/passwd\"",
		 "bugreport_filename"},
		{"buffers { size_kb: 4 } write_into_file: true", "write_into_file"},
		{"buffers { size_kb: 4 } output_path: \"/tmp/x\"", "output_path"},
		{"buffers { size_kb: 5 } enable_extra_guardrails: true", "size_kb"},
		{"buffers { size_kb: 200000 } enable_extra_guardrails: true", "buffers"},
		{"buffers { size_kb: 4 } enable_extra_guardrails: true deferred_start: true",
		 "deferred_start"},
		{"buffers { size_kb: 4 } data_sources { config { name: \"x\" } "
		 "producer_name_regex_filter: \"(\" }",
		 "producer_name_regex_filter"},
		{"buffers { size_kb: 4 } data_sources { config { name: \"x\" } "
		 "producer_name_regex_filter: \"((((a{99}){99}){99}){99})*\" }",
		 "producer_name_regex_filter"},
	};

	orma_stage_open(&stage);
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		orma_raw_consumer_enable(&consumer, -1, "%s", cases[i].config);
		const char *error = orma_raw_consumer_await_disabled(&consumer);
		if (!strstr(error, cases[i].expected))
			orma_test_fail(__FILE__, __LINE__, "%s: \"%s\" does not name %s",
				       cases[i].config, error, cases[i].expected);
	}
	CHECK_INT(orma_raw_consumer_query(&stage.bystander.consumer)->num_sessions, 1);
	/* After all that, the same connection can record. */
	orma_raw_consumer_enable(&consumer, -1, "buffers { size_kb: 4 }");
	orma_raw_consumer_fence(&consumer);
	CHECK_INT(orma_raw_consumer_query(&stage.bystander.consumer)->num_sessions, 2);
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(a_lockdown_in_a_refused_config_locks_nothing)
{
	struct orma_stage stage;
	struct orma_raw_consumer consumer;
	struct orma_raw_session session;

	orma_stage_open(&stage);
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	orma_raw_consumer_enable(&consumer, -1,
				 "lockdown_mode: LOCKDOWN_SET buffers { size_kb: 0 }");
	CHECK(*orma_raw_consumer_await_disabled(&consumer));
	orma_raw_session_open(&session, &stage.daemon, "free", "", "");
	orma_raw_session_emit(&session, "recorded");
	orma_raw_session_close(&session);
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(configs_that_do_not_decode_are_refused)
{
	struct orma_stage stage;
	struct orma_raw_consumer consumer;
	const struct orma_str configs[] = {
		{"\xff", 1},
		{"\x0a\x7f", 2},
		{"\x0b\x0c", 2},
		{"\x0a\x02\x08", 3},
		{"\x12\x04\x0a\x02\xff\xff", 6},
	};

	orma_stage_open(&stage);
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(configs); i++) {
		orma_raw_consumer_enable_bytes(&consumer, -1, configs[i]);
		CHECK(*orma_raw_consumer_await_disabled(&consumer));
	}
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(every_prefix_of_a_config_is_survived)
{
	struct orma_stage stage;
	struct orma_raw_consumer consumer;

	orma_stage_open(&stage);
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	struct orma_str config = orma_raw_text(
		&consumer.client, &orma_pb_trace_config_desc,
		"buffers { size_kb: 64 name: \"b\" } data_sources { config { name: \"cut\" "
		"target_buffer_name: \"b\" track_event_config { enabled_categories: \"*\" } } "
		"producer_name_filter: \"p\" } duration_ms: 5000 producers { producer_name: \"p\" "
		"shm_size_kb: 64 } unique_session_name: \"cut\" session_semaphores { name: \"s\" "
		"max_other_session_count: 2 } builtin_data_sources { snapshot_interval_ms: 1000 }");
	for (size_t size = 0; size <= config.size; size++) {
		orma_raw_consumer_enable_bytes(&consumer, -1, (struct orma_str){config.data, size});
		orma_raw_call(&consumer.client, "FreeBuffers", ORMA_STR(""));
		orma_raw_await(&consumer.client, consumer.enable_id);
	}
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(every_changed_byte_of_a_config_is_survived)
{
	struct orma_stage stage;
	struct orma_raw_consumer consumer;
	char bytes[512];

	orma_stage_open(&stage);
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	struct orma_str config = orma_raw_text(
		&consumer.client, &orma_pb_trace_config_desc,
		"buffers { size_kb: 4 } data_sources { config { name: \"bystander\" } } "
		"flush_period_ms: 1000 incremental_state_config { clear_period_ms: 1000 }");
	CHECK(config.size < sizeof(bytes));
	for (size_t at = 0; at < config.size; at++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			memcpy(bytes, config.data, config.size);
			bytes[at] = (char)((uint8_t)bytes[at] ^ 1u << bit);
			orma_raw_consumer_enable_bytes(&consumer, -1,
						       (struct orma_str){bytes, config.size});
			orma_raw_call(&consumer.client, "FreeBuffers", ORMA_STR(""));
			orma_raw_await(&consumer.client, consumer.enable_id);
		}
	}
	/* Many of those sessions set the bystander up and stopped it, which is allowed. */
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(a_thousand_data_sources_in_one_config)
{
	struct orma_stage stage;
	struct orma_raw_consumer consumer;
	struct orma_raw_producer producer;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};

	orma_stage_open(&stage);
	orma_raw_producer_open(&producer, stage.daemon.producers, "thousand");
	orma_raw_producer_register(&producer, "name: \"again\"");
	for (int i = 0; i < 1000; i++)
		orma_base_buf_printf(&text, "data_sources { config { name: \"%s%d\" } }",
				     i % 2 ? "source." : "again", i);
	for (int i = 0; i < 1000; i++)
		orma_base_buf_append_str(&text, "data_sources { config { name: \"again\" } }");
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	orma_raw_consumer_enable(&consumer, -1, "buffers { size_kb: 64 } %.*s", (int)text.size,
				 (const char *)text.data);
	orma_raw_consumer_fence(&consumer);
	for (int i = 0; i < 1000;) /* one instance of the one data source for each entry */
		i += orma_raw_producer_command(&producer)->start_data_source != NULL;
	orma_bystander_check(&stage.bystander);
	orma_raw_consumer_close(&consumer);
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}

ORMA_TEST(a_config_of_a_whole_frame_reaches_the_producer_or_is_refused_at_once)
{
	struct orma_stage stage;
	struct orma_raw_consumer consumer;
	struct orma_raw_producer producer;
	static char filler[ORMA_IPC_BODY_BYTES_MAX];
	unsigned refused = 0, started = 0;

	orma_stage_open(&stage);
	memset(filler, 'c', sizeof(filler));
	orma_raw_producer_open(&producer, stage.daemon.producers, "large");
	orma_raw_producer_register(&producer, "name: \"large\"");
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	for (size_t less = 40; less < 70; less++) {
		orma_raw_consumer_enable(&consumer, -1,
					 "buffers { size_kb: 64 } data_sources { config { name: "
					 "\"large\" legacy_config: \"%.*s\" } }",
					 (int)(sizeof(filler) - less), filler);
		orma_raw_consumer_fence(&consumer);
		if (orma_raw_consumer_query(&stage.bystander.consumer)->num_sessions == 1) {
			const char *error = orma_raw_consumer_await_disabled(&consumer);

			CHECK_INT(strncmp(error, "data_sources[0].config: ", 24), 0);
			CHECK(strstr(error, "the limit of 130912 "));
			CHECK_INT(started, 0);
			refused++;
			continue;
		}
		orma_raw_producer_await_start(&producer, "large");
		orma_raw_call(&consumer.client, "FreeBuffers", ORMA_STR(""));
		orma_raw_await(&consumer.client, consumer.enable_id);
		orma_raw_producer_await_stop(&producer, "large");
		started++;
	}
	CHECK(refused > 0 && started > 0);
	orma_raw_consumer_close(&consumer);
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}

ORMA_TEST(buffers_up_to_the_maximum_cost_nothing_until_data_comes)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	struct orma_raw_consumer consumer;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "large", "", "buffers { size_kb: 4194300 }");
	orma_raw_session_emit(&session, "recorded");
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(&session.consumer), "recorded"));
	orma_raw_session_close(&session);

	/* 128 buffers of nearly 4 GiB: address space only, or an error in words. */
	for (int i = 0; i < 129; i++) {
		orma_base_buf_append_str(&text, "buffers { size_kb: 4194300 }");
		if (i < 127)
			continue;
		orma_raw_consumer_open(&consumer, stage.daemon.consumers);
		orma_raw_consumer_enable(&consumer, -1, "%.*s", (int)text.size,
					 (const char *)text.data);
		orma_raw_consumer_fence(&consumer);
		if (i == 128)
			CHECK(strstr(orma_raw_consumer_await_disabled(&consumer), "buffers"));
		orma_raw_consumer_close(&consumer);
	}
	orma_stage_close(&stage);
}

ORMA_TEST(changing_a_config_at_any_time_is_harmless)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	static const char *const changes[] = {
		"",
		"buffers { size_kb: 0 }",
		"data_sources { }",
		"data_sources { config { name: \"changed\" } producer_name_filter: \"nobody\" }",
		"data_sources { config { name: \"x\" } producer_name_regex_filter: \"(((\" }",
		"duration_ms: 1",
		"lockdown_mode: LOCKDOWN_SET",
	};

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "changed", "", "");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(changes); i++) {
		orma_raw_call(&session.consumer.client, "ChangeTraceConfig",
			      orma_raw_text(&session.consumer.client,
					    &orma_pb_change_trace_config_request_desc,
					    "trace_config { %s }", changes[i]));
		orma_raw_session_emit(&session, "recorded");
	}
	CHECK_INT(orma_raw_test_packet_count(orma_raw_consumer_read(&session.consumer)),
		  ORMA_ARRAY_SIZE(changes));
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}
