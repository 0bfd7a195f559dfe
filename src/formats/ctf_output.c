/* SPDX-License-Identifier: Apache-2.0
 * ctf_output.c - gathers packets, and passes them on in large pieces.
 */
#include "formats/ctf_output.h"

#include <errno.h>

#include "schema/gen/trace.pb.h"
#include "schema/gen/trace_packet.pb.h"

enum { WAITING_BYTES = 256 << 10 };

void orma_ctf_output_done(struct orma_ctf_output *output)
{
	orma_base_buf_done(&output->bytes);
	orma_base_map_done(&output->threads);
	orma_base_arena_done(&output->arena);
}

int orma_ctf_output_flush(struct orma_ctf_output *output)
{
	int r = output->bytes.size > 0
			? output->write(output->ctx, output->bytes.data, output->bytes.size)
			: 0;
	output->bytes.size = 0;
	return r;
}

void orma_ctf_packet_begin(struct orma_ctf_output *output, uint32_t sequence)
{
	struct orma_proto_writer *writer = &output->heap.writer;
	orma_proto_heap_writer_init(&output->heap, &output->bytes);
	orma_proto_nested_begin(writer, &output->packet, ORMA_PB_TRACE_PACKET);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, sequence);
}

int orma_ctf_packet_end(struct orma_ctf_output *output)
{
	int r = orma_proto_heap_writer_finish(&output->heap);
	return r < 0 || output->bytes.size < WAITING_BYTES ? r : orma_ctf_output_flush(output);
}

uint64_t orma_ctf_output_time(const struct orma_ctf_output *output,
			      const struct orma_ctf_clock *clock, uint64_t cycles)
{
	uint64_t ns = orma_ctf_clock_ns(clock, cycles);
	return output->has_realtime_only ? ns + (uint64_t)orma_ctf_clock_offset_ns(clock) : ns;
}
