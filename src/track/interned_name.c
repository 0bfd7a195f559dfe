/* SPDX-License-Identifier: Apache-2.0
 * interned_name.c - one id for each text of the process that is a name of events, a key, or the
 * like.
 *
 * A call site asks once, at its first event, and keeps the id. Names that are known only at run
 * time are looked up at each event. Equal texts have equal ids, whatever their addresses. The table
 * is an open-addressed array of pointers. It only grows, up to a limit, and lives as long as the
 * process (call sites are static and outlive an orma_shutdown()), so looking up takes no lock.
 * Names known only at run time must be short and may fill three quarters of the table: a program
 * that generates names can take neither all memory nor the slots of the names in its code.
 *
 * Rejected: ids per sequence (every thread would need a map from call sites), addresses as keys
 * (the same text in two files would be two names).
 */
#include "track/interned_name.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"
#include "track/sanitize_text.h"
#include "track/track_limits.h"
#include "track/track_uuid.h"

#define SLOTS (ORMA_TRACK_NAMES_MAX * (size_t)2)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t name_count; /* mutex */
/* The names by hash and by id. Both arrays are written under the mutex with release, and read by
 * any thread with acquire. */
static struct orma_track_name *_Atomic slots[SLOTS];
static struct orma_track_name *_Atomic names[ORMA_TRACK_NAMES_MAX];

static inline uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ hash >> 32;
}

/* Eight bytes at a time; the last eight overlap the ones before. Only this process uses the
 * hash. */
static inline uint64_t hash_of(const char *text, size_t size)
{
	uint64_t hash = size * UINT64_C(0x9e3779b97f4a7c15);
	const char *last;

	if (size < sizeof(uint64_t))
		return mix(hash, orma_track_text_short_word(text, size));
	last = text + size - sizeof(uint64_t);
	for (; text < last; text += sizeof(uint64_t))
		hash = mix(hash, orma_track_text_word(text));
	return mix(hash, orma_track_text_word(last));
}

/* Both texts have this size. Names are short, so that a call of memcmp() would take longer. */
static inline bool is_same(const char *a, const char *b, size_t size)
{
	const char *last;

	if (size < sizeof(uint64_t))
		return orma_track_text_short_word(a, size) == orma_track_text_short_word(b, size);
	last = a + size - sizeof(uint64_t);
	if (orma_track_text_word(last) != orma_track_text_word(b + (last - a)))
		return false;
	for (; a < last; a += sizeof(uint64_t), b += sizeof(uint64_t))
		if (orma_track_text_word(a) != orma_track_text_word(b))
			return false;
	return true;
}

/* *ret_slot: where the name is, or would be. */
static inline struct orma_track_name *find(const char *text, size_t size, size_t *ret_slot)
{
	struct orma_track_name *name;
	size_t at = hash_of(text, size) % SLOTS;

	while ((name = atomic_load_explicit(&slots[at], memory_order_acquire)) &&
	       (name->size != size || !is_same(name->text, text, size)))
		at = (at + 1) % SLOTS;
	*ret_slot = at;
	return name;
}

static struct orma_track_name *add_locked(const char *text, size_t size, size_t slot,
					  bool is_dynamic)
{
	struct orma_track_name *name;
	bool is_clean = orma_track_text_is_valid(text, size);

	if (name_count + 1 >= (is_dynamic ? ORMA_TRACK_NAMES_MAX / 4 * 3 : ORMA_TRACK_NAMES_MAX))
		return NULL;
	name = orma_base_zalloc(sizeof(*name) + (is_clean ? 1 : 2) * (size + 1));
	if (!name)
		return NULL;
	name->size = size;
	name->text = name->clean = memcpy(name + 1, text, size);
	if (!is_clean) {
		char *clean = (char *)(name + 1) + size + 1;

		orma_track_text_sanitize(clean, text, size);
		name->clean = clean;
	}
	name->counter_hash = orma_track_counter_hash(name->text);
	name->id = ++name_count;
	ORMA_ASSERT(name->id < ORMA_TRACK_NAMES_MAX);
	atomic_store_explicit(&names[name->id], name, memory_order_release);
	atomic_store_explicit(&slots[slot], name, memory_order_release);
	return name;
}

static __attribute__((cold, noinline)) uint32_t add(const char *text, size_t size, bool is_dynamic)
{
	struct orma_track_name *name;
	size_t slot;

	pthread_mutex_lock(&mutex);
	name = find(text, size, &slot);
	if (!name)
		name = add_locked(text, size, slot, is_dynamic);
	pthread_mutex_unlock(&mutex);
	return name ? name->id : 0;
}

uint32_t orma_track_name_intern_size(const char *text, size_t size, bool is_dynamic)
{
	const struct orma_track_name *name;
	size_t slot;

	if (size > (is_dynamic ? ORMA_TRACK_DYNAMIC_NAME_BYTES : ORMA_TRACK_NAME_BYTES))
		return 0;
	name = find(text, size, &slot);
	return ORMA_LIKELY(name != NULL) ? name->id : add(text, size, is_dynamic);
}

/* The thread that may have held the mutex does not exist here. A name that it was adding is there
 * or not; at worst an id is lost. */
void orma_track_interned_names_forked(void)
{
	pthread_mutex_init(&mutex, NULL);
}

const struct orma_track_name *orma_track_name_get(uint32_t id)
{
	ORMA_ASSERT(id > 0 && id < ORMA_TRACK_NAMES_MAX);
	return atomic_load_explicit(&names[id], memory_order_acquire);
}
