/* SPDX-License-Identifier: Apache-2.0
 * cfi_run.h - runs the program of a function's call frame information.
 */
#ifndef ORMA_UNWIND_CFI_RUN_H
#define ORMA_UNWIND_CFI_RUN_H

#include "unwind/cfi_parse.h"
#include "unwind/unwind_rule.h"

/* Gets the rule from `start` to `end`, addresses of the file. Calls are in order and without gaps.
 * 0, or an error that ends the run. */
typedef int orma_cfi_row_fn(void *ctx, uint64_t start, uint64_t end,
			    const struct orma_unwind_rule *rule);

/* The whole function gets rows. Where its program is damaged, its rule is ORMA_UNWIND_CFA_OTHER
 * from there on. 0, or the error of `row`. */
int orma_cfi_run(const struct orma_cfi_section *section, const struct orma_cfi_common *common,
		 const struct orma_cfi_function *function, orma_cfi_row_fn *row, void *ctx);

#endif
