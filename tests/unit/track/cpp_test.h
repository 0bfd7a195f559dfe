/* SPDX-License-Identifier: Apache-2.0
 * cpp_test.h - values that cpp_test.cc emits and cpp_test.c reads back.
 */
#ifndef ORMA_TESTS_UNIT_TRACK_CPP_TEST_H
#define ORMA_TESTS_UNIT_TRACK_CPP_TEST_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Too long for the fast path. The text goes on behind the part that is emitted. */
#define CPP_LONG_BYTES 3000
extern char cpp_long_text[CPP_LONG_BYTES + 8];

void cpp_emit_views(void);
void cpp_emit_enums(void);
void cpp_emit_names(void);
void cpp_emit_if(bool is_first);
bool cpp_loops_else(bool enters);

#ifdef __cplusplus
}
#endif
#endif
