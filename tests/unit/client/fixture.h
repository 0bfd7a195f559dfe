/* SPDX-License-Identifier: Apache-2.0
 * fixture.h - code that the tests of client and track share: sessions from text, and the packets
 * that were read.
 */
#ifndef ORMA_TESTS_UNIT_CLIENT_FIXTURE_H
#define ORMA_TESTS_UNIT_CLIENT_FIXTURE_H

#include <malloc.h>
#include <orma/data_source.h>
#include <orma/init.h>
#include <orma/session.h>
#include <orma/track_event.h>
#include <semaphore.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "harness.h"
#include "proto/reader.h"
#include "schema/gen/trace_packet.pb.h"

#define WAIT_MS 20000

/* The decoded packets of one read, in order. */
struct packets {
	struct orma_arena arena;
	ORMA_PROTO_REPEATED(struct orma_pb_trace_packet *) list;
};

static inline int packets_add(void *ctx, const void *data, size_t size)
{
	struct packets *packets = ctx;
	struct orma_pb_trace_packet *packet, **place;

	CHECK_INT(orma_proto_decode_copy(&orma_pb_trace_packet_desc, data, size, &packets->arena,
					 &packet),
		  0);
	place = orma_proto_repeated_add((struct orma_proto_repeated *)(void *)&packets->list,
					sizeof(packet), &packets->arena);
	CHECK(place);
	*place = packet;
	return 0;
}

static inline void packets_done(struct packets *packets)
{
	orma_base_arena_done(&packets->arena);
	*packets = (struct packets){0};
}

static inline void init_in_process(void)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS,
						  .producer_name = "test.producer"};

	CHECK_INT(orma_init(&options), 0);
}

static inline struct orma_session *session_new(const struct orma_session_options *options)
{
	const struct orma_session_options in_process = {.struct_size = sizeof(in_process),
							.in_process = true};
	struct orma_error error = {0};
	struct orma_session *session = NULL;
	int r = orma_session_new(options ? options : &in_process, &session, &error);

	if (r < 0)
		orma_test_fail(__FILE__, __LINE__, "orma_session_new: %d %s", r, error.message);
	return session;
}

static inline void session_enable(struct orma_session *session, const char *text)
{
	struct orma_error error = {0};
	void *config;
	size_t size;

	if (orma_config_parse("test", text, strlen(text), &config, &size, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(orma_session_enable(session, config, size, -1), 0);
	orma_config_free(config);
}

/* A running session of the service in this process, with everything that is registered. */
static inline struct orma_session *session_start(const char *text)
{
	struct orma_session *session;

	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = session_new(NULL);
	session_enable(session, text);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	return session;
}
/* The same with the data source of track events, in a process that has not initialised the library. */
static inline struct orma_session *session_start_events(const char *text)
{
	init_in_process();
	CHECK_INT(orma_track_event_register(), 0);
	return session_start(text);
}

static inline void session_stop(struct orma_session *session)
{
	struct orma_error error = {0};
	int r;

	CHECK_INT(orma_session_stop(session), 0);
	r = orma_session_wait_stopped(session, WAIT_MS, &error);
	if (r < 0)
		orma_test_fail(__FILE__, __LINE__, "wait_stopped: %d %s", r, error.message);
}

/* Stops, reads and frees the session. */
static inline void session_finish(struct orma_session *session, struct packets *packets)
{
	session_stop(session);
	CHECK_INT(orma_session_read(session, packets_add, packets), 0);
	orma_session_free(session);
}

/* --- a data source that records its callbacks ------------------------------------------------- */

/* {0} is ready for use. */
struct source_log {
	_Atomic int setups, starts, stops, flushes, clears, destroys;
	sem_t is_started, is_stopping, is_flushing, is_destroyed;
	enum orma_completion start_completion, stop_completion, flush_completion;
	_Atomic uint64_t start_number, stop_number, flush_number;
	char config[256];
};

static inline void log_on_setup(void *ctx, const struct orma_instance *instance,
				void **ret_instance_ctx)
{
	struct source_log *log = ctx;

	log->setups++;
	CHECK(instance->config_size < sizeof(log->config));
	memcpy(log->config, instance->config, instance->config_size);
	*ret_instance_ctx = log;
}

static inline void log_on_start(void *ctx, const struct orma_instance *instance)
{
	struct source_log *log = ctx;

	CHECK(instance->instance_ctx == ctx);
	log->starts++;
	sem_post(&log->is_started);
}

static inline enum orma_completion log_on_start_postponable(void *ctx,
							    const struct orma_instance *instance)
{
	struct source_log *log = ctx;

	log->start_number = instance->completion;
	log_on_start(ctx, instance);
	return log->start_completion;
}

static inline enum orma_completion log_on_stop(void *ctx, const struct orma_instance *instance)
{
	struct source_log *log = ctx;

	log->stops++;
	log->stop_number = instance->completion;
	sem_post(&log->is_stopping);
	return log->stop_completion;
}

static inline enum orma_completion log_on_flush(void *ctx, const struct orma_instance *instance)
{
	struct source_log *log = ctx;

	log->flushes++;
	log->flush_number = instance->completion;
	sem_post(&log->is_flushing);
	return log->flush_completion;
}

static inline void log_on_clear(void *ctx, const struct orma_instance *instance)
{
	struct source_log *log = ctx;

	(void)instance;
	log->clears++;
}

static inline void log_on_destroy(void *ctx, const struct orma_instance *instance)
{
	struct source_log *log = ctx;

	(void)instance;
	log->destroys++;
	sem_post(&log->is_destroyed);
}

static inline struct orma_data_source *register_source(const char *name, struct source_log *log)
{
	const struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = name,
		.ctx = log,
		.on_setup = log_on_setup,
		.on_start = log_on_start,
		.on_stop = log_on_stop,
		.on_flush = log_on_flush,
		.on_clear_incremental_state = log_on_clear,
		.on_destroy = log_on_destroy,
		.on_start_postponable =
			log->start_completion == ORMA_POSTPONE ? log_on_start_postponable : NULL,
	};
	struct orma_data_source *source;

	CHECK_INT(orma_data_source_register(&options, &source), 0);
	return source;
}

static inline void emit(struct orma_data_source *source, uint64_t value)
{
	ORMA_FOR_EACH_INSTANCE(source, idx)
	{
		struct orma_packet *packet = orma_packet_begin(source, idx);

		CHECK(packet);
		orma_packet_varint(packet, 8, value);
		orma_packet_end(packet);
	}
}

#define SOURCE_CONFIG "buffers { size_kb: 1024 } data_sources { config { name: \"test.source\" } }"

/* The packets of these tests have small numbers as timestamps. */
static inline size_t count_values(const struct packets *packets, uint64_t first, uint64_t last)
{
	uint64_t expected = first;

	for (size_t i = 0; i < packets->list.count; i++) {
		const struct orma_pb_trace_packet *packet = packets->list.items[i];

		if (packet->timestamp < first || packet->timestamp > last)
			continue;
		CHECK_INT(packet->timestamp, expected);
		expected++;
	}
	return (size_t)(expected - first);
}

static inline void wait_for(sem_t *semaphore)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += WAIT_MS / 1000;
	CHECK_INT(sem_timedwait(semaphore, &deadline), 0);
}

/* The bytes that are allocated; 0 with other C libraries' allocators, and with sanitizers'. */
static inline size_t heap_bytes(void)
{
#if defined(__GLIBC__)
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
#else
	return 0;
#endif
}

#endif
