/* SPDX-License-Identifier: Apache-2.0
 * view_profiles.c - see view_profiles.h.
 *
 * The weights of a range are first summed by call stack. Then the stacks that have any become nodes, from the root on, which is
 * the order of the table: a callsite comes behind its parent. At last the nodes are summed from the innermost on.
 *
 * A sample of perf counts as one, because its counters are the state of a clock. Other profilers tell the weight of each sample
 * as its first counter.
 */
#include "view/view_profiles.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "answers/task_names.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "trace/profile_tables.h"
#include "view/view_json.h"

enum { HEAPS_MAX = 256 };
static const char perf_source[] = "linux.perf";
static const char samples_prefix[] = "samples", left_prefix[] = "heap",
		  allocated_prefix[] = "allocated";

static uint64_t rows_of(const struct orma_view *view, enum orma_table_id table)
{
	return orma_store_table_rows(&view->database->tables.all[table]);
}

static int64_t cell(const struct orma_view *view, enum orma_table_id table, size_t column,
		    int64_t row)
{
	return row < 0 || (uint64_t)row >= rows_of(view, table)
		       ? ORMA_CELL_NULL
		       : orma_trace_database_cell(view->database, table, column, (uint64_t)row);
}

static bool is_of_perf(const struct orma_view *view, int64_t session)
{
	return orma_base_str_is(orma_view_text(view, cell(view, ORMA_TABLE_PROFILER_SESSION,
							  ORMA_PROFILER_SESSION_SOURCE, session)),
				perf_source);
}

static struct orma_str unit_of(const struct orma_view *view, int64_t session)
{
	struct orma_str unit =
		orma_view_text(view, cell(view, ORMA_TABLE_PROFILER_SESSION,
					  ORMA_PROFILER_SESSION_TIMEBASE_UNIT, session));
	return unit.data && !is_of_perf(view, session) ? unit : ORMA_STR("samples");
}

/* --- which profiles there are ----------------------------------------------------------------- */

/* Reads a number that a colon precedes. */
static bool read_number(struct orma_str *at, int64_t *ret)
{
	if (at->size < 2 || *at->data != ':')
		return false;
	uint64_t number = 0;
	at->data++, at->size--;
	for (; at->size > 0 && *at->data >= '0' && *at->data <= '9'; at->data++, at->size--)
		if ((number = number * 10 + (uint64_t)(*at->data - '0')) > UINT32_MAX)
			return false;
	*ret = (int64_t)number;
	return at->data[-1] != ':';
}

static bool skip(struct orma_str *at, const char *prefix)
{
	size_t size = strlen(prefix);
	if (at->size < size || memcmp(at->data, prefix, size) != 0)
		return false;
	at->data += size, at->size -= size;
	return true;
}

bool orma_profile_find(const struct orma_view *view, struct orma_str source,
		       struct orma_profile *ret)
{
	*ret = (struct orma_profile){.kind = ORMA_PROFILE_SAMPLES};
	if (skip(&source, samples_prefix)) {
		if (!read_number(&source, &ret->session) || source.size > 0 ||
		    (uint64_t)ret->session >= rows_of(view, ORMA_TABLE_PROFILER_SESSION))
			return false;
		ret->unit = unit_of(view, ret->session);
		return true;
	}
	if (skip(&source, left_prefix))
		ret->kind = ORMA_PROFILE_HEAP_LEFT;
	else if (skip(&source, allocated_prefix))
		ret->kind = ORMA_PROFILE_HEAP_ALLOCATED;
	else
		return false;
	ret->unit = ORMA_STR("bytes");
	return read_number(&source, &ret->upid) && read_number(&source, &ret->heap) &&
	       source.size == 0 && (uint64_t)ret->upid < rows_of(view, ORMA_TABLE_PROCESS) &&
	       ret->heap <= view->strings.count;
}

static int append_profile(struct orma_buf *json, const char *source, struct orma_str name,
			  const char *measure, struct orma_str unit, uint64_t count)
{
	int r = orma_json_begin_element(json);
	if (r == 0)
		r = orma_json_append_text(json, "source", orma_base_str(source));
	if (r == 0)
		r = orma_json_append_text(json, "name", name);
	if (r == 0)
		r = orma_json_append_text(json, "measure", orma_base_str(measure));
	if (r == 0)
		r = orma_json_append_text(json, "unit", unit);
	if (r == 0)
		r = orma_view_json_integer(json, "count", (int64_t)count);
	return r < 0 ? r : orma_view_json_raw(json, "}");
}

static int append_sessions(const struct orma_view *view, struct orma_buf *json)
{
	const struct orma_table *samples = &view->database->tables.all[ORMA_TABLE_PROFILER_SAMPLE];
	uint64_t sessions = rows_of(view, ORMA_TABLE_PROFILER_SESSION);
	uint64_t *counts = orma_base_zalloc((size_t)(sessions + 1) * sizeof(*counts));
	int r = counts ? 0 : -ENOMEM;
	for (uint64_t i = 0; i < orma_store_table_rows(samples) && r == 0; i++) {
		int64_t session = orma_store_column_get(
			&samples->columns[ORMA_PROFILER_SAMPLE_SESSION_ID], i);
		r = orma_view_check_stop(view);
		if (session >= 0 && (uint64_t)session < sessions &&
		    orma_store_column_get(&samples->columns[ORMA_PROFILER_SAMPLE_CALLSITE_ID], i) !=
			    ORMA_CELL_NULL)
			counts[session]++;
	}
	for (uint64_t i = 0; i < sessions && r == 0; i++) {
		struct orma_str name =
			orma_view_text(view, cell(view, ORMA_TABLE_PROFILER_SESSION,
						  ORMA_PROFILER_SESSION_SOURCE, (int64_t)i));
		char source[40];
		snprintf(source, sizeof(source), "%s:%" PRIu64, samples_prefix, i);
		if (counts[i] > 0)
			r = append_profile(json, source, name.data ? name : ORMA_STR("profiler"),
					   "samples", unit_of(view, (int64_t)i), counts[i]);
	}
	orma_base_free(counts);
	return r;
}

struct heap {
	int64_t upid, name;
	uint64_t count;
};

static int find_heaps(const struct orma_view *view, struct heap *heaps, size_t *ret_count)
{
	const struct orma_table *table = &view->database->tables.all[ORMA_TABLE_HEAP_ALLOCATION];
	size_t count = 0;
	int r = 0;
	for (uint64_t i = 0; i < orma_store_table_rows(table) && r == 0; i++) {
		struct heap heap = {
			orma_store_column_get(&table->columns[ORMA_HEAP_ALLOCATION_UPID], i),
			orma_store_column_get(&table->columns[ORMA_HEAP_ALLOCATION_HEAP_NAME], i),
			1};
		size_t at = 0;
		r = orma_view_check_stop(view);
		while (at < count && (heaps[at].upid != heap.upid || heaps[at].name != heap.name))
			at++;
		if (at < count)
			heaps[at].count++;
		else if (count < HEAPS_MAX && heap.upid >= 0 && heap.name > 0)
			heaps[count++] = heap;
	}
	*ret_count = count;
	return r;
}

static int append_heap(const struct orma_view *view, const struct heap *heap, struct orma_buf *json)
{
	struct orma_task_name process = orma_process_name(view->database, heap->upid);
	struct orma_buf name = {0};
	char source[64];
	int r = orma_task_name_append(&process, &name);
	struct orma_str text = orma_view_text(view, heap->name);
	if (r == 0)
		r = orma_base_buf_append_str(&name, ", ");
	if (r == 0)
		r = orma_base_buf_append(&name, text.data, text.size);
	for (size_t i = 0; i < 2 && r == 0; i++) {
		snprintf(source, sizeof(source), "%s:%" PRId64 ":%" PRId64,
			 i == 0 ? left_prefix : allocated_prefix, heap->upid, heap->name);
		r = append_profile(
			json, source, (struct orma_str){(const char *)name.data, name.size},
			i == 0 ? "not freed" : "allocated", ORMA_STR("bytes"), heap->count);
	}
	orma_base_buf_done(&name);
	return r;
}

int orma_view_profiles_append(const struct orma_view *view, struct orma_buf *json)
{
	struct heap heaps[HEAPS_MAX];
	size_t count = 0;
	int r = orma_view_json_raw(json, ",\"profiles\":[");
	if (r == 0)
		r = append_sessions(view, json);
	if (r == 0)
		r = find_heaps(view, heaps, &count);
	for (size_t i = 0; i < count && r == 0; i++)
		r = append_heap(view, &heaps[i], json);
	return r < 0 ? r : orma_view_json_raw(json, "]");
}

/* --- weights by call stack -------------------------------------------------------------------- */

struct stack {
	double weight;
	int64_t count;
	uint32_t node;
	bool is_used;
};

struct build {
	const struct orma_profile *profile;
	const struct orma_area *area;
	struct orma_flame_tree *tree;
	struct stack *stacks; /* by callsite */
	uint64_t stack_count;
	uint8_t *threads, *processes; /* whether they are chosen */
	int64_t start_ns, end_ns;
};

static bool is_set(const uint8_t *flags, uint64_t count, int64_t id)
{
	return id >= 0 && (uint64_t)id < count && flags[id];
}

/* Threads are chosen by one of their rows, and processes by the row of one of their threads or by their own. */
static int choose_tasks(struct build *build)
{
	const struct orma_view *view = build->area->view;
	uint64_t threads = rows_of(view, ORMA_TABLE_THREAD),
		 processes = rows_of(view, ORMA_TABLE_PROCESS);
	build->threads = orma_base_zalloc((size_t)threads + 1);
	build->processes = orma_base_zalloc((size_t)processes + 1);
	if (!build->threads || !build->processes)
		return -ENOMEM;
	for (uint32_t i = 0; i < view->node_count; i++) {
		const struct orma_view_node *node = &view->nodes[i];
		if (!build->area->is_chosen[i])
			continue;
		if (node->utid >= 0 && (uint64_t)node->utid < threads)
			build->threads[node->utid] = 1;
		if (node->upid >= 0 && (uint64_t)node->upid < processes)
			build->processes[node->upid] = 1;
	}
	return 0;
}

static bool is_chosen_sample(const struct build *build, int64_t task)
{
	const struct orma_view *view = build->area->view;
	return build->area->is_whole || is_set(build->threads, rows_of(view, ORMA_TABLE_THREAD),
					       cell(view, ORMA_TABLE_PROFILER_TASK_CONTEXT,
						    ORMA_PROFILER_TASK_CONTEXT_UTID, task));
}

/* Returns the weight of a sample. A set has the number of its first row. */
static double weight_of(const struct orma_view *view, int64_t set)
{
	int64_t counter = cell(view, ORMA_TABLE_PROFILER_COUNTER_SET,
			       ORMA_PROFILER_COUNTER_SET_COUNTER_ID, set);
	int64_t value = cell(view, ORMA_TABLE_COUNTER, ORMA_COUNTER_VALUE, counter);
	return value == ORMA_CELL_NULL ? 1 : orma_store_double_of_cell(value);
}

static void add_weight(struct build *build, int64_t site, double weight, int64_t count)
{
	if (site < 0 || (uint64_t)site >= build->stack_count)
		return;
	build->stacks[site].weight += weight;
	build->stacks[site].count += count;
	build->stacks[site].is_used = true;
}

static int add_samples(struct build *build)
{
	const struct orma_view *view = build->area->view;
	const struct orma_table *table = &view->database->tables.all[ORMA_TABLE_PROFILER_SAMPLE];
	const struct orma_column *columns = table->columns;
	bool is_perf = is_of_perf(view, build->profile->session);
	int r = 0;
	for (uint64_t i = 0; i < orma_store_table_rows(table) && r == 0; i++) {
		int64_t ts = orma_store_column_get(&columns[ORMA_PROFILER_SAMPLE_TS], i);
		r = orma_view_check_stop(view);
		/* Profiles without times are of the whole trace. */
		if ((ts != ORMA_CELL_NULL && (ts < build->start_ns || ts > build->end_ns)) ||
		    orma_store_column_get(&columns[ORMA_PROFILER_SAMPLE_SESSION_ID], i) !=
			    build->profile->session ||
		    !is_chosen_sample(build,
				      orma_store_column_get(
					      &columns[ORMA_PROFILER_SAMPLE_TASK_CONTEXT_ID], i)))
			continue;
		int64_t set =
			orma_store_column_get(&columns[ORMA_PROFILER_SAMPLE_COUNTER_SET_ID], i);
		add_weight(build,
			   orma_store_column_get(&columns[ORMA_PROFILER_SAMPLE_CALLSITE_ID], i),
			   is_perf ? 1 : weight_of(view, set), 1);
	}
	return r;
}

static int add_allocations(struct build *build)
{
	const struct orma_view *view = build->area->view;
	const struct orma_table *table = &view->database->tables.all[ORMA_TABLE_HEAP_ALLOCATION];
	const struct orma_column *columns = table->columns;
	bool is_left = build->profile->kind == ORMA_PROFILE_HEAP_LEFT;
	int r = 0;
	if (!build->area->is_whole &&
	    !is_set(build->processes, rows_of(view, ORMA_TABLE_PROCESS), build->profile->upid))
		return 0;
	for (uint64_t i = 0; i < orma_store_table_rows(table) && r == 0; i++) {
		int64_t ts = orma_store_column_get(&columns[ORMA_HEAP_ALLOCATION_TS], i);
		int64_t count = orma_store_column_get(&columns[ORMA_HEAP_ALLOCATION_COUNT], i);
		int64_t size = orma_store_column_get(&columns[ORMA_HEAP_ALLOCATION_SIZE], i);
		r = orma_view_check_stop(view);
		if (ts > build->end_ns || (!is_left && (ts < build->start_ns || size < 0)) ||
		    orma_store_column_get(&columns[ORMA_HEAP_ALLOCATION_UPID], i) !=
			    build->profile->upid ||
		    orma_store_column_get(&columns[ORMA_HEAP_ALLOCATION_HEAP_NAME], i) !=
			    build->profile->heap)
			continue;
		add_weight(build,
			   orma_store_column_get(&columns[ORMA_HEAP_ALLOCATION_CALLSITE_ID], i),
			   (double)size, count == ORMA_CELL_NULL ? 0 : count);
	}
	return r;
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* Adds the functions that were inlined at a frame, the outermost first; the table has them the other way round. */
static int add_symbols(const struct build *build, int64_t set, uint32_t *node)
{
	const struct orma_view *view = build->area->view;
	int64_t row = set;
	int r = 0;
	while (cell(view, ORMA_TABLE_STACK_SYMBOL, ORMA_STACK_SYMBOL_SYMBOL_SET_ID, row) == set)
		row++;
	while (row-- > set && r == 0)
		r = orma_flame_tree_get(
			build->tree, *node,
			cell(view, ORMA_TABLE_STACK_SYMBOL, ORMA_STACK_SYMBOL_NAME, row), node);
	return r;
}

static int add_site(const struct build *build, int64_t site)
{
	const struct orma_view *view = build->area->view;
	int64_t above = cell(view, ORMA_TABLE_STACK_CALLSITE, ORMA_STACK_CALLSITE_PARENT_ID, site);
	int64_t frame = cell(view, ORMA_TABLE_STACK_CALLSITE, ORMA_STACK_CALLSITE_FRAME_ID, site);
	int64_t set = cell(view, ORMA_TABLE_STACK_FRAME, ORMA_STACK_FRAME_SYMBOL_SET_ID, frame);
	int64_t name =
		cell(view, ORMA_TABLE_STACK_FRAME, ORMA_STACK_FRAME_DEOBFUSCATED_NAME, frame);
	uint32_t node = above >= 0 && above < site ? build->stacks[above].node : 0;
	if (name == ORMA_CELL_NULL)
		name = cell(view, ORMA_TABLE_STACK_FRAME, ORMA_STACK_FRAME_NAME, frame);
	int r = set != ORMA_CELL_NULL ? add_symbols(build, set, &node)
				      : orma_flame_tree_get(build->tree, node, name, &node);
	struct stack *stack = &build->stacks[site];
	stack->node = node;
	if (r == 0 && node > 0) {
		struct orma_flame_node *item = orma_flame_tree_node(build->tree, node);
		item->self += stack->weight;
		item->count += (uint64_t)ORMA_MAX(stack->count, INT64_C(0));
	}
	return r;
}

static int add_nodes(const struct build *build)
{
	const struct orma_view *view = build->area->view;
	int r = 0;
	for (int64_t i = (int64_t)build->stack_count - 1; i >= 0; i--) {
		int64_t above =
			cell(view, ORMA_TABLE_STACK_CALLSITE, ORMA_STACK_CALLSITE_PARENT_ID, i);
		if (build->stacks[i].is_used && above >= 0 && above < i)
			build->stacks[above].is_used = true;
	}
	for (uint64_t i = 0; i < build->stack_count && r == 0; i++) {
		r = orma_view_check_stop(view);
		if (r == 0 && build->stacks[i].is_used)
			r = add_site(build, (int64_t)i);
	}
	for (uint32_t i = build->tree->count; i > 0; i--) {
		struct orma_flame_node *node = orma_flame_tree_node(build->tree, i);
		node->total += node->self;
		if (node->parent == 0)
			continue;
		orma_flame_tree_node(build->tree, node->parent)->total += node->total;
		orma_flame_tree_node(build->tree, node->parent)->count += node->count;
	}
	return r;
}

/* --- the answer ------------------------------------------------------------------------------- */

static int write_sql(const struct build *build, struct orma_buf *sql)
{
	const struct orma_profile *profile = build->profile;
	bool is_samples = profile->kind == ORMA_PROFILE_SAMPLES;
	bool is_left = profile->kind == ORMA_PROFILE_HEAP_LEFT;
	int r = orma_base_buf_printf(
		sql,
		"select coalesce(deobfuscated_name, demangle(name), name) as name, "
		"count(*) as count%s from %s "
		"join stack_profile_callsite c on c.id = callsite_id join stack_profile_frame f on "
		"f.id = frame_id where ",
		is_samples ? "" : ", sum(size) as self",
		is_samples ? "stack_sample" : "heap_profile_allocation");
	if (r == 0 && is_samples)
		return orma_base_buf_printf(sql,
					    "session_id = %" PRId64 " and ts >= %" PRId64
					    " and ts <= %" PRId64 " group by 1 order by 2 desc",
					    profile->session, build->start_ns, build->end_ns);
	struct orma_str heap = orma_view_text(build->area->view, profile->heap);
	if (r == 0)
		r = orma_base_buf_printf(sql, "upid = %" PRId64 " and heap_name = '",
					 profile->upid);
	for (size_t i = 0; i < heap.size && r == 0; i++) {
		r = orma_base_buf_append(sql, &heap.data[i], 1);
		if (r == 0 && heap.data[i] == '\'')
			r = orma_base_buf_append(sql, "'", 1);
	}
	if (r == 0)
		r = orma_base_buf_printf(sql, "' and ts <= %" PRId64, build->end_ns);
	if (r == 0 && !is_left)
		r = orma_base_buf_printf(sql, " and ts >= %" PRId64 " and size >= 0",
					 build->start_ns);
	return r < 0 ? r : orma_base_buf_append_str(sql, " group by 1 order by 3 desc");
}

static int append_sql(const struct build *build, struct orma_buf *json)
{
	struct orma_buf sql = {0};
	int r = write_sql(build, &sql);
	if (r == 0)
		r = orma_json_append_text(json, "sql",
					  (struct orma_str){(const char *)sql.data, sql.size});
	orma_base_buf_done(&sql);
	return r;
}

int orma_profile_add(const struct orma_profile *profile, const struct orma_area *area,
		     struct orma_flame_tree *tree, struct orma_buf *json)
{
	const struct orma_view *view = area->view;
	int64_t origin = view->database->start_ns;
	struct build build = {
		.profile = profile,
		.area = area,
		.tree = tree,
		.stack_count = rows_of(view, ORMA_TABLE_STACK_CALLSITE),
	};
	if (__builtin_add_overflow(origin, (int64_t)area->start, &build.start_ns))
		build.start_ns = INT64_MAX;
	if (__builtin_add_overflow(origin, (int64_t)area->end, &build.end_ns))
		build.end_ns = INT64_MAX;
	build.stacks = orma_base_zalloc((size_t)(build.stack_count + 1) * sizeof(*build.stacks));
	int r = build.stacks ? choose_tasks(&build) : -ENOMEM;
	if (r == 0)
		r = profile->kind == ORMA_PROFILE_SAMPLES ? add_samples(&build)
							  : add_allocations(&build);
	if (r == 0)
		r = add_nodes(&build);
	if (r == 0)
		r = append_sql(&build, json);
	orma_base_free(build.stacks);
	orma_base_free(build.threads);
	orma_base_free(build.processes);
	return r;
}
