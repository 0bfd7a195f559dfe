/* SPDX-License-Identifier: Apache-2.0
 * fixture.h - what the tests of client and track share: sessions from text, packets as they were
 * read.
 */
#ifndef ORMA_TESTS_UNIT_CLIENT_FIXTURE_H
#define ORMA_TESTS_UNIT_CLIENT_FIXTURE_H

#include <orma/data_source.h>
#include <orma/init.h>
#include <orma/session.h>

#include "base/arena.h"
#include "base/buf.h"
#include "harness.h"
#include "proto/reader.h"
#include "schema/gen/trace_packet.pb.h"

#define WAIT_MS 20000

/* Decoded packets of one read, in their order. */
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

/* A running session of the service in this process. Everything registered takes part. */
static inline struct orma_session *session_start(const char *text)
{
	struct orma_session *session;

	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = session_new(NULL);
	session_enable(session, text);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	return session;
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

/* Stops, reads and frees. */
static inline void session_finish(struct orma_session *session, struct packets *packets)
{
	session_stop(session);
	CHECK_INT(orma_session_read(session, packets_add, packets), 0);
	orma_session_free(session);
}

#endif
