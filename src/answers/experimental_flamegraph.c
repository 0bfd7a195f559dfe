/* SPDX-License-Identifier: Apache-2.0
 * experimental_flamegraph.c - the function experimental_flamegraph(profile_type, ts, ts_constraint, upid, upid_group, focus).
 *
 * Its rows are the boxes of a flame graph. Frames that are equal and have equal callers share a box, which has their own
 * weight and the weight with all callees. A box has its row before the boxes below it.
 *
 * The type "native" shows the allocations of a heap by call stack, up to a time. The type "graph" shows the objects of a Java
 * heap, each below the object that leads to it on the shortest way from a root. The type "perf" shows samples of CPUs. If
 * `focus` is given, only boxes whose names contain that text are shown, together with all boxes above and below them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answers/heap_tree.h"
#include "answers/operators.h"
#include "answers/profile_boxes.h"
#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/functions.h"

enum { ARG_TYPE, ARG_TS, ARG_CONSTRAINT, ARG_UPID, ARG_UPID_GROUP, ARG_FOCUS, ARGS };
enum { TERMS_MAX = 16 };

/* A condition on times: is_more: > or >=, else < or <=. */
struct term {
	bool is_more;
	int64_t limit; /* included */
};

struct flame {
	struct orma_row_call *call;
	struct orma_trace_database *database;
	struct orma_profile_boxes boxes;
	uint32_t *sites; /* the box of each callsite */
	int64_t ts;
	int64_t upid; /* or ORMA_CELL_NULL */
	int64_t upid_group, type;
	struct term terms[TERMS_MAX];
	size_t term_count;
};

static int refuse(const struct flame *flame, const char *why)
{
	return orma_base_error_set(flame->call->reterr, -EINVAL, "experimental_flamegraph: %s",
				   why);
}

static sqlite3_value *argument(const struct flame *flame, size_t arg)
{
	sqlite3_value *value = arg < flame->call->argc ? flame->call->argv[arg] : NULL;
	return value && sqlite3_value_type(value) != SQLITE_NULL ? value : NULL;
}

static struct orma_str text_of(const struct flame *flame, int64_t cell)
{
	return orma_trace_database_text(flame->database, cell);
}

static int64_t cell(const struct flame *flame, enum orma_table_id table, size_t column, int64_t row)
{
	return orma_trace_database_cell(flame->database, table, column, (uint64_t)row);
}

/* Adds the functions that were inlined at a frame, the outermost first. */
static int add_symbols(struct flame *flame, int64_t set, struct orma_profile_box *box,
		       uint32_t *parent)
{
	uint64_t rows =
		orma_store_table_rows(&flame->database->tables.all[ORMA_TABLE_STACK_SYMBOL]);
	int64_t row = set;
	while ((uint64_t)row < rows &&
	       cell(flame, ORMA_TABLE_STACK_SYMBOL, ORMA_STACK_SYMBOL_SYMBOL_SET_ID, row) == set)
		row++;
	int r = 0;
	while (row-- > set && r == 0) {
		box->parent = *parent;
		box->name = cell(flame, ORMA_TABLE_STACK_SYMBOL, ORMA_STACK_SYMBOL_NAME, row);
		box->source_file =
			cell(flame, ORMA_TABLE_STACK_SYMBOL, ORMA_STACK_SYMBOL_SOURCE_FILE, row);
		box->line =
			cell(flame, ORMA_TABLE_STACK_SYMBOL, ORMA_STACK_SYMBOL_LINE_NUMBER, row);
		r = orma_profile_boxes_find(&flame->boxes, box, parent);
	}
	return r;
}

static int add_site(struct flame *flame, int64_t site)
{
	int64_t above = cell(flame, ORMA_TABLE_STACK_CALLSITE, ORMA_STACK_CALLSITE_PARENT_ID, site);
	int64_t frame = cell(flame, ORMA_TABLE_STACK_CALLSITE, ORMA_STACK_CALLSITE_FRAME_ID, site);
	int64_t mapping = cell(flame, ORMA_TABLE_STACK_FRAME, ORMA_STACK_FRAME_MAPPING, frame);
	int64_t set = cell(flame, ORMA_TABLE_STACK_FRAME, ORMA_STACK_FRAME_SYMBOL_SET_ID, frame);
	uint32_t parent = above == ORMA_CELL_NULL ? ORMA_PROFILE_ROOT : flame->sites[above];
	struct orma_profile_box box = {
		.map_name = cell(flame, ORMA_TABLE_STACK_MAPPING, ORMA_STACK_MAPPING_NAME, mapping),
		.source_file = ORMA_CELL_NULL,
		.line = ORMA_CELL_NULL,
	};
	int r;
	if (set != ORMA_CELL_NULL) {
		r = add_symbols(flame, set, &box, &parent);
	} else {
		int64_t name = cell(flame, ORMA_TABLE_STACK_FRAME,
				    ORMA_STACK_FRAME_DEOBFUSCATED_NAME, frame);
		box.parent = parent;
		box.name = name != ORMA_CELL_NULL ? name
						  : cell(flame, ORMA_TABLE_STACK_FRAME,
							 ORMA_STACK_FRAME_NAME, frame);
		r = orma_profile_boxes_find(&flame->boxes, &box, &parent);
	}
	flame->sites[site] = parent;
	return r;
}

/* Makes the boxes of all call stacks. A callsite comes behind its parent. */
static int add_sites(struct flame *flame)
{
	uint64_t rows =
		orma_store_table_rows(&flame->database->tables.all[ORMA_TABLE_STACK_CALLSITE]);
	flame->sites = orma_base_alloc_array((size_t)rows + 1, sizeof(*flame->sites));
	int r = flame->sites ? 0 : -ENOMEM;
	for (uint64_t i = 0; i < rows && r == 0; i++)
		r = add_site(flame, (int64_t)i);
	return r;
}

static int build_heap(struct flame *flame)
{
	const struct orma_table *table = &flame->database->tables.all[ORMA_TABLE_HEAP_ALLOCATION];
	bool is_known = false;
	int r = add_sites(flame);
	for (uint64_t i = 0; i < orma_store_table_rows(table) && r == 0; i++) {
		const struct orma_column *columns = table->columns;
		if (orma_store_column_get(&columns[ORMA_HEAP_ALLOCATION_TS], i) > flame->ts ||
		    orma_store_column_get(&columns[ORMA_HEAP_ALLOCATION_UPID], i) != flame->upid)
			continue;
		int64_t site = orma_store_column_get(&columns[ORMA_HEAP_ALLOCATION_CALLSITE_ID], i);
		int64_t count = orma_store_column_get(&columns[ORMA_HEAP_ALLOCATION_COUNT], i);
		int64_t size = orma_store_column_get(&columns[ORMA_HEAP_ALLOCATION_SIZE], i);
		struct orma_profile_box *box = &flame->boxes.all[flame->sites[site]];
		orma_profile_box_add(box, ORMA_PROFILE_COUNT, count);
		orma_profile_box_add(box, ORMA_PROFILE_SIZE, size);
		orma_profile_box_add(box, ORMA_PROFILE_ALLOC_COUNT, ORMA_MAX(count, INT64_C(0)));
		orma_profile_box_add(box, ORMA_PROFILE_ALLOC_SIZE, ORMA_MAX(size, INT64_C(0)));
		is_known = true;
	}
	return r < 0 || is_known ? r : refuse(flame, "there is no heap of this process then");
}

static bool fits(const struct flame *flame, int64_t ts)
{
	for (size_t i = 0; i < flame->term_count; i++)
		if (flame->terms[i].is_more ? ts < flame->terms[i].limit
					    : ts > flame->terms[i].limit)
			return false;
	return true;
}

/* Tells whether a process is asked for: one, or one of a list of numbers with commas between them. */
static bool is_wanted(const struct flame *flame, int64_t upid)
{
	if (flame->upid != ORMA_CELL_NULL)
		return upid == flame->upid;
	const char *at = text_of(flame, flame->upid_group).data;
	while (at && *at) {
		char *end;
		long long number = strtoll(at, &end, 10);
		if (end != at && number == upid)
			return true;
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	return false;
}

static int build_samples(struct flame *flame)
{
	const struct orma_table *all = flame->database->tables.all;
	const struct orma_column *columns = all[ORMA_TABLE_PROFILER_SAMPLE].columns;
	uint64_t rows = orma_store_table_rows(&all[ORMA_TABLE_PROFILER_SAMPLE]);
	int r = add_sites(flame);
	for (uint64_t i = 0; i < rows && r == 0; i++) {
		int64_t ts = orma_store_column_get(&columns[ORMA_PROFILER_SAMPLE_TS], i);
		int64_t site = orma_store_column_get(&columns[ORMA_PROFILER_SAMPLE_CALLSITE_ID], i);
		int64_t task =
			orma_store_column_get(&columns[ORMA_PROFILER_SAMPLE_TASK_CONTEXT_ID], i);
		if (site == ORMA_CELL_NULL || task == ORMA_CELL_NULL || !fits(flame, ts))
			continue;
		int64_t utid = cell(flame, ORMA_TABLE_PROFILER_TASK_CONTEXT,
				    ORMA_PROFILER_TASK_CONTEXT_UTID, task);
		if (utid == ORMA_CELL_NULL ||
		    !is_wanted(flame, cell(flame, ORMA_TABLE_THREAD, ORMA_THREAD_UPID, utid)))
			continue;
		struct orma_profile_box *box = &flame->boxes.all[flame->sites[site]];
		orma_profile_box_add(box, ORMA_PROFILE_COUNT, 1);
		orma_profile_box_add(box, ORMA_PROFILE_SIZE, 1);
		box->ts = ts;
	}
	return r;
}

static int intern(const struct flame *flame, struct orma_buf *text, int64_t *ret)
{
	uint32_t id;
	int r = orma_store_pool_add(&flame->database->tables.strings,
				    (struct orma_str){(const char *)text->data, text->size}, &id);
	*ret = id;
	return r;
}

/* Writes the name of an object's box: its class, and which kind of root it is. */
static int write_name(const struct flame *flame, const char *prefix, uint32_t object,
		      struct orma_buf *text, int64_t *ret)
{
	struct orma_str name = orma_heap_class_name(flame->database, object);
	struct orma_str root = text_of(
		flame, orma_heap_object_cell(flame->database, ORMA_HEAP_OBJECT_ROOT_TYPE, object));
	*ret = ORMA_CELL_NULL;
	if (!name.data)
		return 0;
	text->size = 0;
	int r = orma_base_buf_append_str(text, prefix);
	if (r == 0)
		r = orma_base_buf_append(text, name.data, name.size);
	if (r == 0 && root.data)
		r = orma_base_buf_printf(text, " [%s]", root.data);
	return r < 0 ? r : intern(flame, text, ret);
}

static int add_object(struct flame *flame, struct orma_profile_box *box, const char *prefix,
		      uint32_t object, int64_t size, struct orma_buf *text, uint32_t *ret)
{
	int r = write_name(flame, prefix, object, text, &box->name);
	if (r == 0)
		r = orma_profile_boxes_find(&flame->boxes, box, ret);
	if (r == 0) {
		orma_profile_box_add(&flame->boxes.all[*ret], ORMA_PROFILE_COUNT, 1);
		orma_profile_box_add(&flame->boxes.all[*ret], ORMA_PROFILE_SIZE, size);
	}
	return r;
}

static int compare_objects(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	return (left > right) - (left < right);
}

/* Sorts the objects of equal distance from a root. `places` has a place for each object. */
static void sort_levels(struct orma_heap_tree *tree, uint32_t *places)
{
	uint32_t begin = 0, end = 0;
	for (uint32_t i = 0; i < tree->count; i++)
		places[tree->order[i]] = i;
	while (begin < tree->count) {
		/* The parents of a level are all in the level before it. */
		while (end < tree->count) {
			uint32_t parent = tree->parents[tree->order[end]];
			if (parent == ORMA_HEAP_TREE_ROOT ? begin > 0 : places[parent] >= begin)
				break;
			end++;
		}
		qsort(&tree->order[begin], end - begin, sizeof(*tree->order), compare_objects);
		begin = end;
	}
}

/* Adds the objects in an order in which parents come first. `boxes` has a place for each object. */
static int add_objects(struct flame *flame, const struct orma_heap_tree *tree, uint32_t *boxes,
		       bool is_by_distance)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	struct orma_profile_box box = {.source_file = ORMA_CELL_NULL, .line = ORMA_CELL_NULL};
	int r = orma_base_buf_append_str(&text, "JAVA");
	if (r == 0)
		r = intern(flame, &text, &box.map_name);
	uint32_t count = is_by_distance ? tree->count : tree->object_count;
	for (uint32_t i = 0; i < count && r == 0; i++) {
		uint32_t object = is_by_distance ? tree->order[i] : i, native_box;
		uint32_t parent = tree->parents[object];
		if (parent == ORMA_HEAP_TREE_LEFT)
			continue;
		box.parent = parent == ORMA_HEAP_TREE_ROOT ? ORMA_PROFILE_ROOT : boxes[parent];
		r = add_object(
			flame, &box, "", object,
			orma_heap_object_cell(flame->database, ORMA_HEAP_OBJECT_SELF_SIZE, object),
			&text, &boxes[object]);
		int64_t native = orma_heap_object_cell(flame->database,
						       ORMA_HEAP_OBJECT_NATIVE_SIZE, object);
		if (r < 0 || native == 0)
			continue;
		box.parent = boxes[object];
		r = add_object(flame, &box, "[native] ", object, native, &text, &native_box);
	}
	return r;
}

static bool is_truncated(const struct flame *flame)
{
	const struct orma_table *table = &flame->database->tables.all[ORMA_TABLE_HEAP_GRAPH];
	const struct orma_column *columns = table->columns;
	for (uint64_t i = 0; i < orma_store_table_rows(table); i++)
		if (orma_store_column_get(&columns[ORMA_HEAP_GRAPH_UPID], i) == flame->upid &&
		    orma_store_column_get(&columns[ORMA_HEAP_GRAPH_TS], i) == flame->ts)
			return orma_store_column_get(&columns[ORMA_HEAP_GRAPH_TRUNCATED], i) == 1;
	return false;
}

/* The box that stands for a graph whose roots were lost. */
static int add_warning(struct flame *flame)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	struct orma_profile_box box = {
		.parent = ORMA_PROFILE_ROOT, .source_file = ORMA_CELL_NULL, .line = ORMA_CELL_NULL};
	uint32_t number;
	int r = orma_base_buf_append_str(&text, "JAVA");
	if (r == 0)
		r = intern(flame, &text, &box.map_name);
	text.size = 0;
	if (r == 0)
		r = orma_base_buf_append_str(
			&text, "ERROR: INCOMPLETE GRAPH (try increasing buffer size)");
	if (r == 0)
		r = intern(flame, &text, &box.name);
	if (r == 0)
		r = orma_profile_boxes_find(&flame->boxes, &box, &number);
	if (r == 0) {
		orma_profile_box_add(&flame->boxes.all[number], ORMA_PROFILE_COUNT, 1);
		orma_profile_box_add(&flame->boxes.all[number], ORMA_PROFILE_SIZE, 1);
	}
	return r;
}

static int build_graph(struct flame *flame)
{
	struct orma_heap_filter filter = {true, flame->upid, flame->ts};
	struct orma_heap_tree tree;
	bool is_by_distance = false;
	int r = orma_heap_tree_find(&tree, flame->database, &filter, flame->call->ret->interrupt);
	if (r == 0 && tree.count == 0)
		r = is_truncated(flame)
			    ? add_warning(flame)
			    : refuse(flame, "there is no heap graph of this process and time");
	uint32_t *boxes =
		r == 0 ? orma_base_alloc_array((size_t)tree.object_count + 1, sizeof(*boxes))
		       : NULL;
	if (r == 0 && !boxes)
		r = -ENOMEM;
	for (uint32_t i = 0; i < tree.object_count && r == 0; i++)
		is_by_distance |= tree.parents[i] < ORMA_HEAP_TREE_LEFT && tree.parents[i] > i;
	if (r == 0 && is_by_distance)
		sort_levels(&tree, boxes);
	if (r == 0 && tree.count > 0)
		r = add_objects(flame, &tree, boxes, is_by_distance);
	orma_base_free(boxes);
	orma_heap_tree_done(&tree);
	return r;
}

/* Reads one of "=N", ">=N", ">N", "<=N" and "<N". */
static int add_term(struct flame *flame, const char *text)
{
	struct term term = {.is_more = *text == '>'};
	bool has_equal = text[1] == '=';
	char *end;
	if (flame->term_count + 2 > TERMS_MAX || (*text != '>' && *text != '<' && *text != '='))
		return refuse(flame, "a condition on times is >=N, >N, <=N, <N or =N");
	const char *number = text + 1 + (has_equal && *text != '=');
	errno = 0;
	term.limit = strtoll(number, &end, 10);
	if (end == number || errno || (*end && *end != ','))
		return refuse(flame, "the condition has no time");
	if (*text != '=' && !has_equal &&
	    __builtin_add_overflow(term.limit, term.is_more ? 1 : -1, &term.limit))
		return refuse(flame, "the time is too large");
	if (*text == '=')
		flame->terms[flame->term_count++] = (struct term){true, term.limit};
	flame->terms[flame->term_count++] = term;
	return 0;
}

static int read_terms(struct flame *flame)
{
	sqlite3_value *value = argument(flame, ARG_CONSTRAINT);
	const char *at = value ? (const char *)sqlite3_value_text(value) : NULL;
	int r = value && !at ? -ENOMEM : 0;
	while (at && r == 0) {
		r = add_term(flame, at);
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	if (flame->term_count > 0)
		flame->ts = flame->terms[0].limit;
	return r;
}

static int read_text(const struct flame *flame, size_t arg, int64_t *ret)
{
	sqlite3_value *value = argument(flame, arg);
	struct orma_str text = value ? orma_sql_text_of(value) : (struct orma_str){NULL, 0};
	uint32_t id;
	*ret = ORMA_CELL_NULL;
	if (!value)
		return 0;
	int r = text.data ? orma_store_pool_add(&flame->database->tables.strings, text, &id)
			  : -ENOMEM;
	if (r == 0)
		*ret = id;
	return r;
}

static int read_arguments(struct flame *flame)
{
	static const int types[ARGS] = {SQLITE_TEXT,    SQLITE_INTEGER, SQLITE_TEXT,
					SQLITE_INTEGER, SQLITE_TEXT,    SQLITE_TEXT};
	static const char *const names[ARGS] = {"profile_type", "ts",         "ts_constraint",
						"upid",         "upid_group", "focus"};
	for (size_t i = 0; i < ARGS; i++) {
		sqlite3_value *value = argument(flame, i);
		if (value && sqlite3_value_type(value) != types[i])
			return orma_base_error_set(
				flame->call->reterr, -EINVAL,
				"experimental_flamegraph: %s is not %s", names[i],
				types[i] == SQLITE_TEXT ? "a text" : "an integer");
	}
	sqlite3_value *ts = argument(flame, ARG_TS), *upid = argument(flame, ARG_UPID);
	if (!ts && !argument(flame, ARG_CONSTRAINT))
		return refuse(flame, "needs a time or a condition on times");
	if (!upid && !argument(flame, ARG_UPID_GROUP))
		return refuse(flame, "needs a upid or a group of upids");
	flame->upid = upid ? sqlite3_value_int64(upid) : ORMA_CELL_NULL;
	int r = read_terms(flame);
	if (ts)
		flame->ts = sqlite3_value_int64(ts);
	if (r == 0)
		r = read_text(flame, ARG_UPID_GROUP, &flame->upid_group);
	return r < 0 ? r : read_text(flame, ARG_TYPE, &flame->type);
}

static int build(struct flame *flame)
{
	struct orma_str type = text_of(flame, flame->type);
	if (type.data && strcmp(type.data, "perf") == 0)
		return build_samples(flame);
	bool is_graph = type.data && strcmp(type.data, "graph") == 0;
	if (!is_graph && (!type.data || strcmp(type.data, "native") != 0))
		return refuse(flame, "the profile types are graph, native and perf");
	if (!argument(flame, ARG_TS) || !argument(flame, ARG_UPID))
		return refuse(flame, "needs a time and a upid for a heap");
	return is_graph ? build_graph(flame) : build_heap(flame);
}

static int write_boxes(struct flame *flame)
{
	sqlite3_value *focus = argument(flame, ARG_FOCUS);
	struct orma_str part = focus ? orma_sql_text_of(focus) : ORMA_STR("");
	return part.data ? orma_profile_boxes_write(&flame->boxes, part, flame->call->ret)
			 : -ENOMEM;
}

static int run(struct orma_row_call *call)
{
	struct flame flame = {.call = call, .database = call->ctx};
	int r = read_arguments(&flame);
	orma_profile_boxes_init(&flame.boxes, flame.database, flame.ts, call->ret->interrupt);
	if (r == 0)
		r = build(&flame);
	if (r == 0)
		r = write_boxes(&flame);
	orma_profile_boxes_done(&flame.boxes);
	orma_base_free(flame.sites);
	return r;
}

const struct orma_row_operator orma_experimental_flamegraph = {
	.name = "experimental_flamegraph",
	.columns = "id, ts, depth, name, map_name, count, cumulative_count, size, cumulative_size, "
		   "alloc_count, cumulative_alloc_count, alloc_size, cumulative_alloc_size, "
		   "parent_id, source_file, line_number",
	.column_count = 16,
	.arg_count = ARGS,
	.rows = 1000,
	.run = run,
};
