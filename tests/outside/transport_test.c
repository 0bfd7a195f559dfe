/* SPDX-License-Identifier: Apache-2.0
 * transport_test.c - the library over a transport of the program's own, with the public headers
 * only.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "peer.h"

#define CONFIG "buffers { size_kb: 1024 } data_sources { config { name: \"outside.source\" } }"
#define MARK   "outside-mark"

struct source_log {
	int setups, starts, stops, flushes, clears;
};

static void on_setup(void *ctx, const struct orma_instance *instance, void **ret_instance_ctx)
{
	CHECK(instance->config_size > 0);
	*ret_instance_ctx = ctx;
	((struct source_log *)ctx)->setups++;
}

static void on_start(void *ctx, const struct orma_instance *instance)
{
	CHECK(instance->instance_ctx == ctx);
	((struct source_log *)ctx)->starts++;
}

static enum orma_completion on_stop(void *ctx, const struct orma_instance *instance)
{
	(void)instance;
	((struct source_log *)ctx)->stops++;
	return ORMA_COMPLETE;
}

static enum orma_completion on_flush(void *ctx, const struct orma_instance *instance)
{
	(void)instance;
	((struct source_log *)ctx)->flushes++;
	return ORMA_COMPLETE;
}

static void on_clear(void *ctx, const struct orma_instance *instance)
{
	(void)instance;
	((struct source_log *)ctx)->clears++;
}

static struct orma_data_source *register_source(struct source_log *log)
{
	const struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = "outside.source",
		.ctx = log,
		.on_setup = on_setup,
		.on_start = on_start,
		.on_stop = on_stop,
		.on_flush = on_flush,
		.on_clear_incremental_state = on_clear,
	};
	struct orma_data_source *source;

	CHECK_INT(orma_data_source_register(&options, &source), 0);
	return source;
}

static void emit(struct orma_data_source *source, int count)
{
	for (int i = 0; i < count; i++) {
		struct orma_packet *packet = orma_packet_begin(source, 0);

		CHECK(packet);
		orma_packet_string(packet, 900, MARK);
		orma_packet_end(packet);
	}
}

static void peer_open(struct peer *peer, bool is_emulated)
{
	const struct orma_service_options options = {.struct_size = sizeof(options)};

	*peer = (struct peer){.is_emulated = is_emulated};
	CHECK_INT(orma_service_new(&options, &peer->service), 0);
}

static void begin(struct peer *peer)
{
	const struct orma_init_options options = peer_options(peer);

	CHECK_INT(orma_init(&options), 0);
}

static void end(struct peer *peer)
{
	orma_shutdown();
	CHECK_INT(peer->connects, peer->disconnects);
	CHECK(!peer->transport);
	orma_service_free(peer->service);
}

static void check_recording(bool is_emulated)
{
	struct source_log log = {0};
	struct orma_data_source *source;
	struct peer peer;

	peer_open(&peer, is_emulated);
	begin(&peer);
	source = register_source(&log);
	CHECK_INT(orma_sync(10000), 0);
	CHECK(orma_is_connected());
	CHECK_INT(peer.registrations, 1);
	peer_enable(&peer,
		    "incremental_state_config { clear_period_ms: 1 } flush_period_ms: 1 " CONFIG);
	PEER_TURN_UNTIL(&peer, orma_data_source_started(source) == 1);
	CHECK_INT(log.setups, 1);
	CHECK_INT(log.starts, 1);
	emit(source, 300);
	CHECK_INT(peer_flush_all(&peer), 1);
	CHECK(log.flushes > 0);
	CHECK(peer.commits > 0);
	CHECK_INT(peer.writers, 1);
	PEER_TURN_UNTIL(&peer, log.clears > 0);
	CHECK_INT(peer_read_and_count(&peer, MARK, strlen(MARK)), 300);
	CHECK_INT(orma_data_source_update(source, "", 0), 0);
	PEER_TURN_UNTIL(&peer, peer.updates == 1);
	orma_consumer_port_disable(peer.consumer);
	PEER_TURN_UNTIL(&peer, peer.is_disabled);
	CHECK_STR(peer.disabled_error, "");
	CHECK_INT(log.stops, 1);
	orma_data_source_unregister(source);
	CHECK_INT(peer.unregistrations, 1);
	end(&peer);
	CHECK_INT(peer.connects, 1);
}

ORMA_TEST(packets_come_through_shared_memory)
{
	check_recording(false);
}

ORMA_TEST(packets_come_inside_commits)
{
	check_recording(true);
}

ORMA_TEST(triggers_go_the_same_way)
{
	const char *const names[] = {"nobody's", "go"};
	struct source_log log = {0};
	struct orma_data_source *source;
	struct peer peer;

	peer_open(&peer, false);
	begin(&peer);
	source = register_source(&log);
	CHECK_INT(orma_sync(10000), 0);
	peer_enable(&peer, "trigger_config { trigger_mode: START_TRACING trigger_timeout_ms: 60000 "
			   "triggers { name: \"go\" stop_delay_ms: 60000 } } " CONFIG);
	PEER_TURN_UNTIL(&peer, log.setups == 1);
	CHECK_INT(log.starts, 0);
	CHECK_INT(orma_activate_triggers(names, 2, 0), 0);
	PEER_TURN_UNTIL(&peer, orma_data_source_started(source) == 1);
	end(&peer);
}

ORMA_TEST(a_connection_that_is_lost_is_made_again_with_everything_registered)
{
	struct source_log log = {0};
	struct orma_data_source *source;
	struct peer peer;

	peer_open(&peer, false);
	peer.refusals = 2;
	begin(&peer);
	source = register_source(&log);
	CHECK_INT(orma_sync(1), -ETIMEDOUT);
	CHECK(!orma_is_connected());
	PEER_TURN_UNTIL(&peer, peer.connects == 3 && orma_is_connected());
	peer_enable(&peer, CONFIG);
	PEER_TURN_UNTIL(&peer, orma_data_source_started(source) == 1);
	CHECK_INT(orma_transport_down(peer.transport, 0), 0);
	PEER_TURN_UNTIL(&peer, peer.disconnects == 1);
	CHECK_INT(orma_data_source_started(source), 0);
	CHECK_INT(log.stops, 1);
	PEER_TURN_UNTIL(&peer, log.starts == 2);
	CHECK_INT(peer.registrations, 2);
	emit(source, 10);
	CHECK_INT(peer_flush_all(&peer), 1);
	CHECK_INT(peer_read_and_count(&peer, MARK, strlen(MARK)), 10);
	peer.connects = peer.disconnects + 1; /* refused ones had no disconnect */
	end(&peer);
}

static int count_marks(void *ctx, const void *packet, size_t size)
{
	*(int *)ctx += memmem(packet, size, MARK, strlen(MARK)) != NULL;
	return 0;
}

ORMA_TEST(a_transport_works_beside_the_service_of_this_process)
{
	const struct orma_session_options session_options = {.struct_size = sizeof(session_options),
							     .in_process = true};
	struct source_log log = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct orma_init_options options;
	struct peer peer;
	int marks = 0;

	peer_open(&peer, true);
	options = peer_options(&peer);
	options.backends |= ORMA_BACKEND_IN_PROCESS;
	CHECK_INT(orma_init(&options), 0);
	source = register_source(&log);
	CHECK_INT(orma_sync(10000), 0);
	peer_enable(&peer, CONFIG);
	CHECK_INT(orma_session_new(&session_options, &session, NULL), 0);
	CHECK_INT(orma_session_enable_text(session, NULL, CONFIG, strlen(CONFIG), -1, NULL), 0);
	CHECK_INT(orma_session_wait_started(session, 10000), 0);
	PEER_TURN_UNTIL(&peer, orma_data_source_started(source) == 3);
	for (int i = 0; i < 20; i++) {
		ORMA_FOR_EACH_INSTANCE(source, idx)
		{
			struct orma_packet *packet = orma_packet_begin(source, idx);

			CHECK(packet);
			orma_packet_string(packet, 900, MARK);
			orma_packet_end(packet);
		}
	}
	CHECK_INT(peer_flush_all(&peer), 1);
	CHECK_INT(peer_read_and_count(&peer, MARK, strlen(MARK)), 20);
	CHECK_INT(orma_session_flush(session, 10000, 0), 0);
	CHECK_INT(orma_session_stop(session), 0);
	CHECK_INT(orma_session_wait_stopped(session, 10000, NULL), 0);
	CHECK_INT(orma_session_read(session, count_marks, &marks), 0);
	CHECK_INT(marks, 20);
	orma_session_free(session);
	end(&peer);
}

struct condemned {
	struct orma_transport *transport;
	bool is_over;
};

static void *say_condemned(void *ctx)
{
	struct condemned *condemned = ctx;

	CHECK_INT(pthread_cancel(pthread_self()), 0);
	CHECK_INT(orma_transport_clear_incremental_state(condemned->transport, NULL, 0), 0);
	condemned->is_over = true;
	return NULL;
}

ORMA_TEST(a_thread_that_is_cancelled_says_what_it_has_to_say)
{
	struct condemned condemned = {0};
	struct peer peer;
	pthread_t thread;

	peer_open(&peer, true);
	begin(&peer);
	CHECK_INT(orma_sync(10000), 0);
	condemned.transport = peer.transport;
	CHECK_INT(pthread_create(&thread, NULL, say_condemned, &condemned), 0);
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK(condemned.is_over);
	end(&peer);
}

ORMA_TEST(without_room_commits_wait)
{
	struct source_log log = {0};
	struct orma_data_source *source;
	struct peer peer;
	int commits;

	peer_open(&peer, false);
	begin(&peer);
	source = register_source(&log);
	CHECK_INT(orma_sync(10000), 0);
	peer_enable(&peer, CONFIG);
	PEER_TURN_UNTIL(&peer, orma_data_source_started(source) == 1);
	peer.is_full = true;
	commits = peer.commits;
	emit(source, 500);
	for (int i = 0; i < 20; i++)
		peer_turn(&peer);
	CHECK_INT(peer.commits, commits);
	peer.is_full = false;
	CHECK_INT(peer_flush_all(&peer), 1);
	CHECK_INT(peer_read_and_count(&peer, MARK, strlen(MARK)), 500);
	CHECK_INT(orma_data_source_dropped(source, 0), 0);
	end(&peer);
}

#define COMMITS_MAX 200 /* far more than one turn needs for the memory */

/* Fills the memory again with each commit, as threads do that are faster than the service. */
static void refill(struct peer *peer)
{
	if (peer->commits == COMMITS_MAX)
		peer->in_commit = NULL;
	for (uint64_t dropped = orma_data_source_dropped(peer->source, 0);
	     dropped == orma_data_source_dropped(peer->source, 0);)
		emit(peer->source, 100);
}

ORMA_TEST(a_turn_ends_although_there_is_always_more_to_commit)
{
	struct source_log log = {0};
	struct peer peer;
	int turns = 0;

	peer_open(&peer, true);
	begin(&peer);
	peer.source = register_source(&log);
	CHECK_INT(orma_sync(10000), 0);
	peer_enable(&peer, CONFIG);
	PEER_TURN_UNTIL(&peer, orma_data_source_started(peer.source) == 1);
	refill(&peer);
	peer.in_commit = refill;
	while (peer.in_commit) {
		peer_turn(&peer);
		turns++;
	}
	CHECK(turns > COMMITS_MAX / 100);
	end(&peer);
}

ORMA_TEST(options_without_a_whole_transport_are_refused)
{
	struct peer peer = {0};
	struct orma_init_options options = peer_options(&peer);
	struct orma_transport_ops ops = peer_ops;

	options.transport = NULL;
	CHECK_INT(orma_init(&options), -EINVAL);
	options.transport = &ops;
	options.backends = ORMA_BACKEND_IN_PROCESS;
	CHECK_INT(orma_init(&options), -EINVAL);
	options.backends = ORMA_BACKEND_CUSTOM;
	ops.commit = NULL;
	CHECK_INT(orma_init(&options), -EINVAL);
	ops = peer_ops;
	ops.struct_size = offsetof(struct orma_transport_ops, sync);
	CHECK_INT(orma_init(&options), -EINVAL);
	ops = peer_ops;
	ops.poll_fd = (int (*)(void *))peer_sync;
	CHECK_INT(orma_init(&options), -EINVAL);
	options.backends = 8;
	CHECK_INT(orma_init(&options), -EINVAL);
	CHECK_INT(peer.connects, 0);
}

/* A service that sends what it must not: the connection ends, and a new one begins. */

static int instead_of_up; /* selects the violation */

static int connect_to_liar(void *ctx, struct orma_transport *transport,
			   const struct orma_producer_info *hello)
{
	static const uint64_t ids[3] = {1, 2, 3};
	struct peer *peer = ctx;
	int fd;

	(void)hello;
	peer->connects++;
	peer->transport = transport;
	if (instead_of_up != 0)
		orma_transport_up(transport);
	switch (instead_of_up) {
	case 0: /* before it is up */
		orma_transport_start_data_source(transport, 1, "", 0);
		break;
	case 1: /* twice */
		orma_transport_up(transport);
		break;
	case 2: /* a file that is no memory */
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		CHECK_INT(orma_transport_setup_tracing(transport, fd, 4096), 0);
		close(fd);
		break;
	case 3: /* memory that can shrink */
		fd = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		CHECK_INT(ftruncate(fd, 65536), 0);
		CHECK_INT(orma_transport_setup_tracing(transport, fd, 4096), 0);
		close(fd);
		break;
	case 4: /* no page size, and twice */
		orma_transport_setup_tracing(transport, -1, 4095);
		break;
	case 5: /* no descriptor */
		CHECK_INT(orma_transport_setup_tracing(transport, 12345, 4096), -EINVAL);
		break;
	case 6: /* memory twice */
		orma_transport_setup_tracing(transport, -1, 4096);
		orma_transport_setup_tracing(transport, -1, 4096);
		break;
	case 7: /* more than the library carries out */
		for (int i = 0; i < 4095; i++)
			CHECK_INT(orma_transport_synced(transport), 0);
		CHECK_INT(orma_transport_synced(transport), -ENOBUFS);
		/* Later calls are ignored. */
		CHECK_INT(orma_transport_synced(transport), 0);
		break;
	default:
		/* Unknown instances, and answers without a question, are ignored. */
		CHECK_INT(orma_transport_stop_data_source(transport, 9), 0);
		CHECK_INT(orma_transport_start_data_source(transport, 9, NULL, 0), 0);
		CHECK_INT(orma_transport_clear_incremental_state(transport, ids, 3), 0);
		CHECK_INT(orma_transport_synced(transport), 0);
		CHECK_INT(orma_transport_setup_data_source(transport, 9, "\xff", 1), 0);
		/* The caller's mistakes. */
		CHECK_INT(orma_transport_setup_data_source(transport, 1, NULL, 1), -EINVAL);
		CHECK_INT(orma_transport_setup_data_source(transport, 1, "", SIZE_MAX), -EINVAL);
		CHECK_INT(orma_transport_flush(transport, 1, NULL, 1, 0), -EINVAL);
		CHECK_INT(orma_transport_flush(transport, 1, ids, SIZE_MAX / 8, 0), -EINVAL);
		break;
	}
	return 0;
}

static void disconnect_from_liar(void *ctx, struct orma_transport *transport)
{
	struct peer *peer = ctx;

	CHECK(transport == peer->transport);
	peer->transport = NULL;
	peer->disconnects++;
}

static int register_nothing(void *ctx, const void *descriptor, size_t size)
{
	(void)ctx;
	(void)descriptor;
	(void)size;
	return -ENOMEM;
}

static void note_id(void *ctx, uint64_t id)
{
	(void)id;
	((struct peer *)ctx)->writers++;
}

static void note_commit(void *ctx, const struct orma_commit *commit)
{
	(void)commit;
	((struct peer *)ctx)->commits++;
}

static int refuse_sync(void *ctx)
{
	(void)ctx;
	return -ENOTCONN;
}

static const struct orma_transport_ops liar_ops = {
	.struct_size = sizeof(liar_ops),
	.connect = connect_to_liar,
	.disconnect = disconnect_from_liar,
	.register_data_source = register_nothing,
	.unregister_data_source = peer_unregister,
	.commit = note_commit,
	.data_source_started = note_id,
	.data_source_stopped = note_id,
	.sync = refuse_sync,
};

ORMA_TEST(what_a_service_must_not_say_ends_the_connection)
{
	for (instead_of_up = 0; instead_of_up < 8; instead_of_up++) {
		struct source_log log = {0};
		struct peer peer = {0};
		struct orma_init_options options = peer_options(&peer);

		options.transport = &liar_ops;
		CHECK_INT(orma_init(&options), 0);
		register_source(&log);
		while (peer.disconnects == 0)
			CHECK_INT(orma_dispatch(), 0);
		CHECK(!orma_is_connected());
		/* A new connection begins. */
		while (peer.connects < 2)
			CHECK_INT(orma_dispatch(), 0);
		orma_shutdown();
		CHECK_INT(peer.disconnects, 2);
		CHECK_INT(log.setups, 0);
	}
}

ORMA_TEST(what_nobody_asked_for_is_ignored)
{
	struct source_log log = {0};
	struct peer peer = {0};
	struct orma_init_options options = peer_options(&peer);

	instead_of_up = 99;
	options.transport = &liar_ops;
	CHECK_INT(orma_init(&options), 0);
	register_source(&log);
	CHECK_INT(orma_sync(1), -ETIMEDOUT);
	CHECK(orma_is_connected());
	CHECK_INT(peer.disconnects, 0);
	CHECK_INT(orma_transport_flush(peer.transport, 7, NULL, 0, 0), 0);
	while (peer.commits == 0)
		CHECK_INT(orma_dispatch(), 0);
	CHECK_INT(log.setups + log.starts + log.stops + log.flushes, 0);
	orma_shutdown();
	CHECK_INT(peer.disconnects, 1);
}

ORMA_TEST(a_connection_that_never_comes_up_ends_with_the_library)
{
	struct peer peer = {.is_mute = true};
	struct orma_init_options options = peer_options(&peer);

	options.caller_drives = false;
	CHECK_INT(orma_init(&options), 0);
	CHECK_INT(orma_sync(1), -ETIMEDOUT);
	orma_shutdown();
	CHECK_INT(peer.connects, 1);
	CHECK_INT(peer.disconnects, 1);
}

ORMA_TEST(the_child_of_a_fork_connects_anew)
{
	struct source_log log = {0};
	struct orma_data_source *source;
	struct peer peer;
	pid_t child;
	int status;

	peer_open(&peer, false);
	begin(&peer);
	source = register_source(&log);
	CHECK_INT(orma_sync(10000), 0);
	child = fork();
	if (child == 0) {
		const struct orma_init_options options = peer_options(&peer);

		/* The parent's service and connection are not the child's. */
		peer_open(&peer, true);
		if (orma_init(&options) != 0 || orma_sync(10000) != 0)
			_exit(2);
		if (peer.connects != 1 || peer.disconnects != 0 || peer.registrations != 1)
			_exit(3);
		peer_enable(&peer, CONFIG);
		PEER_TURN_UNTIL(&peer, orma_data_source_started(source) == 1);
		emit(source, 10);
		if (peer_flush_all(&peer) != 1 ||
		    peer_read_and_count(&peer, MARK, strlen(MARK)) != 10)
			_exit(4);
		orma_shutdown();
		_exit(peer.disconnects == 1 ? 0 : 5);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
	CHECK_INT(peer.connects, 1);
	CHECK_INT(orma_sync(10000), 0);
	end(&peer);
}

/* --- commands from any thread --------------------------------------------------------------------- */

struct crossfire {
	struct orma_transport *transport;
	bool is_over;
	pthread_mutex_t mutex;
};

static int connect_crossfire(void *ctx, struct orma_transport *transport,
			     const struct orma_producer_info *hello)
{
	struct crossfire *crossfire = ctx;

	(void)hello;
	pthread_mutex_lock(&crossfire->mutex);
	crossfire->transport = transport;
	pthread_mutex_unlock(&crossfire->mutex);
	return orma_transport_up(transport);
}

static void disconnect_crossfire(void *ctx, struct orma_transport *transport)
{
	struct crossfire *crossfire = ctx;

	(void)transport;
	pthread_mutex_lock(&crossfire->mutex);
	crossfire->transport = NULL;
	pthread_mutex_unlock(&crossfire->mutex);
}

static void ignore_id(void *ctx, uint64_t id)
{
	(void)ctx;
	(void)id;
}

static void ignore_commit(void *ctx, const struct orma_commit *commit)
{
	(void)ctx;
	(void)commit;
}

static void ignore_name(void *ctx, const char *name)
{
	(void)ctx;
	(void)name;
}

static const struct orma_transport_ops crossfire_ops = {
	.struct_size = sizeof(crossfire_ops),
	.connect = connect_crossfire,
	.disconnect = disconnect_crossfire,
	.register_data_source = register_nothing,
	.unregister_data_source = ignore_name,
	.commit = ignore_commit,
	.data_source_started = ignore_id,
	.data_source_stopped = ignore_id,
	.sync = refuse_sync,
};

static void *fire(void *ctx)
{
	struct crossfire *crossfire = ctx;
	bool is_over = false;

	for (uint64_t i = 0; !is_over; i++) {
		pthread_mutex_lock(&crossfire->mutex);
		is_over = crossfire->is_over;
		if (crossfire->transport && i % 1000 == 999)
			orma_transport_down(crossfire->transport, -ECONNRESET);
		else if (crossfire->transport)
			orma_transport_flush(crossfire->transport, i, &i, 1, 0);
		pthread_mutex_unlock(&crossfire->mutex);
		sched_yield();
	}
	return NULL;
}

ORMA_TEST(several_threads_may_bring_what_the_service_says)
{
	struct crossfire crossfire = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	const struct orma_init_options options = {
		.struct_size = sizeof(options),
		.backends = ORMA_BACKEND_CUSTOM,
		.transport = &crossfire_ops,
		.transport_ctx = &crossfire,
	};
	pthread_t threads[3];

	for (int round = 0; round < 5; round++) {
		CHECK_INT(orma_init(&options), 0);
		crossfire.is_over = false;
		for (int i = 0; i < 3; i++)
			CHECK_INT(pthread_create(&threads[i], NULL, fire, &crossfire), 0);
		orma_sync(30);
		orma_shutdown();
		pthread_mutex_lock(&crossfire.mutex);
		crossfire.is_over = true;
		pthread_mutex_unlock(&crossfire.mutex);
		for (int i = 0; i < 3; i++)
			CHECK_INT(pthread_join(threads[i], NULL), 0);
		CHECK(!crossfire.transport);
	}
}

ORMA_TEST(a_commit_is_bytes_and_bytes_that_are_none_are_refused)
{
	static const struct orma_patch patches[] = {{7, {1, 2, 3, 4}}};
	static const struct orma_chunk_move moves[] = {{.page_idx = 3, .chunk_idx = 1}};
	static const struct orma_chunk_patch chunk_patches[] = {
		{.target_buffer = 1, .writer_id = 2, .patches = patches, .count = 1}};
	const struct orma_commit commit = {moves, 1, chunk_patches, 1, 5};
	const struct orma_service_options service_options = {.struct_size =
								     sizeof(service_options)};
	const struct orma_producer_info info = {
		.struct_size = sizeof(info), .name = "x", .shm_fd = -1};
	struct orma_service *service;
	struct orma_producer_port *port;
	void *data;
	size_t size;

	CHECK_INT(orma_commit_encode(NULL, &data, &size), -EINVAL);
	CHECK_INT(orma_commit_encode(&commit, NULL, &size), -EINVAL);
	orma_test_fail_allocation(1);
	CHECK_INT(orma_commit_encode(&commit, &data, &size), -ENOMEM);
	orma_test_fail_allocation(0);
	CHECK_INT(orma_commit_encode(&commit, &data, &size), 0);
	CHECK_INT(orma_service_new(&service_options, &service), 0);
	CHECK_INT(orma_producer_port_open(service, &info, &peer_callbacks, NULL, NULL, &port), 0);
	/* The commit is well-formed, but its entries are not valid for this producer and are
	 * skipped. */
	CHECK_INT(orma_producer_port_commit_encoded(port, data, size), 0);
	CHECK_INT(orma_producer_port_commit_encoded(port, data, size - 1), -EBADMSG);
	CHECK_INT(orma_producer_port_commit_encoded(port, "", 0), 0);
	orma_test_fail_allocation(1);
	CHECK_INT(orma_producer_port_commit_encoded(port, data, size), -ENOMEM);
	orma_test_fail_allocation(0);
	orma_config_free(data);
	orma_service_free(service);
}
