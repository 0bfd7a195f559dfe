/* SPDX-License-Identifier: Apache-2.0
 * call_site.c - call sites: the bytes that all events of a call site share, encoded once.
 *
 *   blob:  PP 5a LL 48 TT 18 CC 50 NN            68 02 40    then the time
 *          |  |     |     |     |    \ items go here    \ tag of the timestamp
 *          |  |     |     |     name                 sequence_flags
 *          |  |     type  category                   (needs incremental state)
 *          |  TrackEvent, its length
 *          size of the packet without items, with a time of two bytes
 *
 *   of a counter:  00 5a LL 48 04 58 UUID...     then value, flags, time
 *
 * A site is armed at its first event, under the mutex, and then does not change as long as the
 * process lives. In the child of a fork every sequence begins anew, and the first thread that comes
 * here gives counters the child's tracks.
 *
 * Readers take no lock. A thread reads a site's bytes only if its sequence has the site's bit, and
 * the same thread has set that bit after it was here. Only the id is read before that, relaxed. A
 * key is published by storing its text with release.
 *
 * `id` and the keys' texts are members of structs in public headers, which C++ programs include:
 * hence the __atomic builtins instead of C11's _Atomic.
 *
 * Rejected: blobs on the heap (one more cache line to miss), blobs made by the macros at compile
 * time (ids are not known then).
 */
#include "track/call_site.h"

#include <pthread.h>

#include "base/assert.h"
#include "proto/wire.h"
#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_event.pb.h"
#include "track/category_id.h"
#include "track/category_rule.h"
#include "track/event_items.h"
#include "track/interned_name.h"
#include "track/process_info.h"
#include "track/track_limits.h"

#define EVENT_TAG (ORMA_PB_TRACE_PACKET_TRACK_EVENT << 3 | ORMA_PROTO_BYTES)

#define CATEGORIES_MAX 3
static_assert(1 + 2 + 2 + 3 + 3 + 3 <= ORMA_TRACK_BLOB_BYTES,
	      "size, head, type, category, name, tail");
static_assert(ORMA_TRACK_NAMES_MAX <= 1 << 14, "ids of keys take two bytes");
static_assert(1 + 2 + 2 + 11 <= ORMA_TRACK_BLOB_BYTES, "size, head, type, track");

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t site_count; /* mutex */

static uint8_t *put_field(uint8_t *at, uint32_t field_id, uint64_t value)
{
	at = orma_proto_put_varint(at, orma_proto_tag(field_id, ORMA_PROTO_VARINT));
	return orma_proto_put_varint(at, value);
}

/* The ids of the category or of the members of the group. NULL: one has no id, or there are too
 * many. */
static uint8_t *put_categories(uint8_t *at, const struct orma_category *category)
{
	const char *names = category->name, *text;
	struct orma_str member;
	int count = 0;

	if (category->id < ORMA_TRACK_CATEGORIES_MAX)
		return put_field(at, ORMA_PB_TRACK_EVENT_CATEGORY_IIDS, category->id);
	if (!strchr(names, ','))
		return NULL;
	while (orma_track_list_next(&names, &member)) {
		uint32_t id = orma_track_category_id(member, &text);

		if (id >= ORMA_TRACK_CATEGORIES_MAX || ++count > CATEGORIES_MAX)
			return NULL;
		at = put_field(at, ORMA_PB_TRACK_EVENT_CATEGORY_IIDS, id);
	}
	return at;
}

/* False: the blob would be too long. */
static bool encode(struct orma_call_site *site, uint32_t name)
{
	uint8_t blob[5 + 3 * CATEGORIES_MAX + 6], *begin = blob + 1, *at = begin;

	*at++ = EVENT_TAG;
	*at++ = 0;
	at = put_field(at, ORMA_PB_TRACK_EVENT_TYPE, site->type);
	if (site->type != ORMA_EVENT_END)
		at = put_categories(at, site->category);
	if (!at)
		return false;
	if (name)
		at = put_field(at, ORMA_PB_TRACK_EVENT_NAME_IID, name);
	begin[1] = (uint8_t)(at - begin - 2);
	at = put_field(at, ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS,
		       ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_NEEDS_INCREMENTAL_STATE);
	*at++ = ORMA_PB_TRACE_PACKET_TIMESTAMP << 3 | ORMA_PROTO_VARINT;
	if (at > blob + ORMA_TRACK_BLOB_BYTES)
		return false;
	blob[0] = (uint8_t)(at - begin + 2);
	ORMA_ASSERT((size_t)(at - blob) <= sizeof(site->blob));
	memcpy(site->blob, blob, (size_t)(at - blob));
	site->blob_size = (uint8_t)(at - begin);
	return true;
}

/* The uuid of the track depends on the process: the child of a fork encodes it again. */
static void encode_counter(struct orma_call_site *site, uint32_t name)
{
	uint64_t uuid = orma_track_process.uuid ^ orma_track_name_get(name)->counter_hash;
	uint8_t blob[ORMA_TRACK_BLOB_BYTES] = {0}, *begin = blob + 1, *at = begin;

	*at++ = EVENT_TAG;
	*at++ = 0;
	at = put_field(at, ORMA_PB_TRACK_EVENT_TYPE, ORMA_EVENT_COUNTER);
	at = put_field(at, ORMA_PB_TRACK_EVENT_TRACK_UUID, uuid);
	if (memcmp(site->blob, blob, sizeof(blob)) == 0)
		return;
	memcpy(site->blob, blob, sizeof(blob));
	site->blob_size = (uint8_t)(at - begin);
}

/* The key may be known already. */
static void remember_key(struct orma_key *key, const char *text)
{
	uint16_t id;

	if (key->text || !text)
		return;
	id = (uint16_t)orma_track_name_intern_size(text, strlen(text), false);
	if (id == 0)
		return;
	key->code[0] = ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS << 3 | ORMA_PROTO_BYTES;
	key->code[2] = ORMA_PB_DEBUG_ANNOTATION_NAME_IID << 3 | ORMA_PROTO_VARINT;
	/* Always two bytes, so that the value always begins at the same offset. */
	key->code[3] = (uint8_t)(id | 0x80);
	key->code[4] = (uint8_t)(id >> 7);
	memcpy(key->code + ORMA_TRACK_KEY_ID_AT, &id, sizeof(id));
	__atomic_store_n(&key->text, text, __ATOMIC_RELEASE);
}

static void remember_keys(struct orma_call_site *site, const struct orma_track_event *event)
{
	struct orma_track_pair pair;
	uint32_t idx = 0;

	for (size_t at = 0; idx < site->key_count &&
			    orma_track_items_next(event->items, event->count, &at, &pair);) {
		if (!pair.key)
			continue;
		if (pair.key->kind == ORMA_ITEM_LITERAL)
			remember_key(&site->keys[idx], pair.key->value.text);
		idx++;
	}
}

/* Gives the site an id, or ORMA_TRACK_SITES_MAX if its name or category has none. */
static void identify_locked(struct orma_call_site *site, uint32_t name)
{
	bool is_counter = site->type == ORMA_EVENT_COUNTER;
	uint32_t id = ORMA_TRACK_SITES_MAX;

	if (site_count + 1 < ORMA_TRACK_SITES_MAX && (!site->name || name != 0) &&
	    (is_counter || encode(site, name)))
		id = ++site_count;
	__atomic_store_n(&site->id, id, __ATOMIC_RELAXED);
}

static bool arm_locked(const struct orma_track_event *event)
{
	struct orma_call_site *site = event->site;
	bool is_counter = site->type == ORMA_EVENT_COUNTER;
	uint32_t name = 0;

	if ((site->id == 0 || is_counter) && site->name)
		name = orma_track_name_intern(site->name);
	if (site->id == 0)
		identify_locked(site, name);
	if (site->id == ORMA_TRACK_SITES_MAX)
		return false;
	if (is_counter)
		encode_counter(site, name);
	remember_keys(site, event);
	return true;
}

bool orma_track_site_arm(const struct orma_track_event *event)
{
	bool is_armed;

	/* An earlier attempt has failed. */
	if (__atomic_load_n(&event->site->id, __ATOMIC_RELAXED) == ORMA_TRACK_SITES_MAX)
		return false;
	/* Whether an event is wanted depends on the category that it names. */
	if (event->category == &orma_category_dynamic)
		return false;
	/* A state, and a counter whose name is known only at run time, are looked up each time. */
	if (event->site->type == ORMA_EVENT_STATE ||
	    (event->site->type == ORMA_EVENT_COUNTER && !event->site->name))
		return false;
	pthread_mutex_lock(&mutex);
	is_armed = arm_locked(event);
	pthread_mutex_unlock(&mutex);
	return is_armed;
}

void orma_track_sites_forked(void)
{
	/* The thread that may have held the mutex does not exist here. A site that it was arming
	 * has no id yet. */
	pthread_mutex_init(&mutex, NULL);
}
