/* SPDX-License-Identifier: Apache-2.0
 * fork_test.c - processes that fork without exec: they emit nothing at first, and then are
 * producers of their own.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>

#include "client/client_source.h"
#include "ipc/address.h"
#include "unit/client/fork.h"

static size_t count_of(const struct packets *packets, uint64_t value)
{
	size_t count = 0;

	for (size_t i = 0; i < packets->list.count; i++)
		count += packets->list.items[i]->timestamp == value;
	return count;
}

static int32_t pid_of(const struct packets *packets, uint64_t value)
{
	for (size_t i = 0; i < packets->list.count; i++)
		if (packets->list.items[i]->timestamp == value)
			return packets->list.items[i]->trusted_pid;
	return -1;
}

ORMA_TEST(a_child_and_its_child_become_producers_of_their_own)
{
	struct source_log log = {0};
	struct packets packets = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct daemon daemon;
	pid_t child;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	init_system(&daemon);
	source = register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = start_system_session(&daemon);
	wait_for(&log.is_started);
	emit(source, 1);
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	child = fork();
	if (child == 0) {
		CHILD_CHECK(!orma_is_connected());
		come_back(source, &log);
		CHILD_CHECK(orma_is_connected());
		emit(source, 1001);
		child = fork();
		if (child == 0) {
			come_back(source, &log);
			emit(source, 1002);
			orma_shutdown();
			_exit(0);
		}
		emit(source, 1003);
		join(child);
		orma_shutdown();
		_exit(0);
	}
	emit(source, 2);
	join(child);
	emit(source, 3);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 3), 3);
	CHECK_INT(pid_of(&packets, 1), getpid());
	if (CHILD_MAKES_THREADS) {
		for (uint64_t value = 1001; value <= 1003; value++)
			CHECK_INT(count_of(&packets, value), 1);
		CHECK_INT(pid_of(&packets, 1001), child);
		CHECK_INT(pid_of(&packets, 1003), child);
	}
	CHECK(pid_of(&packets, 1002) != getpid());
	packets_done(&packets);
	orma_shutdown();
	daemon_stop(&daemon);
}

ORMA_TEST(a_packet_that_is_open_during_the_fork_is_the_parents_alone)
{
	static const char text[] = "0123456789012345678901234567890123456789";
	struct source_log log = {0};
	struct packets packets = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct orma_packet *packet;
	struct orma_nested nested;
	pid_t child;

	init_in_process();
	source = register_source("test.source", &log);
	session = session_start(SOURCE_CONFIG);
	packet = orma_packet_begin(source, 0);
	orma_packet_varint(packet, 8, 1);
	orma_packet_nested_begin(packet, &nested, 900);
	child = fork();
	if (child == 0) {
		/* This is more than the shared memory holds. */
		for (int i = 0; i < 20000; i++)
			orma_packet_string(packet, 1, text);
		orma_packet_nested_end(packet, &nested);
		orma_packet_end(packet);
		if (CHILD_MAKES_THREADS)
			CHILD_CHECK(!orma_packet_begin(source, 0));
		orma_data_source_flush_thread(source, 0);
		_exit(0);
	}
	join(child);
	orma_packet_string(packet, 1, text);
	orma_packet_nested_end(packet, &nested);
	orma_packet_end(packet);
	emit(source, 2);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 2), 2);
	packets_done(&packets);
	orma_shutdown();
}

/* Returns a connection from which a byte has come, so its other end is the loop thread's. */
static int accept_one(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	char byte;

	CHECK(fd >= 0);
	CHECK_INT(recv(fd, &byte, 1, 0), 1);
	return fd;
}

/* A child may get a descriptor that another thread is just making, so the fork waits until the loop
 * thread has made all of its own: it waits for an answer, and watches the folder of the socket. */
ORMA_TEST(a_child_keeps_nothing_of_a_connection_that_is_being_made)
{
	struct source_log log = {0};
	struct orma_ipc_address address;
	struct daemon daemon;
	int listener, accepted, before;
	pid_t child;

	daemon_addresses(&daemon);
	CHECK_INT(orma_ipc_address_parse(daemon.producer, &address), 0);
	listener = orma_ipc_listen(&address, 0);
	CHECK(listener >= 0);
	CHECK_INT(fcntl(listener, F_SETFL, 0), 0);
	before = count_fds();
	init_system(&daemon);
	register_source("test.source", &log);
	close(accept_one(listener));
	accepted = accept_one(listener);
	/* 5 of the loop, the watch, the two ends of the connection. */
	CHECK_INT(count_fds() - before, 8);
	child = fork();
	if (child == 0)
		_exit(count_fds() == before + 1 ? 0 : 1);
	join(child);
	orma_shutdown();
	close(accepted);
	close(listener);
}

ORMA_TEST(a_child_keeps_no_descriptor_of_its_parent)
{
	struct source_log log = {0};
	struct orma_session *session;
	struct packets packets = {0};
	struct daemon daemon;
	int before;
	pid_t child;

	/* The daemon's descriptors are in this process too, so only the difference counts. */
	daemon_addresses(&daemon);
	daemon_start(&daemon);
	init_system(&daemon);
	register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = start_system_session(&daemon);
	before = count_fds();
	child = fork();
	/* 5 of the loop, the socket, the arbiter; 5 of the session's loop, its socket. */
	if (child == 0)
		_exit(before - count_fds() == 13 ? 0 : 1);
	join(child);
	session_finish(session, &packets);
	packets_done(&packets);
	orma_shutdown();
	daemon_stop(&daemon);
}

ORMA_TEST(a_silent_child_can_register_init_and_shut_down)
{
	const struct orma_init_options bad = {.struct_size = 1};
	struct source_log log = {0};
	struct orma_data_source *source;
	struct daemon daemon;
	pid_t child;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	init_system(&daemon);
	source = register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	child = fork();
	if (child == 0) {
		orma_shutdown();
		CHILD_CHECK(orma_sync(1) == -ENOTCONN);
		if (!CHILD_MAKES_THREADS)
			_exit(0);
		init_system(&daemon);
		register_source("test.source", &log);
		CHILD_CHECK(orma_sync(WAIT_MS) == 0);
		orma_shutdown();
		orma_shutdown();
		_exit(0);
	}
	join(child);
	child = fork();
	if (child == 0) {
		const struct orma_init_options options = {.struct_size = sizeof(options),
							  .backends = ORMA_BACKEND_IN_PROCESS,
							  .producer_name = "child"};

		CHILD_CHECK(orma_init(&bad) == -EINVAL);
		if (!CHILD_MAKES_THREADS)
			_exit(0);
		CHILD_CHECK(orma_init(&options) == 0);
		CHILD_CHECK(orma_init(&options) == -EALREADY);
		orma_session_free(session_start(SOURCE_CONFIG));
		CHILD_CHECK(log.starts == 1);
		orma_data_source_unregister(source);
		orma_shutdown();
		_exit(0);
	}
	join(child);
	child = fork();
	if (child == 0) {
		struct orma_data_source *another;

		if (!CHILD_MAKES_THREADS)
			_exit(0);
		another = register_source("another.source", &log);
		CHILD_CHECK(orma_sync(WAIT_MS) == 0);
		orma_data_source_unregister(another);
		orma_shutdown();
		_exit(0);
	}
	join(child);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	orma_shutdown();
	/* After its end there is nothing to return to. */
	child = fork();
	if (child == 0) {
		CHILD_CHECK(orma_sync(1) == -ENOTCONN);
		if (!CHILD_MAKES_THREADS)
			_exit(0);
		init_in_process();
		orma_shutdown();
		_exit(0);
	}
	join(child);
	daemon_stop(&daemon);
}

ORMA_TEST(a_child_whose_caller_drives_goes_on_so)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS,
						  .caller_drives = true};
	struct source_log log = {0};
	struct orma_data_source *source;
	struct packets packets = {0};
	pid_t child;

	CHECK_INT(orma_init(&options), 0);
	source = register_source("test.source", &log);
	child = fork();
	if (child == 0) {
		struct orma_session *session = session_start(SOURCE_CONFIG);

		emit(source, 1);
		session_finish(session, &packets);
		CHILD_CHECK(count_values(&packets, 1, 1) == 1);
		packets_done(&packets);
		orma_shutdown();
		_exit(0);
	}
	join(child);
	orma_shutdown();
}

ORMA_TEST(vfork_and_posix_spawn_go_unnoticed)
{
	static char *const arguments[] = {"true", NULL};
	struct source_log log = {0};
	struct packets packets = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	pid_t child;

	init_in_process();
	source = register_source("test.source", &log);
	session = session_start(SOURCE_CONFIG);
	emit(source, 1);
	CHECK_INT(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ), 0);
	join(child);
	emit(source, 2);
	/* posix_spawn() uses vfork(); some programs call it themselves. */
	child = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
	if (child == 0) {
		execv("/bin/true", arguments);
		_exit(1);
	}
	join(child);
	CHECK_INT(orma_data_source_started(source), 1);
	emit(source, 3);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 3), 3);
	packets_done(&packets);
	orma_shutdown();
}

struct emitter {
	struct orma_data_source *source;
	_Atomic bool stop;
};

static void *emit_until_stopped(void *ctx)
{
	struct emitter *emitter = ctx;

	for (uint64_t i = 1; !emitter->stop; i++)
		ORMA_FOR_EACH_INSTANCE(emitter->source, idx)
		{
			struct orma_packet *packet = orma_packet_begin(emitter->source, idx);

			if (packet)
				orma_packet_end(packet);
		}
	return NULL;
}

#define EMITTERS 3
#define FORKS    12

ORMA_TEST(forks_disturb_nobody_while_other_threads_emit)
{
	struct source_log log = {0};
	struct emitter emitter = {0};
	struct orma_session *session;
	struct packets packets = {0};
	pthread_t threads[EMITTERS];
	struct daemon daemon;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	init_system(&daemon);
	emitter.source = register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = start_system_session(&daemon);
	wait_for(&log.is_started);
	for (size_t i = 0; i < EMITTERS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, emit_until_stopped, &emitter), 0);
	for (uint64_t i = 0; i < FORKS; i++) {
		pid_t child = fork();

		if (child == 0) {
			if (i % 3 == 0 || !CHILD_ALLOCATES)
				_exit(0);
			come_back(emitter.source, &log);
			emit(emitter.source, 1000 + i);
			CHILD_CHECK(orma_data_source_dropped(emitter.source, 0) == 0);
			orma_shutdown();
			_exit(0);
		}
		join(child);
	}
	emitter.stop = true;
	for (size_t i = 0; i < EMITTERS; i++)
		pthread_join(threads[i], NULL);
	CHECK(orma_is_connected());
	session_finish(session, &packets);
	packets_done(&packets);
	orma_shutdown();
	daemon_stop(&daemon);
}

static void *fork_and_join(void *ctx)
{
	struct emitter *emitter = ctx;

	while (!emitter->stop) {
		pid_t child = fork();

		if (child == 0) {
			if (CHILD_ALLOCATES && CHILD_MAKES_THREADS)
				orma_data_source_started(emitter->source);
			_exit(0);
		}
		CHECK(child > 0);
		join(child);
	}
	return NULL;
}

ORMA_TEST(a_fork_while_another_thread_initialises_or_shuts_down_is_harmless)
{
	struct emitter forker = {0};
	struct orma_data_source *source;
	pthread_t thread;

	init_in_process();
	orma_shutdown();
	/* Its handle is never valid, so calls with it must have no effect. */
	source = calloc(1, sizeof(*source));
	forker.source = source;
	CHECK_INT(pthread_create(&thread, NULL, fork_and_join, &forker), 0);
	for (int i = 0; i < 60; i++) {
		struct source_log log = {0};

		init_in_process();
		register_source("test.source", &log);
		orma_shutdown();
	}
	forker.stop = true;
	pthread_join(thread, NULL);
	free(source);
}
