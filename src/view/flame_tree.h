/* SPDX-License-Identifier: Apache-2.0
 * flame_tree.h - the nodes of a flame graph: those with the same name below the same parent are one.
 */
#ifndef ORMA_VIEW_FLAME_TREE_H
#define ORMA_VIEW_FLAME_TREE_H

#include "base/map.h"
#include "view/view_state.h"

struct orma_flame_node {
	int64_t name;    /* a cell */
	uint32_t parent; /* its number; 0 = it is a root */
	double self, total;
	double before; /* the total of the range that this one is compared with */
	uint64_t count;
};

/* {0} is empty. A node comes behind its parent. */
struct orma_flame_tree {
	struct orma_flame_node *items;
	uint32_t count, capacity;
	struct orma_map places; /* numbers by parent and name */
	bool is_compared;
	bool has_functions; /* names are functions, which may be mangled */
};

/*
 * Sets *ret to the number of a node, which is new unless it is there; numbers begin with 1. When there are too many, *ret is the
 * parent. 0 or -ENOMEM.
 */
int orma_flame_tree_get(struct orma_flame_tree *tree, uint32_t parent, int64_t name, uint32_t *ret);
static inline struct orma_flame_node *orma_flame_tree_node(struct orma_flame_tree *tree,
							   uint32_t number)
{
	return &tree->items[number - 1];
}
/* Makes the totals so far those that later ones are compared with. */
void orma_flame_tree_compare(struct orma_flame_tree *tree);
/* Appends the members "unit" and "nodes" of an answer's object. 0 or -ENOMEM. */
int orma_flame_tree_append(const struct orma_flame_tree *tree, const struct orma_view *view,
			   struct orma_str unit, struct orma_buf *json);
void orma_flame_tree_done(struct orma_flame_tree *tree);

#endif
