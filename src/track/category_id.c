/* SPDX-License-Identifier: Apache-2.0
 * category_id.c - one id for each name of a category.
 *
 * Ids are never taken back: a library that is loaded again gets the same ones.
 */
#include "track/category_id.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/map.h"

struct id {
	uint32_t number;
	char name[];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t id_count;   /* mutex */
static struct orma_map ids; /* hash of the name, counted up past collisions -> struct id; mutex */
/* `ids` is being changed. Written under the mutex; the child of a fork reads it, relaxed. */
static _Atomic bool is_changing;

static const struct id *add_locked(struct orma_str name, uint64_t key)
{
	struct id *id = orma_base_alloc(sizeof(*id) + name.size + 1);
	int r;

	if (!id)
		return NULL;
	memcpy(id->name, name.data, name.size);
	id->name[name.size] = '\0';
	id->number = ++id_count;
	ORMA_ASSERT(id->number < ORMA_TRACK_CATEGORIES_MAX);
	atomic_store_explicit(&is_changing, true, memory_order_relaxed);
	r = orma_base_map_put(&ids, key, id);
	atomic_store_explicit(&is_changing, false, memory_order_release);
	if (r == 0)
		return id;
	orma_base_free(id);
	return NULL;
}

static const struct id *get_locked(struct orma_str name)
{
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, name.data, name.size);
	const struct id *id;

	if (name.size >= ORMA_TRACK_CATEGORY_NAME_BYTES)
		return NULL;
	while ((id = orma_base_map_get(&ids, key)) && !orma_base_str_is(name, id->name))
		key++;
	if (id || id_count + 1 >= ORMA_TRACK_CATEGORIES_MAX)
		return id;
	return add_locked(name, key);
}

uint32_t orma_track_category_id(struct orma_str name, const char **ret_text)
{
	const struct id *id;

	pthread_mutex_lock(&mutex);
	id = get_locked(name);
	pthread_mutex_unlock(&mutex);
	if (!id)
		return ORMA_TRACK_CATEGORIES_MAX;
	*ret_text = id->name;
	return id->number;
}

void orma_track_category_ids_forked(void)
{
	/* The thread that may have held the mutex does not exist here. If it was changing the map,
	 * the map is forgotten, and its names get further ids. */
	pthread_mutex_init(&mutex, NULL);
	if (atomic_load_explicit(&is_changing, memory_order_relaxed))
		ids = (struct orma_map){0};
	atomic_store_explicit(&is_changing, false, memory_order_relaxed);
}
