/* SPDX-License-Identifier: Apache-2.0
 * stack_tree.h - a profile as a tree of functions: call stacks of the same functions are one path.
 */
#ifndef ORMA_ANSWERS_STACK_TREE_H
#define ORMA_ANSWERS_STACK_TREE_H

#include "answers/cost_profiles.h"
#include "answers/stack_functions.h"

#define ORMA_STACK_TREE_ROOT UINT32_MAX /* the parent of the outermost functions */

struct orma_stack_node {
	uint32_t parent, function, depth;
	int64_t own[ORMA_PROFILE_VALUES_MAX], total[ORMA_PROFILE_VALUES_MAX];
};

/* The cost of a function: by itself, and with all that it called. A function that calls itself counts once. */
struct orma_function_cost {
	uint32_t function;
	int64_t own[ORMA_PROFILE_VALUES_MAX], total[ORMA_PROFILE_VALUES_MAX];
};

struct orma_stack_tree {
	const struct orma_stack_functions *functions;
	const struct orma_cost_profile *profile;
	struct orma_stack_node *nodes; /* parents come before their children */
	uint32_t count, capacity;
	struct orma_map by_key;   /* node + 1 */
	uint32_t *callsite_nodes; /* node + 1 of each callsite; 0 = not there yet */
	int64_t sums[ORMA_PROFILE_VALUES_MAX];
};

/* Builds the tree of a profile. All are borrowed. {0} is empty. 0 or a negative errno value. */
int orma_stack_tree_build(struct orma_stack_tree *tree,
			  const struct orma_stack_functions *functions,
			  const struct orma_cost_profile *profile);
void orma_stack_tree_done(struct orma_stack_tree *tree);

/* Sums by function, in no order. The caller frees *ret with orma_base_free(). 0 or -ENOMEM. */
int orma_stack_tree_functions(const struct orma_stack_tree *tree, struct orma_function_cost **ret,
			      uint32_t *ret_count);
/* Appends the names of a path, the innermost one first, at most `frames_max` of them. 0 or -ENOMEM. */
int orma_stack_tree_append(const struct orma_stack_tree *tree, uint32_t node, uint32_t frames_max,
			   struct orma_buf *text);

#endif
