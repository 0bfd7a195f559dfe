/* SPDX-License-Identifier: Apache-2.0
 * descriptor_tracks.c - descriptors are kept as the file gives them; a track becomes a row when it is used first.
 *
 * A track belongs to the thread or process of its nearest ancestor that has one. To use a track, its ancestors are listed up to the
 * root, at most a hundred, and then resolved from there on, so that a loop or a missing parent is seen before anything is
 * made. Invariant: a resolved descriptor keeps its owner and its row; a later descriptor of the same uuid changes names only.
 */
#include "trace/descriptor_tracks.h"

#include <errno.h>

#include "trace/descriptor_read.h"

enum { ANCESTORS_MAX = 100 };

#define NO_TRACK (-1)

void orma_descriptor_tracks_done(struct orma_descriptor_tracks *tracks)
{
	orma_base_map_done(&tracks->by_uuid);
	orma_base_map_done(&tracks->thread_uuids);
	orma_base_map_done(&tracks->process_uuids);
	orma_track_groups_done(&tracks->groups);
	orma_arg_list_done(&tracks->args);
	orma_base_arena_done(&tracks->arena);
}

static struct orma_descriptor *find(struct orma_descriptor_tracks *tracks, uint64_t uuid)
{
	/* The events of a thread come in bursts, and those of busy threads take turns. */
	struct orma_descriptor **recent = &tracks->recent[uuid * UINT64_C(0x9e3779b97f4a7c15) >>
							  (64 - ORMA_RECENT_DESCRIPTORS_SHIFT)];
	if (!*recent || (*recent)->uuid != uuid)
		*recent = orma_base_map_get(&tracks->by_uuid, uuid);
	return *recent;
}

static int add(struct orma_descriptor_tracks *tracks, const struct orma_descriptor *descriptor)
{
	struct orma_descriptor *copy =
		orma_base_arena_memdup(&tracks->arena, descriptor, sizeof(*descriptor));
	return copy ? orma_base_map_put(&tracks->by_uuid, descriptor->uuid, copy) : -ENOMEM;
}

/* True when both describe one track, so that the later one may only rename it. */
static bool is_same_track(const struct orma_descriptor *a, const struct orma_descriptor *b)
{
	return a->parent_uuid == b->parent_uuid && a->pid == b->pid && a->tid == b->tid &&
	       a->is_counter == b->is_counter && a->is_state == b->is_state &&
	       a->merge == b->merge && a->merge_key == b->merge_key &&
	       a->is_incremental == b->is_incremental && a->multiplier == b->multiplier &&
	       a->counter_type == b->counter_type;
}

static int rename_track(struct orma_descriptor_tracks *tracks, struct orma_descriptor *known,
			int64_t name)
{
	bool is_alone = known->merge == ORMA_MERGE_NEVER;
	if (name == ORMA_CELL_NULL)
		return 0;
	if (known->name == ORMA_CELL_NULL || is_alone)
		known->name = name;
	return is_alone && known->track_id >= 0
		       ? orma_tracks_set(tracks->tracks, known->track_id, ORMA_TRACK_NAME, name)
		       : 0;
}

int orma_descriptor_tracks_take(struct orma_descriptor_tracks *tracks,
				const struct orma_sequence *sequence,
				const struct orma_packet *packet, int64_t ns)
{
	struct orma_descriptor descriptor, *known;
	(void)sequence;
	(void)ns;
	orma_descriptor_read(tracks->tables, packet->content, &descriptor);
	enum orma_descriptor_count problem = ORMA_DESCRIPTORS_COUNTS;
	if (!descriptor.has_uuid)
		problem = ORMA_DESCRIPTORS_MISSING_UUID;
	else if (descriptor.is_bad_ordering)
		problem = ORMA_DESCRIPTORS_BAD_ORDERING;
	else if (descriptor.has_thread && (descriptor.pid < 0 || descriptor.tid < 0))
		problem = ORMA_DESCRIPTORS_THREAD_WITHOUT_IDS;
	else if (descriptor.has_process && descriptor.pid < 0)
		problem = ORMA_DESCRIPTORS_PROCESS_WITHOUT_PID;
	else if (descriptor.uuid == 0 && descriptor.parent_uuid != 0)
		problem = ORMA_DESCRIPTORS_DEFAULT_WITH_PARENT;
	else if ((known = find(tracks, descriptor.uuid)) == NULL)
		return add(tracks, &descriptor);
	else if (is_same_track(known, &descriptor))
		return rename_track(tracks, known, descriptor.name);
	else
		problem = ORMA_DESCRIPTORS_CONFLICTING;
	tracks->counts[problem]++;
	return 0;
}

/* The track of nobody says whether ranks order processes and threads too, which then are arguments of those. */
static int add_rank(struct orma_descriptor_tracks *tracks, const struct orma_descriptor *descriptor)
{
	const struct orma_descriptor *all = orma_base_map_get(&tracks->by_uuid, 0);
	bool is_thread = descriptor->scope == ORMA_SCOPE_THREAD;
	if (!descriptor->has_rank || !all ||
	    !(is_thread ? all->is_thread_order_explicit : all->is_process_order_explicit))
		return 0;
	struct orma_arg_list *list = orma_row_args_get(
		is_thread ? tracks->processes->thread_args : tracks->processes->process_args,
		is_thread ? descriptor->utid : descriptor->upid);
	if (!list)
		return -ENOMEM;
	orma_arg_list_add_int(list,
			      is_thread ? "thread_sort_index_hint" : "process_sort_index_hint",
			      descriptor->rank);
	return 0;
}

/* Gives a thread of its own to each uuid: a second one with the same ids is a thread that came later. */
static int own_thread(struct orma_descriptor_tracks *tracks, uint32_t machine_idx,
		      struct orma_descriptor *descriptor)
{
	int64_t utid = orma_processes_thread_of(tracks->processes, machine_idx, descriptor->tid,
						descriptor->pid);
	if (utid < 0)
		return (int)utid;
	if (orma_base_map_get(&tracks->thread_uuids, (uint64_t)utid)) {
		utid = orma_processes_start_thread(tracks->processes, machine_idx,
						   ORMA_TIME_UNKNOWN, descriptor->tid);
		if (utid >= 0)
			utid = orma_processes_thread_of(tracks->processes, machine_idx,
							descriptor->tid, descriptor->pid);
		if (utid < 0)
			return (int)utid;
	}
	descriptor->scope = ORMA_SCOPE_THREAD;
	descriptor->utid = utid;
	descriptor->upid = tracks->processes->threads[utid].upid;
	int r = add_rank(tracks, descriptor);
	return r < 0 ? r : orma_base_map_put(&tracks->thread_uuids, (uint64_t)utid, descriptor);
}

static int own_process(struct orma_descriptor_tracks *tracks, uint32_t machine_idx,
		       struct orma_descriptor *descriptor)
{
	int64_t upid = orma_processes_process(tracks->processes, machine_idx, descriptor->pid);
	if (upid >= 0 && orma_base_map_get(&tracks->process_uuids, (uint64_t)upid))
		upid = orma_processes_start_process(tracks->processes, machine_idx,
						    ORMA_TIME_UNKNOWN, -1, descriptor->pid,
						    ORMA_CELL_NULL, ORMA_THREAD_NAME_DESCRIPTOR);
	if (upid < 0)
		return (int)upid;
	descriptor->scope = ORMA_SCOPE_PROCESS;
	descriptor->upid = upid;
	int r = add_rank(tracks, descriptor);
	return r < 0 ? r : orma_base_map_put(&tracks->process_uuids, (uint64_t)upid, descriptor);
}

/* Finds whose the track is; its parent, if any, is resolved. */
static int resolve(struct orma_descriptor_tracks *tracks, uint32_t machine_idx,
		   struct orma_descriptor *descriptor, const struct orma_descriptor *parent)
{
	int r = 0;
	if (descriptor->is_resolved)
		return 0;
	descriptor->is_root = descriptor->tid >= 0 || descriptor->pid >= 0;
	if (descriptor->tid >= 0) {
		r = own_thread(tracks, machine_idx, descriptor);
	} else if (descriptor->pid >= 0) {
		r = own_process(tracks, machine_idx, descriptor);
	} else if (parent) {
		descriptor->scope = parent->scope;
		descriptor->utid = parent->utid;
		descriptor->upid = parent->upid;
	}
	descriptor->is_resolved = r == 0;
	return r;
}

/* Lists a track and its ancestors. Returns their number, 0 (there is no such track, counted), or -ENOMEM. */
static int list_ancestors(struct orma_descriptor_tracks *tracks, uint64_t uuid,
			  struct orma_descriptor *ret[ANCESTORS_MAX])
{
	struct orma_descriptor *first = find(tracks, uuid);
	if (!first) {
		struct orma_descriptor unknown;
		orma_descriptor_read(tracks->tables, (struct orma_str){NULL, 0}, &unknown);
		unknown.uuid = uuid;
		unknown.name =
			uuid == 0 ? orma_tables_string(tracks->tables, ORMA_STR("Default Track"))
				  : ORMA_CELL_NULL;
		if (add(tracks, &unknown) < 0)
			return -ENOMEM;
		first = find(tracks, uuid);
	}
	enum orma_descriptor_count problem = ORMA_DESCRIPTORS_TOO_DEEP;
	int count = 0;
	for (struct orma_descriptor *at = first; count < ANCESTORS_MAX && !first->is_unusable;) {
		ret[count++] = at;
		if (at->parent_uuid == 0)
			return count;
		at = find(tracks, at->parent_uuid);
		problem = at ? problem : ORMA_DESCRIPTORS_MISSING_PARENT;
		for (int i = 0; i < count && at; i++)
			problem = ret[i] == at ? ORMA_DESCRIPTORS_LOOP : problem;
		if (problem != ORMA_DESCRIPTORS_TOO_DEEP)
			break;
	}
	tracks->counts[problem] += !first->is_unusable;
	first->is_unusable = true;
	return 0;
}

static int resolve_all(struct orma_descriptor_tracks *tracks, uint32_t machine_idx,
		       struct orma_descriptor **list, int count)
{
	int r = 0;
	for (int i = count - 1; i >= 0 && r == 0; i--)
		r = resolve(tracks, machine_idx, list[i], i + 1 < count ? list[i + 1] : NULL);
	return r;
}

int orma_descriptor_tracks_owner(struct orma_descriptor_tracks *tracks, uint32_t machine_idx,
				 uint64_t uuid, struct orma_track_owner *ret)
{
	struct orma_descriptor *list[ANCESTORS_MAX], *known = find(tracks, uuid);
	if (!known || !known->is_resolved) {
		int count = list_ancestors(tracks, uuid, list);
		int r = count > 0 ? resolve_all(tracks, machine_idx, list, count) : count;
		if (r < 0 || count == 0)
			return r;
		known = list[0];
	}
	*ret = (struct orma_track_owner){known->scope, known->utid, known->upid};
	return 1;
}

static void add_dimension(struct orma_track_key *key, const char *name, enum orma_arg_type type,
			  int64_t value)
{
	key->dimensions[key->dimension_count++] = (struct orma_track_dimension){name, type, value};
}

/* The key of a track of a thread, of a process, or of nobody. */
static void begin_key(struct orma_track_key *key, const struct orma_descriptor *descriptor,
		      uint32_t machine_idx, const char *const types[3])
{
	*key = (struct orma_track_key){.type = types[descriptor->scope],
				       .machine_idx = machine_idx,
				       .event_type = descriptor->is_counter ? "counter"
						     : descriptor->is_state ? "state"
									    : "slice"};
	if (descriptor->scope == ORMA_SCOPE_THREAD)
		add_dimension(key, "utid", ORMA_ARG_INT, descriptor->utid);
	else if (descriptor->scope == ORMA_SCOPE_PROCESS)
		add_dimension(key, "upid", ORMA_ARG_INT, descriptor->upid);
}

static const char *const single_types[] = {"global_track_event", "process_track_event",
					   "thread_track_event"};
static const char *const counter_types[] = {
	"global_counter_track_event", "process_counter_track_event", "thread_counter_track_event"};
static const char *const state_types[] = {"global_state_track_event", "process_state_track_event",
					  "thread_state_track_event"};
static const char *const merged_types[] = {
	"global_merged_track_event", "process_merged_track_event", "thread_merged_track_event"};

/* Describes a new row: the args of its descriptor, and its parent. */
static int describe_row(struct orma_descriptor_tracks *tracks, const struct orma_sequence *sequence,
			const struct orma_descriptor *descriptor, int64_t track_id)
{
	static const char *const orderings[] = {NULL, "lexicographic", "chronological", "explicit"};
	struct orma_arg_list *args = &tracks->args;
	bool is_root = descriptor->is_root || descriptor->uuid == 0;
	int64_t set;
	args->tables = tracks->tables;
	orma_arg_list_clear(args);
	orma_arg_list_add_string(args, "source", ORMA_STR("descriptor"));
	orma_arg_list_add_int(args, "trace_id", (int64_t)descriptor->uuid);
	orma_arg_list_add(args, ORMA_STR("is_root_in_scope"), ORMA_STR("is_root_in_scope"),
			  ORMA_ARG_BOOL, is_root);
	const struct {
		const char *key;
		int64_t cell;
	} texts[] = {{"category", descriptor->counter_category},
		     {"builtin_counter_type", descriptor->counter_type},
		     {"y_axis_share_key", descriptor->share_key}};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].cell != ORMA_CELL_NULL)
			orma_arg_list_add(args, orma_base_str(texts[i].key),
					  orma_base_str(texts[i].key), ORMA_ARG_STRING,
					  texts[i].cell);
	if (descriptor->uuid != 0 && sequence->has_first)
		orma_arg_list_add(args, ORMA_STR("has_first_packet_on_sequence"),
				  ORMA_STR("has_first_packet_on_sequence"), ORMA_ARG_BOOL, 1);
	if (descriptor->child_ordering > 0)
		orma_arg_list_add_string(args, "child_ordering",
					 orma_base_str(orderings[descriptor->child_ordering]));
	if (descriptor->has_rank)
		orma_arg_list_add_int(args, "sibling_order_rank", descriptor->rank);
	if (descriptor->description != ORMA_CELL_NULL)
		orma_arg_list_add(args, ORMA_STR("description"), ORMA_STR("description"),
				  ORMA_ARG_STRING, descriptor->description);
	/* The uuid is in it. */
	int r = orma_arg_sets_append(tracks->sets, args, &set);
	if (r == 0)
		r = orma_tracks_set(tracks->tracks, track_id, ORMA_TRACK_SOURCE_ARG_SET_ID, set);
	const struct orma_descriptor *parent =
		descriptor->parent_uuid
			? orma_base_map_get(&tracks->by_uuid, descriptor->parent_uuid)
			: NULL;
	/* The children of a thread's or process's own track are shown beside it, not below it. */
	bool is_beside = parent && parent->is_root && parent->scope != ORMA_SCOPE_GLOBAL;
	if (r == 0 && parent && parent->track_id >= 0 && !is_beside && !descriptor->is_root)
		r = orma_tracks_set(tracks->tracks, track_id, ORMA_TRACK_PARENT_ID,
				    parent->track_id);
	return r;
}

/* Makes the row of a track that is alone: of a thread or process itself, of a counter, of states, or unmerged. */
static int make_single(struct orma_descriptor_tracks *tracks, const struct orma_sequence *sequence,
		       struct orma_descriptor *descriptor, int64_t event_name)
{
	static const char *const thread_types[] = {"", "", "thread_execution"};
	struct orma_track_key key;
	bool is_new, is_thread = descriptor->tid >= 0 && !descriptor->is_counter &&
				 !descriptor->is_separate;
	const char *const *types = is_thread                ? thread_types
				   : descriptor->is_counter ? counter_types
				   : descriptor->is_state   ? state_types
							    : single_types;
	bool takes_event_name = descriptor->name == ORMA_CELL_NULL && !descriptor->is_root &&
				!descriptor->is_counter;
	int64_t name = takes_event_name ? orma_tables_keep_string(tracks->tables, event_name)
					: descriptor->name;
	begin_key(&key, descriptor, sequence->machine_idx, types);
	if (!is_thread)
		add_dimension(&key, "track_uuid", ORMA_ARG_INT, (int64_t)descriptor->uuid);
	int64_t id = orma_tracks_get(tracks->tracks, &key, is_thread ? ORMA_CELL_NULL : name,
				     descriptor->is_counter ? descriptor->unit : ORMA_CELL_NULL,
				     &is_new);
	if (id < 0)
		return (int)id;
	descriptor->track_id = id;
	return is_new && !is_thread ? describe_row(tracks, sequence, descriptor, id) : 0;
}

static void merged_key(const struct orma_descriptor *descriptor, uint32_t machine_idx, int64_t name,
		       struct orma_track_key *ret)
{
	bool is_by_key = descriptor->merge == ORMA_MERGE_BY_KEY;
	int64_t value = is_by_key ? descriptor->merge_key : name;
	begin_key(ret, descriptor, machine_idx, merged_types);
	add_dimension(ret, "parent_track_uuid", ORMA_ARG_INT, (int64_t)descriptor->parent_uuid);
	add_dimension(ret, "merge_key_type", ORMA_ARG_INT, is_by_key);
	add_dimension(ret, "merge_key_value",
		      value == ORMA_CELL_NULL ? ORMA_ARG_NULL : ORMA_ARG_STRING, value);
}

static int find_group(struct orma_descriptor_tracks *tracks, uint32_t machine_idx,
		      struct orma_descriptor *descriptor, int64_t event_name)
{
	struct orma_track_key key;
	if (descriptor->group)
		return 0;
	if (descriptor->name == ORMA_CELL_NULL)
		descriptor->name = orma_tables_keep_string(tracks->tables, event_name);
	merged_key(descriptor, machine_idx, descriptor->name, &key);
	descriptor->group = orma_track_groups_get(&tracks->groups, orma_track_key_hash(&key));
	return descriptor->group ? 0 : -ENOMEM;
}

/* Returns the row of a lane of a merged track. */
static int64_t use_group(struct orma_descriptor_tracks *tracks,
			 const struct orma_sequence *sequence, struct orma_descriptor *descriptor,
			 enum orma_lane_use use)
{
	int64_t idx = orma_track_group_use(descriptor->group, (int64_t)descriptor->uuid, use);
	if (idx < 0)
		return idx;
	struct orma_track_lane *lane = &descriptor->group->lanes[idx];
	if (lane->track_id >= 0)
		return lane->track_id;
	struct orma_track_key key;
	merged_key(descriptor, sequence->machine_idx, descriptor->name, &key);
	add_dimension(&key, "track_compressor_idx", ORMA_ARG_INT, idx);
	int64_t id = orma_tracks_add(tracks->tracks, &key, descriptor->name, ORMA_CELL_NULL);
	if (id < 0)
		return id;
	lane->track_id = id;
	int r = orma_tracks_set(tracks->tracks, id, ORMA_TRACK_TRACK_GROUP_ID,
				descriptor->group->id);
	if (r == 0)
		r = describe_row(tracks, sequence, descriptor, id);
	return r < 0 ? r : id;
}

static bool is_single(const struct orma_descriptor *descriptor)
{
	return descriptor->is_root || descriptor->is_counter || descriptor->is_state ||
	       descriptor->merge == ORMA_MERGE_NEVER;
}

/* Returns the row of a resolved track; its parent, if any, has a row. */
static int64_t use_one(struct orma_descriptor_tracks *tracks, const struct orma_sequence *sequence,
		       struct orma_descriptor *descriptor, int64_t event_name,
		       enum orma_lane_use use)
{
	if (is_single(descriptor)) {
		int r = descriptor->track_id >= 0
				? 0
				: make_single(tracks, sequence, descriptor, event_name);
		return r < 0 ? r : descriptor->track_id;
	}
	int r = find_group(tracks, sequence->machine_idx, descriptor, event_name);
	if (r < 0)
		return r;
	int64_t id = use_group(tracks, sequence, descriptor, use);
	if (use == ORMA_LANE_FIRST && id >= 0)
		descriptor->track_id = id;
	return id;
}

int64_t orma_descriptor_tracks_use(struct orma_descriptor_tracks *tracks,
				   const struct orma_sequence *sequence, uint64_t uuid,
				   int64_t event_name, enum orma_lane_use use)
{
	struct orma_descriptor *list[ANCESTORS_MAX], *known = find(tracks, uuid);
	/* The common case: a track that has been used before. */
	if (known && known->is_resolved && (known->track_id >= 0 || known->group))
		return use_one(tracks, sequence, known, event_name, use);
	int count = list_ancestors(tracks, uuid, list);
	if (count <= 0)
		return count < 0 ? count : NO_TRACK;
	int64_t id = resolve_all(tracks, sequence->machine_idx, list, count);
	for (int i = count - 1; i >= 0 && id >= 0; i--) {
		if (i > 0 && list[i]->track_id >= 0)
			continue;
		id = use_one(tracks, sequence, list[i], i == 0 ? event_name : ORMA_CELL_NULL,
			     i == 0 ? use : ORMA_LANE_FIRST);
	}
	return id;
}

int64_t orma_descriptor_tracks_find_row(struct orma_descriptor_tracks *tracks, uint64_t uuid,
					enum orma_track_scope *ret_scope)
{
	const struct orma_descriptor *known = find(tracks, uuid);
	if (!known || !known->is_resolved || !is_single(known))
		return -1;
	*ret_scope = known->scope;
	return known->track_id;
}

bool orma_descriptor_tracks_counter(struct orma_descriptor_tracks *tracks, uint64_t uuid,
				    double *ret_multiplier, bool *ret_is_incremental,
				    int64_t *ret_name)
{
	const struct orma_descriptor *descriptor = find(tracks, uuid);
	if (!descriptor || !descriptor->is_counter)
		return false;
	*ret_multiplier = descriptor->multiplier;
	*ret_is_incremental = descriptor->is_incremental;
	*ret_name = descriptor->name;
	return true;
}

bool orma_descriptor_tracks_is_state(struct orma_descriptor_tracks *tracks, uint64_t uuid)
{
	const struct orma_descriptor *descriptor = find(tracks, uuid);
	return descriptor && descriptor->is_state;
}
