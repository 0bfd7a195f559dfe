/* SPDX-License-Identifier: Apache-2.0
 * call_site.h - call sites, and the bytes that all their events share.
 *
 * A site is *armed* when it has an id and pre-encoded bytes (the blob). These are the same in all
 * sequences, because ids belong to the process.
 */
#ifndef ORMA_TRACK_CALL_SITE_H
#define ORMA_TRACK_CALL_SITE_H

#include <string.h>

#include "track/event.h"
#include "track/sequence_state.h"

/*
 * `code` of a key holds the first bytes of an argument with this key, which are copied at once
 * (22 LL 08 ID ID, with the length LL left open), and behind them the id of the key's text.
 */
#define ORMA_TRACK_KEY_CODE_BYTES 5
#define ORMA_TRACK_KEY_ID_AT      6

/* A blob with the byte in front of its packet; copied with one store. */
#define ORMA_TRACK_BLOB_BYTES 16

static inline uint32_t orma_track_key_id(const struct orma_key *key)
{
	uint16_t id;

	memcpy(&id, key->code + ORMA_TRACK_KEY_ID_AT, sizeof(id));
	return id;
}

/*
 * Arms the site of an event: gives it an id, encodes what all its events have in common, and
 * remembers the keys that are literals. False: one of its names has no id, and the site stays
 * unarmed. Takes a lock.
 */
bool orma_track_site_arm(const struct orma_track_event *event);
/* The child of a fork calls this; async-signal-safe. */
void orma_track_sites_forked(void);

/* 0 = not armed yet; ORMA_TRACK_SITES_MAX = cannot be armed. Relaxed: only the sequence's bit of
 * the id tells whether the site's bytes may be read (see call_site.c). */
static inline uint32_t orma_track_site_id(const struct orma_call_site *site)
{
	return __atomic_load_n(&site->id, __ATOMIC_RELAXED);
}

/*
 * Whether events of the site may take the fast path in this sequence: the sequence's bit of the
 * site (see `sites`). Without a site, for the end of a slice: whether any event may.
 */
static inline bool orma_track_is_fast(const struct orma_track_sequence *sequence,
				      const struct orma_call_site *site)
{
	if (!site)
		return sequence->known.allows_fast_path;
	return orma_track_has_bit(sequence->known.sites, orma_track_site_id(site));
}

#endif
