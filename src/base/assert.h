/* SPDX-License-Identifier: Apache-2.0
 * assert.h - checks of what our own code guarantees.
 *
 * ORMA_ASSERT() states an invariant: a condition that holds at that line unless orma itself has a
 * bug. It never judges input. Anything that comes from another process, a file, the command line or
 * a caller of the public API is checked in every build and refused with an error.
 *
 * The checks are compiled in when ORMA_ASSERTS is defined: in debug, test and sanitizer builds. A
 * library must not end the program that it is a guest in, so release builds and the amalgamation
 * have no checks, with or without NDEBUG. tests/rules/canary.c shows that the test builds have
 * them.
 */
#ifndef ORMA_BASE_ASSERT_H
#define ORMA_BASE_ASSERT_H

#ifdef ORMA_ASSERTS
/* Prints the invariant on standard error and aborts. */
_Noreturn void orma_base_assert_failed(const char *file, int line, const char *function,
				       const char *condition);

/* 1 in builds with checks, 0 in others. Guards checks that need more code than one condition. */
#define ORMA_ASSERTS_ENABLED 1
#define ORMA_ASSERT(condition)                                                                     \
	(__builtin_expect(!(condition), 0)                                                         \
		 ? orma_base_assert_failed(__FILE__, __LINE__, __func__, #condition)               \
		 : (void)0)
#else
/* Compiled, so that the condition stays valid C, but never evaluated. */
#define ORMA_ASSERTS_ENABLED   0
#define ORMA_ASSERT(condition) ((void)sizeof(!(condition)))
#endif

#endif
