/* SPDX-License-Identifier: Apache-2.0
 * stress_test.c - everything at once: threads that emit, sleep and end, sessions of two services
 * that start and stop every few milliseconds, incremental state that is cleared, a data source that
 * comes and goes, triggers. Meant for the sanitizers. It checks that everything ends, and that
 * the packets are whole.
 */
#include <orma/orma.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "unit/client/daemon.h"
#include "unit/client/fixture.h"

ORMA_CATEGORY_DEFINE(stress, "stress", NULL);

#define THREADS  16
#define SESSIONS 24

#define CONFIG                                                                                     \
	"buffers { size_kb: 1024 } data_sources { config { name: \"track_event\" } } "             \
	"data_sources { config { name: \"test.steady\" } } "                                       \
	"data_sources { config { name: \"test.coming\" } } "                                       \
	"incremental_state_config { clear_period_ms: 2 }"

struct shared {
	_Atomic bool is_over;
	struct orma_data_source *steady;
	struct orma_data_source *_Atomic coming;
	_Atomic int states;
};

static void *make_state(void *ctx, struct orma_data_source *source, uint32_t idx)
{
	struct shared *shared = ctx;

	(void)source;
	(void)idx;
	shared->states++;
	return calloc(1, sizeof(uint64_t));
}

static void delete_state(void *ctx, void *state)
{
	struct shared *shared = ctx;

	shared->states--;
	free(state);
}

static enum orma_completion complete_at_once(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	orma_data_source_complete(instance->source, instance->completion);
	return ORMA_POSTPONE;
}

static struct orma_data_source *register_stressed(const char *name, struct shared *shared)
{
	const struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = name,
		.policy = ORMA_EXHAUSTED_STALL,
		.stall_timeout_ms = 1,
		.ctx = shared,
		.on_stop = complete_at_once,
		.on_flush = complete_at_once,
		.create_thread_state = make_state,
		.delete_thread_state = delete_state,
		.create_incremental_state = make_state,
		.delete_incremental_state = delete_state,
	};
	struct orma_data_source *source;

	CHECK_INT(orma_data_source_register(&options, &source), 0);
	return source;
}

static void emit_to(struct orma_data_source *source)
{
	ORMA_FOR_EACH_INSTANCE(source, idx)
	{
		struct orma_packet *packet = orma_packet_begin(source, idx);
		struct orma_nested nested;
		uint64_t *total, *known;

		if (!packet)
			continue;
		total = orma_packet_thread_state(packet);
		known = orma_packet_incremental_state(packet);
		CHECK(total && known);
		if ((*known)++ == 0)
			orma_packet_varint(packet, 13, 1);
		orma_packet_varint(packet, 8, ++*total);
		orma_packet_nested_begin(packet, &nested, 900);
		for (uint64_t i = 0; i < *total % 50; i++)
			orma_packet_string(packet, 1, "some text to be written");
		orma_packet_nested_end(packet, &nested);
		orma_packet_end(packet);
	}
}

static void emit_some(struct shared *shared)
{
	for (int i = 0; i < 5; i++) {
		ORMA_SCOPE(stress, "outer", "number", i);
		ORMA_INSTANT(stress, "inner");
		ORMA_COUNTER(stress, "i", i);
		emit_to(shared->steady);
		emit_to(shared->coming);
	}
}

static void *emit_once(void *ctx)
{
	emit_some(ctx);
	return NULL;
}

static void *emit_for_long(void *ctx)
{
	struct shared *shared = ctx;

	while (!shared->is_over) {
		emit_some(shared);
		/* Sixteen threads that never sleep would leave no time for the sessions. */
		poll(NULL, 0, 1);
	}
	return NULL;
}

static void *emit_in_short_lives(void *ctx)
{
	struct shared *shared = ctx;

	while (!shared->is_over) {
		pthread_t thread;

		CHECK_INT(pthread_create(&thread, NULL, emit_once, shared), 0);
		pthread_join(thread, NULL);
	}
	return NULL;
}

static void *come_and_go(void *ctx)
{
	static const char *const trigger = "nobody waits for this";
	struct shared *shared = ctx;

	while (!shared->is_over) {
		orma_data_source_unregister(shared->coming);
		shared->coming = register_stressed("test.coming", shared);
		orma_activate_triggers(&trigger, 1, 0);
		orma_sync(WAIT_MS);
	}
	return NULL;
}

static void run_session(const struct orma_session_options *options, int turn)
{
	struct orma_session *session = session_new(options);
	struct packets packets = {0};

	session_enable(session, CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	if (turn % 3 != 0)
		orma_session_flush(session, WAIT_MS, 0);
	if (turn % 4 == 0) {
		/* As if its consumer had died. */
		orma_session_free(session);
		return;
	}
	session_finish(session, &packets);
	packets_done(&packets);
}

ORMA_TEST(sixteen_threads_emit_while_sessions_come_and_go)
{
	const struct orma_session_options here = {.struct_size = sizeof(here), .in_process = true};
	struct orma_session_options there = {.struct_size = sizeof(there)};
	struct orma_init_options options = {.struct_size = sizeof(options),
					    .backends =
						    ORMA_BACKEND_SYSTEM | ORMA_BACKEND_IN_PROCESS};
	pthread_t threads[THREADS], coming;
	struct shared shared = {0};
	struct daemon daemon;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	options.producer_socket = daemon.producer;
	there.consumer_socket = daemon.consumer;
	CHECK_INT(orma_init(&options), 0);
	CHECK_INT(orma_track_event_register(), 0);
	shared.steady = register_stressed("test.steady", &shared);
	shared.coming = register_stressed("test.coming", &shared);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	for (size_t i = 0; i < THREADS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL,
					 i % 4 == 0 ? emit_in_short_lives : emit_for_long, &shared),
			  0);
	CHECK_INT(pthread_create(&coming, NULL, come_and_go, &shared), 0);
	for (int i = 0; i < SESSIONS; i++)
		run_session(i % 2 == 0 ? &here : &there, i);
	shared.is_over = true;
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(coming, NULL);
	orma_shutdown();
	CHECK_INT(shared.states, 0);
	daemon_stop(&daemon);
}
