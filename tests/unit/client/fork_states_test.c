/* SPDX-License-Identifier: Apache-2.0
 * fork_states_test.c - forks in the middle of everything: sessions, callbacks, other forks.
 *
 * The parent continues as if nothing had happened. The objects that the child inherits do
 * nothing.
 */
#include <fcntl.h>
#include <pthread.h>

#include "client/engine.h"
#include "unit/client/fork.h"

/* A session of the parent does nothing in a child: no call waits, and nothing is closed twice. */
static void check_inherited(struct orma_session *session)
{
	struct orma_error error = {0};
	struct orma_trace_stats *stats;
	int before = count_fds();

	CHILD_CHECK(orma_session_flush(session, WAIT_MS, 0) == -ECONNRESET);
	CHILD_CHECK(orma_session_stop(session) == -ECONNRESET);
	CHILD_CHECK(orma_session_wait_stopped(session, WAIT_MS, &error) == -ECONNRESET);
	CHILD_CHECK(error.message[0]);
	CHILD_CHECK(orma_session_read_into_fd(session, STDERR_FILENO, NULL) == -ECONNRESET);
	CHILD_CHECK(orma_session_read_stats(session, &stats) == -ECONNRESET);
	CHILD_CHECK(orma_session_dispatch(session) == -ECONNRESET);
	CHILD_CHECK(orma_session_poll_fd(session) == -ECONNRESET);
	orma_session_request_stop(session);
	orma_session_free(session);
	CHILD_CHECK(count_fds() == before);
}

ORMA_TEST(a_child_keeps_nothing_of_a_session_in_process)
{
	struct source_log log = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct packets packets = {0};
	int before = count_fds();
	pid_t child;

	init_in_process();
	source = register_source("test.source", &log);
	session = session_start(SOURCE_CONFIG);
	emit(source, 1);
	child = fork();
	if (child == 0) {
		CHILD_CHECK(count_fds() == before);
		check_inherited(session);
		_exit(0);
	}
	join(child);
	emit(source, 2);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 2), 2);
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(a_child_keeps_no_end_of_the_file_that_its_parents_session_writes)
{
	static const char text[] =
		"buffers { size_kb: 64 } write_into_file: true file_write_period_ms: 100000 "
		"data_sources { config { name: \"test.source\" } }";
	struct source_log log = {0};
	struct orma_session *session;
	struct orma_error error = {0};
	char byte;
	int fds[2], ends[2];
	pid_t child;

	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	init_in_process();
	register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = session_new(NULL);
	CHECK_INT(orma_session_enable_text(session, "test", text, strlen(text), fds[1], &error), 0);
	close(fds[1]);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	child = fork();
	if (child == 0) {
		close(ends[1]);
		/* The child lives as long as the parent wants. */
		_exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
	}
	session_stop(session);
	orma_session_free(session);
	orma_shutdown();
	/* The reader sees the end, whether there is a child or not. */
	while (read(fds[0], &byte, 1) == 1)
		;
	close(fds[0]);
	close(ends[1]);
	close(ends[0]);
	join(child);
}

ORMA_TEST(a_process_that_only_reads_leaves_its_session_as_well)
{
	const struct orma_session_options options = {.struct_size = sizeof(options)};
	struct orma_session_options where = options;
	struct orma_session *session;
	struct daemon daemon;
	int before;
	pid_t child;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	before = count_fds();
	where.consumer_socket = daemon.consumer;
	session = session_new(&where);
	session_enable(session, SOURCE_CONFIG);
	child = fork();
	if (child == 0) {
		/* The daemon's end of the connection is in this process too. */
		CHILD_CHECK(count_fds() == before + 1);
		check_inherited(session);
		_exit(0);
	}
	join(child);
	session_stop(session);
	orma_session_free(session);
	daemon_stop(&daemon);
}

ORMA_TEST(a_child_of_a_process_with_two_sessions_is_in_one_of_them)
{
	struct source_log log = {0};
	struct packets own = {0}, all = {0};
	struct orma_session *in_process, *session;
	struct orma_init_options options = {.struct_size = sizeof(options),
					    .backends =
						    ORMA_BACKEND_IN_PROCESS | ORMA_BACKEND_SYSTEM};
	struct orma_data_source *source;
	struct daemon daemon;
	pid_t child;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	options.producer_socket = daemon.producer;
	CHECK_INT(orma_init(&options), 0);
	source = register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = start_system_session(&daemon);
	in_process = session_start(SOURCE_CONFIG);
	while (orma_data_source_started(source) != 3)
		wait_for(&log.is_started);
	emit(source, 1);
	child = fork();
	if (child == 0) {
		struct source_log none = {0};

		log = none;
		come_back(source, &log);
		check_inherited(session);
		check_inherited(in_process);
		emit(source, 1001);
		orma_shutdown();
		_exit(0);
	}
	join(child);
	emit(source, 2);
	session_finish(in_process, &own);
	session_finish(session, &all);
	CHECK_INT(count_values(&own, 1, 2), 2);
	CHECK_INT(count_values(&own, 1001, 1001), 0);
	CHECK_INT(count_values(&all, 1, 2), 2);
	if (CHILD_MAKES_THREADS)
		CHECK_INT(count_values(&all, 1001, 1001), 1);
	packets_done(&own);
	packets_done(&all);
	orma_shutdown();
	daemon_stop(&daemon);
}

/* --- in callbacks ----------------------------------------------------------------------------- */

struct forking {
	struct orma_data_source *source;
	_Atomic int forks;
	_Atomic bool is_child; /* the instances belong to the child */
};

/* Forks on the library's own thread, in the middle of its work. */
static void fork_here(void *ctx)
{
	struct forking *forking = ctx;
	pid_t child = forking->is_child ? -1 : fork();

	if (forking->is_child)
		return;
	if (child == 0) {
		forking->is_child = true;
		CHILD_CHECK(!orma_is_connected());
		CHILD_CHECK(orma_data_source_started(forking->source) == 0);
		_exit(0);
	}
	CHECK(child > 0);
	join(child);
	forking->forks++;
}

static void fork_in_setup(void *ctx, const struct orma_instance *instance, void **ret_instance_ctx)
{
	(void)instance;
	(void)ret_instance_ctx;
	fork_here(ctx);
}

static void fork_in_start(void *ctx, const struct orma_instance *instance)
{
	(void)instance;
	fork_here(ctx);
}

static enum orma_completion fork_in_stop(void *ctx, const struct orma_instance *instance)
{
	(void)instance;
	fork_here(ctx);
	return ORMA_COMPLETE;
}

ORMA_TEST(a_fork_inside_any_callback_leaves_the_parent_at_work)
{
	struct forking forking = {0};
	const struct orma_data_source_options options = {.struct_size = sizeof(options),
							 .name = "test.source",
							 .ctx = &forking,
							 .on_setup = fork_in_setup,
							 .on_start = fork_in_start,
							 .on_stop = fork_in_stop,
							 .on_flush = fork_in_stop,
							 .on_clear_incremental_state =
								 fork_in_start,
							 .on_destroy = fork_in_start};
	struct packets packets = {0};
	struct orma_session *session;
	struct daemon daemon;

	if (!CHILD_ALLOCATES || !CHILD_MAKES_THREADS)
		return;
	daemon_addresses(&daemon);
	daemon_start(&daemon);
	init_system(&daemon);
	CHECK_INT(orma_data_source_register(&options, &forking.source), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = start_system_session(&daemon);
	emit(forking.source, 1);
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 1), 1);
	packets_done(&packets);
	orma_shutdown();
	daemon_stop(&daemon);
	/* Setup, start, an explicit flush, perhaps a flush at the end, stop, destroy. */
	CHECK(forking.forks >= 5);
}

/* --- while sessions come and go --------------------------------------------------------------- */

struct life {
	struct orma_data_source *source;
	const struct daemon *daemon;
	_Atomic bool stop;
	_Atomic int children;
};

/* Like a program that becomes a daemon: the middle process ends at once. */
static void fork_twice(struct life *life)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		pid_t grandchild = fork();

		if (grandchild == 0) {
			CHILD_CHECK(orma_data_source_started(life->source) == 0);
			_exit(0);
		}
		CHILD_CHECK(grandchild > 0);
		CHILD_CHECK(waitpid(grandchild, &status, 0) == grandchild);
		_exit(status == 0 ? 0 : 1);
	}
	CHECK(child > 0);
	join(child);
	life->children++;
}

static void *fork_and_emit(void *ctx)
{
	struct life *life = ctx;

	while (!life->stop) {
		/* Also in the middle of a packet; there is none if the session has just stopped. */
		ORMA_FOR_EACH_INSTANCE(life->source, idx)
		{
			struct orma_packet *packet = orma_packet_begin(life->source, idx);

			fork_twice(life);
			if (packet)
				orma_packet_end(packet);
		}
		fork_twice(life);
	}
	return NULL;
}

#define SESSIONS 10

ORMA_TEST(threads_fork_while_sessions_start_and_stop)
{
	struct source_log log = {0};
	struct life life = {0};
	struct daemon daemon;
	pthread_t thread;

	if (!CHILD_ALLOCATES || !CHILD_MAKES_THREADS)
		return;
	daemon_addresses(&daemon);
	daemon_start(&daemon);
	init_system(&daemon);
	life.daemon = &daemon;
	life.source = register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK_INT(pthread_create(&thread, NULL, fork_and_emit, &life), 0);
	for (int i = 0; i < SESSIONS || life.children < 2; i++) {
		struct packets packets = {0};
		struct orma_session *session = start_system_session(&daemon);

		CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
		session_finish(session, &packets);
		packets_done(&packets);
	}
	life.stop = true;
	pthread_join(thread, NULL);
	CHECK(orma_is_connected());
	orma_shutdown();
	daemon_stop(&daemon);
	CHECK_INT(log.starts, log.stops);
	CHECK_INT(log.setups, log.destroys);
}

#define FORKS 20

static void *fork_often(void *ctx)
{
	pthread_barrier_t *together = ctx;

	for (int i = 0; i < FORKS; i++) {
		pid_t child;

		pthread_barrier_wait(together);
		child = fork();
		if (child == 0)
			_exit(0);
		CHECK(child > 0);
		join(child);
	}
	return NULL;
}

/* ThreadSanitizer checks this. */
ORMA_TEST(threads_may_fork_at_the_same_time)
{
	pthread_barrier_t together;
	pthread_t other;

	init_in_process();
	CHECK_INT(pthread_barrier_init(&together, NULL, 2), 0);
	CHECK_INT(pthread_create(&other, NULL, fork_often, &together), 0);
	fork_often(&together);
	pthread_join(other, NULL);
	pthread_barrier_destroy(&together);
	orma_shutdown();
}
