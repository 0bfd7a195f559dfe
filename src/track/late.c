/* SPDX-License-Identifier: Apache-2.0
 * late.c - ends of slices that found no room, until there is some.
 *
 * An end whose begin is in the trace is owed: it is kept with its time, its track and what it
 * carries, and written before anything else of the sequence. What it carries points into the
 * application's memory, and so is encoded at once, with its names written out, because what the
 * reader knows by then is not known yet.
 *
 * Memory is bounded, and none is needed: beyond the places that there are, an end joins the last
 * one of its track, and both get the later time; what an end carries is left out when it is large,
 * when all of them are, or without memory. An end that has lost it says so, by an argument of its
 * own with the number of items. The thread's own track always has a place. An end of another track
 * that has none is counted as a lost event.
 *
 * Rejected: ends that wait in the chunk (it is the chunk that is missing); items kept as they are
 * (their texts may be gone by then).
 */
#include "base/alloc.h"
#include "schema/gen/track_event.pb.h"
#include "track/event.h"

#define LOST_KEY "orma.items_lost"

struct orma_track_late_items {
	uint32_t size;
	/* Of its own time, if has_time. */
	uint32_t clock;
	uint64_t time;
	bool has_time;
	uint8_t data[];
};

static struct orma_track_late *places(struct orma_track_lates *lates)
{
	return lates->grown ? lates->grown : lates->few;
}

/* False: there is no place for another end of the track. */
static bool grow(struct orma_track_lates *lates, uint64_t uuid)
{
	uint32_t room = lates->grown ? lates->grown_count : ORMA_TRACK_LATE_ENDS_FEW;
	uint32_t next = room * 4;
	struct orma_track_late *grown;

	/* Other tracks leave one place for the thread's own ends, which none of them can join. */
	if (lates->count < room - (uuid != 0))
		return true;
	if (next > ORMA_TRACK_LATE_ENDS_MAX)
		next = ORMA_TRACK_LATE_ENDS_MAX;
	grown = next > room ? orma_base_alloc(next * sizeof(*grown)) : NULL;
	if (!grown)
		return false;
	memcpy(grown, places(lates), lates->count * sizeof(*grown));
	orma_base_free(lates->grown);
	lates->grown = grown;
	lates->grown_count = next;
	return true;
}

/* The item that says when, NULL = none. */
static const struct orma_item *own_time(const struct orma_track_event *event)
{
	const struct orma_item *time = NULL;
	struct orma_track_pair pair;
	size_t at = 0;

	while (orma_track_items_next(event->items, event->count, &at, &pair))
		if (!pair.key && pair.value->kind == ORMA_ITEM_TIME)
			time = pair.value;
	return time;
}

/* False: they are lost. */
static bool keep_items(struct orma_track_sequence *sequence, const struct orma_track_event *event,
		       struct orma_track_late *late)
{
	uint8_t data[ORMA_TRACK_LATE_END_BYTES];
	size_t size = orma_track_write_apart(sequence, event, data, sizeof(data));
	const struct orma_item *time = own_time(event);
	struct orma_track_late_items *items;

	if (size == 0 && !time)
		return true;
	if (size > sizeof(data) || size > ORMA_TRACK_LATE_BYTES - sequence->late.items_bytes)
		return false;
	items = orma_base_alloc(sizeof(*items) + size);
	if (!items)
		return false;
	items->size = (uint32_t)size;
	items->has_time = time != NULL;
	items->time = time ? time->value.number : 0;
	items->clock = time ? time->number : 0;
	memcpy(items->data, data, size);
	sequence->late.items_bytes += items->size;
	late->items = items;
	return true;
}

static void drop_items(struct orma_track_lates *lates, struct orma_track_late *late)
{
	if (!late->items)
		return;
	lates->items_bytes -= late->items->size;
	orma_base_free(late->items);
	late->items = NULL;
}

static struct orma_track_late *find_last(struct orma_track_lates *lates, uint64_t uuid)
{
	for (uint32_t i = lates->count; i-- > 0;)
		if (places(lates)[i].uuid == uuid)
			return &places(lates)[i];
	return NULL;
}

void orma_track_late_add(struct orma_track_sequence *sequence, const struct orma_track_event *event,
			 uint64_t uuid)
{
	static const struct orma_category ends = {.name = "(ends)"};
	struct orma_track_lates *lates = &sequence->late;
	struct orma_track_late *late;

	if (grow(lates, uuid)) {
		late = &places(lates)[lates->count++];
		*late = (struct orma_track_late){.ns = event->now_ns, .uuid = uuid, .ends = 1};
		if (event->count > 0 && !keep_items(sequence, event, late))
			late->lost_items = (uint32_t)event->count;
		return;
	}
	late = find_last(lates, uuid);
	if (!late) {
		orma_track_loss_add(sequence, &ends, event->now_ns);
		return;
	}
	late->ns = event->now_ns;
	late->ends++;
	late->lost_items += (uint32_t)event->count;
}

static bool write_one(struct orma_packet *slot, const struct orma_track_late *late)
{
	const struct orma_track_late_items *said = late->items;
	struct orma_item items[4];
	struct orma_track_event event = {
		.type = ORMA_EVENT_END, .now_ns = late->ns, .items = items};
	bool ignored;

	/* The track has been described: by whoever wrote the begin. */
	if (late->uuid)
		items[event.count++] = orma_item_of_number(
			ORMA_ITEM_FIELD_VARINT, ORMA_PB_TRACK_EVENT_TRACK_UUID, late->uuid);
	if (said && said->has_time)
		items[event.count++] = orma_item_of_number(ORMA_ITEM_TIME, said->clock, said->time);
	if (said) {
		event.encoded = said->data;
		event.encoded_size = said->size;
	}
	if (late->lost_items > 0) {
		items[event.count++] = orma_item_text(LOST_KEY, true);
		items[event.count++] = orma_item_uint(late->lost_items, false);
	}
	return orma_track_write(slot, &event, &ignored);
}

/* Those of one place. */
static bool write_late(struct orma_packet *slot, struct orma_track_late *late)
{
	struct orma_track_sequence *sequence = slot->state;

	for (; late->ends > 0; late->ends--) {
		if (!write_one(slot, late))
			return false;
		drop_items(&sequence->late, late);
		late->lost_items = 0;
	}
	return true;
}

bool orma_track_lates_write(struct orma_packet *slot)
{
	struct orma_track_lates *lates = &((struct orma_track_sequence *)slot->state)->late;
	struct orma_track_late *late = places(lates);
	uint32_t done = 0;

	while (done < lates->count && write_late(slot, &late[done]))
		done++;
	lates->count -= done;
	memmove(late, late + done, lates->count * sizeof(*late));
	if (lates->count == 0)
		orma_track_lates_done(lates);
	return lates->count == 0;
}

void orma_track_lates_done(struct orma_track_lates *lates)
{
	for (uint32_t i = 0; i < lates->count; i++)
		orma_base_free(places(lates)[i].items);
	orma_base_free(lates->grown);
	*lates = (struct orma_track_lates){0};
}
