/* SPDX-License-Identifier: Apache-2.0
 * event.h - one event on its way from the application into the packets of its instances.
 *
 * A *site* is a call site. It is *armed* when it has an id and its pre-encoded bytes (the blob):
 * everything of its packets that is the same in all sequences, because ids are the process's.
 */
#ifndef ORMA_TRACK_EVENT_PRIVATE_H
#define ORMA_TRACK_EVENT_PRIVATE_H

#include <orma/track_event.h>

#include "track/track.h"

struct orma_track_event {
	struct orma_call_site *site; /* NULL for an end without items */
	const struct orma_category *category;
	uint32_t type; /* enum orma_event_type */
	uint64_t now_ns;
	const struct orma_item *items;
	size_t count;
	/* Fields of the TrackEvent that are encoded already, behind the items. */
	const void *encoded;
	size_t encoded_size;
};

/* item.c: how a list of items is read. */
struct orma_track_pair {
	const struct orma_item *key;   /* NULL = none */
	const struct orma_item *value; /* NULL = a key alone */
};
#define ORMA_TRACK_NO_TEXT "NULL"

/* Of an item of a kind of text. */
struct orma_str orma_track_item_text(const struct orma_item *item);
static inline bool orma_track_item_is_text(const struct orma_item *item)
{
	return item->kind == ORMA_ITEM_TEXT || item->kind == ORMA_ITEM_LITERAL ||
	       item->kind == ORMA_ITEM_TEXT_SIZED;
}
/* False at the end; moves *at on. Without a key: an item with a meaning of its own, or a stray
 * value. */
bool orma_track_items_next(const struct orma_item *items, size_t count, size_t *at,
			   struct orma_track_pair *ret);
/* The name among the items, or the site's; NULL = none. */
const char *orma_track_event_name(const struct orma_track_event *event, bool *ret_is_dynamic);

/* What ORMA_CATEGORY() or ORMA_CATEGORY_OF() says; NULL = nothing. */
static inline const char *orma_track_item_category(const struct orma_item *item,
						   const char **ret_tags)
{
	const struct orma_category *category = item->number ? item->value.category : NULL;

	*ret_tags = category ? category->tags : NULL;
	return category ? category->name : item->number ? NULL : item->value.text;
}

/*
 * What a call site remembers of a key: the beginning of an argument that has it, as bytes that are
 * copied at once: 22 LL 08 ID ID, with the length left open; then the id of the key's text.
 */
#define ORMA_TRACK_KEY_CODE_BYTES 5
#define ORMA_TRACK_KEY_ID_AT      6

static inline uint32_t orma_track_key_id(const struct orma_key *key)
{
	uint16_t id;

	memcpy(&id, key->code + ORMA_TRACK_KEY_ID_AT, sizeof(id));
	return id;
}

/* site.c */
/*
 * Gives the site an id, encodes what is the same in all its events, remembers the keys that are
 * literals. False: its names have no ids, and it stays as it is. Takes a lock.
 */
bool orma_track_site_arm(const struct orma_track_event *event);
/* In the child of a fork; async-signal-safe. */
void orma_track_sites_forked(void);

/* write.c */
/* One packet for any event, with what has to be declared for it. False: lost. *ret_knows_site: the
 * sequence now knows all that the site's bytes refer to. */
bool orma_track_write(struct orma_packet *slot, const struct orma_track_event *event,
		      bool *ret_knows_site);

/*
 * Arguments and whatever else the items say, but the track and the time, as fields of a TrackEvent
 * that need nothing declared. Returns their size; `size` + 1: more than that.
 */
size_t orma_track_write_apart(struct orma_track_sequence *sequence,
			      const struct orma_track_event *event, uint8_t *data, size_t size);

/* late.c */
/* Remembers an end; `uuid`: its track, 0 = the thread's. */
void orma_track_late_add(struct orma_track_sequence *sequence, const struct orma_track_event *event,
			 uint64_t uuid);
/* False: there is no room for all of them. */
bool orma_track_lates_write(struct orma_packet *slot);

/*
 * The sequence's bit of the site: its bytes mean something to the reader (see `sites` in track.h).
 * Without a site, the end of a slice: whether such bytes do at all.
 */
static inline bool orma_track_can_encode(const struct orma_track_sequence *sequence,
					 const struct orma_call_site *site)
{
	if (!site)
		return sequence->known.is_plain;
	return orma_track_has_bit(sequence->known.sites,
				  __atomic_load_n(&site->id, __ATOMIC_RELAXED));
}

static inline void orma_track_slot_close(struct orma_packet *slot)
{
	atomic_signal_fence(memory_order_seq_cst);
	orma_client_slot_leave(slot);
}

/* each.c: to the instances whose bits are set; the bits of those that took it. */
uint32_t orma_track_emit_each(const struct orma_track_event *event, uint32_t instances);

/* loss.c: counts, and slices on tracks that are no thread's. */
void orma_track_loss_add(struct orma_track_sequence *sequence, const struct orma_category *category,
			 uint64_t now_ns);
/* False: there is no room for saying so. */
bool orma_track_losses_write(struct orma_packet *slot, uint64_t now_ns);
/* False: a begin on the track must not be written; see orma_track_nesting_may_begin(). */
bool orma_track_async_may_begin(uint32_t idx, uint64_t uuid);
void orma_track_async_begin(uint32_t idx, uint64_t uuid, bool is_written);
/* True when the begin of the track's innermost slice is in the trace, as far as is known. */
bool orma_track_async_end(uint32_t idx, uint64_t uuid);
/* False: no slice of such a track is known to have been lost, and nothing need be noted. */
bool orma_track_has_asyncs(void);
/* The instance begins anew. */
void orma_track_async_forget(uint32_t idx);
void orma_track_asyncs_forked(void);

/* slice.c */
/* Brings the sequence into a state in which events can be read. False: no room. */
bool orma_track_prepare(struct orma_packet *slot, uint32_t idx, uint64_t now_ns);
/* Something was lost: no short ways until the sequence has been prepared anew. */
void orma_track_become_not_plain(struct orma_track_sequence *sequence);
/* Whatever the short ways cannot do: also the first event, the first after a loss, the lost. */
void orma_track_emit_slow(struct orma_packet *slot, uint32_t idx,
			  const struct orma_track_event *event);

/* track_event.c: there is a category; so the data source is registered, now or by orma_init(). */
void orma_track_event_want(void);

/* There from registration to orma_shutdown(); release, acquire. */
extern struct orma_data_source *_Atomic orma_track_source;

#endif
