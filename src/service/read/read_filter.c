/* SPDX-License-Identifier: Apache-2.0
 * read_filter.c - runs a batch's packets through the session's filter.
 *
 * The slices of a packet are replaced by one that points to the filtered bytes, in memory of the
 * batch's arena. If nothing is left of a packet, it stays as an empty one, so that packets can be
 * counted. So does one that the filter cannot parse, or that there is no memory for: unfiltered
 * bytes are never shown. Packets are filtered in groups, because reading the clock for the
 * statistics costs as much as filtering a small packet. With string rules they are filtered one by
 * one, because then time is limited. Rejected: filtering when data is committed (a clone may ask
 * for the unfiltered data).
 */
#include "service/read/read_filter.h"

#include <errno.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/macros.h"
#include "service/filter/filter.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"

#define BLOCK_BYTES       ((size_t)64 << 10)
#define PACKETS_PER_GROUP 64

/* Reserves room for one packet's output; the caller takes the part that it uses. */
static uint8_t *reserve_output(struct orma_service_batch *batch, size_t size)
{
	size_t block_bytes = ORMA_MAX(size, BLOCK_BYTES);

	if (batch->filtered && batch->filtered_left >= size)
		return batch->filtered;
	batch->filtered = orma_base_arena_alloc(&batch->own, block_bytes);
	batch->filtered_left = batch->filtered ? block_bytes : 0;
	return batch->filtered;
}

/* The packet at slices [begin, end) becomes slice `to`, which is at most `begin`. */
static void filter_packet(struct orma_service_session *session, size_t begin, size_t end, size_t to,
			  struct orma_service_session_buffer *buffer)
{
	struct orma_service_filter_stats *stats = &session->filter.stats;
	struct orma_service_batch *batch = &session->service->batch;
	size_t input_bytes = 0, output_bytes = 0;
	uint8_t *output;
	int r = -ENOMEM;

	for (size_t i = begin; i < end; i++)
		input_bytes += batch->slices[i].size;
	ORMA_ASSERT(to <= begin && end <= batch->count);
	output = reserve_output(batch, input_bytes);
	if (output)
		r = orma_service_filter_packet(session->filter.program, &batch->slices[begin],
					       end - begin, output, &output_bytes);
	ORMA_ASSERT(output_bytes <= input_bytes);
	stats->input_packets++;
	stats->input_bytes += input_bytes;
	stats->output_bytes += output_bytes;
	stats->errors += r < 0;
	batch->bytes -= input_bytes - output_bytes;
	batch->slices[to] = (struct orma_trace_slice){output ? output : (const uint8_t *)"",
						      output_bytes, true};
	if (output) {
		batch->filtered += output_bytes;
		batch->filtered_left -= output_bytes;
	}
	if (buffer && r == 0) {
		buffer->filter_discarded_bytes += input_bytes - output_bytes;
		buffer->is_filtered = true;
	}
}

void orma_service_batch_filter(struct orma_service_session *session, size_t begin,
			       struct orma_service_session_buffer *buffer)
{
	struct orma_service_batch *batch = &session->service->batch;
	uint64_t start_ns, end_ns;
	size_t to = begin;

	if (!session->filter.program || begin == batch->count)
		return;
	start_ns = orma_service_now_ns(session->service);
	while (begin < batch->count) {
		size_t end = begin;

		while (!batch->slices[end++].ends_packet)
			;
		filter_packet(session, begin, end, to++, buffer);
		begin = end;
	}
	batch->count = to;
	end_ns = orma_service_now_ns(session->service);
	session->filter.stats.time_taken_ns += end_ns - start_ns;
	if (orma_service_filter_has_rules(session->filter.program))
		batch->filter_ns += end_ns - start_ns;
	if (batch->filter_ns > ORMA_SERVICE_FILTER_BATCH_NS)
		batch->is_out_of_time = true;
}

size_t orma_service_batch_filter_group(const struct orma_service_session *session)
{
	if (!session->filter.program)
		return SIZE_MAX;
	return orma_service_filter_has_rules(session->filter.program) ? 1 : PACKETS_PER_GROUP;
}

void orma_service_batch_count_unfiltered(struct orma_service_session *session)
{
	const struct orma_service_batch *batch = &session->service->batch;
	size_t size = batch->slices[batch->count - 1].size;

	if (!session->filter.program)
		return;
	session->filter.stats.input_packets++;
	session->filter.stats.input_bytes += size;
	session->filter.stats.output_bytes += size;
}
