/* SPDX-License-Identifier: Apache-2.0
 * chunk_fuzz.c - a hostile producer writes chunks, re-commits and patches into a trace buffer, which
 * is read in between.
 *
 * The input is a list of steps: a byte for the kind of step, then its arguments; missing bytes are
 * zero. All bytes that a read returns are read, so that the sanitizer finds a slice outside of the
 * buffer.
 */
#include <stdlib.h>

#include "../unit/buffer/trace_buffer_whole.h"
#include "buffer/trace_buffer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

static uint32_t take(struct input *input, unsigned bytes)
{
	uint32_t value = 0;
	for (unsigned i = 0; i < bytes && input->size > 0; i++, input->size--)
		value |= (uint32_t)*input->data++ << (8 * i);
	return value;
}

/* Most ids are close to each other; after 0xff any id may follow. */
static uint32_t take_id(struct input *input)
{
	uint32_t id = take(input, 1);
	return id == 0xff ? take(input, 4) : id - 16;
}

static void write_one(struct orma_trace_buffer *buffer, struct input *input, bool is_complete)
{
	struct orma_trace_buffer_chunk chunk = {.is_complete = is_complete};
	uint32_t who = take(input, 1);
	chunk.writer.producer_id = (uint16_t)(1 + who / 64);
	chunk.writer.writer_id = (uint16_t)(1 + who % 4);
	chunk.writer.pid = (int32_t)(who & 32);
	chunk.chunk_id = take_id(input);
	chunk.flags = (uint8_t)take(input, 1);
	chunk.fragment_count = (uint16_t)take(input, 1);
	size_t wanted = take(input, 2) % 6000;
	/* A separate allocation, so that the sanitizer finds reads behind the chunk. */
	uint8_t *payload = calloc(1, wanted + 1);
	if (!payload)
		abort();
	for (size_t i = 0; i < wanted && input->size > 0; i++)
		payload[i] = (uint8_t)take(input, 1);
	chunk.payload_untrusted = payload;
	chunk.payload_size_bytes = wanted;
	(void)orma_trace_buffer_write_chunk(buffer, &chunk);
	free(payload);
}

static void patch_one(struct orma_trace_buffer *buffer, struct input *input)
{
	struct orma_trace_buffer_patch patches[4];
	uint32_t who = take(input, 1), id = take_id(input), how = take(input, 1);
	for (unsigned i = 0; i < how % 4; i++) {
		patches[i].offset_untrusted = how & 64 ? take(input, 4) : take(input, 1);
		for (unsigned k = 0; k < 4; k++)
			patches[i].data[k] = (uint8_t)take(input, 1);
	}
	(void)orma_trace_buffer_patch(buffer, (uint16_t)(1 + who / 64), (uint16_t)(1 + who % 4), id,
				      patches, how % 4, how & 128);
}

static void read_some(struct orma_trace_buffer *buffer, uint32_t limit)
{
	struct orma_trace_buffer_packet packet;
	volatile uint8_t sum = 0;
	orma_trace_buffer_read_begin(buffer);
	while (limit-- > 0 && orma_trace_buffer_read_packet(buffer, &packet) > 0) {
		size_t size = 0;
		for (size_t i = 0; i < packet.slice_count; i++) {
			for (size_t k = 0; k < packet.slices[i].size; k++)
				sum = (uint8_t)(sum + packet.slices[i].data[k]);
			size += packet.slices[i].size;
		}
		if (size != packet.size_bytes || packet.slice_count == 0)
			abort();
		if (limit % 16 == 3)
			orma_trace_buffer_packet_refused(buffer);
	}
}

static void read_clone(struct orma_trace_buffer *buffer)
{
	struct orma_trace_buffer *copy;
	if (clone_buffer(buffer, &copy) < 0)
		abort();
	read_some(copy, UINT32_MAX);
	orma_trace_buffer_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	struct orma_trace_buffer *buffer;
	enum orma_trace_buffer_policy policy =
		take(&input, 1) % 4 ? ORMA_TRACE_BUFFER_RING : ORMA_TRACE_BUFFER_DISCARD;
	if (orma_trace_buffer_new(4096, policy, &buffer) < 0)
		return 0;
	while (input.size > 0) {
		uint32_t step = take(&input, 1) % 16;
		if (step < 9)
			write_one(buffer, &input, step > 2);
		else if (step < 12)
			patch_one(buffer, &input);
		else if (step < 15)
			read_some(buffer, step == 12 ? take(&input, 1) : UINT32_MAX);
		else if (take(&input, 1) % 8 == 0)
			clear_buffer(buffer);
		else
			read_clone(buffer);
	}
	read_some(buffer, UINT32_MAX);
	const struct orma_trace_buffer_stats *stats = orma_trace_buffer_stats(buffer);
	if (stats->bytes_written < stats->bytes_read + stats->bytes_overwritten)
		abort();
	orma_trace_buffer_free(buffer);
	return 0;
}
