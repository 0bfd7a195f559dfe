/* SPDX-License-Identifier: Apache-2.0
 * flame_tree.c - nodes are found by a map of their parents and names. Their number is bounded, because the page holds all of them.
 */
#include "view/flame_tree.h"

#include <errno.h>

#include "base/alloc.h"
#include "store/grow.h"
#include "view/function_name.h"
#include "view/view_json.h"

/* Beyond so many, what is new counts for its parent. */
enum { FLAME_NODES_MAX = 50000 };

int orma_flame_tree_get(struct orma_flame_tree *tree, uint32_t parent, int64_t name, uint32_t *ret)
{
	uint64_t key = (uint64_t)parent << 32 | (uint32_t)(name == ORMA_CELL_NULL ? 0 : name);
	*ret = (uint32_t)(uintptr_t)orma_base_map_get(&tree->places, key);
	if (*ret > 0)
		return 0;
	if (tree->count == FLAME_NODES_MAX) {
		*ret = parent;
		return 0;
	}
	int r = orma_store_grow(&tree->items, (uint64_t)tree->count + 1, &tree->capacity,
				sizeof(*tree->items));
	if (r == 0)
		r = orma_base_map_put(&tree->places, key, (void *)(uintptr_t)(tree->count + 1));
	if (r < 0)
		return r;
	tree->items[tree->count] = (struct orma_flame_node){.name = name, .parent = parent};
	*ret = ++tree->count;
	return 0;
}

void orma_flame_tree_compare(struct orma_flame_tree *tree)
{
	tree->is_compared = true;
	for (uint32_t i = 0; i < tree->count; i++) {
		struct orma_flame_node *node = &tree->items[i];
		*node = (struct orma_flame_node){
			.name = node->name, .parent = node->parent, .before = node->total};
	}
}

/* Adds up the totals of all roots, before and now. */
static void sum_roots(const struct orma_flame_tree *tree, double *ret_before, double *ret_now)
{
	*ret_before = *ret_now = 0;
	for (uint32_t i = 0; i < tree->count; i++) {
		*ret_before += tree->items[i].parent == 0 ? tree->items[i].before : 0;
		*ret_now += tree->items[i].parent == 0 ? tree->items[i].total : 0;
	}
}

static int append_node(const struct orma_flame_tree *tree, uint32_t i, const struct orma_view *view,
		       double scale, struct orma_buf *scratch, struct orma_buf *json)
{
	const struct orma_flame_node *node = &tree->items[i];
	struct orma_str name = orma_view_text(view, node->name);
	double width = tree->is_compared ? (node->before * scale + node->total) / 2 : node->total;
	int r = orma_base_buf_printf(json, "%s[%u,%lld,", i > 0 ? "," : "", i,
				     (long long)node->parent - 1);
	if (r == 0 && tree->has_functions)
		r = orma_view_function_name(view, node->name, scratch, &name);
	if (r == 0)
		r = orma_json_append_string(json, name.data ? name : ORMA_STR(""));
	if (r == 0)
		r = orma_base_buf_printf(json, ",%.17g,%.17g,%llu", node->self, width,
					 (unsigned long long)node->count);
	if (r == 0 && tree->is_compared)
		r = orma_base_buf_printf(json, ",%.17g,%.17g", node->before, node->total);
	return r < 0 ? r : orma_view_json_raw(json, "]");
}

int orma_flame_tree_append(const struct orma_flame_tree *tree, const struct orma_view *view,
			   struct orma_str unit, struct orma_buf *json)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf scratch = {0};
	double before, now, scale = 1;
	sum_roots(tree, &before, &now);
	/* Ranges differ in length, so that shares are compared; of bytes there may be more. */
	if (before > 0 && now > 0 && !orma_base_str_is(unit, "bytes"))
		scale = now / before;
	int r = orma_json_append_text(json, "unit", unit);
	if (r == 0 && tree->is_compared)
		r = orma_base_buf_printf(json, ",\"sides\":[%.17g,%.17g]", before, now);
	if (r == 0)
		r = orma_view_json_raw(json, ",\"nodes\":[");
	for (uint32_t i = 0; i < tree->count && r == 0; i++)
		r = append_node(tree, i, view, scale, &scratch, json);
	return r < 0 ? r : orma_view_json_raw(json, "]");
}

void orma_flame_tree_done(struct orma_flame_tree *tree)
{
	orma_base_free(tree->items);
	orma_base_map_done(&tree->places);
	*tree = (struct orma_flame_tree){0};
}
