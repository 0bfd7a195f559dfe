/* SPDX-License-Identifier: Apache-2.0
 * event_items_test.c - the items of events, from the macros to decoded packets: arguments of every type,
 * flows, tracks, times, fields; odd lists, invalid text, deep nesting.
 */
#include <errno.h>
#include <orma/track.h>
#include <orma/track_event.h>
#include <pthread.h>
#include <string.h>

#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/source_location.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_event.pb.h"
#include "unit/client/fixture.h"

ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames");

#define CONFIG "buffers { size_kb: 4096 } data_sources { config { name: \"track_event\" } }"
#define IDS    4096
#define SLICES 5

/* The packets of one thread, with the texts that its ids stand for. */
struct trace {
	struct packets packets;
	struct orma_session *session;
	const char *names[IDS], *keys[IDS];
	const struct orma_pb_trace_packet *events[256];
	size_t count, read;
};

static struct trace *trace_start(void)
{
	struct trace *trace = calloc(1, sizeof(*trace));

	CHECK(trace);
	init_in_process();
	trace->session = session_start(CONFIG);
	return trace;
}

static const char *text_of(struct trace *trace, struct orma_str text)
{
	return orma_base_arena_strdup(&trace->packets.arena, text);
}

static void trace_learn(struct trace *trace, const struct orma_pb_interned_data *data)
{
	for (size_t i = 0; data && i < data->event_names.count; i++)
		trace->names[data->event_names.items[i]->iid] =
			text_of(trace, data->event_names.items[i]->name);
	for (size_t i = 0; data && i < data->debug_annotation_names.count; i++)
		trace->keys[data->debug_annotation_names.items[i]->iid] =
			text_of(trace, data->debug_annotation_names.items[i]->name);
}

static void trace_read(struct trace *trace)
{
	session_finish(trace->session, &trace->packets);
	for (size_t i = 0; i < trace->packets.list.count; i++) {
		const struct orma_pb_trace_packet *packet = trace->packets.list.items[i];

		trace_learn(trace, packet->interned_data);
		if (packet->track_event && trace->count < ORMA_ARRAY_SIZE(trace->events))
			trace->events[trace->count++] = packet;
	}
}

static void trace_done(struct trace *trace)
{
	packets_done(&trace->packets);
	free(trace);
	orma_shutdown();
}

static const struct orma_pb_track_event *next(struct trace *trace)
{
	CHECK(trace->read < trace->count);
	return trace->events[trace->read++]->track_event;
}

static const char *name_of(struct trace *trace, const struct orma_pb_track_event *event)
{
	return orma_pb_track_event_has_name_iid(event) ? trace->names[event->name_iid]
						       : text_of(trace, event->name);
}

/* The argument at this index, which must have this key. */
static const struct orma_pb_debug_annotation *
argument(struct trace *trace, const struct orma_pb_track_event *event, size_t idx, const char *key)
{
	const struct orma_pb_debug_annotation *argument;

	CHECK(idx < event->debug_annotations.count);
	argument = event->debug_annotations.items[idx];
	CHECK_STR(orma_pb_debug_annotation_has_name_iid(argument) ? trace->keys[argument->name_iid]
								  : text_of(trace, argument->name),
		  key);
	return argument;
}

static void emit_every_type(const char *text, int *pointer)
{
	ORMA_INSTANT(gfx, "types", "bool", (bool)true, "char", 'c', "short", (short)-2, "int", -3,
		     "long", -4L, "long long", -5LL, "unsigned", 6u, "unsigned long", 7ul,
		     "unsigned long long", UINT64_MAX, "float", 0.5f, "double", 2.25, "literal",
		     "text", "string", text, "pointer", pointer);
}

static void check_every_type(struct trace *trace, int *pointer)
{
	const struct orma_pb_track_event *event = next(trace);

	CHECK_STR(name_of(trace, event), "types");
	CHECK_INT(event->debug_annotations.count, 14);
	CHECK(argument(trace, event, 0, "bool")->bool_value);
	CHECK_INT(argument(trace, event, 1, "char")->int_value, 'c');
	CHECK_INT(argument(trace, event, 2, "short")->int_value, -2);
	CHECK_INT(argument(trace, event, 3, "int")->int_value, -3);
	CHECK_INT(argument(trace, event, 4, "long")->int_value, -4);
	CHECK_INT(argument(trace, event, 5, "long long")->int_value, -5);
	CHECK_INT(argument(trace, event, 6, "unsigned")->uint_value, 6);
	CHECK_INT(argument(trace, event, 7, "unsigned long")->uint_value, 7);
	CHECK(argument(trace, event, 8, "unsigned long long")->uint_value == UINT64_MAX);
	CHECK(argument(trace, event, 9, "float")->double_value == 0.5);
	CHECK(argument(trace, event, 10, "double")->double_value == 2.25);
	CHECK_STR(text_of(trace, argument(trace, event, 11, "literal")->string_value), "text");
	CHECK_STR(text_of(trace, argument(trace, event, 12, "string")->string_value), "string");
	CHECK(argument(trace, event, 13, "pointer")->pointer_value == (uintptr_t)pointer);
}

#if __STDC_VERSION__ < 202000L
ORMA_TEST(what_c_calls_true_is_a_number_unless_it_is_made_a_boolean)
{
	struct trace *trace = trace_start();
	volatile int three = 3;

	for (int i = 0; i < 2; i++)
		ORMA_INSTANT(gfx, "truths", "true", true, "comparison", three > 2, "cast",
			     (bool)(three > 2), "item", ORMA_BOOL(three), "no", ORMA_BOOL(false));
	trace_read(trace);
	for (int i = 0; i < 2; i++) {
		const struct orma_pb_track_event *event = next(trace);

		CHECK_INT(argument(trace, event, 0, "true")->int_value, 1);
		CHECK_INT(argument(trace, event, 1, "comparison")->int_value, 1);
		CHECK(argument(trace, event, 2, "cast")->bool_value);
		CHECK(argument(trace, event, 3, "item")->bool_value);
		CHECK(orma_pb_debug_annotation_has_bool_value(argument(trace, event, 4, "no")));
		CHECK(!argument(trace, event, 4, "no")->bool_value);
	}
	trace_done(trace);
}
#endif

ORMA_TEST(arguments_of_every_type_arrive_as_they_were_said)
{
	struct trace *trace = trace_start();
	char text[] = "string";
	int number = 0;

	/* The first event declares the keys; later ones may take the fast path. */
	for (int i = 0; i < 3; i++)
		emit_every_type(text, &number);
	for (int i = -1; i <= 1; i++)
		ORMA_INSTANT(gfx, "short", "b", (bool)true, "i", i * (INT64_C(1) << 40), "d", 1.5,
			     "s", text, "p", (const void *)&number, "u", (unsigned)(i + 1));
	trace_read(trace);
	for (int i = 0; i < 3; i++)
		check_every_type(trace, &number);
	for (int i = -1; i <= 1; i++) {
		const struct orma_pb_track_event *event = next(trace);

		CHECK(argument(trace, event, 0, "b")->bool_value);
		CHECK(argument(trace, event, 1, "i")->int_value == i * (INT64_C(1) << 40));
		CHECK(argument(trace, event, 2, "d")->double_value == 1.5);
		CHECK_STR(text_of(trace, argument(trace, event, 3, "s")->string_value), "string");
		CHECK(argument(trace, event, 4, "p")->pointer_value == (uintptr_t)&number);
		CHECK_INT(argument(trace, event, 5, "u")->uint_value, i + 1);
	}
	trace_done(trace);
}

ORMA_TEST(begins_ends_scopes_and_counters_take_items)
{
	struct trace *trace = trace_start();
	const struct orma_pb_track_event *event;

	for (int i = 0; i < 2; i++) {
		ORMA_BEGIN(gfx, "load", "file", "a.png");
		{
			ORMA_SCOPE(gfx, "scope", "i", i);
		}
		ORMA_END(gfx, "bytes", 12);
		ORMA_COUNTER(gfx, "fps", 59.5);
		ORMA_COUNTER(gfx, "fps", i, ORMA_FLOW(4));
	}
	trace_read(trace);
	for (int i = 0; i < 2; i++) {
		event = next(trace);
		CHECK_INT(event->type, 1);
		CHECK_STR(text_of(trace, argument(trace, event, 0, "file")->string_value), "a.png");
		event = next(trace);
		CHECK_INT(argument(trace, event, 0, "i")->int_value, i);
		CHECK_INT(next(trace)->type, 2);
		event = next(trace);
		CHECK_INT(event->type, 2);
		CHECK_INT(argument(trace, event, 0, "bytes")->int_value, 12);
		event = next(trace);
		CHECK_INT(event->type, 4);
		CHECK(event->double_counter_value == 59.5);
		event = next(trace);
		CHECK_INT(event->counter_value, i);
		CHECK_INT(event->flow_ids.count, 1);
		CHECK_INT(event->debug_annotations.count, 0);
	}
	trace_done(trace);
}

ORMA_TEST(dictionaries_and_arrays_nest)
{
	struct trace *trace = trace_start();
	const struct orma_pb_track_event *event;
	const struct orma_pb_debug_annotation *dict, *array;

	ORMA_INSTANT(
		gfx, "nested", "d",
		ORMA_DICT("x", 1, "list", ORMA_ARRAY(1, "two", ORMA_DICT("deep", 3.5)), "y", 2),
		"after", 4);
	trace_read(trace);
	event = next(trace);
	CHECK_INT(event->debug_annotations.count, 2);
	dict = argument(trace, event, 0, "d");
	CHECK_INT(dict->dict_entries.count, 3);
	CHECK_STR(trace->keys[dict->dict_entries.items[0]->name_iid], "x");
	CHECK_INT(dict->dict_entries.items[0]->int_value, 1);
	array = dict->dict_entries.items[1];
	CHECK_INT(array->array_values.count, 3);
	CHECK_INT(array->array_values.items[0]->int_value, 1);
	CHECK_STR(text_of(trace, array->array_values.items[1]->string_value), "two");
	CHECK(array->array_values.items[2]->dict_entries.items[0]->double_value == 3.5);
	CHECK_INT(dict->dict_entries.items[2]->int_value, 2);
	CHECK_INT(argument(trace, event, 1, "after")->int_value, 4);
	trace_done(trace);
}

ORMA_TEST(what_is_nested_too_deep_is_cut_and_said_so)
{
	struct orma_item items[40][2];
	static struct orma_call_site site = {
		.category = &orma_category_gfx, .name = "deep", .type = ORMA_EVENT_INSTANT};
	const struct orma_pb_debug_annotation *at;
	struct trace *trace = trace_start();
	int depth = 0;

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(items); i++) {
		items[i][0] = ORMA_ITEM("k");
		items[i][1] = i + 1 < ORMA_ARRAY_SIZE(items)
				      ? orma_item_of_items(ORMA_ITEM_DICT, items[i + 1], 2)
				      : ORMA_ITEM(1);
	}
	orma_event_emit_items(&site, items[0], 2);
	ORMA_INSTANT(gfx, "after");
	trace_read(trace);
	for (at = argument(trace, next(trace), 0, "k"); at->dict_entries.count > 0; depth++)
		at = at->dict_entries.items[0];
	CHECK_INT(depth, 16);
	CHECK_STR(text_of(trace, at->string_value), "(nested too deep)");
	CHECK_STR(name_of(trace, next(trace)), "after");
	trace_done(trace);
}

ORMA_TEST(a_key_without_value_stays_and_a_value_without_key_goes)
{
	struct trace *trace = trace_start();
	const struct orma_pb_track_event *event;

	for (int i = 0; i < 2; i++)
		ORMA_INSTANT(gfx, "odd", 5, "key", ORMA_FLOW_GLOBAL(9), 6.5, "last");
	trace_read(trace);
	for (int i = 0; i < 2; i++) {
		event = next(trace);
		CHECK_INT(event->debug_annotations.count, 2);
		CHECK(!orma_pb_debug_annotation_has_int_value(argument(trace, event, 0, "key")));
		argument(trace, event, 1, "last");
		CHECK_INT(event->flow_ids.items[0], 9);
	}
	trace_done(trace);
}

ORMA_TEST(dynamic_names_are_told_apart_by_their_text)
{
	struct trace *trace = trace_start();
	char name[32], key[32];

	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "name %d", i / 2);
		snprintf(key, sizeof(key), "key %d", i / 2);
		ORMA_INSTANT(gfx, ORMA_DYNAMIC(name), key, i);
		ORMA_INSTANT(gfx, "not interned", ORMA_NO_INTERN);
	}
	trace_read(trace);
	for (int i = 0; i < 4; i++) {
		const struct orma_pb_track_event *event = next(trace);

		snprintf(name, sizeof(name), "name %d", i / 2);
		snprintf(key, sizeof(key), "key %d", i / 2);
		CHECK_STR(name_of(trace, event), name);
		CHECK_INT(argument(trace, event, 0, key)->int_value, i);
		event = next(trace);
		CHECK(!orma_pb_track_event_has_name_iid(event));
		CHECK_STR(text_of(trace, event->name), "not interned");
	}
	trace_done(trace);
}

ORMA_TEST(errno_is_as_it_was)
{
	struct trace *trace = trace_start();

	for (int i = 0; i < 3000; i++) {
		errno = 77;
		ORMA_INSTANT(gfx, "errno", "i", i, "d", ORMA_DICT("x", 1));
		CHECK_INT(errno, 77);
	}
	trace_read(trace);
	trace_done(trace);
}

ORMA_TEST(errno_is_as_it_was_after_an_event_on_a_thread_that_is_gone)
{
	/* No thread has this id, so the kernel returns an error. */
	const struct orma_track gone = orma_track_of_thread(INT32_MAX);
	struct trace *trace = trace_start();

	errno = 77;
	ORMA_INSTANT(gfx, "gone", ORMA_ON(&gone));
	CHECK_INT(errno, 77);
	trace_read(trace);
	trace_done(trace);
}

ORMA_TEST(bytes_that_are_no_utf8_become_question_marks_everywhere)
{
	static const char *const texts[][2] = {
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"a\xff"
		 "b",
		 "a?b"},
		{"\xc3", "?"},
		{"\xe2\x82", "??"},
		{"\xc0\x80|\xed\xa0\x80|\xf4\x90\x80\x80", "??|???|????"},
		{"\xf0\x9f\x98\x80\x80", "\xf0\x9f\x98\x80?"},
	};
	struct trace *trace = trace_start();

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(texts); i++)
		for (int j = 0; j < 2; j++) {
			ORMA_INSTANT(gfx, ORMA_DYNAMIC(texts[i][0]), "short", texts[i][0]);
			ORMA_INSTANT(gfx, "long", texts[i][0], ORMA_ARRAY(texts[i][0]));
		}
	trace_read(trace);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(texts) * 2; i++) {
		const struct orma_pb_track_event *event = next(trace);
		const char *expected = texts[i / 2][1];

		CHECK_STR(name_of(trace, event), expected);
		CHECK_STR(text_of(trace, argument(trace, event, 0, "short")->string_value),
			  expected);
		event = next(trace);
		CHECK_STR(text_of(trace, argument(trace, event, 0, expected)
						 ->array_values.items[0]
						 ->string_value),
			  expected);
	}
	trace_done(trace);
}

ORMA_TEST(empty_null_and_enormous_texts_arrive)
{
	struct trace *trace = trace_start();
	size_t size = 20000;
	char *enormous = calloc(1, size + 1);
	const char *none = NULL;
	const struct orma_pb_track_event *event;

	CHECK(enormous);
	memset(enormous, 'x', size);
	for (int i = 0; i < 2; i++) {
		ORMA_INSTANT(gfx, "", "empty", "", "none", none, "", 1);
		ORMA_INSTANT(gfx, ORMA_DYNAMIC(none), none, 2);
		ORMA_INSTANT(gfx, "enormous", "text", enormous);
		ORMA_INSTANT(gfx, ORMA_DYNAMIC(enormous), enormous, 3);
	}
	trace_read(trace);
	for (int i = 0; i < 2; i++) {
		event = next(trace);
		CHECK_STR(name_of(trace, event), "");
		CHECK_INT(argument(trace, event, 0, "empty")->string_value.size, 0);
		CHECK_STR(text_of(trace, argument(trace, event, 1, "none")->string_value), "NULL");
		CHECK_INT(argument(trace, event, 2, "")->int_value, 1);
		event = next(trace);
		CHECK(!orma_pb_track_event_has_name(event));
		CHECK_INT(argument(trace, event, 0, "NULL")->int_value, 2);
		event = next(trace);
		CHECK_INT(argument(trace, event, 0, "text")->string_value.size, size);
		event = next(trace);
		CHECK_STR(name_of(trace, event), enormous);
		CHECK_INT(argument(trace, event, 0, enormous)->int_value, 3);
	}
	trace_done(trace);
	free(enormous);
}

ORMA_TEST(flows_correlations_and_fields_arrive)
{
	struct trace *trace = trace_start();
	const struct orma_pb_track_event *event;
	uint64_t ids[2];

	for (int i = 0; i < 2; i++)
		ORMA_INSTANT(gfx, "flow", ORMA_FLOW(7), ORMA_TERMINATING_FLOW_GLOBAL(8));
	ORMA_INSTANT(gfx, "number", ORMA_CORRELATION(77));
	ORMA_INSTANT(gfx, "text", ORMA_CORRELATION_TEXT("request"));
	ORMA_INSTANT(gfx, "fields",
		     ORMA_FIELD_NESTED(33, ORMA_FIELD_STRING(2, "a.c"), ORMA_FIELD_VARINT(4, 12)),
		     ORMA_FIELD_FIXED64(47, 5), ORMA_FIELD_BYTES(23, "bytes", 5),
		     ORMA_FIELD_VARINT(0, 1), ORMA_FIELD_VARINT(UINT32_MAX, 1));
	trace_read(trace);
	for (int i = 0; i < 2; i++) {
		event = next(trace);
		ids[i] = event->flow_ids.items[0];
		CHECK(ids[i] != 7);
		CHECK_INT(event->terminating_flow_ids.items[0], 8);
	}
	CHECK(ids[0] == ids[1]);
	CHECK_INT(next(trace)->correlation_id, 77);
	CHECK_STR(text_of(trace, next(trace)->correlation_id_str), "request");
	event = next(trace);
	CHECK_STR(text_of(trace, event->source_location->file_name), "a.c");
	CHECK_INT(event->source_location->line_number, 12);
	CHECK_INT(event->flow_ids.items[0], 5);
	trace_done(trace);
}

ORMA_TEST(times_of_ones_own_leave_the_others_alone)
{
	struct trace *trace = trace_start();
	uint64_t before = orma_now_ns();

	ORMA_INSTANT(gfx, "earlier", ORMA_AT(before - 1000));
	ORMA_INSTANT(gfx, "clock", ORMA_AT_CLOCK(55, 3));
	ORMA_INSTANT(gfx, "now");
	trace_read(trace);
	CHECK(trace->events[0]->timestamp == before - 1000);
	CHECK_INT(trace->events[0]->timestamp_clock_id, 6);
	CHECK_INT(trace->events[1]->timestamp, 55);
	CHECK_INT(trace->events[1]->timestamp_clock_id, 3);
	CHECK(!orma_pb_trace_packet_has_timestamp_clock_id(trace->events[2]));
	trace_done(trace);
}

static void *end_it(void *ctx)
{
	ORMA_END(gfx, ORMA_ON(ctx));
	return NULL;
}

ORMA_TEST(a_slice_on_a_track_may_end_on_another_thread)
{
	static const struct orma_track track = {.name = "request", .id = 7};
	struct trace *trace = trace_start();
	uint64_t uuid = 0;
	int begins = 0;
	pthread_t thread;

	/* The first event declares the track; later ones may take the fast path. */
	for (int i = 0; i < SLICES; i++) {
		ORMA_BEGIN(gfx, "request", ORMA_ON(&track));
		CHECK_INT(pthread_create(&thread, NULL, end_it, (void *)&track), 0);
		pthread_join(thread, NULL);
		/* No slice on this thread's own track is open. */
		ORMA_END(gfx);
		ORMA_END(gfx, "i", i);
	}
	ORMA_BEGIN(gfx, "request", ORMA_ON(&track));
	ORMA_END(gfx, ORMA_ON(&track));
	trace_read(trace);
	CHECK_INT(trace->count, 2 * SLICES + 2);
	for (size_t i = 0; i < trace->count; i++) {
		const struct orma_pb_track_event *event = next(trace);

		begins += event->type == ORMA_EVENT_BEGIN;
		CHECK(event->track_uuid != 0);
		CHECK(uuid == 0 || uuid == event->track_uuid);
		uuid = event->track_uuid;
	}
	CHECK_INT(begins, SLICES + 1);
	trace_done(trace);
}
