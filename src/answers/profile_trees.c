/* SPDX-License-Identifier: Apache-2.0
 * profile_trees.c - makes trees of the profiles of a trace, which cost_profiles.c reads.
 *
 * A stack is followed from its innermost frame outwards, up to the first frame that is known to have a node below the same root, so
 * that each pair of root and frame is looked at once. A node is found by its parent and the number of its name; names have
 * numbers of the trees' own, because the trees may hold two traces. Weights are added to the innermost node, and to its callers
 * when all are there. Samples have their process as the root; a heap is of one process.
 *
 * stack_tree.c has the tree of one profile, in which functions of one name in two files differ. Here names alone count, because files of
 * two builds differ, too.
 */
#include "answers/profile_trees.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "answers/cost_profiles.h"
#include "answers/stack_functions.h"
#include "answers/task_names.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"

/* Frames of a stack. */
enum { DEPTH_MAX = 4096 };

/* The stacks of one trace on their way into the trees. */
struct reading {
	struct orma_profile_trees *trees;
	struct orma_trace_database *database;
	struct orma_stack_functions functions;
	unsigned side;
	/* The stacks belong here. */
	struct orma_profile_tree *tree;
	uint32_t root;         /* node + 1; 0 = none */
	struct orma_map sites; /* node + 1 by root and callsite */
};

void orma_profile_trees_init(struct orma_profile_trees *trees)
{
	*trees = (struct orma_profile_trees){.names = {.text = {.fd = -1}}};
}

void orma_profile_trees_done(struct orma_profile_trees *trees)
{
	for (size_t i = 0; i < trees->count; i++) {
		orma_base_free(trees->items[i].nodes);
		orma_base_map_done(&trees->items[i].places);
	}
	orma_store_pool_done(&trees->names);
	orma_base_arena_done(&trees->arena);
	orma_profile_trees_init(trees);
}

/* Returns the tree of a title, which is made when it is new; NULL with 0 in *ret when there are too many. */
static struct orma_profile_tree *find_tree(struct orma_profile_trees *trees, struct orma_str title,
					   struct orma_str unit, const char *count_unit, int *ret)
{
	*ret = 0;
	for (size_t i = 0; i < trees->count; i++)
		if (orma_base_str_is(title, trees->items[i].title) &&
		    orma_base_str_is(unit, trees->items[i].unit))
			return &trees->items[i];
	if (trees->count == ORMA_PROFILE_TREES_MAX) {
		trees->is_cut = true;
		return NULL;
	}
	const char *own_title = orma_base_arena_strdup(&trees->arena, title);
	const char *own_unit = orma_base_arena_strdup(&trees->arena, unit);
	if (!own_title || !own_unit) {
		*ret = -ENOMEM;
		return NULL;
	}
	struct orma_profile_tree *tree = &trees->items[trees->count++];
	*tree = (struct orma_profile_tree){
		.title = own_title, .unit = own_unit, .count_unit = count_unit};
	return tree;
}

/* Finds the node of a name below a parent, or makes it; both are + 1. */
static int find_node(struct reading *reading, uint32_t parent, struct orma_str name, uint32_t *ret)
{
	struct orma_profile_tree *tree = reading->tree;
	uint32_t number;
	int r = orma_store_pool_add(&reading->trees->names, name, &number);
	uint64_t key = (uint64_t)parent << 32 | number;
	if (r < 0)
		return r;
	*ret = (uint32_t)(uintptr_t)orma_base_map_get(&tree->places, key);
	if (*ret > 0)
		return 0;
	r = orma_store_grow(&tree->nodes, (uint64_t)tree->count + 1, &tree->capacity,
			    sizeof(*tree->nodes));
	if (r == 0)
		r = orma_base_map_put(&tree->places, key, (void *)(uintptr_t)(tree->count + 1));
	if (r < 0)
		return r;
	tree->nodes[tree->count++] = (struct orma_profile_node){.parent = parent, .name = number};
	*ret = tree->count;
	return 0;
}

static int64_t cell(const struct reading *reading, size_t column, int64_t row)
{
	return orma_trace_database_cell(reading->database, ORMA_TABLE_STACK_CALLSITE, column,
					(uint64_t)row);
}

static uint64_t site_key(const struct reading *reading, int64_t site)
{
	return (uint64_t)reading->root << 32 | (uint32_t)site;
}

/* Adds the functions of a frame, of which the outermost one comes first. */
static int add_site(struct reading *reading, int64_t site, uint32_t *node)
{
	int64_t frame = cell(reading, ORMA_STACK_CALLSITE_FRAME_ID, site);
	uint32_t count = 0;
	const struct orma_stack_line *lines =
		frame >= 0 ? orma_stack_functions_frame(&reading->functions, frame, &count) : NULL;
	int r = 0;
	while (count-- > 0 && r == 0)
		r = find_node(reading, *node, reading->functions.items[lines[count].function].name,
			      node);
	return r ? r
		 : orma_base_map_put(&reading->sites, site_key(reading, site),
				     (void *)(uintptr_t)*node);
}

/* Finds the node of a stack by its innermost frame. Callers beyond DEPTH_MAX are left out, on the outside. */
static int find_stack(struct reading *reading, int64_t innermost, uint32_t *ret)
{
	int64_t path[DEPTH_MAX];
	size_t depth = 0;
	*ret = reading->root;
	for (int64_t site = innermost; site != ORMA_CELL_NULL && depth < DEPTH_MAX;) {
		uint32_t known =
			(uint32_t)(uintptr_t)orma_base_map_get(&reading->sites, (uint64_t)site);
		if (known > 0) {
			*ret = known;
			break;
		}
		path[depth++] = site;
		site = cell(reading, ORMA_STACK_CALLSITE_PARENT_ID, site);
	}
	int r = 0;
	while (depth-- > 0 && r == 0)
		r = add_site(reading, path[depth], ret);
	return r;
}

/* The following stacks belong to the tree, below no root. */
static void choose_tree(struct reading *reading, struct orma_profile_tree *tree)
{
	if (reading->tree != tree)
		orma_base_map_done(&reading->sites);
	reading->tree = tree;
	reading->root = 0;
}

/* The following stacks are of this process, if it is known. */
static int choose_process(struct reading *reading, int64_t upid)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	struct orma_task_name name = orma_process_name(reading->database, upid);
	int r = 0;
	reading->root = 0;
	if (upid < 0 || !reading->tree)
		return 0;
	if (name.name.size == 0) {
		r = orma_base_buf_printf(&text, "process %" PRId64, name.id);
		name.name = orma_base_buf_str(&text);
	}
	if (r == 0)
		r = find_node(reading, 0, name.name, &reading->root);
	if (r == 0)
		reading->tree->nodes[reading->root - 1].is_process = true;
	return r;
}

static int add_stack(struct reading *reading, int64_t site, int64_t weight, int64_t count)
{
	uint32_t node;
	if (!reading->tree || weight <= 0)
		return 0;
	int r = find_stack(reading, site, &node);
	if (r < 0 || node == 0)
		return r;
	struct orma_profile_weight *own = &reading->tree->nodes[node - 1].weights[reading->side];
	own->self += (double)weight;
	own->count += (double)ORMA_MAX(count, (int64_t)0);
	return 0;
}

/* --- samples --------------------------------------------------------------------------------- */

/* Returns the name that the page has for a unit. */
static struct orma_str plain_unit(struct orma_str unit)
{
	static const struct {
		const char *names[4];
		const char *plain;
	} units[] = {{{"ns", "nanoseconds", "time-nanoseconds", "TIME_NS"}, "ns"},
		     {{"bytes", "B", "size-bytes", "SIZE_BYTES"}, "bytes"},
		     {{"", "count", "COUNT", "samples"}, "samples"}};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(units); i++)
		for (size_t k = 0; k < ORMA_ARRAY_SIZE(units[i].names); k++)
			if (orma_base_str_is(unit, units[i].names[k]))
				return orma_base_str(units[i].plain);
	return unit;
}

static int append_title(const struct orma_cost_profile *profile, struct orma_buf *title)
{
	const struct orma_profile_value *value = &profile->values[0];
	struct orma_str source = profile->source;
	bool is_named = value->name.size > 0 && !orma_base_str_is(value->name, "samples");
	int r = orma_base_buf_append_str(title, "Samples by call stack");
	if (r == 0 && is_named)
		r = orma_base_buf_printf(title, ": %.*s", (int)value->name.size, value->name.data);
	return r == 0 && source.size > 0
		       ? orma_base_buf_printf(title, " (%.*s)", (int)source.size, source.data)
		       : r;
}

/* The first value of a sample counts. */
static int add_samples(struct reading *reading, const struct orma_cost_profile *profile)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf title = {0};
	struct orma_str unit = profile->value_count > 0 ? plain_unit(profile->values[0].unit)
							: ORMA_STR("samples");
	int r = append_title(profile, &title);
	if (r < 0)
		return r;
	choose_tree(reading,
		    find_tree(reading->trees, orma_base_buf_str(&title), unit, "samples", &r));
	for (uint32_t i = 0; i < profile->row_count && r == 0; i++) {
		const struct orma_profile_row *row = &profile->rows[i];
		int64_t upid = row->upid >= 0 ? row->upid
					      : orma_thread_process(reading->database, row->utid);
		r = choose_process(reading, upid);
		if (r == 0)
			r = add_stack(reading, row->callsite, row->values[0],
				      profile->has_weights ? 0 : row->values[0]);
	}
	return r;
}

/* --- heaps ----------------------------------------------------------------------------------- */

/* Chooses the tree of a heap. Processes of one name share it: a process may be started again, and in the other trace its pid differs. */
static int choose_heap(struct reading *reading, int64_t upid, const char *what)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf title = {0};
	struct orma_task_name name = orma_process_name(reading->database, upid);
	bool is_known = name.name.size > 0;
	int r = orma_base_buf_printf(&title, "Heap%s%.*s: %s", is_known ? " of " : "",
				     is_known ? (int)name.name.size : 0,
				     is_known ? name.name.data : "", what);
	if (r == 0)
		choose_tree(reading, find_tree(reading->trees, orma_base_buf_str(&title),
					       ORMA_STR("bytes"), "allocations", &r));
	return r;
}

/* Bytes that were allocated before the recording and freed in it weigh nothing. */
static int add_heaps(struct reading *reading, const struct orma_cost_profile *profile)
{
	static const struct {
		const char *name;
		size_t bytes, objects;
	} kinds[] = {{"bytes not freed", ORMA_HEAP_INUSE_SPACE, ORMA_HEAP_INUSE_OBJECTS},
		     {"bytes allocated", ORMA_HEAP_ALLOC_SPACE, ORMA_HEAP_ALLOC_OBJECTS}};
	int r = 0;
	for (size_t kind = 0; kind < ORMA_ARRAY_SIZE(kinds); kind++)
		for (uint32_t i = 0; i < profile->row_count && r == 0; i++) {
			const struct orma_profile_row *row = &profile->rows[i];
			r = choose_heap(reading, row->upid, kinds[kind].name);
			if (r == 0)
				r = add_stack(reading, row->callsite,
					      row->values[kinds[kind].bytes],
					      row->values[kinds[kind].objects]);
		}
	return r;
}

/* Adds what the nodes of a side weigh to their callers. */
static void add_up(struct orma_profile_tree *tree, unsigned side)
{
	for (uint32_t i = 0; i < tree->count; i++)
		tree->nodes[i].weights[side].total = tree->nodes[i].weights[side].self;
	tree->all[side] = 0;
	for (uint32_t i = tree->count; i-- > 0;) {
		const struct orma_profile_node *node = &tree->nodes[i];
		const struct orma_profile_weight *own = &node->weights[side];
		if (node->parent == 0) {
			tree->all[side] += own->total;
			continue;
		}
		struct orma_profile_weight *above = &tree->nodes[node->parent - 1].weights[side];
		above->total += own->total;
		above->count += own->count;
	}
}

int orma_profile_trees_add(struct orma_profile_trees *trees, struct orma_trace_database *database,
			   unsigned side)
{
	struct reading reading = {.trees = trees, .database = database, .side = side};
	struct orma_cost_profiles profiles = {0};
	int r = orma_cost_profiles_read(&profiles, database);
	if (r == 0 && profiles.count > 0)
		r = orma_stack_functions_read(&reading.functions, database);
	for (uint32_t i = 0; i < profiles.count && r == 0; i++)
		r = profiles.items[i].is_heap ? add_heaps(&reading, &profiles.items[i])
					      : add_samples(&reading, &profiles.items[i]);
	orma_base_map_done(&reading.sites);
	orma_stack_functions_done(&reading.functions);
	orma_cost_profiles_done(&profiles);
	for (size_t i = 0; i < trees->count && r == 0; i++)
		add_up(&trees->items[i], side);
	return r;
}

/* --- functions ------------------------------------------------------------------------------- */

/* A walk over a tree: a node, its first child and its next sibling; all + 1. */
struct links {
	uint32_t *child, *next;
	uint32_t *open;  /* by name: how many nodes of it are above */
	uint32_t *place; /* by name: its function + 1 */
	uint32_t root;
};

static void link_nodes(const struct orma_profile_tree *tree, struct links *links)
{
	for (uint32_t i = tree->count; i-- > 0;) {
		uint32_t parent = tree->nodes[i].parent;
		uint32_t *first = parent > 0 ? &links->child[parent - 1] : &links->root;
		links->next[i] = *first;
		*first = i + 1;
	}
}

static void count_node(const struct orma_profile_node *node, struct links *links,
		       struct orma_profile_function *functions, size_t *count)
{
	uint32_t *place = &links->place[node->name];
	if (node->is_process)
		return;
	if (*place == 0) {
		functions[*count] = (struct orma_profile_function){.name = node->name};
		*place = (uint32_t)++ * count;
	}
	struct orma_profile_function *function = &functions[*place - 1];
	bool is_outermost = links->open[node->name] == 0;
	for (size_t side = 0; side < ORMA_PROFILE_SIDES; side++) {
		function->weights[side].self += node->weights[side].self;
		if (!is_outermost)
			continue;
		function->weights[side].total += node->weights[side].total;
		function->weights[side].count += node->weights[side].count;
	}
}

static void walk(const struct orma_profile_tree *tree, struct links *links,
		 struct orma_profile_function *functions, size_t *count)
{
	uint32_t at = links->root;
	while (at > 0) {
		const struct orma_profile_node *node = &tree->nodes[at - 1];
		count_node(node, links, functions, count);
		if (links->child[at - 1] > 0) {
			links->open[node->name] += !node->is_process;
			at = links->child[at - 1];
			continue;
		}
		while (at > 0 && links->next[at - 1] == 0) {
			at = tree->nodes[at - 1].parent;
			if (at > 0 && !tree->nodes[at - 1].is_process)
				links->open[tree->nodes[at - 1].name]--;
		}
		at = at > 0 ? links->next[at - 1] : 0;
	}
}

int orma_profile_tree_functions(const struct orma_profile_trees *trees,
				const struct orma_profile_tree *tree,
				struct orma_profile_function **ret, size_t *ret_count)
{
	size_t names = (size_t)trees->names.count + 1;
	struct links links = {
		.child = orma_base_alloc_array((size_t)tree->count + 1, sizeof(*links.child)),
		.next = orma_base_alloc_array((size_t)tree->count + 1, sizeof(*links.next)),
		.open = orma_base_alloc_array(names, sizeof(*links.open)),
		.place = orma_base_alloc_array(names, sizeof(*links.place))};
	struct orma_profile_function *functions =
		orma_base_alloc_array(ORMA_MIN((size_t)tree->count + 1, names), sizeof(*functions));
	bool is_there = links.child && links.next && links.open && links.place && functions;
	if (is_there) {
		*ret_count = 0;
		link_nodes(tree, &links);
		walk(tree, &links, functions, ret_count);
		*ret = ORMA_TAKE(functions);
	}
	orma_base_free(functions);
	orma_base_free(links.child);
	orma_base_free(links.next);
	orma_base_free(links.open);
	orma_base_free(links.place);
	return is_there ? 0 : -ENOMEM;
}
