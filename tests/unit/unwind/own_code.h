/* SPDX-License-Identifier: Apache-2.0
 * own_code.h - the modules of the running process with their tables, for tests and benchmarks.
 */
#ifndef ORMA_TESTS_UNIT_UNWIND_OWN_CODE_H
#define ORMA_TESTS_UNIT_UNWIND_OWN_CODE_H

#include "unwind/unwind_walk.h"

#define OWN_CODE_MODULES_MAX 64

struct own_code {
	struct orma_unwind_module modules[OWN_CODE_MODULES_MAX];
	struct orma_unwind_cache cache;
	struct orma_unwind_space space;
};

void own_code_init(struct own_code *code);
void own_code_done(struct own_code *code);

#endif
