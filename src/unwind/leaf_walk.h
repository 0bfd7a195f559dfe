/* SPDX-License-Identifier: Apache-2.0
 * leaf_walk.h - the callers of a leaf function that has neither a rule nor a frame.
 */
#ifndef ORMA_UNWIND_LEAF_WALK_H
#define ORMA_UNWIND_LEAF_WALK_H

#include "unwind/unwind_walk.h"

/* orma_unwind_walk() for such a function; at least two places. False, with nothing but the addresses
 * changed, when the innermost frame is not known to be one. */
bool orma_unwind_leaf_walk(const struct orma_unwind_space *space,
			   const struct orma_unwind_registers *registers,
			   const struct orma_unwind_stack *stack, uint64_t *ret_addresses,
			   size_t max, struct orma_unwind_result *ret);

#endif
