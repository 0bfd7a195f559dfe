/* SPDX-License-Identifier: Apache-2.0
 * heap_tree.h - the shortest way from a root to each object of Java heaps.
 */
#ifndef ORMA_ANSWERS_HEAP_TREE_H
#define ORMA_ANSWERS_HEAP_TREE_H

#include "answers/trace_database.h"

#define ORMA_HEAP_TREE_ROOT UINT32_MAX       /* the parent of a root */
#define ORMA_HEAP_TREE_LEFT (UINT32_MAX - 1) /* the same, when the object is not in the tree */

struct orma_heap_tree {
	struct orma_trace_database *database;
	uint32_t *parents; /* by object */
	uint32_t *order;   /* the objects of the tree, the nearest to a root first */
	uint32_t object_count, count;
	struct orma_interrupt *interrupt; /* ends the search; may be NULL */
};

/* Chooses the objects of one process at one time. */
struct orma_heap_filter {
	bool is_on; /* if not, all objects are chosen */
	int64_t upid, ts;
};

/* Searches breadth first, from the roots in the order of their classes' names. 0, -ENOMEM, -EOVERFLOW or -ECANCELED. */
int orma_heap_tree_find(struct orma_heap_tree *tree, struct orma_trace_database *database,
			const struct orma_heap_filter *filter, struct orma_interrupt *interrupt);
void orma_heap_tree_done(struct orma_heap_tree *tree);

static inline int64_t orma_heap_object_cell(const struct orma_trace_database *database,
					    size_t column, uint64_t object)
{
	return orma_trace_database_cell(database, ORMA_TABLE_HEAP_OBJECT, column, object);
}
/* Returns a cell of an object's class, ORMA_CELL_NULL when it has none. */
int64_t orma_heap_object_class(const struct orma_trace_database *database, size_t column,
			       uint64_t object);
/* The name of an object's class, as it was in the source when that is known. .data is NULL when it has none. */
struct orma_str orma_heap_class_name(const struct orma_trace_database *database, uint64_t object);

#endif
