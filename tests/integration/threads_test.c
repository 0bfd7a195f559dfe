/* SPDX-License-Identifier: Apache-2.0
 * threads_test.c - many threads start, emit and end while sessions start and stop. Meant for
 * ThreadSanitizer; without it, the test checks that the structure of the trace is intact.
 */
#include <orma/track_event.h>
#include <pthread.h>
#include <stdatomic.h>

#include "schema/gen/track_event.pb.h"
#include "unit/client/daemon.h"
#include "unit/client/fixture.h"

ORMA_CATEGORY_DEFINE(churn, "churn", NULL);

#define SPAWNERS 4
#define SESSIONS 12

static _Atomic bool is_over;
static struct orma_data_source *source;

static void emit_some(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		ORMA_SCOPE(churn, "outer");
		ORMA_BEGIN(churn, "inner");
		ORMA_COUNTER(churn, "i", i);
		ORMA_END(churn);
		ORMA_FOR_EACH_INSTANCE(source, idx)
		{
			struct orma_packet *packet = orma_packet_begin(source, idx);

			if (!packet)
				continue;
			orma_packet_varint(packet, 8, i + 1);
			orma_packet_end(packet);
		}
	}
}

static void *short_life(void *ctx)
{
	(void)ctx;
	emit_some(50);
	return NULL;
}

static void *spawn(void *ctx)
{
	(void)ctx;
	while (!atomic_load(&is_over)) {
		pthread_t thread;

		CHECK_INT(pthread_create(&thread, NULL, short_life, NULL), 0);
		emit_some(20);
		pthread_join(thread, NULL);
	}
	return NULL;
}

/* Per sequence: no end without a begin, unless the trace reports a loss. */
static void check_slices(const struct packets *packets)
{
	static struct {
		uint32_t id;
		int depth;
		bool has_loss;
	} sequences[65536];

	memset(sequences, 0, sizeof(sequences));
	for (size_t i = 0; i < packets->list.count; i++) {
		const struct orma_pb_trace_packet *packet = packets->list.items[i];
		uint32_t id = packet->trusted_packet_sequence_id;

		CHECK(id < ORMA_ARRAY_SIZE(sequences));
		if (packet->previous_packet_dropped && !packet->first_packet_on_sequence)
			sequences[id].has_loss = true;
		if (!packet->track_event)
			continue;
		if (packet->track_event->type == ORMA_EVENT_BEGIN)
			sequences[id].depth++;
		else if (packet->track_event->type == ORMA_EVENT_END)
			sequences[id].depth--;
		CHECK(sequences[id].has_loss || sequences[id].depth >= 0);
		CHECK(sequences[id].has_loss || sequences[id].depth <= 2);
	}
}

static void run_session(const struct orma_session_options *options)
{
	struct packets packets = {0};
	struct orma_session *session = session_new(options);
	struct orma_error error = {0};

	session_enable(session, "buffers { size_kb: 4096 } "
				"data_sources { config { name: \"track_event\" } } "
				"data_sources { config { name: \"test.source\" } }");
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	emit_some(10);
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	CHECK_INT(orma_session_stop(session), 0);
	if (orma_session_wait_stopped(session, WAIT_MS, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(orma_session_read(session, packets_add, &packets), 0);
	orma_session_free(session);
	CHECK(packets.list.count > 0);
	check_slices(&packets);
	packets_done(&packets);
}

static void churn_sessions(const struct orma_session_options *options)
{
	pthread_t spawners[SPAWNERS];
	struct source_log log = {0};

	source = register_source("test.source", &log);
	CHECK_INT(orma_track_event_register(), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	for (int i = 0; i < SPAWNERS; i++)
		CHECK_INT(pthread_create(&spawners[i], NULL, spawn, NULL), 0);
	for (int i = 0; i < SESSIONS; i++)
		run_session(options);
	atomic_store(&is_over, true);
	for (int i = 0; i < SPAWNERS; i++)
		pthread_join(spawners[i], NULL);
	CHECK_INT(log.starts, SESSIONS);
	CHECK_INT(log.destroys, SESSIONS);
	orma_shutdown();
}

ORMA_TEST(threads_come_and_go_while_sessions_of_this_process_start_and_stop)
{
	init_in_process();
	churn_sessions(NULL);
}

ORMA_TEST(threads_come_and_go_while_sessions_of_a_daemon_start_and_stop)
{
	struct orma_session_options options = {.struct_size = sizeof(options)};
	struct orma_init_options init = {.struct_size = sizeof(init)};
	struct daemon daemon;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	options.consumer_socket = daemon.consumer;
	init.producer_socket = daemon.producer;
	CHECK_INT(orma_init(&init), 0);
	churn_sessions(&options);
	daemon_stop(&daemon);
}

ORMA_TEST(threads_emit_while_the_daemon_dies_and_comes_back)
{
	struct orma_init_options init = {.struct_size = sizeof(init)};
	struct orma_session_options options = {.struct_size = sizeof(options)};
	pthread_t spawners[SPAWNERS];
	struct source_log log = {0};
	struct daemon daemon;

	daemon_addresses(&daemon);
	init.producer_socket = daemon.producer;
	options.consumer_socket = daemon.consumer;
	CHECK_INT(orma_init(&init), 0);
	source = register_source("test.source", &log);
	CHECK_INT(orma_track_event_register(), 0);
	for (int i = 0; i < SPAWNERS; i++)
		CHECK_INT(pthread_create(&spawners[i], NULL, spawn, NULL), 0);
	for (int i = 0; i < 5; i++) {
		struct orma_session *session;

		daemon_start(&daemon);
		CHECK_INT(orma_sync(WAIT_MS), 0);
		run_session(&options);
		session = session_new(&options);
		session_enable(session, SOURCE_CONFIG);
		CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
		daemon_stop(&daemon);
		wait_for(&log.is_destroyed);
		wait_for(&log.is_destroyed);
		orma_session_free(session);
	}
	atomic_store(&is_over, true);
	for (int i = 0; i < SPAWNERS; i++)
		pthread_join(spawners[i], NULL);
	orma_shutdown();
}
