/* SPDX-License-Identifier: Apache-2.0
 * category.c - the categories of the program, and which of them an instance enables.
 *
 * Categories are static structs that constructors put into one list, before and after the data
 * source is registered, and destructors take out of it. Each has a word with one bit per instance,
 * set and cleared under the mutex; emitters read it relaxed. Which ones a config enables: rule.c.
 * Configs are kept decoded, so that a category that comes later, or is named by an event, is judged
 * by the same rule; what a sequence has learned about names of events it keeps in a few places,
 * chosen by the name's hash.
 *
 * A name with a comma is a *group* of categories, enabled when one of them is. Its members need not
 * exist; those that do are judged with their own tags, which an index of all categories with tags
 * knows by their names.
 *
 * What others have to be told, the service of new categories and the program of changed bits, is
 * done by one piece of work on the loop thread, posted when there is none: a million categories in
 * a row are described a few times and not a million times.
 *
 * Rejected: upstream's other rule, for C, where an empty config enables nothing; calling callbacks
 * from where the bits change (a constructor inside of dlopen() would run the program's code).
 */
#include "track/event.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cancel.h"
#include "base/map.h"
#include "proto/reader.h"
#include "schema/gen/data_source_config.pb.h"

/* Of a sequence: deltas; scaled but absolute. */
#define CLOCK_INCREMENTAL 64
#define CLOCK_SCALED      65

struct orma_track_instance orma_track_instances[ORMA_INSTANCES_MAX];

struct orma_category orma_category_dynamic = {.name = "dynamic"};

struct orma_category_watch {
	struct orma_category_watch *next;
	struct orma_category *category;
	orma_category_fn *fn;
	void *ctx;
	uint32_t told; /* the bits that the callback knows of */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* All of the mutex. */
static struct orma_category *categories; /* newest first */
static uint32_t id_count;
static _Atomic bool is_changing; /* the maps; for the child of a fork, relaxed */
static struct orma_map ids;      /* hash of the name, counted up past collisions -> struct id */
static struct orma_map tagged;   /* hash of the name -> the last category with tags of that name */
static bool is_tagged_partial;   /* what is not in it may be in the list nevertheless */
static struct orma_category_watch *watches;
static struct orma_category_watch *running; /* its callback is being called, by `runner` */
static pthread_t runner;
static pthread_cond_t has_run = PTHREAD_COND_INITIALIZER;
static struct orma_data_source *source; /* NULL = not registered */
static bool is_posted, is_description_old;

/* --- instances -------------------------------------------------------------------------------- */

/* Without a config, or with a damaged one, as with an empty one. */
static const struct orma_pb_track_event_config *decode(const void *config_untrusted, size_t size,
						       struct orma_arena *arena)
{
	struct orma_pb_track_event_config *config = NULL;
	struct orma_proto_field field;

	if (orma_proto_reader_find(config_untrusted, size,
				   ORMA_PB_DATA_SOURCE_CONFIG_TRACK_EVENT_CONFIG, &field) == 1 &&
	    field.type == ORMA_PROTO_BYTES &&
	    orma_proto_decode_copy(&orma_pb_track_event_config_desc, field.bytes.data,
				   field.bytes.size, arena, &config) == 0)
		return config;
	return orma_pb_track_event_config_new(arena);
}

static void apply(struct orma_track_instance *instance,
		  const struct orma_pb_track_event_config *config)
{
	instance->unit_ns =
		config->timestamp_unit_multiplier > 0 ? config->timestamp_unit_multiplier : 1;
	instance->is_incremental = !config->disable_incremental_timestamps;
	instance->clock_id = instance->is_incremental ? CLOCK_INCREMENTAL
			     : instance->unit_ns > 1  ? CLOCK_SCALED
						      : orma_track_clock_id();
	instance->filters_arguments = config->filter_debug_annotations;
	instance->filters_names = config->filter_dynamic_event_names;
	instance->samples_time = config->enable_thread_time_sampling;
	instance->time_step_ns = config->thread_time_subsampling_ns;
}

void orma_track_configure(uint32_t idx, const void *config_untrusted, size_t size)
{
	static const struct orma_pb_track_event_config none;
	struct orma_track_instance *instance = &orma_track_instances[idx];
	struct orma_arena arena = {0}, old;
	const struct orma_pb_track_event_config *config = decode(config_untrusted, size, &arena);

	apply(instance, config ? config : &none);
	pthread_mutex_lock(&mutex);
	old = instance->arena;
	instance->arena = arena;
	instance->config = config;
	pthread_mutex_unlock(&mutex);
	orma_base_arena_done(&old);
}

void orma_track_unconfigure(uint32_t idx)
{
	struct orma_track_instance *instance = &orma_track_instances[idx];
	struct orma_arena old;

	pthread_mutex_lock(&mutex);
	old = instance->arena;
	instance->arena = (struct orma_arena){0};
	instance->config = NULL;
	pthread_mutex_unlock(&mutex);
	orma_base_arena_done(&old);
}

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

/* Of a member of a group whose own tags are `otherwise`. */
static const char *tags_of_locked(struct orma_str name, const char *otherwise)
{
	const struct orma_category *category = orma_base_map_get(&tagged, hash_of(name));

	if (category && orma_base_str_is(name, category->name))
		return category->tags;
	for (category = is_tagged_partial ? categories : NULL; category; category = category->next)
		if (category->tags && orma_base_str_is(name, category->name))
			return category->tags;
	return otherwise;
}

/* Without memory for a config nothing is enabled. */
static bool is_wanted_locked(uint32_t idx, const char *name, const char *tags)
{
	const struct orma_track_instance *instance = &orma_track_instances[idx];
	struct orma_str member;

	if (!instance->is_started || !instance->config)
		return false;
	if (!strchr(name, ','))
		return orma_track_category_matches(instance->config, orma_base_str(name), tags);
	while (orma_track_list_next(&name, &member))
		if (orma_track_category_matches(instance->config, member,
						tags_of_locked(member, tags)))
			return true;
	return false;
}

void orma_track_enable(uint32_t idx)
{
	pthread_mutex_lock(&mutex);
	orma_track_instances[idx].is_started = true;
	for (struct orma_category *category = categories; category; category = category->next)
		set_bit(category, idx, is_wanted_locked(idx, category->name, category->tags));
	set_bit(&orma_category_dynamic, idx, true);
	pthread_mutex_unlock(&mutex);
	orma_track_renames_start();
	orma_track_categories_tell();
}

void orma_track_disable(uint32_t idx)
{
	orma_track_renames_stop();
	pthread_mutex_lock(&mutex);
	orma_track_instances[idx].is_started = false;
	for (struct orma_category *category = categories; category; category = category->next)
		set_bit(category, idx, false);
	set_bit(&orma_category_dynamic, idx, false);
	pthread_mutex_unlock(&mutex);
	orma_track_categories_tell();
}

void orma_track_mark_all(uint32_t enabled)
{
	for (struct orma_category *category = categories; category; category = category->next)
		__atomic_store_n(&category->enabled, enabled, __ATOMIC_RELAXED);
	__atomic_store_n(&orma_category_dynamic.enabled, enabled, __ATOMIC_RELAXED);
}

/* The thread that held the mutex when the process was forked is not there. */
void orma_track_categories_forked(void)
{
	orma_track_renames_forked();
	pthread_mutex_init(&mutex, NULL);
	has_run = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	running = NULL;
	is_posted = false;
	/* Names that are forgotten get further ids. */
	if (atomic_load_explicit(&is_changing, memory_order_relaxed)) {
		ids = tagged = (struct orma_map){0};
		is_tagged_partial = true;
	}
	atomic_store_explicit(&is_changing, false, memory_order_relaxed);
	orma_track_mark_all(ORMA_TRACK_REVIVE);
	for (uint32_t idx = 0; idx < ORMA_INSTANCES_MAX; idx++)
		orma_track_instances[idx].is_started = false;
}

bool orma_track_dynamic_is_wanted(struct orma_track_sequence *sequence, uint32_t idx,
				  const char *name, const char *tags)
{
	uint64_t hash, *place;
	bool is_wanted;

	if (!name)
		return false;
	hash = orma_base_fnv1a(ORMA_FNV1A_INIT, name, strlen(name));
	if (tags)
		hash = orma_base_fnv1a(hash ^ 1, tags, strlen(tags));
	/* The lowest bit is the answer; a hash is never 0. */
	hash |= 2;
	place = &sequence->known.dynamic[hash >> (64 - ORMA_TRACK_DYNAMIC_BITS)];
	if (((*place ^ hash) & ~UINT64_C(1)) == 0)
		return *place & 1;
	pthread_mutex_lock(&mutex);
	is_wanted = is_wanted_locked(idx, name, tags);
	pthread_mutex_unlock(&mutex);
	*place = (hash & ~UINT64_C(1)) | is_wanted;
	return is_wanted;
}

/* --- telling others --------------------------------------------------------------------------- */

/* One change that a callback does not know of. */
static bool tell_one(void)
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

void orma_track_categories_tell(void)
{
	while (tell_one())
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
	if (described && orma_track_describe(&descriptor) == 0)
		orma_data_source_update(described, descriptor.data, descriptor.size);
}

static void tell_all(struct orma_client_work *work)
{
	(void)work;
	pthread_mutex_lock(&mutex);
	is_posted = false;
	pthread_mutex_unlock(&mutex);
	update_description();
	orma_track_categories_tell();
}

/* Whoever has changed something calls this, without the mutex. */
static void post(void)
{
	static struct orma_client_work work = {.fn = tell_all};
	bool is_mine;

	/* A silent child that exits takes its categories along without coming back for that. */
	if (atomic_load_explicit(&orma_client_is_forked, memory_order_relaxed))
		return;
	pthread_mutex_lock(&mutex);
	is_mine = source && !is_posted;
	is_posted = is_posted || is_mine;
	pthread_mutex_unlock(&mutex);
	if (is_mine && orma_client_post(&work) < 0) {
		pthread_mutex_lock(&mutex);
		is_posted = false;
		pthread_mutex_unlock(&mutex);
	}
}

void orma_track_categories_attach(struct orma_data_source *track_source)
{
	pthread_mutex_lock(&mutex);
	source = track_source;
	/* What came while the source was being registered. */
	is_description_old = track_source != NULL;
	/* The child of a fork that goes on without it has marked them. */
	if (!track_source)
		orma_track_mark_all(0);
	pthread_mutex_unlock(&mutex);
	if (track_source)
		post();
}

/* --- ids -------------------------------------------------------------------------------------- */

struct id {
	uint32_t number;
	char name[];
};

/* Equal names have equal ids, also those of a library that is loaded again. */
static const struct id *id_get_locked(struct orma_str name)
{
	uint64_t key = hash_of(name);
	struct id *id;
	int r;

	if (name.size >= ORMA_TRACK_CATEGORY_NAME_BYTES)
		return NULL;
	while ((id = orma_base_map_get(&ids, key)) && !orma_base_str_is(name, id->name))
		key++;
	if (id || id_count + 1 >= ORMA_TRACK_CATEGORIES_MAX)
		return id;
	id = orma_base_alloc(sizeof(*id) + name.size + 1);
	if (!id)
		return NULL;
	memcpy(id->name, name.data, name.size);
	id->name[name.size] = '\0';
	id->number = ++id_count;
	atomic_store_explicit(&is_changing, true, memory_order_relaxed);
	r = orma_base_map_put(&ids, key, id);
	atomic_store_explicit(&is_changing, false, memory_order_release);
	if (r == 0)
		return id;
	orma_base_free(id);
	return NULL;
}

/* Groups have none. */
static uint32_t number_get_locked(const char *name)
{
	const struct id *id = strchr(name, ',') ? NULL : id_get_locked(orma_base_str(name));

	return id ? id->number : ORMA_TRACK_CATEGORIES_MAX;
}

uint32_t orma_track_member_id(struct orma_str name, const char **ret_text)
{
	const struct id *id;

	pthread_mutex_lock(&mutex);
	id = id_get_locked(name);
	pthread_mutex_unlock(&mutex);
	if (!id)
		return ORMA_TRACK_CATEGORIES_MAX;
	*ret_text = id->name;
	return id->number;
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

void orma_category_add(struct orma_category *category)
{
	bool is_new;

	if (!category || !category->name)
		return;
	pthread_mutex_lock(&mutex);
	is_new = !category->link;
	if (is_new) {
		category->id = number_get_locked(category->name);
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
	if (!is_new)
		return;
	post();
	orma_track_event_want();
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
 * Takes the watch away and waits until its callback is not running; on its own thread it is that
 * very callback. Meanwhile others may come and set one, which goes too. To be freed, all of them.
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

int orma_track_describe(struct orma_buf *buf)
{
	int r;

	pthread_mutex_lock(&mutex);
	r = orma_track_describe_list(categories, buf);
	pthread_mutex_unlock(&mutex);
	return r;
}
