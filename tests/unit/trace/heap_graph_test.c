/* SPDX-License-Identifier: Apache-2.0
 * heap_graph_test.c - graphs of Java heaps, the processes they are of, and the names that programs had before they were shortened.
 */
#include "import_fixture.h"

static struct import_fixture fixture;

#define PACKET(sequence, ts, content)                                                              \
	"packet { trusted_packet_sequence_id: " #sequence " timestamp: " #ts " " content " }\n"
#define PART(sequence, index, more, content)                                                       \
	PACKET(sequence, 10,                                                                       \
	       "heap_graph { pid: 70 index: " #index " continued: " #more " " content " }")
#define GRAPH(content)         PART(1, 0, false, content)
#define TYPE(id, name, more)   "types { id: " #id " class_name: '" name "' " more " } "
#define FIELD(id, name)        "field_names { iid: " #id " str: '" name "' } "
#define ROOT(type, ids)        "roots { root_type: " #type " " ids " } "
#define OBJECT(id, type, more) "objects { id: " #id " type_id: " #type " " more " } "
#define REFER(field, to)       "reference_field_id: " #field " reference_object_id: " #to " "

static const char *objects(void)
{
	return import_rows(
		&fixture, ORMA_TABLE_HEAP_OBJECT,
		"id self_size reference_set_id reachable root_distance type_id root_type");
}

static const char *references(void)
{
	return import_rows(&fixture, ORMA_TABLE_HEAP_REFERENCE,
			   "reference_set_id owner_id owned_id field_name field_type_name");
}

ORMA_TEST(objects_of_several_packets_refer_to_each_other_and_have_distances_from_the_roots)
{
	import_text(
		&fixture,
		PART(1, 0, true,
		     ROOT(ROOT_JNI_LOCAL, "object_ids: 1")
			     OBJECT(1, 1, "self_size: 8 " REFER(1, 3) REFER(2, 0))
				     OBJECT(2, 1, "self_size: 9"))
			PART(1, 1, false,
			     "heap_bytes_allocated: 1000 " OBJECT(3, 2, REFER(1, 1) REFER(2, 4))
				     FIELD(1, "A.one") FIELD(2, "int[] A.two") TYPE(
					     2, "B", "object_size: 32")
					     TYPE(1, "A", "location_id: 7 kind: KIND_NORMAL") TYPE(
						     3, "C",
						     "classloader_id: 2") "location_names { iid: 7 "
									  "str: 'app.apk' } "));
	CHECK_STR(objects(), "0 8 0 1 0 0 ROOT_JNI_LOCAL\n1 32 2 1 1 1 -\n2 9 - 0 -1 0 -\n"
			     "3 -1 - 1 2 0 -\n");
	CHECK_STR(references(), "0 0 1 A.one -\n0 0 - A.two int[]\n2 1 0 A.one -\n"
				"2 1 3 A.two int[]\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_CLASS, "name location classloader_id kind"),
		  "A app.apk - KIND_NORMAL\nB - - KIND_UNKNOWN\nC - 2 KIND_UNKNOWN\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_GRAPH, "ts upid heap_size truncated"),
		  "10 1 1000 0\n");
	CHECK_INT(import_stat(&fixture, "heap_graph_malformed_packet"), -1);
	CHECK_INT(import_stat(&fixture, "heap_graph_non_finalized_graph"), 0);
	import_done(&fixture);
}

ORMA_TEST(ids_and_heap_types_are_differences_and_types_name_the_fields_of_their_objects)
{
	import_text(
		&fixture,
		GRAPH("objects { id: 100 type_id: 1 heap_type_delta: HEAP_TYPE_APP "
		      "reference_field_id_base: 90 reference_object_id: 15 reference_object_id: 0 "
		      "reference_object_id: 10 } "
		      "objects { id_delta: 5 type_id: 4 heap_type_delta: HEAP_TYPE_ZYGOTE "
		      "reference_object_id: 100 } objects { id_delta: 1 type_id: 5 } " FIELD(
			      1, "Low.a") FIELD(2, "Low.b") FIELD(3, "Top.c")
			      TYPE(1, "Low",
				   "superclass_id: 2 reference_field_id: 1 "
				   "reference_field_id: 2 object_size: 24") TYPE(2, "Middle",
										 "superclass_id: 3")
				      TYPE(3, "Top", "reference_field_id: 3")
					      TYPE(4, "Top[]", "kind: KIND_ARRAY object_size: 8")));
	CHECK_STR(references(), "0 0 1 Low.a -\n0 0 - Low.b -\n0 0 0 Top.c -\n3 1 0 - -\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_OBJECT,
			      "self_size heap_type root_type root_distance"),
		  "24 HEAP_TYPE_APP - 1\n8 HEAP_TYPE_ZYGOTE ROOT_VM_INTERNAL 0\n"
		  "0 HEAP_TYPE_ZYGOTE ROOT_VM_INTERNAL 0\n");
	/* The last object's type is missing. */
	CHECK_INT(import_stat(&fixture, "heap_graph_malformed_packet"), 1);
	import_done(&fixture);
}

ORMA_TEST(weak_references_keep_nothing_and_internal_ones_do)
{
	import_text(
		&fixture,
		GRAPH(ROOT(ROOT_JAVA_FRAME, "object_ids: 1 object_ids: 99") ROOT(
			ROOT_STICKY_CLASS, "object_ids: 1") ROOT(ROOT_JNI_GLOBAL, "object_ids: 1")
			      OBJECT(1, 1, "self_size: 1 " REFER(1, 2) REFER(2, 3)) OBJECT(
				      2, 2, "self_size: 1") OBJECT(3, 2,
								   "self_size: 1 "
								   "runtime_internal_object_id: 4")
				      OBJECT(4, 2, "self_size: 1")
					      FIELD(1, "java.lang.ref.Reference."
						       "referent") FIELD(2, "A.b")
						      TYPE(1, "Weak",
							   "kind: KIND_WEAK_"
							   "REFERENCE") TYPE(2, "A", "")));
	CHECK_STR(objects(), "0 1 0 1 0 0 ROOT_STICKY_CLASS\n1 1 - 0 -1 1 -\n2 1 2 1 1 1 -\n"
			     "3 1 - 1 2 1 -\n");
	CHECK_STR(references(), "0 0 1 java.lang.ref.Reference.referent -\n0 0 2 A.b -\n"
				"2 2 3 runtimeInternalObjects -\n");
	import_done(&fixture);
}

ORMA_TEST(superclasses_are_what_class_objects_refer_to)
{
	import_text(
		&fixture,
		GRAPH(OBJECT(1, 1, "self_size: 1 " REFER(1, 2)) OBJECT(2, 2, "self_size: 1") FIELD(
			1, "java.lang.Class.superClass") TYPE(1, "java.lang.Class<Low>",
							      "location_id: 1")
			      TYPE(2, "java.lang.Class<Top>", "location_id: 2") TYPE(
				      3, "Top", "location_id: 2") TYPE(4, "Low", "location_id: 2")
				      TYPE(5, "Low",
					   "location_id: 1") "location_names { iid: 1 str: 'a' } "
							     "location_names { iid: 2 str: 'b' "
							     "} "));
	CHECK_STR(
		import_rows(&fixture, ORMA_TABLE_HEAP_CLASS, "id name superclass_id"),
		"0 java.lang.Class<Low> -\n1 java.lang.Class<Top> -\n2 Top -\n3 Low -\n4 Low 2\n");
	import_done(&fixture);
}

#define CLEANER(id, referent, next)                                                                \
	OBJECT(id, 1, "self_size: 1 " REFER(1, referent) REFER(2, 20) REFER(3, next))

ORMA_TEST(cleaners_say_how_much_memory_their_objects_hold_outside_of_the_heap)
{
	import_text(&fixture,
		    GRAPH(CLEANER(1, 10, 0) CLEANER(2, 10, 1) CLEANER(3, 11, 3) OBJECT(
			    20, 2, "self_size: 1 " REFER(4, 30))
				  OBJECT(30, 3,
					 "self_size: 1 native_allocation_registry_size_field: 4097")
					  FIELD(1, "java.lang.ref.Reference.referent")
						  FIELD(2, "sun.misc.Cleaner.thunk")
							  FIELD(3, "sun.misc.Cleaner.next") FIELD(
								  4, "libcore.util."
								     "NativeAllocationRegistry$"
								     "CleanerThunk.this$0")
								  TYPE(1, "sun.misc.Cleaner",
								       "") TYPE(2, "Thunk", "")
									  TYPE(3, "Registry", "")));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_OBJECT, "native_size"),
		  "0\n8192\n0\n0\n0\n0\n0\n");
	import_done(&fixture);
}

#define EIGHT(text) text text text text text text text text

ORMA_TEST(the_thunk_of_a_cleaner_is_not_searched_beyond_its_first_fields)
{
	import_text(&fixture,
		    GRAPH(CLEANER(1, 10, 0) OBJECT(
			    20, 2, "self_size: 1 " EIGHT(EIGHT(REFER(5, 0))) REFER(4, 30))
				  OBJECT(30, 3, "native_allocation_registry_size_field: 8")
					  FIELD(1, "java.lang.ref.Reference.referent")
						  FIELD(2, "sun.misc.Cleaner.thunk")
							  FIELD(4, "libcore.util."
								   "NativeAllocationRegistry$"
								   "CleanerThunk.this$0")
								  TYPE(1, "sun.misc.Cleaner", "")));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_OBJECT, "native_size"), "0\n0\n0\n0\n");
	import_done(&fixture);
}

ORMA_TEST(bitmaps_have_their_sizes)
{
	import_text(&fixture,
		    GRAPH(OBJECT(1, 1, "self_size: 4") OBJECT(2, 1,
							      "self_size: 4 bitmap_id_field: -5 "
							      "bitmap_width_field: 100")
				  TYPE(1, "android.graphics.Bitmap", "")));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_OBJECT, "object_data_id"), "-\n0\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_OBJECT_DATA, "field_set_id value_string"),
		  "0 -\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_PRIMITIVE,
			      "field_set_id field_name field_type long_value int_value"),
		  "0 android.graphics.Bitmap.mId long -5 -\n"
		  "0 android.graphics.Bitmap.mWidth int - 100\n");
	import_done(&fixture);
}

ORMA_TEST(graphs_of_two_sequences_do_not_mix)
{
	import_text(&fixture,
		    PART(1, 0, true, OBJECT(1, 1, "self_size: 1"))
			    PACKET(2, 10,
				   "heap_graph { pid: 71 " OBJECT(1, 1, "self_size: 2 " REFER(1, 1))
					   TYPE(1, "Other", "") FIELD(1, "Other.self") "}")
				    PART(1, 1, false,
					 OBJECT(2, 1, "self_size: 3 " REFER(1, 1))
						 TYPE(1, "Mine", "") FIELD(1, "Mine.first")));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_OBJECT,
			      "upid graph_sample_ts self_size type_id"),
		  "1 10 1 0\n2 10 2 1\n1 10 3 0\n");
	CHECK_STR(references(), "0 1 1 Other.self -\n1 2 0 Mine.first -\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_CLASS, "name"), "Mine\nOther\n");
	CHECK_INT(import_stat(&fixture, "heap_graph_non_finalized_graph"), 0);
	import_done(&fixture);
}

ORMA_TEST(a_graph_with_lost_packets_is_kept_and_truncated)
{
	import_text(
		&fixture,
		PART(1, 1, true, OBJECT(1, 1, "self_size: 1") ROOT(ROOT_DEBUGGER, "object_ids: 1"))
			PART(1, 4, true, TYPE(1, "A", "location_id: 3"))
				PACKET(1, 99,
				       "heap_graph { pid: 70 index: 5 continued: true " OBJECT(
					       2, 1, "") "}"));
	CHECK_STR(objects(), "0 1 - 1 0 0 ROOT_DEBUGGER\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_GRAPH, "ts truncated"), "10 1\n");
	CHECK_INT(import_stat(&fixture, "heap_graph_missing_packet"), 2);
	/* One for the object of another time, and one for the missing end. */
	CHECK_INT(import_stat(&fixture, "heap_graph_non_finalized_graph"), 2);
	CHECK_INT(import_stat(&fixture, "heap_graph_invalid_string_id"), 1);
	import_done(&fixture);
}

ORMA_TEST(circles_of_superclasses_and_references_end)
{
	import_text(&fixture,
		    GRAPH(ROOT(ROOT_UNKNOWN,
			       "object_ids: 1") "objects { id: 1 type_id: 1 self_size: 1 "
						"reference_object_id: 2 "
						"reference_object_id: 1 } "
						"objects { id: 2 type_id: 2 self_size: 1 "
						"reference_object_id: 1 "
						"reference_object_id: 2 reference_object_id: 1 } "
						"objects { id: 3 type_id: 5 self_size: 1 "
						"reference_object_id: 3 } " FIELD(1, "A.f")
			  /* No fields at all, and fields in one of the two. */
			  TYPE(1, "A", "superclass_id: 4") TYPE(4, "B", "superclass_id: 1")
				  TYPE(2, "C", "superclass_id: 3 reference_field_id: 1")
					  TYPE(3, "D", "superclass_id: 2")
						  TYPE(5, "E", "superclass_id: 5")));
	CHECK_STR(references(), "0 0 1 - -\n0 0 0 - -\n2 1 0 A.f -\n2 1 1 A.f -\n2 1 0 A.f -\n"
				"5 2 2 - -\n");
	CHECK_STR(objects(), "0 1 0 1 0 0 ROOT_UNKNOWN\n1 1 2 1 1 1 -\n2 1 5 0 -1 2 -\n");
	CHECK_INT(import_stat(&fixture, "heap_graph_malformed_packet"), 2);
	import_done(&fixture);
}

ORMA_TEST(objects_that_make_no_sense_are_left_out_and_counted)
{
	import_text(&fixture,
		    GRAPH(OBJECT(1, 1,
				 "self_size: 1 reference_field_id: 1 reference_object_id: 2 "
				 "reference_object_id: 3") OBJECT(2, 1, "self_size: 5")
			  /* The last description of an object is valid. */
			  OBJECT(2, 2, "self_size: 6 " REFER(9, 2))
				  OBJECT(2, 1, "self_size: 7 " REFER(8, 0) REFER(8, 2)) TYPE(
					  1, "A", "kind: 77") TYPE(1, "B", "") TYPE(2, "C", "")));
	CHECK_STR(objects(), "0 7 1 0 -1 0 -\n");
	CHECK_STR(references(), "0 0 0 - -\n1 0 - - -\n1 0 0 - -\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_CLASS, "name kind"),
		  "B KIND_UNKNOWN\nC KIND_UNKNOWN\n");
	CHECK_INT(import_stat(&fixture, "heap_graph_malformed_packet"), 1);
	import_done(&fixture);
}

ORMA_TEST(the_process_of_a_dump_and_the_allocation_that_failed_have_rows)
{
	import_text(
		&fixture,
		PACKET(1, 10,
		       "art_process_metadata { pid: 70 uid: 1010123 process_name: 'app' "
		       "package_name: 'com.app' oom_allocation_size: 5 oom_total_bytes_free: 6 "
		       "oom_free_bytes_until_oom: 7 oom_error_msg: 'no room' "
		       "oom_thread_java_stack { frames { method_name: 'void app.Main.leaf(int)' "
		       "source_file: 'Main.java' line_number: 3 } frames { line_number: 4 } "
		       "frames { method_name: 'app.Main.root' } } }")
			PACKET(1, 10, "heap_graph { pid: 70 heap_bytes_allocated: 9 }")
				PACKET(1, 20, "art_process_metadata { pid: 70 }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_GRAPH, "ts upid dump_reason heap_size"),
		  "10 1 OOME 9\n20 1 - -\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_OOME,
			      "heap_graph_id allocation_size_bytes total_bytes_free "
			      "free_bytes_until_oom error_msg"),
		  "0 5 6 7 no room\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_CALLSITE, "heap_graph_id utid callsite_id"),
		  "0 1 1\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_CALLSITE, "depth parent_id frame_id"),
		  "0 - 0\n1 0 1\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_FRAME, "name"),
		  "app.Main.root\napp.Main.leaf\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PACKAGE, "package_name uid"),
		  "com.app 1010123\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROCESS, "name android_appid"),
		  "- -\napp 10123\n");
	import_done(&fixture);
}

#define MAPPING(package, classes)                                                                  \
	PACKET(1, 5, "deobfuscation_mapping { package_name: '" package "' " classes " }")
#define CLASS(old, new, more)                                                                      \
	"obfuscated_classes { obfuscated_name: '" old "' deobfuscated_name: '" new "' " more " } "
#define MEMBER(old, new)                                                                           \
	"obfuscated_members { obfuscated_name: '" old "' deobfuscated_name: '" new "' } "
#define METHOD(old, new, more)                                                                     \
	"obfuscated_methods { obfuscated_name: '" old "' deobfuscated_name: '" new "' " more " } "

ORMA_TEST(classes_and_fields_of_a_package_get_their_names)
{
	import_text(
		&fixture,
		PACKET(1, 1,
		       "packages_list { packages { name: 'com.run' uid: 10007 } "
		       "packages { name: 'com.second' uid: 10007 version_code: 3 } }")
			PACKET(1, 1,
			       "process_tree { processes { pid: 70 cmdline: 'x' uid: 10007 } }")
				MAPPING("com.app",
					CLASS("a", "app.A",
					      MEMBER("x", "ex") MEMBER("y", "other.Y.why") MEMBER(
						      "z",
						      "unused"))) MAPPING("com.run",
									  CLASS("a", "run.A", "")
										  CLASS("b",
											"run.B",
											""))
					GRAPH(OBJECT(1, 1,
						     "self_size: 1 " REFER(1, 1) REFER(
							     2, 1)) FIELD(1, "a.x") FIELD(2,
											  "int a.y")
						      TYPE(1, "a", "location_id: 1") TYPE(
							      2, "a[][]",
							      "location_id: 1") TYPE(3,
										     "java.lang."
										     "Class<a[]>",
										     "location_id: "
										     "2")
							      TYPE(4, "b", "location_id: 2") TYPE(
								      5, "b", "location_id: 3")
								      TYPE(6, "c",
									   "") "location_names { "
									       "iid: 1 str: "
									       "'/data/app/~~rnd==/"
									       "com.app-xyz/"
									       "base.apk' } "
									       "location_names { "
									       "iid: 2 str: "
									       "'somewhere' } "
									       "location_names { "
									       "iid: 3 str: "
									       "'/data/app/broken' "
									       "} "));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_CLASS, "name deobfuscated_name"),
		  "a app.A\na[][] app.A[][]\njava.lang.Class<a[]> java.lang.Class<run.A[]>\n"
		  "b run.B\nb run.B\nc -\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_REFERENCE,
			      "field_name deobfuscated_field_name"),
		  "a.x app.A.ex\na.y other.Y.why\n");
	CHECK_INT(import_stat(&fixture, "deobfuscate_location_parse_error"), 1);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PACKAGE, "package_name uid version_code"),
		  "com.run 10007 0\ncom.second 10007 3\n");
	import_done(&fixture);
}

#define STACKS                                                                                     \
	"interned_data { function_names { iid: 1 str: 'a.m' } function_names { iid: 2 str: 'a.n' " \
	"} "                                                                                       \
	"function_names { iid: 3 str: 'native' } mapping_paths { iid: 1 str: 'data' } "            \
	"mapping_paths { iid: 2 str: 'app' } mapping_paths { iid: 3 str: 'com.app-1' } "           \
	"mapping_paths { iid: 4 str: 'base.apk' } mapping_paths { iid: 5 str: 'memfd:jit' } "      \
	"mapping_paths { iid: 6 str: 'odd' } source_paths { iid: 1 str: 'F' } "                    \
	"mappings { iid: 1 path_string_ids: 1 path_string_ids: 2 path_string_ids: 3 "              \
	"path_string_ids: 4 } mappings { iid: 2 path_string_ids: 5 } "                             \
	"mappings { iid: 3 path_string_ids: 6 } "                                                  \
	"frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: 1 } "                           \
	"frames { iid: 2 function_name_id: 1 mapping_id: 1 rel_pc: 2 source_path_iid: 1 "          \
	"line_number: 12 } "                                                                       \
	"frames { iid: 3 function_name_id: 2 mapping_id: 2 rel_pc: 3 } "                           \
	"frames { iid: 4 function_name_id: 2 mapping_id: 3 rel_pc: 4 } "                           \
	"frames { iid: 5 function_name_id: 3 mapping_id: 1 rel_pc: 5 } "                           \
	"callstacks { iid: 1 frame_ids: 1 frame_ids: 2 frame_ids: 3 frame_ids: 4 frame_ids: 5 } }"

ORMA_TEST(methods_on_call_stacks_get_their_names_by_package_and_line)
{
	import_text(
		&fixture,
		PACKET(1, 1, "packages_list { packages { name: 'com.run' uid: 10007 } }") PACKET(
			1, 1, "process_tree { processes { pid: 70 cmdline: 'x' uid: 10007 } }")
			PACKET(1, 2, "sequence_flags: 1 " STACKS) PACKET(
				1, 3,
				"sequence_flags: 2 perf_sample { pid: 70 tid: 70 callstack_iid: 1 "
				"}") MAPPING("com.app", CLASS("a", "Old", METHOD("m", "old", "")))
				MAPPING("com.app",
					CLASS("a", "A",
					      METHOD("m", "inner",
						     "obfuscated_line_start: 10 "
						     "obfuscated_line_end: 19 "
						     "source_line_start: 77")
						      METHOD("m", "outer",
							     "obfuscated_line_start: 12 "
							     "obfuscated_line_end: 12")
							      METHOD("m", "other.B.far",
								     "obfuscated_line_start: 20")
								      METHOD("n", "made", "")))
					MAPPING("com.run", CLASS("a", "R",
								 METHOD("n", "made", "")
									 METHOD("n", "made", ""))));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_FRAME,
			      "name symbol_set_id deobfuscated_name"),
		  "a.m - A.inner | A.outer | other.B.far\na.m 1 A.outer\na.n - R.made\n"
		  "a.n - R.made\nnative - -\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_SYMBOL,
			      "symbol_set_id name line_number inlined"),
		  "0 a.m 12 -\n1 A.inner 77 1\n1 A.outer - 0\n");
	import_done(&fixture);
}
