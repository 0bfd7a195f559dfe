/* SPDX-License-Identifier: Apache-2.0
 * producer_test.c - registering data sources, matching them with configs, sizing the shared memory.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "base/log_message.h"
#include "fixture.h"
#include "schema/gen/trace_stats.pb.h"
#include "service/service_core.h"

ORMA_TEST(descriptors_are_checked)
{
	struct world world;
	struct producer producer;
	char long_name[2000] = "name: '";

	memset(long_name + 7, 'x', 1025);
	long_name[7 + 1025] = '\'';
	world_open(&world);
	producer_open(&world, &producer, "p");
	CHECK_INT(orma_producer_port_register_data_source(producer.port, "\x0a\x7f", 2), -EBADMSG);
	CHECK_INT(register_source(&producer, "will_notify_on_stop: true"), -EINVAL);
	CHECK_INT(register_source(&producer, "name: 'a\\000b'"), -EINVAL);
	CHECK_INT(register_source(&producer, long_name), -EINVAL);
	CHECK_INT(register_source(&producer, "name: 'a' id: 1"), 0);
	CHECK_INT(register_source(&producer, "name: 'b' id: 1"), -EEXIST);
	CHECK_INT(register_source(&producer, "name: 'a' id: 2"), 0);
	CHECK_INT(orma_producer_port_unregister_data_source(producer.port, "b"), -ENOENT);
	CHECK_INT(orma_producer_port_unregister_data_source(producer.port, "a"), 0);
	CHECK_INT(orma_producer_port_unregister_data_source(producer.port, "a"), 0);
	CHECK_INT(orma_producer_port_unregister_data_source(producer.port, "a"), -ENOENT);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(data_sources_of_one_producer_are_limited)
{
	struct world world;
	struct producer producer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	for (unsigned i = 0; i < ORMA_SERVICE_SOURCES_PER_PRODUCER; i++)
		CHECK_INT(register_source(&producer, "name: 'a'"), 0);
	CHECK_INT(register_source(&producer, "name: 'a'"), -EINVAL);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(update_needs_the_id_and_keeps_the_name)
{
	const struct orma_pb_tracing_service_state *state;
	struct orma_arena arena = {0};
	struct world world;
	struct producer producer;
	struct consumer consumer;
	struct orma_buf unknown = encode_text(&orma_pb_data_source_descriptor_desc,
					      "name: 'a' id: 9"),
			renamed = encode_text(&orma_pb_data_source_descriptor_desc,
					      "name: 'b' id: 1"),
			no_id = encode_text(&orma_pb_data_source_descriptor_desc, "name: 'a'"),
			good = encode_text(&orma_pb_data_source_descriptor_desc,
					   "name: 'a' id: 1 no_flush: true");

	world_open(&world);
	producer_open(&world, &producer, "p");
	CHECK_INT(register_source(&producer, "name: 'a' id: 1"), 0);
	CHECK_INT(orma_producer_port_update_data_source(producer.port, unknown.data, unknown.size),
		  -ENOENT);
	CHECK_INT(orma_producer_port_update_data_source(producer.port, renamed.data, renamed.size),
		  -EINVAL);
	CHECK_INT(orma_producer_port_update_data_source(producer.port, no_id.data, no_id.size),
		  -EINVAL);
	CHECK_INT(orma_producer_port_update_data_source(producer.port, good.data, good.size), 0);
	/* The new descriptor counts, and queries return it. */
	consumer_open(&world, &consumer);
	state = query(&consumer, false, &arena);
	CHECK_INT(state->data_sources.count, 1);
	CHECK(state->data_sources.items[0]->ds_descriptor->no_flush);
	enable_ok(&consumer, "buffers { size_kb: 4 } data_sources { config { name: 'a' } }");
	log_clear(&producer.log);
	flush(&consumer, 0);
	CHECK_LOG(&producer.log, "");
	CHECK_LOG(&consumer.log, "flushed");
	consumer_close(&consumer);
	orma_base_arena_done(&arena);
	orma_base_buf_done(&unknown);
	orma_base_buf_done(&renamed);
	orma_base_buf_done(&no_id);
	orma_base_buf_done(&good);
	producer_close(&producer);
	world_close(&world);
}

/* A descriptor of about this size. */
static struct orma_buf make_descriptor(const char *name, uint64_t id, size_t size)
{
	struct orma_proto_heap_writer heap;
	struct orma_buf buf = {0};
	uint8_t *filler = orma_base_zalloc(size);

	orma_proto_heap_writer_init(&heap, &buf);
	orma_proto_write_string(&heap.writer, ORMA_PB_DATA_SOURCE_DESCRIPTOR_NAME, name);
	orma_proto_write_varint(&heap.writer, ORMA_PB_DATA_SOURCE_DESCRIPTOR_ID, id);
	orma_proto_write_bytes(&heap.writer, 9999, filler, size);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	orma_base_free(filler);
	return buf;
}

ORMA_TEST(descriptors_of_one_producer_are_limited_and_those_that_go_make_room)
{
	enum { SIZE = 100 << 10, COUNT = ORMA_SERVICE_DESCRIPTORS_BYTES_MAX / SIZE };
	struct orma_buf small = make_descriptor("a", 1, 0), large;
	struct world world;
	struct producer producer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	for (uint64_t i = 0; i < COUNT + 2; i++) {
		large = make_descriptor(i == 1 ? "a" : "b", i + 1, SIZE);
		if (i == 0) /* grows later */
			CHECK_INT(orma_producer_port_register_data_source(producer.port, small.data,
									  small.size),
				  0);
		else
			CHECK_INT(orma_producer_port_register_data_source(producer.port, large.data,
									  large.size),
				  i < COUNT ? 0 : -EINVAL);
		orma_base_buf_done(&large);
		if (i == COUNT - 1) {
			large = make_descriptor("a", 1, SIZE);
			CHECK_INT(orma_producer_port_update_data_source(producer.port, large.data,
									large.size),
				  0);
			orma_base_buf_done(&large);
		}
	}
	CHECK_INT(orma_producer_port_unregister_data_source(producer.port, "b"), 0);
	large = make_descriptor("c", 0, SIZE);
	CHECK_INT(orma_producer_port_register_data_source(producer.port, large.data, large.size),
		  0);
	CHECK_INT(orma_producer_port_register_data_source(producer.port, large.data, large.size),
		  -EINVAL);
	orma_base_buf_done(&large);
	orma_base_buf_done(&small);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(data_sources_and_producers_that_go_make_room_and_are_not_counted)
{
	struct packets packets = {0};
	struct world world;
	struct producer producer, other;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	for (unsigned i = 0; i < ORMA_SERVICE_SOURCES_PER_PRODUCER + 10; i++) {
		CHECK_INT(register_source(&producer, "name: 'test'"), 0);
		CHECK_INT(orma_producer_port_unregister_data_source(producer.port, "test"), 0);
	}
	CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	producer_open(&world, &other, "o");
	CHECK_INT(register_source(&other, "name: 'test'"), 0);
	producer_close(&other);
	consumer_open(&world, &consumer);
	enable_ok(&consumer, ONE_BUFFER);
	read_all(&consumer, &packets);
	CHECK_INT(stats_of(&packets)->producers_connected, 1);
	CHECK_INT(stats_of(&packets)->producers_seen, 2);
	CHECK_INT(stats_of(&packets)->data_sources_registered, 1);
	packets_done(&packets);
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(late_data_source_joins_and_an_early_one_leaves)
{
	struct world world;
	struct producer producer, other;
	struct consumer consumer;

	world_open(&world);
	consumer_open(&world, &consumer);
	enable_ok(&consumer, ONE_BUFFER "deferred_start: true");
	producer_open(&world, &producer, "p");
	CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	CHECK_LOG(&producer.log, "memory:256/4 setup:1");
	CHECK_INT(orma_consumer_port_start(consumer.port, NULL), 0);
	CHECK_LOG(&producer.log, "start:1");
	producer_open(&world, &other, "o");
	CHECK_INT(register_source(&other, "name: 'test'"), 0);
	CHECK_INT(register_source(&other, "name: 'foreign'"), 0);
	CHECK_LOG(&other.log, "memory:256/4 setup:2 start:2");
	CHECK_INT(orma_producer_port_unregister_data_source(other.port, "test"), 0);
	CHECK_LOG(&other.log, "stop:2");
	orma_consumer_port_disable(consumer.port);
	CHECK_LOG(&other.log, "");
	CHECK_INT(register_source(&other, "name: 'test'"), 0);
	CHECK_LOG(&other.log, "");
	consumer_close(&consumer);
	producer_close(&producer);
	producer_close(&other);
	world_close(&world);
}

static void count_message(void *ctx, enum orma_log_level level, const char *message)
{
	(void)level;
	(void)message;
	++*(size_t *)ctx;
}

/* Each entry of the config meets each data source: some sixteen million times. */
ORMA_TEST(instances_beyond_the_limit_are_left_out_at_once_and_with_one_message)
{
	struct orma_buf text = {0};
	struct world world;
	struct producer producer;
	struct consumer consumer;
	size_t messages = 0;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	for (unsigned i = 0; i < ORMA_SERVICE_SOURCES_PER_PRODUCER; i++)
		CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	CHECK_INT(orma_base_buf_printf(&text, "%s", ONE_BUFFER), 0);
	for (unsigned i = 1; i < ORMA_SERVICE_SOURCES_PER_CONFIG; i++)
		CHECK_INT(orma_base_buf_printf(&text, "data_sources { config { name: 'test' } } "),
			  0);
	orma_log_set_sink(count_message, &messages);
	enable_ok(&consumer, orma_base_buf_cstr(&text));
	CHECK_INT(messages, 1);
	CHECK_INT(register_source(&producer, "name: 'test'"), -EINVAL);
	orma_log_set_sink(NULL, NULL);
	orma_base_buf_done(&text);
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(sources_match_by_name_and_producer_filters)
{
	static const struct {
		const char *source, *producer;
		bool matches;
	} cases[] = {
		{"config { name: 'test' }", "any", true},
		{"config { name: 'tes' }", "any", false},
		{"config { name: 'test' } producer_name_filter: 'a'", "a", true},
		{"config { name: 'test' } producer_name_filter: 'a'", "ab", false},
		{"config { name: 'test' } producer_name_filter: 'a' producer_name_filter: 'b'", "b",
		 true},
		{"config { name: 'test' } producer_name_regex_filter: 'a.*'", "abc", true},
		{"config { name: 'test' } producer_name_regex_filter: 'b'", "abc", false},
		{"config { name: 'test' } producer_name_regex_filter: 'a|abc'", "abc", true},
		{"config { name: 'test' } producer_name_regex_filter: 'a|b'", "abc", false},
		{"config { name: 'test' } producer_name_filter: 'x' "
		 "producer_name_regex_filter: 'a[bc]{2}'",
		 "abc", true},
		{"config { name: 'test' } machine_name_filter: 'host'", "a", true},
		{"config { name: 'test' } machine_name_filter: 'other'", "a", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world world;
		struct producer producer;
		struct consumer consumer;
		char config[256];

		snprintf(config, sizeof(config), "buffers { size_kb: 64 } data_sources { %s }",
			 cases[i].source);
		world_open(&world);
		producer_open(&world, &producer, cases[i].producer);
		consumer_open(&world, &consumer);
		CHECK_INT(register_source(&producer, "name: 'test'"), 0);
		enable_ok(&consumer, config);
		if ((producer.log.size > 0) != cases[i].matches)
			orma_test_fail(__FILE__, __LINE__, "case %zu", i);
		consumer_close(&consumer);
		producer_close(&producer);
		world_close(&world);
	}
}

ORMA_TEST(remote_machines_take_part_only_when_named)
{
	struct orma_producer_info info = producer_info("p");
	static const struct {
		const char *config;
		bool matches;
	} cases[] = {
		{ONE_BUFFER, false},
		{ONE_BUFFER "trace_all_machines: true", true},
		{"buffers { size_kb: 4 } data_sources { config { name: 'test' } "
		 "machine_name_filter: 'guest' }",
		 true},
		{"buffers { size_kb: 4 } data_sources { config { name: 'test' } "
		 "machine_name_filter: 'host' }",
		 false},
	};

	info.machine_id = 7;
	info.machine_name = "guest";
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world world;
		struct producer producer;
		struct consumer consumer;

		world_open(&world);
		CHECK_INT(producer_try(&world, &producer, &info), 0);
		consumer_open(&world, &consumer);
		CHECK_INT(register_source(&producer, "name: 'test'"), 0);
		enable_ok(&consumer, cases[i].config);
		CHECK_INT(producer.log.size > 0, cases[i].matches);
		consumer_close(&consumer);
		producer_close(&producer);
		world_close(&world);
	}
}

ORMA_TEST(changed_config_adds_producers_and_nothing_else)
{
	struct world world;
	struct producer a, b;
	struct consumer consumer;
	struct orma_buf more =
		encode_text(&orma_pb_trace_config_desc, "buffers { size_kb: 4 } duration_ms: 1 "
							"data_sources { config { name: 'test' } "
							"producer_name_filter: 'b' }");

	world_open(&world);
	producer_open(&world, &a, "a");
	producer_open(&world, &b, "b");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&a, "name: 'test'"), 0);
	CHECK_INT(register_source(&b, "name: 'test'"), 0);
	CHECK_INT(orma_consumer_port_change_config(consumer.port, more.data, more.size), -ENOENT);
	enable_ok(&consumer, "buffers { size_kb: 64 } data_sources { config { name: 'test' } "
			     "producer_name_filter: 'a' }");
	CHECK_LOG(&b.log, "");
	CHECK_INT(orma_consumer_port_change_config(consumer.port, "\x0a\x7f", 2), -EBADMSG);
	CHECK_INT(orma_consumer_port_change_config(consumer.port, more.data, more.size), 0);
	CHECK_LOG(&a.log, "memory:256/4 setup:1 start:1");
	CHECK_LOG(&b.log, "memory:256/4 setup:2 start:2");
	CHECK_INT(orma_consumer_port_change_config(consumer.port, more.data, more.size), 0);
	CHECK_LOG(&b.log, "");
	pass_ms(&world, 10);
	CHECK_LOG(&consumer.log, "");
	orma_base_buf_done(&more);
	consumer_close(&consumer);
	producer_close(&a);
	producer_close(&b);
	world_close(&world);
}

ORMA_TEST(changed_config_goes_by_name_and_by_place_among_those_of_a_name)
{
	struct world world;
	struct producer a, b;
	struct consumer consumer;
	struct orma_buf more = encode_text(
		&orma_pb_trace_config_desc,
		"data_sources { config { name: 'new' } producer_name_filter: 'b' } "
		"data_sources { config { name: 'test' } producer_name_filter: 'a' } "
		"data_sources { } data_sources { config { name: 'test' } producer_name_filter: 'a' "
		"producer_name_filter: 'b' producer_name_filter: 'b' } "
		"data_sources { config { name: 'test' } producer_name_filter: 'b' }");

	world_open(&world);
	producer_open(&world, &a, "a");
	producer_open(&world, &b, "b");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&a, "name: 'test'"), 0);
	CHECK_INT(register_source(&b, "name: 'test'"), 0);
	enable_ok(&consumer, "buffers { size_kb: 64 } buffers { size_kb: 64 } "
			     "data_sources { config { name: 'test' target_buffer: 0 } "
			     "producer_name_filter: 'a' } "
			     "data_sources { config { name: 'test' target_buffer: 1 } "
			     "producer_name_filter: 'a' }");
	CHECK_LOG(&a.log, "memory:256/4 setup:1 setup:2 start:1 start:2");
	CHECK_INT(orma_consumer_port_change_config(consumer.port, more.data, more.size), 0);
	CHECK_LOG(&a.log, "");
	CHECK_LOG(&b.log, "memory:256/4 setup:3 start:3");
	CHECK_INT(b.target_buffer, 2);
	orma_base_buf_done(&more);
	consumer_close(&consumer);
	producer_close(&a);
	producer_close(&b);
	world_close(&world);
}

ORMA_TEST(changed_config_does_not_narrow_a_source_for_everybody)
{
	struct orma_buf more =
		encode_text(&orma_pb_trace_config_desc, "data_sources { config { name: 'test' } "
							"producer_name_filter: 'b' }");
	struct world world;
	struct producer late;
	struct consumer consumer;

	world_open(&world);
	consumer_open(&world, &consumer);
	enable_ok(&consumer, "buffers { size_kb: 64 } data_sources { config { name: 'test' } }");
	CHECK_INT(orma_consumer_port_change_config(consumer.port, more.data, more.size), 0);
	producer_open(&world, &late, "c");
	CHECK_INT(register_source(&late, "name: 'test'"), 0);
	CHECK_LOG(&late.log, "memory:256/4 setup:1 start:1");
	orma_base_buf_done(&more);
	consumer_close(&consumer);
	producer_close(&late);
	world_close(&world);
}

/* By an expression it is in the session already. */
ORMA_TEST(changed_config_makes_no_second_instance)
{
	struct orma_buf more =
		encode_text(&orma_pb_trace_config_desc, "data_sources { config { name: 'test' } "
							"producer_name_filter: 'b1' }");
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "b1");
	CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	consumer_open(&world, &consumer);
	enable_ok(&consumer, "buffers { size_kb: 64 } data_sources { config { name: 'test' } "
			     "producer_name_regex_filter: 'b.*' }");
	CHECK_LOG(&producer.log, "memory:256/4 setup:1 start:1");
	CHECK_INT(orma_consumer_port_change_config(consumer.port, more.data, more.size), 0);
	CHECK_LOG(&producer.log, "");
	orma_base_buf_done(&more);
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

static int change_config(struct consumer *consumer, struct orma_buf *text)
{
	struct orma_buf config = encode_text(&orma_pb_trace_config_desc, orma_base_buf_cstr(text));
	int r = orma_consumer_port_change_config(consumer->port, config.data, config.size);

	orma_base_buf_done(&config);
	return r;
}

static void put_names(struct orma_buf *text, unsigned begin, unsigned end)
{
	text->size = 0;
	CHECK_INT(orma_base_buf_printf(text, "data_sources { config { name: 'test' } "), 0);
	for (; begin < end; begin++)
		CHECK_INT(orma_base_buf_printf(text, "producer_name_filter: 'p%u' ", begin), 0);
	CHECK_INT(orma_base_buf_printf(text, "}"), 0);
}

ORMA_TEST(changed_configs_have_limits)
{
	static uint8_t large[ORMA_SERVICE_CONFIG_BYTES_MAX + 1];
	struct orma_buf text = {0};
	struct world world;
	struct consumer consumer;

	world_open(&world);
	consumer_open(&world, &consumer);
	enable_ok(&consumer, "buffers { size_kb: 64 } data_sources { config { name: 'test' } "
			     "producer_name_filter: 'p0' }");
	put_names(&text, 0, ORMA_SERVICE_FILTERS_PER_SOURCE + 1);
	CHECK_INT(change_config(&consumer, &text), -EMSGSIZE);
	put_names(&text, 1, ORMA_SERVICE_FILTERS_PER_SOURCE);
	CHECK_INT(change_config(&consumer, &text), 0);
	CHECK_INT(change_config(&consumer, &text), 0);
	put_names(&text, ORMA_SERVICE_FILTERS_PER_SOURCE, ORMA_SERVICE_FILTERS_PER_SOURCE + 1);
	CHECK_INT(change_config(&consumer, &text), -EMSGSIZE);
	text.size = 0;
	for (unsigned i = 0; i <= ORMA_SERVICE_SOURCES_PER_CONFIG; i++)
		CHECK_INT(orma_base_buf_printf(&text, "data_sources { } "), 0);
	CHECK_INT(change_config(&consumer, &text), -EMSGSIZE);
	CHECK_INT(orma_consumer_port_change_config(consumer.port, large, sizeof(large)), -EMSGSIZE);
	put_names(&text, 0, 1);
	orma_consumer_port_disable(consumer.port);
	CHECK_INT(change_config(&consumer, &text), -ESTALE);
	orma_base_buf_done(&text);
	consumer_close(&consumer);
	world_close(&world);
}

static void put_entries(struct orma_buf *text, const char *producer)
{
	CHECK_INT(orma_base_buf_printf(text, "buffers { size_kb: 64 } "), 0);
	for (unsigned i = 0; i < ORMA_SERVICE_SOURCES_PER_CONFIG; i++)
		CHECK_INT(orma_base_buf_printf(text,
					       "data_sources { config { name: 'test' } "
					       "producer_name_filter: '%s' } ",
					       producer),
			  0);
}

/* Instances of other data sources must not be examined, or this would take minutes. */
ORMA_TEST(changing_a_config_of_many_entries_with_many_instances_ends)
{
	struct orma_buf text = {0};
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	for (int i = 0; i < 16; i++)
		CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	put_entries(&text, "p");
	enable_ok(&consumer, orma_base_buf_cstr(&text));
	for (char name[] = "q"; name[0] < 'u'; name[0]++) {
		struct orma_buf other;

		text.size = 0;
		put_entries(&text, name);
		other = encode_text(&orma_pb_trace_config_desc, orma_base_buf_cstr(&text));
		CHECK_INT(orma_consumer_port_change_config(consumer.port, other.data, other.size),
			  0);
		orma_base_buf_done(&other);
	}
	orma_base_buf_done(&text);
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(changed_config_cannot_widen_a_filter_to_everybody)
{
	struct world world;
	struct producer producer;
	struct consumer consumer;
	struct orma_buf none =
		encode_text(&orma_pb_trace_config_desc, "data_sources { config { name: 'test' } }");

	world_open(&world);
	producer_open(&world, &producer, "b");
	consumer_open(&world, &consumer);
	enable_ok(&consumer, "buffers { size_kb: 64 } data_sources { config { name: 'test' } "
			     "producer_name_filter: 'a' }");
	CHECK_INT(orma_consumer_port_change_config(consumer.port, none.data, none.size), 0);
	CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	CHECK_LOG(&producer.log, "");
	orma_base_buf_done(&none);
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(producers_get_their_config_with_the_services_fields_and_unknown_ones_untouched)
{
	struct orma_arena arena = {0};
	struct orma_pb_data_source_config *config;
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	enable_ok(&consumer, "buffers { size_kb: 4 } buffers { size_kb: 4 name: 'n' } "
			     "data_sources { config { name: 'unused' target_buffer: 1 } } "
			     "data_sources { config { name: 'test' target_buffer_name: 'n' "
			     "session_initiator: SESSION_INITIATOR_TRUSTED_SYSTEM "
			     "tracing_session_id: 99 trace_duration_ms: 5 "
			     "legacy_config: 'l' 7777 { 1: 42 } } } "
			     "duration_ms: 1234 data_source_stop_timeout_ms: 77 "
			     "prefer_suspend_clock_for_duration: true "
			     "enable_extra_guardrails: true");
	CHECK_INT(orma_pb_data_source_config_decode(producer.config.data, producer.config.size,
						    &arena, &config),
		  0);
	CHECK(orma_base_str_is(config->name, "test"));
	CHECK(orma_base_str_is(config->legacy_config, "l"));
	CHECK_INT(config->target_buffer, 2);
	CHECK_INT(config->trace_duration_ms, 1234);
	CHECK_INT(config->tracing_session_id, 1);
	CHECK_INT(config->stop_timeout_ms, 77);
	CHECK_INT(config->session_initiator, 0);
	CHECK(config->prefer_suspend_clock_for_duration);
	CHECK(config->enable_extra_guardrails);
	CHECK(config->base.unknown);
	CHECK_MEM(config->base.unknown->bytes.data, config->base.unknown->bytes.size,
		  "\x8a\xe6\x03\x02\x08\x2a", 6);
	orma_base_arena_done(&arena);
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(memory_sizes_come_from_config_then_hint_then_default)
{
	static const struct {
		const char *config;
		uint32_t shm_hint_kb, page_hint_kb;
		const char *log;
	} cases[] = {
		{"", 0, 0, "memory:256/4"},
		{"", 512, 8, "memory:512/8"},
		{"producers { producer_name: 'p' shm_size_kb: 1024 page_size_kb: 16 }", 512, 8,
		 "memory:1024/16"},
		{"producers { producer_name: 'p' shm_size_kb: 1024 }", 512, 8, "memory:1024/8"},
		{"producers { producer_name: 'q' shm_size_kb: 1024 }", 512, 8, "memory:512/8"},
		{"", 512, 12, "memory:256/4"},
		{"", 513, 8, "memory:256/4"},
		{"", 4, 8, "memory:256/4"},
		{"", 512, 64, "memory:512/32"},
		{"producers { producer_name: 'p' shm_size_kb: 4294967295 }", 0, 0,
		 "memory:32768/4"},
		{"producers { producer_name: 'p' page_size_kb: 4294967295 }", 0, 0,
		 "memory:256/32"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct orma_producer_info info = producer_info("p");
		struct world world;
		struct producer producer;
		struct consumer consumer;
		char config[256];

		info.shm_size_hint_bytes = cases[i].shm_hint_kb << 10;
		info.page_size_hint_bytes = cases[i].page_hint_kb << 10;
		snprintf(config, sizeof(config), ONE_BUFFER "%s", cases[i].config);
		world_open(&world);
		CHECK_INT(producer_try(&world, &producer, &info), 0);
		consumer_open(&world, &consumer);
		CHECK_INT(register_source(&producer, "name: 'test'"), 0);
		enable_ok(&consumer, config);
		producer.log.text[strcspn(producer.log.text, " ")] = '\0';
		CHECK_STR(producer.log.text, cases[i].log);
		consumer_close(&consumer);
		producer_close(&producer);
		world_close(&world);
	}
}

ORMA_TEST(memory_that_a_producer_brings_is_checked)
{
	struct orma_producer_info info = producer_info("p");
	struct orma_producer_port *port;
	struct world world;
	bool is_taken = true;
	int sealed = orma_base_memfd_new("test", 64 << 10), odd = orma_base_memfd_new("test", 5000);
	int unsealed = memfd_create("test", MFD_CLOEXEC),
	    null = open("/dev/null", O_RDWR | O_CLOEXEC);

	CHECK(sealed >= 0 && odd >= 0 && unsealed >= 0 && null >= 0);
	CHECK_INT(ftruncate(unsealed, 64 << 10), 0);
	world_open(&world);
	for (int i = 0; i < 4; i++) {
		info.shm_fd = (int[]){odd, unsealed, null, sealed}[i];
		CHECK_INT(orma_producer_port_open(world.service, &info, &producer_callbacks, NULL,
						  &is_taken, &port),
			  0);
		CHECK_INT(is_taken, i == 3);
		orma_producer_port_close(port);
	}
	close(sealed);
	close(odd);
	close(unsealed);
	close(null);
	world_close(&world);
}

ORMA_TEST(names_that_are_too_long_are_refused)
{
	char name[1100] = "";
	struct orma_producer_info info = producer_info(name);
	struct world world;
	struct producer producer;

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	world_open(&world);
	CHECK_INT(producer_try(&world, &producer, &info), -EINVAL);
	name[1024] = '\0';
	CHECK_INT(producer_try(&world, &producer, &info), 0);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(producer_ids_run_out_and_come_back)
{
	struct orma_producer_info info = producer_info("p");
	struct orma_producer_callbacks none = {.struct_size = sizeof(none)};
	static struct orma_producer_port *ports[65535];
	struct orma_producer_port *extra;
	struct world world;

	world_open(&world);
	for (size_t i = 0; i < 65535; i++)
		CHECK_INT(
			orma_producer_port_open(world.service, &info, &none, NULL, NULL, &ports[i]),
			0);
	CHECK_INT(orma_producer_port_open(world.service, &info, &none, NULL, NULL, &extra),
		  -ENOSPC);
	orma_producer_port_close(ports[1000]);
	CHECK_INT(orma_producer_port_open(world.service, &info, &none, NULL, NULL, &ports[1000]),
		  0);
	world_close(&world);
}
