/* SPDX-License-Identifier: Apache-2.0
 * harness.h - the test runner: each test is a function in a child process of its own.
 *
 * ORMA_TEST(name_as_a_sentence) { ... } registers a test. A test fails when a CHECK fails, when it
 * crashes, leaves a descriptor or a child process behind, or takes longer than its timeout. Exit
 * status 77 of the program means that every test was skipped. `program NAME...` runs the named
 * tests only.
 */
#ifndef ORMA_TESTS_HARNESS_H
#define ORMA_TESTS_HARNESS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1 when AddressSanitizer watches this program. */
#if defined(__SANITIZE_ADDRESS__)
#define ORMA_TEST_HAS_ASAN 1
#elif defined(__has_feature)
#define ORMA_TEST_HAS_ASAN __has_feature(address_sanitizer)
#else
#define ORMA_TEST_HAS_ASAN 0
#endif

struct orma_test {
	const char *name;
	void (*run)(void);
	struct orma_test *next;
};

void orma_test_register(struct orma_test *test);
_Noreturn void orma_test_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Ends the test as skipped, saying what was missing; under CI=true that is a failure. */
_Noreturn void orma_test_skip(const char *missing);
/* Skips the test if an emulator runs it, which is no failure under CI=true. */
void orma_test_skip_if_emulated(const char *missing);
/* Skips the test on an i386 that QEMU emulates: after a signal, a thread has the thread-local storage of another one there
 * (QEMU 7.2). */
void orma_test_need_tls_after_signals(void);
/* A temporary folder, removed with its content when the test ends. */
const char *orma_test_tmpdir(void);
/* Makes the n-th allocation from now fail (1 = the next one); 0 turns that off. */
void orma_test_fail_allocation(uint64_t nth);
/* True when the planned failure has happened since orma_test_fail_allocation(). */
bool orma_test_allocation_failed(void);

#define ORMA_TEST(test_name)                                                                       \
	static void test_name(void);                                                               \
	__attribute__((constructor)) static void register_##test_name(void)                        \
	{                                                                                          \
		static struct orma_test test = {#test_name, test_name, NULL};                      \
		orma_test_register(&test);                                                         \
	}                                                                                          \
	static void test_name(void)

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			orma_test_fail(__FILE__, __LINE__, "%s", #condition);                      \
	} while (0)

#define CHECK_INT(actual, expected)                                                                \
	do {                                                                                       \
		long long actual_ = (long long)(actual), expected_ = (long long)(expected);        \
		if (actual_ != expected_)                                                          \
			orma_test_fail(__FILE__, __LINE__, "%s is %lld, expected %lld", #actual,   \
				       actual_, expected_);                                        \
	} while (0)

#define CHECK_STR(actual, expected)                                                                \
	do {                                                                                       \
		const char *actual_ = (actual), *expected_ = (expected);                           \
		if (!actual_ || strcmp(actual_, expected_) != 0)                                   \
			orma_test_fail(__FILE__, __LINE__, "%s is \"%s\", expected \"%s\"",        \
				       #actual, actual_ ? actual_ : "(null)", expected_);          \
	} while (0)

#define CHECK_MEM(actual, actual_size, expected, expected_size)                                    \
	do {                                                                                       \
		CHECK_INT(actual_size, expected_size);                                             \
		CHECK((expected_size) == 0 || memcmp((actual), (expected), (expected_size)) == 0); \
	} while (0)

#endif
