/* SPDX-License-Identifier: Apache-2.0
 * steps_hostile_test.c - producers with the largest possible memory: one message commits all of
 * it, or they disconnect when all of it is full. The daemon handles that in steps. In the end no
 * packet is missing or doubled, and the bystander continues meanwhile. The same with one packet
 * that fills all of it; ORMA_LARGE_ROUNDS in the environment multiplies the size of that packet.
 */
#include <pthread.h>
#include <unistd.h>

#include "bystander.h"
#include "harness.h"
#include "raw_session.h"
#include "schema/gen/service_state.pb.h"
#include "schema/gen/test_event.pb.h"
#include "schema/gen/trace_packet.pb.h"

enum { PAGES = 8192, WRITER = 1 };

struct large {
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;
	uint32_t target_buffer;
};

static uint32_t count_rounds(void)
{
	const char *rounds = getenv("ORMA_LARGE_ROUNDS");

	return rounds ? (uint32_t)strtoul(rounds, NULL, 10) : 1;
}

static void open_large(struct large *large, const struct orma_stage *stage, const char *scraping)
{
	char args[256];

	*large = (struct large){0};
	orma_raw_producer_connect(&large->producer, stage->daemon.producers);
	snprintf(args, sizeof(args),
		 "producer_name: 'large' smb_scraping_mode: %s "
		 "shared_memory_page_size_hint_bytes: 4096 shared_memory_size_hint_bytes: %u",
		 scraping, PAGES * 4096);
	CHECK(orma_raw_producer_initialize(&large->producer, args, -1)->success);
	orma_raw_producer_listen(&large->producer);
	orma_raw_producer_register(&large->producer, "name: 'large'");
	orma_raw_consumer_open(&large->consumer, stage->daemon.consumers);
	orma_raw_consumer_enable(&large->consumer, -1,
				 "buffers { size_kb: %u } "
				 "data_sources { config { name: 'large' } }",
				 65536 * count_rounds());
	large->target_buffer =
		orma_raw_producer_await_start(&large->producer, "large")->target_buffer;
	CHECK_INT(large->producer.shm_bytes, PAGES * 4096);
}

/* A chunk with a packet of its own in each page. */
static void fill(struct large *large)
{
	for (uint32_t i = 0; i < PAGES; i++) {
		ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};

		orma_raw_test_packet(&payload, "%u", i);
		orma_raw_producer_write(
			&large->producer,
			&(struct orma_raw_chunk){
				.page_idx = i,
				.chunk_id = i,
				.writer_id = WRITER,
				.fragment_count = 1,
				.payload = {(const char *)payload.data, payload.size},
			});
	}
}

static void commit_all(struct large *large)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};

	for (uint32_t i = 0; i < PAGES; i++)
		CHECK_INT(orma_base_buf_printf(&text,
					       "chunks_to_move { page: %u target_buffer: %u }", i,
					       large->target_buffer),
			  0);
	orma_raw_producer_commit(&large->producer, "%.*s", (int)text.size, (const char *)text.data);
}

/* All packets, in order, once. */
static void check_trace(struct large *large)
{
	struct orma_pb_trace *trace = orma_raw_consumer_read(&large->consumer);
	uint32_t next = 0;

	for (size_t i = 0; i < trace->packet.count; i++) {
		const struct orma_pb_trace_packet *packet = trace->packet.items[i];
		char text[16];

		if (!packet->for_testing)
			continue;
		snprintf(text, sizeof(text), "%u", next++);
		CHECK(orma_base_str_is(packet->for_testing->str, text));
		CHECK_INT(packet->previous_packet_dropped, 0);
	}
	CHECK_INT(next, PAGES);
}

/* A producer exists until the data that it left is taken. */
static void await_gone(struct orma_stage *stage)
{
	do
		orma_bystander_check(&stage->bystander);
	while (orma_raw_consumer_query(&stage->bystander.consumer)->producers.count > 1);
}

ORMA_TEST(what_follows_a_commit_of_many_turns_waits_for_it)
{
	struct orma_stage stage;
	struct large large;

	orma_stage_open(&stage);
	open_large(&large, &stage, "SMB_SCRAPING_DISABLED");
	fill(&large);
	commit_all(&large);
	orma_bystander_check(&stage.bystander);
	orma_raw_producer_sync(&large.producer);
	for (uint32_t i = 0; i < PAGES; i++)
		CHECK_INT(*(uint32_t *)(void *)(large.producer.shm + (size_t)i * 4096), 0);
	check_trace(&large);
	orma_raw_producer_close(&large.producer);
	orma_raw_consumer_close(&large.consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(a_producer_may_leave_behind_a_commit_of_many_turns)
{
	struct orma_stage stage;
	struct large large;

	orma_stage_open(&stage);
	open_large(&large, &stage, "SMB_SCRAPING_DISABLED");
	fill(&large);
	commit_all(&large);
	orma_raw_producer_close(&large.producer);
	await_gone(&stage);
	check_trace(&large);
	orma_raw_consumer_close(&large.consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(a_session_may_go_in_the_middle_of_a_commit)
{
	struct orma_stage stage;
	struct large large;

	orma_stage_open(&stage);
	open_large(&large, &stage, "SMB_SCRAPING_ENABLED");
	fill(&large);
	commit_all(&large);
	orma_raw_consumer_close(&large.consumer);
	orma_bystander_check(&stage.bystander);
	orma_raw_producer_sync(&large.producer);
	for (uint32_t i = 0; i < PAGES; i++)
		CHECK_INT(*(uint32_t *)(void *)(large.producer.shm + (size_t)i * 4096), 0);
	orma_raw_producer_close(&large.producer);
	orma_stage_close(&stage);
}

ORMA_TEST(a_producer_that_leaves_with_all_its_memory_full_is_scraped)
{
	struct orma_stage stage;
	struct large large;

	orma_stage_open(&stage);
	open_large(&large, &stage, "SMB_SCRAPING_ENABLED");
	orma_raw_call(&large.producer.client, "RegisterTraceWriter",
		      orma_raw_text(&large.producer.client,
				    &orma_pb_register_trace_writer_request_desc,
				    "trace_writer_id: %u target_buffer: %u", WRITER,
				    large.target_buffer));
	fill(&large);
	orma_raw_producer_close(&large.producer);
	await_gone(&stage);
	check_trace(&large);
	orma_raw_consumer_close(&large.consumer);
	orma_stage_close(&stage);
}

/* --- one packet ------------------------------------------------------------------------------- */

enum { FIELD_BYTES = 3, FRAGMENT_BYTES = 1359 * FIELD_BYTES };

/* A piece of the packet in each page: nothing but small fields. */
static void fill_with_packet(struct large *large, uint32_t round, uint32_t rounds)
{
	static uint8_t fields[FRAGMENT_BYTES];

	for (size_t i = 0; i < sizeof(fields); i += FIELD_BYTES)
		memcpy(&fields[i], "\xc0\x3e\x01", FIELD_BYTES); /* field 1000 */
	for (uint32_t i = 0; i < PAGES; i++) {
		ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};
		uint32_t chunk_id = round * PAGES + i;
		bool is_last = chunk_id + 1 == rounds * PAGES;

		orma_raw_fragment(&payload, fields, sizeof(fields));
		orma_raw_producer_write(
			&large->producer,
			&(struct orma_raw_chunk){
				.page_idx = i,
				.chunk_id = chunk_id,
				.writer_id = WRITER,
				.fragment_count = 1,
				.flags = (uint8_t)((chunk_id ? ORMA_SHM_CONTINUES_FROM_PREVIOUS
							     : 0) |
						   (is_last ? 0 : ORMA_SHM_CONTINUES_IN_NEXT)),
				.payload = {(const char *)payload.data, payload.size},
			});
	}
}

struct reading {
	pthread_t thread;
	struct large *large;
	uint64_t largest_bytes; /* the largest packet */
	_Atomic bool is_done;
};

/* Counts only, because the trace would be decoded into an object per field. */
static void *read_trace(void *arg)
{
	struct reading *reading = arg;
	struct orma_raw_client *client = &reading->large->consumer.client;
	uint64_t id = orma_raw_invoke(client, "ReadBuffers", ORMA_STR(""), -1, 0), size = 0;
	bool has_more = true;

	while (has_more) {
		struct orma_pb_read_buffers_response *response;
		struct orma_raw_frame *frame = orma_raw_await(client, id);

		CHECK(frame->success);
		has_more = frame->has_more;
		orma_raw_decode(client, &orma_pb_read_buffers_response_desc, frame, &response);
		for (size_t i = 0; i < response->slices.count; i++) {
			size += response->slices.items[i]->data.size;
			if (!response->slices.items[i]->last_slice_for_packet)
				continue;
			reading->largest_bytes = ORMA_MAX(reading->largest_bytes, size);
			size = 0;
		}
	}
	reading->is_done = true;
	return NULL;
}

ORMA_TEST(a_packet_that_fills_all_the_memory_is_read_while_others_go_on)
{
	uint32_t rounds = count_rounds();
	struct orma_stage stage;
	struct large large;
	struct reading reading = {.large = &large};

	orma_stage_open(&stage);
	open_large(&large, &stage, "SMB_SCRAPING_DISABLED");
	for (uint32_t i = 0; i < rounds; i++) {
		fill_with_packet(&large, i, rounds);
		commit_all(&large);
		orma_raw_producer_sync(&large.producer);
	}
	stage.bystander.longest_flush_ns = 0;
	CHECK_INT(pthread_create(&reading.thread, NULL, read_trace, &reading), 0);
	while (!reading.is_done)
		orma_bystander_check(&stage.bystander);
	CHECK_INT(pthread_join(reading.thread, NULL), 0);
	/* The fields of the service follow it. */
	CHECK(reading.largest_bytes > (uint64_t)rounds * PAGES * FRAGMENT_BYTES);
	CHECK(reading.largest_bytes < (uint64_t)rounds * PAGES * FRAGMENT_BYTES + 100);
	orma_raw_producer_close(&large.producer);
	orma_raw_consumer_close(&large.consumer);
	orma_stage_close(&stage);
}
