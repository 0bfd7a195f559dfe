/* SPDX-License-Identifier: Apache-2.0
 * profiles_test.c - what profilers write: samples of CPUs, heaps, symbols, memory maps.
 */
#include "import_fixture.h"
#include "proto/writer.h"

static struct import_fixture fixture;

#define PACKET(content)  "packet { trusted_packet_sequence_id: 1 " content " }\n"
#define STATE(content)   PACKET("sequence_flags: 2 " content)
#define SAMPLE(ts, body) STATE("timestamp: " #ts " perf_sample { cpu: 3 pid: 70 tid: 71 " body " }")

/* main calls work, which is in a library with a build id, and the kernel; and a stack whose last frame is missing. */
#define INTERNED                                                                                   \
	"interned_data { function_names { iid: 1 str: 'main' } "                                   \
	"function_names { iid: 2 str: 'work' } function_names { iid: 3 str: 'do_read' } "          \
	"mapping_paths { iid: 1 str: 'lib' } mapping_paths { iid: 2 str: 'libx.so' } "             \
	"mapping_paths { iid: 3 str: '/bin/prog' } mapping_paths { iid: 4 str: 'kernel' } "        \
	"build_ids { iid: 1 str: '\\001\\253' } source_paths { iid: 1 str: 'work.c' } "            \
	"mappings { iid: 1 build_id: 1 path_string_ids: 1 path_string_ids: 2 start: 4096 "         \
	"end: 8192 load_bias: 16 exact_offset: 32 start_offset: 48 } "                             \
	"mappings { iid: 2 path_string_ids: 3 } mappings { iid: 3 path_string_ids: 4 } "           \
	"frames { iid: 1 function_name_id: 1 mapping_id: 2 rel_pc: 100 kind: 1 } "                 \
	"frames { iid: 2 function_name_id: 2 mapping_id: 1 rel_pc: 200 source_path_iid: 1 "        \
	"line_number: 7 } "                                                                        \
	"frames { iid: 3 function_name_id: 3 mapping_id: 3 rel_pc: 300 kind_str: 'odd' } "         \
	"frames { iid: 4 rel_pc: 400 mapping_id: 9 } "                                             \
	"callstacks { iid: 1 frame_ids: 1 frame_ids: 2 } "                                         \
	"callstacks { iid: 2 frame_ids: 1 frame_ids: 2 frame_ids: 3 } "                            \
	"callstacks { iid: 3 frame_ids: 1 frame_ids: 4 } callstacks { iid: 4 } }"
#define BEGIN(defaults) PACKET("sequence_flags: 1 trace_packet_defaults { " defaults " } " INTERNED)
#define PERF                                                                                       \
	"perf_sample_defaults { timebase { counter: HW_CPU_CYCLES modifiers: 1 modifiers: 2 } "    \
	"followers { tracepoint { name: 'sched:sched_switch' } } "                                 \
	"followers { raw_event { type: 4 config: 255 } } process_shard_count: 8 "                  \
	"chosen_process_shard: 2 }"

ORMA_TEST(samples_of_perf_have_threads_stacks_and_counters)
{
	import_text(&fixture, BEGIN(PERF) SAMPLE(1000, "callstack_iid: 1 cpu_mode: MODE_USER "
						       "timebase_count: 5 follower_counts: 6 "
						       "follower_counts: 7")
				      SAMPLE(1100, "callstack_iid: 2 cpu_mode: MODE_KERNEL "
						   "timebase_count: 9 unwind_error: "
						   "UNWIND_ERROR_MAX_FRAMES_EXCEEDED")
					      SAMPLE(1200, "callstack_iid: 1 cpu_mode: MODE_USER"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_SAMPLE,
			      "ts source task_context_id execution_context_id callsite_id "
			      "unwind_error session_id counter_set_id"),
		  "1000 linux.perf 0 0 1 - 0 0\n"
		  "1100 linux.perf 0 1 2 max_frames_exceeded 0 3\n"
		  "1200 linux.perf 0 0 1 - 0 -\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_CALLSITE, "id depth parent_id frame_id"),
		  "0 0 - 0\n1 1 0 1\n2 2 1 2\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_FRAME,
			      "name mapping rel_pc symbol_set_id type"),
		  "main 0 100 - native\nwork 1 200 0 -\ndo_read 2 300 - odd\n");
	CHECK_STR(
		import_rows(&fixture, ORMA_TABLE_STACK_MAPPING,
			    "build_id exact_offset start_offset start end load_bias name"),
		" 0 0 0 0 0 /bin/prog\n01ab 32 48 4096 8192 16 /lib/libx.so\n 0 0 0 0 0 /kernel\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_SYMBOL,
			      "symbol_set_id name source_file line_number inlined"),
		  "0 work work.c 7 -\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_EXECUTION_CONTEXT, "ucpu cpu_mode"),
		  "3 user\n3 kernel\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_SESSION, "source timebase_unit"),
		  "linux.perf cycles\n");
	CHECK_STR(import_counters(&fixture), "cpu-cycles:uk: 5 9\n"
					     "sched:sched_switch: 6\n"
					     "raw.0x4.0xff.0x0.0x0: 7\n");
	CHECK_STR(
		import_rows(&fixture, ORMA_TABLE_PROFILER_COUNTER_SET, "counter_set_id counter_id"),
		"0 0\n0 1\n0 2\n3 3\n");
	CHECK_INT(import_stat(&fixture, "perf_chosen_process_shard"), 2);
	import_done(&fixture);
}

ORMA_TEST(a_mapping_of_two_processes_is_two_mappings_and_stays_one_when_names_begin_anew)
{
	import_text(&fixture,
		    BEGIN(PERF) SAMPLE(1000, "callstack_iid: 1") STATE(
			    "timestamp: 1001 perf_sample { pid: 80 tid: 80 callstack_iid: 1 }")
			    BEGIN(PERF) SAMPLE(1002, "callstack_iid: 1"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_MAPPING, "name start"),
		  "/bin/prog 0\n/lib/libx.so 4096\n/lib/libx.so 4096\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_SAMPLE, "ts callsite_id"),
		  "1000 1\n1001 2\n1002 1\n");
	import_done(&fixture);
}

ORMA_TEST(stacks_that_cannot_be_resolved_are_counted_for_each_sample)
{
	import_text(&fixture,
		    BEGIN(PERF) SAMPLE(1000, "callstack_iid: 3") SAMPLE(1001, "callstack_iid: 3")
			    SAMPLE(1002, "callstack_iid: 4") SAMPLE(1003, "callstack_iid: 77"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_SAMPLE, "ts callsite_id"),
		  "1000 -\n1001 -\n1002 -\n1003 -\n");
	CHECK_INT(import_stat(&fixture, "stackprofile_invalid_mapping_id"), 2);
	CHECK_INT(import_stat(&fixture, "stackprofile_empty_callstack"), 1);
	CHECK_INT(import_stat(&fixture, "stackprofile_invalid_callstack_id"), 1);
	import_done(&fixture);
}

ORMA_TEST(losses_of_perf_are_counted_and_make_no_samples)
{
	import_text(
		&fixture,
		BEGIN(PERF) STATE("timestamp: 1 perf_sample { cpu: 1 kernel_records_lost: 12 }")
			STATE("timestamp: 2 perf_sample { producer_event { source_stop_reason: "
			      "PROFILER_STOP_GUARDRAIL } }")
				SAMPLE(3, "sample_skipped_reason: PROFILER_SKIP_UNWIND_ENQUEUE")
					STATE("timestamp: 4 perf_sample { cpu: 99999 pid: 1 }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_SAMPLE, "ts"), "3\n");
	CHECK_INT(import_stat(&fixture, "perf_cpu_lost_records"), 12);
	CHECK_INT(import_stat(&fixture, "perf_guardrail_stop_ts"), 2);
	CHECK_INT(import_stat(&fixture, "perf_samples_skipped_dataloss"), 1);
	CHECK_INT(import_stat(&fixture, "perf_samples_skipped"), 1);
	import_done(&fixture);
}

ORMA_TEST(symbols_name_the_frames_at_their_addresses)
{
	import_text(&fixture,
		    BEGIN(PERF) SAMPLE(1000, "callstack_iid: 2") PACKET(
			    "module_symbols { path: '/lib/libx.so' build_id: '\\001\\253' "
			    "address_symbols { address: 200 lines { function_name: 'inner' "
			    "source_file_name: 'a.c' line_number: 5 } lines { function_name: "
			    "'outer' line_number: 6 } } address_symbols { address: 999 lines { "
			    "function_name: 'none' } } }")
			    PACKET("module_symbols { path: '/lib/other.so' }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_FRAME, "name symbol_set_id"),
		  "main -\nwork 1\ndo_read -\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_SYMBOL,
			      "symbol_set_id name source_file line_number"),
		  "0 work work.c 7\n1 inner a.c 5\n1 outer - -\n3 none - -\n");
	CHECK_INT(import_stat(&fixture, "stackprofile_invalid_frame_id"), 1);
	CHECK_INT(import_stat(&fixture, "stackprofile_invalid_mapping_id"), 1);
	import_done(&fixture);
}

#define STACK(ts, body) STATE("timestamp: " #ts " stack_sample { " body " }")

ORMA_TEST(stack_samples_have_contexts_and_weights)
{
	import_text(
		&fixture,
		PACKET("sequence_flags: 1 trace_packet_defaults { stack_sample_defaults { source: "
		       "'mine' "
		       "primary_descriptor { name: 'bytes' unit: UNIT_BYTES unit_multiplier: 2 } "
		       "follower_descriptors { name: 'faults' unit_str: 'odd' scope: SCOPE_CPU } } "
		       "} "
		       "interned_data { stack_sample_task_contexts { iid: 1 pid: 5 tid: 6 "
		       "async_id: 2 } "
		       "stack_sample_async_context_descriptors { iid: 2 name: 'child' parent_iid: "
		       "1 } "
		       "stack_sample_async_context_descriptors { iid: 1 name: 'root' kind: 'fiber' "
		       "} "
		       "stack_sample_async_context_descriptors { iid: 3 name: 'own' parent_iid: 3 "
		       "} }")
			STACK(10,
			      "task_context_iid: 1 execution_context { cpu: 2 mode: MODE_KERNEL } "
			      "callstack { frames { function_name: 'f' source_file: 'f.c' "
			      "line_number: 3 } frames { function_name: 'g' } } primary_weight: 40 "
			      "follower_weights: 4")
				STACK(11,
				      "task_context { async_id: 3 } primary_weight: 50 "
				      "follower_weights: 5 callstack { frames { function_name: 'f' "
				      "source_file: 'f.c' line_number: 3 } }"));
	CHECK_STR(
		import_rows(&fixture, ORMA_TABLE_PROFILER_SAMPLE,
			    "ts source task_context_id execution_context_id callsite_id session_id "
			    "counter_set_id"),
		"10 mine 0 0 1 0 0\n11 mine 1 - 0 0 2\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_ASYNC_CONTEXT, "name kind parent_id"),
		  "root fiber -\nchild - 0\nown - -\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_TASK_CONTEXT,
			      "upid utid async_context_id"),
		  "1 2 1\n- - 2\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_SESSION, "source timebase_unit"),
		  "mine bytes\n");
	/* A counter of a CPU needs to know which. */
	CHECK_STR(import_counters(&fixture), "bytes: 40 50\nfaults: 4\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_FRAME, "name mapping symbol_set_id"),
		  "f 0 0\ng 0 1\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_SYMBOL, "name source_file line_number"),
		  "f f.c 3\ng - -\n");
	import_done(&fixture);
}

#define CLOCKS                                                                                     \
	"packet { clock_snapshot { clocks { clock_id: 6 timestamp: 1000 } "                        \
	"clocks { clock_id: 4 timestamp: 500 } } }\n"
#define DUMP(idx, more, body)                                                                      \
	STATE("timestamp: 5 profile_packet { index: " #idx " continued: " #more " " body " }")
#define HEAP(ts, name, samples)                                                                    \
	"process_dumps { pid: 9 timestamp: " #ts " start_timestamp: 400 heap_name: '" name "' "    \
	"orig_sampling_interval_bytes: 8 sampling_interval_bytes: 16 " samples " }"

ORMA_TEST(dumps_of_heaps_are_differences_to_the_dump_before)
{
	import_text(&fixture,
		    CLOCKS BEGIN("timestamp_clock_id: 6") DUMP(
			    0, true,
			    HEAP(500, "libc.malloc",
				 "samples { callstack_id: 1 self_allocated: 100 alloc_count: 2 "
				 "self_freed: 40 free_count: 1 } samples { callstack_id: 2 "
				 "self_allocated: 7 alloc_count: 1 }")) DUMP(1, false, "")
			    DUMP(3, false,
				 HEAP(600, "libc.malloc",
				      "samples { callstack_id: 1 self_allocated: 150 alloc_count: "
				      "3 self_freed: 40 free_count: 1 } samples { callstack_id: 2 "
				      "self_allocated: 6 alloc_count: 1 }")
					 HEAP(600, "other",
					      "samples { callstack_id: 1 self_allocated: 20 "
					      "alloc_count: 1 }")));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_ALLOCATION,
			      "ts heap_name callsite_id count size"),
		  "1000 libc.malloc 1 2 100\n1000 libc.malloc 1 -1 -40\n1000 libc.malloc 2 1 7\n"
		  "1100 libc.malloc 1 1 50\n1100 other 1 1 20\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_PROFILE, "ts ts_end dur heap_name"),
		  "900 1000 100 libc.malloc\n900 1100 200 libc.malloc\n900 1100 200 other\n");
	CHECK_INT(import_stat(&fixture, "heapprofd_missing_packet"), 1);
	CHECK_INT(import_stat(&fixture, "heapprofd_malformed_packet"), 1);
	CHECK_INT(import_stat(&fixture, "heapprofd_sampling_interval_adjusted"), 8);
	import_done(&fixture);
}

ORMA_TEST(dumps_of_old_heaps_have_their_own_tables)
{
	import_text(&fixture,
		    CLOCKS BEGIN("timestamp_clock_id: 6") DUMP(
			    0, false,
			    "strings { iid: 1 str: 'old' } strings { iid: 2 str: 'app.so' } "
			    "mappings { iid: 1 path_string_ids: 2 build_id: 1 } "
			    "frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: 5 } "
			    "callstacks { iid: 1 frame_ids: 1 } " HEAP(
				    500, "",
				    "samples { callstack_id: 1 self_max: 64 self_max_count: 2 }"))
		    /* The tables are of one dump. */
		    DUMP(1, false, HEAP(600, "", "samples { callstack_id: 1 self_allocated: 8 }")));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_FRAME, "name rel_pc"),
		  "old 5\nmain 100\nwork 200\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_MAPPING, "build_id name"),
		  "6f6c64 /app.so\n /bin/prog\n01ab /lib/libx.so\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_HEAP_ALLOCATION,
			      "heap_name callsite_id count size"),
		  "unknown 0 2 64\nunknown 2 0 8\n");
	import_done(&fixture);
}

static void write_smaps(struct orma_proto_writer *writer)
{
	struct orma_proto_nested packet, smaps, entry;
	orma_proto_nested_begin(writer, &packet, 1);
	orma_proto_write_varint(writer, 8, 77);
	orma_proto_nested_begin(writer, &smaps, 68);
	orma_proto_write_varint(writer, 1, 9);
	orma_proto_nested_begin(writer, &entry, 2);
	orma_proto_write_string(writer, 1, "/lib/a.so (deleted)");
	orma_proto_write_varint(writer, 2, 128);
	orma_proto_write_varint(writer, 15, 64);
	orma_proto_nested_end(writer, &entry);
	orma_proto_nested_end(writer, &smaps);
	orma_proto_nested_end(writer, &packet);
}

/* Arrays of paths, sizes and shares; the last has one number more than the others when `is_uneven`. */
static void write_packed_smaps(struct orma_proto_writer *writer, bool is_uneven)
{
	static const uint8_t ids[] = {1, 0}, sizes[] = {20, 10}, shares[] = {3, 4, 5};
	struct orma_proto_nested packet, smaps, packed;
	orma_proto_nested_begin(writer, &packet, 1);
	orma_proto_write_varint(writer, 8, 78);
	orma_proto_nested_begin(writer, &smaps, 68);
	orma_proto_write_varint(writer, 1, 9);
	orma_proto_nested_begin(writer, &packed, 3);
	orma_proto_write_string(writer, 1, "[heap]");
	orma_proto_write_string(writer, 1, "/lib/b.so");
	orma_proto_write_bytes(writer, 2, ids, sizeof(ids));
	orma_proto_write_bytes(writer, 4, sizes, sizeof(sizes));
	orma_proto_write_bytes(writer, 13, shares, is_uneven ? 3 : 2);
	orma_proto_nested_end(writer, &packed);
	orma_proto_nested_end(writer, &smaps);
	orma_proto_nested_end(writer, &packet);
}

ORMA_TEST(memory_maps_are_entries_or_arrays)
{
	struct orma_buf bytes = {0};
	struct orma_proto_heap_writer writer;
	orma_proto_heap_writer_init(&writer, &bytes);
	write_smaps(&writer.writer);
	write_packed_smaps(&writer.writer, false);
	write_packed_smaps(&writer.writer, true);
	CHECK_INT(orma_proto_heap_writer_finish(&writer), 0);
	import_bytes(&fixture, bytes.data, bytes.size);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SMAPS,
			      "ts path path_trimmed is_deleted size_kb proportional_resident_kb "
			      "aggregate_count file_name"),
		  "77 /lib/a.so (deleted) /lib/a.so 1 128 64 1 -\n"
		  "78 /lib/b.so /lib/b.so 0 20 3 1 -\n78 [heap] [heap] 0 10 4 1 -\n"
		  "78 /lib/b.so /lib/b.so 0 20 3 1 -\n78 [heap] [heap] 0 10 4 1 -\n");
	CHECK_INT(import_stat(&fixture, "smaps_parser_errors"), 1);
	import_done(&fixture);
	orma_base_buf_done(&bytes);
}

ORMA_TEST(track_events_have_call_stacks)
{
	import_text(&fixture,
		    BEGIN("") STATE("timestamp: 1 track_event { type: 1 name: 'a' callstack_iid: 1 "
				    "}") STATE("timestamp: 2 track_event { type: 2 "
					       "callstack_weight: 2.5 callstack { "
					       "frames { function_name: 'end' } } }")
			    STATE("timestamp: 3 track_event { type: 3 callstack_iid: 4 }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_EVENT_CALLSTACK,
			      "slice_id track_id callsite_id end_callsite_id weight"),
		  "0 0 1 - -\n0 0 - 2 2.5\n");
	CHECK_INT(import_stat(&fixture, "track_event_parser_errors"), 1);
	import_done(&fixture);
}

#define CHROME(seq, content) "packet { trusted_packet_sequence_id: " #seq " " content " }\n"
#define CHROME_BEGIN(seq, thread, us)                                                              \
	CHROME(seq, "sequence_flags: 1 thread_descriptor { pid: 90 tid: " #thread                  \
		    " reference_timestamp_us: " #us " } " INTERNED)

ORMA_TEST(streaming_profiles_are_samples_of_their_thread_in_the_order_of_time)
{
	import_text(
		&fixture,
		"packet { clock_snapshot { clocks { clock_id: 6 timestamp: 1000000 } clocks { "
		"clock_id: 3 timestamp: 500000 } } }\n" CHROME_BEGIN(5, 91,
								     1000) CHROME_BEGIN(6, 92, 1000)
			CHROME(5, "sequence_flags: 2 streaming_profile_packet { callstack_iid: 1 "
				  "callstack_iid: 2 callstack_iid: 1 timestamp_delta_us: 10 "
				  "timestamp_delta_us: 20 timestamp_delta_us: -5 process_priority: "
				  "3 }")
		/* The clock of the sequence goes on, also by a delta that no stack belongs to. */
		CHROME(6, "sequence_flags: 2 streaming_profile_packet { callstack_iid: 1 "
			  "timestamp_delta_us: 12 timestamp_delta_us: 1000 }")
			CHROME(6, "sequence_flags: 2 streaming_profile_packet { callstack_iid: 2 "
				  "callstack_iid: 1 timestamp_delta_us: 1 }")
				CHROME(6, "sequence_flags: 2 timestamp: 1511000 "
					  "timestamp_clock_id: 6 perf_sample { "
					  "pid: 7 tid: 7 callstack_iid: 1 }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_SAMPLE,
			      "ts source task_context_id callsite_id process_priority"),
		  "1510000 chrome 0 1 3\n1511000 linux.perf 1 3 -\n1512000 chrome 2 1 -\n"
		  "1525000 chrome 0 1 3\n1530000 chrome 0 2 3\n2513000 chrome 2 2 -\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD, "tid"), "0\n90\n91\n92\n7\n");
	CHECK_INT(import_stat(&fixture, "stackprofile_parser_error"), 1);
	import_done(&fixture);
}

ORMA_TEST(streaming_profiles_without_a_thread_are_counted)
{
	import_text(&fixture,
		    CHROME(5, "sequence_flags: 1 " INTERNED)
			    CHROME(5, "sequence_flags: 2 streaming_profile_packet { callstack_iid: "
				      "1 timestamp_delta_us: 10 }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_SAMPLE, "ts"), "");
	CHECK_INT(import_stat(&fixture, "stackprofile_parser_error"), 1);
	import_done(&fixture);
}
