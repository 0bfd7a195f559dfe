/* SPDX-License-Identifier: Apache-2.0
 * inlined_code.h - functions whose addresses tests look up.
 */
#ifndef ORMA_TESTS_INLINED_CODE_H
#define ORMA_TESTS_INLINED_CODE_H

/* A function with others inlined into it, and the one behind it. */
int orma_test_inlined_code(int value);
int orma_test_inlined_code_end(void);

#endif
