/* SPDX-License-Identifier: Apache-2.0
 * category.c - the categories of the program, and which of them an instance enables.
 *
 * Categories are static structs that constructors put into one list, before and after the data
 * source is registered (shared objects loaded later), and destructors take out of it. Each has a word with one bit per instance;
 * the loop thread sets and clears it, emitters read it relaxed. Which ones a config enables is
 * upstream's rule for C++: exact names first, then patterns (one trailing '*'), then the lone '*',
 * and in each round enabled categories, disabled categories, disabled tags, enabled tags. What
 * nothing matches is enabled.
 *
 * Configurations are kept as bytes, so that a category that appears later is judged by the same
 * rule. Rejected: upstream's other rule, for C, where an empty config enables nothing.
 */
#include "track/track.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "proto/reader.h"
#include "proto/writer.h"
#include "schema/gen/builtin_clock.pb.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/data_source_descriptor.pb.h"
#include "schema/gen/track_event_descriptor.pb.h"

/* Of a sequence: deltas; scaled but absolute. */
#define CLOCK_INCREMENTAL 64
#define CLOCK_SCALED      65

struct orma_track_instance orma_track_instances[ORMA_INSTANCES_MAX];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct orma_category *categories; /* newest first; mutex */
static uint32_t category_count;          /* mutex */

/* --- the rule --------------------------------------------------------------------------------- */

enum match { MATCH_EXACT, MATCH_PREFIX, MATCH_ALL };

static bool matches(struct orma_str pattern, struct orma_str text, enum match match)
{
	const char *star = pattern.size > 0 ? memchr(pattern.data, '*', pattern.size) : NULL;
	size_t prefix = star ? (size_t)(star - pattern.data) : 0;

	if (!star)
		return match == MATCH_EXACT && orma_base_str_is_equal(pattern, text);
	if (prefix == 0)
		return match == MATCH_ALL;
	return match == MATCH_PREFIX && text.size >= prefix &&
	       memcmp(pattern.data, text.data, prefix) == 0;
}

static bool any_matches(const struct orma_str *patterns, size_t count, struct orma_str text,
			enum match match)
{
	for (size_t i = 0; i < count; i++)
		if (matches(patterns[i], text, match))
			return true;
	return false;
}

static bool tag_matches(const char *tags, const struct orma_str *patterns, size_t count,
			enum match match)
{
	while (tags && *tags) {
		size_t size = strcspn(tags, ",");

		if (any_matches(patterns, count, (struct orma_str){tags, size}, match))
			return true;
		tags += size + (tags[size] == ',');
	}
	return false;
}

bool orma_track_category_matches(const struct orma_pb_track_event_config *config, const char *name,
				 const char *tags)
{
	static const struct orma_str off_by_default[] = {{"slow", 4}, {"debug", 5}};
	bool has_tags = config->enabled_tags.count > 0 || config->disabled_tags.count > 0;
	struct orma_str text = orma_base_str(name);

	for (enum match match = MATCH_EXACT; match <= MATCH_ALL; match++) {
		if (any_matches(config->enabled_categories.items, config->enabled_categories.count,
				text, match))
			return true;
		if (any_matches(config->disabled_categories.items,
				config->disabled_categories.count, text, match))
			return false;
		if (tag_matches(tags, has_tags ? config->disabled_tags.items : off_by_default,
				has_tags ? config->disabled_tags.count
					 : ORMA_ARRAY_SIZE(off_by_default),
				match))
			return false;
		if (tag_matches(tags, config->enabled_tags.items, config->enabled_tags.count,
				match))
			return true;
	}
	return true;
}

/* --- instances -------------------------------------------------------------------------------- */

/* Without a config, or with a damaged one, as with an empty one. */
static struct orma_pb_track_event_config *decode(const void *config_untrusted, size_t size,
						 struct orma_arena *arena)
{
	struct orma_pb_track_event_config *config = NULL;
	struct orma_proto_field field;

	if (orma_proto_reader_find(config_untrusted, size,
				   ORMA_PB_DATA_SOURCE_CONFIG_TRACK_EVENT_CONFIG, &field) == 1 &&
	    field.type == ORMA_PROTO_BYTES &&
	    orma_pb_track_event_config_decode(field.bytes.data, field.bytes.size, arena, &config) ==
		    0)
		return config;
	return orma_pb_track_event_config_new(arena);
}

void orma_track_configure(uint32_t idx, const void *config_untrusted, size_t size)
{
	struct orma_track_instance *instance = &orma_track_instances[idx];
	struct orma_arena arena = {0};
	const struct orma_pb_track_event_config *config = decode(config_untrusted, size, &arena);
	void *copy = orma_base_memdup(config_untrusted, size);

	instance->unit_ns = 1;
	instance->is_incremental = true;
	if (config && config->timestamp_unit_multiplier > 0)
		instance->unit_ns = config->timestamp_unit_multiplier;
	if (config && config->disable_incremental_timestamps)
		instance->is_incremental = false;
	instance->clock_id = instance->is_incremental ? CLOCK_INCREMENTAL
			     : instance->unit_ns > 1  ? CLOCK_SCALED
						     : ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME;
	orma_base_arena_done(&arena);
	pthread_mutex_lock(&mutex);
	instance->config = copy;
	instance->config_size = copy ? size : 0;
	pthread_mutex_unlock(&mutex);
}

void orma_track_unconfigure(uint32_t idx)
{
	void *config;

	pthread_mutex_lock(&mutex);
	config = ORMA_TAKE(orma_track_instances[idx].config);
	pthread_mutex_unlock(&mutex);
	orma_base_free(config);
}

static void set_bit(struct orma_category *category, uint32_t idx, bool is_on)
{
	if (is_on)
		__atomic_fetch_or(&category->enabled, UINT32_C(1) << idx, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&category->enabled, ~(UINT32_C(1) << idx), __ATOMIC_RELAXED);
}

/* Under the mutex: allocates while it decodes, and calls nobody. */
static void judge_locked(uint32_t idx, struct orma_category *only)
{
	const struct orma_track_instance *instance = &orma_track_instances[idx];
	struct orma_arena arena = {0};
	const struct orma_pb_track_event_config *config =
		decode(instance->config, instance->config_size, &arena);

	for (struct orma_category *category = only ? only : categories; config && category;
	     category = only ? NULL : category->next)
		set_bit(category, idx,
			orma_track_category_matches(config, category->name, category->tags));
	orma_base_arena_done(&arena);
}

void orma_track_enable(uint32_t idx)
{
	pthread_mutex_lock(&mutex);
	orma_track_instances[idx].is_started = true;
	judge_locked(idx, NULL);
	pthread_mutex_unlock(&mutex);
}

void orma_track_disable(uint32_t idx)
{
	pthread_mutex_lock(&mutex);
	orma_track_instances[idx].is_started = false;
	for (struct orma_category *category = categories; category; category = category->next)
		set_bit(category, idx, false);
	pthread_mutex_unlock(&mutex);
}

void orma_track_disable_all(void)
{
	for (struct orma_category *category = categories; category; category = category->next)
		__atomic_store_n(&category->enabled, 0, __ATOMIC_RELAXED);
}

/* --- the list --------------------------------------------------------------------------------- */

void orma_category_add(struct orma_category *category)
{
	if (!category || !category->name)
		return;
	pthread_mutex_lock(&mutex);
	if (category->id == 0) {
		category->id = ++category_count;
		category->next = categories;
		categories = category;
		for (uint32_t idx = 0; idx < ORMA_INSTANCES_MAX; idx++)
			if (orma_track_instances[idx].is_started)
				judge_locked(idx, category);
	}
	pthread_mutex_unlock(&mutex);
}

void orma_category_remove(struct orma_category *category)
{
	/* In the child of a fork, at its exit, the mutex may be locked for ever. */
	if (!category || atomic_load_explicit(&orma_client_is_forked, memory_order_relaxed))
		return;
	pthread_mutex_lock(&mutex);
	for (struct orma_category **at = &categories; *at; at = &(*at)->next) {
		if (*at == category) {
			*at = category->next;
			break;
		}
	}
	__atomic_store_n(&category->enabled, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&mutex);
}

static void describe_tags(struct orma_proto_writer *writer, const char *tags)
{
	while (tags && *tags) {
		size_t size = strcspn(tags, ",");

		orma_proto_write_bytes(writer, ORMA_PB_TRACK_EVENT_CATEGORY_TAGS, tags, size);
		tags += size + (tags[size] == ',');
	}
}

int orma_track_describe(struct orma_buf *buf)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested descriptor, one;

	orma_proto_heap_writer_init(&heap, buf);
	orma_proto_nested_begin(&heap.writer, &descriptor,
				ORMA_PB_DATA_SOURCE_DESCRIPTOR_TRACK_EVENT_DESCRIPTOR);
	pthread_mutex_lock(&mutex);
	for (const struct orma_category *category = categories; category;
	     category = category->next) {
		orma_proto_nested_begin(&heap.writer, &one,
					ORMA_PB_TRACK_EVENT_DESCRIPTOR_AVAILABLE_CATEGORIES);
		orma_proto_write_string(&heap.writer, ORMA_PB_TRACK_EVENT_CATEGORY_NAME,
					category->name);
		if (category->description)
			orma_proto_write_string(&heap.writer,
						ORMA_PB_TRACK_EVENT_CATEGORY_DESCRIPTION,
						category->description);
		describe_tags(&heap.writer, category->tags);
		orma_proto_nested_end(&heap.writer, &one);
	}
	pthread_mutex_unlock(&mutex);
	orma_proto_nested_end(&heap.writer, &descriptor);
	return orma_proto_heap_writer_finish(&heap);
}
