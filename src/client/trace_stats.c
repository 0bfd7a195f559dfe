/* SPDX-License-Identifier: Apache-2.0
 * trace_stats.c - a TraceStats message as a plain struct.
 *
 * One block of memory: the struct, the pointers to its buffers, the buffers. The array has pointers,
 * because the struct of a buffer will grow, and programs that were built before index the array.
 * Rejected: the caller's array (its length would have to be asked first), accessor functions for fifty
 * numbers.
 */
#include <orma/stats.h>

#include <errno.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "client/client_limits.h"
#include "schema/gen/trace_stats.pb.h"

struct block {
	struct orma_trace_stats stats;
	const struct orma_buffer_stats *buffers[];
};

static void take_buffer(const struct orma_pb_trace_stats_buffer_stats *from,
			struct orma_trace_stats *stats, struct orma_buffer_stats *ret)
{
	*ret = (struct orma_buffer_stats){
		.struct_size = sizeof(*ret),
		.size_bytes = from->buffer_size,
		.written_bytes = from->bytes_written,
		.read_bytes = from->bytes_read,
		.chunks_written = from->chunks_written,
		.chunks_read = from->chunks_read,
		.overwritten_bytes = from->bytes_overwritten,
		.chunks_overwritten = from->chunks_overwritten,
		.chunks_discarded = from->chunks_discarded,
		.packets_not_written = from->trace_writer_packet_loss,
		.patches_failed = from->patches_failed,
		.chunks_malformed = from->abi_violations,
		.wraps = from->write_wrap_count,
		.patches_applied = from->patches_succeeded,
		.chunks_rewritten = from->chunks_rewritten,
		.chunks_relocated = from->chunks_relocated,
		.chunks_out_of_order = from->chunks_committed_out_of_order,
		.packets_joined = from->readaheads_succeeded,
		.packets_waited_for = from->readaheads_failed,
		.padding_bytes_written = from->padding_bytes_written,
		.padding_bytes_released = from->padding_bytes_cleared,
	};
	stats->lost_packets += ret->packets_not_written;
	stats->lost_chunks +=
		ret->chunks_overwritten + ret->chunks_discarded + ret->chunks_malformed;
}

static void take_filter(const struct orma_pb_trace_stats_filter_stats *from,
			struct orma_trace_stats *stats)
{
	stats->filter_packets_in = from->input_packets;
	stats->filter_bytes_in = from->input_bytes;
	stats->filter_bytes_out = from->output_bytes;
	stats->filter_errors = from->errors;
	stats->filter_time_ns = from->time_taken_ns;
}

static enum orma_final_flush final_flush(int32_t outcome_untrusted)
{
	return outcome_untrusted == ORMA_FINAL_FLUSH_SUCCEEDED ||
			       outcome_untrusted == ORMA_FINAL_FLUSH_FAILED
		       ? (enum orma_final_flush)outcome_untrusted
		       : ORMA_FINAL_FLUSH_UNKNOWN;
}

static void take_totals(const struct orma_pb_trace_stats *from, struct orma_trace_stats *stats)
{
	*stats = (struct orma_trace_stats){
		.struct_size = sizeof(*stats),
		.lost_packets = from->invalid_packets,
		.lost_chunks = from->chunks_discarded,
		.chunks_refused = from->chunks_discarded,
		.patches_refused = from->patches_discarded,
		.packets_invalid = from->invalid_packets,
		.flushes_requested = from->flushes_requested,
		.flushes_succeeded = from->flushes_succeeded,
		.flushes_failed = from->flushes_failed,
		.final_flush = final_flush(from->final_flush_outcome),
		.producers_connected = from->producers_connected,
		.data_sources_registered = from->data_sources_registered,
		.sessions = from->tracing_sessions,
		.buffers_in_all = from->total_buffers,
		.producers_seen = from->producers_seen,
		.data_sources_seen = from->data_sources_seen,
		.buffer_count = from->buffer_stats.count,
	};
}

static int make(const struct orma_pb_trace_stats *from, struct orma_trace_stats **ret)
{
	size_t count = from->buffer_stats.count;
	struct orma_buffer_stats *buffers;
	struct block *block;

	if (count > ORMA_CLIENT_STATS_BUFFERS_MAX)
		return -EMSGSIZE;
	block = orma_base_zalloc(sizeof(*block) + count * (sizeof(void *) + sizeof(*buffers)) +
				 _Alignof(struct orma_buffer_stats));
	if (!block)
		return -ENOMEM;
	take_totals(from, &block->stats);
	buffers = (void *)(((uintptr_t)&block->buffers[count] + _Alignof(struct orma_buffer_stats) -
			    1) &
			   ~(uintptr_t)(_Alignof(struct orma_buffer_stats) - 1));
	for (size_t i = 0; i < count; i++) {
		take_buffer(from->buffer_stats.items[i], &block->stats, &buffers[i]);
		block->buffers[i] = &buffers[i];
	}
	block->stats.buffers = block->buffers;
	if (from->filter_stats)
		take_filter(from->filter_stats, &block->stats);
	*ret = &block->stats;
	return 0;
}

int orma_trace_stats_parse(const void *data, size_t size, struct orma_trace_stats **ret)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_pb_trace_stats *stats;
	int r;

	if (!ret || (!data && size > 0))
		return -EINVAL;
	r = orma_proto_decode(&orma_pb_trace_stats_desc, data, size, &arena, &stats);
	return r < 0 ? r : make(stats, ret);
}

void orma_trace_stats_free(struct orma_trace_stats *stats)
{
	orma_base_free(stats);
}
