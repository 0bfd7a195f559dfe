/* SPDX-License-Identifier: Apache-2.0
 * system.c - tracks of system data are made when their first event comes.
 *
 * The name of a track is written only then: to find a track that is there costs a hash of its dimensions.
 */
#include "trace/system.h"

#include <errno.h>

#include "base/alloc.h"
#include "store/grow.h"
#include "trace/cpus.h"

const struct orma_track_kind orma_thread_kind = {.type = "thread_execution",
						 .dimensions = {{"utid", false}}};

void orma_system_done(struct orma_system *system)
{
	orma_stats_done(&system->stats);
	orma_base_free(system->machines);
	orma_base_map_done(&system->metadata);
	orma_base_map_done(&system->disks);
	orma_arg_list_done(&system->args);
	orma_base_buf_done(&system->text);
	orma_base_buf_done(&system->config);
	orma_kernel_state_done(&system->kernel);
	orma_raw_events_done(&system->raw_events);
	orma_power_samples_done(&system->power_samples);
	orma_base_arena_done(&system->arena);
	*system = (struct orma_system){0};
}

struct orma_system_machine *orma_system_machine(struct orma_system *system, uint32_t machine_idx)
{
	if (orma_store_grow(&system->machines, (uint64_t)machine_idx + 1, &system->machine_capacity,
			    sizeof(*system->machines)) < 0)
		return NULL;
	for (; system->machine_count <= machine_idx; system->machine_count++) {
		struct orma_system_machine *machine = &system->machines[system->machine_count];
		*machine = (struct orma_system_machine){0};
		for (size_t i = 0; i < ORMA_MACHINE_COLUMNS; i++)
			machine->cells[i] = ORMA_CELL_NULL;
	}
	return &system->machines[machine_idx];
}

int64_t orma_system_text(struct orma_system *system, struct orma_str text)
{
	return orma_tables_string(system->tables, text.data ? text : ORMA_STR(""));
}

static void make_key(uint32_t machine_idx, const struct orma_track_kind *kind,
		     const int64_t *values, struct orma_track_key *ret)
{
	*ret = (struct orma_track_key){.type = kind->type,
				       .event_type = kind->is_counter ? "counter" : "slice",
				       .machine_idx = machine_idx};
	while (ret->dimension_count < ORMA_KIND_DIMENSIONS_MAX &&
	       kind->dimensions[ret->dimension_count].key) {
		uint32_t i = ret->dimension_count++;
		ret->dimensions[i] = (struct orma_track_dimension){
			kind->dimensions[i].key,
			kind->dimensions[i].is_text ? ORMA_ARG_STRING : ORMA_ARG_INT, values[i]};
	}
}

static int append_value(struct orma_system *system, const struct orma_track_dimension *dimension)
{
	if (dimension->type != ORMA_ARG_STRING)
		return orma_base_buf_printf(&system->text, "%lld", (long long)dimension->value);
	struct orma_str text =
		orma_store_pool_get(&system->tables->strings, (uint32_t)dimension->value);
	return orma_base_buf_append(&system->text, text.data, text.size);
}

static int make_name(struct orma_system *system, const struct orma_track_kind *kind,
		     const struct orma_track_key *key, int64_t *ret)
{
	int r = 0;
	*ret = ORMA_CELL_NULL;
	if (!kind->name)
		return 0;
	system->text.size = 0;
	for (const char *at = kind->name; *at && r == 0; at++)
		if (*at == '%')
			r = append_value(system, &key->dimensions[*++at - '0']);
		else
			r = orma_base_buf_append(&system->text, at, 1);
	*ret = orma_system_text(
		system, (struct orma_str){(const char *)system->text.data, system->text.size});
	return r;
}

/* A CPU that a track is of is in the table of CPUs. */
static int add_cpu(struct orma_system *system, const struct orma_track_key *key)
{
	for (uint32_t i = 0; i < key->dimension_count; i++)
		if (strcmp(key->dimensions[i].key, "cpu") == 0) {
			int64_t cpu = key->dimensions[i].value;
			int64_t r = cpu < 0 || cpu >= ORMA_CPUS_PER_MACHINE
					    ? -ERANGE
					    : orma_cpus_get(system->tables, key->machine_idx,
							    (uint32_t)cpu);
			return r < 0 ? (int)r : 0;
		}
	return 0;
}

static int describe(struct orma_system *system, const struct orma_track_kind *kind,
		    const struct orma_track_key *key, int64_t *ret_name, int64_t *ret_unit)
{
	int r = add_cpu(system, key);
	*ret_unit = kind->unit ? orma_tables_string(system->tables, orma_base_str(kind->unit))
			       : ORMA_CELL_NULL;
	return r < 0 ? r : make_name(system, kind, key, ret_name);
}

int64_t orma_system_track(struct orma_system *system, uint32_t machine_idx,
			  const struct orma_track_kind *kind, const int64_t *values)
{
	struct orma_track_key key;
	int64_t name, unit;
	make_key(machine_idx, kind, values, &key);
	uintptr_t known =
		(uintptr_t)orma_base_map_get(&system->tracks->ids, orma_track_key_hash(&key));
	if (known)
		return (int64_t)known - 1;
	int r = describe(system, kind, &key, &name, &unit);
	return r < 0 ? r : orma_tracks_get(system->tracks, &key, name, unit, NULL);
}

int64_t orma_system_lane(struct orma_system *system, uint32_t machine_idx,
			 const struct orma_track_kind *kind, const int64_t *values, int64_t cookie,
			 enum orma_lane_use use)
{
	struct orma_track_key key;
	int64_t name, unit;
	make_key(machine_idx, kind, values, &key);
	struct orma_track_group *group =
		orma_track_groups_get(system->groups, orma_track_key_hash(&key));
	int64_t idx = group ? orma_track_group_use(group, cookie, use) : -ENOMEM;
	if (idx < 0 || group->lanes[idx].track_id >= 0)
		return idx < 0 ? idx : group->lanes[idx].track_id;
	int r = describe(system, kind, &key, &name, &unit);
	if (r < 0)
		return r;
	key.dimensions[key.dimension_count++] =
		(struct orma_track_dimension){"track_compressor_idx", ORMA_ARG_INT, idx};
	int64_t id = orma_tracks_add(system->tracks, &key, name, unit);
	if (id < 0)
		return id;
	group->lanes[idx].track_id = id;
	r = orma_tracks_set(system->tracks, id, ORMA_TRACK_TRACK_GROUP_ID, group->id);
	return r < 0 ? r : id;
}

/* A track of a CPU that no machine has is left out. */
static int refuse(struct orma_system *system, int64_t failure)
{
	if (failure != -ERANGE)
		return (int)failure;
	system->sched->counts[ORMA_SCHED_BAD_CPUS]++;
	return 0;
}

int orma_system_count(struct orma_system *system, uint32_t machine_idx, int64_t ts,
		      const struct orma_track_kind *kind, const int64_t *values, double value,
		      int64_t arg_set_id)
{
	int64_t track = orma_system_track(system, machine_idx, kind, values);
	if (track < 0)
		return refuse(system, track);
	return orma_counters_add(system->tables, ts, track, value, arg_set_id);
}

int orma_system_begin(struct orma_system *system, const struct orma_system_slice *slice)
{
	int64_t id;
	if (slice->track_id < 0)
		return refuse(system, slice->track_id);
	struct orma_slice_begin begin = {
		.ts = slice->ts,
		.dur = slice->dur,
		.track_id = (uint32_t)slice->track_id,
		.category = slice->category,
		.name = slice->name,
		.arg_set_id = slice->arg_set_id,
		.begin_packet = slice->kernel_event,
		.passed_utid = ORMA_CELL_NULL,
		.thread_ts = ORMA_CELL_NULL,
		.thread_dur = ORMA_CELL_NULL,
		.thread_instruction_count = ORMA_CELL_NULL,
		.thread_instruction_delta = ORMA_CELL_NULL,
	};
	int r = orma_slices_begin(system->slices, &begin, &id);
	return r < 0 ? r : 0;
}

int orma_system_end(struct orma_system *system, const struct orma_system_slice *slice)
{
	int64_t id;
	if (slice->track_id < 0)
		return refuse(system, slice->track_id);
	int r = orma_slices_end(system->slices, slice->ts, (uint32_t)slice->track_id,
				slice->category, slice->name, &id);
	if (r < 0 || id == ORMA_NO_SLICE || slice->kernel_event == ORMA_CELL_NULL)
		return r;
	return orma_store_column_set(
		orma_tables_column(system->tables, ORMA_TABLE_SLICE, ORMA_SLICE_END_PACKET),
		(uint64_t)id, slice->kernel_event);
}

int64_t orma_system_take_args(struct orma_system *system)
{
	int64_t set;
	int r = orma_arg_sets_add(system->sets, &system->args, &set);
	if (r < 0)
		system->tables->error = r;
	orma_arg_list_clear(&system->args);
	return set;
}
