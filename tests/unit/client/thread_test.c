/* SPDX-License-Identifier: Apache-2.0
 * thread_test.c - objects that threads own: they are created and freed with threads, sessions
 * and data sources, whichever ends first.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "client/client_source.h"
#include "client/engine.h"
#include "shm/arbiter.h"
#include "unit/client/daemon.h"
#include "unit/client/fixture.h"

static void join(pthread_t thread)
{
	CHECK_INT(pthread_join(thread, NULL), 0);
}

static uint32_t count_writers(void)
{
	struct orma_shm_stats stats = {0};

	if (orma_client.links[0].memory)
		orma_shm_arbiter_get_stats(orma_client.links[0].memory->arbiter, &stats);
	return stats.writers;
}

/* --- state of the application ----------------------------------------------------------------- */

struct states {
	_Atomic int threads_made, threads_gone, incrementals_made, incrementals_cleared,
		incrementals_gone;
	_Atomic bool may_clear;
};

static void *create_thread_state(void *ctx, struct orma_data_source *source, uint32_t idx)
{
	struct states *states = ctx;
	int *state = malloc(sizeof(*state));

	CHECK(source);
	CHECK_INT(idx, 0);
	*state = 0;
	states->threads_made++;
	return state;
}

static void delete_thread_state(void *ctx, void *state)
{
	struct states *states = ctx;

	states->threads_gone++;
	free(state);
}

static void *create_incremental_state(void *ctx, struct orma_data_source *source, uint32_t idx)
{
	struct states *states = ctx;

	(void)source;
	(void)idx;
	states->incrementals_made++;
	return calloc(1, sizeof(int));
}

static bool clear_incremental_state(void *ctx, void *state)
{
	struct states *states = ctx;

	if (!states->may_clear)
		return false;
	states->incrementals_cleared++;
	*(int *)state = 0;
	return true;
}

static void delete_incremental_state(void *ctx, void *state)
{
	struct states *states = ctx;

	states->incrementals_gone++;
	free(state);
}

static struct orma_data_source *register_with_states(struct states *states)
{
	const struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = "test.source",
		.ctx = states,
		.create_thread_state = create_thread_state,
		.delete_thread_state = delete_thread_state,
		.create_incremental_state = create_incremental_state,
		.clear_incremental_state = clear_incremental_state,
		.delete_incremental_state = delete_incremental_state,
	};
	struct orma_data_source *source;

	CHECK_INT(orma_data_source_register(&options, &source), 0);
	return source;
}

/* How often this thread has counted in all, and since the incremental state was cleared. */
static void count_up(struct orma_data_source *source, int *ret_thread, int *ret_incremental)
{
	struct orma_packet *packet = orma_packet_begin(source, 0);
	int *thread, *incremental;

	CHECK(packet);
	thread = orma_packet_thread_state(packet);
	incremental = orma_packet_incremental_state(packet);
	CHECK(thread && incremental);
	CHECK(orma_packet_incremental_state(packet) == incremental);
	*ret_thread = (*thread)++;
	*ret_incremental = (*incremental)++;
	orma_packet_end(packet);
}

static void *count_twice(void *ctx)
{
	int thread, incremental;

	count_up(ctx, &thread, &incremental);
	CHECK_INT(thread, 0);
	CHECK_INT(incremental, 0);
	count_up(ctx, &thread, &incremental);
	CHECK_INT(thread, 1);
	CHECK_INT(incremental, 1);
	return NULL;
}

static void clear_states(struct orma_data_source *source)
{
	uint64_t id = source->instances[0].service_id;

	orma_client_instances_clear(source->instances[0].link, &id, 1);
}

ORMA_TEST(each_thread_keeps_states_of_its_own_for_an_instance)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS,
						  .caller_drives = true};
	struct states states = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	int thread, incremental;
	pthread_t other;

	/* With caller_drives, so that this thread can do the loop's work. */
	CHECK_INT(orma_init(&options), 0);
	source = register_with_states(&states);
	session = session_start(SOURCE_CONFIG);
	CHECK_INT(states.threads_made, 0);
	count_twice(source);
	CHECK_INT(pthread_create(&other, NULL, count_twice, source), 0);
	join(other);
	CHECK_INT(states.threads_made, 2);
	CHECK_INT(states.threads_gone, 1);
	CHECK_INT(states.incrementals_gone, 1);
	clear_states(source);
	count_up(source, &thread, &incremental);
	CHECK_INT(thread, 2);
	CHECK_INT(incremental, 0);
	CHECK_INT(states.incrementals_made, 3);
	CHECK_INT(states.incrementals_gone, 2);
	states.may_clear = true;
	clear_states(source);
	count_up(source, &thread, &incremental);
	CHECK_INT(thread, 3);
	CHECK_INT(incremental, 0);
	CHECK_INT(states.incrementals_made, 3);
	CHECK_INT(states.incrementals_cleared, 1);
	session_stop(session);
	CHECK_INT(states.threads_gone, 2);
	CHECK_INT(states.incrementals_gone, 3);
	orma_session_free(session);
	session = session_start(SOURCE_CONFIG);
	count_twice(source);
	orma_data_source_unregister(source);
	CHECK_INT(states.threads_gone, 3);
	CHECK_INT(states.incrementals_gone, 4);
	orma_session_free(session);
	orma_shutdown();
}

/* --- a thread that exits meanwhile ------------------------------------------------------------ */

struct exiting {
	struct orma_data_source *source;
	sem_t is_deleting, go_on;
	_Atomic bool is_deleted;
};

static void *make_nothing(void *ctx, struct orma_data_source *source, uint32_t idx)
{
	(void)source;
	(void)idx;
	return ctx;
}

static void delete_when_told(void *ctx, void *state)
{
	struct exiting *exiting = ctx;

	(void)state;
	sem_post(&exiting->is_deleting);
	wait_for(&exiting->go_on);
	exiting->is_deleted = true;
}

static void register_exiting(struct exiting *exiting)
{
	const struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = "test.source",
		.ctx = exiting,
		.create_thread_state = make_nothing,
		.delete_thread_state = delete_when_told,
	};

	CHECK_INT(orma_data_source_register(&options, &exiting->source), 0);
}

static void *keep_and_exit(void *ctx)
{
	struct exiting *exiting = ctx;
	struct orma_packet *packet = orma_packet_begin(exiting->source, 0);

	CHECK(packet);
	CHECK(orma_packet_thread_state(packet) == exiting);
	orma_packet_end(packet);
	return NULL;
}

static void *go_on_soon(void *ctx)
{
	struct exiting *exiting = ctx;

	poll(NULL, 0, 20);
	sem_post(&exiting->go_on);
	return NULL;
}

/* Either the call waited for its end, or it did not run within the time limit of the wait. */
static bool was_deleted_or_late(const struct exiting *exiting, uint64_t begin_ns)
{
	bool is_deleted = exiting->is_deleted;

	return is_deleted || orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns >=
				     ORMA_CLIENT_LINGER_MS * ORMA_NS_PER_MS;
}

/* The thread is in its callback as it exits. */
static struct orma_session *exit_slowly(struct exiting *exiting, pthread_t *ret)
{
	struct orma_session *session;

	sem_init(&exiting->is_deleting, 0, 0);
	sem_init(&exiting->go_on, 0, 0);
	init_in_process();
	register_exiting(exiting);
	session = session_start(SOURCE_CONFIG);
	CHECK_INT(pthread_create(ret, NULL, keep_and_exit, exiting), 0);
	wait_for(&exiting->is_deleting);
	return session;
}

ORMA_TEST(unregistering_waits_for_what_an_exiting_thread_deletes)
{
	struct exiting exiting = {0};
	pthread_t thread, other;
	struct orma_session *session = exit_slowly(&exiting, &thread);
	uint64_t begin_ns;

	CHECK_INT(pthread_create(&other, NULL, go_on_soon, &exiting), 0);
	begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	orma_data_source_unregister(exiting.source);
	CHECK(was_deleted_or_late(&exiting, begin_ns));
	join(thread);
	join(other);
	orma_session_free(session);
	orma_shutdown();
}

ORMA_TEST(a_source_that_an_exiting_thread_still_deletes_from_is_nobody_elses)
{
	struct exiting exiting = {0};
	pthread_t thread;
	struct orma_session *session = exit_slowly(&exiting, &thread);
	struct orma_data_source *before = exiting.source;

	orma_data_source_unregister(before);
	CHECK(!exiting.is_deleted);
	register_exiting(&exiting);
	CHECK(exiting.source != before);
	orma_data_source_unregister(exiting.source);
	sem_post(&exiting.go_on);
	join(thread);
	CHECK(exiting.is_deleted);
	orma_session_free(session);
	orma_shutdown();
}

ORMA_TEST(shutting_down_waits_for_what_an_exiting_thread_deletes)
{
	struct exiting exiting = {0};
	pthread_t thread, other;
	struct orma_session *session = exit_slowly(&exiting, &thread);
	uint64_t begin_ns;

	CHECK_INT(pthread_create(&other, NULL, go_on_soon, &exiting), 0);
	orma_session_free(session);
	begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	orma_shutdown();
	CHECK(was_deleted_or_late(&exiting, begin_ns));
	join(thread);
	join(other);
}

ORMA_TEST(without_callbacks_there_is_no_state)
{
	struct source_log log = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct orma_packet *packet;

	init_in_process();
	source = register_source("test.source", &log);
	session = session_start(SOURCE_CONFIG);
	packet = orma_packet_begin(source, 0);
	CHECK(!orma_packet_thread_state(packet));
	CHECK(!orma_packet_incremental_state(packet));
	orma_packet_end(packet);
	orma_session_free(session);
	orma_shutdown();
}

/* --- an instance under its lock --------------------------------------------------------------- */

static void *lock_and_unlock(void *ctx)
{
	struct orma_data_source *source = ctx;
	void *instance_ctx;
	int found = 0;

	for (int i = 0; i < 20000; i++) {
		if (!orma_data_source_lock_instance(source, 0, &instance_ctx))
			continue;
		CHECK_INT(((struct source_log *)instance_ctx)->setups,
			  ((struct source_log *)instance_ctx)->destroys + 1);
		found++;
		orma_data_source_unlock_instance(source, 0);
	}
	return NULL;
}

ORMA_TEST(a_locked_instance_is_not_destroyed)
{
	struct source_log log = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	pthread_t threads[2];
	void *ctx;

	init_in_process();
	source = register_source("test.source", &log);
	CHECK(!orma_data_source_lock_instance(source, 0, &ctx));
	CHECK(!orma_data_source_lock_instance(source, 99, &ctx));
	CHECK(!orma_data_source_lock_instance(NULL, 0, &ctx));
	orma_data_source_unlock_instance(NULL, 0);
	for (int i = 0; i < 2; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, lock_and_unlock, source), 0);
	for (int i = 0; i < 20; i++) {
		session = session_start(SOURCE_CONFIG);
		CHECK(orma_data_source_lock_instance(source, 0, &ctx));
		CHECK(ctx == &log);
		orma_data_source_unlock_instance(source, 0);
		session_stop(session);
		orma_session_free(session);
	}
	join(threads[0]);
	join(threads[1]);
	orma_shutdown();
}

/* --- threads that sleep, come and go ---------------------------------------------------------- */

#define PARKED 400 /* their chunks would fill the 256 KiB of memory */

struct parking {
	struct orma_data_source *source;
	sem_t has_emitted, go_on, leave;
};

static void *emit_and_park(void *ctx)
{
	struct parking *parking = ctx;

	emit(parking->source, 1);
	sem_post(&parking->has_emitted);
	wait_for(&parking->go_on);
	emit(parking->source, 2);
	sem_post(&parking->has_emitted);
	wait_for(&parking->leave);
	return NULL;
}

ORMA_TEST(threads_that_sleep_hold_no_memory_of_a_session_that_is_over)
{
	pthread_attr_t attributes;
	struct source_log log = {0};
	struct parking parking = {0};
	struct packets packets = {0};
	struct orma_session *session;
	static pthread_t threads[PARKED];
	size_t count = 0;

	init_in_process();
	parking.source = register_source("test.source", &log);
	session = session_start(SOURCE_CONFIG);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 * 1024);
	for (size_t i = 0; i < PARKED; i++) {
		CHECK_INT(pthread_create(&threads[i], &attributes, emit_and_park, &parking), 0);
		wait_for(&parking.has_emitted);
	}
	CHECK_INT(count_writers(), PARKED);
	session_finish(session, &packets);
	CHECK_INT(count_writers(), 0);
	for (size_t i = 0; i < packets.list.count; i++)
		count += packets.list.items[i]->timestamp == 1;
	CHECK_INT(count, PARKED);
	packets_done(&packets);
	session = session_start(SOURCE_CONFIG);
	for (size_t i = 0; i < PARKED; i++)
		sem_post(&parking.go_on);
	for (size_t i = 0; i < PARKED; i++)
		wait_for(&parking.has_emitted);
	CHECK_INT(orma_data_source_dropped(parking.source, 0), 0);
	session_finish(session, &packets);
	count = 0;
	for (size_t i = 0; i < packets.list.count; i++)
		count += packets.list.items[i]->timestamp == 2;
	CHECK_INT(count, PARKED);
	packets_done(&packets);
	for (size_t i = 0; i < PARKED; i++)
		sem_post(&parking.leave);
	for (size_t i = 0; i < PARKED; i++)
		join(threads[i]);
	pthread_attr_destroy(&attributes);
	orma_shutdown();
}

static void *emit_once(void *ctx)
{
	emit(ctx, 1);
	return NULL;
}

static void run_threads(struct orma_data_source *source, int count)
{
	for (int i = 0; i < count; i++) {
		pthread_t thread;

		CHECK_INT(pthread_create(&thread, NULL, emit_once, source), 0);
		join(thread);
	}
}

ORMA_TEST(ten_thousand_threads_leave_nothing_behind)
{
	struct orma_init_options options = {.struct_size = sizeof(options)};
	struct orma_session_options session_options = {.struct_size = sizeof(session_options)};
	struct source_log log = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct daemon daemon;
	size_t before, after;
	pid_t service;

	daemon_addresses(&daemon);
	/* In a process of its own, because services remember sequences for a while. */
	service = fork();
	if (service == 0) {
		daemon_start(&daemon);
		for (;;)
			pause();
	}
	options.producer_socket = daemon.producer;
	session_options.consumer_socket = daemon.consumer;
	CHECK_INT(orma_init(&options), 0);
	source = register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = session_new(&session_options);
	session_enable(session, SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	run_threads(source, 100);
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	before = heap_bytes();
	/* No more at once than the memory has room for, because the thread that empties it may
	 * not run. */
	for (int i = 0; i < 99; i++) {
		run_threads(source, 100);
		CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	}
	after = heap_bytes();
	CHECK_INT(count_writers(), 0);
	CHECK_INT(orma_data_source_dropped(source, 0), 0);
	/* Message buffers may have grown. */
	printf("10000 threads: %zd bytes more on the heap\n", (ssize_t)(after - before));
	CHECK(after < before + 65536);
	orma_session_free(session);
	orma_shutdown();
	kill(service, SIGKILL);
	CHECK_INT(waitpid(service, NULL, 0), service);
}

/* --- the ends of threads ---------------------------------------------------------------------- */

static struct orma_data_source *ending_source;
static pthread_key_t ending_key;

static void emit_in_destructor(void *rounds_left)
{
	intptr_t rounds = (intptr_t)rounds_left;

	emit(ending_source, 1);
	if (rounds > 1)
		pthread_setspecific(ending_key, (void *)(rounds - 1));
}

static void *end_slowly(void *ctx)
{
	/* Some run before the library's own destructor, some after. */
	pthread_setspecific(ending_key, ctx);
	emit(ending_source, 1);
	return NULL;
}

ORMA_TEST(a_thread_may_emit_until_its_last_destructor)
{
	struct source_log log = {0};
	struct orma_session *session;
	struct packets packets = {0};
	pthread_t thread;
	size_t count = 0;

	CHECK_INT(pthread_key_create(&ending_key, emit_in_destructor), 0);
	init_in_process();
	ending_source = register_source("test.source", &log);
	session = session_start(SOURCE_CONFIG);
	for (intptr_t rounds = 1; rounds <= 3; rounds++) {
		CHECK_INT(pthread_create(&thread, NULL, end_slowly, (void *)rounds), 0);
		join(thread);
	}
	session_finish(session, &packets);
	for (size_t i = 0; i < packets.list.count; i++)
		count += packets.list.items[i]->timestamp == 1;
	CHECK_INT(count, 2 + 3 + 4);
	packets_done(&packets);
	CHECK_INT(count_writers(), 0);
	pthread_key_delete(ending_key);
	orma_shutdown();
}

/* --- unregistering ---------------------------------------------------------------------------- */

struct emitter {
	struct orma_data_source *_Atomic source;
	_Atomic bool stop;
};

static void *emit_to_whatever_is_there(void *ctx)
{
	struct emitter *emitter = ctx;

	while (!emitter->stop) {
		struct orma_data_source *source = emitter->source;

		for (int i = 0; i < 100; i++) {
			ORMA_FOR_EACH_INSTANCE(source, idx)
			{
				struct orma_packet *packet = orma_packet_begin(source, idx);

				if (!packet)
					continue;
				orma_packet_varint(packet, 8, 1);
				orma_packet_string(packet, 2000, "some text");
				orma_packet_end(packet);
			}
		}
	}
	return NULL;
}

ORMA_TEST(a_source_is_unregistered_while_others_emit_to_it)
{
	struct source_log log = {0};
	struct emitter emitter = {.source = NULL};
	struct orma_session *session;
	pthread_t threads[3];

	init_in_process();
	emitter.source = register_source("test.source", &log);
	session = session_start(SOURCE_CONFIG);
	for (int i = 0; i < 3; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, emit_to_whatever_is_there, &emitter),
			  0);
	for (int i = 0; i < 60; i++) {
		struct orma_data_source *old = emitter.source;

		orma_data_source_unregister(old);
		CHECK_INT(orma_data_source_started(old), 0);
		CHECK(!orma_packet_begin(old, 0));
		emitter.source = register_source("test.source", &log);
		CHECK_INT(orma_sync(WAIT_MS), 0);
	}
	emitter.stop = true;
	for (int i = 0; i < 3; i++)
		join(threads[i]);
	CHECK_INT(log.starts, 61);
	CHECK_INT(log.destroys, 60);
	orma_session_free(session);
	orma_shutdown();
}
