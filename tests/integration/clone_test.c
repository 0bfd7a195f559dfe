/* SPDX-License-Identifier: Apache-2.0
 * clone_test.c - clones and triggers over the wire, with a bystander beside large ones.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "bystander.h"
#include "harness.h"
#include "raw_clone.h"
#include "schema/gen/producer_port.pb.h"
#include "schema/gen/trace_packet.pb.h"

#define SOURCE "unique_session_name: \"source\""

enum { PACKET_BYTES = 3900, LARGE_MB = 16 };

/* Returns how long the longest of several flushes took; each is followed by a check of the whole
 * trace. */
static uint64_t time_flushes(struct orma_stage *stage, struct orma_raw_session *session)
{
	uint64_t longest_ns = 0;

	for (int i = 0; i < 20; i++) {
		uint64_t before_ns = orma_base_clock_ns(CLOCK_MONOTONIC);

		orma_bystander_check(&stage->bystander);
		longest_ns = ORMA_MAX(longest_ns, orma_base_clock_ns(CLOCK_MONOTONIC) - before_ns);
		orma_raw_session_emit(session, "too late");
	}
	return longest_ns;
}

/* ORMA_CLONE_MB=256 makes it large enough to measure, and prints the results. */
ORMA_TEST(a_large_clone_is_whole_and_the_bystander_goes_on_beside_it)
{
	const char *wish = getenv("ORMA_CLONE_MB");
	uint32_t megabytes = wish ? (uint32_t)strtoul(wish, NULL, 10) : LARGE_MB;
	uint32_t packets = megabytes * (1 << 20) / 4096;
	uint64_t before_ns, beside_ns, clone_ns;
	static char text[PACKET_BYTES];
	struct orma_raw_session session;
	struct orma_raw_consumer consumer;
	struct orma_stage stage;

	orma_stage_open(&stage);
	orma_raw_clone_source_open(&session, &stage.daemon, (megabytes + 1) << 10, -1, "");
	memset(text, 'f', sizeof(text) - 1);
	for (uint32_t i = 0; i < packets; i++)
		orma_raw_session_emit(&session, text);
	before_ns = wish ? time_flushes(&stage, &session) : 0;
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	clone_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	uint64_t id = orma_raw_clone_invoke(&consumer, -1, SOURCE);
	beside_ns = time_flushes(&stage, &session);
	CHECK(orma_raw_clone_await(&consumer, id)->success);
	clone_ns = orma_base_clock_ns(CLOCK_MONOTONIC) - clone_ns;
	if (wish) {
		fprintf(stderr,
			"%u MB in at most %.1f ms; longest flush %.2f ms, without %.2f ms\n",
			megabytes, (double)clone_ns / 1e6, (double)beside_ns / 1e6,
			(double)before_ns / 1e6);
	} else {
		struct orma_pb_trace *trace = orma_raw_consumer_read(&consumer);

		CHECK_INT(orma_raw_test_packet_count(trace), packets);
		CHECK(!orma_raw_trace_has(trace, "too late"));
	}
	orma_raw_consumer_close(&consumer);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(a_clone_that_is_refused_says_why)
{
	struct orma_raw_consumer consumer;
	struct orma_stage stage;

	orma_stage_open(&stage);
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	struct orma_pb_clone_session_response *response =
		orma_raw_clone_make(&consumer, -1, SOURCE);
	CHECK(!response->success);
	CHECK(orma_base_str_is(response->error,
			       "unique_session_name: there is no session \"source\""));
	/* An empty request, and one that does not decode. */
	orma_raw_decode(&consumer.client, &orma_pb_clone_session_response_desc,
			orma_raw_call(&consumer.client, "CloneSession", ORMA_STR("")), &response);
	CHECK(!response->success && response->error.size);
	CHECK(!orma_raw_call(&consumer.client, "CloneSession", ORMA_STR("\x0a"))->success);
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

/* --- into files ------------------------------------------------------------------------------- */

ORMA_TEST(a_clone_of_a_file_is_a_file)
{
	ORMA_AUTO(orma_base_fd_closep) int file = memfd_create("file", MFD_CLOEXEC);
	ORMA_AUTO(orma_base_fd_closep) int copy = memfd_create("copy", MFD_CLOEXEC);
	struct orma_raw_session session;
	struct orma_raw_consumer consumer;
	struct orma_stage stage;
	static char data[1 << 20];

	orma_stage_open(&stage);
	orma_raw_clone_source_open(&session, &stage.daemon, 1024, file,
				   "write_into_file: true file_write_period_ms: 100");
	orma_raw_session_emit(&session, "first");
	while (lseek(file, 0, SEEK_END) == 0)
		orma_bystander_check(&stage.bystander);
	orma_raw_session_emit(&session, "second");
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	struct orma_pb_clone_session_response *response =
		orma_raw_clone_make(&consumer, copy, SOURCE);
	CHECK(response->success && response->was_write_into_file);
	ssize_t size = pread(copy, data, sizeof(data), 0);
	CHECK(size > 0);
	CHECK(memmem(data, (size_t)size, "first", 5));
	CHECK(memmem(data, (size_t)size, "second", 6));
	CHECK_INT(orma_raw_consumer_read(&consumer)->packet.count, 0);
	orma_raw_consumer_close(&consumer);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

/* --- triggers --------------------------------------------------------------------------------- */

ORMA_TEST(a_flood_of_triggers_is_obeyed_and_holds_up_nobody)
{
	struct orma_raw_session session;
	struct orma_stage stage;
	struct orma_raw_client *client;

	orma_stage_open(&stage);
	orma_raw_clone_source_open(
		&session, &stage.daemon, 1024, -1,
		"trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 60000 "
		"triggers { name: \"hit\" stop_delay_ms: 10 producer_name_regex: \"s.*e\" } }");
	client = &session.producer.client;
	struct orma_str args = orma_raw_text(client, &orma_pb_activate_triggers_request_desc,
					     "trigger_names: \"hit\" trigger_names: \"miss\"");
	CHECK(orma_raw_invoke(&session.consumer.client, "ObserveEvents", ORMA_STR("\x08\x04"), -1,
			      0));
	orma_raw_consumer_fence(&session.consumer);
	for (int i = 0; i < 5000; i++)
		CHECK(orma_raw_invoke(client, "ActivateTriggers", args, -1, ORMA_RAW_DROP_REPLY));
	CHECK(orma_raw_call(client, "ActivateTriggers", args)->success);
	for (int i = 0; i < 10; i++)
		orma_bystander_check(&stage.bystander);
	/* The session itself cannot be read, but its clones can. */
	orma_raw_session_emit(&session, "data");
	CHECK_INT(orma_raw_test_packet_count(orma_raw_consumer_read(&session.consumer)), 0);
	struct orma_raw_consumer consumer;
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	CHECK(orma_raw_clone_make(&consumer, -1, SOURCE)->success);
	struct orma_pb_trace *trace = orma_raw_consumer_read(&consumer);
	size_t hits = 0;
	for (size_t i = 0; i < trace->packet.count; i++)
		hits += trace->packet.items[i]->trigger != NULL;
	CHECK_INT(hits, 1024);
	CHECK(orma_raw_trace_has(trace, "data"));
	orma_raw_consumer_close(&consumer);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}
