/* SPDX-License-Identifier: Apache-2.0
 * leaf_walk.c - guesses the return address of a function without a rule.
 *
 * Owns nothing. Leaf functions of musl, and assembly code of other libraries, have neither a rule nor
 * a frame. Their return address lies at sp, or in the link register. It is only believed if all of
 * this holds:
 *
 *   - the file has rules for other code, so it is not the code of a JIT compiler;
 *   - sp is where a call leaves it, because calls keep it at multiples of 16;
 *   - the word lies in code that has a rule;
 *   - by that rule, the caller is the outermost function, or its own caller lies in a module.
 *
 * The walk continues from the caller as if the caller had been interrupted within its call. For code
 * without a rule, orma_unwind_walk() follows the frame pointer. This would skip the caller here,
 * because a leaf function leaves the frame pointer of its caller in place.
 *
 * Rejected: looking for a call instruction before the return address, because walks read nothing but
 * the stack; searching more words than the first, because the stack is full of return addresses of
 * earlier calls; making this a part of orma_unwind_walk(), because programs that walk their own stacks
 * begin in a function with a rule and would carry the code for nothing.
 */
#include "unwind/leaf_walk.h"

#include <string.h>

#include "base/macros.h"

#define WORD        8u
#define ALIGNMENT   16u
#define ARM64_CALL  4u
#define ARM64_VALID ((UINT64_C(1) << 48) - 1)

static const struct orma_unwind_module *find_module(const struct orma_unwind_space *space,
						    uint64_t address)
{
	return orma_unwind_find_module(space->modules, space->module_count, address);
}

static bool has_rule(const struct orma_unwind_module *module, uint64_t address)
{
	const struct orma_unwind_rule *rule =
		orma_unwind_table_find(module->table, address - module->bias);

	return rule->cfa != ORMA_UNWIND_CFA_NONE && !rule->is_signal;
}

/* Guesses the registers of the caller, with a pc within its call. */
static bool guess_caller(const struct orma_unwind_space *space,
			 const struct orma_unwind_registers *registers,
			 const struct orma_unwind_stack *stack, struct orma_unwind_registers *ret)
{
	uint64_t offset = registers->sp - stack->address, pc;

	*ret = (struct orma_unwind_registers){.sp = registers->sp, .fp = registers->fp};
	if (space->is_arm64) {
		ret->pc = (registers->lr & ARM64_VALID) - ARM64_CALL;
		return registers->lr != 0;
	}
	if (registers->sp % ALIGNMENT != ALIGNMENT - WORD || stack->size < WORD ||
	    offset > stack->size - WORD)
		return false;
	memcpy(&pc, (const char *)stack->bytes + offset, WORD);
	ret->pc = pc - 1;
	ret->sp += WORD;
	return pc != 0;
}

/* A walk that waits for a table counts as believable, because it is repeated when the table has been made. */
static bool is_believable(const struct orma_unwind_space *space,
			  const struct orma_unwind_result *result, const uint64_t *addresses)
{
	return result->end == ORMA_UNWIND_END_PENDING ||
	       (result->frame_count == 1 ? result->end == ORMA_UNWIND_END_OUTERMOST
					 : find_module(space, addresses[1]) != NULL);
}

bool orma_unwind_leaf_walk(const struct orma_unwind_space *space,
			   const struct orma_unwind_registers *registers,
			   const struct orma_unwind_stack *stack, uint64_t *ret_addresses,
			   size_t max, struct orma_unwind_result *ret)
{
	const struct orma_unwind_module *module = find_module(space, registers->pc), *callers;
	struct orma_unwind_registers caller;

	if (!module || !module->table || has_rule(module, registers->pc) ||
	    !guess_caller(space, registers, stack, &caller))
		return false;
	callers = find_module(space, caller.pc);
	if (!callers ||
	    (!callers->is_pending && (!callers->table || !has_rule(callers, caller.pc))))
		return false;
	struct orma_unwind_result result =
		orma_unwind_walk(space, &caller, stack, ret_addresses + 1, max - 1);
	if (!is_believable(space, &result, ret_addresses + 1))
		return false;
	ret_addresses[0] = registers->pc;
	result.frame_count++;
	*ret = result;
	return true;
}
