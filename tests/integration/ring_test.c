/* SPDX-License-Identifier: Apache-2.0
 * ring_test.c - which events of a wrapped ring can be decoded, by the rules of Perfetto's Trace
 * Processor. The program uses the library, the ring is in the daemon.
 *
 * The programs wait for the service after every few KiB, so that its requests reach them before
 * they write the next few. The tests therefore do not depend on the speed of the machine.
 */
#include <orma/track_event.h>

#include "interop/trace_decodable.h"
#include "unit/client/daemon.h"
#include "unit/client/fixture.h"

ORMA_CATEGORY_DEFINE(ring, "ring", NULL);

enum {
	RING_BYTES = 1 << 20,
	BURST_EVENTS = 300,
	BURST_BYTES = 6 << 10, /* about */
	BURSTS = 5 * RING_BYTES / 2 / BURST_BYTES,
	PERCENT = 95,
};

/* Many threads in a small ring: each has a few KiB of it. */
enum {
	THREADS = 100,
	ROUND_SLICES = 4, /* per thread; all of them together are less than a share of the ring */
	ROUNDS = 150,
	SMALL_RING_EVENTS_MIN = 18000, /* without any states there is room for 30,000 */
};

#define SMALL_CONFIG "buffers { size_kb: 512 } data_sources { config { name: \"track_event\" } }"

#define CONFIG                                                                                     \
	"buffers { size_kb: 1024 } unique_session_name: \"ring\" "                                 \
	"data_sources { config { name: \"track_event\" } }"

static int decode_one(void *ctx, const void *data, size_t size)
{
	struct wire_span body = {data, (const uint8_t *)data + size};
	struct packet packet;

	CHECK_INT(packet_decode(body, &packet), 0);
	(void)decoder_show(ctx, &packet);
	return 0;
}

/* Reads the whole session and frees it. */
static void check_decodable(struct orma_session *session, uint64_t events_min)
{
	struct decoder decoder = {0};

	CHECK_INT(orma_session_read(session, decode_one, &decoder), 0);
	orma_session_free(session);
	if (decoder.events < events_min ||
	    (decoder.events - decoder.lost) * 100 < decoder.events * PERCENT)
		orma_test_fail(__FILE__, __LINE__, "%llu of %llu events cannot be decoded",
			       (unsigned long long)decoder.lost,
			       (unsigned long long)decoder.events);
	decoder_done(&decoder);
}

static void emit_burst(void)
{
	for (unsigned i = 0; i < BURST_EVENTS / 4; i++) {
		ORMA_SCOPE(ring, "outer", "number", i);
		ORMA_INSTANT(ring, "inside", "text", "some bytes of a string");
		ORMA_COUNTER(ring, "a counter", 0.5 * i);
	}
}

/* Emits once per burst. */
static void *emit_seldom(void *ctx)
{
	sem_t *semaphores = ctx;

	for (int i = 0; i < BURSTS; i++) {
		wait_for(&semaphores[0]);
		ORMA_INSTANT(ring, "seldom");
		CHECK_INT(sem_post(&semaphores[1]), 0);
	}
	return NULL;
}

static struct orma_session *
open_ring(struct daemon *daemon, const struct orma_session_options *options, const char *config)
{
	const struct orma_init_options init = {.struct_size = sizeof(init),
					       .producer_socket = daemon->producer};
	struct orma_session *session;

	daemon_start(daemon);
	CHECK_INT(orma_init(&init), 0);
	CHECK_INT(orma_track_event_register(), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = session_new(options);
	session_enable(session, config);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	return session;
}

static void check_clone(const struct orma_session_options *options)
{
	const struct orma_session_clone_options clone = {
		.struct_size = sizeof(clone), .unique_session_name = "ring", .file_fd = -1};
	struct orma_session *session = session_new(options);
	struct orma_error error = {0};

	if (orma_session_clone(session, &clone, NULL, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	check_decodable(session, RING_BYTES / 50);
}

ORMA_TEST(a_ring_that_wraps_can_be_decoded_and_so_can_each_clone_of_it)
{
	struct daemon daemon;
	struct orma_session *session;
	sem_t semaphores[2];
	pthread_t thread;

	daemon_addresses(&daemon);
	const struct orma_session_options options = {.struct_size = sizeof(options),
						     .consumer_socket = daemon.consumer};
	session = open_ring(&daemon, &options, CONFIG);
	CHECK_INT(sem_init(&semaphores[0], 0, 0), 0);
	CHECK_INT(sem_init(&semaphores[1], 0, 0), 0);
	CHECK_INT(pthread_create(&thread, NULL, emit_seldom, semaphores), 0);
	for (int i = 0; i < BURSTS; i++) {
		emit_burst();
		CHECK_INT(sem_post(&semaphores[0]), 0);
		wait_for(&semaphores[1]);
		CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
		if (i > BURSTS / 2 && i % 61 == 0)
			check_clone(&options);
	}
	pthread_join(thread, NULL);
	session_stop(session);
	check_decodable(session, RING_BYTES / 50);
	orma_shutdown();
	daemon_stop(&daemon);
}

/* --- many threads ----------------------------------------------------------------------------- */

struct rounds {
	pthread_barrier_t begin, end;
};

static void *emit_rounds(void *ctx)
{
	struct rounds *rounds = ctx;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&rounds->begin);
		for (int k = 0; k < ROUND_SLICES; k++) {
			ORMA_SCOPE(ring, "one of many threads", "number", k);
		}
		pthread_barrier_wait(&rounds->end);
	}
	return NULL;
}

ORMA_TEST(a_small_ring_of_many_threads_holds_events_that_can_be_decoded)
{
	struct orma_session *session;
	pthread_t threads[THREADS];
	struct daemon daemon;
	struct rounds rounds;

	daemon_addresses(&daemon);
	const struct orma_session_options options = {.struct_size = sizeof(options),
						     .consumer_socket = daemon.consumer};
	session = open_ring(&daemon, &options, SMALL_CONFIG);
	CHECK_INT(pthread_barrier_init(&rounds.begin, NULL, THREADS + 1), 0);
	CHECK_INT(pthread_barrier_init(&rounds.end, NULL, THREADS + 1), 0);
	for (size_t i = 0; i < THREADS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, emit_rounds, &rounds), 0);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&rounds.begin);
		pthread_barrier_wait(&rounds.end);
		CHECK_INT(orma_sync(WAIT_MS), 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	session_stop(session);
	check_decodable(session, SMALL_RING_EVENTS_MIN);
	orma_shutdown();
	daemon_stop(&daemon);
	pthread_barrier_destroy(&rounds.begin);
	pthread_barrier_destroy(&rounds.end);
}
