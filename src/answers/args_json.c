/* SPDX-License-Identifier: Apache-2.0
 * args_json.c - __intrinsic_arg_set_to_json(set): a set of arguments as JSON. `a.b[1].c` is the member c of the second
 * item of the member b of the member a.
 */
#include <errno.h>
#include <inttypes.h>

#include "answers/trace_database.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/macros.h"
#include "base/map.h"
#include "sql/json_text.h"

struct json_node {
	struct orma_str name;         /* a member's name; .data = NULL in an array */
	size_t index;                 /* an item's place in its array */
	const struct orma_arg *value; /* NULL = an object or an array */
	struct json_node *parent, *first, *last, *next, *same_hash;
};

struct json_tree {
	struct orma_arena arena;
	struct orma_map by_place; /* nodes by the hash of their parents and names */
	struct json_node root;
};

static void tree_done(struct json_tree *tree)
{
	orma_base_arena_done(&tree->arena);
	orma_base_map_done(&tree->by_place);
}

static uint64_t hash_place(const struct json_node *parent, struct orma_str name, size_t index)
{
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, &parent, sizeof(parent));
	hash = orma_base_fnv1a(hash, &index, sizeof(index));
	return orma_base_fnv1a(hash, name.data, name.size);
}

/* Returns the child, which is made when it is new. NULL = no memory. */
static struct json_node *find_child(struct json_tree *tree, struct json_node *parent,
				    struct orma_str name, size_t index)
{
	uint64_t hash = hash_place(parent, name, index);
	struct json_node *same = orma_base_map_get(&tree->by_place, hash), *child = same;
	while (child &&
	       (child->parent != parent || child->index != index ||
		!child->name.data != !name.data || !orma_base_str_is_equal(child->name, name)))
		child = child->same_hash;
	if (child)
		return child;
	child = orma_base_arena_alloc(&tree->arena, sizeof(*child));
	if (!child)
		return NULL;
	*child = (struct json_node){
		.name = name, .index = index, .parent = parent, .same_hash = same};
	*(parent->last ? &parent->last->next : &parent->first) = child;
	parent->last = child;
	return orma_base_map_put(&tree->by_place, hash, child) == 0 ? child : NULL;
}

/* Takes the next part off the key. */
static struct json_node *descend(struct json_tree *tree, struct json_node *node,
				 struct orma_str *key)
{
	size_t size = 0, index = 0;
	if (key->data[0] == '[') {
		for (size = 1; size < key->size && key->data[size] != ']'; size++)
			index = index * 10 + (size_t)(key->data[size] - '0');
		*key = (struct orma_str){key->data + size, key->size - size};
		size = key->size > 0;
		node = find_child(tree, node, (struct orma_str){NULL, 0}, index);
	} else {
		while (size < key->size && key->data[size] != '.' && key->data[size] != '[')
			size++;
		node = find_child(tree, node, (struct orma_str){key->data, size}, 0);
	}
	size += size < key->size && key->data[size] == '.';
	*key = (struct orma_str){key->data + size, key->size - size};
	return node;
}

static int write_value(const struct orma_trace_database *database, struct orma_buf *out,
		       const struct orma_arg *arg)
{
	struct orma_str text;
	switch (arg->type) {
	case ORMA_ARG_INT:
		return orma_base_buf_printf(out, "%" PRId64, arg->value);
	case ORMA_ARG_UINT:
		return orma_base_buf_printf(out, "%" PRIu64, (uint64_t)arg->value);
	case ORMA_ARG_REAL:
		return orma_base_buf_printf(out, "%.17g", orma_store_double_of_cell(arg->value));
	case ORMA_ARG_POINTER:
		return orma_base_buf_printf(out, "\"0x%" PRIx64 "\"", (uint64_t)arg->value);
	case ORMA_ARG_BOOL:
		return orma_base_buf_append_str(out, arg->value ? "true" : "false");
	case ORMA_ARG_STRING:
	case ORMA_ARG_JSON:
		text = orma_store_pool_get(&database->tables.strings, (uint32_t)arg->value);
		return arg->type == ORMA_ARG_JSON ? orma_base_buf_append(out, text.data, text.size)
						  : orma_sql_append_json_text(out, text);
	case ORMA_ARG_NULL:
		break;
	}
	return orma_base_buf_append(out, "null", 4);
}

static bool is_array(const struct json_node *node)
{
	return node->first && !node->first->name.data;
}

/* Writes what comes before a node's members: its name and the opening bracket, or its value. */
static int open_node(const struct orma_trace_database *database, struct orma_buf *out,
		     const struct json_node *node)
{
	int r = 0;
	if (node->parent && node->parent->first != node)
		r = orma_base_buf_append(out, ",", 1);
	if (r == 0 && node->parent && !is_array(node->parent)) {
		r = orma_sql_append_json_text(out, node->name);
		if (r == 0)
			r = orma_base_buf_append(out, ":", 1);
	}
	if (r < 0 || node->first)
		return r < 0 ? r : orma_base_buf_append(out, is_array(node) ? "[" : "{", 1);
	return node->value ? write_value(database, out, node->value)
			   : orma_base_buf_append(out, "{}", 2);
}

static int write_tree(const struct orma_trace_database *database, struct orma_buf *out,
		      const struct json_node *root)
{
	const struct json_node *node = root;
	int r = open_node(database, out, node);
	while (r == 0) {
		if (node->first) {
			node = node->first;
		} else {
			for (; r == 0 && node != root && !node->next; node = node->parent)
				r = orma_base_buf_append(out, is_array(node->parent) ? "]" : "}",
							 1);
			if (node == root)
				return r;
			node = node->next;
		}
		if (r == 0)
			r = open_node(database, out, node);
	}
	return r;
}

static int build_tree(const struct orma_trace_database *database, const struct orma_arg_list *list,
		      struct json_tree *tree)
{
	for (uint32_t i = 0; i < list->count; i++) {
		struct orma_str key =
			orma_store_pool_get(&database->tables.strings, list->args[i].key);
		struct json_node *node = &tree->root;
		while (node && key.size > 0)
			node = descend(tree, node, &key);
		if (!node)
			return -ENOMEM;
		node->value = &list->args[i];
	}
	return 0;
}

static void arg_set_to_json(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct orma_trace_database *database = sqlite3_user_data(context);
	ORMA_AUTO(tree_done) struct json_tree tree = {.root = {.index = 0}};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf out = {0};
	const struct orma_arg_list *list;
	(void)argc;
	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER)
		return;
	int r = orma_trace_database_args(database, sqlite3_value_int64(argv[0]), &list);
	if (r == 0)
		r = build_tree(database, list, &tree);
	if (r == 0)
		r = write_tree(database, &out, &tree.root);
	if (r < 0)
		sqlite3_result_error_code(context, r == -ENOMEM ? SQLITE_NOMEM : SQLITE_IOERR);
	else if (list->count > 0)
		sqlite3_result_text64(context, (const char *)out.data, out.size, SQLITE_TRANSIENT,
				      SQLITE_UTF8);
}

int orma_args_json_add(struct orma_trace_database *database)
{
	return sqlite3_create_function(orma_sql_db(database->sql), "__intrinsic_arg_set_to_json", 1,
				       SQLITE_UTF8, database, arg_set_to_json, NULL,
				       NULL) == SQLITE_OK
		       ? 0
		       : -ENOMEM;
}
