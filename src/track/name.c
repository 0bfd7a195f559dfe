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
static struct orma_map map;      /* hash of the text, counted up past collisions -> name; mutex */
static uint32_t name_count;      /* mutex */
static _Atomic bool is_changing; /* the map; for the child of a fork, relaxed */
/* Written under the mutex with release, read anywhere with acquire. */
static struct orma_track_name *_Atomic names[ORMA_TRACK_NAMES_MAX];

static struct orma_track_name *name_add_locked(const char *text, uint64_t key)
{
	struct orma_track_name *name;
	size_t size = strlen(text) + 1;
	int r;

	if (name_count + 1 >= ORMA_TRACK_NAMES_MAX)
		return NULL;
	name = orma_base_zalloc(sizeof(*name) + size);
	if (!name)
		return NULL;
	name->text = memcpy(name + 1, text, size);
	name->counter_hash = orma_track_counter_hash(text);
	name->id = name_count + 1;
	atomic_store_explicit(&is_changing, true, memory_order_relaxed);
	r = orma_base_map_put(&map, key, name);
	if (r == 0) {
		atomic_store_explicit(&names[name->id], name, memory_order_release);
		name_count++;
	}
	atomic_store_explicit(&is_changing, false, memory_order_release);
	if (r < 0)
		orma_base_free(name);
	return r < 0 ? NULL : name;
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

void orma_track_names_forked(void)
{
	/* Whoever held it does not exist here. Names that are forgotten get further ids. */
	pthread_mutex_init(&mutex, NULL);
	if (atomic_load_explicit(&is_changing, memory_order_relaxed))
		map = (struct orma_map){0};
	atomic_store_explicit(&is_changing, false, memory_order_relaxed);
	if (name_count + 1 < ORMA_TRACK_NAMES_MAX && orma_track_name_get(name_count + 1))
		name_count++;
}

const struct orma_track_name *orma_track_name_get(uint32_t id)
{
	return atomic_load_explicit(&names[id], memory_order_acquire);
}
