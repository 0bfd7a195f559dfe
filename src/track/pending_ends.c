/* SPDX-License-Identifier: Apache-2.0
 * pending_ends.c - ends of slices that found no room, until there is some.
 *
 * An end whose begin is in the trace must follow. It is kept with its time, its track and its
 * items, and written before anything else of the sequence (catch_up.c). Its items point into the
 * application's memory, so they are kept encoded, with their names written out: it is not known yet
 * which ids the reader will know when the end is written.
 *
 * Memory is bounded, and the list works without any. When there is no slot for another end, the end
 * joins the last one of its track, and both get the later time. The items of an end are dropped
 * when they are too large, when all pending ends together carry too much, or without memory. The
 * end then says how many items it lost. The thread's own track always has a slot. An end of another
 * track that has none is not kept, and the caller counts it as a lost event.
 *
 * Rejected: ends that wait in the chunk (the chunk is what is missing); items kept as they are
 * (their texts may be gone by the time they are written).
 */
#include "track/pending_ends.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"

#define GROWTH 4

/* False: there is no slot for another end of the track. */
static bool grow(struct orma_track_pending_ends *ends, uint64_t uuid)
{
	uint32_t room = ends->grown ? ends->grown_count : ORMA_TRACK_PENDING_ENDS_EMBEDDED;
	uint32_t next = ORMA_MIN(room * GROWTH, (uint32_t)ORMA_TRACK_PENDING_ENDS_MAX);
	struct orma_track_pending_end *grown;

	ORMA_ASSERT(ends->count <= room);
	/* Other tracks leave one slot free for the thread's own ends, which cannot join any of
	 * theirs. */
	if (ends->count < room - (uuid != 0))
		return true;
	grown = next > room ? orma_base_alloc(next * sizeof(*grown)) : NULL;
	if (!grown)
		return false;
	memcpy(grown, orma_track_pending_ends_array(ends), ends->count * sizeof(*grown));
	orma_base_free(ends->grown);
	ends->grown = grown;
	ends->grown_count = next;
	return true;
}

/* False: what the end carries is lost. */
static bool keep_items(struct orma_track_pending_ends *ends, struct orma_track_pending_end *end,
		       const struct orma_track_end_content *content)
{
	struct orma_track_pending_items *items;

	if (content->is_too_large ||
	    content->size > ORMA_TRACK_PENDING_ENDS_BYTES - ends->items_bytes)
		return false;
	if (content->size == 0 && !content->has_time)
		return true;
	items = orma_base_alloc(sizeof(*items) + content->size);
	if (!items)
		return false;
	items->size = (uint32_t)content->size;
	items->has_time = content->has_time;
	items->time = content->time;
	items->clock = content->clock;
	memcpy(items->data, content->data, content->size);
	ends->items_bytes += items->size;
	ORMA_ASSERT(ends->items_bytes <= ORMA_TRACK_PENDING_ENDS_BYTES);
	end->items = items;
	return true;
}

static struct orma_track_pending_end *find_last(struct orma_track_pending_ends *ends, uint64_t uuid)
{
	struct orma_track_pending_end *array = orma_track_pending_ends_array(ends);

	for (uint32_t i = ends->count; i-- > 0;)
		if (array[i].uuid == uuid)
			return &array[i];
	return NULL;
}

bool orma_track_pending_ends_add(struct orma_track_pending_ends *ends, uint64_t now_ns,
				 uint64_t uuid, const struct orma_track_end_content *content)
{
	struct orma_track_pending_end *end;

	if (grow(ends, uuid)) {
		end = &orma_track_pending_ends_array(ends)[ends->count++];
		*end = (struct orma_track_pending_end){.ns = now_ns, .uuid = uuid, .ends = 1};
		if (!keep_items(ends, end, content))
			end->lost_items = (uint32_t)content->item_count;
		return true;
	}
	end = find_last(ends, uuid);
	if (!end)
		return false;
	ORMA_ASSERT(end->ends > 0);
	end->ns = now_ns;
	end->ends++;
	end->lost_items += (uint32_t)content->item_count;
	return true;
}

void orma_track_pending_ends_written(struct orma_track_pending_ends *ends,
				     struct orma_track_pending_end *end)
{
	ORMA_ASSERT(end->ends > 0);
	end->ends--;
	end->lost_items = 0;
	if (!end->items)
		return;
	ORMA_ASSERT(ends->items_bytes >= end->items->size);
	ends->items_bytes -= end->items->size;
	orma_base_free(end->items);
	end->items = NULL;
}

void orma_track_pending_ends_remove(struct orma_track_pending_ends *ends, uint32_t count)
{
	struct orma_track_pending_end *array = orma_track_pending_ends_array(ends);

	ORMA_ASSERT(count <= ends->count);
	ends->count -= count;
	memmove(array, array + count, ends->count * sizeof(*array));
	if (ends->count == 0)
		orma_track_pending_ends_done(ends);
}

void orma_track_pending_ends_done(struct orma_track_pending_ends *ends)
{
	for (uint32_t i = 0; i < ends->count; i++)
		orma_base_free(orma_track_pending_ends_array(ends)[i].items);
	orma_base_free(ends->grown);
	*ends = (struct orma_track_pending_ends){0};
}
