/* SPDX-License-Identifier: Apache-2.0
 * event_items.h - how the list of an event's items is read.
 */
#ifndef ORMA_TRACK_EVENT_ITEMS_H
#define ORMA_TRACK_EVENT_ITEMS_H

#include <stdbool.h>

#include "base/str.h"
#include "track/event.h"

/* Stands for a text whose pointer is NULL. */
#define ORMA_TRACK_NO_TEXT "NULL"

struct orma_track_pair {
	const struct orma_item *key;   /* NULL = none */
	const struct orma_item *value; /* NULL = a key alone */
};

static inline bool orma_track_item_is_text(const struct orma_item *item)
{
	return item->kind == ORMA_ITEM_TEXT || item->kind == ORMA_ITEM_LITERAL ||
	       item->kind == ORMA_ITEM_TEXT_SIZED;
}
/* The item must be a text. */
struct orma_str orma_track_item_text(const struct orma_item *item);
/* Moves *at past the next pair; false at the end. A pair without a key is an item with a meaning of
 * its own (a track, a flow, ...) or a value that lacks a key. */
bool orma_track_items_next(const struct orma_item *items, size_t count, size_t *at,
			   struct orma_track_pair *ret);
/* The name among the items, or the site's; NULL = none. */
const char *orma_track_event_name(const struct orma_track_event *event, bool *ret_is_dynamic);

/* The category that ORMA_CATEGORY() or ORMA_CATEGORY_OF() names; NULL = none. */
static inline const char *orma_track_item_category(const struct orma_item *item,
						   const char **ret_tags)
{
	const struct orma_category *category = item->number ? item->value.category : NULL;

	*ret_tags = category ? category->tags : NULL;
	return category ? category->name : item->number ? NULL : item->value.text;
}

#endif
