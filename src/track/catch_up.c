/* SPDX-License-Identifier: Apache-2.0
 * catch_up.c - begins a sequence, and writes its pending ends and losses before anything else.
 *
 * Pending ends are written with their own times, so the sequence's time begins with the first of
 * them. Losses follow, each as an instant "events lost" of the category "orma.loss" on the thread's
 * track: its category, the number of events, and their period.
 */
#include "track/catch_up.h"

#include "schema/gen/track_event.pb.h"
#include "track/encode_event.h"
#include "track/loss.h"
#include "track/sequence_begin.h"

#define LOST_ITEMS_KEY "orma.items_lost"

static bool write_event(struct orma_packet *slot, const struct orma_track_event *event)
{
	struct orma_track_lookup lookup;
	struct orma_track_encoder encoder;

	orma_track_lookup_init(&lookup, event);
	orma_track_encode_event(&encoder, slot, event, &lookup);
	return orma_track_encoder_commit(&encoder, slot);
}

/* --- pending ends ----------------------------------------------------------------------------- */

static bool write_end(struct orma_packet *slot, const struct orma_track_pending_end *end)
{
	const struct orma_track_pending_items *carried = end->items;
	struct orma_item items[4];
	struct orma_track_event event = {.type = ORMA_EVENT_END, .now_ns = end->ns, .items = items};

	/* The track was described before the begin of the slice. */
	if (end->uuid)
		items[event.count++] = orma_item_of_number(
			ORMA_ITEM_FIELD_VARINT, ORMA_PB_TRACK_EVENT_TRACK_UUID, end->uuid);
	if (carried && carried->has_time)
		items[event.count++] =
			orma_item_of_number(ORMA_ITEM_TIME, carried->clock, carried->time);
	if (carried) {
		event.encoded = carried->data;
		event.encoded_size = carried->size;
	}
	if (end->lost_items > 0) {
		items[event.count++] = orma_item_text(LOST_ITEMS_KEY, true);
		items[event.count++] = orma_item_uint(end->lost_items, false);
	}
	return write_event(slot, &event);
}

static bool write_pending_ends(struct orma_packet *slot)
{
	struct orma_track_pending_ends *ends =
		&((struct orma_track_sequence *)slot->state)->pending_ends;
	struct orma_track_pending_end *end = orma_track_pending_ends_array(ends);
	uint32_t done = 0;

	while (done < ends->count && write_end(slot, &end[done])) {
		orma_track_pending_ends_written(ends, &end[done]);
		done += end[done].ends == 0;
	}
	orma_track_pending_ends_remove(ends, done);
	return ends->count == 0;
}

/* --- losses ----------------------------------------------------------------------------------- */

static bool write_loss(struct orma_packet *slot, const struct orma_track_loss *loss,
		       uint64_t now_ns)
{
	/* Not in the list of categories: it has no id, and no instance can disable it. */
	static const struct orma_category category = {.name = "orma.loss",
						      .id = ORMA_TRACK_CATEGORIES_MAX};
	static struct orma_call_site site = {.name = "events lost", .type = ORMA_EVENT_INSTANT};
	const struct orma_item items[] = {
		orma_item_text("category", true),
		orma_item_text(orma_track_loss_name(loss), true),
		orma_item_text("events", true),
		orma_item_uint(loss->events, false),
		orma_item_text("during_ns", true),
		orma_item_uint(now_ns > loss->begin_ns ? now_ns - loss->begin_ns : 0, false),
	};
	const struct orma_track_event event = {.site = &site,
					       .category = &category,
					       .type = ORMA_EVENT_INSTANT,
					       .now_ns = now_ns,
					       .items = items,
					       .count = ORMA_ARRAY_SIZE(items)};

	return write_event(slot, &event);
}

static bool write_losses(struct orma_packet *slot, uint64_t now_ns)
{
	struct orma_track_sequence *sequence = slot->state;

	for (uint32_t i = 0; i < ORMA_TRACK_LOSSES_MAX; i++) {
		struct orma_track_loss *loss = &sequence->losses[i];

		if (loss->events == 0)
			continue;
		if (!write_loss(slot, loss, now_ns))
			return false;
		*loss = (struct orma_track_loss){0};
	}
	return true;
}

bool orma_track_catch_up(struct orma_packet *slot, uint32_t idx, uint64_t now_ns)
{
	struct orma_track_sequence *sequence = slot->state;
	struct orma_track_pending_ends *ends = &sequence->pending_ends;
	uint64_t begin_ns = ends->count > 0 ? orma_track_pending_ends_array(ends)->ns : now_ns;

	orma_track_clock_refresh();
	if (!orma_track_sequence_begin(slot, idx, begin_ns) || !write_pending_ends(slot) ||
	    !write_losses(slot, now_ns))
		return false;
	sequence->known.allows_fast_path = orma_track_sequence_may_use_fast_path(sequence);
	return true;
}
