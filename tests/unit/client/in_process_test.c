/* SPDX-License-Identifier: Apache-2.0
 * in_process_test.c - producer, service and consumer in one process: from a data source's
 * callbacks to the packets that a session reads.
 */
#include "unit/client/fixture.h"

#include <fcntl.h>
#include <unistd.h>

ORMA_TEST(a_session_reads_the_packets_of_a_data_source)
{
	struct source_log log = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct packets packets = {0};

	init_in_process();
	source = register_source("test.source", &log);
	session = session_start(SOURCE_CONFIG);
	CHECK_INT(log.setups, 1);
	CHECK_INT(log.starts, 1);
	CHECK_INT(orma_data_source_started(source), 1);
	for (uint64_t i = 1; i <= 100; i++)
		emit(source, i);
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	CHECK_INT(log.flushes, 1);
	session_finish(session, &packets);
	CHECK_INT(log.stops, 1);
	CHECK_INT(log.destroys, 1);
	CHECK_INT(orma_data_source_started(source), 0);
	CHECK_INT(count_values(&packets, 1, 100), 100);
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(a_postponed_start_holds_up_the_session_until_it_completes)
{
	struct source_log log = {.start_completion = ORMA_POSTPONE};
	struct orma_data_source *source;
	struct orma_session *session;
	struct packets packets = {0};

	init_in_process();
	source = register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = session_new(NULL);
	session_enable(session, SOURCE_CONFIG);
	wait_for(&log.is_started);
	CHECK_INT(orma_session_wait_started(session, 50), -ETIMEDOUT);
	CHECK_INT(orma_data_source_started(source), 1);
	emit(source, 1);
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	orma_data_source_complete(source, log.start_number + 32); /* another use of the instance */
	CHECK_INT(orma_session_wait_started(session, 50), -ETIMEDOUT);
	orma_data_source_complete(source, log.start_number);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	orma_data_source_complete(source, log.start_number);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 1), 1);
	CHECK_INT(log.starts, 1);
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(an_instance_stops_before_its_start_is_complete)
{
	struct source_log log = {.start_completion = ORMA_POSTPONE};
	struct orma_data_source *source;
	struct orma_session *session;
	struct packets packets = {0};

	init_in_process();
	source = register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = session_new(NULL);
	session_enable(session, SOURCE_CONFIG);
	wait_for(&log.is_started);
	session_finish(session, &packets);
	CHECK_INT(log.destroys, 1);
	orma_data_source_complete(source, log.start_number);
	packets_done(&packets);
	/* The next use of the same place waits for its own start. */
	packets = (struct packets){0};
	session = session_new(NULL);
	session_enable(session, SOURCE_CONFIG);
	wait_for(&log.is_started);
	CHECK_INT(orma_session_wait_started(session, 50), -ETIMEDOUT);
	orma_data_source_complete(source, log.start_number);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	session_finish(session, &packets);
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(postponed_stop_and_flush_hold_up_the_service_until_they_complete)
{
	struct source_log log = {.stop_completion = ORMA_POSTPONE,
				 .flush_completion = ORMA_POSTPONE};
	struct orma_data_source *source;
	struct orma_session *session;
	struct packets packets = {0};

	init_in_process();
	source = register_source("test.source", &log);
	session = session_start(SOURCE_CONFIG);
	/* Nothing completes the first flush, so the service gives up. */
	CHECK_INT(orma_session_flush(session, 1, 0), -EIO);
	wait_for(&log.is_flushing);
	orma_data_source_complete(source, log.flush_number);
	CHECK_INT(orma_session_stop(session), 0);
	wait_for(&log.is_stopping);
	CHECK_INT(orma_data_source_started(source), 1);
	CHECK_INT(log.destroys, 0);
	emit(source, 7);
	orma_data_source_complete(source, 0);
	orma_data_source_complete(source, log.stop_number);
	orma_data_source_complete(source, log.stop_number);
	wait_for(&log.is_destroyed);
	CHECK_INT(orma_session_wait_stopped(session, WAIT_MS, NULL), 0);
	CHECK_INT(orma_session_read(session, packets_add, &packets), 0);
	orma_session_free(session);
	CHECK_INT(log.destroys, 1);
	CHECK_INT(orma_data_source_started(source), 0);
	packets_done(&packets);
	orma_shutdown();
}

#define FIVE_TIMES(x) x x x x x

ORMA_TEST(a_source_has_eight_instances_and_each_gets_its_own_packets)
{
	static const char config[] = "buffers { size_kb: 1024 } " FIVE_TIMES(
		"data_sources { config { name: \"test.source\" } } ");
	struct orma_session *first, *second;
	struct packets packets = {0};
	struct source_log log = {0};
	struct orma_data_source *source;
	size_t count = 0;

	init_in_process();
	source = register_source("test.source", &log);
	first = session_start(config);
	second = session_start(config);
	CHECK_INT(orma_data_source_started(source), 0xff);
	CHECK_INT(log.starts, ORMA_INSTANCES_MAX);
	emit(source, 1);
	session_finish(first, &packets);
	session_finish(second, &packets);
	for (size_t i = 0; i < packets.list.count; i++)
		count += packets.list.items[i]->timestamp == 1;
	CHECK_INT(count, ORMA_INSTANCES_MAX);
	CHECK_INT(log.destroys, ORMA_INSTANCES_MAX);
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(an_unregistered_source_stops_and_its_place_can_be_taken_again)
{
	struct source_log log = {.stop_completion = ORMA_POSTPONE};
	struct orma_data_source *source;
	struct orma_session *session;
	struct packets packets = {0};

	init_in_process();
	source = register_source("test.source", &log);
	session = session_start(SOURCE_CONFIG);
	emit(source, 1);
	orma_data_source_unregister(source);
	CHECK_INT(log.stops, 1);
	CHECK_INT(log.destroys, 1);
	source = register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK_INT(log.starts, 2);
	log.stop_completion = ORMA_COMPLETE;
	emit(source, 2);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 2), 2);
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(a_source_that_was_unregistered_cannot_be_unregistered_again)
{
	struct source_log logs[2] = {{0}};
	struct orma_data_source *first, *second;

	init_in_process();
	first = register_source("test.first", &logs[0]);
	orma_data_source_unregister(first);
	second = register_source("test.second", &logs[1]);
	/* Not even its slot, which the second one has now. */
	orma_data_source_unregister(first);
	orma_data_source_unregister(NULL);
	CHECK_INT(orma_data_source_update(first, NULL, 0), -EINVAL);
	CHECK(register_source("test.first", &logs[0]) == first);
	CHECK(second != first);
	CHECK_INT(orma_data_source_update(second, NULL, 0), 0);
	orma_data_source_unregister(second);
	orma_shutdown();
}

ORMA_TEST(state_is_needed_once_and_again_after_it_was_cleared)
{
	struct source_log log = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct orma_packet *packet;

	init_in_process();
	source = register_source("test.source", &log);
	session = session_start(SOURCE_CONFIG " incremental_state_config { clear_period_ms: 1 }");
	packet = orma_packet_begin(source, 0);
	CHECK(orma_packet_take_needs_state(packet));
	CHECK(!orma_packet_begin(source, 0));
	orma_packet_end(packet);
	for (bool needs_state = false; !needs_state;) {
		packet = orma_packet_begin(source, 0);
		needs_state = orma_packet_take_needs_state(packet);
		orma_packet_end(packet);
		/* Write no faster than the service reads, because a loss asks for the state too. */
		CHECK_INT(orma_sync(WAIT_MS), 0);
	}
	CHECK_INT(orma_data_source_dropped(source, 0), 0);
	CHECK(!orma_packet_begin(source, 1));
	CHECK(!orma_packet_begin(source, 99));
	CHECK(!orma_packet_begin(NULL, 0));
	CHECK_INT(orma_sync(WAIT_MS), 0); /* the state is cleared before the callback runs */
	session_stop(session);
	CHECK(log.clears > 0);
	CHECK(!orma_packet_begin(source, 0));
	orma_session_free(session);
	orma_shutdown();
}

ORMA_TEST(a_packet_has_every_kind_of_field)
{
	struct source_log log = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct packets packets = {0};
	struct orma_packet *packet;
	struct orma_nested outer, inner;
	const struct orma_pb_trace_packet *got = NULL;

	init_in_process();
	source = register_source("test.source", &log);
	session = session_start(SOURCE_CONFIG);
	packet = orma_packet_begin(source, 0);
	orma_packet_varint(packet, 8, 77);
	orma_packet_nested_begin(packet, &outer, 900); /* for_testing */
	orma_packet_string(packet, 1, "text");
	orma_packet_nested_begin(packet, &inner, 2);
	orma_packet_int(packet, 1, -1);
	orma_packet_sint(packet, 2, -1);
	orma_packet_bool(packet, 3, true);
	orma_packet_fixed32(packet, 4, 4);
	orma_packet_fixed64(packet, 5, 5);
	orma_packet_float(packet, 6, 0.5f);
	orma_packet_double(packet, 7, 0.5);
	orma_packet_bytes(packet, 8, "ab", 2);
	orma_packet_raw(packet, "\x48\x01", 2);
	orma_packet_nested_end(packet, &outer);
	orma_packet_end(packet);
	session_finish(session, &packets);
	for (size_t i = 0; i < packets.list.count; i++)
		if (packets.list.items[i]->timestamp == 77)
			got = packets.list.items[i];
	CHECK(got);
	CHECK(orma_pb_trace_packet_has_for_testing(got));
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(sessions_answer_queries)
{
	struct source_log log = {0};
	struct orma_session *session;
	void *data;
	size_t size;
	uint64_t bytes = 0;
	char path[256];
	int fd;

	init_in_process();
	emit(register_source("test.source", &log), 1);
	session = session_start(SOURCE_CONFIG);
	CHECK_INT(orma_session_get_stats(session, &data, &size), 0);
	CHECK(size > 0);
	orma_config_free(data);
	CHECK_INT(orma_session_query_state(session, false, &data, &size), 0);
	CHECK(memmem(data, size, "test.producer", strlen("test.producer")));
	orma_config_free(data);
	CHECK_INT(orma_session_query_state(session, true, &data, &size), 0);
	CHECK(!memmem(data, size, "test.producer", strlen("test.producer")));
	orma_config_free(data);
	CHECK_INT(orma_session_query_capabilities(session, &data, &size), 0);
	orma_config_free(data);
	session_stop(session);
	snprintf(path, sizeof(path), "%s/trace", orma_test_tmpdir());
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	CHECK_INT(orma_session_read_into_fd(session, fd, &bytes), 0);
	CHECK(bytes > 0);
	CHECK_INT(lseek(fd, 0, SEEK_END), bytes);
	close(fd);
	orma_session_free(session);
	orma_shutdown();
}

static char stop_text[512];

static void on_stopped(void *ctx, const char *error)
{
	(*(int *)ctx)++;
	snprintf(stop_text, sizeof(stop_text), "%s", error ? error : "");
}

ORMA_TEST(a_refused_config_is_told_in_words)
{
	int stops = 0;
	const struct orma_session_options options = {.struct_size = sizeof(options),
						     .in_process = true,
						     .ctx = &stops,
						     .on_stopped = on_stopped};
	struct orma_session *session;
	struct orma_error error = {0};
	void *config;
	size_t size;

	init_in_process();
	session = session_new(&options);
	CHECK_INT(orma_session_wait_stopped(session, 0, NULL), -ESTALE);
	CHECK_INT(orma_session_wait_started(session, 0), -ESTALE);
	/* There is no buffer at all. */
	session_enable(session, "data_sources { config { name: \"x\" } }");
	CHECK_INT(orma_session_wait_stopped(session, WAIT_MS, &error), -EPROTO);
	CHECK(strlen(error.message) > 10);
	CHECK_INT(stops, 1);
	CHECK_STR(stop_text, error.message);
	CHECK(orma_session_is_stopped(session));
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), -ESTALE);
	CHECK_INT(orma_session_start(session, &error), -EPROTO);
	CHECK_INT(orma_session_enable(session, "", 0, -1), -EBUSY);
	CHECK_INT(orma_session_enable(session, "", 1 << 20, -1), -EMSGSIZE);
	CHECK_INT(orma_config_parse("f", "buffers { nonsense: 1 }", 23, &config, &size, &error),
		  -EBADMSG);
	CHECK(strstr(error.message, "f:1:11"));
	orma_session_free(session);
	orma_session_free(NULL);
	orma_shutdown();
}

ORMA_TEST(a_detached_session_goes_on_and_can_be_taken_over)
{
	struct source_log log = {0};
	struct orma_data_source *source;
	struct orma_session *first, *second;
	struct packets packets = {0};

	init_in_process();
	source = register_source("test.source", &log);
	first = session_start(SOURCE_CONFIG);
	emit(source, 1);
	CHECK_INT(orma_session_detach(first, ""), -EINVAL);
	CHECK_INT(orma_session_detach(first, "key"), 0);
	CHECK_INT(orma_session_detach(first, "key"), -ESTALE);
	orma_session_free(first);
	emit(source, 2);
	second = session_new(NULL);
	CHECK_INT(orma_session_attach(second, "nokey"), -ENOENT);
	CHECK_INT(orma_session_attach(second, "key"), 0);
	CHECK_INT(orma_session_attach(second, "key"), -EBUSY);
	session_finish(second, &packets);
	CHECK_INT(count_values(&packets, 1, 2), 2);
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(a_deferred_session_starts_when_told)
{
	struct source_log log = {0};
	struct orma_session *session;

	init_in_process();
	register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = session_new(NULL);
	session_enable(session, SOURCE_CONFIG " deferred_start: true");
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK_INT(log.starts, 0);
	CHECK_INT(orma_session_start(session, NULL), 0);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	CHECK_INT(log.starts, 1);
	session_stop(session);
	orma_session_free(session);
	orma_shutdown();
}

ORMA_TEST(without_the_library_every_function_says_so)
{
	const struct orma_session_options in_process = {.struct_size = sizeof(in_process),
							.in_process = true};
	const struct orma_data_source_options options = {.struct_size = sizeof(options),
							 .name = "x"};
	struct orma_init_options bad = {.struct_size = 1};
	struct orma_data_source *source;
	struct orma_session *session;
	struct orma_error error = {0};

	CHECK_INT(orma_init(&bad), -EINVAL);
	bad = (struct orma_init_options){.struct_size = sizeof(bad), .backends = 64};
	CHECK_INT(orma_init(&bad), -EINVAL);
	bad = (struct orma_init_options){.struct_size = sizeof(bad), .page_size_bytes = 5000};
	CHECK_INT(orma_init(&bad), -EINVAL);
	CHECK_INT(orma_sync(0), -ENOTCONN);
	CHECK_INT(orma_dispatch(), -ENOTCONN);
	CHECK_INT(orma_poll_fd(), -1);
	CHECK(!orma_is_connected());
	CHECK_INT(orma_data_source_register(&options, &source), -ENOTCONN);
	CHECK_INT(orma_data_source_register(NULL, &source), -EINVAL);
	CHECK_INT(orma_session_new(&in_process, &session, &error), -ENOTCONN);
	CHECK_INT(error.code, -ENOTCONN);
	orma_shutdown();
	init_in_process();
	CHECK_INT(orma_init(NULL), -EALREADY);
	CHECK_INT(orma_data_source_register(&options, &source), 0);
	CHECK_INT(orma_data_source_register(&options, &source), -EEXIST);
	for (int i = 0; i < 31; i++) {
		char name[16];
		struct orma_data_source_options more = options;

		snprintf(name, sizeof(name), "%d", i);
		more.name = name;
		CHECK_INT(orma_data_source_register(&more, &source), 0);
	}
	CHECK_INT(orma_data_source_register(
			  &(struct orma_data_source_options){.struct_size = sizeof(options),
							     .name = "one too many"},
			  &source),
		  -ENOSPC);
	orma_shutdown();
	CHECK_STR(orma_version(), ORMA_VERSION_STRING);
}

ORMA_TEST(data_sources_of_older_and_newer_programs_are_understood)
{
	struct {
		struct orma_data_source_options known;
		void *unknown;
	} newer = {.known = {.struct_size = sizeof(newer), .name = "test.source"}};
	struct orma_data_source *source;

	init_in_process();
	CHECK_INT(orma_data_source_register(&newer.known, &source), 0);
	orma_data_source_unregister(source);
	newer.unknown = &newer;
	CHECK_INT(orma_data_source_register(&newer.known, &source), -EINVAL);
	newer.known.struct_size = offsetof(struct orma_data_source_options, may_adopt);
	CHECK_INT(orma_data_source_register(&newer.known, &source), 0);
	orma_shutdown();
}

ORMA_TEST(the_caller_can_drive_the_library_without_a_thread)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS,
						  .caller_drives = true};
	struct source_log log = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct packets packets = {0};

	CHECK_INT(orma_init(&options), 0);
	CHECK(orma_poll_fd() >= 0);
	source = register_source("test.source", &log);
	/* poll() cannot wait for weeks in one call. */
	CHECK_INT(orma_sync(UINT32_C(1) << 31), 0);
	session = session_start(SOURCE_CONFIG);
	for (uint64_t i = 1; i <= 1000; i++)
		emit(source, i);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 1000), 1000);
	packets_done(&packets);
	orma_data_source_unregister(source);
	orma_shutdown();
}

ORMA_TEST(init_and_new_survive_any_failing_allocation)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS};
	const struct orma_data_source_options source_options = {
		.struct_size = sizeof(source_options), .name = "x"};
	int r;

	for (uint64_t nth = 1;; nth++) {
		struct orma_data_source *source;

		orma_test_fail_allocation(nth);
		r = orma_init(&options);
		if (r == 0) {
			int registered = orma_data_source_register(&source_options, &source);

			CHECK(registered == 0 || registered == -ENOMEM);
			r = registered;
		}
		orma_test_fail_allocation(0);
		orma_shutdown();
		if (r == 0 && !orma_test_allocation_failed())
			break;
		CHECK(r == 0 || r == -ENOMEM);
	}
	init_in_process();
	for (uint64_t nth = 1; nth < 64; nth++) {
		const struct orma_session_options session_options = {
			.struct_size = sizeof(session_options),
			.in_process = true,
			.timeout_ms = 1000};
		struct orma_session *session = NULL;

		orma_test_fail_allocation(nth);
		orma_session_new(&session_options, &session, NULL);
		orma_test_fail_allocation(0);
		orma_session_free(session);
	}
	orma_shutdown();
}
