/* SPDX-License-Identifier: Apache-2.0
 * instances.c - emits an event to each instance that wants it, when the fast path of emit.c cannot.
 *
 *   category's bits -> for each instance: slot -> sequence's bit of the site -> bytes -> chunk
 *
 * That is the case for events of several instances, events that find no room in their chunk, and
 * events of tracks that are not the thread's. The event is encoded on the stack, so that exactly
 * its size is requested from the chunk. An event that cannot be encoded this way goes to
 * orma_track_emit_slow().
 *
 * Rejected: encoding straight into the chunk here too (each kind of event would be written in two
 * places).
 */
#include "track/instances.h"

#include "client/revival.h"
#include "track/async_slices.h"
#include "track/catch_up.h"
#include "track/category_list.h"
#include "track/fast_encode.h"
#include "track/slow_path.h"

struct orma_data_source *_Atomic orma_track_source;

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

/* Whether the event begins or ends a slice of another track than the thread's. *ret_is_simple:
 * nothing need be noted of such slices at the moment; see async_slices.c. */
static bool is_on_other_track(const struct orma_track_event *event, bool *ret_is_simple)
{
	const struct orma_track *track =
		event->type == ORMA_EVENT_BEGIN || event->type == ORMA_EVENT_END ? track_of(event)
										 : NULL;

	*ret_is_simple =
		!track || (track->kind != ORMA_TRACK_THREAD && !orma_track_has_async_slices());
	return track != NULL;
}

static bool emit_fast(struct orma_packet *slot, const struct orma_track_event *event)
{
	struct orma_track_sequence *sequence = slot->state;
	bool is_simple, is_elsewhere = is_on_other_track(event, &is_simple);
	bool is_end = event->type == ORMA_EVENT_END && !is_elsewhere;
	uint8_t bytes[1 + ORMA_TRACK_ITEMS_ROOM], *begin = bytes + 1, *end;

	if (!is_simple || !orma_track_is_fast(sequence, event->site) ||
	    (is_end && !orma_track_nesting_is_written(&sequence->nesting)))
		return false;
	/* With a new copy of the calibration, the next event can take the fast path again. */
	orma_track_clock_cache_update(&sequence->known.clock);
	end = orma_track_encode(sequence, begin, event);
	if (!end)
		return false;
	ORMA_ASSERT(end > begin && end <= bytes + sizeof(bytes) && begin[-1] == end - begin);
	if (!copy_into_chunk(slot, begin, (size_t)(end - begin)))
		return false;
	/* The event was the first one of a new chunk, in which the sequence has to begin anew. */
	if (ORMA_UNLIKELY(slot->needs_state))
		orma_track_sequence_leave_fast_path(sequence);
	if (is_end)
		orma_track_nesting_end_written(&sequence->nesting);
	else if (event->type == ORMA_EVENT_BEGIN && !is_elsewhere)
		orma_track_nesting_begin(&sequence->nesting);
	return true;
}

uint32_t orma_track_emit_to_instances(const struct orma_track_event *event, uint32_t instances)
{
	struct orma_data_source *source =
		atomic_load_explicit(&orma_track_source, memory_order_acquire);
	uint32_t given = 0;

	if (ORMA_UNLIKELY(!source))
		return 0;
	/* This is the child of a fork. `instances` may have been read before another thread removed
	 * the mark. */
	if (ORMA_UNLIKELY(instances & ORMA_TRACK_REVIVE)) {
		orma_client_revive();
		return 0;
	}
	for (uint32_t left = instances; left; left &= left - 1) {
		uint32_t idx = (uint32_t)__builtin_ctz(left);
		struct orma_packet *slot;

		ORMA_ASSERT(idx < ORMA_INSTANCES_MAX);
		slot = orma_client_slot_get(source, idx);
		if (ORMA_UNLIKELY(!slot))
			continue;
		if (!emit_fast(slot, event))
			orma_track_emit_slow(slot, idx, event);
		orma_track_slot_close(slot);
		given |= UINT32_C(1) << idx;
	}
	return given;
}

static void write_to_slot(struct orma_packet *slot, uint32_t idx, orma_track_write_fn *fn,
			  const void *ctx)
{
	uint64_t now_ns = orma_track_now_ns();

	if ((slot->needs_state && !orma_track_catch_up(slot, idx, now_ns)) ||
	    !fn(ctx, slot, now_ns))
		slot->needs_state = true;
	if (slot->needs_state)
		orma_track_sequence_leave_fast_path(slot->state);
}

void orma_track_write_to_instances(orma_track_write_fn *fn, const void *ctx)
{
	struct orma_data_source *source =
		atomic_load_explicit(&orma_track_source, memory_order_acquire);
	uint32_t instances = source ? orma_data_source_started(source) : 0;

	for (; instances; instances &= instances - 1) {
		uint32_t idx = (uint32_t)__builtin_ctz(instances);
		struct orma_packet *slot = orma_client_slot_get(source, idx);

		if (slot) {
			write_to_slot(slot, idx, fn, ctx);
			orma_client_slot_leave(slot);
		}
	}
}
