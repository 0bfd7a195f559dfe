/* SPDX-License-Identifier: Apache-2.0
 * ctf_fields_test.c - every type of the Common Trace Format, in both byte orders and at any place, as arguments of events.
 */
#include "ctf_fixture.h"

static const char *const byte_orders[] = {"le", "be"};

/* Writes one event with fields, imports it, and compares its arguments but for its contexts. */
static void check_fields(const char *events, void (*put)(struct ctf_bytes *bytes),
			 const char *expected)
{
	for (int i = 0; i < 2; i++) {
		static struct ctf_bytes bytes;
		static struct import_fixture fixture;
		struct orma_ctf_report report;
		bytes = (struct ctf_bytes){.is_big_endian = i == 1};
		ctf_packet_begin(&bytes, 1000, 3, 0, 0);
		ctf_event(&bytes, 1, 1001);
		put(&bytes);
		ctf_packet_end(&bytes, 2000);
		ctf_write_metadata(orma_test_tmpdir(), byte_orders[i], "ust", events);
		ctf_write_stream(orma_test_tmpdir(), "stream", &bytes);
		ctf_import(orma_test_tmpdir(), &fixture, &report);
		CHECK_INT(report.counts.events, 1);
		CHECK_INT(report.counts.bad_packets, 0);
		const char *args = import_slice_args(&fixture, 0), *begin;
		CHECK(args);
		begin = strstr(args, "debug.context.cpu_id=3");
		CHECK(begin);
		begin += strlen("debug.context.cpu_id=3");
		CHECK_STR(*begin == ' ' ? begin + 1 : begin, expected);
		import_done(&fixture);
	}
}

/* The stream ends, and an event with the given fields follows. */
#define EVENT(fields) EVENT_WITH("", fields)
#define EVENT_WITH(types, fields)                                                                  \
	"};\n" types "event { name = \"p:e\"; id = 1; stream_id = 0; fields := struct {" fields    \
	"}; };\n"

static void put_bits(struct ctf_bytes *bytes)
{
	ctf_put(bytes, 3, 1, 5);
	ctf_put(bytes, 13, 1, 4097);
	ctf_put(bytes, 1, 1, 1);
	ctf_put(bytes, 63, 1, UINT64_C(0x7edcba9876543210));
	ctf_put(bytes, 5, 1, 0x1f); /* -1 */
	ctf_put(bytes, 64, 1, UINT64_C(0xfedcba9876543210));
	ctf_put(bytes, 24, 8, 0x123456);
	ctf_put(bytes, 24, 8, 0xfffffe); /* -2 */
	ctf_put(bytes, 16, 32, 7);
}

ORMA_TEST(integers_have_any_size_at_any_bit)
{
	check_fields(
		EVENT("integer { size = 3; } a; integer { size = 13; align = 1; } b;"
		      "integer { size = 1; } c; integer { size = 63; align = 1; } d;"
		      "integer { size = 5; signed = 1; } e; integer { size = 64; align = 1; } f;"
		      "integer { size = 24; } g; integer { size = 24; signed = true; } h;"
		      "integer { size = 16; align = 32; } i;"),
		put_bits,
		"debug.a=5 debug.b=4097 debug.c=1 debug.d=9141386507638288912 debug.e=-1 "
		"debug.f=-81985529216486896 debug.g=1193046 debug.h=-2 debug.i=7");
}

static void put_other_order(struct ctf_bytes *bytes)
{
	bool is_big_endian = bytes->is_big_endian;
	bytes->is_big_endian = true;
	ctf_put(bytes, 32, 8, 0x01020304);
	ctf_put_float(bytes, 1.5f);
	bytes->is_big_endian = false;
	ctf_put(bytes, 16, 8, 0xfffe); /* -2, which has no sign in hexadecimal */
	ctf_put_double(bytes, -0.125);
	bytes->is_big_endian = is_big_endian;
	ctf_put(bytes, 16, 8, 0x0708);
	ctf_put_float(bytes, 1e10f);
}

ORMA_TEST(fields_may_have_an_order_of_their_own)
{
	check_fields(EVENT("integer { size = 32; byte_order = network; } a;"
			   "floating_point { byte_order = be; exp_dig = 8; mant_dig = 24; } b;"
			   "integer { size = 16; byte_order = le; base = 16; signed = 1; } c;"
			   "floating_point { byte_order = le; exp_dig = 11; mant_dig = 53; } d;"
			   "integer { size = 16; } e;"
			   "floating_point { exp_dig = 8; mant_dig = 24; } f;"),
		     put_other_order,
		     "debug.a=16909060 debug.b=1.5 debug.c=65534 debug.d=-0.125 debug.e=1800 "
		     "debug.f=1e+10");
}

static void put_texts(struct ctf_bytes *bytes)
{
	ctf_put(bytes, 4, 1, 9);
	ctf_put_text(bytes, "after bits");
	ctf_put_array(bytes, "abc", 5);
	ctf_put_array(bytes, "whole", 5);
	ctf_put(bytes, 32, 8, 3);
	ctf_put_array(bytes, "xyz", 3);
	ctf_put_text(bytes, "");
	ctf_put(bytes, 32, 8, 0);
	ctf_put(bytes, 8, 8, 65);
}

ORMA_TEST(texts_are_strings_and_arrays_of_characters)
{
	check_fields(
		EVENT("integer { size = 4; } a; string b;"
		      "integer { size = 8; encoding = UTF8; } c[5];"
		      "integer { size = 8; encoding = ASCII; } d[5];"
		      "uint32_t __e_length; integer { size = 8; encoding = UTF8; } _e[__e_length];"
		      "string { encoding = ASCII; } f; uint32_t n;"
		      "integer { size = 8; encoding = UTF8; } g[n];"
		      "integer { size = 8; encoding = UTF8; } h;"),
		put_texts,
		"debug.a=9 debug.b=after bits debug.c=abc debug.d=whole debug.e=xyz debug.f= "
		"debug.n=0 debug.g= debug.h=65");
}

static void put_lists(struct ctf_bytes *bytes)
{
	for (unsigned i = 0; i < 6; i++)
		ctf_put(bytes, 12, 1, i + 100);
	ctf_put(bytes, 8, 8, 2);
	for (unsigned i = 0; i < 2; i++) {
		ctf_put(bytes, 8, 16, i + 1);
		ctf_put(bytes, 16, 16, 1000 + i);
		ctf_put(bytes, 8, 8, i + 1);
		for (unsigned k = 0; k <= i; k++)
			ctf_put(bytes, 32, 8, (uint64_t) - (int64_t)k - 1);
	}
}

ORMA_TEST(arrays_nest_and_sequences_have_structures)
{
	check_fields(EVENT("integer { size = 12; align = 1; } m[2][3]; uint8_t n;"
			   "struct { uint8_t tag; integer { size = 16; align = 16; } v; uint8_t k;"
			   "int32_t list[k]; } s[n];"),
		     put_lists,
		     "debug.m[0][0]=100 debug.m[0][1]=101 debug.m[0][2]=102 debug.m[1][0]=103 "
		     "debug.m[1][1]=104 debug.m[1][2]=105 debug.n=2 debug.s[0].tag=1 "
		     "debug.s[0].v=1000 debug.s[0].k=1 debug.s[0].list[0]=-1 debug.s[1].tag=2 "
		     "debug.s[1].v=1001 debug.s[1].k=2 debug.s[1].list[0]=-1 "
		     "debug.s[1].list[1]=-2");
}

static void put_enums(struct ctf_bytes *bytes)
{
	static const int8_t values[] = {-5, 0, 1, 2, 7, 100};
	for (size_t i = 0; i < sizeof(values); i++)
		ctf_put(bytes, 8, 8, (uint8_t)values[i]);
	ctf_put(bytes, 3, 1, 6);
}

ORMA_TEST(enumerations_have_labels_and_ranges)
{
	check_fields(
		EVENT_WITH("typealias integer { size = 8; signed = true; } := small;\n"
			   "enum level : small { LOW = -8 ... -1, ZERO, ONE = 1, \"a label\" = "
			   "2...0x7, };\n",
			   "enum level a; enum level b; enum level c; enum level d; enum level e;"
			   "enum level f; enum : integer { size = 3; } { six = 6 } g;"),
		put_enums,
		"debug.a=LOW debug.b=ZERO debug.c=ONE debug.d=a label debug.e=a label "
		"debug.f=100 debug.g=six");
}

static void put_variants(struct ctf_bytes *bytes)
{
	ctf_put(bytes, 8, 8, 1);
	ctf_put(bytes, 8, 8, 2);
	ctf_put_text(bytes, "one");
	ctf_put(bytes, 8, 8, 77);
	ctf_put(bytes, 8, 8, 8);
	ctf_put_double(bytes, 2.5);
	ctf_put(bytes, 8, 8, 3);
	for (unsigned i = 0; i < 3; i++) {
		ctf_put(bytes, 8, 8, i % 2 + 1);
		if (i % 2 == 0)
			ctf_put_text(bytes, "x");
		else
			ctf_put(bytes, 8, 8, i);
	}
}

ORMA_TEST(variants_are_chosen_by_fields_before_them)
{
	check_fields(
		EVENT_WITH(
			"enum kind : uint8_t { text = 1, number = 2, other = 3 ... 9 };\n"
			"variant choice { string text; uint8_t number; floating_point { exp_dig = "
			"11; "
			"mant_dig = 53; } other; };\n",
			"enum kind t; struct { enum kind t; variant choice <event.fields.t> v; } s;"
			"variant choice <s.t> w; enum kind o; variant choice <o> x; uint8_t n;"
			"struct { enum kind t; variant <t> { string text; uint8_t number; } v; } "
			"l[n];"),
		put_variants,
		"debug.t=text debug.s.t=number debug.s.v.text=one debug.w.number=77 "
		"debug.o=other debug.x.other=2.5 debug.n=3 debug.l[0].t=text "
		"debug.l[0].v.text=x debug.l[1].t=number debug.l[1].v.number=1 "
		"debug.l[2].t=text debug.l[2].v.text=x");
}

static void put_contexts(struct ctf_bytes *bytes)
{
	ctf_put(bytes, 8, 8, 2);  /* the stream's */
	ctf_put(bytes, 32, 8, 5); /* the event's */
	for (unsigned i = 0; i < 2; i++)
		ctf_put(bytes, 8, 8, 10 + i);
	ctf_put(bytes, 8, 8, 42);
	for (unsigned i = 0; i < 2; i++)
		ctf_put(bytes, 8, 8, 20 + i);
}

ORMA_TEST(contexts_are_arguments_and_give_lengths)
{
	check_fields(
		" event.context := struct { uint8_t _count; }; };\n"
		"event { name = \"p:e\"; id = 1; stream_id = 0;"
		" context := struct { int32_t _perf; uint8_t _early[_count]; };"
		" fields := struct { uint8_t _x; uint8_t y[stream.event.context._count]; }; };",
		put_contexts,
		"debug.context.count=2 debug.context.perf=5 debug.context.early[0]=10 "
		"debug.context.early[1]=11 debug.x=42 debug.y[0]=20 debug.y[1]=21");
}

static void put_names(struct ctf_bytes *bytes)
{
	ctf_put(bytes, 16, 8, 300);
	ctf_put(bytes, 64, 8, 64);
	ctf_put(bytes, 32, 8, 9);
	ctf_put(bytes, 8, 8, 1);
	ctf_put(bytes, 8, 8, 2);
	ctf_put(bytes, 8, 64, 3);
}

ORMA_TEST(names_of_types_are_looked_up_in_their_scopes)
{
	check_fields(
		EVENT_WITH("typealias integer { size = 16; } := unsigned short int;\n"
			   "typealias integer { size = 64; base = 16; } := const void *;\n"
			   "typedef uint8_t pair[2];\n"
			   "struct point { typealias uint32_t := coordinate; coordinate x; };\n"
			   "struct wide { uint8_t b; } align(64);\n",
			   "const unsigned short int a; const void * p; struct point q; pair r;"
			   "struct wide w;"),
		put_names,
		"debug.a=300 debug.p=64 debug.q.x=9 debug.r[0]=1 debug.r[1]=2 debug.w.b=3");
}

static void put_nothing(struct ctf_bytes *bytes)
{
	(void)bytes;
}

ORMA_TEST(elements_without_bits_are_read_once)
{
	check_fields(
		EVENT("struct { } e[4000000000]; struct { struct { } a[1000000]; } f[1000000];"),
		put_nothing, "");
}
