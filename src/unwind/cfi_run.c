/* SPDX-License-Identifier: Apache-2.0
 * cfi_run.c - runs the program of a function's call frame information and gives its rows.
 *
 * The state of the machine is one rule, because only three values are followed (unwind_rule.h).
 * Rules of other registers are read and dropped. "Restore" goes back to `initial`, the rule at the
 * beginning of the function. "Remember" pushes the state on a stack of REMEMBER_MAX places, which is
 * more than compilers use.
 *
 * Only the forms of expressions that compilers and linkers write are recognized: the word at a
 * register plus an offset (a signal's frame, a realigned stack), and the expression for a procedure
 * linkage table. Rejected: a machine for all expressions, because it would run while a stack is unwound.
 *
 * Every program ends, because each instruction takes at least one byte and none jumps back.
 */
#include "unwind/cfi_run.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/macros.h"

#define REMEMBER_MAX 16

/* Numbers of registers in DWARF. */
#define X86_FP   6
#define X86_SP   7
#define X86_PC   16
#define ARM64_FP 29
#define ARM64_LR 30
#define ARM64_SP 31

enum {
	OP_NOP,
	OP_SET_LOC,
	OP_ADVANCE_1,
	OP_ADVANCE_2,
	OP_ADVANCE_4,
	OP_OFFSET,
	OP_RESTORE,
	OP_UNDEFINED,
	OP_SAME_VALUE,
	OP_REGISTER,
	OP_REMEMBER_STATE,
	OP_RESTORE_STATE,
	OP_DEF_CFA,
	OP_DEF_CFA_REGISTER,
	OP_DEF_CFA_OFFSET,
	OP_DEF_CFA_EXPRESSION,
	OP_EXPRESSION,
	OP_OFFSET_SIGNED,
	OP_DEF_CFA_SIGNED,
	OP_DEF_CFA_OFFSET_SIGNED,
	OP_VALUE_OFFSET,
	OP_VALUE_OFFSET_SIGNED,
	OP_VALUE_EXPRESSION,
	OP_SIGN_RETURN = 0x2d, /* arm64: the return address is signed from here on, or no more */
	OP_ARGS_SIZE = 0x2e,
	OP_OFFSET_NEGATIVE = 0x2f,
};

#define HIGH_ADVANCE 1
#define HIGH_OFFSET  2
#define HIGH_RESTORE 3

#define EXPR_BREG0 0x70
#define EXPR_DEREF 0x06

struct state {
	const struct orma_cfi_common *common;
	uint64_t fp, sp, pc; /* numbers of registers */
	uint64_t address, end;
	struct orma_unwind_rule rule, initial;
	struct orma_unwind_rule remembered[REMEMBER_MAX];
	unsigned remembered_count;
	orma_cfi_row_fn *row;
	void *ctx;
};

/* --- registers -------------------------------------------------------------------------------- */

/* Larger offsets do not occur in programs. They become a rule that is not known. */
static bool fits(int64_t offset)
{
	return offset >= INT32_MIN && offset <= INT32_MAX;
}

static void set_register(struct state *state, uint64_t number, enum orma_unwind_where where,
			 int64_t offset)
{
	struct orma_unwind_rule *rule = &state->rule;

	if (!fits(offset)) {
		where = ORMA_UNWIND_OTHER;
		offset = 0;
	}
	if (number == state->common->return_register) {
		rule->return_where = (uint8_t)where;
		rule->return_offset = (int32_t)offset;
	} else if (number == state->fp) {
		rule->fp_where = (uint8_t)where;
		rule->fp_offset = (int32_t)offset;
	}
}

static void set_factored(struct state *state, uint64_t number, int64_t factored)
{
	int64_t offset;

	if (__builtin_mul_overflow(factored, state->common->data_align, &offset))
		offset = INT64_MAX;
	set_register(state, number, ORMA_UNWIND_AT_CFA, offset);
}

static void restore_register(struct state *state, uint64_t number)
{
	if (number == state->common->return_register) {
		state->rule.return_where = state->initial.return_where;
		state->rule.return_offset = state->initial.return_offset;
	} else if (number == state->fp) {
		state->rule.fp_where = state->initial.fp_where;
		state->rule.fp_offset = state->initial.fp_offset;
	}
}

static void set_cfa_offset(struct state *state, int64_t offset)
{
	if (!fits(offset))
		state->rule.cfa = ORMA_UNWIND_CFA_OTHER;
	else
		state->rule.cfa_offset = (int32_t)offset;
}

static void set_cfa_register(struct state *state, uint64_t number)
{
	if (number == state->sp)
		state->rule.cfa = ORMA_UNWIND_CFA_SP;
	else if (number == state->fp)
		state->rule.cfa = ORMA_UNWIND_CFA_FP;
	else
		state->rule.cfa = ORMA_UNWIND_CFA_OTHER;
}

/* --- expressions ------------------------------------------------------------------------------ */

/* Reads "register plus offset", where the register is sp or fp. */
static bool read_base(const struct state *state, struct orma_cfi_cursor *expression,
		      bool *ret_is_sp, int64_t *ret_offset)
{
	uint64_t number = (uint64_t)orma_cfi_read_u8(expression) - EXPR_BREG0;

	*ret_offset = orma_cfi_read_sleb(expression);
	*ret_is_sp = number == state->sp;
	return !expression->is_bad && fits(*ret_offset) &&
	       (number == state->sp || number == state->fp);
}

/* Recognizes the linker's expression for a PLT, sp + 8 + ((pc & 15) >= N ? 8 : 0), from behind "sp + 8"
 * on: the bytes `before`, then DW_OP_lit0 + N, then the bytes `behind`. */
static bool is_plt(struct orma_cfi_cursor expression, uint8_t *ret_split)
{
	static const uint8_t before[] = {0x80, 0x00, 0x3f, 0x1a}; /* pc + 0, 15, and */
	static const uint8_t behind[] = {0x2a, 0x33, 0x24, 0x22}; /* ge, 3, shl, plus */

	if (expression.end - expression.at != sizeof(before) + 1 + sizeof(behind) ||
	    memcmp(expression.at, before, sizeof(before)) != 0 ||
	    memcmp(expression.at + sizeof(before) + 1, behind, sizeof(behind)) != 0)
		return false;
	*ret_split = (uint8_t)(expression.at[sizeof(before)] - 0x30); /* DW_OP_lit0 */
	return *ret_split < 16;
}

static void set_cfa_expression(struct state *state, struct orma_cfi_cursor expression)
{
	struct orma_unwind_rule *rule = &state->rule;
	uint8_t split;
	bool is_sp;
	int64_t offset;

	rule->cfa = ORMA_UNWIND_CFA_OTHER;
	if (!read_base(state, &expression, &is_sp, &offset))
		return;
	if (is_sp && state->pc == X86_PC && offset == 8 && is_plt(expression, &split)) {
		rule->cfa = ORMA_UNWIND_CFA_PLT;
		rule->plt_split = split & 15;
	} else if (orma_cfi_read_u8(&expression) == EXPR_DEREF && expression.at == expression.end) {
		rule->cfa = is_sp ? ORMA_UNWIND_CFA_SP_DEREF : ORMA_UNWIND_CFA_FP_DEREF;
	}
	rule->cfa_offset = (int32_t)offset;
}

/* The expression gives the address at which the register was saved. */
static void set_register_expression(struct state *state, uint64_t number,
				    struct orma_cfi_cursor expression)
{
	bool is_sp;
	int64_t offset;

	if (read_base(state, &expression, &is_sp, &offset) && expression.at == expression.end)
		set_register(state, number, is_sp ? ORMA_UNWIND_AT_SP : ORMA_UNWIND_AT_FP, offset);
	else
		set_register(state, number, ORMA_UNWIND_OTHER, 0);
}

/* --- instructions ----------------------------------------------------------------------------- */

static int emit(struct state *state, uint64_t end)
{
	/* Members without a meaning become 0, because rules are compared as bytes. */
	struct orma_unwind_rule rule = state->rule;

	if (rule.cfa == ORMA_UNWIND_CFA_OTHER)
		rule = (struct orma_unwind_rule){.cfa = ORMA_UNWIND_CFA_OTHER};
	if (rule.cfa != ORMA_UNWIND_CFA_PLT)
		rule.plt_split = 0;
	rule.is_signal = state->common->is_signal;
	return state->row(state->ctx, state->address, end, &rule);
}

static int go_to(struct state *state, uint64_t address)
{
	int r = 0;

	if (address <= state->address)
		return 0;
	address = ORMA_MIN(address, state->end);
	if (address > state->address)
		r = emit(state, address);
	state->address = address;
	return r;
}

static int advance(struct state *state, uint64_t delta)
{
	uint64_t distance, address;

	if (__builtin_mul_overflow(delta, state->common->code_align, &distance) ||
	    __builtin_add_overflow(state->address, distance, &address))
		address = UINT64_MAX;
	return go_to(state, address);
}

/* 0, or -EBADMSG. */
static int run_state(struct state *state, uint8_t op)
{
	if (op == OP_REMEMBER_STATE) {
		if (state->remembered_count == REMEMBER_MAX)
			return -EBADMSG;
		state->remembered[state->remembered_count++] = state->rule;
		return 0;
	}
	if (state->remembered_count == 0)
		return -EBADMSG;
	state->rule = state->remembered[--state->remembered_count];
	return 0;
}

static int run_advance(struct state *state, uint8_t op, struct orma_cfi_cursor *program)
{
	switch (op) {
	case OP_SET_LOC:
		return go_to(state,
			     orma_cfi_read_pointer(program, state->common->pointer_encoding));
	case OP_ADVANCE_1:
		return advance(state, orma_cfi_read_u8(program));
	case OP_ADVANCE_2:
		return advance(state, orma_cfi_read_u16(program));
	default:
		return advance(state, orma_cfi_read_u32(program));
	}
}

static void run_cfa(struct state *state, uint8_t op, struct orma_cfi_cursor *program)
{
	int64_t offset;

	switch (op) {
	case OP_DEF_CFA:
	case OP_DEF_CFA_SIGNED:
	case OP_DEF_CFA_REGISTER:
		set_cfa_register(state, orma_cfi_read_uleb(program));
		break;
	default:
		break;
	}
	switch (op) {
	case OP_DEF_CFA:
	case OP_DEF_CFA_OFFSET:
		set_cfa_offset(state, (int64_t)orma_cfi_read_uleb(program));
		break;
	case OP_DEF_CFA_SIGNED:
	case OP_DEF_CFA_OFFSET_SIGNED:
		if (__builtin_mul_overflow(orma_cfi_read_sleb(program), state->common->data_align,
					   &offset))
			offset = INT64_MAX;
		set_cfa_offset(state, offset);
		break;
	case OP_DEF_CFA_EXPRESSION:
		set_cfa_expression(state,
				   orma_cfi_read_block(program, orma_cfi_read_uleb(program)));
		break;
	default:
		break;
	}
}

/* 0, or -EBADMSG for an instruction that is not known. */
static int run_register(struct state *state, uint8_t op, struct orma_cfi_cursor *program)
{
	uint64_t number = orma_cfi_read_uleb(program);

	switch (op) {
	case OP_OFFSET:
		set_factored(state, number, (int64_t)orma_cfi_read_uleb(program));
		break;
	case OP_OFFSET_SIGNED:
		set_factored(state, number, orma_cfi_read_sleb(program));
		break;
	case OP_OFFSET_NEGATIVE:
		set_factored(state, number, (int64_t)(0 - orma_cfi_read_uleb(program)));
		break;
	case OP_RESTORE:
		restore_register(state, number);
		break;
	case OP_UNDEFINED:
		set_register(state, number, ORMA_UNWIND_NOWHERE, 0);
		break;
	case OP_SAME_VALUE:
		set_register(state, number, ORMA_UNWIND_SAME, 0);
		break;
	case OP_REGISTER:
	case OP_VALUE_OFFSET:
	case OP_VALUE_OFFSET_SIGNED:
		orma_cfi_read_uleb(program);
		set_register(state, number, ORMA_UNWIND_OTHER, 0);
		break;
	case OP_EXPRESSION:
		set_register_expression(state, number,
					orma_cfi_read_block(program, orma_cfi_read_uleb(program)));
		break;
	case OP_VALUE_EXPRESSION:
		orma_cfi_read_block(program, orma_cfi_read_uleb(program));
		set_register(state, number, ORMA_UNWIND_OTHER, 0);
		break;
	default:
		return -EBADMSG;
	}
	return 0;
}

static int run_op(struct state *state, uint8_t op, struct orma_cfi_cursor *program)
{
	switch (op >> 6) {
	case HIGH_ADVANCE:
		return advance(state, op & 0x3f);
	case HIGH_OFFSET:
		set_factored(state, op & 0x3f, (int64_t)orma_cfi_read_uleb(program));
		return 0;
	case HIGH_RESTORE:
		restore_register(state, op & 0x3f);
		return 0;
	default:
		break;
	}
	switch (op) {
	case OP_NOP:
	case OP_SIGN_RETURN: /* the walker removes signatures wherever they are */
		return 0;
	case OP_SET_LOC:
	case OP_ADVANCE_1:
	case OP_ADVANCE_2:
	case OP_ADVANCE_4:
		return run_advance(state, op, program);
	case OP_REMEMBER_STATE:
	case OP_RESTORE_STATE:
		return run_state(state, op);
	case OP_DEF_CFA:
	case OP_DEF_CFA_REGISTER:
	case OP_DEF_CFA_OFFSET:
	case OP_DEF_CFA_EXPRESSION:
	case OP_DEF_CFA_SIGNED:
	case OP_DEF_CFA_OFFSET_SIGNED:
		run_cfa(state, op, program);
		return 0;
	case OP_ARGS_SIZE:
		orma_cfi_read_uleb(program);
		return 0;
	default:
		return run_register(state, op, program);
	}
}

static int run_program(struct state *state, struct orma_cfi_cursor program)
{
	int r = 0;

	while (r == 0 && program.at < program.end && state->address < state->end) {
		uint8_t op = orma_cfi_read_u8(&program);

		r = run_op(state, op, &program);
		if (r == 0 && program.is_bad)
			r = -EBADMSG;
	}
	return r;
}

int orma_cfi_run(const struct orma_cfi_section *section, const struct orma_cfi_common *common,
		 const struct orma_cfi_function *function, orma_cfi_row_fn *row, void *ctx)
{
	bool is_x86 = section->machine == EM_X86_64;
	struct state state = {
		.common = common,
		.fp = is_x86 ? X86_FP : ARM64_FP,
		.sp = is_x86 ? X86_SP : ARM64_SP,
		.pc = is_x86 ? X86_PC : ARM64_LR,
		.address = function->start,
		.end = function->start + function->size,
		.rule = {.cfa = ORMA_UNWIND_CFA_OTHER},
		.row = row,
		.ctx = ctx,
	};
	int r = run_program(&state, common->program);

	state.initial = state.rule;
	if (r == 0)
		r = run_program(&state, function->program);
	if (r == -EBADMSG)
		state.rule = (struct orma_unwind_rule){.cfa = ORMA_UNWIND_CFA_OTHER};
	else if (r < 0)
		return r;
	return state.address < state.end ? emit(&state, state.end) : 0;
}
