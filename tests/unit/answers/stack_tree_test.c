/* SPDX-License-Identifier: Apache-2.0
 * stack_tree_test.c - what functions and call stacks cost.
 */
#include "answers/stack_tree.h"

#include <errno.h>

#include "base/alloc.h"
#include "harness.h"
#include "trace_fixture.h"

#define PACKET(content) "packet { trusted_packet_sequence_id: 1 " content " } "
#define BEGIN                                                                                      \
	"packet { clock_snapshot { clocks { clock_id: 6 timestamp: 100 } clocks { clock_id: 4 "    \
	"timestamp: 100 } } } " PACKET(                                                            \
		"sequence_flags: 1 trace_packet_defaults { stack_sample_defaults { source: 's' "   \
		"primary_descriptor { name: 'cpu' unit: UNIT_NANOSECONDS } "                       \
		"follower_descriptors { name: 'hits' unit: UNIT_COUNT } } } "                      \
		"interned_data { function_names { iid: 1 str: 'main' } function_names { iid: 2 "   \
		"str: '_RNvC1a1f' } mapping_paths { iid: 1 str: '/bin/x' } mappings { iid: 1 "     \
		"path_string_ids: 1 } "                                                            \
		"frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: 1 } "                   \
		"frames { iid: 2 function_name_id: 2 mapping_id: 1 rel_pc: 2 } "                   \
		"frames { iid: 3 function_name_id: 2 mapping_id: 1 rel_pc: 3 } "                   \
		"frames { iid: 4 mapping_id: 1 rel_pc: 4 } "                                       \
		"callstacks { iid: 1 frame_ids: 1 frame_ids: 2 } "                                 \
		"callstacks { iid: 2 frame_ids: 1 frame_ids: 3 } "                                 \
		"callstacks { iid: 3 frame_ids: 1 frame_ids: 2 frame_ids: 3 } "                    \
		"callstacks { iid: 4 frame_ids: 4 } }")
#define SAMPLE(ts, body)                                                                           \
	PACKET("sequence_flags: 2 timestamp: " #ts " stack_sample { task_context { pid: 7 tid: 8 " \
	       "} " body " }")
#define SYMBOLS                                                                                    \
	PACKET("module_symbols { path: '/bin/x' address_symbols { address: 4 lines { "             \
	       "function_name: 'inner' source_file_name: 'x.c' line_number: 5 } lines { "          \
	       "function_name: 'outer' } } }")

static const char samples[] =
	BEGIN SAMPLE(200, "callstack_iid: 1 primary_weight: 10 follower_weights: 1")
		SAMPLE(300, "callstack_iid: 2 primary_weight: 5 follower_weights: 1")
			SAMPLE(400, "callstack_iid: 3 primary_weight: 3 follower_weights: 2")
				SAMPLE(500, "callstack_iid: 4 primary_weight: 1")
					SAMPLE(600, "primary_weight: 9") SYMBOLS;

struct loaded {
	struct orma_trace_database *database;
	struct orma_cost_profiles profiles;
	struct orma_stack_functions functions;
	struct orma_stack_tree tree;
};

static int build(struct loaded *loaded)
{
	int r = orma_cost_profiles_read(&loaded->profiles, loaded->database);
	if (r == 0)
		r = orma_stack_functions_read(&loaded->functions, loaded->database);
	return r < 0 ? r
		     : orma_stack_tree_build(&loaded->tree, &loaded->functions,
					     &loaded->profiles.items[0]);
}

static void done(struct loaded *loaded)
{
	orma_stack_tree_done(&loaded->tree);
	orma_stack_functions_done(&loaded->functions);
	orma_cost_profiles_done(&loaded->profiles);
}

static const struct orma_function_cost *find(const struct loaded *loaded,
					     const struct orma_function_cost *costs, uint32_t count,
					     const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (orma_base_str_is(loaded->functions.items[costs[i].function].name, name))
			return &costs[i];
	orma_test_fail(__FILE__, __LINE__, "there is no %s", name);
	return NULL;
}

ORMA_TEST(a_function_that_calls_itself_counts_once)
{
	struct loaded loaded = {.database = fixture_open(samples)};
	struct orma_function_cost *costs;
	uint32_t count;

	CHECK_INT(build(&loaded), 0);
	const struct orma_cost_profile *profile = &loaded.profiles.items[0];
	CHECK_INT(loaded.profiles.count, 1);
	CHECK_INT(profile->value_count, 2);
	CHECK(orma_base_str_is(profile->values[1].name, "hits"));
	CHECK(orma_cost_profile_is_time(profile) && profile->has_weights && !profile->is_heap);
	CHECK_INT(profile->stackless_count, 1);
	CHECK_INT(orma_stack_tree_functions(&loaded.tree, &costs, &count), 0);
	CHECK_INT(count, 4);
	/* Two places of one function are the same function. */
	const struct orma_function_cost *f = find(&loaded, costs, count, "a::f");
	CHECK_INT(f->own[0], 18);
	CHECK_INT(f->total[0], 18);
	CHECK_INT(f->own[1], 4);
	CHECK_INT(find(&loaded, costs, count, "main")->own[0], 0);
	CHECK_INT(find(&loaded, costs, count, "main")->total[0], 18);
	CHECK_INT(loaded.tree.sums[0], 19);
	/* The linker's name and the place in the source are kept. */
	CHECK(orma_base_str_is(loaded.functions.items[f->function].linker_name, "_RNvC1a1f"));
	/* A frame with inlined functions is several. */
	const struct orma_function_cost *inner = find(&loaded, costs, count, "inner");
	CHECK_INT(inner->own[0], 1);
	CHECK(orma_base_str_is(loaded.functions.items[inner->function].file, "x.c"));
	CHECK_INT(find(&loaded, costs, count, "outer")->own[0], 0);
	CHECK_INT(find(&loaded, costs, count, "outer")->total[0], 1);
	orma_base_free(costs);
	done(&loaded);
	fixture_close(loaded.database);
}

ORMA_TEST(equal_stacks_are_one_path)
{
	struct loaded loaded = {.database = fixture_open(samples)};
	struct orma_buf text = {0};

	CHECK_INT(build(&loaded), 0);
	/* main, f below it, f below that, outer, inner */
	CHECK_INT(loaded.tree.count, 5);
	for (uint32_t i = 0; i < loaded.tree.count; i++) {
		const struct orma_stack_node *node = &loaded.tree.nodes[i];
		text.size = 0;
		CHECK_INT(orma_stack_tree_append(&loaded.tree, i, 2, &text), 0);
		if (node->depth == 2) {
			CHECK(orma_base_str_is(orma_base_buf_str(&text), "a::f < a::f"));
			CHECK_INT(node->own[0], 3);
		} else if (node->own[0] == 15) {
			CHECK(orma_base_str_is(orma_base_buf_str(&text), "a::f < main"));
			CHECK_INT(node->total[0], 18);
		}
	}
	orma_base_buf_done(&text);
	done(&loaded);
	fixture_close(loaded.database);
}

ORMA_TEST(heaps_have_what_was_allocated_and_what_is_left)
{
	struct loaded loaded = {
		.database = fixture_open(BEGIN PACKET(
			"sequence_flags: 2 timestamp: 5 profile_packet { process_dumps { pid: 7 "
			"timestamp: 200 heap_name: 'h' samples { callstack_id: 1 self_allocated: "
			"50 "
			"alloc_count: 2 self_freed: 20 free_count: 1 } } }")
						 PACKET("sequence_flags: 2 timestamp: 6 "
							"profile_packet { index: 1 process_dumps { "
							"pid: 7 timestamp: 300 heap_name: 'h' "
							"samples { callstack_id: 1 "
							"self_allocated: 60 alloc_count: 3 "
							"self_freed: 50 free_count: 2 } } }"))};

	CHECK_INT(build(&loaded), 0);
	const struct orma_cost_profile *heap = &loaded.profiles.items[0];
	CHECK(heap->is_heap && !orma_cost_profile_is_time(heap));
	CHECK_INT(loaded.tree.sums[ORMA_HEAP_ALLOC_OBJECTS], 3);
	CHECK_INT(loaded.tree.sums[ORMA_HEAP_ALLOC_SPACE], 60);
	CHECK_INT(loaded.tree.sums[ORMA_HEAP_INUSE_OBJECTS], 1);
	CHECK_INT(loaded.tree.sums[ORMA_HEAP_INUSE_SPACE], 10);
	done(&loaded);
	fixture_close(loaded.database);
}

ORMA_TEST(every_failed_allocation_is_an_error)
{
	struct orma_trace_database *database = fixture_open(samples);

	for (uint64_t nth = 1;; nth++) {
		struct loaded loaded = {.database = database};
		orma_test_fail_allocation(nth);
		int r = build(&loaded);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
		done(&loaded);
		if (!has_failed)
			break;
		CHECK(nth < 500);
	}
	fixture_close(database);
}
