/* SPDX-License-Identifier: Apache-2.0
 * cfi_run.h - runs the program of a function's call frame information.
 *
 * Threads: any. Nothing is kept.
 */
#ifndef ORMA_UNWIND_CFI_RUN_H
#define ORMA_UNWIND_CFI_RUN_H

#include "unwind/cfi_parse.h"
#include "unwind/unwind_rule.h"

/* Receives the rule for the addresses of the file from `start` up to `end`. Calls are in order of
 * addresses, without gaps. 0, or an error that ends the run. */
typedef int orma_cfi_row_fn(void *ctx, uint64_t start, uint64_t end,
			    const struct orma_unwind_rule *rule);

/* Calls `row` for all addresses of the function. From the place where its program is damaged, the rule
 * is ORMA_UNWIND_CFA_OTHER. 0, or the error of `row`. */
int orma_cfi_run(const struct orma_cfi_section *section, const struct orma_cfi_common *common,
		 const struct orma_cfi_function *function, orma_cfi_row_fn *row, void *ctx);

#endif
