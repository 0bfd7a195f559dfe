/* SPDX-License-Identifier: Apache-2.0
 * event_batch.c - events become records with places in place of pointers, and events again.
 *
 * Copying a packet costs some nanoseconds, and is worth it on one thread too: the merge touches the windows of all sequences
 * and the importer the tails of all columns, and each has the cache to itself for a batch. Kernel events are not copied; see
 * open_bundle.c.
 */
#include "trace/event_batch.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"
#include "schema/gen/trace_packet.pb.h"

int orma_event_batch_init(struct orma_event_batch *batch)
{
	batch->events = orma_base_alloc_array(ORMA_BATCH_EVENTS, sizeof(*batch->events));
	return batch->events ? 0 : -ENOMEM;
}

void orma_event_batch_done(struct orma_event_batch *batch)
{
	orma_base_free(batch->events);
	orma_base_buf_done(&batch->bytes);
	orma_open_bundles_done(&batch->bundles);
	*batch = (struct orma_event_batch){0};
}

/* True when the packet says nothing that the record does not. */
static bool is_plain(const struct orma_packet *packet)
{
	const unsigned usual =
		ORMA_PACKET_HAS_TIMESTAMP | ORMA_PACKET_HAS_SEQUENCE | ORMA_PACKET_NEEDS_STATE;
	return packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT && !(packet->flags & ~usual) &&
	       packet->dropped == 0 && packet->machine == 0 && packet->clock == 0;
}

int orma_event_batch_add_packet(struct orma_event_batch *batch, const struct orma_packet *packet,
				int64_t ns, uint32_t source, bool is_untimed)
{
	bool is_event = packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT && !is_untimed;
	struct orma_buf *buf = &batch->bytes;
	struct orma_str bytes = packet->bytes;
	ORMA_ASSERT(!orma_event_batch_is_full(batch));
	if (ORMA_UNLIKELY(buf->capacity - buf->size < bytes.size) &&
	    orma_base_buf_reserve(buf, ORMA_MAX(bytes.size, (size_t)ORMA_BATCH_BYTES / 4)) < 0)
		return -ENOMEM;
	struct orma_batched_event *event = &batch->events[batch->count++];
	event->kind = (uint8_t)(is_event ? ORMA_ORDERED_TRACK_EVENT : ORMA_ORDERED_PACKET);
	event->data = (uint32_t)buf->size;
	event->size = (uint32_t)bytes.size;
	if (bytes.size > 0)
		memcpy(buf->data + buf->size, bytes.data, bytes.size);
	buf->size += bytes.size;
	event->ns = ns;
	event->address = packet->address;
	event->source = source;
	event->is_untimed = is_untimed;
	event->is_plain = !is_untimed && is_plain(packet);
	event->packet.header = packet->header;
	if (event->is_plain) {
		event->packet.content =
			event->data + (uint32_t)(packet->content.data - packet->bytes.data);
		event->packet.content_size = (uint32_t)packet->content.size;
	}
	return 0;
}

int orma_batch_reader_init(struct orma_batch_reader *reader)
{
	const struct orma_packet_index *index = reader->index;
	reader->states =
		orma_base_alloc_array((size_t)index->sequence_count + 1, sizeof(*reader->states));
	if (!reader->states)
		return -ENOMEM;
	for (uint32_t i = 0; i < index->sequence_count; i++)
		reader->states[i] = (struct orma_sequence_state){.input = index->input,
								 .sequence = index->sequences[i]};
	return 0;
}

void orma_batch_reader_done(struct orma_batch_reader *reader)
{
	for (uint32_t i = 0; reader->states && i < reader->index->sequence_count; i++)
		orma_sequence_state_done(&reader->states[i]);
	orma_sequence_state_done(&reader->untimed);
	orma_base_free(reader->states);
}

static struct orma_sequence_state *find_state(struct orma_batch_reader *reader,
					      const struct orma_batched_event *event)
{
	if (!event->is_untimed)
		return &reader->states[event->source];
	const struct orma_sequence *sequence = reader->index->untimed[event->source].sequence;
	if (reader->untimed.sequence != sequence) {
		orma_sequence_state_done(&reader->untimed);
		reader->untimed = (struct orma_sequence_state){.input = reader->index->input,
							       .sequence = sequence};
	}
	return &reader->untimed;
}

static int take_packet(struct orma_batch_reader *reader, const struct orma_event_batch *batch,
		       const struct orma_batched_event *batched, struct orma_ordered_event *event)
{
	struct orma_packet packet;
	struct orma_str bytes = {(const char *)batch->bytes.data + batched->data, batched->size};
	event->state = find_state(reader, batched);
	event->machine_idx = event->state->sequence->machine_idx;
	if (batched->is_plain)
		packet = (struct orma_packet){
			.bytes = bytes,
			.content = {(const char *)batch->bytes.data + batched->packet.content,
				    batched->packet.content_size},
			.kind = ORMA_PB_TRACE_PACKET_TRACK_EVENT,
			.sequence = event->state->sequence->id,
			.flags = ORMA_PACKET_HAS_TIMESTAMP | ORMA_PACKET_HAS_SEQUENCE,
		};
	else if (orma_trace_packet_read(bytes.data, bytes.size, &packet) < 0)
		return -EIO;
	packet.address = batched->address;
	packet.header = batched->packet.header;
	event->packet = &packet;
	int r = orma_sequence_state_move(event->state, batched->address);
	if (r == 0)
		r = reader->fn(reader->ctx, event);
	event->packet = NULL;
	return r;
}

int orma_batch_reader_take(struct orma_batch_reader *reader, const struct orma_event_batch *batch)
{
	const struct orma_trace_bytes *input = reader->index->input;
	int r = input->progress ? input->progress(input->progress_ctx, batch->read_bytes) : 0;
	for (size_t i = 0; i < batch->count && r >= 0; i++) {
		const struct orma_batched_event *batched = &batch->events[i];
		struct orma_ordered_event event = {.kind = (enum orma_ordered_kind)batched->kind,
						   .ns = batched->ns,
						   .address = batched->address};
		if (batched->kind <= ORMA_ORDERED_TRACK_EVENT) {
			r = take_packet(reader, batch, batched, &event);
			continue;
		}
		event.cpu = reader->index->lanes[batched->source]->cpu;
		event.machine_idx = reader->index->lanes[batched->source]->machine_idx;
		if (batched->kind == ORMA_ORDERED_SWITCH)
			event.compact_switch = batched->compact_switch;
		else if (batched->kind == ORMA_ORDERED_WAKING)
			event.compact_waking = batched->compact_waking;
		else
			event.kernel_event = batched->kernel_event;
		r = reader->fn(reader->ctx, &event);
	}
	return ORMA_MIN(r, 0);
}
