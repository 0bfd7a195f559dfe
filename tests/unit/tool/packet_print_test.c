/* SPDX-License-Identifier: Apache-2.0
 * packet_print_test.c - packets as text and as JSON.
 *
 * The text must be that of orma_proto_text_print(), which prints decoded structs, wherever a bundle does
 * not describe an event.
 */
#include <errno.h>

#include "base/arena.h"
#include "base/macros.h"
#include "harness.h"
#include "proto/codec.h"
#include "schema/gen/trace_packet.pb.h"
#include "tool/trace/packet_print.h"

static void encode(const char *text, struct orma_buf *ret)
{
	struct orma_arena arena = {0};
	struct orma_error error = {0};
	void *packet;

	if (orma_proto_text_parse(&orma_pb_trace_packet_desc, "packet", text, strlen(text), 0,
				  &arena, &packet, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(orma_proto_encode(packet, ret), 0);
	orma_base_arena_done(&arena);
}

static void check_print(const char *packet, bool is_json, const char *expected)
{
	struct orma_packet_printer printer = {.is_json = is_json};
	struct orma_buf bytes = {0};

	encode(packet, &bytes);
	CHECK_INT(orma_packet_print(&printer, bytes.data, bytes.size), 0);
	CHECK_STR(orma_base_buf_cstr(&printer.out), expected);
	orma_packet_printer_done(&printer);
	orma_base_buf_done(&bytes);
}

ORMA_TEST(text_is_that_of_the_decoded_packet)
{
	static const char *const packets[] = {
		"",
		"timestamp: 5 trusted_uid: 0 sys_stats { num_forks: 7 }",
		"trace_config { data_sources { config { for_testing { dummy_fields { field_uint32: "
		"1 "
		"field_int32: -2 field_uint64: 3 field_int64: -4 field_fixed64: 5 field_sfixed64: "
		"-6 "
		"field_fixed32: 7 field_sfixed32: -8 field_double: 9.5 field_float: -0.1 "
		"field_sint64: -10 field_sint32: -11 field_string: 's\\x1b\\xff' "
		"field_bytes: 'b\\000' } } } } buffers { fill_policy: DISCARD } buffers { "
		"fill_policy: 77 } }",
		"ftrace_events { compact_sched { switch_timestamp: [1, 2, 300] intern_table: ['a', "
		"'b'] switch_next_prio: [-1] } event { timestamp: 9 sched_switch { prev_comm: 'x' "
		"prev_state: -1 } } }",
		("900900 { 1: 5 2: 'x' 3: 0x00000001 } 900901: 'text' 900902: '' 900903: "
		 "18446744073709551615"),
		"8: 'not a number' 7: 5",
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(packets); i++) {
		struct orma_packet_printer printer = {0};
		struct orma_arena arena = {0};
		struct orma_buf bytes = {0}, decoded = {0};
		void *packet;

		encode(packets[i], &bytes);
		CHECK_INT(orma_proto_decode(&orma_pb_trace_packet_desc, bytes.data, bytes.size,
					    &arena, &packet),
			  0);
		CHECK_INT(orma_base_buf_append_str(&decoded, "packet {\n"), 0);
		CHECK_INT(orma_proto_text_print(packet, 1, &decoded), 0);
		CHECK_INT(orma_base_buf_append_str(&decoded, "}\n"), 0);
		CHECK_INT(orma_packet_print(&printer, bytes.data, bytes.size), 0);
		CHECK_STR(orma_base_buf_cstr(&printer.out), orma_base_buf_cstr(&decoded));
		orma_packet_printer_done(&printer);
		orma_base_buf_done(&bytes);
		orma_base_buf_done(&decoded);
		orma_base_arena_done(&arena);
	}
}

ORMA_TEST(json_has_wide_integers_as_strings_bytes_in_base64_and_enums_by_name)
{
	check_print("", true, "{}\n");
	check_print("trace_config { data_sources { config { for_testing { dummy_fields { "
		    "field_uint32: 1 "
		    "field_int32: -2 field_uint64: 18446744073709551615 field_int64: -4 "
		    "field_fixed64: 5 "
		    "field_sfixed64: -6 field_fixed32: 7 field_sfixed32: -8 field_double: 9.5 "
		    "field_float: inf field_sint64: -10 field_sint32: -11 field_string: 's' "
		    "field_bytes: "
		    "'b\\000\\377' } } } } buffers { fill_policy: DISCARD } buffers { fill_policy: "
		    "77 } "
		    "write_into_file: true }",
		    true,
		    "{\"trace_config\":{\"buffers\":[{\"fill_policy\":\"DISCARD\"},{\"fill_"
		    "policy\":77}],"
		    "\"data_sources\":[{\"config\":{\"for_testing\":{\"dummy_fields\":{\"field_"
		    "uint32\":1,"
		    "\"field_int32\":-2,\"field_uint64\":\"18446744073709551615\",\"field_int64\":"
		    "\"-4\","
		    "\"field_fixed64\":\"5\",\"field_sfixed64\":\"-6\",\"field_fixed32\":7,"
		    "\"field_sfixed32\":-8,\"field_double\":9.5,\"field_float\":\"Infinity\","
		    "\"field_sint64\":\"-10\",\"field_sint32\":-11,\"field_string\":\"s\","
		    "\"field_bytes\":\"YgD/\"}}}}],\"write_into_file\":true}}\n");
	check_print("timestamp: 1 900900: 5 900901: 'x'", true,
		    "{\"timestamp\":\"1\",\"900900\":\"5\",\"900901\":\"eA==\"}\n");
	check_print(
		"ftrace_events { compact_sched { switch_timestamp: [1, 300] intern_table: ['a', "
		"'b'] "
		"switch_prev_state: [] } event {} }",
		true,
		"{\"ftrace_events\":{\"event\":[{}],\"compact_sched\":{\"switch_timestamp\":[\"1\","
		"\"300\"],\"intern_table\":[\"a\",\"b\"]}}}\n");
}

ORMA_TEST(json_strings_are_valid_whatever_is_in_the_trace)
{
	check_print("trace_config { unique_session_name: "
		    "'a\\\"\\\\\\n\\x1b\\xff\\xc3\\xa9\\xe2\\x80\\xae"
		    "\\xf0\\x9f\\x98\\x80' }",
		    true,
		    "{\"trace_config\":{\"unique_session_name\":"
		    "\"a\\\"\\\\\\u000a\\u001b\\ufffd\xc3\xa9"
		    "\\u202e\xf0\x9f\x98\x80\"}}\n");
}

/* DescriptorProto { name: "open" field { name: "path" number: 1 type: STRING } field { name: "flags" number: 2 type: INT64 } } */
#define DESCRIPTOR                                                                                 \
	"'\\n\\x04open\\x12\\x0a\\n\\x04path\\x18\\x01(\\x09\\x12\\x0b\\n\\x05"                    \
	"flags\\x18\\x02(\\x03'"
#define GENERIC                                                                                    \
	"ftrace_events { event { 70000 { 1: 'x' 2: 18446744073709551615 3: 4 } } event { 70001 { " \
	"1: 2 } } "                                                                                \
	"generic_event_descriptors { field_id: 70000 event_descriptor: " DESCRIPTOR                \
	" group_name: 'my\\x1bgroup' } }"

ORMA_TEST(kernel_events_that_the_bundle_describes_have_names)
{
	struct orma_arena arena = {0};
	struct orma_error error = {0};
	static const char events[] = "  ftrace_events {\n    event {\n      70000 {  # "
				     "my?group/open\n        1: \"x\"  # path\n        "
				     "2: -1  # flags\n        3: 4  # \n      }\n    }\n    event "
				     "{\n      70001 {\n        1: 2\n      "
				     "}\n    }\n";
	struct orma_packet_printer printer = {0};
	struct orma_buf bytes = {0}, again = {0};
	const char *text;
	void *packet;

	encode(GENERIC, &bytes);
	CHECK_INT(orma_packet_print(&printer, bytes.data, bytes.size), 0);
	text = orma_base_buf_cstr(&printer.out);
	if (strncmp(text, "packet {\n", 9) != 0 ||
	    strncmp(text + 9, events, sizeof(events) - 1) != 0)
		CHECK_STR(text + 9, events);
	/* The comments do not keep the text from being read again. */
	CHECK_INT(orma_proto_text_parse(&orma_pb_trace_packet_desc, "text", text + 9,
					printer.out.size - 11, 0, &arena, &packet, &error),
		  0);
	CHECK_INT(orma_proto_encode(packet, &again), 0);
	CHECK_MEM(again.data, again.size, bytes.data, bytes.size);
	orma_base_buf_done(&bytes);
	orma_base_buf_done(&again);
	orma_base_arena_done(&arena);
	orma_packet_printer_done(&printer);
}

ORMA_TEST(json_names_them_too)
{
	struct orma_packet_printer printer = {.is_json = true};
	struct orma_buf bytes = {0};

	encode(GENERIC, &bytes);
	CHECK_INT(orma_packet_print(&printer, bytes.data, bytes.size), 0);
	CHECK(strstr(
		orma_base_buf_cstr(&printer.out),
		"{\"event\":[{\"my?group/open\":{\"path\":\"x\",\"flags\":\"-1\",\"3\":\"4\"}},"
		"{\"70001\":\"CAI=\"}],"));
	orma_packet_printer_done(&printer);
	orma_base_buf_done(&bytes);
}

ORMA_TEST(fields_of_other_systems_configs_have_names)
{
	check_print(
		"trace_config { data_sources { config { 108 { 1: 5 } name: 'gpu.counters' } } }",
		false,
		"packet {\n  trace_config {\n    data_sources {\n      config {\n        name: "
		"\"gpu.counters\"\n        gpu_counter_config {\n          counter_period_ns: 5\n  "
		"     "
		" }\n      }\n    }\n  }\n}\n");
}

ORMA_TEST(damage_inside_of_a_packet_is_noticed)
{
	static const struct {
		const char *bytes;
		size_t size;
	} damaged[] = {
		{"\x3a\x01\x08", 3},                 /* sys_stats with half a field */
		{"\x3a\x05\x01", 3},                 /* longer than the packet */
		{"\x0a\x05\x22\x03\x0a\x01\x80", 7}, /* half a number in a packed list */
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(damaged); i++) {
		struct orma_packet_printer printer = {0};

		CHECK_INT(orma_packet_print(&printer, damaged[i].bytes, damaged[i].size), -EBADMSG);
		orma_packet_printer_done(&printer);
	}
}

ORMA_TEST(messages_that_nest_without_end_are_refused)
{
	struct orma_packet_printer printer = {0};
	uint8_t bytes[1000], *at = bytes + sizeof(bytes);

	/* debug_annotations of track_event: array_values in each other, beyond the limit of levels */
	for (size_t size = 0; size < 400; size = (size_t)(bytes + sizeof(bytes) - at)) {
		at -= size < 128 ? 2 : 3;
		at[0] = 0x62; /* DebugAnnotation.array_values */
		at[1] = (uint8_t)(size < 128 ? size : size % 128 | 0x80);
		if (size >= 128)
			at[2] = (uint8_t)(size / 128);
	}
	size_t size = (size_t)(bytes + sizeof(bytes) - at);
	at -= 3;
	at[0] = 0x22; /* TrackEvent.debug_annotations */
	at[1] = (uint8_t)(size % 128 | 0x80);
	at[2] = (uint8_t)(size / 128);
	size += 3;
	at -= 3;
	at[0] = 0x5a; /* track_event */
	at[1] = (uint8_t)(size % 128 | 0x80);
	at[2] = (uint8_t)(size / 128);
	CHECK_INT(orma_packet_print(&printer, at, size + 3), -EMSGSIZE);
	orma_packet_printer_done(&printer);
}

ORMA_TEST(without_memory_nothing_is_printed)
{
	struct orma_buf bytes = {0};

	encode(GENERIC, &bytes);
	for (uint64_t nth = 1;; nth++) {
		struct orma_packet_printer printer = {.is_json = nth % 2};

		orma_test_fail_allocation(nth);
		int r = orma_packet_print(&printer, bytes.data, bytes.size);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
		orma_packet_printer_done(&printer);
		if (!has_failed)
			break;
	}
	orma_base_buf_done(&bytes);
}
