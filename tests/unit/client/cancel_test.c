/* SPDX-License-Identifier: Apache-2.0
 * cancel_test.c - threads that are cancelled while they are inside the library.
 *
 * No function of the library is a cancellation point: a thread that was cancelled inside of one
 * comes out of it first.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/engine.h"
#include "unit/client/fixture.h"

/* 256 KiB of shared memory that nothing empties, because the library's thread is in on_flush. */
struct blocked {
	struct source_log log;
	sem_t is_blocked, go_on;
	struct orma_data_source *source;
	_Atomic uint64_t begun, ended;
	_Atomic bool stop;
};

static enum orma_completion block(void *ctx, const struct orma_instance *instance)
{
	struct blocked *blocked = ctx;

	(void)instance;
	sem_post(&blocked->is_blocked);
	wait_for(&blocked->go_on);
	return ORMA_COMPLETE;
}

static void flush_done(void *ctx, const struct orma_error *error)
{
	(void)error;
	*(bool *)ctx = true;
}

static void *emit_without_end(void *ctx)
{
	struct blocked *blocked = ctx;

	while (!blocked->stop) {
		struct orma_packet *packet = orma_packet_begin(blocked->source, 0);

		CHECK(packet);
		blocked->begun++;
		orma_packet_string(packet, 2000, "0123456789012345678901234567890123456789");
		orma_packet_varint(packet, 8, 1);
		orma_packet_end(packet);
		blocked->ended++;
		/* The thread may be cancelled here. */
		pthread_testcancel();
	}
	return NULL;
}

static uint64_t count_stalls(void)
{
	struct orma_shm_stats stats;

	orma_shm_arbiter_get_stats(orma_client.links[0].memory->arbiter, &stats);
	return stats.stalls;
}

ORMA_TEST(a_thread_that_is_cancelled_while_it_waits_for_room_ends_its_packet_first)
{
	struct blocked blocked = {0};
	const struct orma_data_source_options options = {.struct_size = sizeof(options),
							 .name = "test.source",
							 .policy = ORMA_EXHAUSTED_STALL,
							 .stall_timeout_ms = WAIT_MS,
							 .ctx = &blocked,
							 .on_flush = block};
	struct orma_session *session;
	struct packets packets = {0};
	bool is_flushed = false;
	pthread_t thread;
	size_t count = 0;
	void *result;

	init_in_process();
	CHECK_INT(orma_data_source_register(&options, &blocked.source), 0);
	session = session_start("buffers { size_kb: 8192 } "
				"data_sources { config { name: \"test.source\" } }");
	CHECK_INT(orma_session_flush_async(session, WAIT_MS, 0, flush_done, &is_flushed), 0);
	wait_for(&blocked.is_blocked);
	CHECK_INT(pthread_create(&thread, NULL, emit_without_end, &blocked), 0);
	while (count_stalls() == 0)
		sched_yield();
	CHECK_INT(pthread_cancel(thread), 0);
	sem_post(&blocked.go_on);
	CHECK_INT(pthread_join(thread, &result), 0);
	CHECK(result == PTHREAD_CANCELED);
	CHECK_INT(blocked.begun, blocked.ended);
	CHECK_INT(orma_data_source_dropped(blocked.source, 0), 0);
	sem_post(&blocked.go_on);
	session_finish(session, &packets);
	for (size_t i = 0; i < packets.list.count; i++)
		count += packets.list.items[i]->timestamp == 1;
	CHECK_INT(count, blocked.ended);
	CHECK(is_flushed);
	packets_done(&packets);
	orma_shutdown();
}

static void *sync_without_end(void *ctx)
{
	sem_post(ctx);
	for (;;) {
		CHECK_INT(orma_sync(5), -ETIMEDOUT);
		pthread_testcancel();
	}
	return NULL;
}

ORMA_TEST(threads_that_are_cancelled_while_they_wait_leave_nothing_locked)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .producer_socket = "/nobody/listens/here"};
	struct source_log log = {0};
	sem_t is_running = {0};
	pthread_t thread;

	CHECK_INT(orma_init(&options), 0);
	for (int i = 0; i < 20; i++) {
		CHECK_INT(pthread_create(&thread, NULL, sync_without_end, &is_running), 0);
		wait_for(&is_running);
		CHECK_INT(pthread_cancel(thread), 0);
		CHECK_INT(pthread_join(thread, NULL), 0);
	}
	orma_data_source_unregister(register_source("test.source", &log));
	CHECK_INT(orma_sync(1), -ETIMEDOUT);
	orma_shutdown();
}

struct waiter {
	struct orma_session *session;
	sem_t is_running;
};

static void *wait_without_end(void *ctx)
{
	struct waiter *waiter = ctx;

	sem_post(&waiter->is_running);
	for (;;) {
		CHECK_INT(orma_session_wait_stopped(waiter->session, 5, NULL), -ETIMEDOUT);
		pthread_testcancel();
	}
	return NULL;
}

ORMA_TEST(a_session_goes_on_when_the_thread_that_waited_for_it_was_cancelled)
{
	struct source_log log = {0};
	struct waiter waiter = {0};
	struct packets packets = {0};
	struct orma_data_source *source;
	pthread_t thread;

	init_in_process();
	source = register_source("test.source", &log);
	waiter.session = session_start(SOURCE_CONFIG);
	for (int i = 0; i < 20; i++) {
		CHECK_INT(pthread_create(&thread, NULL, wait_without_end, &waiter), 0);
		wait_for(&waiter.is_running);
		CHECK_INT(pthread_cancel(thread), 0);
		CHECK_INT(pthread_join(thread, NULL), 0);
	}
	emit(source, 1);
	session_finish(waiter.session, &packets);
	CHECK_INT(count_values(&packets, 1, 1), 1);
	packets_done(&packets);
	orma_shutdown();
}

/* --- cancelled before the call: each function still returns ----------------------------------- */

/* The progress of a thread that may be cancelled at any moment. */
struct condemned {
	struct source_log log;
	int file;
	const char *_Atomic doing;
	bool is_over;
};

#define DO(condemned, call, expected)                                                              \
	do {                                                                                       \
		(condemned)->doing = #call;                                                        \
		CHECK_INT(call, expected);                                                         \
	} while (0)

static void ignore(void *ctx, const struct orma_error *error)
{
	(void)ctx;
	(void)error;
}

static int take_packet(void *ctx, const void *packet, size_t size)
{
	(void)ctx;
	(void)packet;
	(void)size;
	return 0;
}

static void use_session(struct condemned *self, struct orma_session *session)
{
	static const char text[] = SOURCE_CONFIG;
	struct orma_trace_stats *stats;

	DO(self, orma_session_observe(session, ORMA_OBSERVE_INSTANCES), 0);
	DO(self, orma_session_enable_text(session, "test", text, strlen(text), -1, NULL), 0);
	DO(self, orma_session_wait_started(session, WAIT_MS), 0);
	DO(self, orma_session_flush_async(session, WAIT_MS, 0, ignore, NULL), 0);
	DO(self, orma_session_dispatch(session), 0);
	DO(self, orma_session_flush(session, WAIT_MS, 0), 0);
	DO(self, orma_session_read_stats(session, &stats), 0);
	orma_trace_stats_free(stats);
	orma_session_request_stop(session);
	DO(self, orma_session_stop(session), 0);
	DO(self, orma_session_wait_stopped(session, WAIT_MS, NULL), 0);
	DO(self, orma_session_read_into_fd(session, self->file, NULL), 0);
	DO(self, orma_session_read(session, take_packet, NULL), 0);
	DO(self, (orma_session_free(session), 0), 0);
}

static void *live_condemned(void *ctx)
{
	struct condemned *self = ctx;
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS};
	const struct orma_session_options in_process = {.struct_size = sizeof(in_process),
							.in_process = true};
	const char *const names[] = {"trigger"};
	struct orma_data_source *source;
	struct orma_session *session;

	CHECK_INT(pthread_cancel(pthread_self()), 0);
	DO(self, orma_init(&options), 0);
	source = register_source("test.source", &self->log);
	DO(self, orma_sync(WAIT_MS), 0);
	DO(self, orma_session_new(&in_process, &session, NULL), 0);
	use_session(self, session);
	DO(self, orma_activate_triggers(names, 1, 0), 0);
	DO(self, orma_data_source_update(source, NULL, 0), 0);
	DO(self, (orma_data_source_unregister(source), 0), 0);
	DO(self, (orma_shutdown(), 0), 0);
	self->is_over = true;
	return NULL;
}

ORMA_TEST(a_thread_that_is_cancelled_comes_out_of_every_function)
{
	struct condemned condemned = {.file = memfd_create("trace", MFD_CLOEXEC)};
	pthread_t thread;

	CHECK(condemned.file >= 0);
	CHECK_INT(pthread_create(&thread, NULL, live_condemned, &condemned), 0);
	CHECK_INT(pthread_join(thread, NULL), 0);
	if (!condemned.is_over)
		orma_test_fail(__FILE__, __LINE__, "it ended in %s", condemned.doing);
	close(condemned.file);
}
