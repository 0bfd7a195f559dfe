/* SPDX-License-Identifier: Apache-2.0
 * text_format_test.c - printing and parsing the text format, and the texts of its errors.
 *
 * The messages are those of the schema. A text that must parse is checked by its encoding, and a text
 * that must not parse by the whole error. Rejected: one file per case, because most cases are one line.
 */
#include <locale.h>

#include "base/alloc.h"
#include "harness.h"
#include "proto/codec.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/ftrace_event_bundle.pb.h"
#include "schema/gen/other_data_source_config.pb.h"
#include "schema/gen/test_config.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_packet.pb.h"

static int parse(const struct orma_proto_desc *desc, const char *text, unsigned flags,
		 struct orma_arena *arena, void *ret, struct orma_error *error)
{
	/* A copy without NUL, so that the address sanitizer sees a read past the end. */
	size_t size = strlen(text);
	char *copy = malloc(size + 1);
	int r;

	memcpy(copy, text, size + 1);
	copy = realloc(copy, size ? size : 1);
	r = orma_proto_text_parse(desc, "t.cfg", copy, size, flags, arena, ret, error);
	free(copy);
	return r;
}

/* `canonical` is the printed form of the message that `text` parses to. */
static void check_same(const struct orma_proto_desc *desc, const char *text, const char *canonical)
{
	struct orma_arena arena = {0};
	struct orma_error error = {0};
	struct orma_buf out = {0}, bytes = {0}, again = {0};
	void *message, *back;

	if (parse(desc, text, 0, &arena, &message, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s: %s", text, error.message);
	CHECK_INT(orma_proto_text_print(message, 0, &out), 0);
	CHECK_STR(orma_base_buf_cstr(&out), canonical);
	CHECK_INT(orma_proto_encode(message, &bytes), 0);
	CHECK_INT(parse(desc, canonical, 0, &arena, &back, &error), 0);
	CHECK_INT(orma_proto_encode(back, &again), 0);
	CHECK_MEM(again.data, again.size, bytes.data, bytes.size);
	orma_base_buf_done(&out);
	orma_base_buf_done(&bytes);
	orma_base_buf_done(&again);
	orma_base_arena_done(&arena);
}

static void check_config(const char *text, const char *canonical)
{
	check_same(&orma_pb_trace_config_desc, text, canonical);
}

ORMA_TEST(all_ways_to_write_a_field_are_read)
{
	check_config("", "");
	check_config("# nothing\n \t\r\n", "");
	check_config("\xef\xbb\xbf"
		     "duration_ms: 1",
		     "duration_ms: 1\n");
	check_config("duration_ms:1", "duration_ms: 1\n");
	check_config("duration_ms 1", "duration_ms: 1\n");
	check_config("duration_ms#c\n:#d\n1#e", "duration_ms: 1\n");
	check_config("duration_ms: 1; write_into_file: true, output_path: 'x'",
		     "duration_ms: 1\nwrite_into_file: true\noutput_path: \"x\"\n");
	check_config("buffers{size_kb:5}buffers:<size_kb:6>buffers{}",
		     "buffers {\n  size_kb: 5\n}\nbuffers {\n  size_kb: 6\n}\nbuffers {\n}\n");
	check_config("buffers: [{size_kb: 5}, <size_kb: 6>]; duration_ms: 1",
		     "buffers {\n  size_kb: 5\n}\nbuffers {\n  size_kb: 6\n}\nduration_ms: 1\n");
	check_config("buffers: [] duration_ms: 1", "duration_ms: 1\n");
	check_config("builtin_data_sources { primary_trace_clock: 6 }",
		     "builtin_data_sources {\n  primary_trace_clock: BUILTIN_CLOCK_BOOTTIME\n}\n");
	check_config("buffers { fill_policy: 77 }", "buffers {\n  fill_policy: 77\n}\n");
	check_config("buffers { fill_policy: -1 }", "buffers {\n  fill_policy: -1\n}\n");
}

ORMA_TEST(lists_of_scalars_are_read_in_brackets_and_one_by_one)
{
	const struct orma_proto_desc *desc = &orma_pb_ftrace_event_bundle_compact_sched_desc;
	const char *expected = "intern_table: \"a\"\nintern_table: \"b\"\nintern_table: \"c\"\n";

	check_same(desc, "intern_table: ['a', \"b\"] intern_table: 'c'", expected);
	check_same(desc, "intern_table: [] intern_table: []", "");
	check_same(desc, "switch_next_pid: [1, -2]; switch_next_pid: 3,",
		   "switch_next_pid: 1\nswitch_next_pid: -2\nswitch_next_pid: 3\n");
}

ORMA_TEST(whole_numbers_are_read_in_three_bases_to_their_limits)
{
	const struct orma_proto_desc *desc = &orma_pb_debug_annotation_desc;

	check_same(desc, "int_value: 0x7fFFffffffffffff", "int_value: 9223372036854775807\n");
	check_same(desc, "int_value: -9223372036854775808", "int_value: -9223372036854775808\n");
	check_same(desc, "int_value: -017", "int_value: -15\n");
	check_same(desc, "int_value: - 5", "int_value: -5\n");
	check_same(desc, "uint_value: 18446744073709551615", "uint_value: 18446744073709551615\n");
	check_same(desc, "uint_value: -0", "uint_value: 0\n");
	check_config("duration_ms: 4294967295", "duration_ms: 4294967295\n");
}

ORMA_TEST(floating_point_numbers_are_read_and_printed_exactly)
{
	static const struct {
		const char *text, *canonical;
	} cases[] = {
		{"1", "1"},
		{"1.5f", "1.5"},
		{".5", "0.5"},
		{"1e3", "1000"},
		{"-1.25E-7", "-1.25e-07"},
		{"1e+300", "1e+300"},
		{"0.1", "0.1"},
		{"0.30000000000000004", "0.30000000000000004"},
		{"-0", "-0"},
		{"inf", "inf"},
		{"-Infinity", "-inf"},
		{"NaN", "nan"},
		{"2.2250738585072014e-308", "2.2250738585072014e-308"},
		{"010", "10"},
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		char text[80], canonical[80];

		snprintf(text, sizeof(text), "double_value: %s", cases[i].text);
		snprintf(canonical, sizeof(canonical), "double_value: %s\n", cases[i].canonical);
		check_same(&orma_pb_debug_annotation_desc, text, canonical);
	}
}

ORMA_TEST(the_programs_locale_does_not_matter)
{
	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8") &&
	    !setlocale(LC_NUMERIC, ""))
		return;
	check_same(&orma_pb_debug_annotation_desc, "double_value: 1.5", "double_value: 1.5\n");
}

ORMA_TEST(strings_are_joined_and_escapes_undone)
{
	check_config("output_path: 'a' \"b\" # c\n 'd'", "output_path: \"abd\"\n");
	check_config("output_path: \"\"", "output_path: \"\"\n");
	check_config("output_path: \"two\nlines\"", "output_path: \"two\\nlines\"\n");
	check_config("output_path: '\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"\\?'",
		     "output_path: \"\\007\\010\\014\\n\\r\\t\\013\\\\'\\\"?\"\n");
	check_config("output_path: '\\101\\7\\x42\\x4'", "output_path: \"A\\007B\\004\"\n");
	check_config("output_path: '\\u00e9\\U0001F600\\ud83d\\ude00'",
		     "output_path: \"\xc3\xa9\xf0\x9f\x98\x80\xf0\x9f\x98\x80\"\n");
	check_config("output_path: '\xc3\xa9'", "output_path: \"\xc3\xa9\"\n");
	check_config("output_path: '\xff\xc0\x80\xed\xa0\x80'",
		     "output_path: \"\\377\\300\\200\\355\\240\\200\"\n");
	check_same(&orma_pb_debug_annotation_desc, "proto_value: '\xc3\xa9\\000'",
		   "proto_value: \"\\303\\251\\000\"\n");
}

ORMA_TEST(characters_that_a_terminal_obeys_are_printed_as_escapes)
{
	check_config("output_path: '\xc2\x9b\xc2\xa0\u202e\u20ac\x1b'",
		     "output_path: \"\\302\\233\xc2\xa0\\342\\200\\256\xe2\x82\xac\\033\"\n");
}

ORMA_TEST(fields_without_a_name_are_read_and_printed_by_number)
{
	check_config("900: 5", "900: 5\n");
	check_config("900: -1", "900: 18446744073709551615\n");
	check_config("900: 0xdeadbeef", "900: 0xdeadbeef\n");
	check_config("900: 0x00000000deadbeef", "900: 0x00000000deadbeef\n");
	check_config("900: 0x10", "900: 16\n");
	check_config("900: 'text' 'more'", "900: \"textmore\"\n");
	check_config("900: ''", "900: \"\"\n");
	check_config("900 { 1: 5 2 < 3: 'a' > } 901: 1",
		     "900 {\n  1: 5\n  2 {\n    3: \"a\"\n  }\n}\n901: 1\n");
	check_config("900 { }", "900: \"\"\n");
	check_config("900: '\\010'", "900: \"\\010\"\n");                     /* half a field */
	check_config("900: '\\010\\200\\000'", "900: \"\\010\\200\\000\"\n"); /* overlong */
	check_config("900: '\\010\\001'", "900 {\n  1: 1\n}\n");
	check_config("3: 1000", "duration_ms: 1000\n"); /* the number of a known field */
	check_config("3: 'x'", "3: \"x\"\n");           /* a known field of another type */
	check_config(
		"20 { 1: 1 } duration_ms: 2",
		"duration_ms: 2\nbuiltin_data_sources {\n  disable_clock_snapshotting: true\n}\n");
}

static const struct {
	const char *text, *error;
} error_cases[] = {
	{"duration_ms: 1\nwrite:\n  bufers { }",
	 "t.cfg:2:1: no field named \"write\" in TraceConfig\nwrite:\n^~~~~"},
	{"# c\n\n\tbufers { size_kb: 1 }",
	 "t.cfg:3:2: no field named \"bufers\" in TraceConfig; did you mean "
	 "\"buffers\"?\n bufers { size_kb: 1 }\n ^~~~~~"},
	{"buffers { fill_policy: DISCRAD }",
	 "t.cfg:1:24: no value \"DISCRAD\" in TraceConfig.BufferConfig.FillPolicy; did you "
	 "mean DISCARD?\nbuffers { fill_policy: DISCRAD }\n                       ^~~~~~~"},
	{"buffers { fill_policy: 'x' }",
	 "t.cfg:1:24: found 'x', expected a value for fill_policy\n"
	 "buffers { fill_policy: 'x' }\n                       ^~~"},
	{"duration_ms: -1",
	 "t.cfg:1:14: found \"-1\", expected a whole number from 0 to 2^32-1 for "
	 "duration_ms\nduration_ms: -1\n             ^~"},
	{"duration_ms: 4294967296",
	 "t.cfg:1:14: found \"4294967296\", expected a whole number from 0 to 2^32-1 for "
	 "duration_ms\nduration_ms: 4294967296\n             ^~~~~~~~~~"},
	{"duration_ms: 10ms",
	 "t.cfg:1:14: found \"10ms\", expected a whole number from 0 to 2^32-1 for "
	 "duration_ms\nduration_ms: 10ms\n             ^~~~"},
	{"duration_ms: 0x", "t.cfg:1:14: found \"0x\", expected a whole number from 0 to "
			    "2^32-1 for duration_ms\nduration_ms: 0x\n             ^~"},
	{"duration_ms: 089", "t.cfg:1:14: found \"089\", expected a whole number from 0 to "
			     "2^32-1 for duration_ms\nduration_ms: 089\n             ^~~"},
	{"duration_ms: 99999999999999999999",
	 "t.cfg:1:14: found \"99999999999999999999\", expected a whole number from 0 to "
	 "2^32-1 for duration_ms\nduration_ms: 99999999999999999999\n"
	 "             ^~~~~~~~~~~~~~~~~~~~"},
	{"duration_ms: 1.5", "t.cfg:1:14: found \"1.5\", expected a whole number from 0 to "
			     "2^32-1 for duration_ms\nduration_ms: 1.5\n             ^~~"},
	{"duration_ms:", "t.cfg:1:13: found the end of the text, expected a whole number "
			 "from 0 to 2^32-1 for duration_ms\nduration_ms:\n            ^"},
	{"duration_ms: - true",
	 "t.cfg:1:14: found \"-\", expected a whole number from 0 to 2^32-1 for "
	 "duration_ms\nduration_ms: - true\n             ^"},
	{"duration_ms: 1\nduration_ms: 2",
	 "t.cfg:2:1: found duration_ms twice in TraceConfig, expected one: it is not a "
	 "list\nduration_ms: 2\n^~~~~~~~~~~"},
	{"duration_ms: [1]", "t.cfg:1:14: found \"[\", expected one value; duration_ms is "
			     "not a list\nduration_ms: [1]\n             ^"},
	{"write_into_file: yes", "t.cfg:1:18: found \"yes\", expected true or false for "
				 "write_into_file\nwrite_into_file: yes\n"
				 "                 ^~~"},
	{"output_path: x", "t.cfg:1:14: found \"x\", expected a string in quotes for "
			   "output_path\noutput_path: x\n             ^"},
	{"output_path: \"x\n", "t.cfg:1:14: found a string that does not end, expected \" "
			       "after it\noutput_path: \"x\n             ^"},
	{"output_path: 'a' 'b", "t.cfg:1:18: found a string that does not end, expected ' "
				"after it\noutput_path: 'a' 'b\n                 ^"},
	{"output_path: '\\q'", "t.cfg:1:15: found \"\\q\", expected an escape: \\n \\r \\t "
			       "\\a \\b \\f \\v \\\\ \\' "
			       "\\\" \\? \\NNN (up to \\377) \\xHH \\uHHHH\noutput_path: "
			       "'\\q'\n              ^~"},
	{"output_path: '\\400'",
	 "t.cfg:1:15: found \"\\400\", expected an escape: \\n \\r \\t \\a \\b \\f \\v "
	 "\\\\ "
	 "\\' \\\" \\? \\NNN (up to \\377) \\xHH \\uHHHH\noutput_path: '\\400'\n"
	 "              ^~~~"},
	{"output_path: '\\xg'",
	 "t.cfg:1:15: found \"\\x\", expected an escape: \\n \\r \\t \\a \\b \\f \\v \\\\ "
	 "\\' \\\" \\? \\NNN (up to \\377) \\xHH \\uHHHH\noutput_path: '\\xg'\n"
	 "              ^~"},
	{"output_path: '\\ud800'",
	 "t.cfg:1:15: found \"\\ud800\", expected an escape: \\n \\r \\t \\a \\b \\f \\v "
	 "\\\\ \\' \\\" \\? \\NNN (up to \\377) \\xHH \\uHHHH\noutput_path: '\\ud800'\n"
	 "              ^~~~~~"},
	{"buffers: 5", "t.cfg:1:10: found \"5\", expected a message in { } for buffers\n"
		       "buffers: 5\n         ^"},
	{"buffers: [{}, 5]", "t.cfg:1:15: found \"5\", expected a message in { } for "
			     "buffers\nbuffers: [{}, 5]\n              ^"},
	{"buffers: [{} {}]", "t.cfg:1:14: found \"{\", expected \",\" or \"]\"\n"
			     "buffers: [{} {}]\n             ^"},
	{"buffers {\n  size_kb: 5\n",
	 "t.cfg:1:9: found the end of the text, expected \"}\" for this one\nbuffers {\n"
	 "        ^"},
	{"buffers { size_kb: 5 >", "t.cfg:1:22: found \">\", expected a field's name or "
				   "\"}\"\nbuffers { size_kb: 5 >\n"
				   "                     ^"},
	{"duration_ms: 1 }", "t.cfg:1:16: found \"}\", expected a field's name\n"
			     "duration_ms: 1 }\n               ^"},
	{"=", "t.cfg:1:1: found \"=\", expected a field's name\n=\n^"},
	{"\x01", "t.cfg:1:1: found \"?\", expected a field's name\n?\n^"},
	{"\xc3\xa9\xc3\xa9 = 1", "t.cfg:1:1: found \"\xc3\xa9\", expected a field's name\n"
				 "\xc3\xa9\xc3\xa9 = 1\n^"},
	{"output_path: '\xc3\xa9' x: 1",
	 "t.cfg:1:18: no field named \"x\" in TraceConfig\noutput_path: '\xc3\xa9' x: 1\n"
	 "                 ^"},
	{"[a.b]: 1", "t.cfg:1:1: no extension \"[a.b]\" of TraceConfig\n[a.b]: 1\n^~~~~"},
	{"[a.]: 1", "t.cfg:1:4: found \"]\", expected the name of an extension\n[a.]: 1\n"
		    "   ^"},
	{"[a: 1", "t.cfg:1:3: found \":\", expected \"]\"\n[a: 1\n  ^"},
	{"0: 1", "t.cfg:1:1: found \"0\", expected a field's name, or its number up to "
		 "2^29-1\n0: 1\n^"},
	{"536870912: 1", "t.cfg:1:1: found \"536870912\", expected a field's name, or its "
			 "number up to 2^29-1\n536870912: 1\n^~~~~~~~~"},
	{"900: x", "t.cfg:1:6: found \"x\", expected a whole number, a string or a "
		   "message\n900: x\n     ^"},
	{"900 { size: 1 }", "t.cfg:1:7: found \"size\", expected a field's number, as its "
			    "message is unknown\n900 { size: 1 }\n      ^~~~"},
	{"20: 'x'", "t.cfg:1:1: the value does not decode as what TraceConfig has there\n"
		    "20: 'x'\n^~"},
};

ORMA_TEST(errors_say_where_what_and_what_instead)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(error_cases); i++) {
		struct orma_arena arena = {0};
		struct orma_error error = {0};
		void *message = NULL;

		CHECK_INT(parse(&orma_pb_trace_config_desc, error_cases[i].text, 0, &arena,
				&message, &error),
			  -EBADMSG);
		CHECK_STR(error.message, error_cases[i].error);
		CHECK_INT(error.code, -EBADMSG);
		CHECK(message == NULL);
		CHECK_INT(parse(&orma_pb_trace_config_desc, error_cases[i].text, 0, &arena,
				&message, NULL),
			  -EBADMSG);
		orma_base_arena_done(&arena);
	}
}

ORMA_TEST(two_members_of_a_oneof_are_one_too_many)
{
	struct orma_arena arena = {0};
	struct orma_error error = {0};
	void *message;

	CHECK_INT(parse(&orma_pb_debug_annotation_desc, "int_value: 1 string_value: 'x'", 0, &arena,
			&message, &error),
		  -EBADMSG);
	CHECK_STR(error.message, "t.cfg:1:14: found string_value after int_value in "
				 "DebugAnnotation, expected one of them only\n"
				 "int_value: 1 string_value: 'x'\n             ^~~~~~~~~~~~");
	orma_base_arena_done(&arena);
}

ORMA_TEST(a_long_line_is_shown_around_the_error)
{
	struct orma_arena arena = {0};
	struct orma_error error = {0};
	char text[4000];
	void *message;

	memset(text, ' ', sizeof(text));
	memcpy(text + 2000, "wrong", 5);
	text[3999] = '\0';
	CHECK_INT(parse(&orma_pb_trace_config_desc, text, 0, &arena, &message, &error), -EBADMSG);
	CHECK(strncmp(error.message, "t.cfg:1:2001: no field named \"wrong\"", 36) == 0);
	CHECK(strlen(error.message) < 300);
	CHECK(strstr(error.message, "^~~~~") != NULL);
	memset(text, 'x', sizeof(text) - 1);
	CHECK_INT(parse(&orma_pb_trace_config_desc, text, 0, &arena, &message, &error), -EBADMSG);
	CHECK(strstr(error.message, "xxx...\" in TraceConfig") != NULL);
	text[0] = '['; /* continuation bytes belong to the token that this begins */
	memset(text + 1, 0x98, sizeof(text) - 2);
	CHECK_INT(parse(&orma_pb_trace_config_desc, text, 0, &arena, &message, &error), -EBADMSG);
	memset(text, 0xbf, sizeof(text) - 1); /* no code point begins anywhere */
	CHECK_INT(parse(&orma_pb_trace_config_desc, text, 0, &arena, &message, &error), -EBADMSG);
	orma_base_arena_done(&arena);
}

ORMA_TEST(lossy_parsing_leaves_out_what_is_unknown)
{
	static const char text[] = "a: 1 b { c: 'x' 'y' d: [1, {e: 2}] } [x.y] < > f: -1.5; "
				   "g: ['a', 'b'], h: 'p' 'q'\n"
				   "buffers { fill_policy: SOMETHING i: j } duration_ms: 5";
	static const char *const broken[] = {"a {", "a: ", "a", "a: }", "a { ] }", "a: 'x"};
	struct orma_arena arena = {0};
	struct orma_error error = {0};
	struct orma_buf out = {0}, deep = {0};
	void *message;

	CHECK_INT(parse(&orma_pb_trace_config_desc, text, ORMA_PROTO_TEXT_LOSSY, &arena, &message,
			&error),
		  0);
	CHECK_INT(orma_proto_text_print(message, 1, &out), 0);
	CHECK_STR(orma_base_buf_cstr(&out), "  buffers {\n  }\n  duration_ms: 5\n");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(broken); i++)
		CHECK_INT(parse(&orma_pb_trace_config_desc, broken[i], ORMA_PROTO_TEXT_LOSSY,
				&arena, &message, &error),
			  -EBADMSG);
	for (int i = 0; i < 100000; i++)
		CHECK_INT(orma_base_buf_append_str(&deep, "a{"), 0);
	CHECK_INT(parse(&orma_pb_trace_config_desc, orma_base_buf_cstr(&deep),
			ORMA_PROTO_TEXT_LOSSY, &arena, &message, &error),
		  -EBADMSG);
	orma_base_buf_done(&out);
	orma_base_buf_done(&deep);
	orma_base_arena_done(&arena);
}

static int parse_nested(const char *open, size_t depth, struct orma_error *error)
{
	struct orma_arena arena = {0};
	struct orma_buf text = {0};
	void *message;
	int r;

	for (size_t i = 0; i < depth; i++)
		CHECK_INT(orma_base_buf_append_str(&text, open), 0);
	for (size_t i = 0; i < depth; i++)
		CHECK_INT(orma_base_buf_append_str(&text, "}"), 0);
	r = parse(&orma_pb_debug_annotation_desc, orma_base_buf_cstr(&text), 0, &arena, &message,
		  error);
	orma_base_buf_done(&text);
	orma_base_arena_done(&arena);
	return r;
}

static const struct orma_proto_extension other_sources = {&orma_pb_data_source_config_desc,
							  &orma_pb_other_data_source_config_desc};

static int parse_extended(const char *text, unsigned flags, struct orma_arena *arena, void *ret,
			  struct orma_error *error)
{
	const struct orma_proto_text_options options = {&other_sources, flags};

	return orma_proto_text_parse_extended(&orma_pb_trace_config_desc, &options, "t.cfg", text,
					      strlen(text), arena, ret, error);
}

ORMA_TEST(fields_of_a_second_table_become_unknown_fields)
{
	struct orma_arena arena = {0};
	struct orma_error error = {0};
	struct orma_buf out = {0};
	void *message;

	CHECK_INT(
		parse_extended("data_sources { config { gpu_counter_config: { counter_ids: [1, 2] "
			       "900 { 5: 6 } } name: 'a' v8_config <> qnx_config { } } }",
			       0, &arena, &message, &error),
		0);
	CHECK_INT(orma_proto_text_print(message, 0, &out), 0);
	CHECK_STR(orma_base_buf_cstr(&out),
		  "data_sources {\n  config {\n    name: \"a\"\n    108 {\n      2: 1\n      2: 2\n"
		  "      900 {\n        5: 6\n      }\n    }\n    127: \"\"\n    150: \"\"\n  "
		  "}\n}\n");
	orma_base_buf_done(&out);
	orma_base_arena_done(&arena);
}

ORMA_TEST(errors_in_fields_of_a_second_table_are_like_others)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{"data_sources { config { gpu_counter_confg {} } }",
		 "no field named \"gpu_counter_confg\" in DataSourceConfig; did you mean "
		 "\"gpu_counter_config\"?"},
		{"data_sources { config { v8_config {} v8_config {} } }",
		 "found v8_config twice in DataSourceConfig, expected one: it is not a list"},
		{"data_sources { config { v8_config: 5 } }",
		 "found \"5\", expected a message in { } for v8_config"},
		{"data_sources { config { v8_config [{}] } }",
		 "found \"[\", expected a message in { } for v8_config"},
		{"data_sources { config { v8_config { log_instructions: 2 } } }",
		 "found \"2\", expected true or false for log_instructions"},
		{"v8_config {}", "no field named \"v8_config\" in TraceConfig"},
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		struct orma_arena arena = {0};
		struct orma_error error = {0};
		void *message;

		CHECK_INT(parse_extended(cases[i].text, 0, &arena, &message, &error), -EBADMSG);
		if (!strstr(error.message, cases[i].error))
			CHECK_STR(error.message, cases[i].error);
		orma_base_arena_done(&arena);
	}
}

ORMA_TEST(text_nests_to_the_limit_and_not_beyond)
{
	struct orma_error error = {0};

	CHECK_INT(parse_nested("dict_entries {", 100, &error), 0);
	CHECK_INT(parse_nested("dict_entries {", 101, &error), -EBADMSG);
	CHECK(strstr(error.message, "more than 100 messages in each other") != NULL);
	CHECK_INT(parse_nested("dict_entries {", 100000, &error), -EBADMSG);
	CHECK_INT(parse_nested("900 {", 100, &error), 0);
	CHECK_INT(parse_nested("900 {", 101, &error), -EBADMSG);
}

ORMA_TEST(unknown_bytes_deeper_than_the_limit_are_printed_as_a_string)
{
	struct orma_arena arena = {0};
	struct orma_buf text = {0}, out = {0}, bytes = {0}, again = {0};
	struct orma_error error = {0};
	void *message, *back;

	/* 120 nested messages inside of one string */
	for (int i = 0; i < 100; i++)
		CHECK_INT(orma_base_buf_append_str(&text, "9 {"), 0);
	CHECK_INT(orma_base_buf_append_str(&text, "9: '\\012\\002\\010\\001'"), 0);
	for (int i = 0; i < 100; i++)
		CHECK_INT(orma_base_buf_append_str(&text, "}"), 0);
	CHECK_INT(parse(&orma_pb_trace_config_buffer_config_desc, orma_base_buf_cstr(&text), 0,
			&arena, &message, &error),
		  0);
	CHECK_INT(orma_proto_text_print(message, 0, &out), 0);
	CHECK(strstr(orma_base_buf_cstr(&out), "9: \"\\n\\002\\010\\001\"") != NULL);
	CHECK_INT(parse(&orma_pb_trace_config_buffer_config_desc, orma_base_buf_cstr(&out), 0,
			&arena, &back, &error),
		  0);
	CHECK_INT(orma_proto_encode(message, &bytes), 0);
	CHECK_INT(orma_proto_encode(back, &again), 0);
	CHECK_MEM(again.data, again.size, bytes.data, bytes.size);
	orma_base_buf_done(&text);
	orma_base_buf_done(&out);
	orma_base_buf_done(&bytes);
	orma_base_buf_done(&again);
	orma_base_arena_done(&arena);
}

ORMA_TEST(every_kind_of_value_is_printed_and_read)
{
	check_same(
		&orma_pb_test_config_dummy_fields_desc,
		"field_uint32: 1 field_int32: -2 field_uint64: 3 field_int64: -4 field_fixed64: 5 "
		"field_sfixed64: -6 field_fixed32: 7 field_sfixed32: -8 field_double: 9.5 "
		"field_float: -0.1 field_sint64: -10 field_sint32: -11 field_string: 's' "
		"field_bytes: 'b'",
		"field_uint32: 1\nfield_int32: -2\nfield_uint64: 3\nfield_int64: "
		"-4\nfield_fixed64: 5\nfield_sfixed64: -6\nfield_fixed32: 7\nfield_sfixed32: "
		"-8\nfield_double: 9.5\nfield_float: -0.1\nfield_sint64: -10\nfield_sint32: "
		"-11\nfield_string: \"s\"\nfield_bytes: \"b\"\n");
}

ORMA_TEST(without_memory_nothing_is_parsed_or_printed)
{
	static const char text[] =
		"buffers { size_kb: 1 } output_path: 'some text' 900 { 1: 'x' } "
		"901: 5 buffers: [{}, {}] enable_extra_guardrails: true "
		"data_sources { config { chrome_config { trace_config: 'x' } } }";

	for (uint64_t nth = 1;; nth++) {
		struct orma_arena arena = {0};
		struct orma_error error = {0};
		struct orma_buf out = {0};
		bool has_failed;
		void *message;
		int r;

		orma_test_fail_allocation(nth);
		r = parse_extended(text, 0, &arena, &message, &error);
		if (r == -ENOMEM)
			CHECK_STR(error.message, "t.cfg: out of memory");
		if (r == 0)
			r = orma_proto_text_print(message, 0, &out);
		has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
		if (has_failed)
			CHECK_INT(out.size, 0);
		orma_base_buf_done(&out);
		orma_base_arena_done(&arena);
		if (!has_failed)
			break;
	}
}

ORMA_TEST(an_error_without_memory_still_names_the_place)
{
	for (uint64_t nth = 1; nth < 4; nth++) {
		struct orma_arena arena = {0};
		struct orma_error error = {0};
		void *message;

		orma_test_fail_allocation(nth);
		CHECK(orma_proto_text_parse(&orma_pb_trace_config_desc, "t.cfg", "nonsense: 1", 11,
					    0, &arena, &message, &error) < 0);
		orma_test_fail_allocation(0);
		CHECK(strncmp(error.message, nth == 1 ? "t.cfg: out" : "t.cfg:1:1: no", 10) == 0);
		orma_base_arena_done(&arena);
	}
}
