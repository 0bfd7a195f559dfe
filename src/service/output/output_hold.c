/* SPDX-License-Identifier: Apache-2.0
 * output_hold.c - sorts packets while a file is being cut: those for the next file are held.
 *
 * A sequence crosses over with its first packet that begins an incremental state; this packet and
 * all that follow it are held, filtered and encoded, until the next file has begun. output_rotate.c
 * explains the cut. read.c calls this file, so it is below the rest of output/.
 */
#include "service/output/output_hold.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/map.h"
#include "proto/reader.h"
#include "service/output/output.h"
#include "service/read/batch.h"
#include "service/read/packet_check.h"
#include "service/service_core.h"
#include "service/session_state.h"
#include "service/timer.h"

/* When out of memory, the sequence stays in the old file. */
bool orma_service_rotation_is_for_next(struct orma_service_session *session, uint32_t sequence_id,
				       const struct orma_trace_slice *slices, size_t count)
{
	struct orma_service_output *output = &session->output;

	return orma_base_map_get(&output->crossed, sequence_id) ||
	       (orma_service_packet_begins_state(slices, count) &&
		orma_base_map_put(&output->crossed, sequence_id, output) == 0);
}

int orma_service_rotation_hold(struct orma_service_session *session, size_t begin)
{
	ORMA_ASSERT(session->output.cut);

	struct orma_service_batch *batch = &session->service->batch;
	int r = orma_service_batch_encode(batch, begin, &session->output.held);

	if (r < 0)
		return r;
	for (size_t i = begin; i < batch->count; i++) {
		session->output.pass_bytes += batch->slices[i].size;
		batch->bytes -= batch->slices[i].size;
		batch->packet_count -= batch->slices[i].ends_packet;
	}
	batch->count = begin;
	return 0;
}

bool orma_service_rotation_is_full(const struct orma_service_session *session)
{
	const struct orma_service_output *output = &session->output;

	return output->cut && !output->is_held_readable &&
	       output->held.size >= output->reserve_bytes;
}

int orma_service_rotation_read_held(struct orma_service_session *session, size_t max_bytes)
{
	struct orma_service_output *output = &session->output;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	size_t bytes = 0;
	int r = 0;

	if (!output->is_held_readable)
		return 0;
	/* Freed only now: the batch of the previous call pointed into it. */
	if (output->held_at == output->held.size) {
		orma_base_buf_done(&output->held);
		output->held_at = 0;
		output->is_held_readable = false;
		return 0;
	}
	orma_proto_reader_init(&reader, output->held.data + output->held_at,
			       output->held.size - output->held_at);
	while (bytes < max_bytes && r == 0 && orma_proto_reader_next(&reader, &field) > 0) {
		r = orma_service_batch_add_borrowed(session->service, field.bytes.data,
						    field.bytes.size);
		bytes += field.bytes.size + 1;
		output->held_at = (size_t)(reader.at - output->held.data);
	}
	return r < 0 ? r : 1;
}

void orma_service_rotation_leave_cut(struct orma_service_session *session)
{
	struct orma_service_output *output = &session->output;

	orma_service_timer_disarm(&output->cut_timer);
	orma_base_map_done(&output->crossed);
	output->cut = ORMA_SERVICE_CUT_NONE;
	output->is_held_readable = output->held.size > 0;
}

void orma_service_rotation_done(struct orma_service_session *session)
{
	struct orma_service_output *output = &session->output;

	orma_base_buf_done(&output->carried);
	orma_base_buf_done(&output->held);
	orma_service_rotation_leave_cut(session);
}
