/* SPDX-License-Identifier: Apache-2.0
 * profile_trees.h - the call stacks of profiles as trees of functions, of one trace or of two that are compared.
 *
 * There is a tree for each kind of samples, and one for each heap: what was allocated, and what was not freed. Functions that have
 * equal names and equal callers are one node. The trees own their texts, so that they outlive the traces.
 */
#ifndef ORMA_ANSWERS_PROFILE_TREES_H
#define ORMA_ANSWERS_PROFILE_TREES_H

#include "answers/trace_database.h"

enum { ORMA_PROFILE_TREES_MAX = 16, ORMA_PROFILE_SIDES = 2 };

/* The weight of a node on one side. */
struct orma_profile_weight {
	double self, total; /* in the tree's unit; total is with all callees */
	double count;       /* samples, or allocations, with all callees */
};

/* Invariant: a node comes behind its parent. */
struct orma_profile_node {
	uint32_t parent; /* + 1; 0 = it is a root */
	uint32_t name;   /* a string of the trees */
	bool is_process; /* a root that is no function */
	struct orma_profile_weight weights[ORMA_PROFILE_SIDES];
};

struct orma_profile_tree {
	const char *title;
	const char *unit;       /* "ns", "bytes", "samples", or what the profile says */
	const char *count_unit; /* "samples", "allocations" */
	struct orma_profile_node *nodes;
	uint32_t count, capacity;
	struct orma_map places; /* node + 1 by parent and name */
	double all[ORMA_PROFILE_SIDES];
};

struct orma_profile_trees {
	struct orma_profile_tree items[ORMA_PROFILE_TREES_MAX];
	size_t count;
	bool is_cut; /* there were more trees than fit */
	struct orma_string_pool names;
	struct orma_arena arena;
};

/* {.names = {.text = {.fd = -1}}} is empty; this makes it so. */
void orma_profile_trees_init(struct orma_profile_trees *trees);
void orma_profile_trees_done(struct orma_profile_trees *trees);
/* Adds the profiles of a trace to those of a side. 0 or a negative errno value. */
int orma_profile_trees_add(struct orma_profile_trees *trees, struct orma_trace_database *database,
			   unsigned side);

/* A function, wherever it is in a tree. */
struct orma_profile_function {
	uint32_t name;
	/* `total` counts a function that calls itself once. */
	struct orma_profile_weight weights[ORMA_PROFILE_SIDES];
};

/* Adds up the nodes of each name, in the order of first use. The caller frees *ret. 0 or -ENOMEM. */
int orma_profile_tree_functions(const struct orma_profile_trees *trees,
				const struct orma_profile_tree *tree,
				struct orma_profile_function **ret, size_t *ret_count);

#endif
