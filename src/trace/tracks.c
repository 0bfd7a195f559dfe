/* SPDX-License-Identifier: Apache-2.0
 * tracks.c - tracks are found by a hash of 64 bits over their type, machine and dimensions.
 */
#include "trace/tracks.h"

#include <errno.h>

#include "base/assert.h"

void orma_tracks_done(struct orma_tracks *tracks)
{
	orma_base_map_done(&tracks->ids);
	orma_arg_list_done(&tracks->dimension_args);
}

uint64_t orma_track_key_hash(const struct orma_track_key *key)
{
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, key->type, strlen(key->type) + 1);
	hash = orma_base_fnv1a(hash, &key->machine_idx, sizeof(key->machine_idx));
	for (uint32_t i = 0; i < key->dimension_count; i++) {
		const struct orma_track_dimension *dimension = &key->dimensions[i];
		hash = orma_base_fnv1a(hash, dimension->key, strlen(dimension->key) + 1);
		hash = orma_base_fnv1a(hash, &dimension->value, sizeof(dimension->value));
	}
	return hash;
}

static int64_t dimension_value(const struct orma_track_key *key, const char *name)
{
	for (uint32_t i = 0; i < key->dimension_count; i++)
		if (strcmp(key->dimensions[i].key, name) == 0)
			return key->dimensions[i].value;
	return ORMA_CELL_NULL;
}

/* Several tracks of one thread, process or CPU have the same dimensions; a track that is like no other has its own. */
static int add_dimensions(struct orma_tracks *tracks, const struct orma_track_key *key,
			  bool is_alone, int64_t *ret_set)
{
	struct orma_arg_list *list = &tracks->dimension_args;
	list->tables = tracks->tables;
	orma_arg_list_clear(list);
	for (uint32_t i = 0; i < key->dimension_count; i++) {
		struct orma_str name = orma_base_str(key->dimensions[i].key);
		orma_arg_list_add(list, name, name, key->dimensions[i].type,
				  key->dimensions[i].value);
	}
	return is_alone ? orma_arg_sets_append(tracks->sets, list, ret_set)
			: orma_arg_sets_add(tracks->sets, list, ret_set);
}

static int64_t add_row(struct orma_tracks *tracks, const struct orma_track_key *key, int64_t name,
		       int64_t unit, bool is_alone)
{
	ORMA_ASSERT(key->dimension_count <= ORMA_TRACK_DIMENSIONS_MAX);
	struct orma_table *table = &tracks->tables->all[ORMA_TABLE_TRACK];
	int64_t id = (int64_t)orma_store_table_rows(table), set;
	int r = add_dimensions(tracks, key, is_alone, &set);
	int64_t cells[ORMA_TRACK_COLUMNS] = {
		[ORMA_TRACK_NAME] = name,
		[ORMA_TRACK_TYPE] = orma_tables_string(tracks->tables, orma_base_str(key->type)),
		[ORMA_TRACK_DIMENSION_ARG_SET_ID] = set,
		[ORMA_TRACK_PARENT_ID] = ORMA_CELL_NULL,
		[ORMA_TRACK_SOURCE_ARG_SET_ID] = ORMA_CELL_NULL,
		[ORMA_TRACK_MACHINE_ID] = key->machine_idx,
		[ORMA_TRACK_TRACK_GROUP_ID] = ORMA_CELL_NULL,
		[ORMA_TRACK_EVENT_TYPE] =
			orma_tables_string(tracks->tables, orma_base_str(key->event_type)),
		[ORMA_TRACK_COUNTER_UNIT] = unit,
		[ORMA_TRACK_UTID] = dimension_value(key, "utid"),
		[ORMA_TRACK_UPID] = dimension_value(key, "upid"),
	};
	if (r == 0)
		r = orma_store_table_append(table, cells);
	return r < 0 ? r : id;
}

int64_t orma_tracks_add(struct orma_tracks *tracks, const struct orma_track_key *key, int64_t name,
			int64_t unit)
{
	return add_row(tracks, key, name, unit, true);
}

int64_t orma_tracks_get(struct orma_tracks *tracks, const struct orma_track_key *key, int64_t name,
			int64_t unit, bool *ret_is_new)
{
	uint64_t hash = orma_track_key_hash(key);
	uintptr_t known = (uintptr_t)orma_base_map_get(&tracks->ids, hash);
	if (ret_is_new)
		*ret_is_new = known == 0;
	if (known)
		return (int64_t)known - 1;
	int64_t id = add_row(tracks, key, name, unit, false);
	if (id < 0)
		return id;
	int r = orma_base_map_put(&tracks->ids, hash, (void *)((uintptr_t)id + 1));
	return r < 0 ? r : id;
}

int orma_tracks_set(struct orma_tracks *tracks, int64_t track_id, size_t column, int64_t cell)
{
	return orma_store_column_set(orma_tables_column(tracks->tables, ORMA_TABLE_TRACK, column),
				     (uint64_t)track_id, cell);
}

int orma_counters_add(struct orma_tables *tables, int64_t ts, int64_t track_id, double value,
		      int64_t arg_set_id)
{
	int64_t cells[ORMA_COUNTER_COLUMNS] = {[ORMA_COUNTER_TS] = ts,
					       [ORMA_COUNTER_TRACK_ID] = track_id,
					       [ORMA_COUNTER_VALUE] =
						       orma_store_cell_of_double(value),
					       [ORMA_COUNTER_ARG_SET_ID] = arg_set_id};
	return orma_store_table_append(&tables->all[ORMA_TABLE_COUNTER], cells);
}
