/* SPDX-License-Identifier: Apache-2.0
 * leaf_walk.h - the callers of functions that have neither a rule nor a frame: leaves, and trampolines.
 *
 * Threads: any, also in signal handlers.
 */
#ifndef ORMA_UNWIND_LEAF_WALK_H
#define ORMA_UNWIND_LEAF_WALK_H

#include "unwind/unwind_walk.h"

/* As orma_unwind_walk(), if the innermost frame is that of such a function; `max` is at least 2. False if
 * it does not look like one; then nothing but the addresses has changed. */
bool orma_unwind_leaf_walk(const struct orma_unwind_space *space,
			   const struct orma_unwind_registers *registers,
			   const struct orma_unwind_stack *stack, uint64_t *ret_addresses,
			   size_t max, struct orma_unwind_result *ret);

/*
 * Goes on behind a trampoline. A walk from `registers` has ended in code without a file and without a rule, with
 * result->frame_count frames. Writes the frames of its callers behind them, and puts the registers and the result of their walk into
 * `registers` and `result`. False if it does not look like a trampoline, or if there is no room; then no frame of the walk has changed.
 */
bool orma_unwind_trampoline_walk(const struct orma_unwind_space *space,
				 struct orma_unwind_registers *registers,
				 const struct orma_unwind_stack *stack, uint64_t *ret_addresses,
				 size_t max, struct orma_unwind_result *result);

#endif
