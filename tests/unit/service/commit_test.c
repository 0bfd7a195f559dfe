/* SPDX-License-Identifier: Apache-2.0
 * commit_test.c - chunks from honest and from lying producers: commits, patches, scraping,
 * emulation.
 */
#include "fixture.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_stats.pb.h"
#include "service/steps.h"

struct scene {
	struct world world;
	struct producer producer;
	struct consumer consumer;
	struct packets packets;
};

static void open_scene_as(struct scene *scene, const struct orma_producer_info *info)
{
	memset(scene, 0, sizeof(*scene));
	world_open(&scene->world);
	CHECK_INT(producer_try(&scene->world, &scene->producer, info), 0);
	consumer_open(&scene->world, &scene->consumer);
	CHECK_INT(register_source(&scene->producer, "name: 'test'"), 0);
	enable_ok(&scene->consumer, ONE_BUFFER);
}

static void open_scene(struct scene *scene)
{
	struct orma_producer_info info = producer_info("p");

	open_scene_as(scene, &info);
}

static void close_scene(struct scene *scene)
{
	packets_done(&scene->packets);
	consumer_close(&scene->consumer);
	if (scene->producer.port)
		producer_close(&scene->producer);
	world_close(&scene->world);
}

static const char *texts(struct scene *scene)
{
	packets_done(&scene->packets);
	read_all(&scene->consumer, &scene->packets);
	return texts_of(&scene->packets);
}

static uint64_t discarded(struct scene *scene)
{
	struct orma_arena arena = {0};
	struct orma_pb_trace_stats *stats;
	const void *data;
	size_t size;
	uint64_t count;

	CHECK_INT(orma_consumer_port_get_stats(scene->consumer.port, &data, &size), 0);
	CHECK_INT(orma_pb_trace_stats_decode(data, size, &arena, &stats), 0);
	count = stats->chunks_discarded;
	orma_base_arena_done(&arena);
	return count;
}

static uint32_t page_word(const struct scene *scene, uint32_t page_idx)
{
	uint32_t word;

	memcpy(&word, scene->producer.memory + (size_t)page_idx * scene->producer.page_bytes, 4);
	return word;
}

ORMA_TEST(committed_chunk_is_copied_and_its_page_is_free_again)
{
	struct scene s;

	open_scene(&s);
	send_packet(&s.producer, 0, "a");
	CHECK_INT(page_word(&s, 0), 0);
	CHECK_STR(texts(&s), "a");
	close_scene(&s);
}

/* Producer ids have 16 bits, so an id is reused after enough connections. */
static void take_over_id(struct scene *s)
{
	struct producer passing;

	producer_close(&s->producer);
	for (uint32_t id = 2; id <= ORMA_SERVICE_PRODUCER_ID_MAX; id++) {
		producer_open(&s->world, &passing, "passing");
		producer_close(&passing);
	}
	producer_open(&s->world, &s->producer, "heir");
	CHECK_INT(register_source(&s->producer, "name: 'test'"), 0);
}

ORMA_TEST(producer_with_the_id_of_one_that_has_left_has_neither_its_sequence_nor_its_chunks)
{
	struct orma_patch patch = {.offset = 6, .data = {'F', 'A', 'K', 'E'}};
	struct orma_chunk_patch entry = {.writer_id = 1, .patches = &patch, .count = 1};
	struct orma_commit commit = {.patches = &entry, .patch_count = 1};
	uint32_t ids[2];
	size_t seen = 0;
	struct scene s;

	open_scene(&s);
	send_packet(&s.producer, 0, "genuine");
	take_over_id(&s);
	entry.target_buffer = s.producer.target_buffer;
	orma_producer_port_commit(s.producer.port, &commit);
	send_packet(&s.producer, 1, "heir's");
	CHECK_STR(texts(&s), "genuine heir's");
	for (size_t i = 0; i < s.packets.count; i++)
		if (s.packets.items[i]->for_testing)
			ids[seen++] = s.packets.items[i]->trusted_packet_sequence_id;
	CHECK_INT(seen, 2);
	CHECK_INT(ids[0], 2);
	CHECK_INT(ids[1], 3);
	close_scene(&s);
}

ORMA_TEST(packets_carry_trusted_fields_and_one_id_per_writer)
{
	struct scene s;
	const struct orma_pb_trace_packet *packet;
	uint32_t ids[3];
	size_t seen = 0;

	open_scene(&s);
	for (uint16_t i = 0; i < 3; i++) {
		write_chunk(&s.producer, (struct chunk){.chunk_id = i, .writer_id = i == 1 ? 5 : 9},
			    TEXTS("x"));
		commit_page(&s.producer, 0, s.producer.target_buffer);
	}
	texts(&s);
	for (size_t i = 0; i < s.packets.count; i++) {
		packet = s.packets.items[i];
		if (packet->for_testing) {
			CHECK_INT(packet->trusted_uid, (int32_t)getuid());
			CHECK_INT(packet->trusted_pid, 77);
			ids[seen++] = packet->trusted_packet_sequence_id;
		} else {
			CHECK_INT(packet->trusted_packet_sequence_id, 1);
		}
	}
	CHECK_INT(seen, 3);
	CHECK_INT(ids[0], 2);
	CHECK_INT(ids[1], 3);
	CHECK_INT(ids[2], 2);
	close_scene(&s);
}

ORMA_TEST(indices_out_of_range_and_wrong_states_are_counted)
{
	static const struct orma_chunk_move moves[] = {
		{.page_idx = 64},          {.page_idx = UINT32_MAX}, {.chunk_idx = 1},
		{.chunk_idx = UINT32_MAX}, {.page_idx = 1},
	};
	struct scene s;

	open_scene(&s);
	write_chunk(&s.producer,
		    (struct chunk){.page_idx = 1, .writer_id = 1, .state = ORMA_SHM_BEING_WRITTEN},
		    TEXTS("x"));
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		struct orma_chunk_move move = moves[i];
		struct orma_commit commit = {.moves = &move, .move_count = 1};

		move.target_buffer = s.producer.target_buffer;
		orma_producer_port_commit(s.producer.port, &commit);
		CHECK_INT(discarded(&s), i + 1);
	}
	send_packet(&s.producer, 0, "alive");
	close_scene(&s);
}

ORMA_TEST(producer_writes_only_where_it_was_sent)
{
	struct scene s;
	struct consumer other;

	open_scene(&s);
	consumer_open(&s.world, &other);
	enable_ok(&other, "buffers { size_kb: 64 }");
	for (uint32_t target = 0; target < 5; target++) {
		if (target == 1)
			continue;
		write_chunk(&s.producer, (struct chunk){.writer_id = 1}, TEXTS("x"));
		commit_page(&s.producer, 0, target == 4 ? 65537 : target);
		CHECK_INT(page_word(&s, 0), 0);
	}
	CHECK_INT(discarded(&s), 4);
	read_all(&other, &s.packets);
	CHECK_STR(texts_of(&s.packets), "");
	consumer_close(&other);
	close_scene(&s);
}

ORMA_TEST(writer_that_was_registered_keeps_to_its_buffer)
{
	struct scene s;
	struct consumer other;
	uint32_t first;

	open_scene(&s);
	first = s.producer.target_buffer;
	consumer_open(&s.world, &other);
	enable_ok(&other, ONE_BUFFER);
	orma_producer_port_register_writer(s.producer.port, 1, first);
	orma_producer_port_register_writer(s.producer.port, 0, first);
	orma_producer_port_register_writer(s.producer.port, 32768, first);
	orma_producer_port_register_writer(s.producer.port, 2, 70000);
	send_packet(&s.producer, 0, "x"); /* to the other session's */
	CHECK_INT(discarded(&s), 1);
	orma_producer_port_unregister_writer(s.producer.port, 1);
	send_packet(&s.producer, 0, "y");
	CHECK_INT(discarded(&s), 1);
	consumer_close(&other);
	close_scene(&s);
}

/* A packet that is valid at the top level may still be invalid further in. */
static void read_undecoded(struct scene *s)
{
	struct orma_trace_batch batch;

	do {
		CHECK_INT(orma_consumer_port_read(s->consumer.port, 4096, &batch), 0);
		CHECK(batch.count == 0 || batch.slices[batch.count - 1].ends_packet);
	} while (batch.has_more);
}

ORMA_TEST(garbage_in_the_memory_harms_nobody)
{
	struct scene s;
	uint32_t seed = 1;

	open_scene(&s);
	for (uint32_t id = 1; id < 64; id++)
		orma_producer_port_register_writer(s.producer.port, id, s.producer.target_buffer);
	for (int round = 0; round < 50; round++) {
		for (size_t i = 0; i < s.producer.memory_bytes; i++) {
			seed = seed * 1103515245 + 12345;
			s.producer.memory[i] = (uint8_t)(seed >> 16);
		}
		for (uint32_t page = 0; page < 64; page++) {
			/* Half of them look complete. */
			if (page % 2)
				s.producer.memory[(size_t)page * 4096] |= 3;
			for (uint32_t chunk = 0; chunk < 14; chunk++) {
				struct orma_chunk_move move = {
					.page_idx = page,
					.chunk_idx = chunk,
					.target_buffer = s.producer.target_buffer,
				};
				struct orma_commit commit = {.moves = &move, .move_count = 1};

				orma_producer_port_commit(s.producer.port, &commit);
			}
		}
		flush(&s.consumer, 0);
		answer_flush(&s.producer);
		read_undecoded(&s);
	}
	memset(s.producer.memory, 0, s.producer.memory_bytes);
	write_chunk(&s.producer, (struct chunk){.writer_id = 1000}, TEXTS("alive"));
	commit_page(&s.producer, 0, s.producer.target_buffer);
	CHECK(strstr(texts(&s), "alive"));
	close_scene(&s);
}

/* A chunk whose single fragment is these bytes. */
static void send_fragment(struct scene *s, uint32_t chunk_id, uint8_t flags, const void *data,
			  size_t size)
{
	uint8_t *page = s->producer.memory;
	uint32_t word = (uint32_t)ORMA_SHM_LAYOUT_1 << ORMA_SHM_LAYOUT_SHIFT | ORMA_SHM_COMPLETE;

	put_chunk_header(page + 8,
			 &(struct chunk){.chunk_id = chunk_id, .writer_id = 1, .flags = flags}, 1);
	page[16] = (uint8_t)size;
	memcpy(page + 17, data, size);
	memcpy(page, &word, 4);
	commit_page(&s->producer, 0, s->producer.target_buffer);
}

static void send_raw(struct scene *s, uint32_t chunk_id, const void *data, size_t size)
{
	send_fragment(s, chunk_id, 0, data, size);
}

ORMA_TEST(packets_that_are_malformed_or_forge_the_services_fields_are_refused)
{
	static const uint32_t fields[] = {3, 10, 33, 35, 36, 50, 69, 79, 98, 124, 125, 133};
	static const struct {
		const char *bytes;
		size_t size;
	} malformed[] = {
		{"\x0a\x05xx", 4},                   /* longer than the packet */
		{"\x08", 1},                         /* no value */
		{"\x08\xff", 2},                     /* half a value */
		{"\x0b", 1},                         /* group */
		{"\x0f", 1},                         /* no such type */
		{"\x00\x01", 2},                     /* field 0 */
		{"\x0d\x01", 2},                     /* half a fixed32 */
		{"\x0a\x80\x80\x80\x80\x01", 6},     /* 2^28 bytes */
		{"\x88\x80\x80\x80\x80\x01\x01", 7}, /* a tag of 36 bits */
		{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12},
		{"\xd2\x02\x01x", 4}, /* losses as a string */
		{"\xd0\x02", 2},      /* losses without a value */
	};
	struct scene s;
	uint32_t id = 0;

	open_scene(&s);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint8_t data[32];
		uint8_t *at = orma_proto_put_varint(data, orma_proto_tag(fields[i], 0));

		*at++ = 1;
		send_raw(&s, id++, data, (size_t)(at - data));
	}
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		send_raw(&s, id++, malformed[i].bytes, malformed[i].size);
	send_packet(&s.producer, id, "good");
	/* Their loss is told to the next packet of the sequence. */
	CHECK_STR(texts(&s), "good lost:5");
	CHECK_INT(stats_of(&s.packets)->invalid_packets, id);
	close_scene(&s);
}

/* Writer 1's packet that says itself what was lost before it. */
static void send_with_losses(struct scene *s, uint32_t chunk_id, const char *text,
			     const uint64_t *losses, size_t count)
{
	uint8_t packet[64];
	uint8_t *at = packet + make_packet(packet, text);

	for (size_t i = 0; i < count; i++) {
		at = orma_proto_put_varint(
			at, orma_proto_tag(ORMA_PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED,
					   ORMA_PROTO_VARINT));
		at = orma_proto_put_varint(at, losses[i]);
	}
	send_raw(s, chunk_id, packet, (size_t)(at - packet));
}

ORMA_TEST(losses_that_writer_and_service_know_of_are_told_together)
{
	static const uint64_t smb_full[] = {1 | 256}, twice[] = {UINT64_C(1) << 40 | 512, 256};
	struct scene s;

	open_scene(&s);
	send_packet(&s.producer, 0, "a");
	send_with_losses(&s, 1, "b", smb_full, 1);
	CHECK_STR(texts(&s), "a b lost:257");
	/* 1: present, 2: chunk ids are missing. */
	send_with_losses(&s, 5, "c", smb_full, 1);
	send_packet(&s.producer, 6, "d");
	CHECK_STR(texts(&s), "c lost:259 d");
	send_with_losses(&s, 9, "e", twice, 2);
	send_packet(&s.producer, 12, "f");
	CHECK_STR(texts(&s), "e lost:771 f lost:3");
	close_scene(&s);
}

ORMA_TEST(patches_complete_a_chunk)
{
	struct orma_patch patch = {.offset = 6, .data = {'p', 'q', 'r', 's'}};
	struct orma_chunk_patch entry = {.writer_id = 1, .patches = &patch, .count = 1};
	struct orma_commit commit = {.patches = &entry, .patch_count = 1};
	struct scene s;
	struct orma_arena arena = {0};
	struct orma_pb_trace_stats *stats;
	uint8_t packet[32];
	const void *data;
	size_t size;

	open_scene(&s);
	size = make_packet(packet, "aaaaaaaa");
	send_fragment(&s, 0, ORMA_SHM_NEEDS_PATCHING | ORMA_SHM_CONTINUES_IN_NEXT, packet,
		      size - 4);
	send_fragment(&s, 1, ORMA_SHM_CONTINUES_FROM_PREVIOUS, packet + size - 4, 4);
	CHECK_STR(texts(&s), "");
	entry.target_buffer = 77;
	orma_producer_port_commit(s.producer.port, &commit);
	entry.target_buffer = s.producer.target_buffer;
	entry.count = 1025;
	orma_producer_port_commit(s.producer.port, &commit);
	entry.count = 1;
	entry.writer_id = 65537;
	orma_producer_port_commit(s.producer.port, &commit);
	CHECK_STR(texts(&s), "");
	entry.writer_id = 1;
	orma_producer_port_commit(s.producer.port, &commit);
	CHECK_STR(texts(&s), "pqrsaaaa");
	CHECK_INT(orma_consumer_port_get_stats(s.consumer.port, &data, &size), 0);
	CHECK_INT(orma_pb_trace_stats_decode(data, size, &arena, &stats), 0);
	CHECK_INT(stats->patches_discarded, 1 + 1025 + 1);
	CHECK_INT(stats->buffer_stats.items[0]->patches_succeeded, 1);
	orma_base_arena_done(&arena);
	close_scene(&s);
}

/* --- scraping --------------------------------------------------------------------------------- */

static void leave_unfinished(struct scene *s)
{
	orma_producer_port_register_writer(s->producer.port, 1, s->producer.target_buffer);
	write_chunk(&s->producer,
		    (struct chunk){.page_idx = 3, .writer_id = 1, .state = ORMA_SHM_BEING_WRITTEN},
		    TEXTS("one", "two"));
}

static uint64_t copies_of_chunks(struct scene *s)
{
	struct orma_arena arena = {0};
	struct orma_pb_trace_stats *stats;
	const void *data;
	size_t size;
	uint64_t count = 0;

	CHECK_INT(orma_consumer_port_get_stats(s->consumer.port, &data, &size), 0);
	CHECK_INT(orma_pb_trace_stats_decode(data, size, &arena, &stats), 0);
	CHECK_INT(stats->writer_stats.count, 1);
	for (size_t i = 0; i < ORMA_SERVICE_HISTOGRAM_BUCKETS; i++)
		count += stats->writer_stats.items[0]->chunk_payload_histogram_counts.items[i];
	orma_base_arena_done(&arena);
	return count;
}

ORMA_TEST(one_answer_to_many_flushes_scrapes_once)
{
	struct scene s;

	open_scene(&s);
	leave_unfinished(&s);
	for (int i = 0; i < 100; i++)
		flush(&s.consumer, 0);
	answer_flush(&s.producer);
	CHECK_INT(copies_of_chunks(&s), 1);
	CHECK_STR(texts(&s), "one two");
	close_scene(&s);
}

ORMA_TEST(flush_scrapes_what_is_finished_and_the_commit_later_adds_the_rest)
{
	struct scene s;

	open_scene(&s);
	leave_unfinished(&s);
	flush(&s.consumer, 0);
	CHECK_STR(texts(&s), "");
	answer_flush(&s.producer);
	CHECK_STR(texts(&s), "one two");
	CHECK(page_word(&s, 3) != 0);
	write_chunk(&s.producer, (struct chunk){.page_idx = 3, .writer_id = 1},
		    TEXTS("one", "two", "three"));
	commit_page(&s.producer, 3, s.producer.target_buffer);
	CHECK_STR(texts(&s), "three");
	close_scene(&s);
}

ORMA_TEST(stop_and_disconnect_scrape_too)
{
	struct scene s;

	open_scene(&s);
	leave_unfinished(&s);
	orma_consumer_port_disable(s.consumer.port);
	CHECK_STR(texts(&s), "one two");
	close_scene(&s);

	open_scene(&s);
	leave_unfinished(&s);
	producer_close(&s.producer);
	CHECK_STR(texts(&s), "one two");
	close_scene(&s);
}

ORMA_TEST(only_registered_writers_of_willing_producers_are_scraped)
{
	struct orma_producer_info info = producer_info("p");
	struct scene s;

	open_scene(&s);
	leave_unfinished(&s);
	orma_producer_port_unregister_writer(s.producer.port, 1);
	orma_consumer_port_disable(s.consumer.port);
	CHECK_STR(texts(&s), "");
	close_scene(&s);

	info.scraping_mode = ORMA_SCRAPING_UNSPECIFIED;
	open_scene_as(&s, &info);
	leave_unfinished(&s);
	orma_consumer_port_disable(s.consumer.port);
	CHECK_STR(texts(&s), "");
	close_scene(&s);
}

/* --- commits in steps ------------------------------------------------------------------------- */

enum { MANY = 64 }; /* all pages of the memory; 16 are worth a look at the clock */

/* One chunk of writer 1 in each page, committed in one message, and behind them a patch for the last
 * one. */
struct large {
	struct orma_chunk_move moves[MANY];
	struct orma_patch patch;
	struct orma_chunk_patch chunk_patch;
	struct orma_commit commit;
};

static void open_large(struct scene *s, struct large *large)
{
	open_scene(s);
	s->world.tick_ns = ORMA_NS_PER_MS;
	orma_producer_port_register_writer(s->producer.port, 1, s->producer.target_buffer);
	for (uint32_t i = 0; i < MANY; i++) {
		char text[8];

		snprintf(text, sizeof(text), "%u", i);
		write_chunk(&s->producer,
			    (struct chunk){.page_idx = i,
					   .chunk_id = i,
					   .writer_id = 1,
					   .flags = i == MANY - 1 ? ORMA_SHM_NEEDS_PATCHING : 0},
			    TEXTS(text));
		large->moves[i] = (struct orma_chunk_move){
			.page_idx = i, .target_buffer = s->producer.target_buffer};
	}
	/* The text of the last: behind the fragment's size, two tags and two sizes. */
	large->patch = (struct orma_patch){.offset = 3, .data = {4, 0x0a, 2, 'o'}};
	large->chunk_patch = (struct orma_chunk_patch){.target_buffer = s->producer.target_buffer,
						       .writer_id = 1,
						       .chunk_id = MANY - 1,
						       .patches = &large->patch,
						       .count = 1};
	large->commit = (struct orma_commit){.moves = large->moves,
					     .move_count = MANY,
					     .patches = &large->chunk_patch,
					     .patch_count = 1};
}

/* The packets "0" to the last, which was patched; each once, in order. */
static void check_large(struct scene *s)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf all = {0};

	for (unsigned i = 0; i < MANY - 1; i++)
		CHECK_INT(orma_base_buf_printf(&all, "%u ", i), 0);
	CHECK_INT(orma_base_buf_printf(&all, "o%u", (MANY - 1) % 10), 0);
	CHECK_STR(texts(s), (const char *)all.data);
}

static size_t free_pages(const struct scene *s)
{
	size_t count = 0;

	for (uint32_t i = 0; i < MANY; i++)
		count += page_word(s, i) == 0;
	return count;
}

ORMA_TEST(a_large_commit_stops_when_its_time_is_over_and_goes_on_there)
{
	struct scene s;
	struct large large;
	size_t at = 0, steps = 1;

	open_large(&s, &large);
	flush(&s.consumer, 0);
	large.commit.flush_request_id = s.producer.flush_id;
	for (; !orma_service_commit_step(s.producer.port, &large.commit, &at); steps++) {
		CHECK_INT(free_pages(&s), at);
		CHECK(at > (steps - 1) * 16 && at <= steps * 36);
		CHECK_LOG(&s.consumer.log, "");
	}
	CHECK(steps >= 2);
	CHECK_INT(at, MANY + 1);
	CHECK_INT(free_pages(&s), MANY);
	/* The flush is answered by the end of it. */
	CHECK_LOG(&s.consumer.log, "flushed");
	check_large(&s);
	close_scene(&s);
}

ORMA_TEST(a_commit_that_is_made_at_once_does_not_look_at_the_clock)
{
	struct scene s;
	struct large large;
	uint64_t passed_ns;

	open_large(&s, &large);
	passed_ns = s.world.passed_ns;
	orma_producer_port_commit(s.producer.port, &large.commit);
	CHECK_INT(s.world.passed_ns, passed_ns);
	check_large(&s);
	close_scene(&s);
}

ORMA_TEST(a_commit_of_nothing_is_done_in_its_first_step)
{
	struct scene s;
	struct orma_commit commit = {0};
	size_t at = 0;

	open_scene(&s);
	CHECK(orma_service_commit_step(s.producer.port, &commit, &at));
	flush(&s.consumer, 0);
	commit.flush_request_id = s.producer.flush_id;
	CHECK(orma_service_commit_step(s.producer.port, &commit, &at));
	CHECK_LOG(&s.consumer.log, "flushed");
	close_scene(&s);
}

/* A flush that somebody else ended takes the chunks that the commit has not come to. */
ORMA_TEST(chunks_that_are_scraped_between_two_steps_of_a_commit_are_there_once)
{
	struct scene s;
	struct large large;
	size_t at = 0;

	open_large(&s, &large);
	CHECK(!orma_service_commit_step(s.producer.port, &large.commit, &at));
	flush(&s.consumer, 1);
	pass_ms(&s.world, 5);
	CHECK_LOG(&s.consumer.log, "flush_failed");
	CHECK(free_pages(&s) < MANY);
	while (!orma_service_commit_step(s.producer.port, &large.commit, &at))
		;
	CHECK_INT(free_pages(&s), MANY);
	check_large(&s);
	CHECK_INT(discarded(&s), 0);
	close_scene(&s);
}

ORMA_TEST(a_session_that_goes_between_two_steps_of_a_commit_takes_its_grant_along)
{
	struct scene s;
	struct large large;
	struct consumer other;
	size_t at = 0, done;

	open_large(&s, &large);
	consumer_open(&s.world, &other);
	enable_ok(&other, "buffers { size_kb: 64 }");
	CHECK(!orma_service_commit_step(s.producer.port, &large.commit, &at));
	done = at;
	consumer_close(&s.consumer);
	while (!orma_service_commit_step(s.producer.port, &large.commit, &at))
		;
	CHECK_INT(free_pages(&s), MANY);
	s.consumer = other;
	CHECK_INT(discarded(&s), MANY - done);
	close_scene(&s);
}

ORMA_TEST(a_producer_that_leaves_between_two_steps_of_a_commit_leaves_the_rest_to_the_scrape)
{
	struct scene s;
	struct large large;
	size_t at = 0;

	open_large(&s, &large);
	CHECK(!orma_service_commit_step(s.producer.port, &large.commit, &at));
	producer_close(&s.producer);
	/* All but the last, whose patch did not come. */
	texts(&s);
	CHECK_INT(s.packets.count > 0, 1);
	CHECK(strstr(texts_of(&s.packets), "0 1 2 ") == texts_of(&s.packets));
	CHECK(strstr(texts_of(&s.packets), " 61 62"));
	close_scene(&s);
}

/* --- emulated shared memory ------------------------------------------------------------------- */

static void send_emulated(struct scene *s, const void *data, size_t size, bool is_incomplete)
{
	struct orma_chunk_move move = {.target_buffer = s->producer.target_buffer,
				       .data = data,
				       .size = size,
				       .is_incomplete = is_incomplete};
	struct orma_commit commit = {.moves = &move, .move_count = 1};

	orma_producer_port_commit(s->producer.port, &commit);
}

ORMA_TEST(emulated_chunks_come_from_producers_without_descriptors_only)
{
	struct orma_producer_info info = producer_info("p");
	const char *const text = "emulated";
	uint8_t chunk[4096] = {0};
	struct scene s;

	put_chunk_header(chunk, &(struct chunk){.writer_id = 1},
			 put_fragments(chunk + 8, &text, 1));
	open_scene(&s);
	send_emulated(&s, chunk, sizeof(chunk), false);
	CHECK_INT(discarded(&s), 1);
	CHECK_STR(texts(&s), "");
	close_scene(&s);

	info.cannot_pass_fds = true;
	open_scene_as(&s, &info);
	CHECK_LOG(&s.producer.log, "memory:0/4 setup:1 start:1");
	CHECK(!s.producer.memory);
	send_emulated(&s, chunk, sizeof(chunk), false);
	CHECK_INT(discarded(&s), 0);
	CHECK_STR(texts(&s), "emulated");
	commit_page(&s.producer, 0, s.producer.target_buffer);
	CHECK_INT(discarded(&s), 1);
	close_scene(&s);
}

ORMA_TEST(emulated_chunks_of_every_length_are_survived)
{
	struct orma_producer_info info = producer_info("p");
	const char *const text = "x";
	static uint8_t chunk[70000];
	struct scene s;

	info.cannot_pass_fds = true;
	open_scene_as(&s, &info);
	for (size_t size = 0; size <= sizeof(chunk); size += size < 64 ? 1 : 997) {
		/* An own allocation, so that the sanitizer sees the end. */
		uint8_t *copy = malloc(size + !size);

		put_chunk_header(chunk, &(struct chunk){.writer_id = 1, .chunk_id = (uint32_t)size},
				 put_fragments(chunk + 8, &text, 1));
		memcpy(copy, chunk, size);
		send_emulated(&s, copy, size, size % 2);
		free(copy);
	}
	texts(&s);
	send_emulated(&s, NULL, 65536, false);
	close_scene(&s);
}

ORMA_TEST(emulated_producer_scrapes_itself_when_flushed)
{
	struct orma_producer_info info = producer_info("p");
	const char *const pair[] = {"done", "half"};
	uint8_t chunk[4096] = {0};
	struct scene s;

	info.cannot_pass_fds = true;
	open_scene_as(&s, &info);
	put_chunk_header(chunk, &(struct chunk){.writer_id = 1}, put_fragments(chunk + 8, pair, 2));
	send_emulated(&s, chunk, sizeof(chunk), true);
	CHECK_STR(texts(&s), "done");
	send_emulated(&s, chunk, sizeof(chunk), false);
	CHECK_STR(texts(&s), "half");
	close_scene(&s);
}

ORMA_TEST(producer_that_disappears_in_the_middle_of_a_packet_is_a_counted_loss)
{
	struct scene s;

	open_scene(&s);
	write_chunk(&s.producer,
		    (struct chunk){.writer_id = 1, .flags = ORMA_SHM_CONTINUES_IN_NEXT},
		    TEXTS("whole", "cut"));
	commit_page(&s.producer, 0, s.producer.target_buffer);
	producer_close(&s.producer);
	CHECK_STR(texts(&s), "whole");
	orma_consumer_port_disable(s.consumer.port);
	CHECK_STR(texts(&s), "");
	close_scene(&s);
}

ORMA_TEST(data_of_an_unregistered_source_still_arrives)
{
	struct scene s;

	open_scene(&s);
	CHECK_INT(orma_producer_port_unregister_data_source(s.producer.port, "test"), 0);
	send_packet(&s.producer, 0, "late");
	CHECK_STR(texts(&s), "late");
	orma_consumer_port_free_buffers(s.consumer.port);
	send_packet(&s.producer, 1, "too late");
	close_scene(&s);
}

ORMA_TEST(writers_and_buffers_that_cannot_be_are_not_registered)
{
	static const struct {
		uint32_t writer, buffer;
	} cases[] = {{ORMA_SERVICE_WRITER_ID_MAX + 1, 1}, {1, ORMA_SERVICE_BUFFER_ID_MAX + 2}};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		struct scene s;

		open_scene(&s);
		CHECK_INT(s.producer.target_buffer, 1);
		orma_producer_port_register_writer(s.producer.port, cases[i].writer,
						   cases[i].buffer);
		write_chunk(&s.producer,
			    (struct chunk){.page_idx = 3, .writer_id = (uint16_t)cases[i].writer},
			    TEXTS("one"));
		orma_consumer_port_disable(s.consumer.port);
		CHECK_STR(texts(&s), "");
		close_scene(&s);
	}
}
