/* SPDX-License-Identifier: Apache-2.0
 * name.c - one id for each event name of the process.
 *
 * A call site asks once, at its first event, and keeps the id. Equal texts get equal ids whatever
 * their address. The table only grows, up to a limit, and lives as long as the process: call sites
 * are static and outlive an orma_shutdown(). Rejected: ids per sequence (every thread would need a
 * map from call sites), addresses as keys (the same text in two files would be two names).
 */
#include "track/track.h"

#include "base/alloc.h"
#include "base/map.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct orma_map map; /* hash of the text, counted up past collisions -> name; mutex */
static uint32_t name_count; /* mutex */
/* Written under the mutex with release, read anywhere with acquire. */
static struct orma_track_name *_Atomic names[ORMA_TRACK_NAMES_MAX];

static struct orma_track_name *name_add_locked(const char *text, uint64_t key)
{
	struct orma_track_name *name;
	size_t size = strlen(text) + 1;

	if (name_count + 1 >= ORMA_TRACK_NAMES_MAX)
		return NULL;
	name = orma_base_zalloc(sizeof(*name) + size);
	if (!name)
		return NULL;
	name->text = memcpy(name + 1, text, size);
	name->counter_hash = orma_track_counter_hash(text);
	name->id = name_count + 1;
	if (orma_base_map_put(&map, key, name) < 0) {
		orma_base_free(name);
		return NULL;
	}
	name_count++;
	atomic_store_explicit(&names[name->id], name, memory_order_release);
	return name;
}

uint32_t orma_track_name_intern(const char *text)
{
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, text, strlen(text));
	struct orma_track_name *name;
	uint32_t id;

	pthread_mutex_lock(&mutex);
	while ((name = orma_base_map_get(&map, key)) && strcmp(name->text, text) != 0)
		key++;
	if (!name)
		name = name_add_locked(text, key);
	id = name ? name->id : 0;
	pthread_mutex_unlock(&mutex);
	return id;
}

const struct orma_track_name *orma_track_name_get(uint32_t id)
{
	return atomic_load_explicit(&names[id], memory_order_acquire);
}
