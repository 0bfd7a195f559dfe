/* SPDX-License-Identifier: Apache-2.0
 * shm_reader.h - a small service for the tests of src/shm. It drains an arbiter through a view, keeps all
 * chunks, applies patches, and reassembles packets. It is slow and simple, and checks everything it
 * reads.
 */
#ifndef ORMA_TESTS_SHM_READER_H
#define ORMA_TESTS_SHM_READER_H

#include "harness.h"

#include <poll.h>

#include "base/buf.h"
#include "base/macros.h"
#include "proto/wire.h"
#include "shm/arbiter.h"
#include "shm/trace_writer.h"
#include "shm/view.h"

#define KIB            ((size_t)1024)
#define READER_WRITERS 128

struct reader_chunk {
	uint8_t *payload;
	uint32_t size;
	uint16_t fragment_count;
	uint8_t flags;
	bool is_present;
};

struct reader_packet {
	uint8_t *data;
	size_t size;
};

struct reader_writer {
	struct reader_chunk *chunks; /* by id */
	size_t chunk_count, chunk_capacity;
	struct reader_packet *packets; /* after reader_assemble() */
	size_t packet_count, packet_capacity;
	uint32_t target_buffer;
	unsigned dropped; /* packets with a drop marker, or without their continuation */
	bool is_registered;
};

struct reader {
	struct orma_shm_view view;
	struct orma_shm_arbiter *arbiter;
	void *memory;
	struct reader_writer writers[READER_WRITERS]; /* by id */
	unsigned moves, patches, registered, unregistered, batches, incomplete;
	unsigned chunks_by_layout[8];
	unsigned releases;
};

static void reader_release(void *ctx, void *start, size_t size_bytes)
{
	struct reader *reader = ctx;

	(void)size_bytes;
	free(start);
	reader->memory = NULL;
	reader->releases++;
}

static inline void reader_init_with(struct reader *reader, size_t size_bytes, uint32_t page_bytes,
				    struct orma_shm_arbiter_options options)
{
	memset(reader, 0, sizeof(*reader));
	reader->memory = aligned_alloc(4096, size_bytes);
	memset(reader->memory, 0, size_bytes);
	options.start = reader->memory;
	options.size_bytes = size_bytes;
	options.page_bytes = page_bytes;
	options.release = reader_release;
	options.release_ctx = reader;
	CHECK_INT(orma_shm_view_init(&reader->view, reader->memory, size_bytes, page_bytes), 0);
	CHECK_INT(orma_shm_arbiter_new(&options, &reader->arbiter), 0);
}

static inline void reader_init(struct reader *reader, size_t size_bytes, uint32_t page_bytes)
{
	reader_init_with(reader, size_bytes, page_bytes,
			 (struct orma_shm_arbiter_options){.can_hold_chunks = true,
							   .stall_timeout_ms = 60000});
}

static inline void reader_done(struct reader *reader)
{
	orma_shm_arbiter_unref(reader->arbiter);
	for (size_t i = 0; i < READER_WRITERS; i++) {
		struct reader_writer *writer = &reader->writers[i];

		for (size_t j = 0; j < writer->chunk_count; j++)
			free(writer->chunks[j].payload);
		for (size_t j = 0; j < writer->packet_count; j++)
			free(writer->packets[j].data);
		free(writer->chunks);
		free(writer->packets);
	}
}

static inline void reader_add(struct reader *reader, uint32_t writer_id, uint32_t chunk_id,
			      uint16_t fragment_count, uint8_t flags, uint8_t *payload,
			      uint32_t size)
{
	struct reader_writer *writer = &reader->writers[writer_id];

	CHECK(writer_id > 0 && writer_id < READER_WRITERS);
	CHECK(chunk_id < 10 * 1000 * 1000);
	while (writer->chunk_capacity <= chunk_id) {
		size_t capacity = writer->chunk_capacity * 2 + 64;

		writer->chunks = realloc(writer->chunks, capacity * sizeof(*writer->chunks));
		memset(writer->chunks + writer->chunk_capacity, 0,
		       (capacity - writer->chunk_capacity) * sizeof(*writer->chunks));
		writer->chunk_capacity = capacity;
	}
	CHECK(!writer->chunks[chunk_id].is_present);
	writer->chunks[chunk_id] =
		(struct reader_chunk){payload, size, fragment_count, flags, true};
	if (writer->chunk_count <= chunk_id)
		writer->chunk_count = chunk_id + 1;
}

static inline void reader_move(struct reader *reader, const struct orma_chunk_move *move)
{
	struct orma_shm_chunk chunk;
	uint8_t *payload;
	uint32_t size;

	reader->moves++;
	if (move->data) {
		const uint8_t *data = move->data;
		uint32_t chunk_id;
		uint16_t writer_id, packets;

		memcpy(&chunk_id, data, 4);
		memcpy(&writer_id, data + 4, 2);
		memcpy(&packets, data + 6, 2);
		size = (uint32_t)move->size - 8;
		payload = malloc(size);
		memcpy(payload, data + 8, size);
		reader_add(reader, writer_id, chunk_id, packets & ORMA_SHM_FRAGMENT_COUNT_MASK,
			   (uint8_t)(packets >> ORMA_SHM_FLAGS_SHIFT), payload, size);
		return;
	}
	CHECK_INT(orma_shm_view_begin_read(&reader->view, move->page_idx, move->chunk_idx, &chunk),
		  0);
	for (uint32_t layout = 1; layout <= 5; layout++)
		if (orma_shm_layout_chunk_bytes(layout, reader->view.page_bytes) ==
		    chunk.payload_bytes + 8)
			reader->chunks_by_layout[layout]++;
	payload = malloc(chunk.payload_bytes);
	memcpy(payload, chunk.payload, chunk.payload_bytes);
	reader_add(reader, chunk.writer_id, chunk.chunk_id, chunk.fragment_count, chunk.flags,
		   payload, chunk.payload_bytes);
	CHECK_INT(orma_shm_view_end_read(&reader->view, &chunk), 0);
}

static inline void reader_patch(struct reader *reader, const struct orma_chunk_patch *patch)
{
	struct reader_writer *writer = &reader->writers[patch->writer_id];
	struct reader_chunk *chunk = &writer->chunks[patch->chunk_id];

	CHECK(patch->chunk_id < writer->chunk_count && chunk->is_present);
	CHECK(chunk->flags & ORMA_SHM_NEEDS_PATCHING);
	for (size_t i = 0; i < patch->count; i++) {
		CHECK(patch->patches[i].offset + 4 <= chunk->size);
		CHECK(patch->patches[i].data[0] != 0);
		memcpy(chunk->payload + patch->patches[i].offset, patch->patches[i].data, 4);
		reader->patches++;
	}
	if (!patch->has_more_patches)
		chunk->flags &= (uint8_t)~ORMA_SHM_NEEDS_PATCHING;
}

/* Takes one batch; false when there is none. */
static inline bool reader_take(struct reader *reader)
{
	struct orma_shm_batch batch;

	if (!orma_shm_arbiter_take_commit(reader->arbiter, &batch)) {
		orma_shm_arbiter_commit_done(reader->arbiter);
		return false;
	}
	reader->batches++;
	for (size_t i = 0; i < batch.registered_count; i++) {
		struct reader_writer *writer =
			&reader->writers[batch.registered[i].writer_id % READER_WRITERS];

		CHECK(!writer->is_registered);
		writer->is_registered = true;
		writer->target_buffer = batch.registered[i].target_buffer;
		reader->registered++;
	}
	for (size_t i = 0; i < batch.commit.move_count; i++)
		reader_move(reader, &batch.commit.moves[i]);
	for (size_t i = 0; i < batch.commit.patch_count; i++)
		reader_patch(reader, &batch.commit.patches[i]);
	for (size_t i = 0; i < batch.unregistered_count; i++) {
		reader->writers[batch.unregistered[i].writer_id % READER_WRITERS].is_registered =
			false;
		reader->unregistered++;
	}
	orma_shm_arbiter_commit_done(reader->arbiter);
	return true;
}

static inline void reader_drain(struct reader *reader)
{
	while (reader_take(reader))
		;
}

/* Waits for the arbiter's wake-up and drains. Waits at most 50 ms, so that the end of a test is
 * noticed. */
static inline void reader_wait_and_drain(struct reader *reader)
{
	struct pollfd wake = {.fd = orma_shm_arbiter_wake_fd(reader->arbiter), .events = POLLIN};

	poll(&wake, 1, 50);
	orma_shm_arbiter_wanted(reader->arbiter);
	reader_drain(reader);
}

static inline void reader_add_packet(struct reader_writer *writer, const struct orma_buf *packet)
{
	if (writer->packet_count == writer->packet_capacity) {
		writer->packet_capacity = writer->packet_capacity * 2 + 64;
		writer->packets = realloc(writer->packets,
					  writer->packet_capacity * sizeof(*writer->packets));
	}
	writer->packets[writer->packet_count].data = malloc(packet->size + 1);
	memcpy(writer->packets[writer->packet_count].data,
	       packet->data ? packet->data : (const uint8_t *)"", packet->size);
	writer->packets[writer->packet_count++].size = packet->size;
}

/* Reassembles the packets of one writer from its chunks. */
static inline void reader_assemble(struct reader *reader, uint32_t writer_id)
{
	struct reader_writer *writer = &reader->writers[writer_id];
	struct orma_buf packet = {0};
	bool is_open = false;

	for (size_t id = 0; id < writer->chunk_count; id++) {
		struct reader_chunk *chunk = &writer->chunks[id];
		const uint8_t *at = chunk->payload, *end = chunk->payload + chunk->size;
		bool continues = chunk->flags & ORMA_SHM_CONTINUES_FROM_PREVIOUS;

		CHECK(chunk->is_present);
		CHECK(!(chunk->flags & ORMA_SHM_NEEDS_PATCHING));
		if (is_open && !continues) {
			writer->dropped++;
			is_open = false;
		}
		CHECK(is_open == continues);
		for (unsigned i = 0; i < chunk->fragment_count; i++) {
			bool is_last = i + 1u == chunk->fragment_count;
			bool goes_on = is_last && (chunk->flags & ORMA_SHM_CONTINUES_IN_NEXT);
			uint64_t size;

			at = orma_proto_get_varint(at, end, &size);
			CHECK(at);
			if (!is_open || i > 0)
				packet.size = 0;
			is_open = false;
			if (size == 0 && !(i == 0 && continues))
				continue;
			if (size == ORMA_SHM_FRAGMENT_DROPPED) {
				CHECK(is_last && !goes_on);
				writer->dropped++;
				continue;
			}
			CHECK(size <= (uint64_t)(end - at));
			CHECK(size > 0);
			orma_base_buf_append(&packet, at, (size_t)size);
			at += size;
			if (goes_on)
				is_open = true;
			else
				reader_add_packet(writer, &packet);
		}
	}
	writer->dropped += is_open;
	orma_base_buf_done(&packet);
}

#endif
