/* SPDX-License-Identifier: Apache-2.0
 * unwind_walk.c - walks a stack with the tables of its modules.
 *
 * A frame is {pc, sp, fp}. The rule at pc gives the CFA, which becomes sp of the caller, and the
 * places of the return address and of fp. Words are read from the given bytes only, and each read is
 * checked. So neither a hostile stack nor a wrong table makes the walk read anything else. Every walk
 * ends, because the number of frames is limited. Besides, sp must rise with every frame; only the caller
 * of a signal's frame may be on another stack.
 *
 * A return address lies after its call, and the call may be the last instruction of its function. So the
 * rule is that of the address before it. The rule of a frame that a signal interrupted is that of its pc.
 *
 * Code without a rule, such as that of JIT compilers, is taken to keep a frame pointer, with the caller's
 * fp and the return address at fp. Such a frame is only believed if the return address lies in a module,
 * and it is counted.
 *
 * A memo (struct orma_unwind_memo) makes repeated walks faster. The caller of a frame depends on its
 * address, sp and fp, and on two words of the stack at places that the rule gives: the return address and
 * the saved fp. So if a walk meets a frame of the last walk with the same registers, and both words have
 * not changed, the next frame is the same as in the last walk. A CPU compares several frames in parallel,
 * but follows one only after the other. A frame whose rule reads more than these words, and the frames
 * around a signal, have return_slot 0 and are always followed.
 */
#include "unwind/unwind_walk.h"

#include <string.h>

#include "base/macros.h"

#define WORD        8u
#define ARM64_CALL  4u
#define ARM64_VALID ((UINT64_C(1) << 48) - 1) /* above it lie signatures of return addresses */

struct walk {
	const struct orma_unwind_space *space;
	const struct orma_unwind_stack *stack;
	const struct orma_unwind_module *module; /* the last one that was found, or NULL */
	uint64_t address; /* where the rule is searched: pc, or within the call */
	uint64_t sp, fp, lr;
	bool is_interrupted; /* the innermost frame, or the one that a signal interrupted */
	size_t fp_count;
	/* The last step's members of orma_unwind_memo_frame. */
	uint64_t return_slot, return_word, fp_slot, fp_word;
};

static bool read_word(const struct walk *walk, uint64_t address, uint64_t *ret)
{
	const struct orma_unwind_stack *stack = walk->stack;
	uint64_t offset = address - stack->address;

	if (stack->size < WORD || offset > stack->size - WORD)
		return false;
	memcpy(ret, (const char *)stack->bytes + offset, WORD);
	return true;
}

/* --- rules ------------------------------------------------------------------------------------ */

/* Stands for the rules of a module whose table is missing; recognized by its address. */
static const struct orma_unwind_rule pending = {.cfa = ORMA_UNWIND_CFA_OTHER};

/* Most callers are in the module of what they call. */
static const struct orma_unwind_module *enter_module(struct walk *walk)
{
	const struct orma_unwind_module *module = walk->module;

	if (!module || walk->address < module->start || walk->address >= module->end)
		walk->module = module = orma_unwind_find_module(
			walk->space->modules, walk->space->module_count, walk->address);
	return module;
}

static const struct orma_unwind_rule *find_rule(struct walk *walk)
{
	static const struct orma_unwind_rule nothing = {.cfa = ORMA_UNWIND_CFA_NONE};
	const struct orma_unwind_space *space = walk->space;
	const struct orma_unwind_module *module = enter_module(walk);

	if (module && module->is_pending)
		return &pending;
	if (!module || !module->table)
		return &nothing;
	uint64_t address = walk->address - module->bias;
	if (!space->cache)
		return orma_unwind_table_find(module->table, address);
	/* The low bits separate calls, and the others separate tables. */
	size_t at = (size_t)(address ^ address >> 12 ^ module->table_number << 5) &
		    (space->cache_count - 1);
	struct orma_unwind_cache_slot *slot = &space->cache[at];
	if (slot->rule && slot->address == address && slot->table_number == module->table_number)
		return slot->rule;
	*slot = (struct orma_unwind_cache_slot){address, module->table_number,
						orma_unwind_table_find(module->table, address)};
	return slot->rule;
}

/* The distance from a return address back into its call. */
static uint64_t call_size(const struct orma_unwind_space *space)
{
	return space->is_arm64 ? ARM64_CALL : 1;
}

/* --- one frame -------------------------------------------------------------------------------- */

static bool get_cfa(const struct walk *walk, const struct orma_unwind_rule *rule, uint64_t *ret)
{
	uint64_t offset = (uint64_t)(int64_t)rule->cfa_offset;

	switch (rule->cfa) {
	case ORMA_UNWIND_CFA_SP:
		*ret = walk->sp + offset;
		return true;
	case ORMA_UNWIND_CFA_FP:
		*ret = walk->fp + offset;
		return true;
	case ORMA_UNWIND_CFA_PLT:
		*ret = walk->sp + offset + ((walk->address & 15) >= rule->plt_split ? WORD : 0);
		return true;
	case ORMA_UNWIND_CFA_SP_DEREF:
		return read_word(walk, walk->sp + offset, ret);
	default:
		return read_word(walk, walk->fp + offset, ret);
	}
}

static uint64_t saved_slot(const struct walk *walk, enum orma_unwind_where where, int32_t offset,
			   uint64_t cfa)
{
	uint64_t base = where == ORMA_UNWIND_AT_CFA  ? cfa
			: where == ORMA_UNWIND_AT_SP ? walk->sp
						     : walk->fp;

	return base + (uint64_t)(int64_t)offset;
}

/* Makes the caller the current frame. False if there is no caller, because pc is 0. */
static bool enter_caller(struct walk *walk, uint64_t pc, uint64_t sp, uint64_t fp,
			 bool is_interrupted)
{
	if (walk->space->is_arm64)
		pc &= ARM64_VALID;
	if (pc == 0)
		return false;
	walk->address = is_interrupted ? pc : pc - call_size(walk->space);
	walk->sp = sp;
	walk->fp = fp;
	walk->lr = 0;
	walk->is_interrupted = is_interrupted;
	return true;
}

/* Each of the next three returns true when there is a caller, else false and the end. */
static bool step_with_fp(struct walk *walk, enum orma_unwind_end *ret_end)
{
	uint64_t fp, pc;

	*ret_end = ORMA_UNWIND_END_NO_RULE;
	if (walk->fp < walk->sp || walk->fp % WORD != 0 || !read_word(walk, walk->fp, &fp) ||
	    !read_word(walk, walk->fp + WORD, &pc))
		return false;
	if (!orma_unwind_find_module(walk->space->modules, walk->space->module_count,
				     (walk->space->is_arm64 ? pc & ARM64_VALID : pc) - 1))
		return false;
	walk->fp_count++;
	return enter_caller(walk, pc, walk->fp + 2 * (uint64_t)WORD, fp, false);
}

static bool find_return(struct walk *walk, const struct orma_unwind_rule *rule, uint64_t cfa,
			uint64_t *ret, enum orma_unwind_end *ret_end)
{
	switch (rule->return_where) {
	case ORMA_UNWIND_AT_CFA:
	case ORMA_UNWIND_AT_SP:
	case ORMA_UNWIND_AT_FP:
		*ret_end = ORMA_UNWIND_END_NO_STACK;
		walk->return_slot = saved_slot(walk, rule->return_where, rule->return_offset, cfa);
		return read_word(walk, walk->return_slot, ret);
	case ORMA_UNWIND_SAME:
		/* Only in the innermost function, the link register may still have it. */
		*ret_end = ORMA_UNWIND_END_NO_RULE;
		*ret = walk->lr;
		return walk->space->is_arm64 && walk->is_interrupted && walk->lr != 0;
	default:
		*ret_end = ORMA_UNWIND_END_NO_RULE;
		return false;
	}
}

/* Returns the caller's fp; 0 if it is lost, because nothing can be read at that address. */
static uint64_t find_fp(struct walk *walk, const struct orma_unwind_rule *rule, uint64_t cfa)
{
	uint64_t fp = 0;

	if (rule->fp_where > ORMA_UNWIND_AT_FP) {
		walk->return_slot = 0;
		return 0;
	}
	walk->fp_slot = saved_slot(walk, rule->fp_where, rule->fp_offset, cfa);
	if (!read_word(walk, walk->fp_slot, &fp))
		walk->return_slot = 0;
	walk->fp_word = fp;
	return fp;
}

static bool step(struct walk *walk, const struct orma_unwind_rule *rule,
		 enum orma_unwind_end *ret_end)
{
	uint64_t cfa, pc, fp = walk->fp;

	walk->return_slot = walk->fp_slot = 0;
	if (rule->cfa == ORMA_UNWIND_CFA_NONE)
		return step_with_fp(walk, ret_end);
	*ret_end = ORMA_UNWIND_END_NO_RULE;
	if (rule->cfa == ORMA_UNWIND_CFA_OTHER)
		return false;
	if (rule->return_where == ORMA_UNWIND_NOWHERE) {
		*ret_end = ORMA_UNWIND_END_OUTERMOST;
		return false;
	}
	*ret_end = ORMA_UNWIND_END_NO_STACK;
	if (!get_cfa(walk, rule, &cfa))
		return false;
	*ret_end = ORMA_UNWIND_END_NO_GROWTH;
	/* The CFA is sp only in a function without a frame whose return address is in a register. */
	if (!rule->is_signal &&
	    (cfa < walk->sp || (cfa == walk->sp && rule->return_where != ORMA_UNWIND_SAME)))
		return false;
	if (!find_return(walk, rule, cfa, &pc, ret_end))
		return false;
	walk->return_word = pc;
	if (rule->fp_where != ORMA_UNWIND_SAME)
		fp = find_fp(walk, rule, cfa);
	/* The caller depends on more than the two words of the memo. */
	if (rule->cfa >= ORMA_UNWIND_CFA_SP_DEREF || rule->is_signal || walk->is_interrupted)
		walk->return_slot = 0;
	*ret_end = ORMA_UNWIND_END_OUTERMOST;
	return enter_caller(walk, pc, cfa, fp, rule->is_signal);
}

/* --- frames of the last walk ------------------------------------------------------------------ */

static bool is_unchanged(const struct walk *walk, const struct orma_unwind_memo_frame *frame)
{
	uint64_t return_word = 0, fp_word = frame->fp_word;

	return frame->return_slot != 0 && read_word(walk, frame->return_slot, &return_word) &&
	       return_word == frame->return_word &&
	       (frame->fp_slot == 0 ||
		(read_word(walk, frame->fp_slot, &fp_word) && fp_word == frame->fp_word));
}

static void add_fresh(struct orma_unwind_memo *memo, const struct orma_unwind_memo_frame *frame)
{
	if (memo->fresh_count < ORMA_UNWIND_MEMO_FRAMES)
		memo->fresh[memo->fresh_count] = *frame;
	memo->fresh_count++;
}

/* Returns the index of the walk's current frame in the memo, or -1. The search goes on from *cursor,
 * because sp rises in both walks. */
static int find_in_memo(const struct orma_unwind_memo *memo, const struct walk *walk, int *cursor)
{
	int at = *cursor;

	while (at >= 0 && memo->frames[at].sp < walk->sp)
		at--;
	*cursor = at;
	return at >= 0 && memo->frames[at].sp == walk->sp &&
			       memo->frames[at].address == walk->address &&
			       memo->frames[at].fp == walk->fp
		       ? at
		       : -1;
}

/* Writes the unchanged frames from frames[at] on. The frame after them becomes the current one. It is
 * known to be right, but has not been written. Returns its index. */
static int follow_memo(struct walk *walk, const struct orma_unwind_memo *memo, int at,
		       uint64_t *ret_addresses, size_t max, size_t *count)
{
	while (at > 0 && *count < max && is_unchanged(walk, &memo->frames[at]))
		ret_addresses[(*count)++] = memo->frames[at--].address;
	walk->address = memo->frames[at].address;
	walk->sp = memo->frames[at].sp;
	walk->fp = memo->frames[at].fp;
	return at;
}

/* Puts the fresh frames below the `kept` frames that stay. */
static void update_memo(struct orma_unwind_memo *memo, uint32_t kept)
{
	if (memo->fresh_count > ORMA_UNWIND_MEMO_FRAMES - kept) {
		memo->count = 0;
		return;
	}
	for (uint32_t i = 0; i < memo->fresh_count; i++)
		memo->frames[kept + i] = memo->fresh[memo->fresh_count - 1 - i];
	memo->count = kept + memo->fresh_count;
}

/* --- the walk --------------------------------------------------------------------------------- */

static void follow(struct walk *walk, struct orma_unwind_memo *memo, uint64_t *ret_addresses,
		   size_t max, struct orma_unwind_result *result)
{
	int cursor = memo ? (int)memo->count - 1 : -1;
	uint32_t kept = 0;
	bool has_frame = true;

	while (has_frame && result->frame_count < max) {
		int at = cursor >= 0 && !walk->is_interrupted ? find_in_memo(memo, walk, &cursor)
							      : -1;
		if (at > 0) {
			int last = follow_memo(walk, memo, at, ret_addresses, max,
					       &result->frame_count);

			/* The last frame is followed, to see whether it is still the outermost. */
			kept = last == 0 ? (uint32_t)at + 1 : 0;
			for (int i = at; last > 0 && i > last; i--)
				add_fresh(memo, &memo->frames[i]);
			cursor = -1;
			if (result->frame_count == max)
				break;
		}
		struct orma_unwind_memo_frame frame = {
			walk->address, walk->sp, walk->fp, 0, 0, 0, 0};
		const struct orma_unwind_rule *rule = find_rule(walk);
		/* A handler returns to the first instruction of its trampoline, which has not
		 * called it. */
		bool is_return = rule->is_signal && !walk->is_interrupted;

		ret_addresses[result->frame_count++] =
			walk->address + (is_return ? call_size(walk->space) : 0);
		if (rule == &pending) {
			result->end = ORMA_UNWIND_END_PENDING;
			break;
		}
		has_frame = step(walk, rule, &result->end);
		if (has_frame && kept > 0) {
			/* The frame has a caller now, so the memo is out of date. */
			kept = 0;
			memo = NULL;
		} else if (memo && kept == 0) {
			frame.return_slot = walk->return_slot;
			frame.return_word = walk->return_word;
			frame.fp_slot = walk->fp_slot;
			frame.fp_word = walk->fp_word;
			add_fresh(memo, &frame);
		}
	}
	if (has_frame && result->end != ORMA_UNWIND_END_PENDING)
		result->end = ORMA_UNWIND_END_FRAMES_MAX;
	/* Not only for complete walks, because stacks of musl's programs end without a rule. */
	if (memo && result->end != ORMA_UNWIND_END_FRAMES_MAX &&
	    result->end != ORMA_UNWIND_END_PENDING)
		update_memo(memo, kept);
}

struct orma_unwind_result orma_unwind_walk(const struct orma_unwind_space *space,
					   const struct orma_unwind_registers *registers,
					   const struct orma_unwind_stack *stack,
					   uint64_t *ret_addresses, size_t max)
{
	struct orma_unwind_result result = {0};
	struct walk walk = {
		.space = space,
		.stack = stack,
		.address = registers->pc,
		.sp = registers->sp,
		.fp = registers->fp,
		.lr = registers->lr,
		.is_interrupted = true,
	};

	if (space->memo) {
		if (space->memo->generation != space->generation)
			space->memo->count = 0;
		space->memo->generation = space->generation;
		space->memo->fresh_count = 0;
	}
	follow(&walk, space->memo, ret_addresses, max, &result);
	result.fp_count = walk.fp_count;
	return result;
}
