/* SPDX-License-Identifier: Apache-2.0
 * startup_test.c - recording before there is a daemon, with and without a session that adopts
 * it.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "unit/client/daemon.h"
#include "unit/client/fixture.h"

static void init_system(const struct daemon *daemon)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .producer_name = "test.producer",
						  .producer_socket = daemon->producer};

	CHECK_INT(orma_init(&options), 0);
}

static int start_early(const char *text, uint32_t timeout_ms)
{
	struct orma_startup_options options = {.struct_size = sizeof(options),
					       .timeout_ms = timeout_ms};
	void *config;
	size_t size;
	int r;

	CHECK_INT(orma_config_parse("test", text, strlen(text), &config, &size, NULL), 0);
	options.config = config;
	options.config_size = size;
	r = orma_startup_tracing(&options);
	orma_config_free(config);
	return r;
}

static struct orma_session *enable_session(const struct daemon *daemon, const char *config)
{
	const struct orma_session_options options = {.struct_size = sizeof(options),
						     .consumer_socket = daemon->consumer};
	struct orma_session *session = session_new(&options);

	session_enable(session, config);
	return session;
}

static struct orma_session *start_session(const struct daemon *daemon, const char *config)
{
	struct orma_session *session = enable_session(daemon, config);

	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	return session;
}

#define TWO_CONFIG                                                                                 \
	"buffers { size_kb: 64 } buffers { size_kb: 1024 } data_sources { config { "               \
	"name: \"test.source\" target_buffer: 1 legacy_config: \"x\" } }"

static void emit_text(struct orma_data_source *source, uint64_t value)
{
	static const char text[] = "0123456789012345678901234567890123456789";

	ORMA_FOR_EACH_INSTANCE(source, idx)
	{
		struct orma_packet *packet = orma_packet_begin(source, idx);
		struct orma_nested nested;

		CHECK(packet);
		orma_packet_varint(packet, 8, value);
		orma_packet_nested_begin(packet, &nested, 900);
		/* This is longer than a page, so lengths have to be patched. */
		for (int i = 0; value % 10 == 0 && i < 200; i++)
			orma_packet_string(packet, 1, text);
		orma_packet_nested_end(packet, &nested);
		orma_packet_end(packet);
	}
}

ORMA_TEST(what_was_recorded_before_the_daemon_came_is_in_the_session_that_wants_it)
{
	struct source_log log = {0};
	struct packets packets = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct daemon daemon;

	daemon_addresses(&daemon);
	init_system(&daemon);
	source = register_source("test.source", &log);
	CHECK_INT(start_early(TWO_CONFIG, 0), 1);
	CHECK_INT(start_early(TWO_CONFIG, 0), -EBUSY);
	CHECK_INT(orma_data_source_started(source), 1);
	CHECK_INT(log.starts, 1);
	for (uint64_t i = 1; i <= 100; i++)
		emit_text(source, i);
	CHECK_INT(orma_data_source_dropped(source, 0), 0);
	daemon_start(&daemon);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	for (uint64_t i = 101; i <= 110; i++)
		emit_text(source, i);
	session = start_session(&daemon, TWO_CONFIG);
	for (uint64_t i = 111; i <= 200; i++)
		emit_text(source, i);
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	CHECK_INT(log.setups, 1);
	CHECK_INT(log.starts, 1);
	CHECK_INT(log.flushes, 1);
	session_finish(session, &packets);
	CHECK_INT(log.stops, 1);
	CHECK_INT(log.destroys, 1);
	CHECK_INT(count_values(&packets, 1, 200), 200);
	packets_done(&packets);
	/* The memory belongs to the connection from now on. */
	session = start_session(&daemon, TWO_CONFIG);
	CHECK_INT(log.starts, 2);
	for (uint64_t i = 1; i <= 100; i++)
		emit_text(source, i);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 100), 100);
	packets_done(&packets);
	orma_shutdown();
	daemon_stop(&daemon);
}

ORMA_TEST(a_session_with_another_config_gets_an_instance_of_its_own)
{
	struct source_log log = {0};
	struct packets packets = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct daemon daemon;

	daemon_addresses(&daemon);
	init_system(&daemon);
	source = register_source("test.source", &log);
	/* This is long enough on a busy machine. */
	CHECK_INT(start_early(SOURCE_CONFIG, 5000), 1);
	emit_text(source, 1);
	daemon_start(&daemon);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = start_session(&daemon, TWO_CONFIG);
	CHECK_INT(log.starts, 2);
	CHECK_INT(orma_data_source_started(source), 3);
	emit_text(source, 2);
	/* No session adopts the first one, so it ends at its timeout. */
	wait_for(&log.is_destroyed);
	CHECK_INT(orma_data_source_started(source), 2);
	for (uint64_t i = 3; i <= 1000; i++) {
		emit_text(source, i);
		if (i % 50 == 0)
			CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	}
	CHECK_INT(orma_data_source_dropped(source, 1), 0);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 1), 0);
	CHECK_INT(count_values(&packets, 2, 1000), 999);
	packets_done(&packets);
	CHECK_INT(start_early(SOURCE_CONFIG, 0), 1);
	emit_text(source, 1);
	session = start_session(&daemon, SOURCE_CONFIG);
	emit_text(source, 2);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 2), 2);
	packets_done(&packets);
	orma_shutdown();
	daemon_stop(&daemon);
}

ORMA_TEST(without_a_daemon_it_ends_at_the_timeout_and_can_begin_again)
{
	struct source_log log = {.stop_completion = ORMA_POSTPONE};
	struct orma_data_source *source;
	struct daemon daemon;

	daemon_addresses(&daemon);
	init_system(&daemon);
	source = register_source("test.source", &log);
	CHECK_INT(start_early(SOURCE_CONFIG, 2000), 1);
	for (uint64_t i = 1; i <= 20000; i++)
		emit_text(source, i);
	CHECK(orma_data_source_dropped(source, 0) > 0);
	wait_for(&log.is_stopping);
	orma_data_source_complete(source, log.stop_number);
	wait_for(&log.is_destroyed);
	log.stop_completion = ORMA_COMPLETE;
	CHECK_INT(start_early(SOURCE_CONFIG, 0), 1);
	orma_data_source_unregister(source);
	CHECK_INT(log.destroys, 2);
	source = register_source("test.source", &log);
	orma_shutdown();
}

ORMA_TEST(a_start_that_is_postponed_before_the_session_holds_it_up)
{
	struct source_log log = {.start_completion = ORMA_POSTPONE};
	struct packets packets = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct daemon daemon;

	daemon_addresses(&daemon);
	init_system(&daemon);
	source = register_source("test.source", &log);
	CHECK_INT(start_early(SOURCE_CONFIG, 0), 1);
	daemon_start(&daemon);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = enable_session(&daemon, SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(session, 200), -ETIMEDOUT);
	CHECK_INT(log.starts, 1);
	orma_data_source_complete(source, log.start_number);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	session_finish(session, &packets);
	packets_done(&packets);
	orma_shutdown();
	daemon_stop(&daemon);
}

ORMA_TEST(a_connection_that_is_there_already_is_made_anew_or_used)
{
	struct source_log log = {0}, other_log = {0};
	struct packets packets = {0};
	struct orma_data_source *source;
	struct orma_session *session, *other;
	struct daemon daemon;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	init_system(&daemon);
	source = register_source("test.source", &log);
	register_source("other.source", &other_log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK_INT(start_early(SOURCE_CONFIG, 0), 1);
	emit_text(source, 1);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = start_session(&daemon, SOURCE_CONFIG);
	emit_text(source, 2);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 2), 2);
	packets_done(&packets);
	orma_shutdown();

	/* The producer uses the service's memory. */
	init_system(&daemon);
	source = register_source("test.source", &log);
	register_source("other.source", &other_log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	other = start_session(&daemon, "buffers { size_kb: 64 } data_sources { config { "
				       "name: \"other.source\" } }");
	CHECK_INT(other_log.starts, 1);
	CHECK_INT(start_early(SOURCE_CONFIG, 0), 1);
	emit_text(source, 1);
	session = start_session(&daemon, SOURCE_CONFIG);
	emit_text(source, 2);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 2), 2);
	packets_done(&packets);
	session_finish(other, &packets);
	packets_done(&packets);
	orma_shutdown();
	daemon_stop(&daemon);
}

/* Two attempts fail for lack of memory, the third succeeds. */
ORMA_TEST(what_cannot_begin_for_lack_of_memory_leaves_nothing_behind)
{
	static const char two[] = "data_sources { config { name: \"test.source\" } } "
				  "data_sources { config { name: \"test.other\" } }";
	struct source_log logs[2] = {{0}};
	struct orma_data_source *sources[2];
	struct orma_startup_options options = {.struct_size = sizeof(options)};
	struct daemon daemon;
	void *config;
	bool has_failed = true;

	daemon_addresses(&daemon);
	CHECK_INT(orma_config_parse("test", two, strlen(two), &config, &options.config_size, NULL),
		  0);
	options.config = config;
	for (uint64_t nth = 1; has_failed; nth++) {
		int r;

		init_system(&daemon);
		sources[0] = register_source("test.source", &logs[0]);
		sources[1] = register_source("test.other", &logs[1]);
		orma_test_fail_allocation(nth);
		r = orma_startup_tracing(&options);
		has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		if (r < 0) {
			CHECK_INT(r, -ENOMEM);
			CHECK_INT(orma_data_source_started(sources[0]), 0);
			CHECK_INT(orma_data_source_started(sources[1]), 0);
			CHECK_INT(orma_startup_tracing(&options), 2);
		} else {
			CHECK_INT(r, 2);
		}
		orma_shutdown();
	}
	orma_config_free(config);
}

ORMA_TEST(a_connection_goes_on_where_no_memory_can_be_made)
{
	struct source_log log = {0};
	struct rlimit before, none;
	struct daemon daemon;
	int next;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	init_system(&daemon);
	register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
	next = dup(STDIN_FILENO);
	close(next);
	none = (struct rlimit){.rlim_cur = (rlim_t)next, .rlim_max = before.rlim_max};
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
	CHECK_INT(start_early(SOURCE_CONFIG, 0), -EMFILE);
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK(orma_is_connected());
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK_INT(start_early(SOURCE_CONFIG, 0), 1);
	orma_shutdown();
	daemon_stop(&daemon);
}

ORMA_TEST(what_cannot_begin_early_says_why)
{
	struct orma_startup_options options = {.struct_size = 1};
	struct {
		struct orma_startup_options known;
		void *unknown;
	} newer = {.known = {.struct_size = sizeof(newer)}};
	struct source_log log = {0};
	struct daemon daemon;

	daemon_addresses(&daemon);
	CHECK_INT(orma_startup_tracing(NULL), -EINVAL);
	CHECK_INT(orma_startup_tracing(&options), -EINVAL);
	options = (struct orma_startup_options){.struct_size = sizeof(options), .config_size = 1};
	CHECK_INT(orma_startup_tracing(&options), -EINVAL);
	CHECK_INT(start_early(SOURCE_CONFIG, 0), -ENOTCONN);
	init_in_process();
	register_source("test.source", &log);
	CHECK_INT(start_early(SOURCE_CONFIG, 0), -ENOTSUP);
	orma_shutdown();
	init_system(&daemon);
	CHECK_INT(start_early(SOURCE_CONFIG, 0), -ENOENT);
	CHECK_INT(orma_startup_tracing(&newer.known), -ENOENT);
	newer.unknown = &newer;
	CHECK_INT(orma_startup_tracing(&newer.known), -EINVAL);
	options.config = "\x12\x7f";
	options.config_size = 2;
	CHECK_INT(orma_startup_tracing(&options), -EINVAL);
	orma_shutdown();
}
