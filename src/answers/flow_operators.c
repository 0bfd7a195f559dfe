/* SPDX-License-Identifier: Apache-2.0
 * flow_operators.c - the flows that connect a slice with others, over any number of slices.
 *
 * Slices are visited in the order of their distance. When the search has followed a flow forwards, it goes on forwards
 * from there; when it has followed one backwards, it goes on backwards.
 */
#include <errno.h>

#include "answers/operators.h"
#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "base/map.h"
#include "sql/index.h"

enum way { WAY_START, WAY_INCOMING, WAY_OUTGOING, WAY_RELATIVE };

struct visit {
	uint64_t slice;
	enum way way;
};

struct search {
	struct orma_row_call *call;
	struct visit *visits;
	size_t count, capacity;
	struct orma_map known; /* slices that are among the visits */
};

static int add_visit(struct search *search, uint64_t slice, enum way way)
{
	if (orma_base_map_get(&search->known, slice))
		return 0;
	if (search->count == search->capacity) {
		size_t capacity = ORMA_MAX(search->capacity * 2, (size_t)16);
		struct visit *visits =
			orma_base_realloc_array(search->visits, capacity, sizeof(*visits));
		if (!visits)
			return -ENOMEM;
		search->visits = visits;
		search->capacity = capacity;
	}
	search->visits[search->count++] = (struct visit){slice, way};
	return orma_base_map_put(&search->known, slice, search);
}

static int add_relative(void *ctx, uint64_t slice)
{
	return add_visit(ctx, slice, WAY_RELATIVE);
}

static int add_ancestors(struct search *search, uint64_t slice)
{
	struct orma_trace_database *database = search->call->ctx;
	const struct orma_column *parents =
		&database->tables.all[ORMA_TABLE_SLICE].columns[ORMA_SLICE_PARENT_ID];
	int r = 0;
	for (int64_t parent = orma_store_column_get(parents, slice);
	     r == 0 && parent >= 0 && (uint64_t)parent < slice;
	     parent = orma_store_column_get(parents, slice)) {
		slice = (uint64_t)parent;
		r = add_visit(search, slice, WAY_RELATIVE);
	}
	return r;
}

/* Adds the flows of a slice in one direction, and the slices at their other ends. */
static int follow(struct search *search, uint64_t slice, enum way way)
{
	struct orma_trace_database *database = search->call->ctx;
	struct orma_relation *relation = orma_sql_find_relation(database->sql, "__intrinsic_flow");
	const struct orma_column *columns = database->tables.all[ORMA_TABLE_FLOW].columns;
	bool is_out = way == WAY_OUTGOING;
	const struct orma_index *index;
	const uint32_t *rows;
	int column = orma_sql_relation_find(relation, is_out ? "slice_out" : "slice_in");
	int r = orma_sql_index_use(relation, (size_t)column, &index);
	size_t count = r == 0 ? orma_sql_index_find(index, (int64_t)slice, &rows) : 0;
	for (size_t i = 0; i < count && r == 0; i++) {
		int64_t flow = rows[i];
		int64_t other = orma_store_column_get(
			&columns[is_out ? ORMA_FLOW_SLICE_IN : ORMA_FLOW_SLICE_OUT], rows[i]);
		r = orma_row_set_add_ints(search->call->ret, &flow);
		if (r == 0 && other >= 0)
			r = add_visit(search, (uint64_t)other, way);
	}
	return r;
}

static int run(struct orma_row_call *call, bool is_incoming, bool is_outgoing, bool has_relatives)
{
	struct search search = {.call = call};
	uint64_t start;
	int r = orma_slice_argument(call, &start);
	if (r > 0)
		r = add_visit(&search, start, WAY_START);
	for (size_t i = 0; i < search.count && r == 0; i++) {
		struct visit visit = search.visits[i];
		if (has_relatives && visit.way != WAY_RELATIVE)
			r = is_outgoing ? orma_visit_descendants(call->ctx, visit.slice,
								 add_relative, &search)
					: add_ancestors(&search, visit.slice);
		if (r == 0 && is_incoming && visit.way != WAY_OUTGOING)
			r = follow(&search, visit.slice, WAY_INCOMING);
		if (r == 0 && is_outgoing && visit.way != WAY_INCOMING)
			r = follow(&search, visit.slice, WAY_OUTGOING);
	}
	orma_base_free(search.visits);
	orma_base_map_done(&search.known);
	return r;
}

static int run_directly_connected(struct orma_row_call *call)
{
	return run(call, true, true, false);
}

static int run_following(struct orma_row_call *call)
{
	return run(call, false, true, true);
}

static int run_preceding(struct orma_row_call *call)
{
	return run(call, true, false, true);
}

#define FLOW_OPERATOR(what)                                                                        \
	{                                                                                          \
		.name = "__intrinsic_" #what "_flows", .columns = "id", .column_count = 1,         \
		.arg_count = 1, .rows = 10, .run = run_##what                                      \
	}

const struct orma_row_operator orma_directly_connected_flows = FLOW_OPERATOR(directly_connected);
const struct orma_row_operator orma_following_flows = FLOW_OPERATOR(following);
const struct orma_row_operator orma_preceding_flows = FLOW_OPERATOR(preceding);
