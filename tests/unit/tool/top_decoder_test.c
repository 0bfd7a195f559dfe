/* SPDX-License-Identifier: Apache-2.0
 * top_decoder_test.c - packets as text, and the figures of rows that they become.
 */
#include "tool/top/top_decoder.h"

#include "harness.h"
#include "schema/gen/trace.pb.h"
#include "tool/top/top_table.h"

/* The state of a sequence: names 1 "outer", 2 "inner", category 1 "cat", a thread's track. */
#define BEGIN                                                                                      \
	"packet { trusted_packet_sequence_id: 5 trusted_pid: 10 sequence_flags: 1 "                \
	"  first_packet_on_sequence: true previous_packet_dropped: 1 "                             \
	"  trace_packet_defaults { timestamp_clock_id: 6 track_event_defaults { track_uuid: 77 } " \
	"} "                                                                                       \
	"  interned_data { event_names { iid: 1 name: 'outer' } event_names { iid: 2 name: "       \
	"'inner' } "                                                                               \
	"    event_categories { iid: 1 name: 'cat' } } "                                           \
	"  track_descriptor { uuid: 77 parent_uuid: 70 thread { pid: 10 tid: 11 "                  \
	"    thread_name: 'worker' } } } "                                                         \
	"packet { trusted_packet_sequence_id: 5 trusted_pid: 10 "                                  \
	"  track_descriptor { uuid: 70 process { pid: 10 process_name: '/usr/bin/server' } } } "
#define EVENT(ns, fields)                                                                          \
	"packet { trusted_packet_sequence_id: 5 trusted_pid: 10 sequence_flags: 2 timestamp: " #ns \
	" track_event { " fields " } } "
#define SLICE(ns, iid) EVENT(ns, "type: TYPE_SLICE_BEGIN name_iid: " #iid " category_iids: 1")
#define END(ns)        EVENT(ns, "type: TYPE_SLICE_END")

static void feed(struct orma_top_decoder *decoder, const char *text)
{
	struct orma_arena arena = {0};
	struct orma_pb_trace *trace;
	struct orma_error error = {0};
	if (orma_proto_text_parse(&orma_pb_trace_desc, "trace", text, strlen(text), 0, &arena,
				  &trace, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	for (size_t i = 0; i < trace->packet.count; i++) {
		struct orma_buf bytes = {0};
		CHECK_INT(orma_proto_encode(trace->packet.items[i], &bytes), 0);
		orma_top_decoder_take(decoder, bytes.data, bytes.size);
		orma_base_buf_done(&bytes);
	}
	orma_base_arena_done(&arena);
}

static void start(struct orma_top_decoder *decoder, enum orma_top_by by)
{
	CHECK_INT(orma_top_decoder_init(decoder, by, 99), 0);
}

/* Returns "name events count/sum of durations self lost" for each row, in the order of names. */
static const char *rows_of(struct orma_top_decoder *decoder)
{
	static char text[4096];
	struct orma_top_table table = {0};
	const struct orma_top_choice choice = {.by = decoder->by, .sort = ORMA_TOP_COLUMN_NAME};
	size_t size = 0;
	text[0] = 0;
	CHECK_INT(orma_top_table_make(&table, decoder, &choice, 1), 0);
	for (size_t i = 0; i < table.count; i++) {
		const struct orma_top_row *row = table.cells[i].row;
		const struct orma_top_histogram *values =
			row->values ? &row->values->last : &(struct orma_top_histogram){0};
		size += (size_t)snprintf(text + size, sizeof(text) - size,
					 "%s %llu %llu/%.0f %.0f %llu\n", row->name,
					 (unsigned long long)row->last.events,
					 (unsigned long long)values->count, values->sum,
					 row->last.self_ns, (unsigned long long)row->last.lost);
	}
	orma_top_table_done(&table);
	return text;
}

static void expect(enum orma_top_by by, const char *packets, const char *rows)
{
	struct orma_top_decoder decoder;
	start(&decoder, by);
	feed(&decoder, packets);
	orma_top_decoder_end_interval(&decoder);
	CHECK_STR(rows_of(&decoder), rows);
	CHECK_INT(decoder.last.undecoded, 0);
	orma_top_decoder_done(&decoder);
}

#define TWO_SLICES BEGIN SLICE(1000, 1) SLICE(1100, 2) END(1400) END(2000)

ORMA_TEST(slices_are_counted_by_name_with_their_own_time)
{
	expect(ORMA_TOP_BY_NAME, TWO_SLICES EVENT(2100, "type: TYPE_INSTANT name: 'now'"),
	       "inner 1 1/300 300 0\nnow 1 0/0 0 0\nouter 1 1/1000 700 0\n");
}

ORMA_TEST(slices_are_counted_by_category_thread_and_producer)
{
	expect(ORMA_TOP_BY_CATEGORY, TWO_SLICES, "cat 2 2/1300 1000 0\n");
	expect(ORMA_TOP_BY_THREAD, TWO_SLICES, "server/worker 11 2 2/1300 1000 0\n");
	expect(ORMA_TOP_BY_PRODUCER, TWO_SLICES, "server 10 2 2/1300 1000 0\n");
	expect(ORMA_TOP_BY_COUNTER, TWO_SLICES, "");
}

ORMA_TEST(the_time_of_an_open_slice_counts_while_it_lasts)
{
	struct orma_top_decoder decoder;
	start(&decoder, ORMA_TOP_BY_NAME);
	feed(&decoder, BEGIN SLICE(1000, 1) SLICE(5000, 2) END(5500));
	orma_top_decoder_end_interval(&decoder);
	CHECK_STR(rows_of(&decoder), "inner 1 1/500 500 0\nouter 0 0/0 4000 0\n");
	feed(&decoder, END(9000));
	orma_top_decoder_end_interval(&decoder);
	CHECK_STR(rows_of(&decoder), "inner 0 0/0 0 0\nouter 1 1/8000 3500 0\n");
	orma_top_decoder_done(&decoder);
}

ORMA_TEST(incremental_clocks_are_followed)
{
	expect(ORMA_TOP_BY_NAME,
	       "packet { trusted_packet_sequence_id: 5 sequence_flags: 1 timestamp: 9000 "
	       "  trace_packet_defaults { timestamp_clock_id: 64 } "
	       "  interned_data { event_names { iid: 1 name: 'outer' } } "
	       "  clock_snapshot { clocks { clock_id: 6 timestamp: 9000 } "
	       "    clocks { clock_id: 64 timestamp: 9 unit_multiplier_ns: 1000 "
	       "      is_incremental: true } } }" SLICE(5, 1) END(7),
	       "outer 1 1/7000 7000 0\n");
}

ORMA_TEST(counters_have_values)
{
	struct orma_top_decoder decoder;
	start(&decoder, ORMA_TOP_BY_COUNTER);
	feed(&decoder, BEGIN
	     "packet { trusted_packet_sequence_id: 5 trusted_pid: 10 track_descriptor { "
	     "  uuid: 90 parent_uuid: 70 name: 'queue' counter { unit_multiplier: 10 } } } "
	     "packet { trusted_packet_sequence_id: 5 trusted_pid: 10 track_descriptor { "
	     "  uuid: 91 name: 'sum' counter { is_incremental: true } } } " EVENT(
		     1000, "type: TYPE_COUNTER track_uuid: 90 counter_value: 7")
		     EVENT(1001, "type: TYPE_COUNTER track_uuid: 90 counter_value: -3") EVENT(
			     1002, "type: TYPE_COUNTER track_uuid: 91 counter_value: 4")
			     EVENT(1003,
				   "type: TYPE_COUNTER track_uuid: 91 double_counter_value: 0.5"));
	orma_top_decoder_end_interval(&decoder);
	CHECK_STR(rows_of(&decoder),
		  "queue (server 10) 2 2/70000 0 0\nsum (server 10) 2 2/8500 0 0\n");
	const struct orma_top_row *queue =
		orma_top_rows_find(&decoder.rows, ORMA_STR("queue (server 10)"));
	const struct orma_top_row *sum =
		orma_top_rows_find(&decoder.rows, ORMA_STR("sum (server 10)"));
	CHECK(queue->last.last_value == -30);
	CHECK(sum->last.last_value == 4.5);
	orma_top_decoder_done(&decoder);
}

ORMA_TEST(events_of_the_older_kind_are_counted)
{
	expect(ORMA_TOP_BY_NAME,
	       BEGIN EVENT(1000, "legacy_event { phase: 66 name_iid: 1 }")
		       EVENT(1500, "legacy_event { phase: 69 }")
			       EVENT(2000, "legacy_event { phase: 88 name_iid: 2 duration_us: 3 }")
				       EVENT(6000, "name: 'mark' legacy_event { phase: 73 }") EVENT(
					       6000, "name: 'other' legacy_event { phase: 98 }"),
	       "inner 1 1/3000 3000 0\nmark 1 0/0 0 0\nouter 1 1/500 500 0\n");
}

ORMA_TEST(scheduling_is_counted_by_cpu)
{
	expect(ORMA_TOP_BY_CPU,
	       "packet { trusted_packet_sequence_id: 9 ftrace_events { cpu: 3 compact_sched { "
	       "  intern_table: 'a' intern_table: 'swapper' "
	       "  switch_timestamp: 1000 switch_timestamp: 200 switch_timestamp: 100 "
	       "  switch_prev_state: 1 switch_prev_state: 1 switch_prev_state: 0 "
	       "  switch_next_pid: 10 switch_next_pid: 0 switch_next_pid: 10 "
	       "  switch_next_prio: 120 switch_next_prio: 120 switch_next_prio: 120 "
	       "  switch_next_comm_index: 0 switch_next_comm_index: 1 switch_next_comm_index: 0 } "
	       "} }",
	       "CPU 3 3 1/200 200 0\n");
}

ORMA_TEST(after_a_loss_open_slices_are_lost_and_events_are_not_decoded_until_the_state_is_there)
{
	struct orma_top_decoder decoder;
	start(&decoder, ORMA_TOP_BY_NAME);
	feed(&decoder,
	     BEGIN SLICE(1000,
			 1) "packet { trusted_packet_sequence_id: 5 trusted_pid: 10 "
			    "  sequence_flags: 2 timestamp: 1200 previous_packet_dropped: 257 "
			    "  track_event { type: TYPE_SLICE_BEGIN name_iid: 2 } }" END(1300)
				    BEGIN SLICE(2000, 2) END(2100));
	orma_top_decoder_end_interval(&decoder);
	CHECK_STR(rows_of(&decoder), "inner 1 1/100 100 0\nouter 0 0/0 0 1\n");
	CHECK_INT(decoder.last.undecoded, 2);
	CHECK_INT(decoder.last.losses[ORMA_TOOL_GAP_FULL], 1);
	const struct orma_top_producer *producer = orma_base_map_get(&decoder.producers, 11);
	CHECK(producer);
	CHECK_INT(producer->last.losses[ORMA_TOOL_GAP_FULL], 1);
	CHECK_INT(producer->last.packets, 9);
	orma_top_decoder_done(&decoder);
}

ORMA_TEST(other_rows_begin_without_what_is_open)
{
	struct orma_top_decoder decoder;
	start(&decoder, ORMA_TOP_BY_NAME);
	feed(&decoder, BEGIN SLICE(1000, 1));
	CHECK_INT(orma_top_decoder_set_by(&decoder, ORMA_TOP_BY_THREAD), 0);
	feed(&decoder, END(1300) SLICE(1400, 2) END(1500));
	orma_top_decoder_end_interval(&decoder);
	CHECK_STR(rows_of(&decoder), "server/worker 11 1 1/100 100 0\n");
	orma_top_decoder_zero(&decoder);
	CHECK_STR(rows_of(&decoder), "");
	CHECK_INT(decoder.all.packets, 0);
	orma_top_decoder_done(&decoder);
}

ORMA_TEST(a_deep_stack_ends_where_it_began)
{
	struct orma_top_decoder decoder;
	start(&decoder, ORMA_TOP_BY_NAME);
	feed(&decoder, BEGIN SLICE(1000, 1));
	for (int i = 0; i < ORMA_TOP_DEPTH_MAX + 10; i++)
		feed(&decoder, SLICE(1001, 2));
	for (int i = 0; i < ORMA_TOP_DEPTH_MAX + 10; i++)
		feed(&decoder, END(1002));
	feed(&decoder, END(1010) END(1011));
	orma_top_decoder_end_interval(&decoder);
	CHECK_STR(rows_of(&decoder), "inner 127 127/127 1 0\nouter 1 1/10 9 0\n");
	orma_top_decoder_done(&decoder);
}

ORMA_TEST(what_programs_make_grow_has_a_limit)
{
	struct orma_top_decoder decoder;
	char text[1000];
	start(&decoder, ORMA_TOP_BY_NAME);
	feed(&decoder, BEGIN SLICE(1000, 1));
	for (int i = 0; i < ORMA_TOP_TRACKS_MAX + 100; i++) {
		snprintf(
			text, sizeof(text),
			EVENT(1000, "type: TYPE_SLICE_BEGIN name: 'n' track_uuid: %d") EVENT(
				1001,
				"type: TYPE_SLICE_END track_uuid: %d") "packet { "
								       "trusted_packet_sequence_id:"
								       " %d trusted_pid: %d "
								       "timestamp: 5 "
								       "track_event { type: "
								       "TYPE_INSTANT name: 'i' } }",
			1000 + i, 1000 + i, 1000 + i, 1000 + i);
		feed(&decoder, text);
	}
	CHECK(decoder.tracks.by_uuid.count <= ORMA_TOP_TRACKS_MAX);
	CHECK_INT(decoder.sequences.by_id.count, ORMA_TOP_SEQUENCES_MAX);
	CHECK_INT(decoder.producers.count, ORMA_TOP_PRODUCERS_MAX);
	/* The track with an open slice is still there. */
	feed(&decoder, END(3000));
	for (int i = 0; i <= ORMA_TOP_PAST; i++)
		orma_top_decoder_end_interval(&decoder);
	CHECK_INT(orma_top_rows_find(&decoder.rows, ORMA_STR("outer"))->all.events, 1);
	CHECK_INT(orma_top_rows_find(&decoder.rows, ORMA_STR("n"))->all.events,
		  ORMA_TOP_TRACKS_MAX + 100);
	CHECK(decoder.all.undecoded > 0);
	/* Quiet sequences make room. */
	feed(&decoder, "packet { trusted_packet_sequence_id: 900000 trusted_pid: 10 timestamp: 5 "
		       "track_event { type: TYPE_INSTANT name: 'i' } }");
	CHECK_INT(decoder.sequences.by_id.count, 1);
	CHECK(decoder.producers.count <= 1);
	orma_top_decoder_done(&decoder);
}

ORMA_TEST(interned_data_without_room_makes_its_sequence_unreadable)
{
	struct orma_top_decoder decoder;
	start(&decoder, ORMA_TOP_BY_NAME);
	decoder.sequences.interned_bytes = ORMA_TOP_INTERNED_MAX_BYTES;
	feed(&decoder, BEGIN SLICE(1000, 1));
	CHECK_INT(decoder.sequences.interned_bytes, ORMA_TOP_INTERNED_MAX_BYTES);
	CHECK_INT(decoder.running.undecoded, 2);
	decoder.sequences.interned_bytes = 0;
	feed(&decoder, BEGIN SLICE(1000, 1) END(1001));
	CHECK_INT(decoder.running.undecoded, 2);
	CHECK(decoder.sequences.interned_bytes > 0);
	orma_top_decoder_forget_session(&decoder);
	CHECK_INT(decoder.sequences.interned_bytes, 0);
	orma_top_decoder_done(&decoder);
}

ORMA_TEST(bytes_that_are_no_packets_are_counted)
{
	struct orma_top_decoder decoder;
	start(&decoder, ORMA_TOP_BY_CPU);
	orma_top_decoder_take(&decoder, "\x0a\x7f", 2);
	feed(&decoder, "packet { ftrace_events { cpu: 99999 compact_sched { } } }");
	CHECK_INT(decoder.running.undecoded, 2);
	orma_top_decoder_done(&decoder);
}

ORMA_TEST(without_memory_events_are_not_decoded)
{
	struct orma_arena arena = {0};
	struct orma_pb_trace *trace;
	struct orma_buf packets[16] = {0};
	CHECK_INT(orma_proto_text_parse(&orma_pb_trace_desc, "trace", TWO_SLICES,
					strlen(TWO_SLICES), 0, &arena, &trace, NULL),
		  0);
	for (size_t i = 0; i < trace->packet.count; i++)
		CHECK_INT(orma_proto_encode(trace->packet.items[i], &packets[i]), 0);
	for (uint64_t nth = 1;; nth++) {
		struct orma_top_decoder decoder;
		orma_test_fail_allocation(nth);
		int r = orma_top_decoder_init(&decoder, ORMA_TOP_BY_NAME, 1);
		for (size_t i = 0; r == 0 && i < trace->packet.count; i++)
			orma_top_decoder_take(&decoder, packets[i].data, packets[i].size);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		orma_top_decoder_done(&decoder);
		if (!has_failed)
			break;
	}
	for (size_t i = 0; i < trace->packet.count; i++)
		orma_base_buf_done(&packets[i]);
	orma_base_arena_done(&arena);
}
