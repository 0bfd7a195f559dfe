/* SPDX-License-Identifier: Apache-2.0
 * renewal_test.c - when a sequence begins its incremental state anew after the service asked for it.
 *
 * The test drives the loop, so that it may do what the loop thread does.
 */
#include <orma/track_event.h>

#include "client/thread.h"
#include "track/instances.h"
#include "unit/client/fixture.h"

ORMA_CATEGORY_DEFINE(on, "on", NULL);

/* The service never asks for new states by itself. */
#define CONFIG                                                                                     \
	"buffers { size_kb: 4096 } data_sources { config { name: \"track_event\" } } "             \
	"incremental_state_config { clear_period_ms: 0 }"

enum {
	TIMES = 20,
	/* Events that fill more than a chunk. */
	CHUNK_EVENTS = 1000,
};

static struct packets packets;

static struct orma_session *start(void)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS,
						  .caller_drives = true};

	CHECK_INT(orma_init(&options), 0);
	CHECK_INT(orma_track_event_register(), 0);
	return session_start(CONFIG);
}

static void ask_for_clearing(void)
{
	struct orma_data_source *source =
		atomic_load_explicit(&orma_track_source, memory_order_acquire);
	uint64_t id = source->instances[0].service_id;

	orma_client_instances_clear(source->instances[0].link, &id, 1);
}

static void emit_events(int count)
{
	for (int i = 0; i < count; i++) {
		ORMA_INSTANT(on, "event");
		/* The service takes chunks away before the memory is full. */
		if (i % CHUNK_EVENTS == CHUNK_EVENTS - 1)
			CHECK_INT(orma_sync(WAIT_MS), 0);
	}
}

/* How many states the trace has; each event refers to one. */
static size_t finish(struct orma_session *session, size_t events)
{
	size_t states = 0;

	session_finish(session, &packets);
	orma_shutdown();
	for (size_t i = 0; i < packets.list.count; i++) {
		const struct orma_pb_trace_packet *packet = packets.list.items[i];

		states += packet->trace_packet_defaults != NULL;
		if (!packet->track_event)
			continue;
		CHECK(states > 0);
		events--;
	}
	CHECK_INT(events, 0);
	packets_done(&packets);
	return states;
}

ORMA_TEST(a_chunk_gets_one_state_however_often_clearing_is_asked_for)
{
	struct orma_session *session = start();
	size_t states;

	/* From here on a chunk is a page. */
	emit_events(10 * CHUNK_EVENTS);
	for (int i = 0; i < TIMES; i++) {
		ask_for_clearing();
		emit_events(1);
	}
	states = finish(session, 10 * CHUNK_EVENTS + TIMES);
	/* The first state, one for the current chunk, and one more if that chunk ended. */
	CHECK(states >= 2);
	CHECK(states <= 3);
}

ORMA_TEST(a_chunk_without_a_state_gets_one_at_the_next_event)
{
	struct orma_session *session = start();

	for (int i = 0; i < TIMES; i++) {
		emit_events(2 * CHUNK_EVENTS);
		ask_for_clearing();
		emit_events(1);
	}
	CHECK_INT(finish(session, TIMES * (2 * CHUNK_EVENTS + 1)), 1 + TIMES);
}

ORMA_TEST(clearing_that_waits_is_done_in_the_next_chunk)
{
	struct orma_session *session = start();

	emit_events(10 * CHUNK_EVENTS);
	for (int i = 0; i < TIMES; i++) {
		ask_for_clearing();
		emit_events(1);
		ask_for_clearing();
		emit_events(2 * CHUNK_EVENTS);
	}
	CHECK_INT(finish(session, 10 * CHUNK_EVENTS + TIMES * (1 + 2 * CHUNK_EVENTS)),
		  1 + 2 * TIMES);
}

static void *emit_on_demand(void *ctx)
{
	sem_t *semaphores = ctx;

	for (int i = 0; i < 2 * TIMES; i++) {
		wait_for(&semaphores[0]);
		ORMA_INSTANT(on, "event");
		CHECK_INT(sem_post(&semaphores[1]), 0);
	}
	return NULL;
}

static void emit_elsewhere(sem_t *semaphores)
{
	CHECK_INT(sem_post(&semaphores[0]), 0);
	wait_for(&semaphores[1]);
}

/* A flush may precede a new file, which must be readable without the previous one. */
ORMA_TEST(after_a_flush_no_state_waits_for_a_chunk)
{
	struct orma_session *session = start();
	sem_t semaphores[2];
	pthread_t thread;

	CHECK_INT(sem_init(&semaphores[0], 0, 0), 0);
	CHECK_INT(sem_init(&semaphores[1], 0, 0), 0);
	CHECK_INT(pthread_create(&thread, NULL, emit_on_demand, semaphores), 0);
	for (int i = 0; i < TIMES; i++) {
		emit_elsewhere(semaphores);
		ask_for_clearing();
		CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
		emit_elsewhere(semaphores);
	}
	pthread_join(thread, NULL);
	CHECK_INT(finish(session, 2 * TIMES), 1 + TIMES);
}
