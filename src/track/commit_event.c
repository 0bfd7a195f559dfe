/* SPDX-License-Identifier: Apache-2.0
 * commit_event.c - ends an event's packet, and remembers what became of the event.
 *
 * An event is written, lost, or not wanted. This file keeps what later events depend on: which
 * slices are open and whether their begins are in the trace, which ends are pending, how many
 * events were lost, and whether the sequence allows the fast path.
 */
#include "track/commit_event.h"

#include "track/async_slices.h"
#include "track/call_site.h"
#include "track/loss.h"

void orma_track_keep_end(struct orma_track_sequence *sequence, const struct orma_track_event *event,
			 const struct orma_track_lookup *lookup)
{
	static const struct orma_category ends = {.name = "(ends)"};
	uint8_t data[ORMA_TRACK_PENDING_END_BYTES];
	struct orma_track_end_content content = {.data = data, .item_count = event->count};

	if (event->count > 0)
		content.size =
			orma_track_encode_end_items(sequence, event, lookup, data, sizeof(data));
	content.is_too_large = content.size > sizeof(data);
	if (lookup->time) {
		content.has_time = true;
		content.clock = lookup->time->number;
		content.time = lookup->time->value.number;
	}
	if (!orma_track_pending_ends_add(&sequence->pending_ends, event->now_ns, lookup->slice_uuid,
					 &content))
		orma_track_loss_add(sequence, &ends, event->now_ns);
}

static void open_slice(struct orma_track_sequence *sequence, uint32_t idx, uint64_t slice_uuid,
		       bool is_written)
{
	if (slice_uuid)
		orma_track_async_begin(idx, slice_uuid, is_written);
	else if (is_written)
		orma_track_nesting_begin(&sequence->nesting);
	else
		orma_track_nesting_begin_lost(&sequence->nesting);
}

void orma_track_commit(struct orma_packet *slot, uint32_t idx, const struct orma_track_event *event,
		       const struct orma_track_lookup *lookup, struct orma_track_encoder *encoder)
{
	struct orma_track_sequence *sequence = slot->state;
	bool is_written = encoder && orma_track_encoder_commit(encoder, slot);
	bool is_lost = lookup->is_wanted && !is_written;

	if (is_written && lookup->can_learn_site && encoder->is_site_known)
		orma_track_set_bit(sequence->known.sites, orma_track_site_id(event->site));
	if (is_lost && event->type == ORMA_EVENT_END)
		orma_track_keep_end(sequence, event, lookup);
	else if (is_lost)
		orma_track_loss_add(sequence, event->category, event->now_ns);
	if (event->type == ORMA_EVENT_BEGIN)
		open_slice(sequence, idx, lookup->slice_uuid, is_written);
	if (slot->needs_state || !orma_track_sequence_may_use_fast_path(sequence))
		orma_track_sequence_leave_fast_path(sequence);
	else
		sequence->known.allows_fast_path = true;
}
