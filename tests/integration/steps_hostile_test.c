/* SPDX-License-Identifier: Apache-2.0
 * steps_hostile_test.c - producers with the largest memory there is: one message commits all of it,
 * or they leave with all of it full. The daemon does that in steps; nothing is missing in the end,
 * nothing is there twice, and the bystander goes on meanwhile.
 */
#include <unistd.h>

#include "bystander.h"
#include "harness.h"
#include "raw_session.h"

enum { PAGES = 8192, WRITER = 1 };

struct large {
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;
	uint32_t target_buffer;
};

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
				 "buffers { size_kb: 65536 } "
				 "data_sources { config { name: 'large' } }");
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

/* A producer is there until what it left is taken. */
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
