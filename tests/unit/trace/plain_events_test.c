/* SPDX-License-Identifier: Apache-2.0
 * plain_events_test.c - plain track events become the same rows on the short way and on the long one, which all events take when
 * the content of packets is counted.
 */
#include <stdio.h>
#include <stdlib.h>

#include "import_fixture.h"

enum { TEXT_MAX = 1 << 20, EVENTS = 600 };

/* Threads, a process, a counter, a merged track, a track without a parent, and sequences that know some of the names. */
static const char begin[] =
	"packet { timestamp: 1 trusted_packet_sequence_id: 1 sequence_flags: 1 "
	"trace_packet_defaults { "
	"track_event_defaults { track_uuid: 10 } } interned_data { event_categories { iid: 1 name: "
	"'cat' } "
	"event_names { iid: 1 name: 'one' } event_names { iid: 2 name: 'two' } "
	"debug_annotation_names { iid: 1 name: 'count' } } } "
	"packet { timestamp: 1 trusted_packet_sequence_id: 2 sequence_flags: 1 interned_data { "
	"event_names { iid: 1 name: 'three' } } thread_descriptor { pid: 7 tid: 9 } } "
	"packet { timestamp: 1 trusted_packet_sequence_id: 3 sequence_flags: 1 interned_data { "
	"event_names { iid: 1 name: 'lossy' } } } "
	"packet { timestamp: 1 trusted_packet_sequence_id: 1 track_descriptor { uuid: 10 "
	"parent_uuid: 12 "
	"thread { pid: 7 tid: 8 } } } "
	"packet { timestamp: 1 trusted_packet_sequence_id: 1 track_descriptor { uuid: 11 "
	"parent_uuid: 12 "
	"name: 'merged' sibling_merge_behavior: SIBLING_MERGE_BEHAVIOR_BY_TRACK_NAME } } "
	"packet { timestamp: 1 trusted_packet_sequence_id: 1 track_descriptor { uuid: 12 process { "
	"pid: 7 } } } "
	"packet { timestamp: 1 trusted_packet_sequence_id: 1 track_descriptor { uuid: 13 name: "
	"'counter' "
	"counter { } } } "
	"packet { timestamp: 1 trusted_packet_sequence_id: 1 track_descriptor { uuid: 14 name: "
	"'alone' "
	"sibling_merge_behavior: SIBLING_MERGE_BEHAVIOR_NONE } } "
	"packet { timestamp: 1 trusted_packet_sequence_id: 1 track_descriptor { uuid: 15 "
	"parent_uuid: 15 } } ";

static uint32_t draw(uint32_t below)
{
	static uint64_t state = 1;
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33) % below;
}

static const char *draw_text(const char *const *texts, size_t count)
{
	return texts[draw((uint32_t)count)];
}

#define DRAW(...)                                                                                  \
	draw_text((const char *const[]){__VA_ARGS__},                                              \
		  sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void write_trace(char *text)
{
	size_t size = (size_t)sprintf(text, "%s", begin);
	for (int i = 0; i < EVENTS; i++) {
		uint32_t sequence = 1 + draw(3);
		const char *loss = sequence == 3 && draw(20) == 0
					   ? "previous_packet_dropped: 1 sequence_flags: 3"
					   : "sequence_flags: 2";
		size += (size_t)snprintf(
			text + size, TEXT_MAX - size,
			"packet { timestamp: %d trusted_packet_sequence_id: %u %s track_event { "
			"type: %s %s %s %s %s } } ",
			100 + i * 10, sequence, loss, DRAW("1", "1", "2", "2", "3", "4", "0"),
			DRAW("", "name_iid: 1", "name_iid: 1", "name_iid: 2", "name_iid: 9",
			     "name: 'x'"),
			DRAW("", "category_iids: 1", "category_iids: 0",
			     "category_iids: 1 category_iids: 1"),
			DRAW("", "", "track_uuid: 10", "track_uuid: 11", "track_uuid: 12",
			     "track_uuid: 13", "track_uuid: 14", "track_uuid: 15", "track_uuid: 0",
			     "track_uuid: 99"),
			DRAW("", "", "debug_annotations { name_iid: 1 int_value: 5 }",
			     "flow_ids: 3"));
	}
}

/* Returns all that becomes of events, as text that the caller frees. */
static char *import(const char *trace, bool is_long)
{
	static const char columns[] = "id ts dur track_id category name depth parent_id arg_set_id "
				      "begin_packet end_packet passed_utid";
	struct import_fixture *fixture = calloc(1, sizeof(*fixture));
	char *ret = calloc(1, TEXT_MAX);
	CHECK(fixture && ret);
	fixture->importer.content.is_wanted = is_long;
	import_text(fixture, trace);
	strcpy(ret, import_rows(fixture, ORMA_TABLE_SLICE, columns));
	strcat(ret, import_rows(fixture, ORMA_TABLE_TRACK, "id name type parent_id"));
	strcat(ret, import_rows(fixture, ORMA_TABLE_FLOW, "slice_out slice_in"));
	for (size_t i = 0; i < ORMA_IMPORT_COUNTS; i++)
		sprintf(ret + strlen(ret), "%llu ",
			(unsigned long long)fixture->importer.counts[i]);
	import_done(fixture);
	free(fixture);
	return ret;
}

ORMA_TEST(plain_events_become_what_they_are_on_the_long_way)
{
	char *text = calloc(1, TEXT_MAX);
	CHECK(text);
	for (int i = 0; i < 20; i++) {
		write_trace(text);
		char *short_rows = import(text, false), *long_rows = import(text, true);
		CHECK_STR(short_rows, long_rows);
		/* Some of each kind are there. */
		CHECK(strlen(short_rows) > EVENTS * 10);
		free(short_rows);
		free(long_rows);
	}
	free(text);
}

ORMA_TEST(times_that_are_centuries_apart_are_in_order)
{
	static const char *const times[] = {"9223372036854775807", "1", "4611686018427387905",
					    "4611686018427387904", "2", "9223372036854775806"};
	struct import_fixture *fixture = calloc(1, sizeof(*fixture));
	char text[4000];
	size_t size = 0;
	CHECK(fixture);
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		size += (size_t)snprintf(text + size, sizeof(text) - size,
					 "packet { timestamp: %s trusted_packet_sequence_id: %zu "
					 "track_event { type: 3 name: '%zu' track_uuid: 1 } } ",
					 times[i], i + 1, i);
	import_text(fixture, text);
	CHECK_STR(import_rows(fixture, ORMA_TABLE_SLICE, "ts name"),
		  "1 1\n2 4\n4611686018427387904 3\n4611686018427387905 2\n"
		  "9223372036854775806 5\n9223372036854775807 0\n");
	import_done(fixture);
	free(fixture);
}
