/* SPDX-License-Identifier: Apache-2.0
 * session_stats.c - TraceStats: what happened to a session's data, for the end of the trace and for
 * queries.
 *
 * Every number is read where it is counted (buffers, sequences, session, service); nothing is
 * summed up a second time. Rejected: counters of its own (they would drift).
 */
#include "service/read/session_stats.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/macros.h"
#include "buffer/trace_buffer.h"
#include "proto/wire.h"
#include "proto/writer.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_stats.pb.h"
#include "service/packet_sequence.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"

#define BUFFER_FIELD(name) ORMA_PB_TRACE_STATS_BUFFER_STATS_##name

static void write_buffer(struct orma_proto_writer *writer,
			 const struct orma_trace_buffer_stats *stats)
{
	const struct {
		uint32_t id;
		uint64_t value;
	} fields[] = {
		{BUFFER_FIELD(BUFFER_SIZE), stats->buffer_size},
		{BUFFER_FIELD(BYTES_WRITTEN), stats->bytes_written},
		{BUFFER_FIELD(BYTES_OVERWRITTEN), stats->bytes_overwritten},
		{BUFFER_FIELD(BYTES_READ), stats->bytes_read},
		{BUFFER_FIELD(PADDING_BYTES_WRITTEN), stats->padding_bytes_written},
		{BUFFER_FIELD(PADDING_BYTES_CLEARED), stats->padding_bytes_cleared},
		{BUFFER_FIELD(CHUNKS_WRITTEN), stats->chunks_written},
		{BUFFER_FIELD(CHUNKS_REWRITTEN), stats->chunks_rewritten},
		{BUFFER_FIELD(CHUNKS_OVERWRITTEN), stats->chunks_overwritten},
		{BUFFER_FIELD(CHUNKS_DISCARDED), stats->chunks_discarded},
		{BUFFER_FIELD(CHUNKS_READ), stats->chunks_read},
		{BUFFER_FIELD(CHUNKS_COMMITTED_OUT_OF_ORDER), stats->chunks_committed_out_of_order},
		{BUFFER_FIELD(WRITE_WRAP_COUNT), stats->write_wrap_count},
		{BUFFER_FIELD(PATCHES_SUCCEEDED), stats->patches_succeeded},
		{BUFFER_FIELD(PATCHES_FAILED), stats->patches_failed},
		{BUFFER_FIELD(READAHEADS_SUCCEEDED), stats->readaheads_succeeded},
		{BUFFER_FIELD(READAHEADS_FAILED), stats->readaheads_failed},
		{BUFFER_FIELD(ABI_VIOLATIONS), stats->abi_violations},
		{BUFFER_FIELD(TRACE_WRITER_PACKET_LOSS), stats->trace_writer_packet_loss},
		{BUFFER_FIELD(CHUNKS_RELOCATED), stats->chunks_relocated},
		{BUFFER_FIELD(PACKETS_WRITTEN), stats->packets_written},
	};
	struct orma_proto_nested nested;

	orma_proto_nested_begin(writer, &nested, ORMA_PB_TRACE_STATS_BUFFER_STATS);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(fields); i++)
		orma_proto_write_varint(writer, fields[i].id, fields[i].value);
	orma_proto_nested_end(writer, &nested);
}

static void write_packed(struct orma_proto_writer *writer, uint32_t field_id,
			 const uint64_t values[ORMA_SERVICE_HISTOGRAM_BUCKETS])
{
	uint8_t packed[ORMA_SERVICE_HISTOGRAM_BUCKETS * ORMA_PROTO_VARINT_MAX];
	uint8_t *at = packed;

	for (size_t i = 0; i < ORMA_SERVICE_HISTOGRAM_BUCKETS; i++)
		at = orma_proto_put_varint(at, values[i]);
	orma_proto_write_bytes(writer, field_id, packed, (size_t)(at - packed));
}

static void write_writer(struct orma_proto_writer *writer,
			 const struct orma_service_sequence *sequence)
{
	struct orma_proto_nested nested;

	orma_proto_nested_begin(writer, &nested, ORMA_PB_TRACE_STATS_WRITER_STATS);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_WRITER_STATS_SEQUENCE_ID, sequence->id);
	write_packed(writer, ORMA_PB_TRACE_STATS_WRITER_STATS_CHUNK_PAYLOAD_HISTOGRAM_COUNTS,
		     sequence->histogram_counts);
	write_packed(writer, ORMA_PB_TRACE_STATS_WRITER_STATS_CHUNK_PAYLOAD_HISTOGRAM_SUM,
		     sequence->histogram_sums);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_WRITER_STATS_BUFFER,
				sequence->buffer_idx);
	orma_proto_nested_end(writer, &nested);
}

static void write_writers(struct orma_proto_writer *writer,
			  const struct orma_service_session *session, size_t max_count)
{
	const struct orma_pb_trace_config_builtin_data_source *builtin =
		session->config->builtin_data_sources;
	struct orma_service_sequence **sequences;

	if ((builtin && builtin->disable_chunk_usage_histograms) ||
	    session->sequences.count > max_count)
		return;
	sequences = orma_service_packet_sequences_sorted(session);
	if (!sequences)
		return;
	for (size_t i = 0; i < ORMA_SERVICE_HISTOGRAM_BUCKETS - 1; i++)
		orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_CHUNK_PAYLOAD_HISTOGRAM_DEF,
					orma_service_histogram_bounds[i]);
	for (size_t i = 0; i < session->sequences.count; i++)
		write_writer(writer, sequences[i]);
	orma_base_free(sequences);
}

static void write_filter(struct orma_proto_writer *writer,
			 const struct orma_service_session *session)
{
	const struct orma_service_filter_stats *stats = &session->filter.stats;
	struct orma_proto_nested nested;
	size_t count = session->buffer_count;

	if (!session->filter.program)
		return;
	orma_proto_nested_begin(writer, &nested, ORMA_PB_TRACE_STATS_FILTER_STATS);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_FILTER_STATS_INPUT_PACKETS,
				stats->input_packets);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_FILTER_STATS_INPUT_BYTES,
				stats->input_bytes);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_FILTER_STATS_OUTPUT_BYTES,
				stats->output_bytes);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_FILTER_STATS_ERRORS, stats->errors);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_FILTER_STATS_TIME_TAKEN_NS,
				stats->time_taken_ns);
	/* Indexed by buffer, up to the last buffer that had packets. */
	while (count > 0 && !session->buffers[count - 1].is_filtered)
		count--;
	for (size_t i = 0; i < count; i++)
		orma_proto_write_varint(writer,
					ORMA_PB_TRACE_STATS_FILTER_STATS_BYTES_DISCARDED_PER_BUFFER,
					session->buffers[i].filter_discarded_bytes);
	orma_proto_nested_end(writer, &nested);
}

int orma_service_stats_encode(const struct orma_service_session *session, size_t max_writers,
			      struct orma_buf *buf)
{
	const struct orma_service *service = session->service;
	struct orma_proto_heap_writer heap;
	struct orma_proto_writer *writer = &heap.writer;

	orma_proto_heap_writer_init(&heap, buf);
	for (size_t i = 0; i < session->buffer_count; i++)
		write_buffer(writer, orma_trace_buffer_stats(session->buffers[i].trace_buffer));
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_PRODUCERS_CONNECTED,
				service->producers.count);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_PRODUCERS_SEEN,
				service->producers.seen_count);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_DATA_SOURCES_REGISTERED,
				service->data_sources.count);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_DATA_SOURCES_SEEN,
				service->data_sources.set_up_count);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_TRACING_SESSIONS,
				service->sessions.count);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_TOTAL_BUFFERS, service->buffers.count);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_CHUNKS_DISCARDED,
				service->chunks_discarded);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_PATCHES_DISCARDED,
				service->patches_discarded);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_INVALID_PACKETS,
				session->read.invalid_packet_count);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_FLUSHES_REQUESTED,
				session->flush.requested_count);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_FLUSHES_SUCCEEDED,
				session->flush.succeeded_count);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_FLUSHES_FAILED,
				session->flush.failed_count);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_STATS_FINAL_FLUSH_OUTCOME,
				session->flush.final_outcome);
	write_filter(writer, session);
	write_writers(writer, session, max_writers);
	return orma_proto_heap_writer_finish(&heap);
}
