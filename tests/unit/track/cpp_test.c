/* SPDX-License-Identifier: Apache-2.0
 * cpp_test.c - events from C++ (cpp_test.cc), read back: string views without a NUL at the end, values
 * of an enum class, scopes that are the body of an if.
 */
#include "unit/track/cpp_test.h"

#include <orma/track.h>
#include <orma/track_event.h>

#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_event.pb.h"
#include "unit/client/fixture.h"

#define CONFIG "buffers { size_kb: 4096 } data_sources { config { name: \"track_event\" } }"
#define ROUNDS 3

ORMA_CATEGORY_DEFINE(text, "text", "Texts of a size");

char cpp_long_text[CPP_LONG_BYTES + 8];

/* The packets of one thread. Ids of names and keys are resolved by their declarations. */
struct trace {
	struct packets packets;
	struct orma_session *session;
	struct orma_str names[64], keys[64];
	const struct orma_pb_track_event *events[64];
	size_t count, read;
};

static void trace_start(struct trace *trace)
{
	*trace = (struct trace){0};
	init_in_process();
	trace->session = session_start(CONFIG);
}

static void learn(struct trace *trace, const struct orma_pb_interned_data *data)
{
	for (size_t i = 0; data && i < data->event_names.count; i++) {
		CHECK(data->event_names.items[i]->iid < ORMA_ARRAY_SIZE(trace->names));
		trace->names[data->event_names.items[i]->iid] = data->event_names.items[i]->name;
	}
	for (size_t i = 0; data && i < data->debug_annotation_names.count; i++) {
		CHECK(data->debug_annotation_names.items[i]->iid < ORMA_ARRAY_SIZE(trace->keys));
		trace->keys[data->debug_annotation_names.items[i]->iid] =
			data->debug_annotation_names.items[i]->name;
	}
}

static void trace_read(struct trace *trace)
{
	session_finish(trace->session, &trace->packets);
	for (size_t i = 0; i < trace->packets.list.count; i++) {
		const struct orma_pb_trace_packet *packet = trace->packets.list.items[i];

		learn(trace, packet->interned_data);
		if (packet->track_event) {
			CHECK(trace->count < ORMA_ARRAY_SIZE(trace->events));
			trace->events[trace->count++] = packet->track_event;
		}
	}
}

static void trace_done(struct trace *trace)
{
	CHECK_INT(trace->read, trace->count);
	packets_done(&trace->packets);
	orma_shutdown();
}

/* The next event, which must be of this type; "" = it has no name. */
static const struct orma_pb_track_event *next(struct trace *trace, enum orma_event_type type,
					      const char *name)
{
	const struct orma_pb_track_event *event;

	CHECK(trace->read < trace->count);
	event = trace->events[trace->read++];
	CHECK_INT(event->type, type);
	CHECK(orma_base_str_is(orma_pb_track_event_has_name_iid(event)
				       ? trace->names[event->name_iid]
				       : event->name,
			       name));
	return event;
}

static const struct orma_pb_debug_annotation *
argument(struct trace *trace, const struct orma_pb_track_event *event, size_t idx, const char *key)
{
	const struct orma_pb_debug_annotation *argument;

	CHECK(idx < event->debug_annotations.count);
	argument = event->debug_annotations.items[idx];
	CHECK(orma_base_str_is(orma_pb_debug_annotation_has_name_iid(argument)
				       ? trace->keys[argument->name_iid]
				       : argument->name,
			       key));
	return argument;
}

static void check_text(const struct orma_pb_debug_annotation *argument, const char *text)
{
	CHECK(orma_pb_debug_annotation_has_string_value(argument));
	CHECK(orma_base_str_is(argument->string_value, text));
}

ORMA_TEST(a_string_view_that_does_not_end_with_nul_arrives_as_long_as_it_is)
{
	struct trace trace;
	const struct orma_pb_debug_annotation *list, *text;
	const struct orma_pb_track_event *event;

	memset(cpp_long_text, 'x', CPP_LONG_BYTES);
	memset(cpp_long_text + CPP_LONG_BYTES, 'y', 8);
	trace_start(&trace);
	for (int i = 0; i < ROUNDS; i++)
		cpp_emit_views();
	trace_read(&trace);
	for (int i = 0; i < ROUNDS; i++) {
		event = next(&trace, ORMA_EVENT_INSTANT, "views");
		CHECK_INT(event->debug_annotations.count, 7);
		check_text(argument(&trace, event, 0, "view"), "cde");
		check_text(argument(&trace, event, 1, "empty"), "");
		check_text(argument(&trace, event, 2, "string"), "owned");
		check_text(argument(&trace, event, 3, "made"), "owned!");
		CHECK_INT(argument(&trace, event, 4, "cde")->int_value, 5);
		list = argument(&trace, event, 5, "list");
		CHECK_INT(list->array_values.count, 2);
		check_text(list->array_values.items[0], "cde");
		check_text(list->array_values.items[1], "owned");
		text = argument(&trace, event, 6, "long");
		CHECK_INT(text->string_value.size, CPP_LONG_BYTES);
		CHECK(memcmp(text->string_value.data, cpp_long_text, CPP_LONG_BYTES) == 0);
		next(&trace, ORMA_EVENT_STATE, "cde");
	}
	trace_done(&trace);
}

ORMA_TEST(short_events_with_views_take_the_fast_path_and_say_the_same)
{
	static const char letters[] = "abcdefghijkl";
	struct trace trace;

	trace_start(&trace);
	for (int i = 0; i < ROUNDS; i++)
		ORMA_INSTANT(text, "sized", "t", ORMA_TEXT(letters, (size_t)i), "null",
			     ORMA_TEXT(NULL, 0));
	for (int i = 0; i < ROUNDS; i++)
		ORMA_INSTANT(text, "bare", "t",
			     ORMA_TEXT("a\xff"
				       "bcd",
				       3));
	trace_read(&trace);
	for (size_t i = 0; i < ROUNDS; i++) {
		const struct orma_pb_track_event *event = next(&trace, ORMA_EVENT_INSTANT, "sized");
		struct orma_str said = argument(&trace, event, 0, "t")->string_value;

		CHECK_INT(said.size, i);
		CHECK(memcmp(said.data, letters, i) == 0);
		check_text(argument(&trace, event, 1, "null"), "");
	}
	for (int i = 0; i < ROUNDS; i++)
		check_text(argument(&trace, next(&trace, ORMA_EVENT_INSTANT, "bare"), 0, "t"),
			   "a?b");
	trace_done(&trace);
}

ORMA_TEST(a_value_of_an_enum_class_arrives_as_its_number)
{
	struct trace trace;
	const struct orma_pb_track_event *event;

	trace_start(&trace);
	for (int i = 0; i < ROUNDS; i++)
		cpp_emit_enums();
	trace_read(&trace);
	for (int i = 0; i < ROUNDS; i++) {
		event = next(&trace, ORMA_EVENT_INSTANT, "enums");
		CHECK_INT(event->debug_annotations.count, 5);
		CHECK_INT(argument(&trace, event, 0, "red")->int_value, -1);
		CHECK(argument(&trace, event, 1, "all")->uint_value == UINT64_MAX);
		CHECK(argument(&trace, event, 2, "yes")->bool_value);
		/* The promoted type depends on the compiler. */
		CHECK_INT(argument(&trace, event, 3, "plain")->int_value +
				  (int64_t)argument(&trace, event, 3, "plain")->uint_value,
			  1);
		CHECK_INT(argument(&trace, event, 4, "list")->array_values.items[0]->int_value, 7);
		CHECK_INT(next(&trace, ORMA_EVENT_COUNTER, "")->counter_value, 7);
	}
	trace_done(&trace);
}

ORMA_TEST(a_name_of_a_moment_may_be_a_string)
{
	struct trace trace;
	const struct orma_pb_track_event *event;

	trace_start(&trace);
	for (int i = 0; i < ROUNDS; i++)
		cpp_emit_names();
	trace_read(&trace);
	for (int i = 0; i < ROUNDS; i++) {
		event = next(&trace, ORMA_EVENT_BEGIN, "cde");
		CHECK(orma_base_str_is(event->correlation_id_str, "cde2"));
		next(&trace, ORMA_EVENT_END, "");
	}
	trace_done(&trace);
}

ORMA_TEST(a_scope_that_is_the_body_of_an_if_is_emitted_when_it_holds)
{
	struct trace trace;

	trace_start(&trace);
	for (int i = 0; i < 2 * ROUNDS; i++)
		cpp_emit_if(i % 2 == 0);
	CHECK(!cpp_loops_else(true));
	CHECK(cpp_loops_else(false));
	trace_read(&trace);
	for (int i = 0; i < 2 * ROUNDS; i++) {
		next(&trace, ORMA_EVENT_BEGIN, i % 2 == 0 ? "first" : "second");
		next(&trace, ORMA_EVENT_END, "");
		next(&trace, ORMA_EVENT_INSTANT, "behind");
	}
	trace_done(&trace);
}
