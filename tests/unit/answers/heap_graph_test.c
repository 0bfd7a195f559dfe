/* SPDX-License-Identifier: Apache-2.0
 * heap_graph_test.c - Java heaps as trees and flame graphs, and call stacks of Android.
 */
#include "trace_fixture.h"

#include "harness.h"

#define PACKET(ts, content)                                                                        \
	"packet { trusted_packet_sequence_id: 1 timestamp: " #ts " " content " } "
#define GRAPH(content)         PACKET(10, "heap_graph { pid: 70 " content " }")
#define TYPE(id, name, more)   "types { id: " #id " class_name: '" name "' " more " } "
#define FIELD(id, name)        "field_names { iid: " #id " str: '" name "' } "
#define ROOTS(ids)             "roots { root_type: ROOT_JAVA_FRAME " ids " } "
#define OBJECT(id, type, more) "objects { id: " #id " type_id: " #type " self_size: 8 " more " } "
#define REFER(to)              "reference_field_id: 1 reference_object_id: " #to " "
#define FLAME                                                                                      \
	"select id, depth, name, map_name, count, cumulative_count, size, cumulative_size, "       \
	"parent_id from experimental_flamegraph("
#define SHOW(database, query, expected) fixture_check(database, query, expected)

/* Two lists: A1 -> B2 -> B3 -> C4, and Z5 -> C4, C6 (weakly). */
static struct orma_trace_database *open_lists(void)
{
	return fixture_open(GRAPH(
		ROOTS("object_ids: 5 object_ids: 1") OBJECT(1, 1, REFER(2)) OBJECT(2, 2, REFER(3))
			OBJECT(3, 2, REFER(4)) OBJECT(4, 3, "") OBJECT(
				5, 4, REFER(4) "reference_field_id: 2 reference_object_id: 6 ")
				OBJECT(6, 3, "") FIELD(1, "X.next")
					FIELD(2, "java.lang.ref.Reference.referent")
						TYPE(1, "A", "") TYPE(2, "B", "") TYPE(3, "C", "")
							TYPE(4, "Z", "kind: KIND_WEAK_REFERENCE")));
}

ORMA_TEST(a_heap_is_a_tree_of_the_shortest_ways)
{
	struct orma_trace_database *database = open_lists();
	SHOW(database,
	     "include perfetto module android.memory.heap_graph.class_tree; "
	     "select * from _heap_graph_object_min_depth_tree",
	     "0,\"[NULL]\"\n1,0\n2,1\n3,4\n4,\"[NULL]\"\n");
	/* Objects are numbered as they are mentioned. */
	SHOW(database,
	     "select id, parent_id, name, root_type, self_count, self_size "
	     "from _heap_graph_class_tree",
	     "0,\"[NULL]\",\"A\",\"ROOT_JAVA_FRAME\",1,8\n1,0,\"B\",\"[NULL]\",2,16\n"
	     "2,\"[NULL]\",\"Z\",\"ROOT_JAVA_FRAME\",1,8\n3,2,\"C\",\"[NULL]\",1,8\n");
	SHOW(database,
	     "include perfetto module android.memory.heap_graph.class_summary_tree; "
	     "select name, cumulative_count, cumulative_size "
	     "from android_heap_graph_class_summary_tree",
	     "\"A\",3,24\n\"B\",2,16\n\"Z\",2,16\n\"C\",1,8\n");
	SHOW(database, "select count(distinct path_hash_stable) from _heap_graph_class_tree",
	     "4\n");
	fixture_close(database);
}

ORMA_TEST(objects_dominate_what_can_be_reached_only_through_them)
{
	struct orma_trace_database *database = open_lists();
	/* Objects 2 and 3 are those with the ids 3 and 4. Nothing keeps the object of the weak reference. */
	SHOW(database,
	     "include perfetto module android.memory.heap_graph.dominator_tree; "
	     "select id, idom_id, dominated_obj_count, dominated_size_bytes, depth "
	     "from heap_graph_dominator_tree",
	     "0,\"[NULL]\",3,24,1\n1,0,2,16,2\n2,1,1,8,3\n3,\"[NULL]\",1,8,1\n"
	     "4,\"[NULL]\",1,8,1\n");
	SHOW(database,
	     "include perfetto module android.memory.heap_graph.dominator_class_tree; "
	     "select parent_id, name, self_count from _heap_graph_dominator_class_tree",
	     "\"[NULL]\",\"A\",1\n0,\"B\",2\n\"[NULL]\",\"C\",1\n\"[NULL]\",\"Z\",1\n");
	SHOW(database,
	     "include perfetto module android.memory.heap_graph.heap_graph_class_aggregation; "
	     "select type_name, obj_count, size_bytes, reachable_obj_count, dominated_obj_count, "
	     "dominated_size_bytes from android_heap_graph_class_aggregation",
	     "\"A\",1,8,1,3,24\n\"B\",2,16,2,2,16\n\"C\",2,16,1,1,8\n\"Z\",1,8,1,1,8\n");
	SHOW(database,
	     "select _is_libcore_or_array('java.lang.String'), "
	     "_is_libcore_or_array('java.lang.Class<A>'), _is_libcore_or_array('int[][]'), "
	     "_is_libcore_or_array('integer')",
	     "1,0,1,0\n");
	fixture_close(database);
}

ORMA_TEST(roots_are_searched_in_the_order_of_their_classes)
{
	struct orma_trace_database *database = fixture_open(GRAPH(
		ROOTS("object_ids: 1 object_ids: 2") OBJECT(1, 1, REFER(3)) OBJECT(2, 2, REFER(3))
			OBJECT(3, 3, "") FIELD(1, "X.next") TYPE(1, "Second", "")
				TYPE(2, "First", "") TYPE(3, "Child", "")));
	SHOW(database,
	     "include perfetto module android.memory.heap_graph.class_tree; "
	     "select p.name from _heap_graph_class_tree c join _heap_graph_class_tree p on "
	     "p.id = c.parent_id",
	     "\"First\"\n");
	fixture_close(database);
}

ORMA_TEST(a_heap_is_a_flame_graph_that_can_be_focused)
{
	struct orma_trace_database *database = open_lists();
	/* C is numbered before Z, which it is below, so nearer objects come first. */
	SHOW(database, FLAME "'graph', 10, null, 1, null, null)",
	     "0,0,\"A [ROOT_JAVA_FRAME]\",\"JAVA\",1,3,8,24,\"[NULL]\"\n"
	     "1,0,\"Z [ROOT_JAVA_FRAME]\",\"JAVA\",1,2,8,16,\"[NULL]\"\n"
	     "2,1,\"B\",\"JAVA\",1,2,8,16,0\n3,1,\"C\",\"JAVA\",1,1,8,8,1\n"
	     "4,2,\"B\",\"JAVA\",1,1,8,8,2\n");
	SHOW(database, FLAME "'graph', 10, null, 1, null, 'c')",
	     "0,0,\"Z [ROOT_JAVA_FRAME]\",\"JAVA\",1,2,8,16,\"[NULL]\"\n"
	     "1,1,\"C\",\"JAVA\",1,1,8,8,0\n");
	fixture_refuse(database, FLAME "'graph', 11, null, 1, null, null)",
		       "there is no heap graph of this process and time");
	fixture_refuse(database, FLAME "'graph', null, '>1', 1, null, null)",
		       "needs a time and a upid");
	fixture_refuse(database, FLAME "'other', 1, null, 1, null, null)",
		       "the profile types are graph, native and perf");
	fixture_refuse(database, FLAME "'graph', 1, null, 'x', null, null)",
		       "upid is not an integer");
	fixture_refuse(database, FLAME "'graph', null, null, 1, null, null)", "needs a time");
	fixture_close(database);
}

ORMA_TEST(memory_outside_of_the_heap_is_a_box_and_a_node)
{
	struct orma_trace_database *database = fixture_open(GRAPH(
		ROOTS("object_ids: 2 object_ids: 9") "objects { id: 1 type_id: 1 self_size: 1 "
						     "reference_field_id: 1 reference_field_id: 2 "
						     "reference_object_id: 2 "
						     "reference_object_id: 3 } " OBJECT(
							     2, 2,
							     "") "objects { id: 3 type_id: 2 "
								 "self_size: "
								 "1 "
								 "reference_field_id: 3 "
								 "reference_object_id: 4 } objects "
								 "{ id: "
								 "4 type_id: 2 "
								 "self_size: 1 "
								 "native_allocation_registry_size_"
								 "field: "
								 "100 } " OBJECT(9, 3, "") FIELD(
									 1,
									 "java.lang.ref.Reference."
									 "referent") FIELD(2,
											   "sun."
											   "misc."
											   "Cleaner"
											   "."
											   "thunk")
									 FIELD(3, "libcore.util."
										  "NativeAllocatio"
										  "nRegistry$"
										  "CleanerThunk."
										  "this$0")
										 TYPE(1,
										      "sun.misc."
										      "Cleaner",
										      "") TYPE(2,
											       "Bit"
											       "ma"
											       "p",
											       "")
											 TYPE(3,
											      "A",
											      "")));
	SHOW(database, FLAME "'graph', 10, null, 1, null, null)",
	     "0,0,\"Bitmap [ROOT_JAVA_FRAME]\",\"JAVA\",1,2,8,108,\"[NULL]\"\n"
	     "1,1,\"[native] Bitmap [ROOT_JAVA_FRAME]\",\"JAVA\",1,1,100,100,0\n"
	     "2,0,\"A [ROOT_JAVA_FRAME]\",\"JAVA\",1,1,8,8,\"[NULL]\"\n");
	SHOW(database,
	     "include perfetto module android.memory.heap_graph.class_tree; "
	     "select id, parent_id, name, heap_type, self_count, self_size "
	     "from _heap_graph_class_tree",
	     "0,\"[NULL]\",\"Bitmap\",\"[NULL]\",1,8\n1,\"[NULL]\",\"A\",\"[NULL]\",1,8\n"
	     "2,0,\"[native] Bitmap\",\"HEAP_TYPE_NATIVE\",1,100\n");
	fixture_close(database);
}

ORMA_TEST(a_heap_without_roots_is_a_warning_when_it_was_cut)
{
	struct orma_trace_database *database = fixture_open(GRAPH("index: 4"));
	SHOW(database, FLAME "'graph', 10, null, 1, null, null)",
	     "0,0,\"ERROR: INCOMPLETE GRAPH (try increasing buffer "
	     "size)\",\"JAVA\",1,1,1,1,\"[NULL]\"\n");
	fixture_close(database);
}

#define STACKS                                                                                     \
	PACKET(1, "sequence_flags: 1 interned_data { function_names { iid: 1 str: 'main' } "       \
		  "function_names { iid: 2 str: 'work' } mapping_paths { iid: 1 str: 'prog' } "    \
		  "source_paths { iid: 1 str: 'work.c' } "                                         \
		  "mappings { iid: 1 path_string_ids: 1 } mappings { iid: 2 } "                    \
		  "frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: 1 } "                 \
		  "frames { iid: 2 function_name_id: 2 mapping_id: 1 rel_pc: 2 "                   \
		  "source_path_iid: 1 line_number: 7 } "                                           \
		  "frames { iid: 3 function_name_id: 2 mapping_id: 1 rel_pc: 3 } "                 \
		  "callstacks { iid: 1 frame_ids: 1 frame_ids: 2 } "                               \
		  "callstacks { iid: 2 frame_ids: 1 frame_ids: 3 } callstacks { iid: 3 "           \
		  "frame_ids: 1 } }")
#define SAMPLE(ts, pid, stack)                                                                     \
	PACKET(ts, "sequence_flags: 2 perf_sample { pid: " #pid " tid: " #pid                      \
		   " callstack_iid: " #stack " }")
#define DUMP(ts, body)                                                                             \
	PACKET(ts, "sequence_flags: 2 profile_packet { process_dumps { pid: 7 timestamp: " #ts     \
		   " heap_name: 'h' " body " } }")
#define HEAP_SAMPLE(stack, allocated, count, freed)                                                \
	"samples { callstack_id: " #stack " self_allocated: " #allocated " alloc_count: " #count   \
	" self_freed: " #freed " free_count: 1 } "

ORMA_TEST(samples_of_processes_and_times_are_a_flame_graph)
{
	struct orma_trace_database *database = fixture_open(
		STACKS SAMPLE(100, 7, 1) SAMPLE(200, 7, 2) SAMPLE(300, 8, 3) SAMPLE(400, 7, 3));
	/* Frames at two addresses of a function are a box. */
	SHOW(database,
	     "select ts, depth, name, size, cumulative_size, parent_id, source_file, line_number "
	     "from experimental_flamegraph('perf', null, '>=100,<400', 1, null, null)",
	     "100,0,\"main\",0,2,\"[NULL]\",\"[NULL]\",\"[NULL]\"\n"
	     "200,1,\"work\",2,2,0,\"work.c\",7\n");
	SHOW(database,
	     "select ts, name, count from experimental_flamegraph('perf', null, '>100', null, "
	     "'1,2', null)",
	     "400,\"main\",2\n200,\"work\",1\n");
	SHOW(database,
	     "select name, count from experimental_flamegraph('perf', null, '=300', null, '2', "
	     "'MAI')",
	     "\"main\",1\n\"work\",0\n");
	fixture_refuse(database, FLAME "'perf', null, '!100', 1, null, null)",
		       "a condition on times is");
	fixture_refuse(database, FLAME "'perf', null, '>x', 1, null, null)",
		       "the condition has no time");
	fixture_close(database);
}

ORMA_TEST(heaps_by_call_stack_are_a_flame_graph)
{
	struct orma_trace_database *database = fixture_open(
		"packet { clock_snapshot { clocks { clock_id: 6 timestamp: 100 } clocks { "
		"clock_id: 4 timestamp: 100 } } } " STACKS DUMP(
			200, HEAP_SAMPLE(1, 50, 2, 20) HEAP_SAMPLE(3, 7, 1, 7))
			DUMP(300, HEAP_SAMPLE(1, 90, 3, 20)));
	SHOW(database,
	     "select name, map_name, count, cumulative_count, size, cumulative_size, alloc_count, "
	     "cumulative_alloc_count, alloc_size, cumulative_alloc_size "
	     "from experimental_flamegraph('native', 200, null, 1, null, null)",
	     "\"main\",\"/prog\",0,1,0,30,1,3,7,57\n\"work\",\"/prog\",1,1,30,30,2,2,50,50\n");
	SHOW(database,
	     "select sum(size), sum(alloc_size) from experimental_flamegraph('native', 300, null, "
	     "1, null, null)",
	     "70,97\n");
	fixture_refuse(database, FLAME "'native', 100, null, 1, null, null)",
		       "there is no heap of this process then");
	fixture_close(database);
}

#define FRAME(id, name, mapping)                                                                   \
	"function_names { iid: " #id " str: '" name "' } frames { iid: " #id                       \
	" function_name_id: " #id " mapping_id: " #mapping " rel_pc: " #id " } "

ORMA_TEST(call_stacks_of_android_say_how_methods_were_run)
{
	struct orma_trace_database *database = fixture_open(PACKET(
		1, "sequence_flags: 1 interned_data { mapping_paths { iid: 1 str: 'libc.so' } "
		   "mapping_paths { iid: 2 str: 'libart.so' } mapping_paths { iid: 3 str: "
		   "'app.vdex' } mapping_paths { iid: 4 str: 'memfd:jit-cache' } "
		   "mapping_paths { iid: 5 str: 'app.odex' } "
		   "mappings { iid: 1 path_string_ids: 1 } mappings { iid: 2 path_string_ids: "
		   "2 } mappings { iid: 3 path_string_ids: 3 } mappings { iid: 4 "
		   "path_string_ids: 4 } mappings { iid: 5 path_string_ids: 5 } " FRAME(
			   1, "start", 2) FRAME(2, "a.interpreted", 3) FRAME(3, "nterp_op", 2)
			   FRAME(4, "Invoke", 2) FRAME(5, "a.jit", 4) FRAME(6, "a.aot", 5) FRAME(
				   7, "art_jni_trampoline", 5) FRAME(8, "Method_invoke", 2)
				   FRAME(9, "read", 1) "callstacks { iid: 1 frame_ids: 1 "
						       "frame_ids: 2 frame_ids: 3 frame_ids: 4 "
						       "frame_ids: 5 frame_ids: 6 frame_ids: 7 "
						       "frame_ids: 8 frame_ids: 4 "
						       "frame_ids: 9 } }") SAMPLE(100, 7, 1));
	SHOW(database,
	     "select depth, frame_id, annotation from experimental_annotated_callstack((select "
	     "callsite_id from perf_sample))",
	     "9,8,\"[NULL]\"\n8,3,\"common-frame\"\n7,7,\"[NULL]\"\n6,6,\"common-frame\"\n"
	     "5,5,\"aot\"\n4,4,\"jit\"\n3,3,\"common-frame\"\n2,2,\"common-frame-interp\"\n"
	     "1,1,\"interp\"\n0,0,\"[NULL]\"\n");
	SHOW(database, "select * from experimental_annotated_callstack(null)", "");
	fixture_refuse(database, "select * from experimental_annotated_callstack(99)",
		       "there is no callsite 99");
	fixture_refuse(database, "select * from experimental_annotated_callstack('x')",
		       "must be an integer");
	fixture_close(database);
}

ORMA_TEST(allocations_that_failed_are_a_view)
{
	struct orma_trace_database *database = fixture_open(PACKET(
		10, "art_process_metadata { pid: 70 oom_allocation_size: 5 oom_error_msg: 'no' }"));
	SHOW(database,
	     "include perfetto module android.memory.heap_graph.oome; select heap_graph_id, "
	     "allocation_size_bytes, error_msg from android_heap_graph_java_oome_details",
	     "0,5,\"no\"\n");
	SHOW(database, "select dump_reason from heap_graph", "\"OOME\"\n");
	fixture_close(database);
}
