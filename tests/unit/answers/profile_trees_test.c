/* SPDX-License-Identifier: Apache-2.0
 * profile_trees_test.c - stacks of samples and of heaps as trees of functions, of one trace and of two.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "answers/profile_trees.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "harness.h"
#include "trace_fixture.h"

#define PACKET(content) "packet { trusted_packet_sequence_id: 1 " content " } "
/* main calls work, which calls itself; and a frame without a name. */
#define STACKS                                                                                     \
	"interned_data { mapping_paths { iid: 1 str: 'server' } mappings { iid: 1 start: 4096 "    \
	"end: 81920 path_string_ids: 1 } function_names { iid: 1 str: 'main' } function_names { "  \
	"iid: 2 str: 'work' } frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: 1 } "      \
	"frames { iid: 2 function_name_id: 2 mapping_id: 1 rel_pc: 2 } frames { iid: 3 "           \
	"mapping_id: 1 rel_pc: 9 } callstacks { iid: 1 frame_ids: 1 frame_ids: 2 } callstacks { "  \
	"iid: 2 frame_ids: 1 frame_ids: 2 frame_ids: 2 } callstacks { iid: 3 frame_ids: 1 "        \
	"frame_ids: 3 } } "
#define BEGIN                                                                                      \
	"packet { clock_snapshot { clocks { clock_id: 6 timestamp: 100 } clocks { clock_id: 4 "    \
	"timestamp: 100 } } } "                                                                    \
	"packet { timestamp: 5 process_tree { processes { pid: 7 ppid: 1 cmdline: 'server' } } "   \
	"trusted_packet_sequence_id: 2 } " PACKET("sequence_flags: 1 timestamp: 5 " STACKS)
#define SAMPLE(ts, stack)                                                                          \
	PACKET("sequence_flags: 2 timestamp: " #ts " perf_sample { cpu: 1 pid: 7 tid: 7 "          \
	       "callstack_iid: " #stack " }")
#define HEAP(samples)                                                                              \
	PACKET("sequence_flags: 2 timestamp: 5 profile_packet { process_dumps { pid: 7 "           \
	       "timestamp: 200 heap_name: 'h' " samples " } }")
#define SAMPLES SAMPLE(10, 1) SAMPLE(20, 1) SAMPLE(30, 2) SAMPLE(40, 3)

static int add(struct orma_profile_trees *trees, const char *text, unsigned side)
{
	struct orma_trace_database *database = fixture_open(text);
	int r = orma_profile_trees_add(trees, database, side);
	fixture_close(database);
	return r;
}

static void append_weights(struct orma_buf *text, const struct orma_profile_weight *weights)
{
	for (size_t side = 0; side < ORMA_PROFILE_SIDES; side++)
		orma_base_buf_printf(text, " %g %g %g", weights[side].self, weights[side].total,
				     weights[side].count);
	orma_base_buf_append_str(text, "\n");
}

static const char *name_of(const struct orma_profile_trees *trees, uint32_t name)
{
	return orma_store_pool_get(&trees->names, name).data;
}

/* Compares "parent name self total count ..." of all nodes. */
static void check_tree(const struct orma_profile_trees *trees, size_t number, const char *expected)
{
	struct orma_buf text = {0};
	const struct orma_profile_tree *tree = &trees->items[number];
	CHECK(number < trees->count);
	orma_base_buf_printf(&text, "%s in %s\n", tree->title, tree->unit);
	for (uint32_t i = 0; i < tree->count; i++) {
		orma_base_buf_printf(&text, "%" PRIu32 " %s", tree->nodes[i].parent,
				     name_of(trees, tree->nodes[i].name));
		append_weights(&text, tree->nodes[i].weights);
	}
	CHECK_STR(orma_base_buf_cstr(&text), expected);
	orma_base_buf_done(&text);
}

static void check_functions(const struct orma_profile_trees *trees, size_t number,
			    const char *expected)
{
	struct orma_buf text = {0};
	struct orma_profile_function *functions;
	size_t count;
	CHECK_INT(orma_profile_tree_functions(trees, &trees->items[number], &functions, &count), 0);
	for (size_t i = 0; i < count; i++) {
		orma_base_buf_append_str(&text, name_of(trees, functions[i].name));
		append_weights(&text, functions[i].weights);
	}
	CHECK_STR(orma_base_buf_cstr(&text), expected);
	orma_base_free(functions);
	orma_base_buf_done(&text);
}

ORMA_TEST(samples_are_a_tree_below_their_process)
{
	struct orma_profile_trees trees;
	orma_profile_trees_init(&trees);
	CHECK_INT(add(&trees, BEGIN SAMPLES, 0), 0);
	check_tree(&trees, 0,
		   "Samples by call stack (linux.perf) in samples\n"
		   "0 server 0 4 4 0 0 0\n"
		   "1 main 0 4 4 0 0 0\n"
		   "2 work 2 3 3 0 0 0\n"
		   "3 work 1 1 1 0 0 0\n"
		   "2 [/server] 1 1 1 0 0 0\n");
	CHECK(trees.items[0].all[0] == 4);
	orma_profile_trees_done(&trees);
}

ORMA_TEST(a_function_that_calls_itself_counts_once_and_a_process_is_no_function)
{
	struct orma_profile_trees trees;
	orma_profile_trees_init(&trees);
	CHECK_INT(add(&trees, BEGIN SAMPLES, 0), 0);
	check_functions(&trees, 0,
			"main 0 4 4 0 0 0\n"
			"work 3 3 3 0 0 0\n"
			"[/server] 1 1 1 0 0 0\n");
	orma_profile_trees_done(&trees);
}

ORMA_TEST(a_heap_is_what_was_not_freed_and_what_was_allocated)
{
	struct orma_profile_trees trees;
	orma_profile_trees_init(&trees);
	CHECK_INT(add(&trees,
		      BEGIN HEAP("samples { callstack_id: 1 self_allocated: 50 alloc_count: 2 "
				 "self_freed: 20 free_count: 1 } samples { callstack_id: 3 "
				 "self_allocated: 7 alloc_count: 1 self_freed: 7 free_count: 1 }"),
		      0),
		  0);
	CHECK_INT((int)trees.count, 2);
	check_tree(&trees, 0,
		   "Heap of server: bytes not freed in bytes\n"
		   "0 main 0 30 1 0 0 0\n"
		   "1 work 30 30 1 0 0 0\n");
	check_tree(&trees, 1,
		   "Heap of server: bytes allocated in bytes\n"
		   "0 main 0 57 3 0 0 0\n"
		   "1 work 50 50 2 0 0 0\n"
		   "1 [/server] 7 7 1 0 0 0\n");
	orma_profile_trees_done(&trees);
}

ORMA_TEST(two_traces_share_a_tree)
{
	struct orma_profile_trees trees;
	orma_profile_trees_init(&trees);
	CHECK_INT(add(&trees, BEGIN SAMPLES, 0), 0);
	CHECK_INT(add(&trees, BEGIN SAMPLE(10, 2) SAMPLE(20, 2), 1), 0);
	CHECK_INT((int)trees.count, 1);
	check_tree(&trees, 0,
		   "Samples by call stack (linux.perf) in samples\n"
		   "0 server 0 4 4 0 2 2\n"
		   "1 main 0 4 4 0 2 2\n"
		   "2 work 2 3 3 0 2 2\n"
		   "3 work 1 1 1 2 2 2\n"
		   "2 [/server] 1 1 1 0 0 0\n");
	orma_profile_trees_done(&trees);
}

ORMA_TEST(a_trace_without_profiles_has_no_trees)
{
	struct orma_profile_trees trees;
	orma_profile_trees_init(&trees);
	CHECK_INT(add(&trees, BEGIN, 0), 0);
	CHECK_INT((int)trees.count, 0);
	orma_profile_trees_done(&trees);
}

ORMA_TEST(functions_without_memory_are_an_error)
{
	struct orma_profile_trees trees;
	int r = -ENOMEM;
	orma_profile_trees_init(&trees);
	CHECK_INT(add(&trees, BEGIN SAMPLES, 0), 0);
	for (uint64_t nth = 1; r == -ENOMEM; nth++) {
		struct orma_profile_function *functions;
		size_t count;
		orma_test_fail_allocation(nth);
		r = orma_profile_tree_functions(&trees, &trees.items[0], &functions, &count);
		orma_test_fail_allocation(0);
		if (r == 0)
			orma_base_free(functions);
	}
	CHECK_INT(r, 0);
	orma_profile_trees_done(&trees);
}
