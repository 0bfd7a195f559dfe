/* SPDX-License-Identifier: Apache-2.0
 * heap_probe_test.c - records of a made-up process become a trace, which the engine reads.
 */
#include <unistd.h>

#include "heap_fixture.h"
#include "proto/reader.h"
#include "unit/trace/import_fixture.h"

static struct heap_fixture fixture;
static struct import_fixture trace;

/* A copy of what the output has, as stacks wait for the end of it. */
static void read_trace(void)
{
	import_bytes(&trace, fixture.trace.data, fixture.trace.size);
	CHECK_INT(trace.result, 0);
	CHECK_INT(import_stat(&trace, "heapprofd_missing_packet"), 0);
	CHECK_INT(import_stat(&trace, "stackprofile_invalid_callstack_id"), 0);
	CHECK_INT(import_stat(&trace, "stackprofile_invalid_frame_id"), 0);
	CHECK_INT(import_stat(&trace, "stackprofile_invalid_mapping_id"), 0);
	CHECK_INT(import_stat(&trace, "stackprofile_invalid_string_id"), 0);
	CHECK_INT(import_stat(&trace, "interned_data_tokenizer_errors"), 0);
}

static const char *allocations(void)
{
	return import_rows(&trace, ORMA_TABLE_HEAP_ALLOCATION,
			   "ts heap_name callsite_id count size");
}

static const uint64_t inner[] = {0x1001, 0x2002, 0x3003};
static const uint64_t outer[] = {0x2002, 0x3003};

static void sample(uint64_t serial, uint64_t size, const uint64_t *pcs, size_t count)
{
	heap_tell_sample(&fixture, &(struct heap_sample){.serial = serial,
							 .heap_id = 1,
							 .size = size,
							 .points = 1,
							 .timestamp_ns = 500,
							 .pcs = pcs,
							 .pc_count = count});
}

ORMA_TEST(totals_of_each_stack_are_in_the_trace)
{
	heap_begin(&fixture);
	heap_tell_heap(&fixture, 1, "libc.malloc", 1);
	sample(1, 100, inner, 3);
	sample(2, 50, inner, 3);
	sample(3, 7, outer, 2);
	heap_tell_free(&fixture, 2);
	heap_dump(&fixture, 1000, 0);
	read_trace();
	CHECK_STR(allocations(), "1000 libc.malloc 2 2 150\n1000 libc.malloc 2 -1 -50\n"
				 "1000 libc.malloc 1 1 7\n");
	CHECK_STR(import_rows(&trace, ORMA_TABLE_HEAP_PROFILE, "ts ts_end heap_name"),
		  "500 1000 libc.malloc\n");
	import_done(&trace);
	heap_end(&fixture);
}

ORMA_TEST(a_dump_has_what_changed_since_the_last_one_and_a_new_state_has_everything)
{
	heap_begin(&fixture);
	heap_tell_heap(&fixture, 1, "libc.malloc", 1);
	sample(1, 100, inner, 3);
	heap_dump(&fixture, 1000, 0);
	sample(2, 7, outer, 2);
	heap_dump(&fixture, 2000, 0);
	orma_heap_output_clear(&fixture.output);
	heap_tell_free(&fixture, 1);
	heap_dump(&fixture, 3000, 0);
	read_trace();
	CHECK_STR(allocations(), "1000 libc.malloc 2 1 100\n2000 libc.malloc 1 1 7\n"
				 "3000 libc.malloc 2 -1 -100\n");
	CHECK(import_stat(&trace, "heapprofd_malformed_packet") <= 0);
	import_done(&trace);
	heap_end(&fixture);
}

ORMA_TEST(a_free_may_come_before_its_sample)
{
	heap_begin(&fixture);
	heap_tell_heap(&fixture, 1, "libc.malloc", 1);
	heap_tell_free(&fixture, 1);
	orma_heap_processes_settle(&fixture.tracker);
	sample(1, 100, inner, 3);
	heap_dump(&fixture, 1000, 0);
	read_trace();
	CHECK_STR(allocations(), "1000 libc.malloc 2 1 100\n1000 libc.malloc 2 -1 -100\n");
	import_done(&trace);
	heap_end(&fixture);
}

ORMA_TEST(a_sample_waits_for_its_maps_and_its_heap)
{
	uint64_t pcs[] = {(uint64_t)(uintptr_t)&orma_heap_output_clear};
	heap_begin(&fixture);
	heap_tell_sample(&fixture, &(struct heap_sample){.serial = 1,
							 .heap_id = 1,
							 .size = 100,
							 .generation = 1,
							 .pcs = pcs,
							 .pc_count = 1});
	heap_tell_own_maps(&fixture, 1);
	heap_tell_heap(&fixture, 1, "libc.malloc", 1);
	heap_dump(&fixture, 1000, 0);
	read_trace();
	CHECK_STR(allocations(), "1000 libc.malloc 0 1 100\n");
	/* The path of this program, and its build id. */
	const char *rows = import_rows(&trace, ORMA_TABLE_STACK_MAPPING, "name");
	CHECK(strstr(rows, "heap_probe_test"));
	import_done(&trace);
	heap_end(&fixture);
}

ORMA_TEST(two_heaps_never_share_a_stack)
{
	heap_begin(&fixture);
	heap_tell_heap(&fixture, 1, "libc.malloc", 1);
	heap_tell_heap(&fixture, 2, "arena", 1);
	sample(1, 100, inner, 3);
	heap_tell_sample(&fixture, &(struct heap_sample){.serial = 2,
							 .heap_id = 2,
							 .size = 30,
							 .points = 1,
							 .pcs = inner,
							 .pc_count = 3});
	heap_dump(&fixture, 1000, 0);
	read_trace();
	CHECK_STR(allocations(), "1000 libc.malloc 2 1 100\n1000 arena 3 1 30\n");
	CHECK(strstr(import_rows(&trace, ORMA_TABLE_STACK_FRAME, "name"), "[heap arena]\n"));
	import_done(&trace);
	heap_end(&fixture);
}

ORMA_TEST(the_largest_heap_is_dumped)
{
	fixture.config.dumps_at_max = true;
	heap_begin(&fixture);
	heap_tell_heap(&fixture, 1, "libc.malloc", 1);
	sample(1, 100, inner, 3);
	sample(2, 50, outer, 2);
	heap_tell_free(&fixture, 1);
	sample(3, 40, outer, 2);
	heap_dump(&fixture, 9000, ORMA_HEAP_DUMP_MAX);
	read_trace();
	CHECK_STR(allocations(), "500 libc.malloc 2 1 100\n500 libc.malloc 1 1 50\n");
	import_done(&trace);
	heap_end(&fixture);
}

ORMA_TEST(a_dump_of_many_sites_is_split)
{
	enum { SITES = 60000 };
	uint64_t bytes = 0;
	heap_begin(&fixture);
	heap_tell_heap(&fixture, 1, "libc.malloc", 1);
	for (uint64_t i = 1; i <= SITES; i++) {
		uint64_t pcs[] = {i << 8, 0x3003};
		sample(i, i, pcs, 2);
		bytes += i;
	}
	heap_dump(&fixture, 1000, 0);
	CHECK(fixture.output.next_index > 3);
	import_bytes(&trace, fixture.trace.data, fixture.trace.size);
	CHECK_INT(trace.result, 0);
	CHECK_INT(import_stat(&trace, "heapprofd_missing_packet"), 0);
	const struct orma_table *table = &trace.tables.all[ORMA_TABLE_HEAP_ALLOCATION];
	CHECK_INT(orma_store_table_rows(table), SITES);
	uint64_t sum = 0;
	for (uint64_t row = 0; row < SITES; row++)
		sum += (uint64_t)orma_store_column_get(&table->columns[ORMA_HEAP_ALLOCATION_SIZE],
						       row);
	CHECK_INT(sum, bytes);
	import_done(&trace);
	heap_end(&fixture);
}

ORMA_TEST(counters_show_live_bytes_and_the_rate)
{
	heap_begin(&fixture);
	heap_tell_heap(&fixture, 1, "libc.malloc", 1);
	sample(1, 100, inner, 3);
	sample(2, 50, outer, 2);
	heap_tell_free(&fixture, 1);
	struct orma_heap_process *process =
		orma_base_map_get(&fixture.tracker.processes, (uint32_t)fixture.pid);
	CHECK(process);
	orma_heap_output_counters(&fixture.output, process, 500000000);
	read_trace();
	const char *counters = import_counters(&trace);
	CHECK(strstr(counters, "libc.malloc: live: 50\n"));
	CHECK(strstr(counters, "libc.malloc: allocated per s: 300\n"));
	import_done(&trace);
	heap_end(&fixture);
}

static const char *names(void)
{
	import_bytes(&trace, fixture.trace.data, fixture.trace.size);
	CHECK_INT(trace.result, 0);
	return import_rows(&trace, ORMA_TABLE_PROCESS, "pid name uid cmdline");
}

static size_t process_trees(void)
{
	struct orma_proto_reader packets, fields;
	struct orma_proto_field packet, field;
	size_t count = 0;

	orma_proto_reader_init(&packets, fixture.trace.data, fixture.trace.size);
	while (orma_proto_reader_next(&packets, &packet) > 0) {
		orma_proto_reader_init(&fields, packet.bytes.data, packet.bytes.size);
		while (orma_proto_reader_next(&fields, &field) > 0)
			count += field.id == ORMA_PB_TRACE_PACKET_PROCESS_TREE;
	}
	return count;
}

ORMA_TEST(a_process_has_a_name_once_in_each_state)
{
	static const char *const arguments[] = {"/usr/bin/app", "--quick", "", NULL};

	heap_begin(&fixture);
	fixture.pid = 4711;
	heap_tell_process(&fixture, 4711, 4700, arguments);
	heap_tell_heap(&fixture, 1, "libc.malloc", 1);
	sample(1, 100, inner, 3);
	heap_dump(&fixture, 1000, 0);
	heap_dump(&fixture, 2000, 0);
	CHECK_INT(process_trees(), 1);
	orma_heap_output_clear(&fixture.output);
	heap_dump(&fixture, 3000, 0);
	CHECK_INT(process_trees(), 2);
	CHECK(strstr(names(), "4711 /usr/bin/app - /usr/bin/app --quick"));
	import_done(&trace);
	heap_end(&fixture);
}

ORMA_TEST(a_name_has_a_limit_and_may_be_missing)
{
	static char long_argument[3 * ORMA_HEAP_COMMAND_BYTES];
	const char *const arguments[] = {long_argument, "rest", NULL};
	static const char *const none[] = {NULL};

	heap_begin(&fixture);
	fixture.pid = 4711;
	heap_tell_process(&fixture, 1, 1, none);
	heap_tell_heap(&fixture, 1, "libc.malloc", 1);
	sample(1, 100, inner, 3);
	heap_dump(&fixture, 1000, 0);
	CHECK_INT(process_trees(), 0);
	memset(long_argument, 'x', sizeof(long_argument) - 1);
	heap_tell_process(&fixture, 1, 1, arguments);
	heap_dump(&fixture, 2000, 0);
	CHECK_INT(process_trees(), 1);
	const char *row = strchr(names(), 'x');
	CHECK(row && strspn(row, "x") == ORMA_HEAP_COMMAND_BYTES - 1);
	import_done(&trace);
	heap_end(&fixture);
}

ORMA_TEST(malformed_records_are_counted)
{
	heap_begin(&fixture);
	heap_tell_heap(&fixture, 0, "x", 1);
	heap_tell_heap(&fixture, 257, "x", 1);
	sample(0, 1, inner, 3);
	sample(1, UINT64_MAX, inner, 3);
	sample(1, 5, inner, 3);
	heap_tell_free(&fixture, 0);
	heap_tell_free(&fixture, 77);
	heap_tell_free(&fixture, 77);
	heap_tell_maps(&fixture, 1, 3, true, ORMA_STR("no maps"));
	heap_tell_maps(&fixture, 2, 0, true, ORMA_STR("no maps"));
	struct orma_heap_process *process =
		orma_base_map_get(&fixture.tracker.processes, (uint32_t)fixture.pid);
	CHECK_INT(process->faults.bad_records, 7);
	heap_dump(&fixture, 1000, 0);
	heap_dump(&fixture, 2000, 0);
	CHECK_INT(process->faults.orphaned_frees, 1);
	import_bytes(&trace, fixture.trace.data, fixture.trace.size);
	CHECK_INT(trace.result, 0);
	import_done(&trace);
	heap_end(&fixture);
}

static void tell_end(uint64_t samples_written)
{
	struct heap_packet packet;
	struct orma_proto_writer *writer = heap_packet_begin(&packet, RECORD(LOST));

	orma_proto_write_varint(writer, RECORD(LOST_SAMPLES_WRITTEN), samples_written);
	heap_packet_end(&packet, &fixture);
	(void)heap_packet_begin(&packet, RECORD(BYE));
	heap_packet_end(&packet, &fixture);
}

ORMA_TEST(samples_that_were_written_and_have_not_come_are_lost)
{
	heap_begin(&fixture);
	heap_tell_heap(&fixture, 1, "libc.malloc", 1);
	sample(1, 100, inner, 3);
	sample(2, 50, outer, 2);
	struct orma_heap_process *process =
		orma_base_map_get(&fixture.tracker.processes, (uint32_t)fixture.pid);
	CHECK(process);
	tell_end(2);
	process->has_ended = true;
	CHECK(!orma_heap_process_has_overrun(process));
	tell_end(3);
	CHECK(orma_heap_process_has_overrun(process));
	/* Before the flush that follows its end, the others may still come. */
	process->has_ended = false;
	CHECK(!orma_heap_process_has_overrun(process));
	heap_end(&fixture);
}

ORMA_TEST(limits_bound_what_a_process_can_make_grow)
{
	uint64_t pcs[2000];
	heap_begin(&fixture);
	heap_tell_heap(&fixture, 1, "libc.malloc", 1);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(pcs); i++)
		pcs[i] = i << 4;
	sample(1, 10, pcs, ORMA_ARRAY_SIZE(pcs));
	struct orma_heap_process *process =
		orma_base_map_get(&fixture.tracker.processes, (uint32_t)fixture.pid);
	CHECK_INT(process->stacks.nodes.count, ORMA_HEAP_STACK_FRAMES_MAX + 1);
	for (uint64_t i = 2; i <= ORMA_HEAP_SITES_MAX + 10; i++) {
		uint64_t pc = i << 12;
		sample(i, 1, &pc, 1);
	}
	CHECK_INT(process->stacks.sites.count, ORMA_HEAP_SITES_MAX);
	CHECK_INT(process->faults.lost_samples, 10);
	CHECK(process->faults.is_full);
	uint64_t known = 2 << 12;
	for (uint64_t i = 0; i < ORMA_HEAP_LIVE_MAX; i++)
		sample(ORMA_HEAP_SITES_MAX + 100 + i, 1, &known, 1);
	CHECK_INT(process->live.count, ORMA_HEAP_LIVE_MAX);
	heap_end(&fixture);
}

ORMA_TEST(a_new_program_in_the_same_process_has_totals_of_its_own)
{
	struct heap_packet packet;
	heap_begin(&fixture);
	heap_tell_heap(&fixture, 1, "libc.malloc", 1);
	sample(1, 100, inner, 3);
	(void)heap_packet_begin(&packet, RECORD(BYE));
	heap_packet_end(&packet, &fixture);
	(void)heap_packet_begin(&packet, RECORD(PROCESS));
	heap_packet_end(&packet, &fixture);
	heap_tell_heap(&fixture, 1, "libc.malloc", 1);
	sample(1, 7, inner, 3);
	CHECK_INT(fixture.tracker.ended.count, 1);
	heap_dump(&fixture, 1000, 0);
	read_trace();
	CHECK_STR(allocations(), "1000 libc.malloc 2 1 100\n1000 libc.malloc 2 1 7\n");
	import_done(&trace);
	heap_end(&fixture);
}

/* A busy process can write more samples than the profiler keeps before its thread has sent the maps after a dlopen(). */
ORMA_TEST(samples_that_wait_too_long_for_their_maps_are_not_lost)
{
	enum { SAMPLES = 3000, FRAMES = 900 }; /* 21 MiB */
	uint64_t pcs[FRAMES];

	for (size_t i = 0; i < FRAMES; i++)
		pcs[i] = inner[i % 3];
	heap_begin(&fixture);
	heap_tell_own_maps(&fixture, 1);
	heap_tell_heap(&fixture, 1, "libc.malloc", 1);
	for (uint64_t i = 1; i <= SAMPLES; i++)
		heap_tell_sample(&fixture, &(struct heap_sample){.serial = i,
								 .heap_id = 1,
								 .size = 10,
								 .generation = 2,
								 .pcs = pcs,
								 .pc_count = FRAMES});
	orma_heap_processes_settle(&fixture.tracker);
	struct orma_heap_process *process =
		orma_base_map_get(&fixture.tracker.processes, (uint32_t)fixture.pid);
	CHECK_INT(process->faults.lost_samples, 0);
	CHECK_INT(process->heaps[1]->totals.count, SAMPLES);
	CHECK(!orma_heap_process_has_overrun(process));
	heap_end(&fixture);
}

static void tell_process(bool is_from_startup, uint64_t program_start_ns)
{
	struct heap_packet packet;
	struct orma_proto_writer *writer = heap_packet_begin(&packet, RECORD(PROCESS));

	orma_proto_write_bool(writer, RECORD(PROCESS_IS_FROM_STARTUP), is_from_startup);
	orma_proto_write_varint(writer, RECORD(PROCESS_PROGRAM_START_NS), program_start_ns);
	heap_packet_end(&packet, &fixture);
}

ORMA_TEST(a_program_that_replaces_another_without_goodbye_damages_nothing)
{
	heap_begin(&fixture);
	for (unsigned i = 0; i < 3; i++) {
		tell_process(true, 100 + i);
		heap_tell_heap(&fixture, 1, "libc.malloc", 1);
		sample(1, 100 + i, inner, 3);
		/* A connection that was lost and made again begins no program. */
		tell_process(false, 100 + i);
		/* The maps of this one never come. */
		heap_tell_sample(&fixture, &(struct heap_sample){.serial = 2,
								 .heap_id = 1,
								 .size = 1000,
								 .generation = 9,
								 .pcs = inner,
								 .pc_count = 3});
	}
	CHECK_INT(fixture.tracker.ended.count, 2);
	orma_heap_processes_settle(&fixture.tracker);
	heap_dump(&fixture, 1000, 0);
	read_trace();
	/* Memory of the programs that were replaced is gone. */
	CHECK_STR(allocations(), "1000 libc.malloc 2 2 1100\n1000 libc.malloc 2 -2 -1100\n"
				 "1000 libc.malloc 2 2 1101\n1000 libc.malloc 2 -2 -1101\n"
				 "1000 libc.malloc 2 2 1102\n");
	struct orma_heap_process *process =
		orma_base_map_get(&fixture.tracker.processes, (uint32_t)fixture.pid);
	CHECK_INT(process->faults.bad_records, 0);
	import_done(&trace);
	heap_end(&fixture);
}

ORMA_TEST(a_program_that_replaces_another_and_connects_late_has_totals_of_its_own)
{
	heap_begin(&fixture);
	for (unsigned i = 0; i < 2; i++) {
		tell_process(false, 100 + i);
		heap_tell_heap(&fixture, 1, "libc.malloc", 1);
		sample(1, 100 + i, inner, 3);
		tell_process(false, 100 + i);
		sample(2, 200 + i, inner, 3);
	}
	CHECK_INT(fixture.tracker.ended.count, 1);
	heap_dump(&fixture, 1000, 0);
	read_trace();
	/* The memory of the first is gone. */
	CHECK_STR(allocations(), "1000 libc.malloc 2 2 300\n1000 libc.malloc 2 -2 -300\n"
				 "1000 libc.malloc 2 2 302\n");
	CHECK(import_stat(&trace, "heapprofd_buffer_corrupted") <= 0);
	CHECK(import_stat(&trace, "heapprofd_reconnected") > 0);
	import_done(&trace);
	heap_end(&fixture);
}

ORMA_TEST(the_trace_names_processes_that_were_cut_off_and_bytes_that_were_not_seen)
{
	struct heap_packet packet;
	heap_begin(&fixture);
	sample(1, 100, inner, 3);
	struct orma_heap_process *process =
		orma_base_map_get(&fixture.tracker.processes, (uint32_t)fixture.pid);
	process->has_ended = true;
	/* Nothing of its only thread can be missing. */
	CHECK(!orma_heap_process_was_cut_off(process));
	fixture.writer++;
	sample(2, 100, inner, 3);
	process->has_said_bye = true;
	CHECK(!orma_heap_process_was_cut_off(process));
	process->has_said_bye = false;
	CHECK(orma_heap_process_was_cut_off(process));
	struct orma_proto_writer *writer = heap_packet_begin(&packet, RECORD(LOST));
	orma_proto_write_varint(writer, RECORD(LOST_UNSEEN_BYTES), 12345);
	heap_packet_end(&packet, &fixture);
	/* The dump frees the process. */
	heap_dump(&fixture, 1000, 0);
	read_trace();
	CHECK(import_stat(&trace, "heapprofd_ended_abruptly") > 0);
	CHECK(import_stat(&trace, "heapprofd_reconnected") <= 0);
	CHECK_INT(import_stat(&trace, "heapprofd_unseen_bytes"), 12345);
	CHECK(import_stat(&trace, "heapprofd_buffer_overran") <= 0);
	import_done(&trace);
	heap_end(&fixture);
}

ORMA_TEST(a_sample_stands_for_its_size_by_its_probability)
{
	CHECK_INT(orma_heap_weigh(100, 1), 100);
	CHECK_INT(orma_heap_weigh(0, 4096), 0);
	/* Small blocks stand for the interval, large ones for themselves. */
	CHECK_INT(orma_heap_weigh(1, 4096), 4097);
	CHECK_INT(orma_heap_weigh(4096, 4096), 6480);
	CHECK_INT(orma_heap_weigh(1 << 20, 4096), 1 << 20);
}
