/* SPDX-License-Identifier: Apache-2.0
 * heap_tree.c - see heap_tree.h. If there are several shortest ways, the one through the objects with the smallest numbers is
 * taken.
 */
#include "answers/heap_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "answers/operators.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "sql/interrupt.h"

enum { OBJECTS_BETWEEN_CHECKS = 1 << 16 };

struct root {
	struct orma_str name;
	uint32_t object;
};

int64_t orma_heap_object_class(const struct orma_trace_database *database, size_t column,
			       uint64_t object)
{
	const struct orma_table *classes = &database->tables.all[ORMA_TABLE_HEAP_CLASS];
	int64_t class = orma_heap_object_cell(database, ORMA_HEAP_OBJECT_TYPE_ID, object);
	return class >= 0 && (uint64_t) class < orma_store_table_rows(classes)
		       ? orma_store_column_get(&classes->columns[column], (uint64_t) class)
		       : ORMA_CELL_NULL;
}

struct orma_str orma_heap_class_name(const struct orma_trace_database *database, uint64_t object)
{
	int64_t name = orma_heap_object_class(database, ORMA_HEAP_CLASS_DEOBFUSCATED_NAME, object);
	if (name == ORMA_CELL_NULL)
		name = orma_heap_object_class(database, ORMA_HEAP_CLASS_NAME, object);
	return orma_trace_database_text(database, name);
}

void orma_heap_tree_done(struct orma_heap_tree *tree)
{
	orma_base_free(tree->parents);
	orma_base_free(tree->order);
	*tree = (struct orma_heap_tree){0};
}

static int compare_roots(const void *a, const void *b)
{
	const struct root *left = a, *right = b;
	size_t size = ORMA_MIN(left->name.size, right->name.size);
	int order = size > 0 ? memcmp(left->name.data, right->name.data, size) : 0;
	if (order == 0)
		order = (left->name.size > right->name.size) - (left->name.size < right->name.size);
	return order != 0 ? order : (left->object > right->object) - (left->object < right->object);
}

static bool is_wanted(const struct orma_trace_database *database,
		      const struct orma_heap_filter *filter, uint64_t object)
{
	if (orma_heap_object_cell(database, ORMA_HEAP_OBJECT_ROOT_TYPE, object) == ORMA_CELL_NULL)
		return false;
	return !filter->is_on ||
	       (orma_heap_object_cell(database, ORMA_HEAP_OBJECT_UPID, object) == filter->upid &&
		orma_heap_object_cell(database, ORMA_HEAP_OBJECT_GRAPH_SAMPLE_TS, object) ==
			filter->ts);
}

static int add_roots(struct orma_heap_tree *tree, const struct orma_heap_filter *filter)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	int r = 0;
	for (uint32_t i = 0; i < tree->object_count && r == 0; i++) {
		if (!is_wanted(tree->database, filter, i))
			continue;
		int64_t name = orma_heap_object_class(tree->database, ORMA_HEAP_CLASS_NAME, i);
		struct root root = {orma_trace_database_text(tree->database, name), i};
		r = orma_base_buf_append(&buf, &root, sizeof(root));
	}
	size_t count = buf.size / sizeof(struct root);
	struct root *roots = (struct root *)(void *)buf.data;
	if (count > 1)
		qsort(roots, count, sizeof(*roots), compare_roots);
	for (size_t i = 0; i < count && r == 0; i++) {
		tree->order[tree->count++] = roots[i].object;
		tree->parents[roots[i].object] = ORMA_HEAP_TREE_ROOT;
	}
	return r;
}

static int compare_objects(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	return (left > right) - (left < right);
}

/* The cells of names that decide which references keep their objects. */
struct weak_names {
	int64_t kinds[3], referent;
};

static int64_t find_text(const struct orma_trace_database *database, const char *text)
{
	uint32_t id = orma_store_pool_find(&database->tables.strings, orma_base_str(text));
	return id ? (int64_t)id : -1;
}

static struct weak_names find_weak(const struct orma_trace_database *database)
{
	return (struct weak_names){
		.kinds = {find_text(database, "KIND_WEAK_REFERENCE"),
			  find_text(database, "KIND_FINALIZER_REFERENCE"),
			  find_text(database, "KIND_PHANTOM_REFERENCE")},
		.referent = find_text(database, "java.lang.ref.Reference.referent"),
	};
}

/* Collects what an object keeps. 0 or -ENOMEM. */
static int read_kept(const struct orma_heap_tree *tree, const struct weak_names *weak,
		     uint32_t object, struct orma_buf *ret)
{
	const struct orma_table *table = &tree->database->tables.all[ORMA_TABLE_HEAP_REFERENCE];
	const struct orma_column *columns = table->columns;
	int64_t set =
		orma_heap_object_cell(tree->database, ORMA_HEAP_OBJECT_REFERENCE_SET_ID, object);
	int64_t kind = orma_heap_object_class(tree->database, ORMA_HEAP_CLASS_KIND, object);
	bool is_weak = kind == weak->kinds[0] || kind == weak->kinds[1] || kind == weak->kinds[2];
	int r = 0;
	ret->size = 0;
	if (set == ORMA_CELL_NULL)
		return 0;
	for (uint64_t row = (uint64_t)set;
	     row < orma_store_table_rows(table) && r == 0 &&
	     orma_store_column_get(&columns[ORMA_HEAP_REFERENCE_REFERENCE_SET_ID], row) == set;
	     row++) {
		int64_t owned = orma_store_column_get(&columns[ORMA_HEAP_REFERENCE_OWNED_ID], row);
		bool is_left_out =
			is_weak && orma_store_column_get(&columns[ORMA_HEAP_REFERENCE_FIELD_NAME],
							 row) == weak->referent;
		uint32_t target = (uint32_t)owned;
		if (owned != ORMA_CELL_NULL && !is_left_out &&
		    tree->parents[target] == ORMA_HEAP_TREE_LEFT)
			r = orma_base_buf_append(ret, &target, sizeof(target));
	}
	return r;
}

static int search(struct orma_heap_tree *tree)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf kept = {0};
	const struct weak_names weak = find_weak(tree->database);
	int r = 0;
	for (uint32_t head = 0; head < tree->count && r == 0; head++) {
		uint32_t object = tree->order[head];
		if (head % OBJECTS_BETWEEN_CHECKS == 0 && tree->interrupt &&
		    orma_sql_is_interrupted(tree->interrupt))
			return -ECANCELED;
		r = read_kept(tree, &weak, object, &kept);
		size_t count = kept.size / sizeof(uint32_t);
		uint32_t *targets = (uint32_t *)(void *)kept.data;
		if (count > 1)
			qsort(targets, count, sizeof(*targets), compare_objects);
		for (size_t i = 0; i < count && r == 0; i++) {
			if (tree->parents[targets[i]] != ORMA_HEAP_TREE_LEFT)
				continue;
			tree->parents[targets[i]] = object;
			tree->order[tree->count++] = targets[i];
		}
	}
	return r;
}

int orma_heap_tree_find(struct orma_heap_tree *tree, struct orma_trace_database *database,
			const struct orma_heap_filter *filter, struct orma_interrupt *interrupt)
{
	uint64_t count = orma_store_table_rows(&database->tables.all[ORMA_TABLE_HEAP_OBJECT]);
	if (count >= ORMA_HEAP_TREE_LEFT)
		return -EOVERFLOW;
	*tree = (struct orma_heap_tree){
		.database = database, .object_count = (uint32_t)count, .interrupt = interrupt};
	tree->parents = orma_base_alloc_array((size_t)count + 1, sizeof(*tree->parents));
	tree->order = orma_base_alloc_array((size_t)count + 1, sizeof(*tree->order));
	if (!tree->parents || !tree->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->object_count; i++)
		tree->parents[i] = ORMA_HEAP_TREE_LEFT;
	int r = add_roots(tree, filter);
	return r < 0 ? r : search(tree);
}

static int run(struct orma_row_call *call)
{
	const struct orma_heap_filter all = {.is_on = false};
	struct orma_heap_tree tree;
	int r = orma_heap_tree_find(&tree, call->ctx, &all, call->ret->interrupt);
	for (uint32_t i = 0; i < tree.object_count && r == 0; i++)
		if (tree.parents[i] != ORMA_HEAP_TREE_LEFT)
			r = orma_row_set_add_ints(
				call->ret, (int64_t[]){i, tree.parents[i] == ORMA_HEAP_TREE_ROOT
								  ? ORMA_CELL_NULL
								  : (int64_t)tree.parents[i]});
	orma_heap_tree_done(&tree);
	return r;
}

const struct orma_row_operator orma_heap_paths = {
	.name = "__intrinsic_heap_graph_paths",
	.columns = "id, parent_id",
	.column_count = 2,
	.arg_count = 0,
	.rows = 100000,
	.run = run,
};
