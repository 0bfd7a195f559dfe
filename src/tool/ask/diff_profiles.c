/* SPDX-License-Identifier: Apache-2.0
 * diff_profiles.c - the functions and call stacks of profiles, as rows of a comparison.
 *
 * Functions are compared by what they cost themselves, because what a function costs with its callees changes with each of
 * these. Heaps are compared by call stack. A run that has a profile without a function has 0 of it.
 */
#include <errno.h>

#include "answers/cost_profiles.h"
#include "answers/stack_tree.h"
#include "base/alloc.h"
#include "tool/ask/diff_rows.h"

enum { STACK_FRAMES_MAX = 24 };

struct run {
	struct orma_diff *diff;
	const struct orma_stack_tree *tree;
	size_t side, idx;
};

static void add_values(const struct run *run, struct orma_diff_row *row, int64_t count,
		       int64_t figure, int64_t total)
{
	struct orma_diff_side *side = &row->sides[run->side];

	side->count += (double)count;
	side->total += (double)total;
	side->weight = 1;
	side->figures[run->idx] += (double)figure;
}

/* Samples of several events are several profiles; the usual event is a clock. */
static struct orma_str name_of(const struct orma_cost_profile *profile)
{
	if (profile->has_weights)
		return profile->values[0].name;
	return profile->timebase.size > 0 && !orma_base_str_is(profile->timebase, "ns")
		       ? profile->timebase
		       : ORMA_STR("samples");
}

static int add_function(const struct run *run, const struct orma_function_cost *cost)
{
	const struct orma_cost_profile *profile = run->tree->profile;
	const struct orma_diff_key key = {
		.kind = ORMA_DIFF_FUNCTIONS,
		.name = run->tree->functions->items[cost->function].name,
		.category = name_of(profile),
		.unit = profile->values[0].unit,
	};
	struct orma_diff_row *row = orma_diff_use_row(run->diff, &key);

	if (!row)
		return -ENOMEM;
	add_values(run, row, 0, cost->own[0], cost->total[0]);
	return 0;
}

static int add_functions(const struct run *run)
{
	ORMA_AUTO(orma_base_freep) struct orma_function_cost *costs = NULL;
	uint32_t count = 0;
	int r = orma_stack_tree_functions(run->tree, &costs, &count);

	for (uint32_t i = 0; i < count && r == 0; i++)
		r = add_function(run, &costs[i]);
	return r;
}

static int add_heap_stacks(const struct run *run)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	int r = 0;

	for (uint32_t i = 0; i < run->tree->count && r == 0; i++) {
		const int64_t *own = run->tree->nodes[i].own;

		if (own[ORMA_HEAP_ALLOC_OBJECTS] == 0 && own[ORMA_HEAP_INUSE_SPACE] == 0)
			continue;
		text.size = 0;
		r = orma_stack_tree_append(run->tree, i, STACK_FRAMES_MAX, &text);
		const struct orma_diff_key key = {.kind = ORMA_DIFF_HEAP,
						  .name = orma_base_buf_str(&text),
						  .unit = ORMA_STR("bytes")};
		struct orma_diff_row *row = r == 0 ? orma_diff_use_row(run->diff, &key) : NULL;
		if (r == 0 && !row)
			r = -ENOMEM;
		if (r == 0)
			add_values(run, row, own[ORMA_HEAP_INUSE_OBJECTS],
				   own[ORMA_HEAP_INUSE_SPACE], own[ORMA_HEAP_ALLOC_SPACE]);
	}
	return r;
}

static int add_profile(struct run *run, const struct orma_stack_functions *functions,
		       const struct orma_cost_profile *profile)
{
	struct orma_stack_tree tree = {.functions = NULL};
	enum orma_diff_kind kind = profile->is_heap ? ORMA_DIFF_HEAP : ORMA_DIFF_FUNCTIONS;
	int r = orma_stack_tree_build(&tree, functions, profile);

	run->tree = &tree;
	run->diff->has_profile[kind][run->side][run->idx] = true;
	if (r == 0)
		r = profile->is_heap ? add_heap_stacks(run) : add_functions(run);
	orma_stack_tree_done(&tree);
	return r;
}

int orma_diff_add_profiles(struct orma_diff *diff, size_t side, size_t run_idx,
			   const struct orma_trace_database *database)
{
	struct run run = {.diff = diff, .side = side, .idx = run_idx};
	struct orma_cost_profiles profiles = {.items = NULL};
	struct orma_stack_functions functions = {.items = NULL};
	int r = orma_cost_profiles_read(&profiles, database);

	if (r == 0 && profiles.count > 0)
		r = orma_stack_functions_read(&functions, database);
	for (uint32_t i = 0; i < profiles.count && r == 0; i++)
		r = add_profile(&run, &functions, &profiles.items[i]);
	orma_stack_functions_done(&functions);
	orma_cost_profiles_done(&profiles);
	return r;
}
