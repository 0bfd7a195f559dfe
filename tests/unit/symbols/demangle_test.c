/* SPDX-License-Identifier: Apache-2.0
 * demangle_test.c - names of C++ and Rust as the source has them, and hostile ones.
 */
#include <dlfcn.h>
#include <errno.h>

#include "base/alloc.h"
#include "harness.h"
#include "symbols/demangle.h"

static const char *demangle(const char *name)
{
	static char text[1 << 17];
	struct orma_buf buf = {0};
	int r = orma_demangle(name, &buf);

	CHECK(r >= 0 && (r > 0) == (buf.size > 0) && buf.size < sizeof(text));
	snprintf(text, sizeof(text), "%.*s", (int)buf.size, r > 0 ? (const char *)buf.data : "");
	orma_base_buf_done(&buf);
	return text;
}

ORMA_TEST(names_of_rust_are_short)
{
	static const char *const names[][2] = {
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
		{"_RNvMs_NtNtCsbmNqQUJIY6D_4core3fmt3numNtB6_3Foo3bar", "<core::fmt::Foo>::bar"},
		{"_RINvNtCs4fqI2P2rA04_4core3mem4dropNtNtCs9ltgdHTiPiY_5alloc6string6StringECs1_"
		 "3foo",
		 "core::mem::drop::<alloc::string::String>"},
		{"_RNvXs5_NtCs7_3std2ioINtNtCs9_5alloc3vec3VechENtB5_5Write5write",
		 "<alloc::vec::Vec<u8> as std::io::Write>::write"},
		{"_RNCNvC1a4main0B3_", "a::main::{closure#0}"},
		{"_RNCNvC1a4mains_0B3_", "a::main::{closure#1}"},
		{"_RINvC1a1fFG_RL0_hEuDINtC1a1TlEp4ItemhEL_E",
		 "a::f::<for<'a> fn(&'a u8), dyn a::T<i32, Item = u8>>"},
		{"_RINvC1a1fKj3_KlnA_Kb1_Kc41_E", ""}, /* digits are lower case */
		{"_RINvC1a1fKj3_Klna_Kb1_Kc41_KpE", "a::f::<3, -10, true, 'A', _>"},
		{"_RINvC1a1fAhj4_TlsETlESmE", "a::f::<[u8; 4], (i32, i16), (i32,), [u32]>"},
		{"_RINvC1a1fFUKCEuPhOhRhQhE",
		 "a::f::<unsafe extern \"C\" fn(), *const u8, *mut u8, "
		 "&u8, &mut u8>"},
		{"_RNvC1a1f.llvm.123", "a::f"},
		{"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE",
		 "core::fmt::Formatter::write_str"},
		{"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"
		 "17h930b740aa94f1d3aE",
		 "<Test + 'static as foo::Bar<Test>>::bar"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_STR(demangle(names[i][0]), names[i][1]);
}

ORMA_TEST(names_of_cxx_are_those_of_the_source)
{
	if (!dlopen("libstdc++.so.6", RTLD_LAZY))
		orma_test_skip("libstdc++.so.6");
	CHECK_STR(demangle("_ZNSt6vectorIiSaIiEE9push_backERKi"),
		  "std::vector<int, std::allocator<int> >::push_back(int const&)");
	CHECK_STR(demangle("_Z3fooi"), "foo(int)");
	/* It has no hash, so it is not one of Rust. */
	CHECK_STR(demangle("_ZN4core3fmt17habcdefghabcdefghE"), "core::fmt::habcdefghabcdefgh");
}

ORMA_TEST(other_names_stay)
{
	static const char *const names[] = {
		"",       "main", "_",       "_R",        "_Z",         "i",     "_start",    "_RZ",
		"_R1C1a", "_ZN",  "_RNvC1a", "_RNvC9a1f", "_RNvC1a1f_", "_RYB_", "__RNvC1a1f"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_STR(demangle(names[i]), "");
}

ORMA_TEST(names_that_would_never_end_are_refused)
{
	char name[4096];

	/* A path that refers to itself, and one that is too deep. */
	CHECK_STR(demangle("_RNvB_1f"), "");
	CHECK_STR(demangle("_RNvNvB0_1f1g"), "");
	memset(name, 'P', sizeof(name));
	memcpy(name, "_RINvC1a1f", 10);
	name[sizeof(name) - 1] = '\0';
	CHECK_STR(demangle(name), "");
	/* Each pair refers to the one before twice: 2 to the power of 40. */
	size_t size = (size_t)snprintf(name, sizeof(name), "_RINvC1a1fTlsE");
	const char *const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t last = 8; /* where the first pair is, behind the prefix */
	for (int i = 0; i < 40; i++) {
		char reference[4];
		size_t value = last - 1, at = 0;

		if (value >= 62)
			reference[at++] = digits[value / 62];
		reference[at++] = digits[value % 62];
		reference[at] = '\0';
		last = size - 2;
		size += (size_t)snprintf(name + size, sizeof(name) - size, "TB%s_B%s_E", reference,
					 reference);
	}
	snprintf(name + size, sizeof(name) - size, "E");
	CHECK_STR(demangle(name), "");
	/* The same with three levels is fine. */
	CHECK_STR(demangle("_RINvC1a1fTlsETB7_B7_EE"),
		  "a::f::<(i32, i16), ((i32, i16), (i32, i16))>");
}

ORMA_TEST(without_memory_nothing_is_appended)
{
	static const char *const names[] = {"_RNvC1a1f", "_ZN1a1f17h0123456789abcdefE"};

	for (size_t i = 0; i < 2; i++) {
		struct orma_buf buf = {0};
		orma_test_fail_allocation(1);
		CHECK_INT(orma_demangle(names[i], &buf), -ENOMEM);
		orma_test_fail_allocation(0);
		CHECK_INT(buf.size, 0);
		orma_base_buf_done(&buf);
	}
}
