/* SPDX-License-Identifier: Apache-2.0
 * typed_args_test.c - arguments by descriptors in the trace. Descriptors are messages that our schema has no names for: in them, 1 is
 * a file, and of a file 2 the package, 4 a message, 5 an enum and 7 an extension.
 */
#include "harness.h"
#include "trace_fixture.h"

#define SEQUENCE "trusted_packet_sequence_id: 1 "
#define BEGIN                                                                                      \
	"packet { " SEQUENCE "sequence_flags: 1 timestamp: 1 track_descriptor { uuid: 10 thread "  \
	"{ pid: 7 tid: 8 } } interned_data { source_locations { iid: 1 file_name: 'a\\\\b.c' "     \
	"function_name: 'f' } debug_annotation_value_type_names { iid: 1 name: '.my.Child' } } } "
#define EVENT(ts, content)                                                                         \
	"packet { " SEQUENCE "timestamp: " #ts " track_event { type: 3 name: 'e' " content " } } "

/* Extensions of TrackEvent: 2001 text, 2002 repeated int32, 2003 a Child, 2004 an enum, 2005 bytes, 2006 packed doubles. Child has a
 * text 1, a Child 2, annotations 3, sint64 4, float 5, bool 6 and an unknown type 7. */
#define EXTENDEE "2: '.perfetto.protos.TrackEvent' "
#define TYPES                                                                                      \
	"packet { " SEQUENCE "timestamp: 900 extension_descriptor { 1 { 1 { 2: 'my' "              \
	"7 { 1: 'ext_text' " EXTENDEE "3: 2001 4: 1 5: 9 } "                                       \
	"7 { 1: 'ext_numbers' " EXTENDEE "3: 2002 4: 3 5: 5 } "                                    \
	"4 { 1: 'Holder' 6 { 1: 'ext_child' " EXTENDEE "3: 2003 4: 1 5: 11 6: '.my.Child' } "      \
	"6 { 1: 'ext_enum' " EXTENDEE "3: 2004 4: 1 5: 14 6: '.my.Holder.Color' } "                \
	"4 { 1: 'Unused' } 4 { 1: 'Color' 2 { 1: 'RED' 2: 1 } } } "                                \
	"5 { 1: 'Unused' } "                                                                       \
	"7 { 1: 'ext_bytes' " EXTENDEE "3: 2005 4: 1 5: 12 } "                                     \
	"7 { 1: 'ext_doubles' " EXTENDEE "3: 2006 4: 3 5: 1 } "                                    \
	"7 { 1: 'no_number' " EXTENDEE "5: 1 } "                                                   \
	"4 { 1: 'Child' 2 { 1: 'text' 3: 1 4: 1 5: 9 } 2 { 1: 'child' 3: 2 4: 3 5: 11 6: "         \
	"'.my.Child' } 2 { 1: 'notes' 3: 3 4: 3 5: 11 6: '.perfetto.protos.DebugAnnotation' } "    \
	"2 { 1: 'signed' 3: 4 4: 1 5: 18 } 2 { 1: 'real' 3: 5 4: 1 5: 2 } 2 { 1: 'flag' 3: 6 4: "  \
	"1 "                                                                                       \
	"5: 8 } 2 { 1: 'lost' 3: 7 4: 1 5: 11 6: '.my.Lost' } } } } } } "

static void check_args(struct orma_trace_database *database, const char *expected)
{
	fixture_check(
		database,
		"select flat_key, key, value_type, coalesce(string_value, int_value, "
		"real_value) from slice join args using (arg_set_id) order by slice.id, args.id",
		expected);
}

ORMA_TEST(fields_that_a_program_has_added_are_arguments)
{
	struct orma_trace_database *database = fixture_open(BEGIN EVENT(
		10, "2001: 'x' 2002: 4 2002: -1 2002: 6 2004: 9 2005: 'ab\\377' 2006: '\\000\\000"
		    "\\000\\000\\000\\000\\370\\077\\000\\000\\000\\000\\000\\000\\340\\077' "
		    "2002: '\\007\\010' 2001 { } 9999: 1 9999: 2") TYPES);
	check_args(database, "\"ext_text\",\"ext_text\",\"string\",\"\"\n"
			     "\"ext_numbers\",\"ext_numbers[0]\",\"int\",4\n"
			     "\"ext_numbers\",\"ext_numbers[1]\",\"int\",-1\n"
			     "\"ext_numbers\",\"ext_numbers[2]\",\"int\",6\n"
			     "\"ext_enum\",\"ext_enum\",\"string\",\"9\"\n"
			     "\"ext_bytes\",\"ext_bytes\",\"string\",\"YWL/\"\n"
			     "\"ext_doubles\",\"ext_doubles[0]\",\"real\",1.500000\n"
			     "\"ext_doubles\",\"ext_doubles[1]\",\"real\",0.500000\n"
			     "\"ext_numbers\",\"ext_numbers[3]\",\"int\",7\n"
			     "\"ext_numbers\",\"ext_numbers[4]\",\"int\",8\n");
	fixture_check(database,
		      "select name, value from stats where name in ('unknown_extension_fields', "
		      "'extra_parsing_descriptors_error')",
		      "\"unknown_extension_fields\",2\n\"extra_parsing_descriptors_error\",1\n");
	fixture_close(database);
}

ORMA_TEST(messages_in_messages_have_keys_with_dots)
{
	struct orma_trace_database *database = fixture_open(TYPES BEGIN EVENT(
		10, "2004: 1 2003 { 1: 'a' 2 { 1: 'b' 2 { } } 2 { 4: 5 5: 0x3fc00000 6: 1 "
		    "99: 1 } 3 { 10: 'note' 4: 3 } 7 { 1: 1 } }"));
	check_args(database,
		   "\"ext_enum\",\"ext_enum\",\"string\",\"RED\"\n"
		   "\"ext_child.text\",\"ext_child.text\",\"string\",\"a\"\n"
		   "\"ext_child.child.text\",\"ext_child.child[0].text\",\"string\",\"b\"\n"
		   "\"ext_child.child.child\",\"ext_child.child[0].child[0]\",\"null\","
		   "\"[NULL]\"\n"
		   "\"ext_child.child.signed\",\"ext_child.child[1].signed\",\"int\",-3\n"
		   "\"ext_child.child.real\",\"ext_child.child[1].real\",\"real\",1.500000\n"
		   "\"ext_child.child.flag\",\"ext_child.child[1].flag\",\"bool\",1\n"
		   "\"ext_child.note\",\"ext_child.note\",\"int\",3\n");
	fixture_close(database);
}

ORMA_TEST(an_annotation_may_hold_a_message)
{
	struct orma_trace_database *database = fixture_open(TYPES BEGIN EVENT(
		10,
		"debug_annotations { name: 'm' proto_type_name: '.my.Child' "
		"proto_value: '\012\001x' } debug_annotations { name: 'a' "
		"array_values { proto_type_name_iid: 1 proto_value: '\060\001' } "
		"array_values { proto_type_name: '.my.None' proto_value: '' } "
		"array_values { int_value: 5 } } source_location_iid: 1 screenshot { "
		"jpg_image: 'a' }") EVENT(20, "source_location { file_name: 'c' line_number: 4 }"));
	check_args(database,
		   "\"source.file_name\",\"source.file_name\",\"string\",\"a/b.c\"\n"
		   "\"source.function_name\",\"source.function_name\",\"string\",\"f\"\n"
		   "\"source.line_number\",\"source.line_number\",\"uint\",0\n"
		   "\"source_location_iid\",\"source_location_iid\",\"uint\",1\n"
		   "\"screenshot.jpg_image\",\"screenshot.jpg_image\",\"string\",\"YQ==\"\n"
		   "\"debug.m.text\",\"debug.m.text\",\"string\",\"x\"\n"
		   "\"debug.a.flag\",\"debug.a[0].flag\",\"bool\",1\n"
		   "\"debug.a\",\"debug.a[1]\",\"int\",5\n"
		   "\"source_location.file_name\",\"source_location.file_name\",\"string\",\"c\"\n"
		   "\"source_location.line_number\",\"source_location.line_number\",\"uint\",4\n");
	fixture_close(database);
}

ORMA_TEST(types_that_nest_without_end_are_cut)
{
	/* Sixty messages in each other, as descriptors; and a value of a type that holds itself. */
	struct orma_buf text = {0};
	CHECK_INT(orma_base_buf_append_str(&text, BEGIN TYPES
					   "packet { " SEQUENCE
					   "timestamp: 901 extension_descriptor { 1 { 1 { "),
		  0);
	for (int i = 0; i < 60; i++)
		CHECK_INT(orma_base_buf_printf(&text, "%d { 1: 'n' ", i == 0 ? 4 : 3), 0);
	for (int i = 0; i < 60; i++)
		CHECK_INT(orma_base_buf_append_str(&text, "} "), 0);
	CHECK_INT(orma_base_buf_append_str(&text, "} } } } packet { " SEQUENCE
						  "timestamp: 10 track_event { type: 3 2003 { "),
		  0);
	for (int i = 0; i < 80; i++)
		CHECK_INT(orma_base_buf_append_str(&text, "2 { "), 0);
	for (int i = 0; i < 80; i++)
		CHECK_INT(orma_base_buf_append_str(&text, "} "), 0);
	CHECK_INT(orma_base_buf_append_str(&text, "} } } "), 0);
	struct orma_trace_database *database = fixture_open(orma_base_buf_cstr(&text));
	fixture_check(database,
		      "select value > 1 from stats where name = "
		      "'extra_parsing_descriptors_error'",
		      "1\n");
	fixture_check(database, "select count(*) from slice join args using (arg_set_id)", "0\n");
	fixture_close(database);
	orma_base_buf_done(&text);
}

ORMA_TEST(an_annotation_may_be_a_text_in_json)
{
	struct orma_trace_database *database = fixture_open(
		BEGIN
		"packet { " SEQUENCE "timestamp: 10 track_event { type: 1 name: 'e' "
		"debug_annotations { name: 'j' legacy_json_value: '{ \"a\": 1, \"b\": [2.5, null, "
		"[], true], \"c\": {\"d\": \"x\\u00e9\"}, \"e\": 9223372036854775808}' } } } "
		"packet { " SEQUENCE
		"timestamp: 20 track_event { type: 2 debug_annotations { name: "
		"'j' legacy_json_value: '{\"b\": [7]}' } debug_annotations { name: 'k' "
		"legacy_json_value: '3' } debug_annotations { name: 'bad' legacy_json_value: "
		"'{\"x\": 1' } debug_annotations { name: 'deep' legacy_json_value: "
		"'[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1' } } "
		"} ");
	check_args(database, "\"debug.j.a\",\"debug.j.a\",\"int\",1\n"
			     "\"debug.j.b\",\"debug.j.b[0]\",\"real\",2.500000\n"
			     "\"debug.j.b\",\"debug.j.b[1]\",\"bool\",1\n"
			     "\"debug.j.c.d\",\"debug.j.c.d\",\"string\",\"x\303\251\"\n"
			     "\"debug.j.e\",\"debug.j.e\",\"real\",9223372036854775808.000000\n"
			     "\"debug.j.b\",\"debug.j.b[2]\",\"int\",7\n"
			     "\"debug.k\",\"debug.k\",\"int\",3\n");
	fixture_close(database);
}
