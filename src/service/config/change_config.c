/* SPDX-License-Identifier: Apache-2.0
 * change_config.c - ChangeTraceConfig: a running session accepts more producers.
 *
 * Entries of the new config are paired with the sources of the same name, in order. The producer
 * names that the entry has and the source has not are added. Nothing else of the new config is
 * used, and nothing is removed. Configs may have thousands of entries and of names, so both are
 * looked up by hash; the hash is seeded, because consumers choose them. New names belong to the
 * session's arena. Rejected: comparing each with each (a config of one frame blocked the service
 * for half a second), entries by index (upstream; a recorder that sorts its entries would add names
 * to the wrong sources).
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/list.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "proto/codec.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "service/consumer_port.h"
#include "service/producer/producer.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"
#include "service/source_instance.h"

/* --- entries by name -------------------------------------------------------------------------- */

struct entries {
	const struct orma_service *service;
	const struct orma_pb_trace_config *config;
	struct orma_map first; /* hash of a name -> index + 1 of the first entry with it */
	uint32_t *next;        /* index + 1 of the one after it; 0 = none */
};

static uint64_t hash_name(const struct orma_service *service, struct orma_str name)
{
	return orma_base_fnv1a(service->name_seed, name.data, name.size);
}

static struct orma_str name_of(const struct entries *entries, size_t idx)
{
	const struct orma_pb_data_source_config *config =
		entries->config->data_sources.items[idx]->config;

	return config ? config->name : (struct orma_str){0};
}

static void entries_done(struct entries *entries)
{
	orma_base_map_done(&entries->first);
	orma_base_free(entries->next);
}

static int entries_init(struct entries *entries)
{
	size_t count = entries->config->data_sources.count;

	entries->next = orma_base_alloc_array(count + 1, sizeof(*entries->next));
	if (!entries->next)
		return -ENOMEM;
	for (size_t i = count; i-- > 0;) {
		uint64_t hash = hash_name(entries->service, name_of(entries, i));
		int r;

		entries->next[i] = (uint32_t)(uintptr_t)orma_base_map_get(&entries->first, hash);
		r = orma_base_map_put(&entries->first, hash, (void *)(i + 1));
		if (r < 0)
			return r;
	}
	return 0;
}

/* Removes and returns the first entry of that name; NULL = there is none. */
static const struct orma_pb_trace_config_data_source *entries_take(struct entries *entries,
								   struct orma_str name)
{
	uint64_t hash = hash_name(entries->service, name);
	uint32_t at = (uint32_t)(uintptr_t)orma_base_map_get(&entries->first, hash), before = 0;

	while (at && !orma_base_str_is_equal(name_of(entries, at - 1), name)) {
		before = at;
		at = entries->next[at - 1];
	}
	if (!at)
		return NULL;
	if (before)
		entries->next[before - 1] = entries->next[at - 1];
	else if (entries->next[at - 1])
		/* Replacing an existing key allocates nothing. */
		(void)orma_base_map_put(&entries->first, hash,
					(void *)(uintptr_t)entries->next[at - 1]);
	else
		(void)orma_base_map_remove(&entries->first, hash);
	return entries->config->data_sources.items[at - 1];
}

/* --- names of producers ----------------------------------------------------------------------- */

/* A set of names; the rare collision of two hashes is resolved by a scan of `names`. */
struct name_set {
	const struct orma_service *service;
	struct orma_map by_hash; /* -> the name */
	const char **names;
	size_t count;
};

static bool set_has(const struct name_set *set, struct orma_str name)
{
	const char *found = orma_base_map_get(&set->by_hash, hash_name(set->service, name));

	if (!found || orma_base_str_is(name, found))
		return found;
	for (size_t i = 0; i < set->count; i++)
		if (orma_base_str_is(name, set->names[i]))
			return true;
	return false;
}

static int set_add(struct name_set *set, const char *name)
{
	set->names[set->count++] = name;
	return orma_base_map_put(&set->by_hash, hash_name(set->service, orma_base_str(name)),
				 (void *)(uintptr_t)name);
}

/* `set` has room for all names. */
static int merge_names(struct orma_service_session *session,
		       const struct orma_service_source *source,
		       const struct orma_pb_trace_config_data_source *wanted, struct name_set *set)
{
	int r = 0;

	for (size_t i = 0; i < source->producer_name_count && r == 0; i++)
		r = set_add(set, source->producer_names[i]);
	for (size_t i = 0; i < wanted->producer_name_filter.count && r == 0; i++) {
		struct orma_str name = wanted->producer_name_filter.items[i];
		const char *copy;

		if (set_has(set, name))
			continue;
		if (set->count == ORMA_SERVICE_FILTERS_PER_SOURCE)
			return -EMSGSIZE;
		copy = orma_base_arena_strdup(&session->arena, name);
		r = copy ? set_add(set, copy) : -ENOMEM;
	}
	return r;
}

/* 1 = names were added, 0 = there are no new ones, -EMSGSIZE, -ENOMEM. */
static int add_names(struct orma_service_session *session, struct orma_service_source *source,
		     const struct orma_pb_trace_config_data_source *wanted)
{
	struct name_set set = {.service = session->service};
	size_t capacity = source->producer_name_count + wanted->producer_name_filter.count;
	const char **names;
	int r;

	if (wanted->producer_name_filter.count > ORMA_SERVICE_FILTERS_PER_SOURCE)
		return -EMSGSIZE;
	if (wanted->producer_name_filter.count == 0)
		return 0;
	set.names = orma_base_alloc_array(capacity, sizeof(*set.names));
	r = set.names ? merge_names(session, source, wanted, &set) : -ENOMEM;
	if (r == 0 && set.count > source->producer_name_count) {
		names = orma_base_arena_memdup(&session->arena, set.names,
					       set.count * sizeof(*names));
		r = names ? 1 : -ENOMEM;
		if (names) {
			source->producer_names = names;
			source->producer_name_count = set.count;
		}
	}
	orma_base_map_done(&set.by_hash);
	orma_base_free(set.names);
	return r;
}

/* --- instances -------------------------------------------------------------------------------- */

static bool has_instance(const struct orma_service_source *source,
			 const struct orma_service_data_source *data_source)
{
	struct orma_service_instance *instance;

	ORMA_LIST_FOR_EACH (instance, &data_source->instances, source_link) {
		if (instance->source == source)
			return true;
	}
	return false;
}

/* True when the producer has one of the added names, which begin at index `first`. */
static bool is_of_new_name(const struct orma_service_source *source, size_t first,
			   const struct orma_producer_port *producer)
{
	for (size_t i = first; i < source->producer_name_count; i++)
		if (strcmp(source->producer_names[i], producer->name) == 0)
			return true;
	return false;
}

/* Adds the number of pairs that were looked at to *looked_at. */
static int join_new(struct orma_service_session *session, struct orma_service_source *source,
		    size_t first_name, size_t *looked_at)
{
	struct orma_service_name *name =
		orma_service_name_find(session->service, orma_base_str(source->name));
	struct orma_service_data_source *data_source;
	struct orma_service_instance *instance;

	if (!name || session->state == ORMA_SERVICE_SESSION_OPENING)
		return 0;
	ORMA_LIST_FOR_EACH (data_source, &name->data_sources, name_link) {
		int r;

		if (orma_service_instances_are_full(session, *looked_at))
			return 0;
		*looked_at += 1 + (source->producer_name_count - first_name) /
					  ORMA_SERVICE_NAMES_PER_MATCH;
		if (!is_of_new_name(source, first_name, data_source->producer) ||
		    has_instance(source, data_source))
			continue;
		r = orma_service_instance_new(session, source, data_source, &instance);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		orma_service_instance_setup(instance);
		if (session->state == ORMA_SERVICE_SESSION_STARTED)
			orma_service_instance_start(instance);
	}
	return 0;
}

static int change(struct orma_service_session *session, struct entries *entries)
{
	size_t looked_at = 0;
	int r = entries_init(entries);

	for (size_t i = 0; i < session->sources.count && r >= 0; i++) {
		struct orma_service_source *source = &session->sources.items[i];
		size_t count_before = source->producer_name_count;
		const struct orma_pb_trace_config_data_source *entry =
			entries_take(entries, orma_base_str(source->name));

		/* A source without a filter accepts every producer already, and names are only
		 * added. */
		if (!entry || source->producer_name_count + source->producer_regex_count == 0)
			continue;
		r = add_names(session, source, entry);
		if (r > 0)
			r = join_new(session, source, count_before, &looked_at);
	}
	return ORMA_MIN(r, 0);
}

int orma_consumer_port_change_config(struct orma_consumer_port *port, const void *config,
				     size_t size)
{
	if (!port || (!config && size > 0))
		return -EINVAL;

	ORMA_AUTO(orma_base_arena_done)
	struct orma_arena arena = {.limit_bytes = ORMA_SERVICE_CONFIG_ARENA_MAX};
	ORMA_AUTO(entries_done) struct entries entries = {.service = port->service};
	struct orma_service_session *session = port->session;
	struct orma_pb_trace_config *wanted;
	int r;

	if (!session)
		return -ENOENT;
	if (size > ORMA_SERVICE_CONFIG_BYTES_MAX)
		return -EMSGSIZE;
	if (session->state != ORMA_SERVICE_SESSION_OPENING &&
	    session->state != ORMA_SERVICE_SESSION_CONFIGURED &&
	    session->state != ORMA_SERVICE_SESSION_STARTED)
		return -ESTALE;
	r = orma_proto_decode(&orma_pb_trace_config_desc, config, size, &arena, &wanted);
	if (r < 0)
		return r;
	if (wanted->data_sources.count > ORMA_SERVICE_SOURCES_PER_CONFIG)
		return -EMSGSIZE;
	entries.config = wanted;
	return change(session, &entries);
}
