/* SPDX-License-Identifier: Apache-2.0
 * old_service_test.c - our library and our recorder against services of 2019 and 2020: they work
 * without the features that these lack, or report what is missing.
 */
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "harness.h"
#include "old_service.h"
#include "process.h"
#include "raw_client.h"
#include "schema/gen/service_state.pb.h"
#include "schema/gen/test_event.pb.h"
#include "schema/gen/trace.pb.h"
#include "schema/gen/trace_stats.pb.h"
#include "unit/client/fixture.h"

static const enum orma_old_era eras[] = {ORMA_OLD_2019, ORMA_OLD_V6, ORMA_OLD_V9};

static void init(const struct orma_old_service *service)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .producer_name = "test.producer",
						  .producer_socket = service->producers};

	CHECK_INT(orma_init(&options), 0);
}

static struct orma_session *connect_session(const struct orma_old_service *service)
{
	const struct orma_session_options options = {.struct_size = sizeof(options),
						     .consumer_socket = service->consumers};

	return session_new(&options);
}

/* A session that has started `log`'s data source. */
static struct orma_session *start_session(const struct orma_old_service *service,
					  struct source_log *log)
{
	struct orma_session *session = connect_session(service);

	session_enable(session, SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS),
		  service->era == ORMA_OLD_2019 ? -ENOTSUP : 0);
	wait_for(&log->is_started);
	return session;
}

/* A packet of many chunks, with nested messages that begin in the first and end in the last. */
static void emit_large(struct orma_data_source *source, uint64_t value)
{
	static char text[100000];
	struct orma_packet *packet = orma_packet_begin(source, 0);
	struct orma_nested event, payload;

	CHECK(packet);
	memset(text, 'x', sizeof(text) - 1);
	orma_packet_varint(packet, 8, value);
	orma_packet_nested_begin(packet, &event, 900);
	orma_packet_nested_begin(packet, &payload, 5);
	orma_packet_string(packet, 1, text);
	orma_packet_nested_end(packet, &payload);
	orma_packet_nested_end(packet, &event);
	orma_packet_end(packet);
}

static void check_packets(const struct packets *packets, uint64_t last, size_t large_count)
{
	for (size_t i = 0; i < packets->list.count; i++) {
		const struct orma_pb_trace_packet *packet = packets->list.items[i];

		CHECK_INT(packet->previous_packet_dropped, 0);
		if (!packet->for_testing)
			continue;
		CHECK_INT(packet->for_testing->payload->str.items[0].size, 99999);
		large_count--;
	}
	CHECK_INT(large_count, 0);
	CHECK_INT(count_values(packets, 1, last), last);
}

static void record(enum orma_old_era era)
{
	enum { ROUNDS = 8, SMALL = 500 };
	struct orma_old_service service;
	struct source_log log = {0};
	struct packets packets = {0};
	uint64_t value = 0;

	orma_old_service_start(&service, era);
	init(&service);
	struct orma_data_source *source = register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK_INT(service.fences, era == ORMA_OLD_2019);
	struct orma_session *session = start_session(&service, &log);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < SMALL; i++)
			emit(source, ++value);
		/* This is nearly half of the memory. */
		emit_large(source, ++value);
		CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	}
	emit(source, ++value);
	CHECK_INT(orma_data_source_dropped(source, 0), 0);
	session_finish(session, &packets);
	CHECK_INT(log.stops, 1);
	check_packets(&packets, value, ROUNDS);
	/* Unless the service says that memory may be patched, commits carry the lengths. */
	if (era < ORMA_OLD_V9)
		CHECK(service.commits_with_patches >= ROUNDS);
	packets_done(&packets);
	orma_shutdown();
	orma_old_service_stop(&service);
}

ORMA_TEST(the_library_records_with_a_service_of_2019)
{
	record(ORMA_OLD_2019);
}

ORMA_TEST(the_library_records_with_a_service_of_july_2020)
{
	record(ORMA_OLD_V6);
}

ORMA_TEST(the_library_records_with_a_service_of_november_2020)
{
	record(ORMA_OLD_V9);
}

ORMA_TEST(a_fence_without_sync_is_one_of_its_kind)
{
	struct orma_old_service service;
	struct source_log logs[8] = {0};
	char name[32];

	orma_old_service_start(&service, ORMA_OLD_2019);
	init(&service);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(logs); i++) {
		snprintf(name, sizeof(name), "source.%zu", i);
		register_source(name, &logs[i]);
		CHECK_INT(orma_sync(WAIT_MS), 0);
	}
	CHECK_INT(service.fences, ORMA_ARRAY_SIZE(logs));
	orma_shutdown();
	orma_old_service_stop(&service);
}

/* --- descriptors that change ------------------------------------------------------------------ */

/* The fields after the name in the descriptor that the service has. */
static bool has_descriptor_field(const struct orma_old_service *service, uint32_t field_id)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_session *session = connect_session(service);
	struct orma_pb_tracing_service_state *state;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf descriptor = {0};
	struct orma_proto_field field;
	void *data;
	size_t size;

	CHECK_INT(orma_session_query_state(session, false, &data, &size), 0);
	CHECK_INT(
		orma_proto_decode(&orma_pb_tracing_service_state_desc, data, size, &arena, &state),
		0);
	CHECK_INT(state->data_sources.count, 1);
	CHECK_INT(orma_proto_encode(state->data_sources.items[0]->ds_descriptor, &descriptor), 0);
	orma_config_free(data);
	orma_session_free(session);
	return orma_proto_reader_find(descriptor.data, descriptor.size, field_id, &field) == 1;
}

ORMA_TEST(without_updates_a_source_is_registered_anew_once_nobody_uses_it)
{
	enum { TRACK_EVENT_DESCRIPTOR = 6, GPU_COUNTER_DESCRIPTOR = 5 };
	struct orma_old_service service;
	struct source_log log = {0};
	struct packets packets = {0};

	orma_old_service_start(&service, ORMA_OLD_V6);
	init(&service);
	struct orma_data_source *source = register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK(!has_descriptor_field(&service, TRACK_EVENT_DESCRIPTOR));
	CHECK_INT(orma_data_source_update(source, "\x32\x00", 2), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK(has_descriptor_field(&service, TRACK_EVENT_DESCRIPTOR));
	CHECK_INT(service.unregistrations, 1);

	struct orma_session *session = start_session(&service, &log);
	emit(source, 1);
	CHECK_INT(orma_data_source_update(source, "\x2a\x00", 2), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK(!has_descriptor_field(&service, GPU_COUNTER_DESCRIPTOR));
	emit(source, 2);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 2), 2);
	CHECK_INT(log.setups, 1);
	wait_for(&log.is_destroyed);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK(has_descriptor_field(&service, GPU_COUNTER_DESCRIPTOR));
	CHECK_INT(service.unregistrations, 2);
	packets_done(&packets);
	orma_shutdown();
	orma_old_service_stop(&service);
}

/* --- sessions --------------------------------------------------------------------------------- */

static void check_queries(const struct orma_old_service *service, struct orma_session *session)
{
	int expected = service->era == ORMA_OLD_2019 ? -ENOTSUP : 0;
	void *data = NULL;
	size_t size;

	CHECK_INT(orma_session_query_state(session, true, &data, &size), expected);
	orma_config_free(ORMA_TAKE(data));
	CHECK_INT(orma_session_query_capabilities(session, &data, &size), expected);
	orma_config_free(ORMA_TAKE(data));
	CHECK_INT(orma_session_get_stats(session, &data, &size), 0);
	orma_config_free(data);
}

ORMA_TEST(what_a_session_can_do_with_an_old_service)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(eras); i++) {
		struct orma_old_service service;
		struct source_log log = {0};
		struct packets packets = {0};

		orma_old_service_start(&service, eras[i]);
		init(&service);
		struct orma_data_source *source = register_source("test.source", &log);
		CHECK_INT(orma_sync(WAIT_MS), 0);
		struct orma_session *session = connect_session(&service);
		session_enable(session, SOURCE_CONFIG "deferred_start: true");
		check_queries(&service, session);
		CHECK_INT(orma_session_observe(session, 1), 0);
		CHECK_INT(orma_session_start(session, NULL), 0);
		wait_for(&log.is_started);
		emit(source, 1);
		CHECK_INT(orma_session_detach(session, "key"), 0);
		orma_session_free(session);
		session = connect_session(&service);
		CHECK_INT(orma_session_attach(session, "other"), -ENOENT);
		CHECK_INT(orma_session_attach(session, "key"), 0);
		session_finish(session, &packets);
		CHECK_INT(count_values(&packets, 1, 1), 1);
		packets_done(&packets);
		orma_shutdown();
		orma_old_service_stop(&service);
	}
}

ORMA_TEST(a_refusal_of_an_old_service_ends_the_session_without_a_reason)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(eras); i++) {
		struct orma_old_service service;
		struct packets packets = {0};

		orma_old_service_start(&service, eras[i]);
		struct orma_session *session = connect_session(&service);
		session_enable(session, "buffers { size_kb: 0 }");
		CHECK_INT(orma_session_wait_stopped(session, WAIT_MS, NULL),
			  eras[i] < ORMA_OLD_V9 ? 0 : -EPROTO);
		CHECK_INT(orma_session_read(session, packets_add, &packets), 0);
		CHECK_INT(packets.list.count, 0);
		orma_session_free(session);
		orma_old_service_stop(&service);
	}
}

/* Counts successes and keeps the last error. */
struct ends {
	int well, badly, error;
	struct packets packets;
};

static void on_end(void *ctx, const struct orma_error *error)
{
	struct ends *ends = ctx;

	ends->well += !error;
	ends->badly += error != NULL;
	ends->error = error ? error->code : ends->error;
}

static void on_answer(void *ctx, const struct orma_error *error, const void *data, size_t size)
{
	(void)data;
	(void)size;
	on_end(ctx, error);
}

static void on_copy(void *ctx, const struct orma_error *error,
		    const struct orma_session_clone_result *result)
{
	(void)result;
	on_end(ctx, error);
}

static int on_packet(void *ctx, const void *packet, size_t size)
{
	return packets_add(&((struct ends *)ctx)->packets, packet, size);
}

static void dispatch_until_all_ended(struct orma_session *session, const struct ends *ends,
				     int count)
{
	while (ends->well + ends->badly < count) {
		struct pollfd poll_fd = {.fd = orma_session_poll_fd(session), .events = POLLIN};

		CHECK_INT(poll(&poll_fd, 1, WAIT_MS), 1);
		CHECK_INT(orma_session_dispatch(session), 0);
	}
}

ORMA_TEST(a_polled_session_with_an_old_service_is_told_at_once_what_that_lacks)
{
	const struct orma_session_clone_options clone = {.struct_size = sizeof(clone),
							 .session_id = 1};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(eras); i++) {
		bool is_2019 = eras[i] == ORMA_OLD_2019;
		struct orma_old_service service;
		struct source_log log = {0};
		struct ends ends = {0};
		int count = 0;

		orma_old_service_start(&service, eras[i]);
		init(&service);
		struct orma_data_source *source = register_source("test.source", &log);
		CHECK_INT(orma_sync(WAIT_MS), 0);
		struct orma_session *session = connect_session(&service);
		CHECK_INT(orma_session_clone_async(session, &clone, on_copy, &ends), -ENOTSUP);
		CHECK_INT(orma_session_query_async(session, ORMA_SESSION_QUERY_STATE, on_answer,
						   &ends),
			  is_2019 ? -ENOTSUP : 0);
		count += !is_2019;
		session_enable(session, SOURCE_CONFIG "deferred_start: true");
		CHECK_INT(orma_session_start_async(session, on_end, &ends), 0);
		dispatch_until_all_ended(session, &ends, ++count);
		wait_for(&log.is_started);
		CHECK_INT(orma_session_change_config(session, "", 0), 0);
		emit(source, 1);
		CHECK_INT(orma_session_flush_async(session, WAIT_MS, 0, on_end, &ends), 0);
		CHECK_INT(orma_session_query_async(session, ORMA_SESSION_QUERY_STATS, on_answer,
						   &ends),
			  0);
		count += 2;
		dispatch_until_all_ended(session, &ends, count);
		CHECK_INT(orma_session_read_async(session, on_packet, on_end, &ends), 0);
		dispatch_until_all_ended(session, &ends, ++count);
		CHECK_INT(ends.badly, 0);
		CHECK_INT(count_values(&ends.packets, 1, 1), 1);
		packets_done(&ends.packets);
		orma_session_free(session);
		orma_shutdown();
		orma_old_service_stop(&service);
	}
}

/* --- the recorder ----------------------------------------------------------------------------- */

/* Accepts connections of other processes. */
static struct orma_test_process address_of(const struct orma_old_service *service)
{
	struct orma_test_process process = {0};

	memcpy(process.producers, service->producers, sizeof(process.producers));
	memcpy(process.consumers, service->consumers, sizeof(process.consumers));
	return process;
}

static const char *in_folder(const char *name)
{
	static char paths[4][256];
	static size_t next;
	char *path = paths[next++ % ORMA_ARRAY_SIZE(paths)];

	CHECK((size_t)snprintf(path, sizeof(paths[0]), "%s/%s", orma_test_tmpdir(), name) <
	      sizeof(paths[0]));
	return path;
}

static const char *write_config(const char *text)
{
	const char *path = in_folder("config");
	FILE *file = fopen(path, "we");

	CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
	return path;
}

static size_t count_test_packets(const char *path)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	ORMA_AUTO(orma_base_fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct orma_pb_trace *trace;
	size_t count = 0;

	CHECK(fd >= 0);
	CHECK_INT(orma_base_fd_read_all(fd, 1 << 24, &content), 0);
	CHECK_INT(
		orma_proto_decode(&orma_pb_trace_desc, content.data, content.size, &arena, &trace),
		0);
	for (size_t i = 0; i < trace->packet.count; i++)
		count += trace->packet.items[i]->timestamp == 77;
	return count;
}

static void emit_at_start(void *ctx, const struct orma_instance *instance)
{
	struct orma_packet *packet =
		orma_packet_begin(*(struct orma_data_source **)ctx, instance->idx);

	orma_packet_varint(packet, 8, 77);
	orma_packet_end(packet);
}

static void register_emitter(void)
{
	static struct orma_data_source *source;
	const struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = "test.source",
		.ctx = &source,
		.on_start = emit_at_start,
	};

	CHECK_INT(orma_data_source_register(&options, &source), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
}

ORMA_TEST(the_recorder_records_with_old_services)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(eras); i++) {
		struct orma_old_service service;
		const char *out = in_folder("trace");

		orma_old_service_start(&service, eras[i]);
		init(&service);
		register_emitter();
		struct orma_test_process process = address_of(&service);
		const char *config = write_config(SOURCE_CONFIG "duration_ms: 50");
		const char *const by_config[] = {"record", "-c", config, "-o", out, NULL};
		CHECK_INT(orma_test_process_run(&process, "orma", by_config), 0);
		CHECK_INT(count_test_packets(out), 1);
		/* A byte 0 on standard error before any text: the recorder is ready, as far as
		 * it can know. */
		const char *const notifying[] = {"--txt", "-c",          config, "-o",
						 out,     "--notify-fd", "2",    NULL};
		CHECK_INT(orma_test_process_run(&process, "perfetto", notifying), 0);
		CHECK_STR(orma_test_process_messages(), "");
		const char *const streaming[] = {"record", "--stream", "-t",          "50ms",
						 "-o",     out,        "test.source", NULL};
		CHECK_INT(orma_test_process_run(&process, "orma", streaming), 0);
		CHECK_INT(count_test_packets(out), 1);
		orma_shutdown();
		orma_old_service_stop(&service);
	}
}

ORMA_TEST(the_recorder_detaches_and_attaches_with_old_services)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(eras); i++) {
		struct orma_old_service service;
		const char *out = in_folder("trace");

		orma_old_service_start(&service, eras[i]);
		init(&service);
		register_emitter();
		struct orma_test_process process = address_of(&service);
		const char *config = write_config(SOURCE_CONFIG "write_into_file: true");
		const char *const detach[] = {"--txt", "-c",       config, "-o",
					      out,     "--detach", "key",  NULL};
		CHECK_INT(orma_test_process_run(&process, "perfetto", detach), 0);
		const char *const is_detached[] = {"--is_detached", "key", NULL};
		CHECK_INT(orma_test_process_run(&process, "perfetto", is_detached), 0);
		const char *const attach[] = {"--attach", "key", "--stop", NULL};
		CHECK_INT(orma_test_process_run(&process, "perfetto", attach), 0);
		CHECK_INT(count_test_packets(out), 1);
		CHECK_INT(orma_test_process_run(&process, "perfetto", is_detached), 2);
		orma_shutdown();
		orma_old_service_stop(&service);
	}
}

ORMA_TEST(the_recorder_says_that_an_old_service_may_have_refused)
{
	struct orma_old_service service;

	orma_old_service_start(&service, ORMA_OLD_V6);
	struct orma_test_process process = address_of(&service);
	const char *config = write_config("buffers { size_kb: 0 }");
	const char *const arguments[] = {"record", "-c", config, "-o", in_folder("trace"), NULL};
	CHECK_INT(orma_test_process_run(&process, "orma", arguments), 1);
	CHECK(strstr(orma_test_process_messages(), "refused"));
	CHECK(access(in_folder("trace"), F_OK) < 0);
	orma_old_service_stop(&service);
}

ORMA_TEST(a_query_says_what_an_old_service_cannot_tell)
{
	struct orma_old_service service;
	const char *const arguments[] = {"query", NULL};

	orma_old_service_start(&service, ORMA_OLD_2019);
	struct orma_test_process process = address_of(&service);
	CHECK_INT(orma_test_process_run(&process, "orma", arguments), 1);
	CHECK(strstr(orma_test_process_messages(), "cannot tell its state"));
	orma_old_service_stop(&service);
	orma_old_service_start(&service, ORMA_OLD_V6);
	process = address_of(&service);
	CHECK_INT(orma_test_process_run(&process, "orma", arguments), 0);
	CHECK(strstr(orma_test_process_messages(), "Tracing sessions: 0 (started: 0)"));
	orma_old_service_stop(&service);
}

ORMA_TEST(a_clone_of_an_old_services_session_is_refused_in_words)
{
	struct orma_old_service service;

	orma_old_service_start(&service, ORMA_OLD_V9);
	struct orma_test_process process = address_of(&service);
	const char *out = in_folder("trace");
	const char *const arguments[] = {"--clone", "1", "-o", out, NULL};
	CHECK_INT(orma_test_process_run(&process, "perfetto", arguments), 1);
	CHECK(strstr(orma_test_process_messages(), "clone"));
	CHECK(access(out, F_OK) < 0);
	orma_old_service_stop(&service);
}
