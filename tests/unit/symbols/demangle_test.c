/* SPDX-License-Identifier: Apache-2.0
 * demangle_test.c - names of C++ and Rust as the source has them, and hostile ones.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>

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

static FILE *popen_names(const char *path)
{
	char command[PATH_MAX + 64];

	snprintf(command, sizeof(command), "nm -D --defined-only %s | sed -n 's/.* \\(_Z\\)/\\1/p'",
		 path);
	FILE *names = popen(command, "r");
	CHECK(names);
	return names;
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
	static const char *const names[][2] = {
		{"_ZNSt6vectorIiSaIiEE9push_backERKi",
		 "std::vector<int, std::allocator<int> >::push_back(int const&)"},
		{"_Z3fooi", "foo(int)"},
		{"_ZN4core3fmt17habcdefghabcdefghE", "core::fmt::habcdefghabcdefgh"},
		{"_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc",
		 "std::basic_ostream<char, std::char_traits<char> >& std::operator<< "
		 "<std::char_traits<char> >(std::basic_ostream<char, std::char_traits<char> >&, "
		 "char const*)"},
		{"_ZNKSi6gcountEv", "std::istream::gcount() const"},
		{"_ZNSsC1EPKcRKSaIcE",
		 "std::basic_string<char, std::char_traits<char>, std::allocator<char> "
		 ">::basic_string(char const*, std::allocator<char> const&)"},
		{"_ZN1AD0Ev", "A::~A()"},
		{"_ZN1AcviEv", "A::operator int()"},
		{"_ZN3fooILi3ELb1EEEvPA5_KcPFviE",
		 "void foo<3, true>(char const (*) [5], void (*)(int))"},
		{"_ZN3foo3barEM1AFivKE", ""},
		{"_Z1fIJidEEvDpOT_", "void f<int, double>(int&&, double&&)"},
		{"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const"},
		{"_ZZN1a1bEvE1c_0", "a::b()::c"},
		{"_ZTV3Foo", "vtable for Foo"},
		{"_ZThn16_N1A1fEv", "non-virtual thunk to A::f()"},
		{"_ZGVZ1fvE1x", "guard variable for f()::x"},
		{"_ZN12_GLOBAL__N_11fEv.constprop.0",
		 "(anonymous namespace)::f() [clone .constprop.0]"},
		{"_ZN1a1fB5cxx11Ev", "a::f[abi:cxx11]()"},
		{"_ZplRK1AS1_", "operator+(A const&, A const&)"},
		{"_ZN1AIN1BIiEEE1fEv", "A<B<int> >::f()"},
		{"_ZNKR1A1gEv", "A::g() const &"},
		{"_Z1gDv4_f", "g(float __vector(4))"},
		{"_Z1hILl5EEvv", "void h<5l>()"},
		{"_ZN4llvm10checkedAddIiEENSt9enable_ifIXsr3std9is_signedIT_EE5valueENS_"
		 "8OptionalIS2_EEE4typeES2_S2_",
		 "std::enable_if<std::is_signed<int>::value, llvm::Optional<int> >::type "
		 "llvm::checkedAdd<int>(int, int)"},
		{"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEED4Ev",
		 "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
		 ">::~basic_string()"},
		{"_Z1qIiEDTpltlT_EfpE", ""},
		{"_ZN1A1BE", "A::B"},
		{"_ZSt4cout", "std::cout"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_STR(demangle(names[i][0]), names[i][1]);
}

ORMA_TEST(names_of_cxx_that_would_fill_the_memory_are_refused)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[4096];
	size_t size = (size_t)snprintf(name, sizeof(name), "_Z1fSt4pairIiiE");

	/* Each pair has the one before twice. */
	for (unsigned i = 0; i < 30; i++)
		size += (size_t)snprintf(name + size, sizeof(name) - size, "S_IS%c_S%c_E",
					 digits[i], digits[i]);
	CHECK_STR(demangle(name), "");
	/* Pointers to pointers, and classes in classes. */
	memset(name, 'P', sizeof(name));
	memcpy(name, "_Z1f", 4);
	name[sizeof(name) - 1] = '\0';
	CHECK_STR(demangle(name), "");
	size = 0;
	while (size + 8 < sizeof(name))
		size += (size_t)snprintf(name + size, sizeof(name) - size, size ? "1aI" : "_Z");
	CHECK_STR(demangle(name), "");
}

/* Each name of the C++ library is as the library itself prints it. */
ORMA_TEST(names_of_a_library_are_those_that_it_prints_itself)
{
	void *library = dlopen("libstdc++.so.6", RTLD_LAZY);
	char *(*reference)(const char *, char *, size_t *, int *) = NULL;
	struct link_map *map = NULL;

	if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) < 0)
		orma_test_skip("libstdc++.so.6");
	*(void **)&reference = dlsym(library, "__cxa_demangle");
	CHECK(reference);
	FILE *names = popen_names(map->l_name);
	unsigned count = 0, different = 0;
	char name[4096];
	while (fgets(name, sizeof(name), names)) {
		name[strcspn(name, "@\n")] = '\0';
		char *text = reference(name, NULL, NULL, NULL);
		count += text != NULL;
		different += text && strcmp(text, demangle(name)) != 0;
		free(text);
	}
	pclose(names);
	if (count == 0)
		orma_test_skip("nm");
	CHECK(count > 1000 && different * 1000 <= count);
}

ORMA_TEST(names_that_are_not_mangled_stay)
{
	static const char *const names[] = {"",           "main",  "_",       "_R",
					    "_Z",         "i",     "_start",  "_RZ",
					    "_R1C1a",     "_ZN",   "_RNvC1a", "_RNvC9a1f",
					    "_RNvC1a1f_", "_RYB_", "_RNvC00", "__RNvC1a1f"};

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
	static const char *const names[] = {"_RNvC1a1f", "_ZN1a1f17h0123456789abcdefE", "_Z1fv"};

	for (size_t i = 0; i < 3; i++) {
		struct orma_buf buf = {0};
		orma_test_fail_allocation(1);
		CHECK_INT(orma_demangle(names[i], &buf), -ENOMEM);
		orma_test_fail_allocation(0);
		CHECK_INT(buf.size, 0);
		orma_base_buf_done(&buf);
	}
}
