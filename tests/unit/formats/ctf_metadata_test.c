/* SPDX-License-Identifier: Apache-2.0
 * ctf_metadata_test.c - metadata as text and in packets, what it may not say, and its limits.
 */
#include "ctf_fixture.h"

static void put_u32(uint8_t *at, uint32_t value, bool is_big_endian)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> (is_big_endian ? 24 - 8 * i : 8 * i));
}

/* Appends a packet of metadata, with bytes behind its text. */
static void add_packet(struct orma_buf *file, const char *text, bool is_big_endian)
{
	uint8_t header[37] = {0};
	size_t content = sizeof(header) + strlen(text), packet = content + 11;
	put_u32(header, 0x75d11d57, is_big_endian);
	put_u32(header + 24, (uint32_t)content * 8, is_big_endian);
	put_u32(header + 28, (uint32_t)packet * 8, is_big_endian);
	header[35] = 1;
	header[36] = 8;
	CHECK_INT(orma_base_buf_append(file, header, sizeof(header)), 0);
	CHECK_INT(orma_base_buf_append(file, text, strlen(text)), 0);
	CHECK_INT(orma_base_buf_append(file, "\0\0\0\0\0\0\0\0\0\0", 11), 0);
}

static int unpack(const struct orma_buf *file, struct orma_buf *text)
{
	struct orma_error error = {0};
	return orma_ctf_metadata_unpack((struct orma_str){(const char *)file->data, file->size},
					text, &error);
}

ORMA_TEST(packets_of_either_byte_order_are_joined)
{
	for (int i = 0; i < 2; i++) {
		struct orma_buf file = {0}, text = {0};
		add_packet(&file, "env { a = ", i);
		add_packet(&file, "\"b\"; };", i);
		CHECK(orma_ctf_metadata_is((struct orma_str){(const char *)file.data, file.size}));
		CHECK_INT(unpack(&file, &text), 0);
		CHECK_STR(orma_base_buf_cstr(&text), "env { a = \"b\"; };");
		/* A tracer that was killed leaves a part of a packet. */
		text.size = 0;
		file.size -= 13;
		CHECK_INT(unpack(&file, &text), 0);
		CHECK_STR(orma_base_buf_cstr(&text), "env { a = \"b\"; ");
		file.data[32] = 1; /* compressed */
		CHECK_INT(unpack(&file, &text), -EBADMSG);
		orma_base_buf_done(&file);
		orma_base_buf_done(&text);
	}
}

ORMA_TEST(packets_with_wrong_sizes_are_refused)
{
	struct orma_buf file = {0}, text = {0};
	add_packet(&file, "env { };", false);
	put_u32(file.data + 24, 36 * 8, false);
	CHECK_INT(unpack(&file, &text), -EBADMSG);
	put_u32(file.data + 24, 1000 * 8, false);
	CHECK_INT(unpack(&file, &text), -EBADMSG);
	orma_base_buf_done(&file);
	orma_base_buf_done(&text);
}

ORMA_TEST(metadata_is_told_by_its_beginning)
{
	CHECK(orma_ctf_metadata_is(ORMA_STR("/* CTF 1.8 */\n")));
	CHECK(orma_ctf_metadata_is(ORMA_STR("\x57\x1d\xd1\x75")));
	CHECK(orma_ctf_metadata_is(ORMA_STR("\x75\xd1\x1d\x57")));
	CHECK(!orma_ctf_metadata_is(ORMA_STR("/* CTF 2 */")));
	CHECK(!orma_ctf_metadata_is(ORMA_STR("\x57\x1d")));
	CHECK(!orma_ctf_metadata_is(ORMA_STR("")));
}

/* Opens a trace of some text; 0, or -EBADMSG with an error that has the given words. */
static void check_text(const char *text, const char *expected_error)
{
	struct orma_ctf_trace trace = {0};
	struct orma_error error = {0};
	int r = orma_ctf_trace_open(&trace, "name", orma_base_str(text), &error);
	CHECK_INT(r, expected_error ? -EBADMSG : 0);
	if (expected_error && !strstr(error.message, expected_error))
		orma_test_fail(__FILE__, __LINE__, "\"%s\" is not \"%s\"", error.message,
			       expected_error);
	orma_ctf_trace_done(&trace);
}

ORMA_TEST(what_orma_does_not_use_is_read_over)
{
	check_text("", NULL);
	check_text(
		"callsite { name = \"a:b\"; func = \"f\"; file = \"x.c\"; line = 39; ip = 0x1; };"
		"trace { major = 1; unknown.thing = -5; other := struct { string s; }; };"
		"env { a = -1; b = \"x\\\"y\"; }; // comment\n"
		"event { name = e; model.emf.uri = \"u\"; fields := struct { }; };;",
		NULL);
}

ORMA_TEST(errors_name_the_place)
{
	check_text("event {\n fields := struct { nothing a; };\n};",
		   "name:2:30: no type is called \"nothing");
	check_text("trace { x = ; };", "name:1:13: found \";\", expected a value");
	check_text("struct a { integer { size = 65; } x; };", "not from 1 to 64 bits");
	check_text("struct a { integer { size = 0; } x; };", "not from 1 to 64 bits");
	check_text("struct a { integer { size = 8; align = 3; } x; };", "not a power of two");
	check_text("struct a { } align(0);", "not a power of two");
	check_text("struct a { floating_point { exp_dig = 15; mant_dig = 64; } x; };",
		   "neither 32 nor 64 bits");
	check_text("enum e : string { A };", "no type is called \"string");
	check_text("struct a {", "expected '}'");
	check_text("event { id = x; };", "id is not a number");
	check_text("typealias string := s; enum e : s { A };", "not an integer");
	check_text("}", "expected a declaration");
	check_text("struct a { string s[99999999999]; };", "too long");
}

#define FIELDS(text) "event { fields := struct { " text " }; };"
#define BYTE         "integer { size = 8; }"

ORMA_TEST(lengths_and_tags_have_to_be_known_before)
{
	check_text(FIELDS(BYTE " a[n];"), "no field before it is the length or tag: n");
	check_text(FIELDS(BYTE " a[n]; " BYTE " n;"), "no field before it is the length or tag: n");
	check_text(FIELDS("string n; " BYTE " a[n];"), "no field before it is the length or tag");
	check_text(FIELDS(BYTE " n; " BYTE " a[event.fields.n];"), NULL);
	check_text(FIELDS("variant { string s; } v;"), "a variant has no tag");
	check_text(FIELDS(BYTE " t; variant <t> { string s; } v;"), "not an enumeration");
	check_text("event { fields := string; };", "not a structure");
}

/* Text that nests as deep as it says. */
static char *nest(unsigned depth)
{
	static char text[1 << 14];
	size_t size = (size_t)sprintf(text, "event { fields := struct {");
	for (unsigned i = 0; i < depth; i++)
		size += (size_t)sprintf(text + size, "struct {");
	size += (size_t)sprintf(text + size, "string s;");
	for (unsigned i = 0; i < depth; i++)
		size += (size_t)sprintf(text + size, "} s%u;", i);
	sprintf(text + size, "}; };");
	return text;
}

ORMA_TEST(blocks_have_a_limit_of_depth)
{
	check_text(nest(ORMA_CTF_DEPTH_MAX - 2), NULL);
	check_text(nest(ORMA_CTF_DEPTH_MAX - 1), "deeper than 32 levels");
}

ORMA_TEST(types_that_double_have_a_limit)
{
	char text[4096];
	size_t size = (size_t)sprintf(text, "struct s0 { string a; };");
	for (unsigned i = 1; i < 30; i++)
		size += (size_t)sprintf(text + size, "struct s%u { struct s%u a; struct s%u b; };",
					i, i - 1, i - 1);
	sprintf(text + size, "event { fields := struct { struct s29 x; }; };");
	check_text(text, "the types are too large");
	size = (size_t)sprintf(text, "struct s0 { string a; };");
	for (unsigned i = 1; i < 80; i++)
		size += (size_t)sprintf(text + size, "struct s%u { struct s%u a; };", i, i - 1);
	sprintf(text + size, "event { fields := struct { struct s79 x; }; };");
	check_text(text, "nested too deeply");
}

ORMA_TEST(names_end_with_their_block)
{
	check_text("struct a { struct b { string s; }; struct b x; }; struct c { struct b y; };",
		   "no type is called \"b\"");
	check_text("typealias string := t; struct a { typealias integer { size = 8; } := t; t n; };"
		   "event { fields := struct { t s; }; };",
		   NULL);
}

ORMA_TEST(numbers_are_those_of_c)
{
	static const struct {
		const char *text;
		bool is_number;
		uint64_t value;
	} cases[] = {
		{"0", true, 0},
		{"017", true, 15},
		{"0x1F", true, 31},
		{"0b101", true, 5},
		{"12ULL", true, 12},
		{"-3", true, (uint64_t)-3},
		{"18446744073709551615", true, UINT64_MAX},
		{"18446744073709551616", false, 0},
		{"0x", false, 0},
		{"", false, 0},
		{"08", false, 0},
		{"1.5", false, 0},
		{"abc", false, 0},
	};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		uint64_t value = 0;
		CHECK_INT(orma_ctf_to_number(orma_base_str(cases[i].text), &value),
			  cases[i].is_number);
		if (cases[i].is_number)
			CHECK(value == cases[i].value);
	}
}

ORMA_TEST(no_failure_of_memory_is_overlooked)
{
	static const char text[] =
		"typealias " BYTE " := byte; enum e : byte { A, B = 2 ... 3 }; "
		"clock { name = c; }; env { a = 1; };"
		"stream { id = 1; packet.context := struct { byte n; byte x[n]; }; };"
		"event { id = 3; stream_id = 1; name = \"x\"; fields := struct { enum e t; variant "
		"<t> "
		"{ string A; byte B; } v; byte n; struct { byte q[n]; } l[4]; }; };";
	for (uint64_t nth = 1;; nth++) {
		struct orma_ctf_trace trace = {0};
		struct orma_error error = {0};
		orma_test_fail_allocation(nth);
		int r = orma_ctf_trace_open(&trace, "name", orma_base_str(text), &error);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		orma_ctf_trace_done(&trace);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
		if (!has_failed)
			break;
	}
}

ORMA_TEST(clocks_of_any_frequency_give_nanoseconds)
{
	struct orma_ctf_clock clock = {.frequency = 1000000000, .offset_s = 5, .offset = -7};
	CHECK_INT(orma_ctf_clock_ns(&clock, 123), 123);
	CHECK_INT(orma_ctf_clock_offset_ns(&clock), 4999999993);
	clock.frequency = 3;
	CHECK_INT(orma_ctf_clock_ns(&clock, 7), 2333333333);
	clock.frequency = UINT64_C(3000000000);
	CHECK_INT(orma_ctf_clock_ns(&clock, UINT64_C(30000000000) + 1500000000), 10500000000);
}
