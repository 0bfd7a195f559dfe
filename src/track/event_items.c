/* SPDX-License-Identifier: Apache-2.0
 * event_items.c - reading a list of items: keys, values, and items with a meaning of their own.
 *
 * The list is on the application's stack. Every list is valid. A text where a key is expected
 * counts as a key, even if it was meant as a value, so a forgotten key is visible in the trace.
 *
 * Rejected: a marker on each key (every call would carry it).
 */
#include "track/event_items.h"

static bool is_value(const struct orma_item *item)
{
	return item->kind < ORMA_ITEM_FLOW;
}

struct orma_str orma_track_item_text(const struct orma_item *item)
{
	const char *text = item->value.text;

	if (item->kind == ORMA_ITEM_TEXT_SIZED)
		return text ? (struct orma_str){text, item->number} : ORMA_STR("");
	return orma_base_str(text ? text : ORMA_TRACK_NO_TEXT);
}

bool orma_track_items_next(const struct orma_item *items, size_t count, size_t *at,
			   struct orma_track_pair *ret)
{
	const struct orma_item *first;

	do {
		if (*at >= count)
			return false;
		first = &items[(*at)++];
	} while (first->kind == ORMA_ITEM_NONE);
	*ret = (struct orma_track_pair){.value = first};
	if (!orma_track_item_is_text(first))
		return true;
	*ret = (struct orma_track_pair){.key = first};
	if (*at < count && is_value(&items[*at]))
		ret->value = &items[(*at)++];
	return true;
}

const char *orma_track_event_name(const struct orma_track_event *event, bool *ret_is_dynamic)
{
	struct orma_track_pair pair;
	size_t at = 0;

	*ret_is_dynamic = false;
	if (!event->site)
		return NULL;
	if (event->site->name)
		return event->site->name;
	while (orma_track_items_next(event->items, event->count, &at, &pair)) {
		if (!pair.key && pair.value->kind == ORMA_ITEM_NAME) {
			*ret_is_dynamic = true;
			return pair.value->value.text;
		}
	}
	return NULL;
}
