/* SPDX-License-Identifier: Apache-2.0
 * category_list.c - the categories of the program, and which instances enable each.
 *
 * Categories are static structs. Constructors put them into one list, before and after the data
 * source is registered, and destructors take them out. Each has a word with one bit per instance,
 * which is changed under the mutex and read relaxed by the threads that emit. instance_config.c
 * knows what each instance enables.
 *
 * A category whose name has commas is a *group*: it is enabled when one of its members is. The
 * members need not exist. A member that exists is judged with its own tags, which are found by its
 * name in an index of all categories with tags.
 *
 * The service has to learn of new categories, and the program of changed bits. One piece of work on
 * the loop thread does both; it is posted when none is pending. So a million categories in a row
 * are described a few times and not a million times.
 *
 * Rejected: calling callbacks where the bits change (a constructor inside of dlopen() would run the
 * program's code).
 */
#include "track/category_list.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/cancel.h"
#include "base/map.h"
#include "client/revival.h"
#include "client/work.h"
#include "track/category_descriptor.h"
#include "track/category_id.h"
#include "track/category_rule.h"
#include "track/instance_config.h"

struct orma_category orma_category_dynamic = {.name = "dynamic"};

struct orma_category_watch {
	struct orma_category_watch *next;
	struct orma_category *category;
	orma_category_fn *fn;
	void *ctx;
	uint32_t told; /* the bits that the callback knows of */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* All guarded by the mutex. */
static struct orma_category *categories; /* newest first */
static struct orma_map tagged; /* hash of the name -> the last category with tags of that name */
static _Atomic bool
	is_changing; /* `tagged` is being changed; the child of a fork reads it, relaxed */
static bool is_tagged_partial; /* a category with tags may be in the list and not in `tagged` */
static struct orma_category_watch *watches;
static struct orma_category_watch *running; /* its callback is being called, by `runner` */
static pthread_t runner;
static pthread_cond_t has_run = PTHREAD_COND_INITIALIZER;
static struct orma_data_source *source; /* NULL = not registered */
static bool is_posted;                  /* notify() is waiting to run on the loop thread */
static bool is_description_old;

/* --- bits ------------------------------------------------------------------------------------- */

static void set_bit(struct orma_category *category, uint32_t idx, bool is_on)
{
	if (is_on)
		__atomic_fetch_or(&category->enabled, UINT32_C(1) << idx, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&category->enabled, ~(UINT32_C(1) << idx), __ATOMIC_RELAXED);
}

static uint64_t hash_of(struct orma_str name)
{
	return orma_base_fnv1a(ORMA_FNV1A_INIT, name.data, name.size);
}

/* The tags of a member of a group; `group_tags` if it is not a category of the program with
 * tags. */
static const char *tags_of_locked(struct orma_str name, const char *group_tags)
{
	const struct orma_category *category = orma_base_map_get(&tagged, hash_of(name));

	if (category && orma_base_str_is(name, category->name))
		return category->tags;
	for (category = is_tagged_partial ? categories : NULL; category; category = category->next)
		if (category->tags && orma_base_str_is(name, category->name))
			return category->tags;
	return group_tags;
}

static bool is_wanted_locked(uint32_t idx, const char *name, const char *tags)
{
	struct orma_str member;

	if (!strchr(name, ','))
		return orma_track_instance_wants(idx, orma_base_str(name), tags);
	while (orma_track_list_next(&name, &member))
		if (orma_track_instance_wants(idx, member, tags_of_locked(member, tags)))
			return true;
	return false;
}

void orma_track_categories_enable(uint32_t idx)
{
	pthread_mutex_lock(&mutex);
	orma_track_instance_set_started(idx, true);
	for (struct orma_category *category = categories; category; category = category->next)
		set_bit(category, idx, is_wanted_locked(idx, category->name, category->tags));
	set_bit(&orma_category_dynamic, idx, true);
	pthread_mutex_unlock(&mutex);
}

void orma_track_categories_disable(uint32_t idx)
{
	pthread_mutex_lock(&mutex);
	orma_track_instance_set_started(idx, false);
	for (struct orma_category *category = categories; category; category = category->next)
		set_bit(category, idx, false);
	set_bit(&orma_category_dynamic, idx, false);
	pthread_mutex_unlock(&mutex);
}

void orma_track_categories_set_all(uint32_t enabled)
{
	for (struct orma_category *category = categories; category; category = category->next)
		__atomic_store_n(&category->enabled, enabled, __ATOMIC_RELAXED);
	__atomic_store_n(&orma_category_dynamic.enabled, enabled, __ATOMIC_RELAXED);
}

void orma_track_categories_forked(void)
{
	/* The thread that may have held the mutex does not exist here. */
	pthread_mutex_init(&mutex, NULL);
	has_run = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	running = NULL;
	is_posted = false;
	if (atomic_load_explicit(&is_changing, memory_order_relaxed)) {
		tagged = (struct orma_map){0};
		is_tagged_partial = true;
	}
	atomic_store_explicit(&is_changing, false, memory_order_relaxed);
	orma_track_categories_set_all(ORMA_TRACK_REVIVE);
}

bool orma_track_categories_want(uint32_t idx, const char *name, const char *tags)
{
	bool is_wanted;

	pthread_mutex_lock(&mutex);
	is_wanted = is_wanted_locked(idx, name, tags);
	pthread_mutex_unlock(&mutex);
	return is_wanted;
}

/* --- notifying -------------------------------------------------------------------------------- */

/* Calls one callback for one change that it does not know of. False: there is none. */
static bool notify_one(void)
{
	struct orma_category_watch *watch;
	struct orma_category_watch copy;
	uint32_t enabled = 0, idx = 0;
	bool is_on, is_change;

	pthread_mutex_lock(&mutex);
	for (watch = watches; watch; watch = watch->next) {
		enabled = __atomic_load_n(&watch->category->enabled, __ATOMIC_RELAXED) &
			  ~ORMA_TRACK_REVIVE;
		if (enabled != watch->told)
			break;
	}
	if (!watch) {
		pthread_mutex_unlock(&mutex);
		return false;
	}
	idx = (uint32_t)__builtin_ctz(enabled ^ watch->told);
	is_on = enabled >> idx & 1;
	is_change = is_on && watch->told == 0;
	watch->told ^= UINT32_C(1) << idx;
	is_change = is_change || (!is_on && watch->told == 0);
	copy = *watch;
	running = watch;
	runner = pthread_self();
	pthread_mutex_unlock(&mutex);
	copy.fn(copy.ctx, copy.category, idx, is_on, is_change);
	pthread_mutex_lock(&mutex);
	running = NULL;
	pthread_cond_broadcast(&has_run);
	pthread_mutex_unlock(&mutex);
	return true;
}

void orma_track_categories_notify(void)
{
	while (notify_one())
		;
}

static void update_description(void)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf descriptor = {0};
	struct orma_data_source *described = NULL;

	pthread_mutex_lock(&mutex);
	if (is_description_old)
		described = source;
	is_description_old = false;
	pthread_mutex_unlock(&mutex);
	if (described && orma_track_categories_describe(&descriptor) == 0)
		orma_data_source_update(described, descriptor.data, descriptor.size);
}

static void notify(struct orma_client_work *work)
{
	(void)work;
	pthread_mutex_lock(&mutex);
	is_posted = false;
	pthread_mutex_unlock(&mutex);
	update_description();
	orma_track_categories_notify();
}

/* Posts notify(). Called after each change, without the mutex. */
static void post(void)
{
	static struct orma_client_work work = {.fn = notify};
	bool must_post;

	/* The child of a fork that exits without having emitted anything removes its categories,
	 * and must not connect for that. */
	if (atomic_load_explicit(&orma_client_is_forked, memory_order_relaxed))
		return;
	pthread_mutex_lock(&mutex);
	must_post = source && !is_posted;
	is_posted = is_posted || must_post;
	pthread_mutex_unlock(&mutex);
	if (must_post && orma_client_post(&work) < 0) {
		pthread_mutex_lock(&mutex);
		is_posted = false;
		pthread_mutex_unlock(&mutex);
	}
}

void orma_track_categories_attach(struct orma_data_source *track_source)
{
	pthread_mutex_lock(&mutex);
	source = track_source;
	/* Categories may have come while the source was being registered. */
	is_description_old = track_source != NULL;
	/* In the child of a fork the words of the categories may still have the mark ORMA_TRACK_REVIVE. */
	if (!track_source)
		orma_track_categories_set_all(0);
	pthread_mutex_unlock(&mutex);
	if (track_source)
		post();
}

/* --- the list --------------------------------------------------------------------------------- */

static void tagged_add_locked(struct orma_category *category)
{
	uint64_t key = hash_of(orma_base_str(category->name));
	int r;

	if (!category->tags)
		return;
	is_tagged_partial = is_tagged_partial || orma_base_map_get(&tagged, key);
	atomic_store_explicit(&is_changing, true, memory_order_relaxed);
	r = orma_base_map_put(&tagged, key, category);
	atomic_store_explicit(&is_changing, false, memory_order_release);
	is_tagged_partial = is_tagged_partial || r < 0;
}

static void tagged_remove_locked(const struct orma_category *category)
{
	uint64_t key = hash_of(orma_base_str(category->name));

	if (!category->tags || orma_base_map_get(&tagged, key) != category)
		return;
	atomic_store_explicit(&is_changing, true, memory_order_relaxed);
	orma_base_map_remove(&tagged, key);
	atomic_store_explicit(&is_changing, false, memory_order_release);
	if (tagged.count == 0)
		orma_base_map_done(&tagged);
}

/* Groups have no id of their own. */
static uint32_t id_of(const char *name)
{
	const char *text;

	return strchr(name, ',') ? ORMA_TRACK_CATEGORIES_MAX
				 : orma_track_category_id(orma_base_str(name), &text);
}

bool orma_track_category_add(struct orma_category *category)
{
	bool is_new;

	pthread_mutex_lock(&mutex);
	is_new = !category->link;
	if (is_new) {
		category->id = id_of(category->name);
		tagged_add_locked(category);
		category->next = categories;
		category->link = &categories;
		if (categories)
			categories->link = &category->next;
		categories = category;
		is_description_old = true;
		for (uint32_t idx = 0; idx < ORMA_INSTANCES_MAX; idx++)
			if (is_wanted_locked(idx, category->name, category->tags))
				set_bit(category, idx, true);
	}
	pthread_mutex_unlock(&mutex);
	if (is_new)
		post();
	return is_new;
}

static struct orma_category_watch *take_watch_locked(struct orma_category *category)
{
	struct orma_category_watch *watch = ORMA_TAKE(category->watch);

	for (struct orma_category_watch **at = &watches; *at; at = &(*at)->next) {
		if (*at == watch) {
			*at = watch->next;
			break;
		}
	}
	return watch;
}

/*
 * Takes the category's watch away and waits until its callback has returned. It does not wait when
 * the callback itself is the caller. Other threads may set a new watch meanwhile, which is taken
 * away too. Returns all of them; the caller frees them.
 */
static struct orma_category_watch *unwatch_locked(struct orma_category *category)
{
	ORMA_NO_CANCEL();
	struct orma_category_watch *taken = NULL, *watch;

	while ((watch = take_watch_locked(category))) {
		watch->next = taken;
		taken = watch;
		while (running == watch && !pthread_equal(runner, pthread_self()))
			pthread_cond_wait(&has_run, &mutex);
	}
	return taken;
}

static void watches_free(struct orma_category_watch *watch)
{
	while (watch) {
		struct orma_category_watch *next = watch->next;

		orma_base_free(watch);
		watch = next;
	}
}

void orma_category_remove(struct orma_category *category)
{
	struct orma_category_watch *watch;
	bool was_there;

	if (!category)
		return;
	pthread_mutex_lock(&mutex);
	was_there = category->link != NULL;
	if (was_there) {
		tagged_remove_locked(category);
		ORMA_ASSERT(*category->link == category);
		*category->link = category->next;
		if (category->next)
			category->next->link = category->link;
		category->link = NULL;
		is_description_old = true;
	}
	__atomic_store_n(&category->enabled, 0, __ATOMIC_RELAXED);
	watch = unwatch_locked(category);
	pthread_mutex_unlock(&mutex);
	watches_free(watch);
	if (was_there)
		post();
}

int orma_category_set_callback(struct orma_category *category, orma_category_fn *fn, void *ctx)
{
	struct orma_category_watch *watch = NULL, *old;
	int r = 0;

	if (!category)
		return -EINVAL;
	if (fn && !(watch = orma_base_zalloc(sizeof(*watch))))
		return -ENOMEM;
	pthread_mutex_lock(&mutex);
	old = unwatch_locked(category);
	if (!category->link) {
		r = -EINVAL;
	} else if (watch) {
		*watch = (struct orma_category_watch){
			.category = category, .fn = fn, .ctx = ctx, .next = watches};
		category->watch = watches = watch;
	}
	pthread_mutex_unlock(&mutex);
	watches_free(old);
	if (r < 0)
		orma_base_free(watch);
	if (r == 0 && fn)
		post();
	return r;
}

int orma_track_categories_describe(struct orma_buf *buf)
{
	int r;

	pthread_mutex_lock(&mutex);
	r = orma_track_category_descriptor_write(categories, buf);
	pthread_mutex_unlock(&mutex);
	return r;
}
