/* SPDX-License-Identifier: Apache-2.0
 * flows.c - a flow is the last slice that it has come to.
 */
#include "trace/flows.h"

#include <errno.h>

#include "trace/slices.h"

struct orma_flow_name {
	uint64_t id;
	int64_t category, name; /* cells */
};

/* An end that waits for a slice on its track. */
struct orma_flow_ending {
	uint64_t id;
	struct orma_flow_ending *next; /* a ring, and the map has the last */
};

void orma_flows_done(struct orma_flows *flows)
{
	orma_base_map_done(&flows->active);
	orma_base_map_done(&flows->named);
	orma_base_map_done(&flows->names);
	orma_base_map_done(&flows->endings);
	orma_arg_list_done(&flows->args);
	orma_base_arena_done(&flows->arena);
}

static int64_t find_last(const struct orma_flows *flows, uint64_t id)
{
	return (int64_t)(uintptr_t)orma_base_map_get(&flows->active, id) - 1;
}

static int set_last(struct orma_flows *flows, uint64_t id, int64_t slice)
{
	return orma_base_map_put(&flows->active, id, (void *)((uintptr_t)slice + 1));
}

/* A flow that its name identifies says so in arguments. */
static int make_args(struct orma_flows *flows, uint64_t id, int64_t *ret_set)
{
	const struct orma_flow_name *name = orma_base_map_get(&flows->names, id);
	const struct {
		struct orma_str key;
		int64_t value;
	} parts[] = {{ORMA_STR("name"), name ? name->name : 0},
		     {ORMA_STR("cat"), name ? name->category : 0}};
	*ret_set = ORMA_CELL_NULL;
	if (!name)
		return 0;
	flows->args.tables = flows->tables;
	orma_arg_list_clear(&flows->args);
	for (int i = 0; i < 2; i++)
		orma_arg_list_add(&flows->args, parts[i].key, parts[i].key,
				  parts[i].value == ORMA_CELL_NULL ? ORMA_ARG_NULL
								   : ORMA_ARG_STRING,
				  parts[i].value);
	return orma_arg_sets_add(flows->sets, &flows->args, ret_set);
}

static int64_t ts_of(const struct orma_flows *flows, int64_t slice)
{
	return orma_store_column_get(
		orma_tables_column(flows->tables, ORMA_TABLE_SLICE, ORMA_SLICE_TS),
		(uint64_t)slice);
}

/* The arrow begins at the slice that began first, whatever order the events came in. */
static int add_row(struct orma_flows *flows, uint64_t id, int64_t last, int64_t slice)
{
	bool is_back = ts_of(flows, last) > ts_of(flows, slice);
	int64_t set;
	int r = make_args(flows, id, &set);
	int64_t cells[ORMA_FLOW_COLUMNS] = {
		[ORMA_FLOW_SLICE_OUT] = is_back ? slice : last,
		[ORMA_FLOW_SLICE_IN] = is_back ? last : slice,
		[ORMA_FLOW_TRACE_ID] = (int64_t)id,
		[ORMA_FLOW_ARG_SET_ID] = set,
	};
	return r < 0 ? r : orma_store_table_append(&flows->tables->all[ORMA_TABLE_FLOW], cells);
}

int orma_flows_join(struct orma_flows *flows, uint64_t id, int64_t slice)
{
	int64_t last = find_last(flows, id);
	int r = set_last(flows, id, slice);
	return r < 0 || last < 0 ? r : add_row(flows, id, last, slice);
}

int orma_flows_terminate(struct orma_flows *flows, uint64_t id, int64_t slice)
{
	int64_t last = (int64_t)(uintptr_t)orma_base_map_remove(&flows->active, id) - 1;
	return last < 0 ? 0 : add_row(flows, id, last, slice);
}

/* Counts the flow when there is no slice, or when it has not begun. True when there are both. */
static bool check(struct orma_flows *flows, uint64_t id, int64_t slice,
		  enum orma_flows_count problem)
{
	bool has_slice = slice != ORMA_NO_SLICE, has_begun = find_last(flows, id) >= 0;
	if (!has_slice)
		flows->counts[ORMA_FLOWS_WITHOUT_SLICE]++;
	else if (!has_begun)
		flows->counts[problem]++;
	return has_slice && has_begun;
}

int orma_flows_begin(struct orma_flows *flows, uint64_t id, int64_t slice)
{
	if (slice != ORMA_NO_SLICE && find_last(flows, id) < 0)
		return set_last(flows, id, slice);
	flows->counts[slice == ORMA_NO_SLICE ? ORMA_FLOWS_WITHOUT_SLICE : ORMA_FLOWS_DUPLICATE]++;
	return 0;
}

int orma_flows_step(struct orma_flows *flows, uint64_t id, int64_t slice)
{
	return check(flows, id, slice, ORMA_FLOWS_STEP_WITHOUT_BEGIN)
		       ? orma_flows_join(flows, id, slice)
		       : 0;
}

int orma_flows_end(struct orma_flows *flows, uint64_t id, int64_t slice)
{
	return check(flows, id, slice, ORMA_FLOWS_END_WITHOUT_BEGIN)
		       ? add_row(flows, id, find_last(flows, id), slice)
		       : 0;
}

int orma_flows_end_later(struct orma_flows *flows, uint64_t id, uint32_t track_id)
{
	struct orma_flow_ending *ending = orma_base_arena_alloc(&flows->arena, sizeof(*ending));
	if (!ending)
		return -ENOMEM;
	struct orma_flow_ending *last = orma_base_map_get(&flows->endings, track_id);
	*ending = (struct orma_flow_ending){id, last ? last->next : ending};
	if (last)
		last->next = ending;
	return orma_base_map_put(&flows->endings, track_id, ending);
}

int orma_flows_take_endings(struct orma_flows *flows, uint32_t track_id, int64_t slice)
{
	if (flows->endings.count == 0)
		return 0;
	const struct orma_flow_ending *last = orma_base_map_remove(&flows->endings, track_id),
				      *ending = last;
	int r = 0;
	while (ending && r == 0) {
		ending = ending->next;
		r = orma_flows_end(flows, ending->id, slice);
		if (ending == last)
			break;
	}
	return r;
}

int orma_flows_find_named(struct orma_flows *flows, uint64_t number, int64_t category, int64_t name,
			  uint64_t *ret_id)
{
	uint64_t parts[] = {number, (uint64_t)category, (uint64_t)name};
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, parts, sizeof(parts));
	struct orma_flow_name *known = orma_base_map_get(&flows->named, key);
	if (!known) {
		known = orma_base_arena_alloc(&flows->arena, sizeof(*known));
		if (!known)
			return -ENOMEM;
		*known = (struct orma_flow_name){flows->named.count, category, name};
		int r = orma_base_map_put(&flows->named, key, known);
		if (r == 0)
			r = orma_base_map_put(&flows->names, known->id, known);
		if (r < 0)
			return r;
	}
	*ret_id = known->id;
	return 0;
}
