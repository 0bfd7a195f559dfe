/* SPDX-License-Identifier: Apache-2.0
 * profile_trees.c - makes trees of the samples and heap profiles of a trace.
 *
 * A query adds up the weights of each call stack. A stack is then followed from its innermost frame outwards, up to the first
 * frame that is known to have a node below the same root, so that each pair of root and frame is looked at once. A node is found by
 * its parent and the number of its name; names have numbers of the trees' own, because the trees may hold two traces.
 * Weights are added to the innermost node, and to its callers when all are there.
 */
#include "answers/profile_trees.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"

/* Frames of a stack, of which some may be inlined functions. */
enum { DEPTH_MAX = 4096 };

/* The stacks of one trace on their way into the trees. */
struct reading {
	struct orma_profile_trees *trees;
	struct orma_trace_database *database;
	unsigned side;
	/* The stacks belong here. */
	struct orma_profile_tree *tree;
	uint32_t root;         /* node + 1; 0 = none */
	struct orma_map sites; /* node + 1 by callsite */
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

static int64_t cell(const struct reading *reading, enum orma_table_id table, size_t column,
		    int64_t row)
{
	return orma_trace_database_cell(reading->database, table, column, (uint64_t)row);
}

/* Adds a node for a frame without the functions that were inlined there: its name, or else the file that it is in. */
static int add_frame(struct reading *reading, int64_t frame, uint32_t *node)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	const struct orma_trace_database *database = reading->database;
	struct orma_str name =
		orma_trace_database_text(database, cell(reading, ORMA_TABLE_STACK_FRAME,
							ORMA_STACK_FRAME_DEOBFUSCATED_NAME, frame));
	if (name.size == 0)
		name = orma_trace_database_text(database, cell(reading, ORMA_TABLE_STACK_FRAME,
							       ORMA_STACK_FRAME_NAME, frame));
	if (name.size > 0)
		return find_node(reading, *node, name, node);
	int64_t mapping = cell(reading, ORMA_TABLE_STACK_FRAME, ORMA_STACK_FRAME_MAPPING, frame);
	if (mapping != ORMA_CELL_NULL)
		name = orma_trace_database_text(database, cell(reading, ORMA_TABLE_STACK_MAPPING,
							       ORMA_STACK_MAPPING_NAME, mapping));
	if (name.size == 0)
		name = ORMA_STR("unknown");
	/* The kernel's own mappings have brackets already. */
	bool has_brackets = name.data[0] == '[';
	int r = orma_base_buf_printf(&text, "%s%.*s%s", has_brackets ? "" : "[", (int)name.size,
				     name.data, has_brackets ? "" : "]");
	return r ? r : find_node(reading, *node, orma_base_buf_str(&text), node);
}

/* Adds the functions that were inlined at a frame, the outermost first. */
static int add_inlined(struct reading *reading, int64_t set, uint32_t *node)
{
	const struct orma_table *table = &reading->database->tables.all[ORMA_TABLE_STACK_SYMBOL];
	int64_t rows = (int64_t)orma_store_table_rows(table), row = set;
	int r = 0;
	while (row < rows &&
	       cell(reading, ORMA_TABLE_STACK_SYMBOL, ORMA_STACK_SYMBOL_SYMBOL_SET_ID, row) == set)
		row++;
	while (row-- > set && r == 0) {
		struct orma_str name = orma_trace_database_text(
			reading->database,
			cell(reading, ORMA_TABLE_STACK_SYMBOL, ORMA_STACK_SYMBOL_NAME, row));
		r = find_node(reading, *node, name.size > 0 ? name : ORMA_STR("[unknown]"), node);
	}
	return r;
}

static int add_site(struct reading *reading, int64_t site, uint32_t *node)
{
	int64_t frame =
		cell(reading, ORMA_TABLE_STACK_CALLSITE, ORMA_STACK_CALLSITE_FRAME_ID, site);
	int64_t set = frame == ORMA_CELL_NULL ? ORMA_CELL_NULL
					      : cell(reading, ORMA_TABLE_STACK_FRAME,
						     ORMA_STACK_FRAME_SYMBOL_SET_ID, frame);
	int r = 0;
	if (set != ORMA_CELL_NULL)
		r = add_inlined(reading, set, node);
	else if (frame != ORMA_CELL_NULL)
		r = add_frame(reading, frame, node);
	return r ? r : orma_base_map_put(&reading->sites, (uint64_t)site, (void *)(uintptr_t)*node);
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
		site = cell(reading, ORMA_TABLE_STACK_CALLSITE, ORMA_STACK_CALLSITE_PARENT_ID,
			    site);
	}
	int r = 0;
	while (depth-- > 0 && r == 0)
		r = add_site(reading, path[depth], ret);
	return r;
}

/* Chooses the tree and the root that the following stacks belong to; a root without a name is none. */
static int choose(struct reading *reading, struct orma_profile_tree *tree, struct orma_str root)
{
	orma_base_map_done(&reading->sites);
	reading->tree = tree;
	reading->root = 0;
	if (!tree || root.size == 0)
		return 0;
	int r = find_node(reading, 0, root, &reading->root);
	if (r == 0)
		tree->nodes[reading->root - 1].is_process = true;
	return r;
}

static int add_stack(struct reading *reading, int64_t site, double weight, double count)
{
	uint32_t node;
	if (!reading->tree || (weight == 0 && count == 0))
		return 0;
	int r = find_stack(reading, site, &node);
	if (r < 0 || node == 0)
		return r;
	struct orma_profile_weight *own = &reading->tree->nodes[node - 1].weights[reading->side];
	own->self += weight;
	own->count += count;
	return 0;
}

static struct orma_str text_of(sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);
	return (struct orma_str){text ? text : "", (size_t)sqlite3_column_bytes(row, column)};
}

typedef int row_fn(struct reading *reading, sqlite3_stmt *row);

static int for_each_row(struct reading *reading, const char *query, row_fn *fn)
{
	sqlite3_stmt *row = NULL;
	int code = SQLITE_DONE;
	int r = orma_sql_prepare(reading->database->sql, orma_base_str(query), &row, NULL);
	while (r == 0 && (code = sqlite3_step(row)) == SQLITE_ROW)
		r = fn(reading, row);
	if (r == 0 && code != SQLITE_DONE)
		r = code == SQLITE_NOMEM ? -ENOMEM : -EIO;
	sqlite3_finalize(row);
	return r;
}

/* --- samples --------------------------------------------------------------------------------- */

/*
 * A profile that has counted already has weights, of which the first one counts. The rows of a tree and a process are neighbours: the
 * first column changes with either of them.
 */
static const char sample_query[] =
	"select dense_rank() over (order by name, unit, upid), name, unit, process, "
	"callsite_id, weight, samples from ("
	"select coalesce(w.name, '') as name, coalesce(w.unit, '') as unit, t.upid as upid, "
	"coalesce(p.name, t.name, 'process ' || p.pid) as process, s.callsite_id as "
	"callsite_id, "
	"sum(coalesce(w.value, 1)) as weight, count(*) as samples from stack_sample s left join ("
	"select stack_sample_id, value, k.name as name, k.unit as unit "
	"from stack_sample_counter join stack_sample_counter_track k on k.id = track_id "
	"where k.type = 'stack_sample_session_counter' and k.is_timebase) w "
	"on w.stack_sample_id = s.id "
	"left join stack_sample_task_context c on c.id = s.task_context_id "
	"left join thread t on t.utid = c.utid left join process p on p.upid = t.upid "
	"where s.callsite_id is not null group by 1, 2, 3, 5) order by 1, callsite_id";

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

static int begin_samples(struct reading *reading, sqlite3_stmt *row)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf title = {0};
	struct orma_str name = text_of(row, 1), unit = plain_unit(text_of(row, 2));
	int found = orma_base_buf_append_str(&title, "Samples by call stack");
	if (found == 0 && name.size > 0 && !orma_base_str_is(name, "samples"))
		found = orma_base_buf_printf(&title, ": %.*s", (int)name.size, name.data);
	if (found < 0)
		return found;
	struct orma_profile_tree *tree =
		find_tree(reading->trees, orma_base_buf_str(&title), unit, "samples", &found);
	return found < 0 ? found : choose(reading, tree, text_of(row, 3));
}

struct group {
	struct reading reading;
	int64_t current;
};

static int add_sample(struct reading *reading, sqlite3_stmt *row)
{
	struct group *group = ORMA_CONTAINER_OF(reading, struct group, reading);
	int r = 0;
	if (sqlite3_column_int64(row, 0) != group->current) {
		group->current = sqlite3_column_int64(row, 0);
		r = begin_samples(reading, row);
	}
	return r ? r
		 : add_stack(reading, sqlite3_column_int64(row, 4), sqlite3_column_double(row, 5),
			     sqlite3_column_double(row, 6));
}

/* --- heaps ----------------------------------------------------------------------------------- */

/* A heap of several processes with one name is one tree: there is one after a restart, and in the other trace its pid differs. */
static const char heap_query[] =
	"select dense_rank() over (order by process, heap), process, heap, callsite_id, kept, "
	"kept_count, taken, taken_count from ("
	"select coalesce(p.name, 'process ' || p.pid, '') as process, coalesce(heap_name, '') as "
	"heap, callsite_id, sum(size) as kept, sum(a.count) as kept_count, sum(max(size, 0)) as "
	"taken, sum(max(a.count, 0)) as taken_count "
	"from heap_profile_allocation a left join process p using (upid) "
	"where callsite_id is not null group by 1, 2, 3) order by 1, callsite_id";

static int choose_heap(struct reading *reading, sqlite3_stmt *row, const char *what)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf title = {0};
	struct orma_str process = text_of(row, 1), heap = text_of(row, 2);
	int found = orma_base_buf_printf(&title, "Heap%s%.*s%s%.*s: %s", heap.size > 0 ? " " : "",
					 (int)heap.size, heap.data, process.size > 0 ? " of " : "",
					 (int)process.size, process.data, what);
	if (found < 0)
		return found;
	struct orma_profile_tree *tree = find_tree(reading->trees, orma_base_buf_str(&title),
						   ORMA_STR("bytes"), "allocations", &found);
	return found < 0 ? found : choose(reading, tree, ORMA_STR(""));
}

/* Bytes that were allocated before the recording and freed in it weigh nothing. */
static int add_kept(struct reading *reading, sqlite3_stmt *row)
{
	struct group *group = ORMA_CONTAINER_OF(reading, struct group, reading);
	int64_t heap = sqlite3_column_int64(row, 0);
	int r = heap == group->current ? 0 : choose_heap(reading, row, "bytes not freed");
	group->current = heap;
	return r ? r
		 : add_stack(reading, sqlite3_column_int64(row, 3),
			     ORMA_MAX(sqlite3_column_double(row, 4), 0.0),
			     ORMA_MAX(sqlite3_column_double(row, 5), 0.0));
}

static int add_taken(struct reading *reading, sqlite3_stmt *row)
{
	struct group *group = ORMA_CONTAINER_OF(reading, struct group, reading);
	int64_t heap = sqlite3_column_int64(row, 0);
	int r = heap == group->current ? 0 : choose_heap(reading, row, "bytes allocated");
	group->current = heap;
	return r ? r
		 : add_stack(reading, sqlite3_column_int64(row, 3), sqlite3_column_double(row, 6),
			     sqlite3_column_double(row, 7));
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
	struct group group = {.reading = {.trees = trees, .database = database, .side = side}};
	int r = 0;
	if (orma_store_table_rows(&database->tables.all[ORMA_TABLE_PROFILER_SAMPLE]) > 0)
		r = for_each_row(&group.reading, sample_query, add_sample);
	if (orma_store_table_rows(&database->tables.all[ORMA_TABLE_HEAP_ALLOCATION]) > 0) {
		group.current = 0;
		if (r == 0)
			r = for_each_row(&group.reading, heap_query, add_kept);
		group.current = 0;
		if (r == 0)
			r = for_each_row(&group.reading, heap_query, add_taken);
	}
	orma_base_map_done(&group.reading.sites);
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
