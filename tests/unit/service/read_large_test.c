/* SPDX-License-Identifier: Apache-2.0
 * read_large_test.c - packets of megabytes on their way out: in parts, whole, forged, and while
 * their buffer is overwritten.
 */
#include "base/fd.h"
#include "fixture.h"
#include "schema/gen/trace_stats.pb.h"
#include "service/steps.h"

enum { PAGE_BYTES = 32 << 10, PAGES = 8, FRAGMENT = PAGE_BYTES - 100 };
static const size_t PART = 100000;
enum { RING_KB = 4 << 10 };

struct scene {
	struct world world;
	struct producer producer;
	struct consumer consumer;
	uint32_t next_id;
	struct orma_buf expected; /* the last large packet */
};

static void open_scene_into(struct scene *s, int fd, const char *config)
{
	struct orma_producer_info info = producer_info("p");
	char text[256];

	memset(s, 0, sizeof(*s));
	world_open(&s->world);
	info.page_size_hint_bytes = PAGE_BYTES;
	info.shm_size_hint_bytes = PAGES * PAGE_BYTES;
	CHECK_INT(producer_try(&s->world, &s->producer, &info), 0);
	CHECK_INT(register_source(&s->producer, "name: 'test'"), 0);
	consumer_open(&s->world, &s->consumer);
	snprintf(text, sizeof(text),
		 "buffers { size_kb: %d } data_sources { config { name: 'test' } } %s", RING_KB,
		 config);
	CHECK_INT(enable_into(&s->consumer, fd, text), 0);
}

static void open_scene(struct scene *s)
{
	open_scene_into(s, -1, "");
}

static void close_scene(struct scene *s)
{
	if (s->consumer.port)
		consumer_close(&s->consumer);
	producer_close(&s->producer);
	orma_base_buf_done(&s->expected);
	world_close(&s->world);
}

/* One chunk with one fragment of writer 1. */
static void send_fragment(struct scene *s, const uint8_t *data, size_t size, uint8_t flags)
{
	uint32_t word = (uint32_t)ORMA_SHM_LAYOUT_1 << ORMA_SHM_LAYOUT_SHIFT | ORMA_SHM_COMPLETE;
	uint32_t page_idx = s->next_id % PAGES;
	uint8_t *page = s->producer.memory + (size_t)page_idx * PAGE_BYTES, *at;

	at = orma_proto_put_varint(page + 16, size);
	memcpy(at, data, size);
	put_chunk_header(page + 8,
			 &(struct chunk){.chunk_id = s->next_id++, .writer_id = 1, .flags = flags},
			 1);
	memcpy(page, &word, 4);
	commit_page(&s->producer, page_idx, s->producer.target_buffer);
}

static void send_bytes(struct scene *s, const struct orma_buf *packet)
{
	for (size_t at = 0; at < packet->size; at += FRAGMENT) {
		size_t size = ORMA_MIN(packet->size - at, (size_t)FRAGMENT);
		uint8_t flags = at > 0 ? ORMA_SHM_CONTINUES_FROM_PREVIOUS : 0;

		if (at + size < packet->size)
			flags |= ORMA_SHM_CONTINUES_IN_NEXT;
		send_fragment(s, packet->data + at, size, flags);
	}
}

/* Many small fields, of which the last is `field_id`. */
static void send_large(struct scene *s, size_t bytes, uint32_t last_field_id)
{
	uint8_t field[16], *end;

	s->expected.size = 0;
	for (uint32_t i = 0; s->expected.size < bytes; i++) {
		end = orma_proto_put_varint(field, orma_proto_tag(1000, ORMA_PROTO_VARINT));
		end = orma_proto_put_varint(end, i);
		CHECK_INT(orma_base_buf_append(&s->expected, field, (size_t)(end - field)), 0);
	}
	end = orma_proto_put_varint(field, orma_proto_tag(last_field_id, ORMA_PROTO_VARINT));
	end = orma_proto_put_varint(end, 7);
	CHECK_INT(orma_base_buf_append(&s->expected, field, (size_t)(end - field)), 0);
	send_bytes(s, &s->expected);
}

static void send_text(struct scene *s, const char *text)
{
	uint8_t packet[256];
	size_t size = make_packet(packet, text);

	send_fragment(s, packet, size, 0);
}

struct reader {
	struct orma_buf packet; /* under way */
	struct packets packets; /* small ones */
	unsigned batches, large_count;
	size_t largest_batch;
};

static void take(struct scene *s, struct reader *reader)
{
	struct orma_buf *packet = &reader->packet;

	if (packet->size >= s->expected.size && s->expected.size > 0) {
		/* Behind it is what the service says. */
		CHECK(memcmp(packet->data, s->expected.data, s->expected.size) == 0);
		reader->large_count++;
	} else {
		packets_add(&reader->packets, packet->data, packet->size);
	}
	packet->size = 0;
}

/* One batch; whether there is more. */
static bool read_some(struct scene *s, struct reader *reader, bool in_parts)
{
	struct orma_trace_batch batch;
	size_t bytes = 0;

	CHECK_INT(in_parts ? orma_service_read_step(s->consumer.port, PART, &batch)
			   : orma_consumer_port_read(s->consumer.port, PART, &batch),
		  0);
	for (size_t i = 0; i < batch.count; i++) {
		bytes += batch.slices[i].size;
		CHECK_INT(orma_base_buf_append(&reader->packet, batch.slices[i].data,
					       batch.slices[i].size),
			  0);
		if (batch.slices[i].ends_packet)
			take(s, reader);
	}
	reader->batches++;
	reader->largest_batch = ORMA_MAX(reader->largest_batch, bytes);
	return batch.has_more;
}

static void reader_done(struct reader *reader)
{
	orma_base_buf_done(&reader->packet);
	packets_done(&reader->packets);
}

ORMA_TEST(a_large_packet_comes_in_parts_in_its_place)
{
	struct reader reader = {0};
	struct scene s;

	open_scene(&s);
	send_text(&s, "before");
	send_large(&s, 3 << 20, 1000);
	send_text(&s, "after");
	while (read_some(&s, &reader, true))
		;
	CHECK_INT(reader.large_count, 1);
	CHECK_STR(texts_of(&reader.packets), "before after");
	CHECK(reader.largest_batch < 2 * PART);
	/* Parts, and steps of the check before them. */
	CHECK(reader.batches > (3 << 20) / PART + (3 << 20) / 6 / ORMA_SERVICE_LARGE_CHECK_FIELDS);
	reader_done(&reader);
	close_scene(&s);
}

ORMA_TEST(packets_of_the_service_wait_for_the_end_of_a_large_packet)
{
	struct reader reader = {0};
	struct scene s;
	bool has_more;

	open_scene(&s);
	send_large(&s, 3 << 20, 1000);
	do {
		has_more = read_some(&s, &reader, true);
		/* Clocks are due every 10 s. */
		pass_ms(&s.world, 11000);
	} while (has_more);
	CHECK_INT(reader.large_count, 1);
	reader_done(&reader);
	close_scene(&s);
}

ORMA_TEST(a_large_packet_comes_whole_to_a_reader_that_takes_no_parts)
{
	struct reader reader = {0};
	struct scene s;

	open_scene(&s);
	send_large(&s, 3 << 20, 1000);
	send_text(&s, "after");
	while (read_some(&s, &reader, false))
		CHECK_INT(reader.packet.size, 0);
	CHECK_INT(reader.large_count, 1);
	CHECK_STR(texts_of(&reader.packets), "after");
	reader_done(&reader);
	close_scene(&s);
}

ORMA_TEST(a_large_packet_is_what_it_was_while_its_ring_is_overwritten)
{
	for (int in_parts = 0; in_parts < 2; in_parts++) {
		struct reader reader = {0};
		struct scene s;
		char text[128];

		open_scene(&s);
		send_large(&s, 3 << 20, 1000);
		memset(text, 'x', sizeof(text) - 1);
		text[100] = '\0';
		do
			for (int i = 0; i < 2000; i++)
				send_text(&s, text);
		while (read_some(&s, &reader, in_parts) && reader.large_count == 0);
		CHECK_INT(reader.large_count, 1);
		reader_done(&reader);
		close_scene(&s);
	}
}

ORMA_TEST(a_large_packet_is_written_into_a_file)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf file = {0};
	ORMA_AUTO(orma_base_fd_closep) int fd = memfd_create("test", MFD_CLOEXEC);
	const uint8_t *found;
	struct scene s;

	CHECK(fd >= 0);
	open_scene_into(&s, fd, "write_into_file: true");
	send_text(&s, "before");
	send_large(&s, 2 << 20, 1000);
	send_text(&s, "after");
	orma_consumer_port_disable(s.consumer.port);
	while (!s.consumer.log.size)
		pass_ms(&s.world, 1);
	CHECK_LOG(&s.consumer.log, "disabled");
	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	CHECK_INT(orma_base_fd_read_all(fd, 16 << 20, &file), 0);
	found = memmem(file.data, file.size, s.expected.data, s.expected.size);
	CHECK(found && memmem(file.data, (size_t)(found - file.data), "before", 6));
	CHECK(memmem(found + s.expected.size,
		     file.size - (size_t)(found - file.data) - s.expected.size, "after", 5));
	close_scene(&s);
}

ORMA_TEST(a_large_packet_that_is_forged_is_refused_and_the_next_one_says_so)
{
	struct reader reader = {0};
	struct scene s;

	open_scene(&s);
	send_large(&s, 2 << 20, ORMA_PB_TRACE_PACKET_TRUSTED_UID);
	send_text(&s, "next");
	while (read_some(&s, &reader, true))
		;
	CHECK_INT(reader.large_count, 0);
	CHECK_INT(stats_of(&reader.packets)->invalid_packets, 1);
	CHECK(strncmp(texts_of(&reader.packets), "next lost:", 10) == 0);
	reader_done(&reader);
	close_scene(&s);
}

ORMA_TEST(a_reader_that_begins_anew_gets_no_half_of_a_packet)
{
	struct reader reader = {0};
	struct scene s;

	open_scene(&s);
	send_large(&s, 3 << 20, 1000);
	send_text(&s, "after");
	while (reader.packet.size == 0)
		CHECK(read_some(&s, &reader, true));
	reader.packet.size = 0;
	orma_service_read_restart(s.consumer.port);
	while (read_some(&s, &reader, true))
		;
	CHECK_INT(reader.large_count, 0);
	CHECK_STR(texts_of(&reader.packets), "after");
	reader_done(&reader);
	close_scene(&s);
}

ORMA_TEST(a_session_may_end_in_the_middle_of_a_large_packet)
{
	struct reader reader = {0};
	struct scene s;

	open_scene(&s);
	send_large(&s, 3 << 20, 1000);
	while (reader.packet.size == 0)
		CHECK(read_some(&s, &reader, true));
	consumer_close(&s.consumer);
	pass_ms(&s.world, 1000);
	reader_done(&reader);
	close_scene(&s);
}
