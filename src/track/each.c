/* SPDX-License-Identifier: Apache-2.0
 * each.c - an event for each instance that wants it: whatever emit.c's shortest ways leave.
 *
 *   category's bits -> for each instance: slot -> sequence's bit of the site -> bytes -> chunk
 *
 * That is what several instances get, what comes when a chunk has no room to spare, and what
 * belongs to other tracks. The event is encoded on the stack, so that the exact size is known
 * before the chunk is asked for it; what cannot be encoded so goes to orma_track_emit_slow().
 * Rejected: a way straight into the chunk here too (each kind of event would be written in two
 * places).
 */
#include "track/encode.h"

/* False: lost. */
static bool copy_into_chunk(struct orma_packet *slot, const uint8_t *bytes, size_t size)
{
	memcpy(orma_shm_writer_reserve(slot->writer, size), bytes, size);
	orma_shm_writer_commit(slot->writer, size);
	return orma_client_slot_check(slot);
}

static const struct orma_track *track_of(const struct orma_track_event *event)
{
	for (size_t i = 0; i < event->count; i++)
		if (event->items[i].kind == ORMA_ITEM_TRACK && event->items[i].value.track)
			return event->items[i].value.track;
	return NULL;
}

/* Slices of other tracks are none of the thread's; see loss.c. */
static bool is_on_other_track(const struct orma_track_event *event, bool *ret_is_short)
{
	const struct orma_track *track =
		event->type == ORMA_EVENT_BEGIN || event->type == ORMA_EVENT_END ? track_of(event)
										 : NULL;

	*ret_is_short = !track || (track->kind != ORMA_TRACK_THREAD && !orma_track_has_asyncs());
	return track != NULL;
}

static bool emit_short(struct orma_packet *slot, const struct orma_track_event *event)
{
	struct orma_track_sequence *sequence = slot->state;
	bool is_short, is_elsewhere = is_on_other_track(event, &is_short);
	bool is_end = event->type == ORMA_EVENT_END && !is_elsewhere;
	uint8_t bytes[1 + ORMA_TRACK_ITEMS_ROOM], *begin = bytes + 1, *end;

	if (!is_short || !orma_track_can_encode(sequence, event->site) ||
	    (is_end && !orma_track_nesting_is_written(&sequence->nesting)))
		return false;
	/* So that the next event need not come here for its time. */
	orma_track_line_learn(&sequence->known.line);
	end = orma_track_encode(sequence, begin, event);
	if (!end || !copy_into_chunk(slot, begin, (size_t)(end - begin)))
		return false;
	/* It was the first event of a chunk that is to begin with a state. */
	if (ORMA_UNLIKELY(slot->needs_state))
		orma_track_become_not_plain(sequence);
	if (is_end)
		orma_track_nesting_end_written(&sequence->nesting);
	else if (event->type == ORMA_EVENT_BEGIN && !is_elsewhere)
		orma_track_nesting_begin(&sequence->nesting);
	return true;
}

uint32_t orma_track_emit_each(const struct orma_track_event *event, uint32_t instances)
{
	struct orma_data_source *source =
		atomic_load_explicit(&orma_track_source, memory_order_acquire);
	uint32_t given = 0;

	if (ORMA_UNLIKELY(!source))
		return 0;
	/* In the child of a fork; perhaps seen before another thread removed the mark. */
	if (ORMA_UNLIKELY(instances & ORMA_TRACK_REVIVE)) {
		orma_client_revive();
		return 0;
	}
	for (uint32_t left = instances; left; left &= left - 1) {
		uint32_t idx = (uint32_t)__builtin_ctz(left);
		struct orma_packet *slot = orma_client_slot_get(source, idx);

		if (ORMA_UNLIKELY(!slot))
			continue;
		if (!emit_short(slot, event))
			orma_track_emit_slow(slot, idx, event);
		orma_track_slot_close(slot);
		given |= UINT32_C(1) << idx;
	}
	return given;
}
