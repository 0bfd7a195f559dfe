/* SPDX-License-Identifier: Apache-2.0
 * clocks.c - a graph whose nodes are clocks; an edge is a set of clocks that were read together, at least once.
 *
 * Snapshots of the same clocks form a set, a table with one row a snapshot and one column a clock. To cross an edge, the
 * last row whose source is not later than the time is found by binary search, and the difference of the two columns
 * there is added. A path has at most four edges, found breadth first.
 *
 * A trace is read twice, but a timestamp must not depend on snapshots that come later in the file than its packet,
 * because then it would differ from what other readers of the same trace say. So each edge and each row knows its number, and a
 * conversion says how many snapshots it has seen. Invariant: the rows of a set have ascending numbers.
 *
 * A clock that goes back in a set can still be converted to, but not from, because one of its times is two instants.
 * Rejected: interpolation between snapshots, which nobody else does: the clocks differ by parts per million.
 */
#include "trace/clocks.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"
#include "store/grow.h"

enum {
	PATH_MAX_EDGES = 4,
	SET_CLOCKS_MAX = 64, /* clocks of one snapshot; a trace has about seven */
	/* A clock's edges are few unless a trace is made to have more: */
	EDGES_MAX = 1 << 14,          /* that leave a clock */
	SEARCHED_EDGES_MAX = 1 << 14, /* that one search looks at */
	NO_SNAPSHOT = INT32_MAX,
};

struct clock_edge {
	struct orma_clock_domain *to;
	uint32_t set_idx;
	uint16_t from_column, to_column;
	uint32_t since, until; /* numbers of snapshots */
};

struct orma_clock_domain {
	uint64_t key;
	uint32_t idx;
	int64_t unit_ns;
	bool is_incremental;
	bool goes_back;
	struct clock_edge *edges; /* in the order of the targets' keys, then of the sets */
	uint32_t edge_count, edge_capacity;
};

struct orma_clock_set {
	struct orma_clock_domain **clocks;
	uint32_t clock_count;
	uint32_t row_count, row_capacity;
	uint32_t *numbers; /* which snapshot a row is from */
	int64_t *values;   /* in nanoseconds; row after row */
};

void orma_trace_clocks_init(struct orma_clocks *clocks)
{
	*clocks =
		(struct orma_clocks){.trace_time = orma_trace_clock_key(0, 0, ORMA_CLOCK_BOOTTIME)};
}

void orma_trace_clocks_done(struct orma_clocks *clocks)
{
	struct orma_map_slot *slot;
	for (size_t position = 0; (slot = orma_base_map_next(&clocks->domains, &position));)
		orma_base_free(((struct orma_clock_domain *)slot->value)->edges);
	for (uint32_t i = 0; i < clocks->set_count; i++) {
		orma_base_free(clocks->sets[i].numbers);
		orma_base_free(clocks->sets[i].values);
	}
	orma_base_free(clocks->sets);
	orma_base_map_done(&clocks->domains);
	orma_base_map_done(&clocks->sets_by_key);
	orma_base_arena_done(&clocks->arena);
	*clocks = (struct orma_clocks){0};
}

bool orma_trace_clocks_has(const struct orma_clocks *clocks, uint64_t key)
{
	return orma_base_map_get(&clocks->domains, key) != NULL;
}

int64_t orma_trace_clock_unit(const struct orma_clocks *clocks, uint64_t key)
{
	const struct orma_clock_domain *domain = orma_base_map_get(&clocks->domains, key);
	return domain ? domain->unit_ns : 1;
}

static struct orma_clock_domain *get_domain(struct orma_clocks *clocks,
					    const struct orma_clock_reading *reading)
{
	struct orma_clock_domain *domain = orma_base_map_get(&clocks->domains, reading->key);
	if (domain)
		return domain;
	domain = orma_base_arena_alloc(&clocks->arena, sizeof(*domain));
	if (!domain)
		return NULL;
	domain->key = reading->key;
	domain->idx = (uint32_t)clocks->domains.count;
	domain->unit_ns = reading->unit_ns;
	domain->is_incremental = reading->is_incremental;
	return orma_base_map_put(&clocks->domains, reading->key, domain) < 0 ? NULL : domain;
}

/* Checks what can be checked without the set. */
static bool is_acceptable(const struct orma_clocks *clocks,
			  const struct orma_clock_reading *readings, size_t count)
{
	if (count > SET_CLOCKS_MAX)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct orma_clock_reading *reading = &readings[i];
		const struct orma_clock_domain *domain =
			orma_base_map_get(&clocks->domains, reading->key);
		bool is_of_sequence = (reading->key >> 40 & 1) != 0;
		if (reading->is_incremental && !is_of_sequence)
			return false;
		if (domain && (domain->unit_ns != reading->unit_ns ||
			       domain->is_incremental != reading->is_incremental))
			return false;
		if (reading->key == clocks->trace_time && reading->unit_ns != 1)
			return false;
		for (size_t j = 0; j < i; j++)
			if (readings[j].key == reading->key)
				return false;
	}
	return true;
}

static uint64_t set_key(struct orma_clock_domain **domains, size_t count)
{
	uint64_t key = ORMA_FNV1A_INIT;
	for (size_t i = 0; i < count; i++)
		key = orma_base_fnv1a(key, &domains[i]->key, sizeof(domains[i]->key));
	return key;
}

/* The first of the sets with one hash keeps its place; another one is made anew for each of its snapshots. */
static struct orma_clock_set *find_set(struct orma_clocks *clocks,
				       struct orma_clock_domain **domains, size_t count)
{
	uintptr_t place =
		(uintptr_t)orma_base_map_get(&clocks->sets_by_key, set_key(domains, count));
	struct orma_clock_set *set = place ? &clocks->sets[place - 1] : NULL;
	bool is_same = set && set->clock_count == count &&
		       memcmp(set->clocks, domains, count * sizeof(*domains)) == 0;
	return is_same ? set : NULL;
}

static struct orma_clock_set *add_set(struct orma_clocks *clocks,
				      struct orma_clock_domain **domains, size_t count)
{
	if (orma_store_grow(&clocks->sets, (uint64_t)clocks->set_count + 1, &clocks->set_capacity,
			    sizeof(*clocks->sets)) < 0)
		return NULL;
	struct orma_clock_set *set = &clocks->sets[clocks->set_count];
	*set = (struct orma_clock_set){.clock_count = (uint32_t)count};
	set->clocks = orma_base_arena_memdup(&clocks->arena, domains, count * sizeof(*domains));
	if (!set->clocks)
		return NULL;
	clocks->set_count++;
	uint64_t key = set_key(domains, count);
	if (!orma_base_map_get(&clocks->sets_by_key, key) &&
	    orma_base_map_put(&clocks->sets_by_key, key, (void *)(uintptr_t)clocks->set_count) < 0)
		return NULL;
	return set;
}

static int add_edge(struct orma_clock_domain *from, const struct clock_edge *edge)
{
	uint32_t at = from->edge_count;
	if (at == EDGES_MAX)
		return 0;
	int r = orma_store_grow(&from->edges, (uint64_t)at + 1, &from->edge_capacity,
				sizeof(*edge));
	if (r < 0)
		return r;
	for (; at > 0 && from->edges[at - 1].to->key > edge->to->key; at--)
		from->edges[at] = from->edges[at - 1];
	from->edges[at] = *edge;
	from->edge_count++;
	return 0;
}

static int connect_set(struct orma_clocks *clocks, const struct orma_clock_set *set)
{
	uint32_t set_idx = (uint32_t)(set - clocks->sets);
	for (uint32_t from = 0; from < set->clock_count; from++)
		for (uint32_t to = 0; to < set->clock_count; to++) {
			struct clock_edge edge = {.to = set->clocks[to],
						  .set_idx = set_idx,
						  .from_column = (uint16_t)from,
						  .to_column = (uint16_t)to,
						  .since = clocks->snapshot_count,
						  .until = ORMA_CLOCK_ALL_SNAPSHOTS};
			if (from == to || set->clocks[from]->goes_back)
				continue;
			int r = add_edge(set->clocks[from], &edge);
			if (r < 0)
				return r;
		}
	return 0;
}

static int reserve_row(struct orma_clock_set *set)
{
	if (set->row_count < set->row_capacity)
		return 0;
	uint32_t capacity = ORMA_MAX(set->row_capacity * 2, 4u);
	uint32_t *numbers = orma_base_realloc_array(set->numbers, capacity, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	set->numbers = numbers;
	int64_t *values = orma_base_realloc_array(set->values, (size_t)capacity * set->clock_count,
						  sizeof(*values));
	if (!values)
		return -ENOMEM;
	set->values = values;
	set->row_capacity = capacity;
	return 0;
}

static int64_t to_ns(const struct orma_clock_reading *reading)
{
	return (int64_t)((uint64_t)reading->value * (uint64_t)reading->unit_ns);
}

/* Adds a row, unless the clock of the trace goes back in it: 1, 0 or -ENOMEM. */
static int add_row(struct orma_clocks *clocks, struct orma_clock_set *set,
		   const struct orma_clock_reading *readings)
{
	const int64_t *last =
		set->row_count > 0 ? set->values + (size_t)(set->row_count - 1) * set->clock_count
				   : NULL;
	for (uint32_t i = 0; last && i < set->clock_count; i++)
		if (set->clocks[i]->key == clocks->trace_time && to_ns(&readings[i]) < last[i])
			return 0;
	int r = reserve_row(set);
	if (r < 0)
		return r;
	int64_t *row = set->values + (size_t)set->row_count * set->clock_count;
	for (uint32_t i = 0; i < set->clock_count; i++) {
		struct orma_clock_domain *domain = set->clocks[i];
		row[i] = to_ns(&readings[i]);
		if (set->row_count == 0 || row[i] >= row[(int64_t)i - (int64_t)set->clock_count])
			continue;
		domain->goes_back = true;
		for (uint32_t e = 0; e < domain->edge_count; e++)
			domain->edges[e].until =
				ORMA_MIN(domain->edges[e].until, clocks->snapshot_count);
	}
	set->numbers[set->row_count++] = clocks->snapshot_count;
	return 1;
}

int orma_trace_clocks_add(struct orma_clocks *clocks, const struct orma_clock_reading *readings,
			  size_t count)
{
	struct orma_clock_domain *domains[SET_CLOCKS_MAX];
	if (clocks->snapshot_count == NO_SNAPSHOT || !is_acceptable(clocks, readings, count)) {
		clocks->rejected_count++;
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		domains[i] = get_domain(clocks, &readings[i]);
		if (!domains[i])
			return -ENOMEM;
	}
	struct orma_clock_set *set = find_set(clocks, domains, count);
	if (!set) {
		set = add_set(clocks, domains, count);
		if (!set)
			return -ENOMEM;
		int r = connect_set(clocks, set);
		if (r < 0)
			return r;
	}
	int r = add_row(clocks, set, readings);
	if (r == 0)
		clocks->rejected_count++;
	else if (r > 0)
		clocks->snapshot_count++;
	return r;
}

struct search_node {
	const struct orma_clock_domain *domain;
	const struct clock_edge *edge; /* that leads here; NULL at the start */
	uint32_t parent;
	uint32_t length;
};

static bool is_open(const struct clock_edge *edge, uint32_t snapshots)
{
	return edge->since < snapshots && edge->until >= snapshots;
}

/* Searches breadth first; each clock is visited once. Returns the length of the path, whose last node is *ret_last, or 0. */
static uint32_t search(struct search_node *nodes, bool *is_seen,
		       const struct orma_clock_domain *from, const struct orma_clock_domain *to,
		       uint32_t snapshots, uint32_t *ret_last)
{
	uint32_t count = 1, searched = 0;
	nodes[0] = (struct search_node){.domain = from};
	is_seen[from->idx] = true;
	for (uint32_t n = 0; n < count && nodes[n].length < PATH_MAX_EDGES; n++) {
		const struct orma_clock_domain *domain = nodes[n].domain;
		for (uint32_t e = 0; e < domain->edge_count; e++) {
			const struct clock_edge *edge = &domain->edges[e];
			if (++searched > SEARCHED_EDGES_MAX)
				return 0;
			if (!is_open(edge, snapshots) || is_seen[edge->to->idx])
				continue;
			is_seen[edge->to->idx] = true;
			nodes[count] = (struct search_node){edge->to, edge, n, nodes[n].length + 1};
			*ret_last = count++;
			if (edge->to == to)
				return nodes[*ret_last].length;
		}
	}
	return 0;
}

/* Returns the number of edges of the shortest path, 0 when there is none. */
static uint32_t find_path(const struct orma_clocks *clocks, const struct orma_clock_domain *from,
			  const struct orma_clock_domain *to, uint32_t snapshots,
			  const struct clock_edge *ret[PATH_MAX_EDGES])
{
	size_t count = clocks->domains.count;
	struct search_node few[SET_CLOCKS_MAX];
	bool few_seen[SET_CLOCKS_MAX] = {false};
	struct search_node *nodes = few;
	bool *is_seen = few_seen;
	uint32_t length = 0, last;
	if (count > SET_CLOCKS_MAX) {
		nodes = orma_base_alloc_array(ORMA_MIN(count, (size_t)SEARCHED_EDGES_MAX + 1),
					      sizeof(*nodes));
		is_seen = orma_base_zalloc(count);
	}
	if (nodes && is_seen)
		length = search(nodes, is_seen, from, to, snapshots, &last);
	for (uint32_t n = length > 0 ? last : 0, left = length; left > 0; n = nodes[n].parent)
		ret[--left] = nodes[n].edge;
	if (count > SET_CLOCKS_MAX) {
		orma_base_free(nodes);
		orma_base_free(is_seen);
	}
	return length;
}

/* The row that applies at a time, among the rows that were there: the last that is not later, else the first. */
static uint32_t find_row(const struct orma_clock_set *set, uint32_t column, int64_t ns,
			 uint32_t rows)
{
	uint32_t low = 0, high = rows;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (set->values[(size_t)middle * set->clock_count + column] <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? low - 1 : 0;
}

static uint32_t count_rows(const struct orma_clock_set *set, uint32_t snapshots)
{
	uint32_t low = 0, high = set->row_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (set->numbers[middle] < snapshots)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int64_t add_wrapping(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t subtract_wrapping(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* Crosses one edge, and narrows the times for which the path so far holds. */
static int64_t cross(const struct orma_clocks *clocks, const struct clock_edge *edge, int64_t ns,
		     struct orma_clock_cache *cache)
{
	const struct orma_clock_set *set = &clocks->sets[edge->set_idx];
	uint32_t rows = count_rows(set, cache->snapshots);
	ORMA_ASSERT(rows > 0);
	uint32_t row = find_row(set, edge->from_column, ns, rows);
	const int64_t *values = set->values + (size_t)row * set->clock_count;
	if (row > 0)
		cache->min_ns = ORMA_MAX(cache->min_ns, subtract_wrapping(values[edge->from_column],
									  cache->shift_ns));
	if (row + 1 < rows)
		cache->max_ns =
			ORMA_MIN(cache->max_ns,
				 subtract_wrapping(values[set->clock_count + edge->from_column],
						   cache->shift_ns));
	int64_t shift = subtract_wrapping(values[edge->to_column], values[edge->from_column]);
	cache->shift_ns = add_wrapping(cache->shift_ns, shift);
	return add_wrapping(ns, shift);
}

/* Machines without snapshots between them, as a clock of one name shows the same time on both of them then. */
static bool is_same_time(const struct orma_clock_domain *source, uint64_t from, uint64_t to,
			 uint32_t snapshots)
{
	const uint64_t of_machine = UINT64_MAX << 41;
	bool is_of_sequence = ((from | to) >> 40 & 1) != 0;
	if (is_of_sequence || ((from ^ to) & ~of_machine) != 0)
		return false;
	for (uint32_t i = 0; source && i < source->edge_count; i++)
		if (source->edges[i].since < snapshots)
			return false;
	return true;
}

enum orma_clock_failure orma_trace_clocks_search(const struct orma_clocks *clocks, uint64_t from,
						 int64_t ns, uint64_t to, uint32_t snapshots,
						 struct orma_clock_cache *cache, int64_t *ret)
{
	const struct orma_clock_domain *source = orma_base_map_get(&clocks->domains, from);
	const struct orma_clock_domain *target = orma_base_map_get(&clocks->domains, to);
	*cache = (struct orma_clock_cache){.from = from,
					   .to = to,
					   .snapshots = snapshots,
					   .min_ns = INT64_MIN,
					   .max_ns = INT64_MAX};
	if (is_same_time(source, from, to, snapshots)) {
		cache->is_valid = true;
		*ret = ns;
		return ORMA_CLOCK_CONVERTED;
	}
	if (!source || !target)
		return source ? ORMA_CLOCK_UNKNOWN_TARGET : ORMA_CLOCK_UNKNOWN_SOURCE;
	const struct clock_edge *path[PATH_MAX_EDGES];
	uint32_t length = find_path(clocks, source, target, snapshots, path);
	if (length == 0)
		return ORMA_CLOCK_NO_PATH;
	cache->is_valid = true;
	for (uint32_t i = 0; i < length; i++)
		ns = cross(clocks, path[i], ns, cache);
	*ret = ns;
	return ORMA_CLOCK_CONVERTED;
}

/* One snapshot: a row of a set. */
struct snapshot_place {
	const struct orma_clock_set *set;
	uint32_t row;
};

static size_t read_row(const struct snapshot_place *place, struct orma_clock_reading *ret)
{
	const struct orma_clock_set *set = place->set;
	for (uint32_t i = 0; i < set->clock_count; i++)
		ret[i] = (struct orma_clock_reading){
			.key = set->clocks[i]->key,
			.value = set->values[(size_t)place->row * set->clock_count + i],
			.unit_ns = set->clocks[i]->unit_ns,
			.is_incremental = set->clocks[i]->is_incremental};
	return set->clock_count;
}

int orma_trace_clocks_each(const struct orma_clocks *clocks,
			   int (*fn)(void *ctx, const struct orma_clock_reading *readings,
				     size_t count),
			   void *ctx)
{
	struct orma_clock_reading readings[SET_CLOCKS_MAX];
	struct snapshot_place *places =
		orma_base_alloc_array(clocks->snapshot_count, sizeof(*places));
	if (!places)
		return clocks->snapshot_count > 0 ? -ENOMEM : 0;
	for (uint32_t i = 0; i < clocks->set_count; i++)
		for (uint32_t row = 0; row < clocks->sets[i].row_count; row++)
			places[clocks->sets[i].numbers[row]] =
				(struct snapshot_place){&clocks->sets[i], row};
	int r = 0;
	for (uint32_t i = 0; i < clocks->snapshot_count && r >= 0; i++)
		r = fn(ctx, readings, read_row(&places[i], readings));
	orma_base_free(places);
	return ORMA_MIN(r, 0);
}

void orma_trace_clock_set_unit(struct orma_clocks *clocks, uint64_t key, int64_t unit_ns)
{
	struct orma_clock_domain *domain = orma_base_map_get(&clocks->domains, key);
	if (domain)
		domain->unit_ns = unit_ns;
}
