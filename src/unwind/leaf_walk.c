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
 * The interpreter of Python calls its functions through trampolines if it was started with -X perf. Each is a copy of
 * "sub $8,%rsp; call *%rcx; add $8,%rsp; ret" in memory without a file, so it has no rule and no frame. The address to which it
 * returns lies at sp + 8, and is believed under the same conditions.
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

static bool is_caller(const struct orma_unwind_space *space, uint64_t address)
{
	const struct orma_unwind_module *module = find_module(space, address);

	return module && (module->is_pending || (module->table && has_rule(module, address)));
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
	const struct orma_unwind_module *module = find_module(space, registers->pc);
	struct orma_unwind_registers caller;

	if (!module || !module->table || has_rule(module, registers->pc) ||
	    !guess_caller(space, registers, stack, &caller) || !is_caller(space, caller.pc))
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

/* Finds the registers of the outermost frame of a walk that has ended without a rule, by a second walk with a memo. False if that one
 * is another walk, as that of a leaf is. */
static bool find_last_frame(const struct orma_unwind_space *space,
			    const struct orma_unwind_registers *registers,
			    const struct orma_unwind_stack *stack, size_t count,
			    struct orma_unwind_memo_frame *ret)
{
	uint64_t addresses[ORMA_UNWIND_MEMO_FRAMES];
	struct orma_unwind_memo memo;
	struct orma_unwind_space recorded = *space;

	if (count >= ORMA_ARRAY_SIZE(addresses))
		return false;
	memo.generation = space->generation;
	memo.count = 0;
	recorded.memo = &memo;
	struct orma_unwind_result result =
		orma_unwind_walk(&recorded, registers, stack, addresses, count + 1);
	if (result.end != ORMA_UNWIND_END_NO_RULE || result.frame_count != count ||
	    memo.count != count)
		return false;
	*ret = memo.frames[0];
	return true;
}

bool orma_unwind_trampoline_walk(const struct orma_unwind_space *space,
				 struct orma_unwind_registers *registers,
				 const struct orma_unwind_stack *stack, uint64_t *ret_addresses,
				 size_t max, struct orma_unwind_result *result)
{
	struct orma_unwind_memo_frame last;
	size_t count = result->frame_count;
	uint64_t pc;

	if (space->is_arm64 || count >= max ||
	    !find_last_frame(space, registers, stack, count, &last) || last.sp % ALIGNMENT != 0 ||
	    stack->size < 2 * (uint64_t)WORD ||
	    last.sp - stack->address > stack->size - 2 * (uint64_t)WORD)
		return false;
	memcpy(&pc, (const char *)stack->bytes + (last.sp - stack->address) + WORD, WORD);
	const struct orma_unwind_registers caller = {
		.pc = pc - 1, .sp = last.sp + 2 * (uint64_t)WORD, .fp = last.fp};
	if (!is_caller(space, caller.pc))
		return false;
	struct orma_unwind_result callers =
		orma_unwind_walk(space, &caller, stack, ret_addresses + count, max - count);
	if (!is_believable(space, &callers, ret_addresses + count))
		return false;
	*registers = caller;
	*result = callers;
	return true;
}
