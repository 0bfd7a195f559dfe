/* SPDX-License-Identifier: Apache-2.0
 * lookup.c - reads the items of an event, and decides whether its instance wants the event.
 *
 * Reads the items once for everything that is needed before the first byte is written. Arguments
 * are left to the encoder, which walks them in order.
 */
#include "track/lookup.h"

#include "base/map.h"
#include "track/async_slices.h"
#include "track/category_list.h"

/* The state that a track is in from now on: a text, or none. */
static struct orma_str state_of(const struct orma_item *value)
{
	if (!value || !orma_track_item_is_text(value) ||
	    (value->kind != ORMA_ITEM_TEXT_SIZED && !value->value.text))
		return (struct orma_str){0};
	return orma_track_item_text(value);
}

static void read_item(struct orma_track_lookup *lookup, const struct orma_item *item)
{
	switch (item->kind) {
	case ORMA_ITEM_TRACK:
		lookup->track = item->value.track;
		break;
	case ORMA_ITEM_TIME:
		lookup->time = item;
		break;
	case ORMA_ITEM_CATEGORY:
		lookup->category = item;
		break;
	case ORMA_ITEM_NO_INTERN:
		lookup->is_name_inline = true;
		break;
	default:
		if (item->kind < ORMA_ITEM_DICT && !lookup->value)
			lookup->value = item;
		break;
	}
}

static void read_items(struct orma_track_lookup *lookup, const struct orma_track_event *event)
{
	struct orma_track_pair pair;
	size_t at = 0;

	/* The value of a state comes right behind the name. It may be a text, which would be taken
	 * for a key further down. */
	if (event->type == ORMA_EVENT_STATE) {
		at = event->count > 0 && event->items[0].kind == ORMA_ITEM_NAME;
		if (at < event->count)
			lookup->value = &event->items[at++];
	}
	lookup->first = at;
	while (orma_track_items_next(event->items, event->count, &at, &pair))
		if (!pair.key)
			read_item(lookup, pair.value);
}

void orma_track_lookup_init(struct orma_track_lookup *lookup, const struct orma_track_event *event)
{
	const char *name;

	*lookup = (struct orma_track_lookup){.is_wanted = true};
	name = orma_track_event_name(event, &lookup->is_name_dynamic);
	read_items(lookup, event);
	if (name)
		lookup->name = orma_base_str(name);
	if (event->type >= ORMA_EVENT_COUNTER && !lookup->track) {
		lookup->named.name = name;
		lookup->named.kind =
			event->type == ORMA_EVENT_COUNTER ? ORMA_TRACK_COUNTER : ORMA_TRACK_STATE;
		lookup->track = &lookup->named;
	}
	if (event->type == ORMA_EVENT_STATE) {
		lookup->name = state_of(lookup->value);
		lookup->is_name_dynamic = lookup->value && lookup->value->kind != ORMA_ITEM_LITERAL;
	}
}

/* The uuid of a slice's track if that is not the thread's own; else 0. */
static uint64_t slice_uuid(const struct orma_track_event *event,
			   const struct orma_track_lookup *lookup)
{
	uint64_t uuid;

	if ((event->type != ORMA_EVENT_BEGIN && event->type != ORMA_EVENT_END) || !lookup->track)
		return 0;
	uuid = orma_track_uuid(lookup->track);
	return uuid == orma_track_uuid(NULL) ? 0 : uuid;
}

/* The sequence remembers a few answers by the hash of the name and tags. */
bool orma_track_named_category_is_wanted(struct orma_track_sequence *sequence, uint32_t idx,
					 const char *name, const char *tags)
{
	uint64_t hash, *slot;

	if (!name)
		return false;
	hash = orma_base_fnv1a(ORMA_FNV1A_INIT, name, strlen(name));
	if (tags)
		hash = orma_base_fnv1a(hash ^ 1, tags, strlen(tags));
	/* The lowest bit is the answer. The bit above it is always set, so that no entry is 0. */
	hash |= 2;
	slot = &sequence->known.dynamic[hash >> (64 - ORMA_TRACK_DYNAMIC_BITS)];
	if (((*slot ^ hash) & ~UINT64_C(1)) != 0)
		*slot = (hash & ~UINT64_C(1)) | orma_track_categories_want(idx, name, tags);
	return *slot & 1;
}

static bool is_wanted(struct orma_track_sequence *sequence, uint32_t idx,
		      const struct orma_track_event *event, const struct orma_track_lookup *lookup)
{
	const char *name, *tags;

	/* The end of a slice is written if its begin was, whatever the categories are now. */
	if (event->type == ORMA_EVENT_END)
		return lookup->slice_uuid ? orma_track_async_end(idx, lookup->slice_uuid)
					  : orma_track_nesting_end(&sequence->nesting);
	if (event->category != &orma_category_dynamic)
		return true;
	if (!lookup->category)
		return false;
	name = orma_track_item_category(lookup->category, &tags);
	return orma_track_named_category_is_wanted(sequence, idx, name, tags);
}

void orma_track_look_up(struct orma_track_sequence *sequence, uint32_t idx,
			const struct orma_track_event *event, struct orma_track_lookup *ret)
{
	orma_track_lookup_init(ret, event);
	ret->slice_uuid = slice_uuid(event, ret);
	ret->is_wanted = is_wanted(sequence, idx, event, ret);
}
