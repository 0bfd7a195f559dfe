/* SPDX-License-Identifier: Apache-2.0
 * profiles_test.c - profiles without a recording: collapsed stacks, the text of perf, pprof.
 */
#include "convert_fixture.h"

#include "proto/writer.h"

static struct import_fixture fixture;

ORMA_TEST(collapsed_stacks_are_samples_with_weights)
{
	convert_text(&fixture, "# by hand\nmain;work;read 5\n\nmain;;work of two 3\r\nmain;idle 0\n"
			       "no count\nmain 7");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_SAMPLE, "ts source callsite_id"),
		  "0 collapsed_stack 2\n0 collapsed_stack 3\n0 collapsed_stack 0\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_CALLSITE, "depth parent_id frame_id"),
		  "0 - 0\n1 0 1\n2 1 2\n1 0 3\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_FRAME, "name rel_pc mapping"),
		  "main 0 0\nwork 0 0\nread 0 0\nwork of two 0 0\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_MAPPING, "name"), "[collapsed_stack]\n");
	CHECK_STR(import_counters(&fixture), "samples: 5 3 7\n");
	CHECK_INT(import_stat(&fixture, "stackprofile_parser_error"), 2);
	import_done(&fixture);
}

ORMA_TEST(the_first_stacks_may_have_one_frame)
{
	convert_text(&fixture, "[unknown] 2\nmain;work 5\nswapper 1\n");
	CHECK_STR(import_counters(&fixture), "samples: 2 5 1\n");
	import_done(&fixture);
}

ORMA_TEST(a_stack_may_be_longer_than_what_tells_its_format)
{
	static char text[20000];
	size_t size = 0;
	for (int i = 0; i < 1500; i++)
		size += (size_t)snprintf(text + size, sizeof(text) - size, "frame%d;", i);
	snprintf(text + size, sizeof(text) - size, "leaf 1\n");
	convert_text(&fixture, text);
	CHECK_INT(orma_store_table_rows(&fixture.tables.all[ORMA_TABLE_STACK_CALLSITE]), 1501);
	import_done(&fixture);
}

ORMA_TEST(text_of_other_kinds_is_no_stack)
{
	static const char *const texts[] = {"main;work five\n", "main 5\n",
					    "a;b 1\nbuffers { size: 1 }\n", "\x01;b 1\n"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		CHECK_INT(convert_bytes(&fixture, texts[i], strlen(texts[i]), NULL),
			  -EPROTONOSUPPORT);
}

ORMA_TEST(samples_that_perf_prints_have_threads_and_frames)
{
	convert_text(&fixture, "# captured on: today\n"
			       "a b:c 70/71 [003] 12.000417:          1 cycles:Pu: \n"
			       "\t    55d0a1b2c3d4 parse token+0x14 (/usr/lib exec/cc1 (deleted))\n"
			       "\tffffffff81000000 [unknown] ([kernel.kallsyms])\n\n"
			       "swapper     0 13.123456789:     250000 cpu-clock:pppH:  ffffffffa0 "
			       "operator+(int)+0x1 ([kernel.kallsyms])\n"
			       "none 5 14.000000: cycles: \n\n"
			       "what is this\n"
			       "last 6 15.000000: sched:sched_switch: prev_comm=x\n"
			       "\t1 f (x)\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_SAMPLE,
			      "ts source task_context_id execution_context_id callsite_id"),
		  "12000417000 perf_text 0 0 1\n13123456789 perf_text 1 - 2\n"
		  "15000000000 perf_text 2 - 3\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_FRAME, "name mapping"),
		  "[unknown] 0\nparse token 1\noperator+(int) 0\nf 2\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_MAPPING, "name"),
		  "[kernel.kallsyms]\n/usr/lib exec/cc1 (deleted)\nx\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD, "tid name upid"),
		  "0 swapper 0\n70 - 1\n71 a b:c 1\n6 last -\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_EXECUTION_CONTEXT, "ucpu"), "3\n");
	CHECK_INT(import_stat(&fixture, "perf_text_importer_sample_no_frames"), 1);
	CHECK_INT(import_stat(&fixture, "stackprofile_parser_error"), 1);
	import_done(&fixture);
}

static void write_pair(struct orma_proto_writer *writer, uint32_t field, uint64_t one, uint64_t two)
{
	struct orma_proto_nested message;
	orma_proto_nested_begin(writer, &message, field);
	orma_proto_write_varint(writer, 1, one);
	orma_proto_write_varint(writer, 2, two);
	orma_proto_nested_end(writer, &message);
}

static void write_sample(struct orma_proto_writer *writer, const uint8_t *locations, size_t count,
			 uint8_t samples, uint8_t ns)
{
	const uint8_t values[] = {samples, ns};
	struct orma_proto_nested message;
	orma_proto_nested_begin(writer, &message, 2);
	orma_proto_write_bytes(writer, 1, locations, count);
	orma_proto_write_bytes(writer, 2, values, sizeof(values));
	orma_proto_nested_end(writer, &message);
}

static void write_location(struct orma_proto_writer *writer, uint64_t id, uint64_t address,
			   uint64_t inner, uint64_t outer)
{
	struct orma_proto_nested message;
	orma_proto_nested_begin(writer, &message, 4);
	orma_proto_write_varint(writer, 1, id);
	orma_proto_write_varint(writer, 2, 1);
	orma_proto_write_varint(writer, 3, address);
	if (inner)
		write_pair(writer, 4, inner, 3);
	write_pair(writer, 4, outer, 9);
	orma_proto_nested_end(writer, &message);
}

static void write_names(struct orma_proto_writer *writer)
{
	static const char *const strings[] = {"",        "samples", "count", "cpu", "nanoseconds",
					      "main",    "work",    "inner", "a.c", "/bin/prog",
					      "0123abcd"};
	struct orma_proto_nested message;
	orma_proto_nested_begin(writer, &message, 3);
	orma_proto_write_varint(writer, 1, 1);
	orma_proto_write_varint(writer, 2, 0x1000);
	orma_proto_write_varint(writer, 3, 0x2000);
	orma_proto_write_varint(writer, 4, 0x10);
	orma_proto_write_varint(writer, 5, 9);
	orma_proto_write_varint(writer, 6, 10);
	orma_proto_nested_end(writer, &message);
	for (uint64_t id = 1; id <= 3; id++) {
		orma_proto_nested_begin(writer, &message, 5);
		orma_proto_write_varint(writer, 1, id);
		orma_proto_write_varint(writer, 2, id + 4);
		orma_proto_write_varint(writer, 4, 8);
		orma_proto_nested_end(writer, &message);
	}
	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++)
		orma_proto_write_string(writer, 6, strings[i]);
}

static void write_profile(struct orma_buf *ret)
{
	static const uint8_t both[] = {2, 1}, unknown[] = {9};
	struct orma_proto_heap_writer writer;
	orma_proto_heap_writer_init(&writer, ret);
	write_pair(&writer.writer, 1, 1, 2);
	write_pair(&writer.writer, 1, 3, 4);
	write_sample(&writer.writer, both, sizeof(both), 5, 100);
	write_sample(&writer.writer, both + 1, 1, 1, 20);
	write_sample(&writer.writer, unknown, sizeof(unknown), 1, 1);
	write_location(&writer.writer, 1, 0x1100, 0, 1);
	write_location(&writer.writer, 2, 0x1200, 3, 2);
	write_names(&writer.writer);
	CHECK_INT(orma_proto_heap_writer_finish(&writer), 0);
}

ORMA_TEST(profiles_of_pprof_have_several_weights_and_inlined_functions)
{
	struct orma_buf profile = {0};
	write_profile(&profile);
	CHECK_INT(convert_bytes(&fixture, profile.data, profile.size, NULL), 1);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROFILER_SAMPLE, "ts source callsite_id"),
		  "0 pprof 2\n0 pprof 0\n0 pprof -\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_FRAME, "name rel_pc mapping"),
		  "main 272 0\nwork 528 0\ninner 528 0\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_SYMBOL, "name source_file line_number"),
		  "main a.c 9\nwork a.c 9\ninner a.c 3\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_MAPPING,
			      "build_id exact_offset start end name"),
		  "0123abcd 16 4096 8192 /bin/prog\n");
	CHECK_STR(import_counters(&fixture), "samples: 5 1 1\ncpu: 100 20 1\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACK, "name counter_unit"),
		  "samples count\ncpu ns\n");
	CHECK_INT(import_stat(&fixture, "stackprofile_invalid_frame_id"), 1);
	import_done(&fixture);
	orma_base_buf_done(&profile);
}

ORMA_TEST(of_a_profile_that_is_cut_the_rest_is_shown)
{
	struct orma_buf profile = {0};
	struct orma_error error = {0};
	write_profile(&profile);
	CHECK_INT(convert_bytes(&fixture, profile.data, profile.size - 4, &error), -EBADMSG);
	CHECK_STR(error.message, "the profile is cut or damaged");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STACK_FRAME, "name"), "main\nwork\ninner\n");
	import_done(&fixture);
	orma_base_buf_done(&profile);
}
