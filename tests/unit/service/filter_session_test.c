/* SPDX-License-Identifier: Apache-2.0
 * filter_session_test.c - sessions with a trace filter: what is read, written, counted, refused.
 */
#include <fcntl.h>

#include "filter_program.h"
#include "fixture.h"
#include "schema/gen/trace_stats.pb.h"
#include "tool/daemon/regex_pcre2.h"

#define CONFIG "buffers { size_kb: 64 } data_sources { config { name: 'test' } } "

struct scene {
	struct world world;
	struct producer producer;
	struct consumer consumer;
	struct packets packets;
	uint64_t tick_ns, looked_ns;
};

/* Text of a program: packets have a sequence id and a test event of one string. */
static const char *test_program(void)
{
	static char text[512];
	struct orma_buf bytes =
		program(WORDS(N(1u, 1u), END, F(10u), N(900u, 2u), END, S(1u), END));

	snprintf(text, sizeof(text), "%s", program_text(&bytes));
	orma_base_buf_done(&bytes);
	return text;
}

static const char *with_filter(const char *config, const char *bytecode, const char *rules)
{
	static char text[2048];

	snprintf(text, sizeof(text), "%s trace_filter { bytecode_v2: '%s' %s }", config, bytecode,
		 rules);
	return text;
}

static void open_parts(struct scene *s)
{
	producer_open(&s->world, &s->producer, "p");
	consumer_open(&s->world, &s->consumer);
	CHECK_INT(register_source(&s->producer, "name: 'test'"), 0);
}

static void open_scene(struct scene *s, const char *config)
{
	memset(s, 0, sizeof(*s));
	world_open(&s->world);
	open_parts(s);
	enable_ok(&s->consumer, config);
}

static void close_scene(struct scene *s)
{
	packets_done(&s->packets);
	consumer_close(&s->consumer);
	producer_close(&s->producer);
	world_close(&s->world);
}

static size_t count_empty(const struct packets *packets)
{
	struct orma_buf buf = {0};
	size_t count = 0;

	for (size_t i = 0; i < packets->count; i++) {
		buf.size = 0;
		CHECK_INT(orma_proto_encode(packets->items[i], &buf), 0);
		count += buf.size == 0;
	}
	orma_base_buf_done(&buf);
	return count;
}

ORMA_TEST(packets_are_filtered_and_those_with_nothing_left_stay_as_empty_ones)
{
	const struct orma_pb_trace_stats_filter_stats *stats;
	struct scene s;

	open_scene(&s, with_filter(CONFIG, test_program(), ""));
	send_packet(&s.producer, 0, "one");
	send_packet(&s.producer, 1, "two");
	read_all(&s.consumer, &s.packets);
	CHECK_STR(texts_of(&s.packets), "one two");
	/* clocks twice, sync, config, uuid, provenance, system, started, all_started; read */
	CHECK_STR(kinds_of(&s.packets), "? ? ? ? ? ? ? ? ? data data ? stats");
	/* The service's packets keep their sequence id, which the program allows. */
	CHECK_INT(count_empty(&s.packets), 0);
	for (size_t i = 0; i < 9; i++)
		CHECK_INT(s.packets.items[i]->trusted_packet_sequence_id, 1);
	CHECK_INT(s.packets.items[9]->trusted_packet_sequence_id, 2);
	CHECK_INT(s.packets.items[9]->trusted_uid, 0);
	stats = stats_of(&s.packets)->filter_stats;
	CHECK(stats);
	CHECK_INT(stats->input_packets, 12);
	CHECK_INT(stats->errors, 0);
	/* Sequence ids, and twice the tags and lengths of event and string, and the string. */
	CHECK_INT(stats->output_bytes, 12 * 2 + 2 * (3 + 2 + 3));
	CHECK(stats->input_bytes > stats->output_bytes);
	CHECK_INT(stats->bytes_discarded_per_buffer.count, 1);
	CHECK(stats->bytes_discarded_per_buffer.items[0] > 0 &&
	      stats->bytes_discarded_per_buffer.items[0] < 40);
	close_scene(&s);
}

ORMA_TEST(empty_packets_are_counted)
{
	struct orma_buf bytes = program(WORDS(N(1u, 1u), END, END));
	struct scene s;

	open_scene(&s, with_filter(CONFIG, program_text(&bytes), ""));
	send_packet(&s.producer, 0, "one");
	read_all(&s.consumer, &s.packets);
	CHECK_INT(count_empty(&s.packets), 11);
	CHECK_INT(s.packets.count, 12);
	CHECK_INT(stats_of(&s.packets)->filter_stats->output_bytes, 0);
	orma_base_buf_done(&bytes);
	close_scene(&s);
}

ORMA_TEST(statistics_of_the_filter_are_there_only_with_one)
{
	struct scene s;

	open_scene(&s, CONFIG);
	read_all(&s.consumer, &s.packets);
	CHECK(!stats_of(&s.packets)->filter_stats);
	close_scene(&s);
}

ORMA_TEST(discarded_bytes_are_counted_by_buffer_and_the_stats_packet_as_passed)
{
	static const char two[] =
		"buffers { size_kb: 64 } buffers { size_kb: 64 } buffers { size_kb: 64 } "
		"data_sources { config { name: 'test' target_buffer: 1 } } ";
	const struct orma_pb_trace_stats_filter_stats *first, *second;
	struct orma_arena arena = {0};
	struct orma_pb_trace_stats *asked;
	const void *data;
	size_t size;
	struct scene s;

	open_scene(&s, with_filter(two, test_program(), ""));
	send_packet(&s.producer, 0, "one");
	read_all(&s.consumer, &s.packets);
	first = stats_of(&s.packets)->filter_stats;
	CHECK_INT(first->bytes_discarded_per_buffer.count, 2);
	CHECK_INT(first->bytes_discarded_per_buffer.items[0], 0);
	CHECK(first->bytes_discarded_per_buffer.items[1] > 0);
	CHECK_INT(orma_consumer_port_get_stats(s.consumer.port, &data, &size), 0);
	CHECK_INT(orma_proto_decode(&orma_pb_trace_stats_desc, data, size, &arena, &asked), 0);
	second = asked->filter_stats;
	CHECK_INT(second->input_packets, first->input_packets + 1);
	CHECK_INT(second->input_bytes - first->input_bytes,
		  second->output_bytes - first->output_bytes);
	CHECK(second->input_bytes > first->input_bytes);
	orma_base_arena_done(&arena);
	close_scene(&s);
}

ORMA_TEST(strings_are_redacted)
{
	struct scene s;

	open_scene(&s, with_filter(CONFIG, test_program(),
				   "string_filter_chain { rules { policy: "
				   "SFP_MATCH_REDACT_GROUPS regex_pattern: 'user=(.*)' } }"));
	send_packet(&s.producer, 0, "user=karl");
	send_packet(&s.producer, 1, "karl");
	read_all(&s.consumer, &s.packets);
	CHECK_STR(texts_of(&s.packets), "user=P60R karl");
	close_scene(&s);
}

ORMA_TEST(losses_pass_when_the_filter_allows_them)
{
	struct orma_buf bytes =
		program(WORDS(N(1u, 1u), END, F(42u), N(900u, 2u), END, F(1u), END));
	struct scene s;

	open_scene(&s, with_filter(CONFIG, program_text(&bytes), ""));
	send_packet(&s.producer, 0, "a");
	send_packet(&s.producer, 2, "c");
	orma_consumer_port_disable(s.consumer.port);
	read_all(&s.consumer, &s.packets);
	CHECK_INT(strncmp(texts_of(&s.packets), "a c lost:", 9), 0);
	orma_base_buf_done(&bytes);
	close_scene(&s);
}

/* The string of the test event is taken for a message, which it is not. */
ORMA_TEST(packets_that_cannot_be_filtered_become_empty_errors)
{
	struct orma_buf bytes =
		program(WORDS(N(1u, 1u), END, F(10u), N(900u, 2u), END, N(1u, 1u), END));
	const struct orma_pb_trace_stats_filter_stats *stats;
	struct scene s;

	open_scene(&s, with_filter(CONFIG, program_text(&bytes), ""));
	send_packet(&s.producer, 0, "xyz");
	send_packet(&s.producer, 1, "xyz");
	read_all(&s.consumer, &s.packets);
	CHECK_INT(count_empty(&s.packets), 2);
	stats = stats_of(&s.packets)->filter_stats;
	CHECK_INT(stats->errors, 2);
	CHECK_INT(stats->input_packets, 12);
	CHECK_INT(stats->bytes_discarded_per_buffer.count, 0);
	orma_base_buf_done(&bytes);
	close_scene(&s);
}

ORMA_TEST(files_are_filtered_like_what_is_read)
{
	char path[512], content[65536];
	struct scene s;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "%s/trace", orma_test_tmpdir());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	memset(&s, 0, sizeof(s));
	world_open(&s.world);
	open_parts(&s);
	CHECK_INT(enable_into(&s.consumer, fd,
			      with_filter(CONFIG "write_into_file: true ", test_program(), "")),
		  0);
	send_packet(&s.producer, 0, "one");
	pass_ms(&s.world, 6000);
	send_packet(&s.producer, 1, "two");
	orma_consumer_port_disable(s.consumer.port);
	size = pread(fd, content, sizeof(content), 0);
	CHECK(size > 0 && (size_t)size < sizeof(content));
	read_trace_file(content, (size_t)size, &s.packets);
	CHECK_STR(texts_of(&s.packets), "one two");
	for (size_t i = 0; i < s.packets.count; i++)
		CHECK_INT(s.packets.items[i]->trusted_uid,
			  s.packets.items[i]->trace_stats ? (int)getuid() : 0);
	CHECK(stats_of(&s.packets)->filter_stats->input_packets > 12);
	close(fd);
	close_scene(&s);
}

ORMA_TEST(a_filter_that_does_not_load_is_refused_by_name_and_changes_nothing)
{
	static const struct {
		const char *filter, *error;
	} cases[] = {
		{"", "trace_filter.bytecode: empty"},
		{"bytecode: 'x'", "trace_filter.bytecode: the checksum is 78, not 84222325"},
		{"bytecode_v2: 'x'", "trace_filter.bytecode_v2: the checksum is 78, not 84222325"},
		{"bytecode: '\\245\\306\\210\\241\\010'",
		 "trace_filter.bytecode: field 1 of message 0, Trace.packet, is no message in it"},
	};
	char config[512];
	struct scene s;

	open_scene(&s, CONFIG);
	orma_consumer_port_free_buffers(s.consumer.port);
	log_clear(&s.producer.log);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		snprintf(config, sizeof(config),
			 CONFIG "lockdown_mode: LOCKDOWN_SET "
				"trace_filter { %s }",
			 cases[i].filter);
		CHECK_INT(enable(&s.consumer, config), -EINVAL);
		CHECK_STR(s.consumer.error.message, cases[i].error);
	}
	CHECK_STR(s.producer.log.text, "");
	enable_ok(&s.consumer, with_filter(CONFIG, test_program(), ""));
	close_scene(&s);
}

ORMA_TEST(the_second_bytecode_wins_and_the_first_one_is_not_looked_at)
{
	struct scene s;

	open_scene(&s, with_filter(CONFIG, test_program(), "bytecode: 'nonsense'"));
	send_packet(&s.producer, 0, "one");
	read_all(&s.consumer, &s.packets);
	CHECK_STR(texts_of(&s.packets), "one");
	close_scene(&s);
}

ORMA_TEST(overlays_of_a_config_apply)
{
	struct orma_buf overlay = program(WORDS(OVER(1u, F(3u), 0u)));
	char more[544];
	struct scene s;

	snprintf(more, sizeof(more), "bytecode_overlay_v54: '%s'", program_text(&overlay));
	open_scene(&s, with_filter(CONFIG, test_program(), more));
	send_packet(&s.producer, 0, "one");
	read_all(&s.consumer, &s.packets);
	CHECK_INT(s.packets.items[0]->trusted_uid, (int)getuid());
	orma_base_buf_done(&overlay);
	close_scene(&s);
}

/* Whatever fails, no packet comes unfiltered. */
ORMA_TEST(without_memory_nothing_passes_unfiltered)
{
	struct scene s;
	bool failed = true;

	for (uint64_t nth = 1; failed; nth++) {
		struct orma_trace_batch batch = {0};

		open_scene(&s, with_filter(CONFIG, test_program(), ""));
		for (uint32_t i = 0; i < 50; i++)
			send_packet(&s.producer, i, "one");
		orma_test_fail_allocation(nth);
		if (orma_consumer_port_read(s.consumer.port, 1 << 20, &batch) < 0)
			batch.count = 0;
		failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		for (size_t i = 0; i < batch.count; i++) {
			CHECK(batch.slices[i].ends_packet);
			packets_add(&s.packets, batch.slices[i].data, batch.slices[i].size);
		}
		for (size_t i = 0; i < s.packets.count; i++)
			CHECK(s.packets.items[i]->trusted_uid == 0 ||
			      s.packets.items[i]->trace_stats);
		close_scene(&s);
	}
}

static uint64_t ticking_clock(void *ctx, int clock_id)
{
	struct scene *s = ctx;

	(void)clock_id;
	s->looked_ns += s->tick_ns;
	return START_NS + s->looked_ns;
}

ORMA_TEST(a_batch_ends_when_its_strings_took_long)
{
	struct orma_service_options options = {.struct_size = sizeof(options),
					       .now_ns = ticking_clock};
	struct scene s;
	size_t batches = 1;

	memset(&s, 0, sizeof(s));
	options.ctx = &s;
	CHECK_INT(orma_service_new(&options, &s.world.service), 0);
	open_parts(&s);
	enable_ok(&s.consumer, with_filter(CONFIG, test_program(),
					   "string_filter_chain { rules { policy: SFP_MATCH_BREAK "
					   "regex_pattern: 'x' } }"));
	for (uint32_t i = 0; i < 100; i++)
		send_packet(&s.producer, i, "one");
	/* Begin, one look, end: two ticks each packet. */
	s.tick_ns = ORMA_SERVICE_FILTER_BATCH_NS / 20;
	while (read_batch(&s.consumer, 1 << 20, &s.packets))
		batches++;
	CHECK(batches >= 10 && batches < 20);
	s.tick_ns = 0;
	close_scene(&s);
}

ORMA_TEST(many_packets_are_filtered_to_the_last)
{
	char expected[4096] = "", text[16];
	struct scene s;

	open_scene(&s, with_filter("buffers { size_kb: 4096 } "
				   "data_sources { config { name: 'test' } } ",
				   test_program(), ""));
	for (uint32_t i = 0; i < 300; i++) {
		snprintf(text, sizeof(text), "%u", i);
		send_packet(&s.producer, i, text);
		snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%s%s",
			 i ? " " : "", text);
	}
	while (read_batch(&s.consumer, 700, &s.packets))
		;
	CHECK_STR(texts_of(&s.packets), expected);
	for (size_t i = 0; i + 1 < s.packets.count; i++)
		CHECK_INT(s.packets.items[i]->trusted_uid, 0);
	close_scene(&s);
}

static void on_cloned(void *ctx, const struct orma_clone_result *result)
{
	CHECK(!result->error);
	++*(int *)ctx;
}

/* A clone is filtered unless the request says otherwise; one for a bug report is never filtered. */
ORMA_TEST(clones_are_filtered_like_their_source_unless_they_skip_that)
{
	static const struct {
		uint64_t session_id;
		bool skips;
	} cases[] = {{1, false}, {1, true}, {UINT64_MAX, false}};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		struct orma_clone_request request = {
			.struct_size = sizeof(request),
			.session_id = cases[i].session_id,
			.skips_trace_filter = cases[i].skips,
			.file_fd = -1,
		};
		struct consumer other;
		struct scene s;
		int cloned = 0;

		open_scene(&s, with_filter(CONFIG "bugreport_score: 1", test_program(), ""));
		consumer_open(&s.world, &other);
		send_packet(&s.producer, 0, "one");
		orma_consumer_port_clone(other.port, &request, on_cloned, &cloned);
		answer_flush(&s.producer);
		pass_ms(&s.world, 10);
		CHECK_INT(cloned, 1);
		read_all(&other, &s.packets);
		CHECK_STR(texts_of(&s.packets), "one");
		CHECK_INT(strstr(kinds_of(&s.packets), "config") != NULL, i > 0);
		CHECK_INT(stats_of(&s.packets)->filter_stats != NULL, i == 0);
		consumer_close(&other);
		close_scene(&s);
	}
}
