/* SPDX-License-Identifier: Apache-2.0
 * event_batch.c - events become records with places in place of pointers, and events again.
 *
 * Most events are plain: they are read here, and their packets stay behind, but for the numbers that are kept of their arguments
 * (kept_args.h). Which of the two threads reads them is decided for each batch, so that none waits for the other; the importer gets
 * packets that are not larger than what is read of them. Copying another packet costs some nanoseconds, and is worth it on one thread too: the merge touches the windows
 * of all sequences and the importer the tails of all columns, and each has the cache to itself for a batch. Kernel events are
 * not copied; see open_bundle.c.
 */
#include "trace/event_batch.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_event.pb.h"
#include "trace/event_record.h"

/* A larger event has arguments of a size that makes the reading costly, or fields of the old kind, which are not plain. */
enum { PLAIN_MAX_BYTES = 64 };

int orma_event_batch_init(struct orma_event_batch *batch)
{
	batch->events = orma_base_alloc_array(ORMA_BATCH_EVENTS, sizeof(*batch->events));
	batch->args = orma_base_alloc_array((size_t)ORMA_BATCH_EVENTS * ORMA_KEPT_ARGS_MAX,
					    sizeof(*batch->args));
	return batch->events && batch->args ? 0 : -ENOMEM;
}

void orma_event_batch_done(struct orma_event_batch *batch)
{
	orma_base_free(batch->events);
	orma_base_free(batch->args);
	orma_base_buf_done(&batch->bytes);
	orma_open_bundles_done(&batch->bundles);
	*batch = (struct orma_event_batch){0};
}

/* True when the packet says nothing that the record does not. */
static bool is_usual(const struct orma_packet *packet)
{
	const unsigned usual =
		ORMA_PACKET_HAS_TIMESTAMP | ORMA_PACKET_HAS_SEQUENCE | ORMA_PACKET_NEEDS_STATE;
	return packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT && !(packet->flags & ~usual) &&
	       packet->dropped == 0 && packet->machine == 0 && packet->clock == 0;
}

/* Notes the arguments of an event that begins a slice, if they are plain annotations and nothing else. Returns how many there are. */
static size_t note_args(const struct orma_track_event *event,
			struct orma_noted_arg ret[ORMA_KEPT_ARGS_MAX])
{
	struct orma_plain_arg args[ORMA_PLAIN_ARGS_MAX];
	int count = 1;
	if (event->annotations == 0 || event->flags & ORMA_EVENT_HAS_OTHER_ARGS ||
	    event->type == ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END)
		return 0;
	if (event->annotations > 1)
		count = orma_plain_args_read(event->bytes, 0, args);
	else if (!orma_plain_arg_read(event->annotation, args))
		return 0;
	return orma_note_args(args, count, ret);
}

static bool make_plain(struct orma_event_batch *batch, const struct orma_packet *packet,
		       struct orma_plain_event *ret)
{
	struct orma_track_event event;
	/* An event that was converted has an order, and fields of its own. */
	if (packet->content.size > PLAIN_MAX_BYTES || packet->order != 0 ||
	    orma_track_event_read(packet->content, &event) < 0 ||
	    !orma_plain_event_make(&event, ret))
		return false;
	size_t noted = note_args(&event, &batch->args[batch->arg_count]);
	ret->args = noted > 0 ? (uint32_t)batch->arg_count + 1 : 0;
	batch->arg_count += noted;
	return true;
}

/* Copies a packet that the importer reads. False when it is too large, or its event is not plain. */
static inline bool make_small(const struct orma_packet *packet, struct orma_batched_event *ret)
{
	if (packet->bytes.size > ORMA_SMALL_PACKET_BYTES || packet->order != 0)
		return false;
	ret->small.size = (uint8_t)packet->bytes.size;
	ret->small.content = (uint8_t)(packet->content.data - packet->bytes.data);
	ret->small.content_size = (uint8_t)packet->content.size;
	memcpy(ret->small.bytes, packet->bytes.data, packet->bytes.size);
	return true;
}

/* The importer needs no text of a record. */
static struct orma_str bytes_of(const struct orma_packet *packet, bool is_record)
{
	return is_record ? (struct orma_str){packet->record.data,
					     ORMA_MIN(packet->record.size,
						      (size_t)ORMA_RECORD_MAX_BYTES)}
			 : packet->bytes;
}

static int copy_bytes(struct orma_event_batch *batch, const struct orma_packet *packet,
		      struct orma_batched_event *event)
{
	struct orma_str bytes = bytes_of(packet, event->is_record);
	struct orma_buf *buf = &batch->bytes;
	if (ORMA_UNLIKELY(buf->capacity - buf->size < bytes.size) &&
	    orma_base_buf_reserve(buf, ORMA_MAX(bytes.size, (size_t)ORMA_BATCH_BYTES / 4)) < 0)
		return -ENOMEM;
	event->packet.data = (uint32_t)buf->size;
	event->packet.size = (uint32_t)bytes.size;
	if (event->is_usual && !event->is_record) {
		event->packet.content =
			event->packet.data + (uint32_t)(packet->content.data - bytes.data);
		event->packet.content_size = (uint32_t)packet->content.size;
	}
	if (bytes.size > 0)
		memcpy(buf->data + buf->size, bytes.data, bytes.size);
	buf->size += bytes.size;
	return 0;
}

int orma_event_batch_add_packet(struct orma_event_batch *batch, const struct orma_packet *packet,
				int64_t ns, uint32_t source, bool is_untimed)
{
	bool is_event = packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT && !is_untimed;
	ORMA_ASSERT(!orma_event_batch_is_full(batch));
	struct orma_batched_event *event = &batch->events[batch->count];
	event->kind = (uint8_t)(is_event ? ORMA_ORDERED_TRACK_EVENT : ORMA_ORDERED_PACKET);
	event->ns = ns;
	event->address = packet->address;
	event->source = source;
	event->header = packet->header;
	event->is_untimed = is_untimed;
	bool has_record = packet->record.size > 0;
	event->is_usual = is_event && is_usual(packet) && !(has_record && batch->needs_bytes);
	event->is_record = event->is_usual && has_record;
	bool may_be_plain = event->is_usual && !has_record && !batch->needs_bytes;
	event->is_small = may_be_plain && batch->leaves_reading && make_small(packet, event);
	event->is_plain =
		may_be_plain && !event->is_small && make_plain(batch, packet, &event->plain);
	if (!event->is_plain && !event->is_small && copy_bytes(batch, packet, event) < 0)
		return -ENOMEM;
	batch->count++;
	return 0;
}

int orma_batch_reader_init(struct orma_batch_reader *reader)
{
	reader->plain = reader->usual = reader->record = (struct orma_packet){
		.kind = ORMA_PB_TRACE_PACKET_TRACK_EVENT,
		.flags = ORMA_PACKET_HAS_TIMESTAMP | ORMA_PACKET_HAS_SEQUENCE,
	};
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

/* Shows the event at its place in the sequence. */
static int take_at(struct orma_batch_reader *reader, struct orma_ordered_event *event)
{
	int r = orma_sequence_state_move(event->state, event->address);
	return r < 0 ? r : reader->fn(reader->ctx, event);
}

static int take_plain(struct orma_batch_reader *reader, const struct orma_event_batch *batch,
		      const struct orma_batched_event *batched, struct orma_ordered_event *event)
{
	event->state = &reader->states[batched->source];
	event->machine_idx = event->state->sequence->machine_idx;
	event->plain = &batched->plain;
	event->args = batched->plain.args > 0 ? &batch->args[batched->plain.args - 1] : NULL;
	event->packet = &reader->plain;
	reader->plain.sequence = event->state->sequence->id;
	reader->plain.address = batched->address;
	reader->plain.header = batched->header;
	return take_at(reader, event);
}

/* Fills what an event has from its sequence, and its packet from the batch. */
static inline void fill_event(struct orma_batch_reader *reader,
			      const struct orma_batched_event *batched, struct orma_packet *packet,
			      struct orma_ordered_event *event)
{
	event->state = &reader->states[batched->source];
	event->machine_idx = event->state->sequence->machine_idx;
	event->plain = NULL;
	event->packet = packet;
	packet->sequence = event->state->sequence->id;
	packet->address = batched->address;
	packet->header = batched->header;
}

static int take_usual(struct orma_batch_reader *reader, const struct orma_event_batch *batch,
		      const struct orma_batched_event *batched, struct orma_ordered_event *event)
{
	const char *data = (const char *)batch->bytes.data;
	struct orma_packet *packet = &reader->usual;
	fill_event(reader, batched, packet, event);
	packet->bytes = (struct orma_str){data + batched->packet.data, batched->packet.size};
	packet->content =
		(struct orma_str){data + batched->packet.content, batched->packet.content_size};
	return take_at(reader, event);
}

/* Reads a packet as make_plain() does. */
static int take_small(struct orma_batch_reader *reader, const struct orma_batched_event *batched,
		      struct orma_ordered_event *event)
{
	const char *bytes = batched->small.bytes;
	struct orma_str content = {bytes + batched->small.content, batched->small.content_size};
	struct orma_track_event read;
	struct orma_plain_event plain;
	if (orma_track_event_read(content, &read) < 0 || !orma_plain_event_make(&read, &plain)) {
		fill_event(reader, batched, &reader->usual, event);
		reader->usual.bytes = (struct orma_str){bytes, batched->small.size};
		reader->usual.content = content;
		return take_at(reader, event);
	}
	fill_event(reader, batched, &reader->plain, event);
	event->args = note_args(&read, reader->noted) > 0 ? reader->noted : NULL;
	event->plain = &plain;
	int r = take_at(reader, event);
	event->plain = NULL;
	return r;
}

static int take_record(struct orma_batch_reader *reader, const struct orma_event_batch *batch,
		       const struct orma_batched_event *batched, struct orma_ordered_event *event)
{
	struct orma_packet *packet = &reader->record;
	fill_event(reader, batched, packet, event);
	packet->record = (struct orma_str){(const char *)batch->bytes.data + batched->packet.data,
					   batched->packet.size};
	return take_at(reader, event);
}

static int take_packet(struct orma_batch_reader *reader, const struct orma_event_batch *batch,
		       const struct orma_batched_event *batched, struct orma_ordered_event *event)
{
	struct orma_packet packet;
	event->state = find_state(reader, batched);
	event->machine_idx = event->state->sequence->machine_idx;
	if (orma_trace_packet_read(batch->bytes.data + batched->packet.data, batched->packet.size,
				   &packet) < 0)
		return -EIO;
	packet.address = batched->address;
	packet.header = batched->header;
	event->packet = &packet;
	event->plain = NULL;
	return take_at(reader, event);
}

int orma_batch_reader_take(struct orma_batch_reader *reader, const struct orma_event_batch *batch)
{
	const struct orma_trace_bytes *input = reader->index->input;
	int r = input->progress ? input->progress(input->progress_ctx, batch->read_bytes) : 0;
	/* A member that the kind of an event has no use for stays from another event, but for `plain`. */
	struct orma_ordered_event event = {.kind = ORMA_ORDERED_PACKET};
	for (size_t i = 0; i < batch->count && r >= 0; i++) {
		const struct orma_batched_event *batched = &batch->events[i];
		event.kind = (enum orma_ordered_kind)batched->kind;
		event.ns = batched->ns;
		event.address = batched->address;
		if (batched->kind <= ORMA_ORDERED_TRACK_EVENT) {
			r = batched->is_plain    ? take_plain(reader, batch, batched, &event)
			    : batched->is_small  ? take_small(reader, batched, &event)
			    : batched->is_record ? take_record(reader, batch, batched, &event)
			    : batched->is_usual  ? take_usual(reader, batch, batched, &event)
						 : take_packet(reader, batch, batched, &event);
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
