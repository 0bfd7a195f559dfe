/* SPDX-License-Identifier: Apache-2.0
 * never_blocked_test.c - a consumer that stops reading, a producer that stops reading, a file
 * that accepts nothing: each alone and all at once. The bystander's flushes complete and its
 * trace stays whole. The benchmarks measure how long the flushes take; nothing here depends on
 * time.
 */
#include <fcntl.h>
#include <unistd.h>

#include "bystander.h"
#include "harness.h"
#include "raw_session.h"

enum { FLUSHES = 50, PACKETS = 250, PACKET_BYTES = 3900 };

static void fill(struct orma_raw_session *session)
{
	static char text[PACKET_BYTES];

	memset(text, 'f', sizeof(text) - 1);
	for (int i = 0; i < PACKETS; i++)
		orma_raw_session_emit(session, text);
}

/* The consumer is to receive a megabyte, and its socket has room for a fifth of that. */
static void stop_reading_as_consumer(struct orma_raw_session *session,
				     const struct orma_stage *stage)
{
	orma_raw_session_open(session, &stage->daemon, "consumer", "", "");
	fill(session);
	CHECK(orma_raw_invoke(&session->consumer.client, "ReadBuffers", ORMA_STR(""), -1, 0));
}

enum { GREETERS = 2, CONFIG_BYTES = 60000 };

struct silent_producer {
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumers[GREETERS];
};

/* Each session sends it a large config twice, together more than its socket has room for, and
 * then flushes. */
static void stop_reading_as_producer(struct silent_producer *silent, const struct orma_stage *stage)
{
	static char config[CONFIG_BYTES];

	*silent = (struct silent_producer){0};
	orma_raw_producer_open(&silent->producer, stage->daemon.producers, "producer");
	orma_raw_producer_register(&silent->producer, "name: \"producer\"");
	memset(config, 'c', sizeof(config) - 1);
	for (size_t i = 0; i < GREETERS; i++) {
		orma_raw_consumer_open(&silent->consumers[i], stage->daemon.consumers);
		orma_raw_consumer_enable(&silent->consumers[i], -1,
					 "buffers { size_kb: 64 } data_sources { config { name: "
					 "\"producer\" legacy_config: \"%s\" } }",
					 config);
		orma_raw_consumer_fence(&silent->consumers[i]);
		for (int flush = 0; flush < 20; flush++)
			orma_raw_consumer_flush(&silent->consumers[i], 600000);
	}
}

static void leave(struct silent_producer *silent)
{
	for (size_t i = 0; i < GREETERS; i++)
		orma_raw_consumer_close(&silent->consumers[i]);
	orma_raw_producer_close(&silent->producer);
}

/* Its file is a pipe that holds 64 KiB of a megabyte. */
static void stop_taking_as_file(struct orma_raw_session *session, const struct orma_stage *stage,
				int fd)
{
	*session = (struct orma_raw_session){0};
	orma_raw_producer_open(&session->producer, stage->daemon.producers, "file");
	orma_raw_producer_register(&session->producer, "name: \"file\"");
	orma_raw_consumer_open(&session->consumer, stage->daemon.consumers);
	orma_raw_consumer_enable(&session->consumer, fd,
				 "buffers { size_kb: 2048 } data_sources { config { name: \"file\" "
				 "} } write_into_file: true file_write_period_ms: 100");
	session->instance = orma_raw_producer_await_start(&session->producer, "file");
	session->target_buffer = session->instance->target_buffer;
	fill(session);
}

static void check_bystander(struct orma_stage *stage)
{
	for (int i = 0; i < FLUSHES; i++)
		orma_bystander_check(&stage->bystander);
}

ORMA_TEST(a_consumer_that_stops_reading_blocks_nobody)
{
	struct orma_stage stage;
	struct orma_raw_session session;

	orma_stage_open(&stage);
	stop_reading_as_consumer(&session, &stage);
	check_bystander(&stage);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(a_producer_that_stops_reading_blocks_nobody)
{
	struct orma_stage stage;
	struct silent_producer silent;

	orma_stage_open(&stage);
	stop_reading_as_producer(&silent, &stage);
	check_bystander(&stage);
	leave(&silent);
	orma_stage_close(&stage);
}

ORMA_TEST(a_file_that_takes_nothing_blocks_nobody)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	int fds[2];

	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	orma_stage_open(&stage);
	stop_taking_as_file(&session, &stage, fds[1]);
	check_bystander(&stage);
	close(fds[0]);
	close(fds[1]);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(all_of_them_at_once_block_nobody)
{
	struct orma_stage stage;
	struct orma_raw_session consumer, file;
	struct silent_producer silent;
	int fds[2];

	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	orma_stage_open(&stage);
	stop_reading_as_consumer(&consumer, &stage);
	stop_reading_as_producer(&silent, &stage);
	stop_taking_as_file(&file, &stage, fds[1]);
	check_bystander(&stage);
	close(fds[0]);
	close(fds[1]);
	orma_raw_session_close(&file);
	leave(&silent);
	orma_raw_session_close(&consumer);
	orma_stage_close(&stage);
}
