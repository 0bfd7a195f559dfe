/* SPDX-License-Identifier: Apache-2.0
 * heap_class_tree.c - __intrinsic_heap_graph_class_tree(rows(id, parent_id)): a tree of objects as one of classes. Objects of one
 * class below one node become a node, and an object whose parent is of its class belongs to the parent's node.
 */
#include <errno.h>

#include "answers/heap_tree.h"
#include "answers/operators.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"

#define NONE UINT32_MAX

struct class_node {
	uint32_t parent;
	int64_t name, heap_type, root_type; /* cells */
	int64_t upid, ts;
	int64_t count, size, native_count, native_size;
	uint64_t path; /* hash of the names from the root on */
};

struct class_tree {
	struct orma_row_call *call;
	struct orma_trace_database *database;
	uint64_t object_count;
	uint32_t *parents; /* by object; LEFT = not in the tree */
	uint32_t *node_of; /* by object */
	struct orma_map by_key;
	struct class_node *nodes;
	uint32_t count, capacity;
};

static int64_t name_of(const struct class_tree *tree, uint32_t object)
{
	int64_t name =
		orma_heap_object_class(tree->database, ORMA_HEAP_CLASS_DEOBFUSCATED_NAME, object);
	return name != ORMA_CELL_NULL
		       ? name
		       : orma_heap_object_class(tree->database, ORMA_HEAP_CLASS_NAME, object);
}

static uint64_t hash_text(const struct class_tree *tree, uint64_t hash, int64_t cell)
{
	struct orma_str text = orma_trace_database_text(tree->database, cell);
	hash = orma_base_fnv1a(hash, text.data, text.size);
	return orma_base_fnv1a(hash, "", 1);
}

/* Finds the node of an object whose parent has one. 0 or a negative errno value. */
static int find_node(struct class_tree *tree, uint32_t object, uint32_t parent)
{
	struct class_node node = {
		.parent = parent,
		.name = name_of(tree, object),
		.heap_type =
			orma_heap_object_cell(tree->database, ORMA_HEAP_OBJECT_HEAP_TYPE, object),
		.root_type = parent == NONE
				     ? orma_heap_object_cell(tree->database,
							     ORMA_HEAP_OBJECT_ROOT_TYPE, object)
				     : ORMA_CELL_NULL,
		.upid = orma_heap_object_cell(tree->database, ORMA_HEAP_OBJECT_UPID, object),
		.ts = orma_heap_object_cell(tree->database, ORMA_HEAP_OBJECT_GRAPH_SAMPLE_TS,
					    object),
	};
	if (parent != NONE && tree->nodes[parent].name == node.name) {
		tree->node_of[object] = parent;
		return 0;
	}
	int64_t words[] = {parent, node.name, node.heap_type, node.root_type, node.upid, node.ts};
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
	uintptr_t known = (uintptr_t)orma_base_map_get(&tree->by_key, key);
	tree->node_of[object] = known ? (uint32_t)(known - 1) : tree->count;
	if (known)
		return 0;
	int64_t start[] = {node.upid, node.ts};
	node.path = parent == NONE ? orma_base_fnv1a(ORMA_FNV1A_INIT, start, sizeof(start))
				   : tree->nodes[parent].path;
	node.path = hash_text(tree, node.path, node.name);
	node.path = hash_text(tree, node.path, node.heap_type);
	node.path = hash_text(tree, node.path, node.root_type);
	int r = orma_store_grow(&tree->nodes, (uint64_t)tree->count + 1, &tree->capacity,
				sizeof(*tree->nodes));
	if (r == 0)
		r = orma_base_map_put(&tree->by_key, key, (void *)((uintptr_t)tree->count + 1));
	if (r == 0)
		tree->nodes[tree->count++] = node;
	return r;
}

static void add_object(struct class_tree *tree, uint32_t object)
{
	struct class_node *node = &tree->nodes[tree->node_of[object]];
	int64_t size = orma_heap_object_cell(tree->database, ORMA_HEAP_OBJECT_SELF_SIZE, object);
	int64_t native =
		orma_heap_object_cell(tree->database, ORMA_HEAP_OBJECT_NATIVE_SIZE, object);
	node->count++;
	/* The size of an object that is only referred to is -1. */
	if (size != -1)
		node->size = (int64_t)((uint64_t)node->size + (uint64_t)size);
	node->native_count += native > 0;
	node->native_size = (int64_t)((uint64_t)node->native_size + (uint64_t)native);
}

/* Finds the nodes of an object and of those above it that have none, from the topmost on. */
static int place(struct class_tree *tree, uint32_t object, struct orma_buf *chain)
{
	int r = 0;
	chain->size = 0;
	for (uint32_t at = object; tree->node_of[at] == NONE && r == 0; at = tree->parents[at]) {
		/* A tree that is a loop ends here. */
		if (chain->size / sizeof(at) > tree->object_count)
			return -EINVAL;
		r = orma_base_buf_append(chain, &at, sizeof(at));
		if (tree->parents[at] >= ORMA_HEAP_TREE_LEFT)
			break;
	}
	while (chain->size > 0 && r == 0) {
		uint32_t at;
		chain->size -= sizeof(at);
		memcpy(&at, chain->data + chain->size, sizeof(at));
		uint32_t parent = tree->parents[at];
		r = find_node(tree, at,
			      parent >= ORMA_HEAP_TREE_LEFT ? NONE : tree->node_of[parent]);
		if (r == 0)
			add_object(tree, at);
	}
	return r;
}

static int read_tree(struct class_tree *tree, const struct orma_row_set *rows)
{
	tree->object_count =
		orma_store_table_rows(&tree->database->tables.all[ORMA_TABLE_HEAP_OBJECT]);
	size_t count = (size_t)tree->object_count;
	tree->parents = orma_base_alloc_array(count + 1, sizeof(*tree->parents));
	tree->node_of = orma_base_alloc_array(count + 1, sizeof(*tree->node_of));
	if (!tree->parents || !tree->node_of)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		tree->parents[i] = ORMA_HEAP_TREE_LEFT;
		tree->node_of[i] = NONE;
	}
	for (size_t row = 0; row < rows->row_count; row++) {
		uint64_t object = (uint64_t)orma_row_set_int(rows, row, 0);
		uint64_t parent = (uint64_t)orma_row_set_int(rows, row, 1);
		if (object >= count)
			continue;
		tree->parents[object] = orma_row_set_is_null(rows, row, 1) || parent >= count
						? ORMA_HEAP_TREE_ROOT
						: (uint32_t)parent;
	}
	return 0;
}

static int build(struct class_tree *tree)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf chain = {0};
	int r = 0;
	for (uint64_t i = 0; i < tree->object_count && r == 0; i++)
		if (tree->parents[i] != ORMA_HEAP_TREE_LEFT)
			r = place(tree, (uint32_t)i, &chain);
	return r;
}

static void put(struct orma_row_set *rows, size_t column, int type, int64_t value)
{
	if (value != ORMA_CELL_NULL)
		orma_row_set_put(rows, column, type, value);
}

static int write_node(const struct class_tree *tree, const struct class_node *node, int64_t parent)
{
	struct orma_row_set *rows = tree->call->ret;
	int64_t id = (int64_t)rows->row_count;
	int r = orma_row_set_add(rows);
	if (r < 0)
		return r;
	put(rows, 0, SQLITE_INTEGER, id);
	put(rows, 1, SQLITE_INTEGER, parent);
	put(rows, 2, SQLITE_INTEGER, node->ts);
	put(rows, 3, SQLITE_INTEGER, node->upid);
	put(rows, 4, SQLITE_TEXT, node->name);
	put(rows, 5, SQLITE_TEXT, node->root_type);
	put(rows, 6, SQLITE_TEXT, node->heap_type);
	put(rows, 7, SQLITE_INTEGER, node->count);
	put(rows, 8, SQLITE_INTEGER, node->size);
	put(rows, 9, SQLITE_INTEGER, (int64_t)node->path);
	return 0;
}

/* The memory that a node's objects hold outside of the heap is a node below it. */
static int write_native(const struct class_tree *tree, uint32_t number, struct orma_buf *text)
{
	struct class_node node = tree->nodes[number];
	struct orma_str name = orma_trace_database_text(tree->database, node.name);
	struct orma_string_pool *pool = &tree->database->tables.strings;
	uint32_t id = 0, heap = 0;
	if (node.native_size <= 0)
		return 0;
	text->size = 0;
	int r = orma_base_buf_append_str(text, "[native] ");
	if (r == 0)
		r = orma_base_buf_append(text, name.data, name.size);
	if (r == 0)
		r = orma_store_pool_add(
			pool, (struct orma_str){(const char *)text->data, text->size}, &id);
	if (r == 0)
		r = orma_store_pool_add(pool, ORMA_STR("HEAP_TYPE_NATIVE"), &heap);
	if (r < 0)
		return r;
	node.name = id;
	node.heap_type = heap;
	node.count = node.native_count;
	node.size = node.native_size;
	node.path = orma_base_fnv1a(node.path, "native", 6);
	return write_node(tree, &node, number);
}

static int write_all(const struct class_tree *tree)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	int r = 0;
	for (uint32_t i = 0; i < tree->count && r == 0; i++)
		r = write_node(tree, &tree->nodes[i],
			       tree->nodes[i].parent == NONE ? ORMA_CELL_NULL
							     : (int64_t)tree->nodes[i].parent);
	for (uint32_t i = 0; i < tree->count && r == 0; i++)
		r = write_native(tree, i, &text);
	return r;
}

static int run(struct orma_row_call *call)
{
	const struct orma_row_set *rows = orma_row_call_rows(call, 0);
	struct class_tree tree = {.call = call, .database = call->ctx};
	if (rows->row_count == 0 || rows->column_count < 2)
		return 0;
	tree.by_key.seed = tree.database->options.seed;
	int r = read_tree(&tree, rows);
	if (r == 0)
		r = build(&tree);
	if (r == 0)
		r = write_all(&tree);
	orma_base_map_done(&tree.by_key);
	orma_base_free(tree.parents);
	orma_base_free(tree.node_of);
	orma_base_free(tree.nodes);
	return r;
}

const struct orma_row_operator orma_heap_class_tree = {
	.name = "__intrinsic_heap_graph_class_tree",
	.columns = "id, parent_id, graph_sample_ts, upid, name, root_type, heap_type, self_count, "
		   "self_size, path_hash_stable",
	.column_count = 10,
	.arg_count = 1,
	.rows = 10000,
	.run = run,
};
