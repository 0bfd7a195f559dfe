/* SPDX-License-Identifier: Apache-2.0
 * daemon_test.c - the library against a daemon behind sockets that starts, ends and starts
 * again.
 */
#include "unit/client/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/client_limits.h"
#include "client/engine.h"
#include "ipc/address.h"
#include "proto/wire.h"
#include "unit/client/fixture.h"
#include <orma/log.h>

static void init_system(const struct daemon *daemon)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .producer_name = "test.producer",
						  .producer_socket = daemon->producer};

	CHECK_INT(orma_init(&options), 0);
}

static struct orma_session *connect_session(const struct daemon *daemon)
{
	const struct orma_session_options options = {.struct_size = sizeof(options),
						     .consumer_socket = daemon->consumer};

	return session_new(&options);
}

static struct orma_session *start_session(const struct daemon *daemon)
{
	struct orma_session *session = connect_session(daemon);

	session_enable(session, SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	return session;
}

ORMA_TEST(packets_reach_a_session_through_a_daemon)
{
	struct source_log log = {0};
	struct packets packets = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct daemon daemon;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	init_system(&daemon);
	source = register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK(orma_is_connected());
	session = start_session(&daemon);
	for (uint64_t i = 1; i <= 5000; i++) {
		emit(source, i);
		if (i % 1000 == 0)
			CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	}
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 5000), 5000);
	CHECK_INT(orma_data_source_dropped(source, 0), 0);
	packets_done(&packets);
	orma_shutdown();
	daemon_stop(&daemon);
}

ORMA_TEST(shutdown_hands_over_what_was_emitted)
{
	struct source_log log = {0};
	struct packets packets = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct daemon daemon;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	init_system(&daemon);
	source = register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = start_session(&daemon);
	for (uint64_t i = 1; i <= 100; i++)
		emit(source, i);
	orma_shutdown();
	CHECK_INT(log.stops, 1);
	CHECK_INT(log.destroys, 1);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 100), 100);
	packets_done(&packets);
	daemon_stop(&daemon);
}

struct told {
	pthread_mutex_t mutex;
	char text[2000];
};

static void remember(void *ctx, enum orma_log_level level, const char *message)
{
	struct told *told = ctx;
	size_t used;

	/* With debug, the log has each attempt. */
	if (level == ORMA_LOG_DEBUG)
		return;
	pthread_mutex_lock(&told->mutex);
	used = strlen(told->text);
	snprintf(told->text + used, sizeof(told->text) - used, "%d %s\n", level, message);
	pthread_mutex_unlock(&told->mutex);
}

static bool has_told(struct told *told)
{
	pthread_mutex_lock(&told->mutex);
	bool has_text = told->text[0];
	pthread_mutex_unlock(&told->mutex);
	return has_text;
}

ORMA_TEST(the_log_hears_of_the_connection_once_per_change)
{
	static struct told told = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	char expected[2000];
	struct daemon daemon;

	daemon_addresses(&daemon);
	orma_log_set_sink(remember, &told);
	init_system(&daemon);
	/* Several attempts fail for the same reason. The first one may come late on a busy machine. */
	do
		CHECK_INT(orma_sync(400), -ETIMEDOUT);
	while (!has_told(&told));
	daemon_start(&daemon);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	orma_shutdown();
	daemon_stop(&daemon);
	snprintf(expected, sizeof(expected),
		 "%d no tracing service at %s: %s; waiting for one\n"
		 "%d connected to the tracing service at %s\n",
		 ORMA_LOG_INFO, daemon.producer, strerror(ENOENT), ORMA_LOG_INFO, daemon.producer);
	/* The attempt may have been made when the socket's file existed but nothing listened
	 * yet. */
	if (!strstr(told.text, strerror(ECONNREFUSED)))
		CHECK_STR(told.text, expected);
}

/* A listener that closes each connection at once; counts the connections within `timeout_ms`. */
static int hang_up(int listener, int timeout_ms)
{
	struct pollfd poll_fd = {.fd = listener, .events = POLLIN};
	int count = 0;

	for (; poll(&poll_fd, 1, timeout_ms) > 0; timeout_ms = 0) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		CHECK(fd >= 0);
		close(fd);
		count++;
	}
	return count;
}

ORMA_TEST(other_files_in_the_folder_of_the_socket_lead_to_no_attempts)
{
	struct orma_ipc_address address;
	struct daemon daemon;
	char path[300];
	int listener, attempts;

	daemon_addresses(&daemon);
	CHECK_INT(orma_ipc_address_parse(daemon.producer, &address), 0);
	listener = orma_ipc_listen(&address, 0);
	CHECK(listener >= 0);
	init_system(&daemon);
	attempts = hang_up(listener, WAIT_MS);
	CHECK(attempts > 0);
	for (int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "%s/other.%d", orma_test_tmpdir(), i);
		close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
		attempts += hang_up(listener, 10);
	}
	/* Only the timer's attempts, whose delay doubles; an attempt for each file would make
	 * 100. */
	CHECK(attempts < 30);
	/* The watch still exists. */
	close(listener);
	CHECK_INT(unlink(daemon.producer), 0);
	daemon_start(&daemon);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	orma_shutdown();
	daemon_stop(&daemon);
}

ORMA_TEST(a_daemon_in_a_folder_that_was_made_anew_is_found)
{
	char folder[256];
	struct daemon daemon;

	snprintf(folder, sizeof(folder), "%s/folder", orma_test_tmpdir());
	CHECK_INT(mkdir(folder, 0700), 0);
	daemon_addresses(&daemon);
	snprintf(daemon.producer, sizeof(daemon.producer), "%s/folder/producer",
		 orma_test_tmpdir());
	init_system(&daemon);
	CHECK_INT(orma_sync(1), -ETIMEDOUT);
	CHECK_INT(rmdir(folder), 0);
	CHECK_INT(orma_sync(1), -ETIMEDOUT);
	CHECK_INT(mkdir(folder, 0700), 0);
	daemon_start(&daemon);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	orma_shutdown();
	daemon_stop(&daemon);
}

ORMA_TEST(a_daemon_that_starts_late_and_restarts_is_found)
{
	struct source_log log = {0};
	struct packets packets = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct daemon daemon;

	daemon_addresses(&daemon);
	init_system(&daemon);
	source = register_source("test.source", &log);
	CHECK_INT(orma_sync(1), -ETIMEDOUT);
	CHECK(!orma_is_connected());
	daemon_start(&daemon);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = start_session(&daemon);
	emit(source, 1);
	orma_session_free(session);
	wait_for(&log.is_destroyed);
	session = start_session(&daemon);
	emit(source, 1);
	daemon_stop(&daemon);
	/* The connection is lost, so its instance stops by itself. */
	wait_for(&log.is_destroyed);
	CHECK_INT(log.stops, 2);
	CHECK_INT(orma_data_source_started(source), 0);
	CHECK_INT(orma_session_wait_stopped(session, WAIT_MS, NULL), -ECONNRESET);
	CHECK_INT(orma_session_flush(session, 1, 0), -ECONNRESET);
	CHECK_INT(orma_session_read(session, packets_add, &packets), -ECONNRESET);
	orma_session_free(session);
	daemon_start(&daemon);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = start_session(&daemon);
	for (uint64_t i = 1; i <= 100; i++)
		emit(source, i);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 100), 100);
	packets_done(&packets);
	orma_shutdown();
	daemon_stop(&daemon);
}

ORMA_TEST(a_packet_that_is_open_when_the_daemon_dies_is_lost_and_nothing_else)
{
	struct source_log log = {.stop_completion = ORMA_POSTPONE};
	struct packets packets = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct orma_packet *packet;
	struct daemon daemon;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	init_system(&daemon);
	source = register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = start_session(&daemon);
	packet = orma_packet_begin(source, 0);
	orma_packet_varint(packet, 8, 1);
	daemon_stop(&daemon);
	wait_for(&log.is_stopping);
	/* This is more than the memory holds. */
	for (int i = 0; i < 100000; i++)
		orma_packet_bytes(packet, 900, "0123456789", 10);
	orma_packet_end(packet);
	emit(source, 2);
	CHECK(orma_data_source_dropped(source, 0) > 0);
	/* The postponed stop of a lost connection still completes. */
	orma_data_source_complete(source, log.stop_number);
	wait_for(&log.is_destroyed);
	log.stop_completion = ORMA_COMPLETE;
	orma_session_free(session);
	daemon_start(&daemon);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = start_session(&daemon);
	emit(source, 3);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 3, 3), 1);
	packets_done(&packets);
	orma_shutdown();
	daemon_stop(&daemon);
}

ORMA_TEST(both_backends_work_side_by_side)
{
	struct source_log log = {0};
	struct packets packets = {0}, local_packets = {0};
	struct orma_data_source *source;
	struct orma_session *session, *local;
	struct daemon daemon;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	CHECK_INT(orma_init(&(struct orma_init_options){
			  .struct_size = sizeof(struct orma_init_options),
			  .backends = ORMA_BACKEND_SYSTEM | ORMA_BACKEND_IN_PROCESS,
			  .shm_size_bytes = 1 << 20,
			  .page_size_bytes = 32768,
			  .producer_socket = daemon.producer}),
		  0);
	source = register_source("test.source", &log);
	/* The daemon may be found later; its session waits for producers. */
	session = connect_session(&daemon);
	session_enable(session, SOURCE_CONFIG);
	wait_for(&log.is_started);
	local = session_start(SOURCE_CONFIG);
	CHECK_INT(orma_data_source_started(source), 3);
	for (uint64_t i = 1; i <= 10; i++)
		emit(source, i);
	session_finish(session, &packets);
	session_finish(local, &local_packets);
	CHECK_INT(count_values(&packets, 1, 10), 10);
	CHECK_INT(count_values(&local_packets, 1, 10), 10);
	packets_done(&packets);
	packets_done(&local_packets);
	orma_shutdown();
	daemon_stop(&daemon);
}

ORMA_TEST(a_session_without_a_daemon_says_where_it_looked)
{
	struct orma_session_options options = {.struct_size = sizeof(options)};
	struct orma_session *session;
	struct orma_error error = {0};
	char address[300];

	snprintf(address, sizeof(address), "%s/nobody", orma_test_tmpdir());
	options.consumer_socket = address;
	CHECK_INT(orma_session_new(&options, &session, &error), -ENOENT);
	CHECK(strstr(error.message, address));
	options.consumer_socket = "";
	CHECK_INT(orma_session_new(&options, &session, &error), -EINVAL);
	options.struct_size = 3;
	CHECK_INT(orma_session_new(&options, &session, &error), -EINVAL);
}

/* The loop's thread may connect while the program is in setenv(). */
ORMA_TEST(the_environment_is_looked_at_once)
{
	static const char *const name = "PERFETTO_PRODUCER_SOCK_NAME";
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .caller_drives = true};

	setenv(name, "/nowhere/first", 1);
	CHECK_INT(orma_init(&options), 0);
	setenv(name, "/nowhere/second", 1);
	CHECK_STR(orma_client_link_address(&orma_client.links[0]), "/nowhere/first");
	orma_shutdown();
	unsetenv(name);
	CHECK_INT(orma_init(&options), 0);
	setenv(name, "/nowhere/third", 1);
	CHECK_STR(orma_client_link_address(&orma_client.links[0]),
		  orma_ipc_producer_address_usual());
	orma_shutdown();
}

ORMA_TEST(a_producer_socket_is_no_place_for_a_session)
{
	struct orma_session_options options = {.struct_size = sizeof(options)};
	struct orma_session *session;
	struct orma_error error = {0};
	struct daemon daemon;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	options.consumer_socket = daemon.producer;
	CHECK_INT(orma_session_new(&options, &session, &error), -EPROTO);
	CHECK(strstr(error.message, "no tracing service for consumers"));
	daemon_stop(&daemon);
}

ORMA_TEST(a_driven_producer_survives_the_daemons_end_too)
{
	struct source_log log = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct daemon daemon;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	CHECK_INT(orma_init(&(struct orma_init_options){.struct_size =
								sizeof(struct orma_init_options),
							.caller_drives = true,
							.producer_socket = daemon.producer}),
		  0);
	source = register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = connect_session(&daemon);
	session_enable(session, SOURCE_CONFIG);
	while (orma_data_source_started(source) == 0)
		CHECK_INT(orma_dispatch(), 0);
	emit(source, 1);
	daemon_stop(&daemon);
	while (orma_data_source_started(source) != 0)
		CHECK_INT(orma_dispatch(), 0);
	CHECK_INT(log.destroys, 1);
	orma_session_free(session);
	orma_shutdown();
}

/* Every length that the library accepts fits into a frame, also into the service's answer. */
ORMA_TEST(the_longest_descriptor_is_registered_updated_and_listed)
{
	size_t most = ORMA_CLIENT_DESCRIPTOR_MAX - strlen("long"), size;
	struct orma_data_source_options options = {
		.struct_size = sizeof(options), .name = "long", .descriptor_size = most};
	/* protovm_program, which the service does not decode. */
	uint8_t *descriptor = calloc(1, most + 1);
	struct orma_data_source *source;
	struct orma_session *session;
	struct daemon daemon;
	void *state;

	memcpy(descriptor, (const uint8_t[]){0xfa, 0x07}, 2);
	orma_proto_put_varint(descriptor + 2, most - 5);
	options.descriptor = descriptor;
	daemon_addresses(&daemon);
	daemon_start(&daemon);
	init_system(&daemon);
	CHECK_INT(orma_data_source_register(&options, &source), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = connect_session(&daemon);
	CHECK_INT(orma_session_query_state(session, false, &state, &size), 0);
	CHECK(size > most);
	orma_config_free(state);
	CHECK_INT(orma_data_source_update(source, descriptor, most), 0);
	CHECK_INT(orma_data_source_update(source, descriptor, most + 1), -EMSGSIZE);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK(orma_is_connected());
	CHECK_INT(orma_session_query_state(session, false, &state, &size), 0);
	CHECK(size > most);
	orma_config_free(state);
	orma_session_free(session);
	options.name = "longer";
	CHECK_INT(orma_data_source_register(&options, &source), -EMSGSIZE);
	free(descriptor);
	orma_shutdown();
	daemon_stop(&daemon);
}
